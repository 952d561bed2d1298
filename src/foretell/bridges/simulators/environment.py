"""Python environments of other simulators, with pinned packages: which there are, where, and how one is made.

An environment is a folder that `python -m venv` made. Its record, `foretell_env.json`, is written last: a folder
without one is half made, and is made again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foretell.errors import ForetellError, UsageError, suggest

__all__ = ["KNOWN", "Environment", "Made", "home", "make_environment", "python_of", "record_of"]

RECORD = "foretell_env.json"
BEGUN = "foretell_env.begun"
"""Marks a folder as foretell's before it is whole. Nothing else is ever emptied."""
PATIENCE_S = 3600.0
"""Wall seconds for an installation."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One that foretell can make, or the reason why it cannot."""

    about: str
    kind: str
    """The kind of world that runs in it."""
    packages: tuple[str, ...] = ()
    resolve: bool = True
    """Whether the installer adds what packages ask for. Else the list is whole."""
    pins: dict[str, str] = field(default_factory=dict)
    """Package -> the version that worlds expect; another one is refused."""
    imports: tuple[str, ...] = ()
    """Modules that register environments of Gymnasium."""
    seed_by: str = "reset"
    why_not: str | None = None
    warm: str = ""
    """What runs once after the installation: it compiles what would take long in the first episode."""


KNOWN: dict[str, Environment] = {
    "robosuite": Environment(
        about="robosuite 1.5.2 on MuJoCo 3.8.1",
        kind="robosuite",
        # robosuite asks for mink 0.0.5, which caps numpy below 2, and for pynput. Only whole-body inverse kinematics
        # and teleoperation need them. With MuJoCo 4 no environment can be made: it compares joint types by identity.
        packages=(
            "robosuite==1.5.2",
            "mujoco==3.8.1",
            "numpy==2.2.6",
            "numba==0.68.1",
            "llvmlite==0.50.0",
            "scipy==1.17.1",
            "opencv-python-headless==5.0.0.93",
            "pillow==13.0.0",
            "termcolor==3.3.0",
            "tqdm==4.70.1",
            "absl-py==2.5.1",
            "etils==1.14.0",
            "fsspec==2026.9.0",
            "typing_extensions==4.16.0",
            "zipp==4.1.2",
            "glfw==2.11.0",
            "PyOpenGL==3.1.10",
        ),
        resolve=False,
        pins={"robosuite": "1.5.2", "mujoco": "3.8.1", "numpy": "2.2.6"},
        warm="import numpy, robosuite; env = robosuite.make('Lift', robots='Panda', has_renderer=False, "
        "has_offscreen_renderer=False, use_camera_obs=False); env.reset(); env.step(numpy.zeros(7))",
    ),
    "metaworld": Environment(
        about="Meta-World 3.1.1: 50 tasks of a Sawyer arm, with scripted policies",
        kind="gymnasium",
        # it does not say that it needs packaging
        packages=(
            "metaworld==3.1.1",
            "gymnasium==1.4.0",
            "mujoco==3.3.0",
            "numpy==2.4.6",
            "scipy==1.17.1",
            "packaging==26.3",
        ),
        pins={"metaworld": "3.1.1", "gymnasium": "1.4.0", "mujoco": "3.3.0", "numpy": "2.4.6"},
        imports=("metaworld",),
        seed_by="make",  # its reset does not listen to a seed
    ),
    "gymnasium-robotics": Environment(
        about="Gymnasium-Robotics 1.4.2: Fetch, Adroit and Shadow hands, mazes, a kitchen",
        kind="gymnasium",
        packages=(  # on MuJoCo 4 Fetch, the kitchen and the Shadow hand fail
            "gymnasium-robotics==1.4.2",
            "gymnasium==1.4.0",
            "mujoco==3.3.7",
            "numpy==2.4.6",
            "packaging==26.3",
        ),
        pins={"gymnasium-robotics": "1.4.2", "gymnasium": "1.4.0", "mujoco": "3.3.7", "numpy": "2.4.6"},
        imports=("gymnasium_robotics",),
    ),
    "libero": Environment(
        about="LIBERO 0.1.1",
        kind="gymnasium",
        why_not="its package has no meshes: it downloads them from Hugging Face when an environment is made, which was "
        "never run here",
    ),
    "maniskill": Environment(
        about="ManiSkill 3.0.1",
        kind="gymnasium",
        why_not="it needs a Vulkan device even without pictures, and refuses the software driver of Debian 12; "
        "foretell has no world for it",
    ),
}
"""Name -> environment."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """An environment on this machine."""

    name: str
    path: Path
    python: str
    """Its Python version."""
    versions: dict[str, str]
    """Package -> version, of all that was installed."""
    fresh: bool
    """Whether it was made now."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "name": self.name,
            "path": str(self.path),
            "python": self.python,
            "versions": self.versions,
            "fresh": self.fresh,
        }


