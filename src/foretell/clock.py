"""How time passes while the policy thinks. Inference latency belongs here, and nowhere else.

`sync`: the world waits for the policy. `virtual`: inference takes simulated time, and nobody sleeps. `realtime`: world
and policy run in processes of their own, by the clock on the wall. A clock is data; the drivers in `foretell.rollout`
carry it out.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from foretell.document import load_json
from foretell.errors import UsageError, suggest
from foretell.latency.latency import TRACES, Latency, parse_latency

__all__ = ["CLOCKS", "Clock", "Realtime", "Sync", "Virtual", "label", "parse", "safe_label", "wrong"]

CHUNKS = ("execute", "replace", "ensemble", "rtc")
HOLDS = ("target", "repeat", "tick", "zero")
COMPUTERS = ("one", "unlimited")
NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d\d?)?"
"""A number as labels have it."""


@dataclass(frozen=True)
class Clock:
    """Base of all clocks. Frozen, so that an episode's key can include it."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The clock as it stands in an episode's row."""
        options = {k: v.to_dict() if isinstance(v, Latency) else v for k, v in vars(self).items()}
        return {"kind": self.kind, **options}

    @property
    def label(self) -> str:
        """A short name for tables."""
        return self.kind


@dataclass(frozen=True)
class Sync(Clock):
    """Observe, act, command, advance one action period: the world waits."""

    kind: ClassVar[str] = "sync"


FASTEST = 1000.0
"""Largest `speed`."""


@dataclass(frozen=True, kw_only=True)
class Asynchronous(Clock):
    """Physics does not wait: what `virtual` and `realtime` have in common."""

    speed: float = 1.0
    """Simulated seconds per wall second: 2 makes the policy's computer half as fast."""
    chunks: str = "execute"
    """`execute`: run the first actions of a chunk, then look and think again. The others think all the time, and an
    answer counts from the action after those that ran meanwhile. `replace`: it takes the plan's place on arrival.
    `ensemble`: what runs is the mean of all answers for that moment, older ones weighing more (`decay`). `rtc`: as
    `replace`, and the policy is told the plan and how much of it will have run by then (`plan`, `committed`)."""
    hold: str = "target"
    """When no new action has come: `target`: keep the last target. `repeat`: issue the last action again at each action
    period. `tick`: at each tick. `zero`: issue it once more with its deltas zero, which stops the robot where it is."""
    decay: float = 0.01
    """Of `ensemble`: answer i, counted from the oldest, weighs exp(-decay i)."""

    def __post_init__(self) -> None:
        if not (_number(self.speed) and 0 < self.speed <= FASTEST):
            limits = f"it must be above 0 and at most {FASTEST:g}"
            raise UsageError(f"clocks: {self.kind}: speed is {self.speed!r:.80}, {limits}")
        for option, known in (("chunks", CHUNKS), ("hold", HOLDS)):
            if (given := getattr(self, option)) not in known:
                raise UsageError(f"clocks: {self.kind}: {option}: {_unknown(given, known)}")
        if not (_number(self.decay) and abs(self.decay) < float("inf")):
            raise UsageError(f"clocks: {self.kind}: decay is {self.decay!r:.80}, it should be a number")

    def _words(self, first: str, defaults: dict[str, Any]) -> str:
        words = [first] + ([] if self.speed == 1 else [f"speed {self.speed:g}"])
        for option, default in defaults.items():
            if (given := getattr(self, option)) != default:
                words.append({"hold": f"hold {given}", "computers": f"{given} computers"}.get(option, str(given)))
        return ", ".join(words)


@dataclass(frozen=True)
class Virtual(Asynchronous):
    """An inference that starts at simulated time t delivers its chunk at t + speed x latency. Nobody sleeps."""

    kind: ClassVar[str] = "virtual"
    latency: Latency = Latency()  # noqa: RUF009 - frozen
    computers: str = field(default="one", kw_only=True)
    """`one`: an inference starts when the last has ended. `unlimited`: one starts with every action."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "latency", parse_latency(self.latency))
        if self.computers not in COMPUTERS:
            raise UsageError(f"clocks: virtual: computers: {_unknown(self.computers, COMPUTERS)}")
        if self.computers == "unlimited" and self.chunks == "execute":
            raise UsageError(
                "clocks: virtual: `computers: unlimited` needs a policy that thinks while it acts, and `chunks: "
                "execute` thinks only between two chunks: use `chunks: replace`, `ensemble` or `rtc`"
            )

    @property
    def label(self) -> str:
        return self._words(f"virtual {self.latency.label}", {"chunks": "execute", "hold": "target", "computers": "one"})


@dataclass(frozen=True)
class Realtime(Asynchronous):
    """World, policy and cameras in processes of their own, by the clock on the wall. Rows do not reproduce."""

    kind: ClassVar[str] = "realtime"
    camera_rate: float = 30.0
    """Frames per simulated second of cameras whose policy does not ask for a rate."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (_number(self.camera_rate) and 0 < self.camera_rate < float("inf")):
            raise UsageError(f"clocks: realtime: camera_rate is {self.camera_rate!r:.80}, it must be above 0")

    @property
    def label(self) -> str:
        return self._words("realtime", {"chunks": "execute", "hold": "target"})


