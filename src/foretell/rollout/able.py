"""What a world must be able to do for a clock or a film. What it cannot do is refused before the first episode."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from foretell.clock import Clock, Realtime, Sync, Virtual
from foretell.errors import UsageError
from foretell.policy import PolicySpec, observed
from foretell.rollout.video import film_camera, require_encoder
from foretell.world import ABILITIES, World

__all__ = ["check_able", "draws_apart", "require_terminal"]


def check_able(
    world: World, clock: Clock, policies: Mapping[str, PolicySpec], *, video: bool = False, view: bool = False
) -> None:
    """Raises UsageError, naming the world and what asks too much of it."""
    if unknown := sorted(set(world.can) - set(ABILITIES)):
        raise UsageError(f"world {world.name!r}: can: {unknown[0]!r} is no ability; they are {', '.join(ABILITIES)}")
    if lasting := next((dim for dim in world.action.dims if dim.duration != "fixed"), None):
        raise UsageError(
            f"world {world.name!r}: its action's {lasting.meaning!r} has duration {lasting.duration!r}, and every "
            "clock gives an action one period: declare duration 'fixed'"
        )
    realtime = isinstance(clock, Realtime)
    if isinstance(clock, Realtime) and world.real and "wait" not in world.can:
        _check_reality(world.name, clock)
    wanted: list[tuple[str, str]] = []
    wanted += [("wait", "the clock `sync`")] if isinstance(clock, Sync) else []
    wanted += [("pause", "the clock `virtual`")] if isinstance(clock, Virtual) else []
    wanted += [("draw", "record: video")] if video else []
    wanted += [("snapshot", "record: video under the clock `realtime`")] if video and realtime else []
    wanted += [("watch", "watch"), ("snapshot", "watch")] if view else []
    for ability, what in wanted:
        if ability not in world.can:
            raise UsageError(
                f"{what} needs a world that can {ability} ({ABILITIES[ability]}), and world {world.name!r} cannot"
                f"{_advice(ability)}"
            )
    for name, spec in policies.items() if realtime else ():
        for stream in observed(spec.reads):
            if world.features[stream].kind == "text":
                raise UsageError(
                    f"the clock `realtime` hands over numbers and pictures, and policy {name!r} reads {stream!r} of "
                    f"world {world.name!r}, which is text: use `sync` or `virtual`"
                )
    if world.slots > 1 and "reset" not in world.can:
        raise UsageError(
            f"world {world.name!r} cannot reset ({ABILITIES['reset']}), so it has one slot, and {world.slots} "
            "are asked for: use slots 1 and workers 1"
        )
    if "terminal" in world.needs:
        require_terminal(world.name)
    if video:
        require_encoder()
        film_camera(world)
    _check_looks(world, policies, video)


def _check_reality(world: str, clock: Realtime) -> None:
    """Raises UsageError for options of the clock that suit a simulation only."""
    if clock.speed != 1:
        raise UsageError(f"clocks: realtime: speed is {clock.speed:g}, and world {world!r} is reality: use speed 1")
    if clock.hold in ("repeat", "tick"):
        raise UsageError(
            f"clocks: realtime: hold is {clock.hold!r}: world {world!r} would move on while the policy is silent; use "
            "target or zero"
        )


def _check_looks(world: World, policies: Mapping[str, PolicySpec], video: bool) -> None:
    """Raises UsageError where pictures are wanted and meshes that are not ours are missing or broken."""
    streams = {stream for spec in policies.values() for stream in observed(spec.reads)} & set(world.features)
    if video or any(world.features[stream].image for stream in streams):
        getattr(world, "require_looks", lambda: None)()


def _advice(ability: str) -> str:
    if ability in ("wait", "pause"):
        return ": use the clock `realtime`" if ability == "wait" else ": use the clock `sync` or `realtime`"
    return ": record no video" if ability in ("draw", "snapshot") else ""


def draws_apart(world: World) -> bool:
    """Whether cameras can be drawn in a process of their own, from snapshots. Else the world's process looks."""
    return {"draw", "snapshot"} <= set(world.can)


def require_terminal(world: str) -> None:
    """Raises UsageError where a world wants to talk to a person and there is no terminal."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"world {world!r} needs a person at a terminal, and there is none here: run the study in a terminal, "
            "in the main process (engine: here)"
        )
