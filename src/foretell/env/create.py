"""Make the environment of a simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foretell.bridges.simulators.environment import Made, make_environment

__all__ = ["create"]


def create(name: str, path: str | Path | None = None, *, notify: Callable[[str], None] = lambda text: None) -> Made:
    """Make the environment `name` with the versions that foretell expects, and return its record. `path` is its folder;
    None means `foretell/envs/NAME` in the user's cache folder, or in the folder FORETELL_ENVS. One that is there with
    these versions stays as it is. `notify` is called with what is done."""
    return make_environment(name, Path(path) if path is not None else None, notify=notify)
