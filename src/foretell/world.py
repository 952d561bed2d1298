"""The seam between a world and the drivers: looking, commanding and letting time pass are separate.

Nothing outside a world steps physics. `slots` is always a sorted array of distinct slot numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.camera import Camera, Intrinsics
from foretell.errors import UsageError
from foretell.scenario import Scenario
from foretell.spec import IMAGES, ActionSpec, Feature, Kind, Stream

if TYPE_CHECKING:
    from foretell.tasks.task import Task

__all__ = [
    "ABILITIES",
    "Drawing",
    "EpisodeCut",
    "EpisodeViewer",
    "Judge",
    "Observations",
    "Recordable",
    "Verdict",
    "Watching",
    "World",
    "misdeclared",
    "slot_array",
    "whole_ticks",
]

Judge = Literal["task", "person", "detector"]
"""Who may judge an episode."""
ABILITIES: dict[str, str] = {
    "wait": "stand still between two actions, while a policy thinks",
    "pause": "stand still at any tick",
    "draw": "draw a picture for a film",
    "snapshot": "hand out its state, to be drawn later or by another process",
    "watch": "show itself in a window while it runs",
    "reset": "set the table by itself",
}
"""What a world may be able to do. Reality can do none of it."""


class EpisodeCut(Exception):  # noqa: N818 - says what happened
    """Raised by a world with one slot: the episode ends here and now. A person stopped it, or something failed that is
    no more than this episode's. The driver ends it with `end` and `blame`, as in the row, and goes on."""

    def __init__(self, end: Literal["stopped", "error"], blame: Literal["policy", "world", "machine"] | None, why: str):
        super().__init__(why)
        self.end, self.blame = end, blame


class Observations(dict[str, Any]):
    """Stream name -> (n, ...) array, with the tick at which each was captured."""

    def __init__(self, values: dict[str, Any], ticks: dict[str, np.ndarray]):
        super().__init__(values)
        self.ticks = ticks
        """Stream name -> (n,) tick of capture, counted from the episode's start."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How one episode came out. No driver overrules it; where the `task` judges, its `success_rule` decides whether
    success at any action counts, or at the end."""

    success: bool | None
    """Success at this moment; None where only a person can tell and has not."""
    score: float | None
    """Share of the task's stages reached, in [0, 1]. A success has 1, unless somebody else judged and gave less."""
    stages: dict[str, float]
    """Stage name -> simulated seconds at which it was first reached."""
    metrics: dict[str, float] = field(default_factory=dict)
    events: dict[str, float] = field(default_factory=dict)
    """Event -> how often it happened; see `tasks.events`."""
    judge: Judge = "task"
    """Who judged."""
    reason: str | None = None
    """Why it failed, in the judge's words. With None the row has the first stage that the task missed, or `undone`
    where somebody else judged."""

    def __post_init__(self) -> None:
        """Plain numbers, whatever arrays a world computes with: a row goes through JSON."""
        if self.judge not in get_args(Judge):
            raise UsageError(f"verdict: judge is {self.judge!r}; it should be one of {', '.join(get_args(Judge))}")
        plain: dict[str, Any] = {
            "success": None if self.success is None else bool(self.success),
            "score": None if self.score is None else float(self.score),
        }
        for name in ("stages", "metrics", "events"):
            plain[name] = {str(key): float(value) for key, value in getattr(self, name).items()}
        for name, value in plain.items():
            object.__setattr__(self, name, value)


@runtime_checkable
class World(Protocol):
    """Where scenarios run. All that drivers, sessions, replay, films and checks use. A world may have `notes` besides:
    sentences about its parameters that a study prints; `over(slots)`: (n,) bool, whether the task ends an episode here,
    solved or not; `attend(run)`: called once before the first episode with the run folder, of a world that keeps files
    of its own or needs a person (nothing else of it may touch hardware before); `announce(slots, episodes)`: called
    before `reset` with the keys of the episodes, by which such files are named; and `filmed(slot)`: the path, within
    the run folder, of a film that it made of the episode, or None."""

    name: str
    task: Task
    action: ActionSpec
    controller: str
    """Name of what turns actions into motion, as it stands in the row."""
    slots: int
    tick: float
    """Simulated seconds of one physics step."""
    hash: str
    """Names the world with all its parameters; part of every episode's key."""
    real: bool
    """Whether this is reality; declared in the body of the class, because a study is planned before the world is made.
    A simulated world that plays reality has `stands_in = True` besides, which may be left out elsewhere."""
    can: AbstractSet[str]
    """Which of `ABILITIES` it has; `draw` and `snapshot` come with the methods of `Drawing`. A driver refuses what a
    world cannot do before the first episode."""
    needs: AbstractSet[str]
    """`terminal`: it talks to a person, so it runs in the main process; declared in the body of the class. Or
    nothing."""

    @property
    def params(self) -> dict[str, Any]:
        """The world's parameters θ, as they stand in the row. JSON-able."""

    @property
    def features(self) -> Mapping[str, Feature]:
        """`part/name` -> what can be observed."""

    def reset(self, slots: np.ndarray, scenarios: Sequence[Scenario], trials: Sequence[int]) -> None:
        """Start an episode in each slot. Whatever the slots did before leaves no trace."""

    def observe(self, slots: np.ndarray, streams: dict[str, Stream]) -> Observations:
        """Look. Only the streams named are computed; `time` and `instruction` are always there."""

    def command(self, slots: np.ndarray, actions: np.ndarray, ticks: np.ndarray) -> None:
        """Replace each slot's plan from this tick on by one action (n, dim) meant to last `ticks` (n,)."""

    def advance(self, slots: np.ndarray, ticks: np.ndarray) -> None:
        """Let physics run for `ticks` (n,) in each slot; policies do not."""

    def faults(self, slots: np.ndarray) -> dict[int, str]:
        """Slot -> what went wrong in the world since its reset (diverged physics), for those that failed."""

    def progress(self, slots: np.ndarray) -> np.ndarray | None:
        """(n,) bool: is the task solved at this moment? None where only a person can tell. Latches stages."""

    def terminate(self, slots: np.ndarray) -> np.ndarray:
        """(n,) bool: does the episode end, now that the policy declares itself done? Where it does not, the task goes
        on with its next subtask."""

    def verdict(self, slots: np.ndarray) -> list[Verdict]:
        """Judge; called once per episode, at its end."""

    def close(self) -> None:
        """Give back what the world holds."""