def home() -> Path:
    """The folder of environments: FORETELL_ENVS, or `foretell/envs` in the user's cache folder."""
    if own := os.environ.get("FORETELL_ENVS"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foretell" / "envs"


def record_of(folder: Path) -> Made | None:
    """The environment in a folder; None where there is none, or one that is half made."""
    try:
        kept = json.loads((folder / RECORD).read_text())
        return Made(
            name=str(kept["name"]),
            path=folder,
            python=str(kept["python"]),
            versions={str(k): str(v) for k, v in kept["versions"].items()},
            fresh=False,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def python_of(env: str, where: str) -> Path:
    """The Python of an environment: of a known one by its name, else of the folder with this path. `where` begins the
    error."""
    folder = home() / env if env in KNOWN else Path(env).expanduser()
    python = folder / "bin" / "python"
    if python.exists():
        return python
    if env in KNOWN:
        why = KNOWN[env].why_not
        fix = f"foretell does not make it: {why}" if why else f"make it with `foretell env create {env}`"
        raise UsageError(f"{where}: env: there is no environment {env!r} in {home()}; {fix}")
    raise UsageError(
        f"{where}: env: {env!r:.200} is neither a folder with a Python environment (it has no bin/python) nor one of "
        f"{', '.join(n for n, e in KNOWN.items() if not e.why_not)}"
    )


def make_environment(
    name: str, folder: Path | None = None, *, notify: Callable[[str], None] = lambda text: None
) -> Made:
    """Make an environment; one that is there with the same packages stays as it is."""
    if name not in KNOWN:
        raise UsageError(f"env: {name!r:.100} is not known; {suggest(name, KNOWN)}")
    environment, folder = KNOWN[name], (folder or home() / name).expanduser().absolute()
    if environment.why_not:
        raise UsageError(f"env: {name!r} cannot be made: {environment.why_not}")
    there = record_of(folder)
    if there is not None and (folder / "bin" / "python").exists() and _fits(there, environment):
        return there
    _require_ours(folder, there, name)
    python = folder / "bin" / "python"
    notify(f"making {folder}")
    _run([sys.executable, "-m", "venv", "--clear", str(folder)], name)
    (folder / BEGUN).write_text(name)
    uv = shutil.which("uv")
    install = [uv, "pip", "install", "--python", str(python)] if uv else [str(python), "-m", "pip", "install"]
    notify(f"installing {len(environment.packages)} packages with {'uv' if uv else 'pip'}")
    _run([*install, *([] if environment.resolve else ["--no-deps"]), *environment.packages], name)
    code = (
        "import json, platform; from importlib.metadata import distributions as d; "
        "print(json.dumps([platform.python_version(), {x.metadata['Name'].lower(): x.version for x in d()}]))"
    )
    version, versions = json.loads(_run([str(python), "-c", code], name).splitlines()[-1])
    kept = {"name": name, "python": version, "versions": dict(sorted(versions.items()))}
    made = Made(path=folder, fresh=True, **kept)
    if not _fits(made, environment):
        raise ForetellError(f"env: {name!r} got other versions than asked for: {kept['versions']}")
    if environment.warm:
        notify("running it once, which compiles what is slow the first time")
        _run([str(python), "-c", environment.warm], name)
    part = folder / f"{RECORD}.part"
    part.write_text(json.dumps(kept, indent=2))
    part.replace(folder / RECORD)
    return made


def _require_ours(folder: Path, there: Made | None, name: str) -> None:
    """Raises UsageError for a folder that holds something else: making an environment empties it."""
    if there is not None and there.name != name:
        raise UsageError(f"env: {folder} holds the environment {there.name!r}: give another --path")
    if (
        there is None
        and folder.exists()
        and not (folder / BEGUN).exists()
        and (folder.is_file() or any(folder.iterdir()))
    ):
        raise UsageError(f"env: {folder} is there, and foretell did not make it: give another --path, or remove it")


def _fits(made: Made, environment: Environment) -> bool:
    return all(made.versions.get(package) == pin for package, pin in environment.pins.items())


def _run(command: list[str], name: str) -> str:
    """The output of a command. Raises ForetellError with its last lines where it fails."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    try:
        done = subprocess.run(
            command,
            env=clean,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ForetellError(f"env: {name!r} was not made: {error}") from None
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-12:])
        raise ForetellError(f"env: {name!r} was not made, because this failed: {' '.join(command)}\n{last}")
    return done.stdout
