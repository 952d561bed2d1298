"""Runs a simulator in an environment of its own, which needs numpy and the simulator, and serves it.

    PYTHON worker.py DESCRIPTOR        # `simulator.Simulator` starts it so, with one end of a pair of sockets

The first message names the kind of simulator and its options. Then each message is one call: reset, observe, command,
advance, picture. The link is that of a robot's driver (`hardware/host.py`), which this file loads.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["main"]

CALLS = ("reset", "observe", "command", "advance", "picture")
"""What may be called."""
HERE = Path(__file__).resolve().parent


def main(descriptor: int) -> int:
    """Serve a simulator over the link with this number."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("MUJOCO_GL", "egl")
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != HERE]  # these files hide nothing
    host = _beside(HERE.parents[1] / "hardware" / "host.py")
    done: int = host.serve(descriptor, "worker.py", lambda hello: host.Service(**_begin(hello)))
    return done


def _begin(hello: dict[str, Any]) -> dict[str, Any]:
    """Make the simulator that the other end asks for."""
    kinds = {"gymnasium": ("gymnasium_side", "GymnasiumSide"), "robosuite": ("robosuite_side", "RobosuiteSide")}
    file, name = kinds[hello["kind"]]
    versions = {"python": platform.python_version(), **{p: _version(p) for p in hello["packages"]}}
    if skew := _skew(hello.get("pins", {}), versions):
        raise RuntimeError(skew)
    side = getattr(_beside(HERE / f"{file}.py"), name)(hello["options"])

    def called(call: Any, arguments: dict[str, Any]) -> Any:
        if call not in CALLS:
            raise AttributeError(f"{call!r:.50} is none of the calls {', '.join(CALLS)}")
        return getattr(side, call)(**arguments)

    return {"about": {**side.describe(), "versions": versions}, "called": called, "leave": side.close}


def _skew(pins: dict[str, str], versions: dict[str, Any]) -> str:
    """Which packages have another version than foretell expects, in words."""
    others = [(p, versions.get(p), pin) for p, pin in pins.items() if versions.get(p) != pin]
    return "; ".join(f"this foretell expects {p} {pin}, and the environment has {v or 'none'}" for p, v, pin in others)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _beside(path: Path) -> Any:
    """A module by its file, without the package that it is in."""
    spec = importlib.util.spec_from_file_location(f"foretell_{path.stem}", str(path))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
