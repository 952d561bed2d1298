"""What works on this machine, and what to install where something does not.

Whatever may be absent, crash or hang (graphics, libraries) is tried in a process of its own, never imported here.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foretell.doctor.machine import DRAW, IMPORT, try_apart, usable_cores
from foretell.files import unwritable

__all__ = ["Line", "MachineDiagnosis", "doctor"]

PYTHON = "3.11"
NEEDS = {
    "numpy": "2.0",
    "scipy": "1.13",
    "mujoco": "4.0",
    "gymnasium": "1.2",
    "pydantic": "2.7",
    "pyyaml": "6.0",
    "tyro": "1.0",
    "rich": "13",
    "pyarrow": "16",
    "duckdb": "1.0",
    "onnxruntime": "1.19",
    "ruckig": "0.19",
}
"""Package -> oldest version; a test holds this equal to pyproject.toml."""
IMPORTED_AS = {"pyyaml": "yaml"}
VIDEO = "14"
"""Oldest PyAV."""
PAGES = ("altair", "vl-convert-python", "starlette", "uvicorn")
"""What pages and charts need; pyproject.toml has the versions."""
SLOW_PHYSICS = 5.0
"""Simulated seconds per second and thread; a laptop core of 2020 does several times as much."""
SLOW_FRAME = 0.05
"""Seconds for a picture of 224 x 224; a policy with one camera at 20 Hz then takes longer than real time."""
LOW_DISK = 1e9
DEBIAN = {"egl": "libegl1 libgl1-mesa-dri", "osmesa": "libosmesa6", "glfw": "libglfw3, and a screen (DISPLAY)"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing looked at."""

    name: str
    status: str
    """ok, missing, slow or not writable"""
    detail: str
    fix: str = ""
    """What to do about it; empty if nothing."""
    required: bool = False
    """Whether foretell is of no use without it."""


@dataclass(frozen=True)
class MachineDiagnosis:
    """What `doctor` found."""

    lines: tuple[Line, ...]

    @property
    def ok(self) -> bool:
        """Whether everything required works, and in this folder."""
        return self._works and not any(line.status == "not writable" for line in self.lines)

    @property
    def verdict(self) -> str:
        """The last word."""
        if not self._works:
            return "foretell does not work here: see the lines marked missing"
        unwritable = next((line.detail for line in self.lines if line.status == "not writable"), "")
        return f"foretell works, but not in this folder: {unwritable}" if unwritable else "foretell works here"

    @property
    def _works(self) -> bool:
        return not any(line.required and line.status == "missing" for line in self.lines)

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, "verdict": self.verdict, "lines": [asdict(line) for line in self.lines]}


def doctor() -> MachineDiagnosis:
    """Try everything foretell may want of this machine. Takes about ten seconds."""
    lines = [_python(), *_packages()]
    if all(line.status == "ok" for line in lines):
        lines += [_physics(), *_graphics()]
    return MachineDiagnosis((*lines, _video(), _pages(), _torch(), _disk(), *_folders()))


def _python() -> Line:
    have = platform.python_version()
    return Line(
        name="python",
        status=_enough(have, PYTHON),
        detail=f"{have} (needs {PYTHON})",
        fix=f"install Python {PYTHON}",
        required=True,
    )


def _imports(modules: list[str]) -> dict[str, str]:
    """Module -> why it cannot be imported; empty if it can. One that takes its process down is skipped by the next."""
    results: dict[str, str] = {}
    while left := [m for m in modules if m not in results]:
        answer = try_apart(IMPORT.replace("NAMES", repr(left)))
        results |= dict(json.loads(line) for line in answer.out.splitlines() if line.startswith('["'))
        if fatal := next((m for m in left if m not in results), None):
            results[fatal] = answer.trouble or "it ended the process"
    return results


def _packages() -> list[Line]:
    """Versions from metadata, then whether each can be imported."""
    present = {name: have for name in NEEDS if (have := _version(name)) is not None}
    results = _imports([IMPORTED_AS.get(name, name) for name in present])
    lines = []
    for name, oldest in NEEDS.items():
        have, fix = present.get(name), f"pip install '{name}>={oldest}'"
        if have is None:
            lines.append(
                Line(name=name, status="missing", detail=f"not installed (needs {oldest})", fix=fix, required=True)
            )
        elif _enough(have, oldest) != "ok":
            lines.append(
                Line(name=name, status="missing", detail=f"{have} is too old (needs {oldest})", fix=fix, required=True)
            )
        elif trouble := results[IMPORTED_AS.get(name, name)]:
            again = f"pip install --force-reinstall '{name}>={oldest}'"
            lines.append(
                Line(
                    name=name,
                    status="missing",
                    detail=f"{have} cannot be imported: {trouble}",
                    fix=again,
                    required=True,
                )
            )
        else:
            lines.append(Line(name=name, status="ok", detail=f"{have} (needs {oldest})", required=True))
    return lines