def _unknown(given: object, known: Sequence[str]) -> str:
    return f"{given!r:.80} is not known; {suggest(str(given), known)}"


def _number(value: Any) -> bool:
    """Whether it is one that arithmetic can take: not true or false, and no whole number beyond the largest float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, float) or value.bit_length() < 1000


CLOCKS: dict[str, type[Clock]] = {"sync": Sync, "virtual": Virtual, "realtime": Realtime}


def label(text: str) -> str:
    """A short name of the clock in a row (JSON); of one that this foretell cannot run, its kind."""
    value = load_json(text)
    return parse(value).label if value["kind"] in CLOCKS else str(value["kind"])


def safe_label(text: str) -> str:
    """A clock's `label`; of one with options that this foretell does not know, its kind and all of them."""
    with contextlib.suppress(UsageError):
        return label(text)
    value = json.loads(text)
    return f"{value['kind']} {json.dumps({k: v for k, v in value.items() if k != 'kind'})}"


def wrong(text: str) -> str:
    """What is wrong with the clock of a row; empty if nothing is. One that this foretell cannot run is none the less
    sound: it may be newer."""
    try:
        value = load_json(text)
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            return "it has no kind"
        if value["kind"] in CLOCKS:
            parse(value)
    except (ValueError, UsageError) as error:
        return str(error)
    return ""


def parse(value: Any) -> Clock:
    """A clock from a study, `sync` or `{name: {option: value}}`, or from a row, `{"kind": name, option: value}`.

    A study may name files of latencies, which are read. A row holds values, and never a path: it may come from someone
    else, and looking at it must not open what it names.
    """
    if isinstance(value, Clock):
        return value
    if isinstance(value, dict) and "kind" in value:
        latency = value.get("latency")
        if isinstance(latency, dict) and any(isinstance(latency.get(kind), str) for kind in TRACES):
            raise UsageError("clocks: latency: the clock of a row holds values, and this one names a file")
        value = {str(value["kind"]): {k: v for k, v in value.items() if k != "kind"}}
    options: dict[str, Any] = {}
    if isinstance(value, str):
        name, options = _from_label(value)
    elif isinstance(value, dict) and len(value) == 1:
        ((name, given),) = value.items()
        options = {} if given is None else given
        if not isinstance(options, dict):
            raise UsageError(f"clocks: {name}: {options!r:.80} should be a mapping of options, such as {{speed: 1.0}}")
    else:
        raise UsageError(f"clocks: {value!r:.80} should be a name or a mapping of one name to its options")
    if not isinstance(name, str) or name not in CLOCKS:
        raise UsageError(f"clocks: {name!r:.80} is not a clock; {suggest(str(name), CLOCKS)}")
    try:
        return CLOCKS[name](**options)
    except TypeError:  # an option that is not known, or is no name at all
        known = [f.name for f in fields(CLOCKS[name])]
        given = str(sorted(map(str, options)))[:200]
        raise UsageError(f"clocks: {name}: options {given} given, it takes {known or 'none'}") from None


def _from_label(text: str) -> tuple[str, dict[str, Any]]:
    """Name and options of a clock by the label that tables print, such as `virtual 200 ms, speed 2`. A label that does
    not say everything, such as that of a trace, is taken as a name."""
    first, *words = (word.strip() for word in text.split(","))
    name, _, latency = first.partition(" ")
    options: dict[str, Any] = {}
    if name == "virtual" and (match := re.fullmatch(rf"({NUMBER}) ms", latency)):
        options["latency"] = float(match[1]) / 1000
    elif name == "virtual" and latency == "measured":
        options["latency"] = latency
    elif latency:
        return text, {}
    for word in words:
        key, _, setting = word.partition(" ")
        if key == "speed" and re.fullmatch(NUMBER, setting):
            options["speed"] = float(setting)
        elif word in CHUNKS:
            options["chunks"] = word
        elif key == "hold":
            options["hold"] = setting
        elif setting == "computers":
            options["computers"] = key
        else:
            return text, {}
    return name, options
