"""Sweeps: one policy for each file of a pattern, such as every checkpoint of a training run.

    policies:
      step_*: "checkpoints/*.onnx"

`checkpoints/2000.onnx` becomes the policy `step_2000`. The study keeps the pattern beside the policies. A study that is
run again after new files came is still the same study, and runs the new ones only.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from foretell.errors import UsageError

__all__ = ["expand", "fits"]

MOST = 10_000
"""Files of one pattern, at most."""


def expand(contents: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The contents of a study with a policy for each file of its sweeps, by number. Patterns are relative to folder."""
    policies = contents.get("policies")
    if not isinstance(policies, dict) or not any("*" in _use(entry) for entry in policies.values()):
        return contents
    expanded, sweeps = {}, dict(contents.get("sweeps") or {})
    for name, entry in policies.items():
        use = _use(entry)
        if "*" not in use:
            expanded[name] = entry
            continue
        if use.count("*") != 1 or str(name).count("*") != 1:
            raise UsageError(
                f"policies: {name}: {use!r:.80}: a file with * stands for many, so name and file have one * each: "
                'step_*: "checkpoints/*.onnx"'
            )
        use = f"onnx:{use}" if use.endswith(".onnx") and ":" not in use else use
        kind, _, pattern = use.rpartition(":")
        files = _files(pattern, folder)
        if not files:
            raise UsageError(f"policies: {name}: there is no file {os.path.join(folder, pattern)}")
        if len(files) > MOST:
            raise UsageError(f"policies: {name}: {len(files):,} files match {pattern!r}, more than {MOST:,}")
        for middle, file in files.items():
            made = f"{kind}:{file}" if kind else file
            rest = {key: value for key, value in entry.items() if key != "use"} if isinstance(entry, dict) else {}
            expanded[str(name).replace("*", middle)] = {**rest, "use": made}
        sweeps[str(name)] = use
    return {**contents, "policies": expanded, "sweeps": sweeps}


def _use(entry: Any) -> str:
    use = entry.get("use") if isinstance(entry, dict) else entry
    return use if isinstance(use, str) else ""  # whatever else it is, the study says


def _files(pattern: str, folder: Path) -> dict[str, str]:
    """What * stands for -> file, numbers in the order of numbers."""
    whole = os.path.join(folder, pattern)
    before, _, after = whole.partition("*")
    files = glob.glob(f"{glob.escape(before)}*{glob.escape(after)}")
    middles = {file[len(before) : len(file) - len(after)]: file for file in files if os.path.isfile(file)}
    return dict(sorted(middles.items(), key=lambda item: _by_number(item[0])))


def _by_number(text: str) -> list[Any]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def fits(name: str, sweeps: Mapping[str, str]) -> bool:
    """Whether a policy of this name came from a sweep."""
    return any(fnmatchcase(name, glob.escape(pattern).replace("[*]", "*")) for pattern in sweeps)
