"""Latency as data: how long an inference takes, drawn from the scenario's seed, so that rows reproduce.

In a study: a number of seconds (or `50 ms`, `2 s`), `{uniform: [0.02, 0.05]}`, `{normal: [0.03, 0.005]}` (mean,
standard deviation; never below 0), `{lognormal: [0.03, 0.3]}` (median, sigma), `{trace: [0.031, 0.029]}` or `{trace:
FILE}`, a number a line; `{replay: ...}` is a trace taken from its beginning in every episode, and may have `looks`,
seconds after it is asked at which the policy looks, as `realtime` records them. Two depend on the policy and are
settled before the first episode: `measured` (a trace recorded on this machine) and `{profile: FILE or name, device:
NAME}`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError, suggest
from foretell.files import SMALL, read_file

__all__ = ["Latency", "parse_latency"]

PARAMETERS = {"constant": 1, "uniform": 2, "normal": 2, "lognormal": 2}
TRACES = ("trace", "replay")
KNOWN = (*PARAMETERS, *TRACES, "profile")
LONG = 10.0
"""Seconds above which a bare number is more likely one of milliseconds."""
VALUES = 10_000
"""Of a trace, at most: every row carries it."""
OPEN = ("measured", "profile")
"""Kinds that stand for another one, of each policy."""


@dataclass(frozen=True, kw_only=True)
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

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
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
    if value == "measured":
        return Latency(kind="measured", values=(), name="measured")
    if isinstance(value, (int, float)) or (isinstance(value, str) and UNIT.fullmatch(value)):
        return _checked("constant", [_seconds(value)])
    if not isinstance(value, dict):
        raise UsageError(f"latency: {_short(value)} should be seconds, `measured`, or one of {', '.join(KNOWN)}")
    return _mapped(value)


def _mapped(value: dict[str, Any]) -> Latency:
    """A latency that is written as a mapping: a row's, a profile or one distribution."""
    if {"kind", "values"} <= set(value) <= {"kind", "values", "name", "device", "looks"}:
        name, device = str(value.get("name", "")), str(value.get("device", ""))
        if value["kind"] in OPEN:
            return Latency(kind=str(value["kind"]), values=(), name=name, device=device)
        return replace(_seen(_checked(str(value["kind"]), value["values"]), value.get("looks", ())), name=name)
    if "profile" in value and set(value) <= {"profile", "device"}:
        return Latency(kind="profile", values=(), name=str(value["profile"]), device=str(value.get("device", "")))
    if set(value) == {"replay", "looks"}:
        return _seen(parse_latency({"replay": value["replay"]}), value["looks"])
    if len(value) != 1:
        raise UsageError(f"latency: {_short(value)} should name one distribution")
    ((kind, numbers),) = value.items()
    if kind in TRACES and isinstance(numbers, str):
        numbers = _read(numbers)
    numbers = numbers if isinstance(numbers, (list, tuple)) else [numbers]
    if kind in PARAMETERS:
        # a sigma has no unit
        numbers = [v if kind == "lognormal" and i else _seconds(v) for i, v in enumerate(numbers)]
    return _checked(str(kind), numbers)


UNIT = re.compile(r"\s*(\d{1,9}(?:\.\d{0,9})?)\s*(ms|s)\s*")


def _seconds(value: Any) -> Any:
    """A number of seconds, or text with its unit; what is neither stays as it is. A bare number above `LONG` is asked
    about: somebody may have meant milliseconds."""
    if isinstance(value, str) and (match := UNIT.fullmatch(value)):
        return float(match[1]) / (1000 if match[2] == "ms" else 1)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and LONG < value < math.inf:
        if value >= 1e9:
            raise UsageError(f"latency: {_short(value)} s is longer than any episode")
        raise UsageError(
            f"latency: {_short(value)} is in seconds: for milliseconds write {_short(value)} ms, or "
            f"{value / 1000:g}; if seconds are meant, write {_short(value)} s"
        )
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _seen(latency: Latency, looks: Any) -> Latency:
    if not looks:
        return latency
    times = _checked("replay", looks).values
    if latency.kind != "replay" or len(times) != len(latency.values):
        raise UsageError(f"latency: {len(times)} looks for {len(latency.values)} values of {latency.kind}")
    if late := [(a, b) for a, b in zip(times, latency.values, strict=True) if a > b + 1e-9]:
        raise UsageError(f"latency: looks {late[0][0]:g} s after it was asked, and answers {late[0][1]:g} s after")
    return replace(latency, looks=times)


def _read(path: str) -> list[float]:
    try:
        return [float(line) for line in read_file(path, SMALL, follow=True).decode().split()]
    except OSError as error:
        raise UsageError(f"latency: trace: {_short(path)}: {error.strerror}") from None
    except ValueError:  # what it holds is not quoted: it may not be the file that was meant
        raise UsageError(f"latency: trace: {_short(path)} should have one number of seconds a line") from None


def _checked(kind: str, numbers: Any) -> Latency:
    if kind not in KNOWN[:-1]:
        raise UsageError(f"latency: {_short(kind)} is not a distribution; {suggest(kind, KNOWN)}")
    try:
        values = tuple(float(v) for v in numbers)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"latency: {kind}: {_short(numbers)} should be numbers of seconds") from None
    wanted = PARAMETERS.get(kind)
    if (wanted is not None and len(values) != wanted) or not values:
        raise UsageError(f"latency: {kind} takes {wanted or 'at least 1'} numbers, given {len(values)}")
    if not all(math.isfinite(v) and v >= 0 for v in values):
        raise UsageError(f"latency: {kind}: {_short(list(values))} must be 0 or more, and finite")
    if len(values) > VALUES:
        raise UsageError(f"latency: {kind}: it has {len(values):,} values, at most {VALUES:,} are taken")
    if kind == "uniform" and values[0] > values[1]:
        raise UsageError(f"latency: uniform: {values[0]} is above {values[1]}")
    return Latency(kind=kind, values=values)
