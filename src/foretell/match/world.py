"""World files that matching writes: one transform is added, or takes the place of its predecessor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from foretell.document import load_yaml
from foretell.errors import UsageError
from foretell.files import require_writable
from foretell.sim.params import MujocoFile, load_world

__all__ = ["add_transform", "relative", "replaced", "require_world"]


def require_world(path: str | Path) -> Path:
    """The path of a world file that can be written, or extended."""
    path = Path(path)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"world: {path} should be a world file (.yaml), which is written or extended")
    require_writable(path, "world")
    if path.exists():
        load_world(path)
    return path


def relative(file: Path, world: Path) -> str:
    """The path of a file as a world file names it."""
    return os.path.relpath(file.resolve(), world.resolve().parent)


def add_transform(path: Path, transform: dict[str, Any]) -> MujocoFile:
    """Write a transform into a world file, in the place of one with the same `use` and `cameras`; else as the last.
    Comments of the file are lost."""
    contents: dict[str, Any] = load_yaml(path) if path.exists() else {"about": f"Matched to pictures of {path.stem}."}
    contents["transforms"] = replaced(contents.get("transforms") or [], transform)
    file = load_world({"name": path.stem, **contents, "folder": str(path.parent)})
    path.write_text(yaml.safe_dump(contents, sort_keys=False, allow_unicode=True, width=110))
    return file


def replaced(transforms: Sequence[dict[str, Any]], transform: dict[str, Any]) -> list[dict[str, Any]]:
    """Transforms with one in the place of its predecessor; else as the last."""
    key = _key(transform)
    at = next((i for i, other in enumerate(transforms) if _key(other) == key), len(transforms))
    return [*transforms[:at], transform, *transforms[at + 1 :]]


def _key(transform: dict[str, Any]) -> tuple[Any, ...]:
    return transform.get("use"), transform.get("cameras", "all"), transform.get("camera"), transform.get("asset")
