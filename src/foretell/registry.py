"""Names for tasks, robots, worlds and policies: built-in, from an entry point, or "package.module:Class".

A plug-in package advertises, for example, `[project.entry-points."foretell.tasks"] stack = "mine.stack:Stack"`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from foretell.errors import UsageError, suggest

__all__ = ["BUILTIN", "load", "names", "resolve"]

BUILTIN: dict[str, dict[str, str]] = {
    "tasks": {
        "lift": "foretell.tasks.lift:Lift",
        "can": "foretell.tasks.can:Can",
        "square": "foretell.tasks.square:Square",
    },
    "robots": {"panda": "foretell.robots.panda:Panda"},
    "policies": {
        "expert": "foretell.policies.expert:Expert",
        "noisy-expert": "foretell.policies.expert:NoisyExpert",
        "random": "foretell.policies.random:Random",
        "onnx": "foretell.policies.onnx:Onnx",
    },
    "worlds": {
        "mujoco": "foretell.sim.world:MujocoWorld",
        "standin": "foretell.sim.world:MujocoWorld",
    },
}


def names(group: str) -> list[str]:
    """Every name known in a group: built-in ones first, then those of installed plug-ins."""
    plugins = (e.name for e in entry_points(group=f"foretell.{group}"))
    return list(dict.fromkeys([*BUILTIN[group], *plugins]))


def resolve(group: str, name: str) -> Any:
    """The object behind a name in a group. `name` may also be "package.module:Class" or "file.py:Class"."""
    if ":" in name and name.split(":", 1)[0] not in BUILTIN[group]:
        return load(name, field=group)
    for entry in entry_points(group=f"foretell.{group}"):
        if entry.name == name and name not in BUILTIN[group]:
            return entry.load()
    try:
        return load(BUILTIN[group][name], field=group)
    except KeyError:
        raise UsageError(f"{group}: {name!r} is not known; {suggest(name, names(group))}") from None


def load(target: str, field: str = "use") -> Any:
    """Import "package.module:Class" or "path/to/file.py:Class"."""
    where, _, attribute = target.rpartition(":")
    if not where or not attribute:
        raise UsageError(f'{field}: {target!r} should look like "package.module:Class" or "file.py:Class"')
    try:
        module = _load_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except ModuleNotFoundError as error:
        raise UsageError(f"{field}: {target!r}: {error}; is it installed or on the path?") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        public = [n for n in vars(module) if not n.startswith("_")]
        raise UsageError(f"{field}: {where} has no {attribute!r}; {suggest(attribute, public)}") from None


def _load_file(path: Path) -> Any:
    path = path.expanduser().resolve()
    if not path.is_file():
        raise UsageError(f"use: there is no file {path}")
    name = f"foretell_user_{path.stem}_{abs(hash(str(path))):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look their module up by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
