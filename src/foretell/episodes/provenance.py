"""Where rows come from: versions, commit, machine. Enough to tell whether two runs may be compared bit for bit."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from foretell.document import load_json
from foretell.files import SMALL, read_file

__all__ = ["DESIGNS", "design_of", "provenance", "read_provenance", "weakest"]

DESIGNS = ("iid", "grid", "chosen")
"""How scenarios came about, the one that allows the strongest guarantee first."""
PACKAGES = ("foretell", "mujoco", "numpy", "scipy", "onnxruntime", "pyarrow")


def provenance() -> dict[str, Any]:
    """Versions and machine, as they are now."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "versions": versions,
        "commit": _commit(),
        "machine": {"system": platform.platform(), "cpu": _cpu(), "cores": os.cpu_count()},
        "command": sys.argv,
        "reproducible": "bit for bit on the same machine and versions; other CPUs or versions may differ in last bits",
    }


def read_provenance(run: Path | str) -> dict[str, Any]:
    """What a run folder says of itself; nothing where it says nothing, or not so that it can be read."""
    try:
        contents = load_json(read_file(Path(run) / "provenance.json", SMALL))
    except (OSError, ValueError):
        return {}
    return contents if isinstance(contents, dict) else {}


def design_of(run: Path | str | Mapping[str, Any], unknown: str = "chosen") -> str:
    """How the scenarios of a run came about: iid, grid or chosen. `run`: its folder, or its provenance as read.

    Where the run has no known design, `unknown` is returned. By default that is the design without any guarantee.
    """
    about = run if isinstance(run, Mapping) else read_provenance(run)
    return str(design) if (design := about.get("design")) in DESIGNS else unknown


def weakest(designs: Iterable[str]) -> str:
    """The design of rows that come from several runs: the one with the weakest guarantee."""
    return max(designs, key=DESIGNS.index)


def _commit() -> str | None:
    """The commit of the folder the study is run in, with a mark when files there are changed."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


WIDEST = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX"}
"""Vector instructions, the widest first -> what people call them."""


def _cpu() -> str:
    """The processor's name, and its widest vector instructions: processors of one name may differ in these, and sums
    then differ in last bits."""
    try:
        with open("/proc/cpuinfo") as lines:
            known = {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    except OSError:
        known = {}
    name = known.get("model name") or platform.processor() or "unknown"
    widest = next((called for flag, called in WIDEST.items() if flag in known.get("flags", "").split()), None)
    return f"{name} ({widest})" if widest else name
