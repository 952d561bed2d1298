"""Latency as data: how long an inference takes, drawn from the scenario's seed, so that rows reproduce.

In a study: a number of seconds, `{uniform: [0.02, 0.05]}`, `{normal: [0.03, 0.005]}` (mean, standard deviation; never
below 0), `{lognormal: [0.03, 0.3]}` (median, sigma), `{trace: [0.031, 0.029]}` or `{trace: FILE}`, a number a line;
`{replay: ...}` is a trace taken from its beginning in every episode, and may have `looks`, seconds after it is asked at
which the policy looks, as `realtime` records them. Two depend on the policy and are settled before
the first episode: `measured` (a trace recorded on this machine) and `{profile: FILE or name, device: NAME}`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foretell.errors import UsageError, suggest

__all__ = ["Latency", "parse_latency"]

PARAMETERS = {"constant": 1, "uniform": 2, "normal": 2, "lognormal": 2}
TRACES = ("trace", "replay")
KNOWN = (*PARAMETERS, *TRACES, "profile")
OPEN = ("measured", "profile")
"""Kinds that stand for another one, of each policy."""


@dataclass(frozen=True)
class Latency:
    """A distribution or a trace, in wall seconds of the policy's computer."""

    kind: str = "constant"
    values: tuple[float, ...] = (0.0,)
    name: str = ""
    """What it stands for, such as `measured` or a device: the same for all policies, so that tables can set them side
    by side. Of kind `profile` before it is settled, the profile."""
    device: str = ""
    """Of kind `profile`, before it is settled."""
    looks: tuple[float, ...] = ()
    """Of kind `replay`: seconds from being asked to looking, one for each value; none: at once. A process that wakes
    late sees a newer world."""

    @property
    def settled(self) -> bool:
        """Whether it can be drawn from; otherwise it depends on the policy (see `foretell.study.latencies`)."""
        return self.kind not in OPEN

    def draw(self, rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
        """(n,) latencies of successive inferences. A trace is replayed in order, from a place drawn at random."""
        v = self.values
        if self.kind == "constant":
            return np.full(n, v[0])
        if self.kind == "uniform":
            return rng.uniform(v[0], v[1], n)
        if self.kind == "normal":
            return np.maximum(rng.normal(v[0], v[1], n), 0.0)
        if self.kind == "lognormal":
            return v[0] * np.exp(rng.normal(0.0, v[1], n))
        start = int(rng.integers(len(v))) if self.kind == "trace" else 0
        return np.asarray(v)[(start + np.arange(n)) % len(v)]

    def to_dict(self) -> dict[str, Any]:
        named = {k: v for k, v in (("name", self.name), ("device", self.device), ("looks", list(self.looks))) if v}
        return {"kind": self.kind, "values": list(self.values), **named}

    @property
    def label(self) -> str:
        """A short name for tables."""
        if self.name:
            return self.name if self.settled else " ".join([self.name, self.device]).strip()
        if self.kind == "constant":
            return f"{self.values[0] * 1000:g} ms"
        if self.kind in TRACES:
            return f"{self.kind} of {len(self.values)}, median {float(np.median(self.values)) * 1000:.3g} ms"
        return f"{self.kind} {', '.join(f'{v:g}' for v in self.values)}"


def parse_latency(value: Any) -> Latency:
    """A latency as a study gives it; see the module's docstring."""
    if isinstance(value, Latency):
        return value
    if isinstance(value, bool) or value is None:
        raise UsageError(f"latency: {value!r} is not a number of seconds")
    if isinstance(value, (int, float)):
        return _checked("constant", [value])
    if value == "measured":
        return Latency("measured", (), "measured")
    if not isinstance(value, dict):
        raise UsageError(f"latency: {value!r} should be seconds, `measured`, or one of {', '.join(KNOWN)}")
    if {"kind", "values"} <= set(value) <= {"kind", "values", "name", "device", "looks"}:
        name, device = str(value.get("name", "")), str(value.get("device", ""))
        if value["kind"] in OPEN:
            return Latency(str(value["kind"]), (), name, device)
        return replace(_seen(_checked(str(value["kind"]), value["values"]), value.get("looks", ())), name=name)
    if "profile" in value and set(value) <= {"profile", "device"}:
        return Latency("profile", (), str(value["profile"]), str(value.get("device", "")))
    if set(value) == {"replay", "looks"}:
        return _seen(parse_latency({"replay": value["replay"]}), value["looks"])
    if len(value) != 1:
        raise UsageError(f"latency: {value!r} should name one distribution")
    ((kind, numbers),) = value.items()
    if kind in TRACES and isinstance(numbers, str):
        numbers = _read(Path(numbers))
    return _checked(str(kind), numbers if isinstance(numbers, (list, tuple)) else [numbers])


def _seen(latency: Latency, looks: Any) -> Latency:
    if not looks:
        return latency
    found = _checked("replay", looks).values
    if latency.kind != "replay" or len(found) != len(latency.values):
        raise UsageError(f"latency: {len(found)} looks for {len(latency.values)} values of {latency.kind}")
    if late := [(a, b) for a, b in zip(found, latency.values, strict=True) if a > b + 1e-9]:
        raise UsageError(f"latency: looks {late[0][0]:g} s after it was asked, and answers {late[0][1]:g} s after")
    return replace(latency, looks=found)


def _read(path: Path) -> list[float]:
    try:
        return [float(line) for line in path.read_text().split()]
    except OSError as error:
        raise UsageError(f"latency: trace: {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"latency: trace: {path}: {error}; it should have one number of seconds a line") from None


def _checked(kind: str, numbers: Any) -> Latency:
    if kind not in KNOWN[:-1]:
        raise UsageError(f"latency: {kind!r} is not a distribution; {suggest(kind, KNOWN)}")
    try:
        values = tuple(float(v) for v in numbers)
    except (TypeError, ValueError):
        raise UsageError(f"latency: {kind}: {numbers!r} should be numbers") from None
    wanted = PARAMETERS.get(kind)
    if (wanted is not None and len(values) != wanted) or not values:
        raise UsageError(f"latency: {kind} takes {wanted or 'at least 1'} numbers, given {len(values)}")
    if not all(math.isfinite(v) and v >= 0 for v in values):
        raise UsageError(f"latency: {kind}: {list(values)} must be 0 or more, and finite")
    if kind == "uniform" and values[0] > values[1]:
        raise UsageError(f"latency: uniform: {values[0]} is above {values[1]}")
    return Latency(kind, values)
