"""A guard around a world of one's own: what its methods raise ends an episode, and not the study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from foretell.errors import ForetellError, WorldError, raised, traced
from foretell.fingerprint.source import own_classes
from foretell.world import World

__all__ = ["WorldFailed", "guarded"]


class WorldFailed(Exception):  # noqa: N818 - says what happened
    """A method of the world raised."""

    def __init__(self, message: str, trace: str):
        super().__init__(message)
        self.trace = trace


def guarded(world: World) -> World:
    """The world, with methods that raise WorldFailed instead of anything else. foretell's own worlds are not guarded:
    what they raise is a bug of foretell, and its traceback should be seen."""
    return cast(World, _Guard(world)) if own_classes(type(world)) else world


class _Guard:
    def __init__(self, world: World):
        self._world = world
        self._person = "terminal" in world.needs

        for name in dir(type(world)):
            if not name.startswith("_") and callable(getattr(type(world), name)) and callable(getattr(world, name)):
                setattr(self, name, self._guard(name, getattr(world, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def _guard(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            try:
                return method(*args, **more)
            except WorldError as error:
                raise WorldFailed(str(error), traced(error)) from error
            except (ForetellError, MemoryError):  # of the study, or of the machine
                raise
            except Exception as error:
                if isinstance(error, EOFError) and self._person:
                    raise KeyboardInterrupt from error  # the person closed the terminal, or pressed Ctrl-D
                raise WorldFailed(f"{name} raised {raised(error)}", traced(error)) from error

        return call