def _physics() -> Line:
    """How fast `lift` runs on one thread and on all."""
    threads = usable_cores()
    cores = f"{os.cpu_count()} cores, {threads} usable"
    counts = sorted({1, threads})
    answer = try_apart(f"from foretell.doctor.machine import physics_speed\nprint(*map(physics_speed, {counts}))")
    try:
        speed = dict(zip(counts, map(float, answer.out.splitlines()[-1].split()), strict=True))
    except (IndexError, ValueError):
        again = "pip install --force-reinstall mujoco"
        return Line(
            name="physics",
            status="missing",
            detail=f"{cores}; {answer.trouble or answer.out[:200]}",
            fix=again,
            required=True,
        )
    speeds = ", ".join(f"{v:,.0f} x real time on {n} thread{'s' * (n > 1)}" for n, v in speed.items())
    slow = speed[1] < SLOW_PHYSICS or (threads > 1 and speed[threads] < 1.2 * speed[1])
    fix = "is something else running? results do not depend on speed" if slow else ""
    return Line(
        name="physics", status="slow" if slow else "ok", detail=f"{cores}; lift: {speeds}", fix=fix, required=True
    )


def _graphics() -> list[Line]:
    """Each backend in its own process: a driver may take its process down with it."""
    from foretell.sim.render import BACKENDS, backends

    lines: list[Line] = []
    used = ""
    for backend in dict.fromkeys([*backends(), *(BACKENDS if sys.platform == "linux" else ())]):
        needed = f"apt install {DEBIAN[backend]}" if backend in DEBIAN else "unset MUJOCO_GL"
        fix = f"not needed, as {used} works" if used else needed
        if backend == "glfw" and sys.platform == "linux" and not os.environ.get("DISPLAY"):
            lines.append(Line(name="GL glfw", status="missing", detail="no screen here (DISPLAY is not set)", fix=fix))
            continue
        answer = try_apart(DRAW, MUJOCO_GL=backend)
        try:
            seen = json.loads(answer.out.splitlines()[-1])
            trouble = "" if seen["spread"] > 1.0 else "the picture is blank"
        except (IndexError, ValueError, LookupError):
            seen, trouble = {}, answer.trouble or "it gave no picture"
        if trouble:
            lines.append(Line(name=f"GL {backend}", status="missing", detail=trouble, fix=fix))
            continue
        slow = seen["seconds"] > SLOW_FRAME
        detail = f"a frame of 224x224 in {seen['seconds'] * 1e3:.1f} ms" + f" by {seen['by']}" * bool(seen["by"])
        if not used and backend in backends():
            used, detail = backend, f"{detail}; this one is used"
        advice = "a graphics card and its driver, or fewer cameras" if slow else ""
        lines.append(Line(name=f"GL {backend}", status="slow" if slow else "ok", detail=detail, fix=advice))
    if not used:
        detail = f"no policy that sees, and no video, works here (MUJOCO_GL={os.environ.get('MUJOCO_GL', '')})"
        lines.append(
            Line(name="cameras", status="missing", detail=detail, fix="install one of the above, or unset MUJOCO_GL")
        )
    return lines


def _video() -> Line:
    have, fix = _version("av"), "pip install 'foretell[video]'"
    if have is None:
        return Line(name="PyAV", status="missing", detail="not installed: no videos; all else works", fix=fix)
    answer = try_apart("import av; av.codec.Codec('libx264', 'w'); print('fine')")
    if "fine" not in answer.out or _enough(have, VIDEO) != "ok":
        return Line(
            name="PyAV",
            status="missing",
            detail=f"{have} (needs {VIDEO}) {answer.trouble}: no videos; all else works",
            fix=fix,
        )
    return Line(name="PyAV", status="ok", detail=f"{have}: videos can be written")


def _pages() -> Line:
    if lacking := [name for name in PAGES if _version(name) is None]:
        detail = f"{', '.join(lacking)} not installed: no `report`, `figure` and `view`; all else works"
        return Line(name="reports", status="missing", detail=detail, fix="pip install 'foretell[report]'")
    return Line(name="reports", status="ok", detail=f"{', '.join(PAGES)} are there: pages and charts can be written")


def _torch() -> Line:
    """Only looked up: importing it takes seconds, and foretell itself never does."""
    if find_spec("torch") is None:
        return Line(
            name="torch", status="ok", detail="not installed: only policies that bring their own torch code need it"
        )
    return Line(name="torch", status="ok", detail=f"{_version('torch')} is there")


def _disk() -> Line:
    free = shutil.disk_usage(".").free
    low = free < LOW_DISK
    fix = "free some space, or run elsewhere with --out" if low else ""
    return Line(
        name="disk", status="missing" if low else "ok", detail=f"{free / 1e9:.1f} GB free in {Path.cwd()}", fix=fix
    )


def _folders() -> list[Line]:
    lines = []
    for name, folder in (("this folder", Path()), ("runs", Path("runs"))):
        place = folder if folder.exists() else folder.parent
        if trouble := unwritable(place / "foretell.tmp"):
            fix = "change its permissions, or run elsewhere with --out"
            lines.append(
                Line(name=name, status="not writable", detail=f"cannot write in {place.resolve()}: {trouble}", fix=fix)
            )
        else:
            there = "can be written" if folder.exists() else "is not there yet, and can be made"
            lines.append(Line(name=name, status="ok", detail=f"{folder.resolve()} {there}"))
    return lines


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _enough(have: str, oldest: str) -> str:
    """`ok` or `missing`."""

    def numbers(text: str) -> list[int]:
        return [int(n) for n in re.findall(r"\d+", text)[:3]]

    return "ok" if numbers(have) >= numbers(oldest) else "missing"