@runtime_checkable
class Drawing(Protocol):
    """A world that can `draw`; one that can `snapshot` too is drawn in another process, or later."""

    @property
    def cameras(self) -> Sequence[str]:
        """Names of its cameras."""

    def draw(self, slot: int, stream: str, wanted: Stream, seen: Any = None) -> np.ndarray:
        """What a camera's stream shows now, or showed at a snapshot: (height, width, channels)."""

    def picture(self, slot: int, camera: str | Camera, height: int, width: int, seen: Any = None) -> np.ndarray:
        """(height, width, 3) uint8 for a film, as fine as can be, now or at a snapshot. `camera` may stand anywhere."""

    def intrinsics(self, camera: str, height: int, width: int, slot: int | None = None) -> Intrinsics:
        """The lens of one of its cameras for pictures of a size: the nominal one, or that of the episode in a slot."""

    def snapshot(self, slot: int) -> np.ndarray:
        """(k,) numbers from which cameras can be drawn as they see now."""

    def require_drawing(self) -> None:
        """Raise ForetellError if nothing can be drawn on this machine, as where there is no OpenGL."""


@runtime_checkable
class EpisodeViewer(Protocol):
    """A window that shows an episode."""

    def open(self, slot: int) -> None:
        """The slot has a new episode."""

    def show(self, seen: np.ndarray) -> None:
        """Show the episode as it was at a snapshot."""


@runtime_checkable
class Watching(Protocol):
    """A world that can `watch`."""

    def viewer(self) -> EpisodeViewer:
        """A window of its own. Raise UsageError where there is no screen."""


@runtime_checkable
class Recordable(Protocol):
    """A world whose true state can be written down, and judged again without physics."""

    def state(self, slot: int) -> np.ndarray:
        """(k,) the true state."""

    def restore(self, slot: int, state: np.ndarray, tick: int) -> None:
        """Put a slot into a state that it was in at a tick of its episode; `progress` and `verdict` judge it."""

    def trace(self, slot: int) -> dict[str, float]:
        """The true state and the last action as named numbers, for people: a sensor read here would use up its
        noise."""


def whole_ticks(k: Ints | int, tick_rate: float, rate: Floats | float) -> Ints:
    """The tick on which event k of a periodic stream falls: floor(k * tick_rate / rate), free of float drift."""
    exact = np.asarray(k, dtype=np.float64) * tick_rate / rate
    return np.floor(exact + 1e-9).astype(np.int64)


def slot_array(slots: Iterable[int]) -> np.ndarray:
    """Slot numbers as worlds take them: sorted int32."""
    return np.array(sorted(slots), dtype=np.int32)


def misdeclared(
    seen: Mapping[str, Any], streams: Mapping[str, Stream], features: Mapping[str, Feature], count: int
) -> str | None:
    """How the answer of `observe` for `count` slots differs from the declared features; None where it does not."""
    for name in (*streams, "time", "instruction"):
        if name not in seen:
            return f"stream {name!r} is missing"
    for name, stream in streams.items():
        if wrong := _unlike(features[name], seen[name], stream, count):
            return f"stream {name!r} {wrong}"
    if np.shape(seen["time"]) != (count,) or np.asarray(seen["time"]).dtype.kind not in "fiu":
        return f"stream 'time' should be an array of {count} numbers, one for each slot, and is {seen['time']!r}"
    if not _texts(seen["instruction"], count):
        return f"stream 'instruction' should be {count} texts, one for each slot, and is {seen['instruction']!r}"
    return None


def _unlike(feature: Feature, value: Any, stream: Stream, count: int) -> str | None:
    if feature.kind not in get_args(Kind):
        return f"is declared with kind {feature.kind!r}, which is none of {', '.join(get_args(Kind))}"
    if feature.kind == "text":
        return None if _texts(value, count) else f"should be {count} texts, one for each slot, and is {value!r}"
    dtype = IMAGES[feature.kind][1] if feature.image else feature.dtype
    if feature.dtype != dtype:
        return f"is declared with dtype {feature.dtype}, and kind {feature.kind!r} has {dtype}"
    array, shape = np.asarray(value), (count, *(stream.shape or feature.shape))
    if array.shape != shape:
        return f"has shape {array.shape} for {count} slots, and it should be {shape}"
    return None if array.dtype == dtype else f"has dtype {array.dtype}, and its feature declares {dtype}"


def _texts(value: Any, count: int) -> bool:
    return not isinstance(value, str) and len(value) == count and all(isinstance(text, str) for text in value)
