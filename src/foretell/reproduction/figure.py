"""One published figure beside ours, and the rule that says whether they agree.

A figure agrees when ours lies within half a unit of its last printed digit. Where the inputs are printed with few
digits that is too strict: it also agrees when some inputs that round to the printed ones give it. Such inputs are
searched for, and found or not; a search cannot prove that none exist, so `differs` means that none were found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.papers import Printed

__all__ = ["Figure", "Ledger", "reach"]

Floats = NDArray[np.float64]
Function = Callable[..., Any]
"""Arrays of shape (..., P) -> values of shape (...)."""
SLACK = 1e-9
"""For the rounding of binary fractions: 0.0275 and 0.028 are half a unit apart."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One row of the answer."""

    paper: str
    table: str
    figure: str
    published: float | str | None
    """None: the paper prints no number (a curve in a picture)."""
    recomputed: float | str | None
    """None: the inputs are not published, or cannot be read."""
    difference: float | None
    agrees: bool | None
    """None when either side is missing."""
    note: str
    quoted: bool = False
    """True: its inputs are other printed figures, not cells of a table, so it is shown and not counted."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return asdict(self)


@dataclass
class Reach:
    """Values of a figure that inputs within their rounding can give."""

    low: float
    high: float
    hit: bool
    """Whether some of them round to the published figure."""


def reach(function: Function, inputs: Sequence[Sequence[Printed]], published: Printed, draws: int = 1500) -> Reach:
    """Search the box of inputs that round to the printed ones; inputs: arrays of `Printed`, each of shape (P,).

    Random corners and inner points, then single coordinates moved to an edge while that helps, then the straight
    line between the two extremes. Every value reported has inputs behind it.
    """
    centre = [np.array([float(x) for x in part]) for part in inputs]
    half = np.concatenate([[x.half for x in part] for part in inputs])
    cuts = np.cumsum([c.size for c in centre])[:-1]
    middle = np.concatenate(centre)
    rng = np.random.default_rng(0)

    def value(shift: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.asarray(function(*np.split(middle + shift, cuts, axis=-1)), dtype=float)
        return np.where(np.isfinite(values), values, float(published))

    def climb(start: Floats, sign: float) -> Floats:
        best, now = start, sign * float(value(start[None])[0])
        for _ in range(12):
            tries = np.repeat(best[None], 2 * half.size, axis=0)
            index = np.arange(half.size)
            tries[2 * index, index], tries[2 * index + 1, index] = half, -half
            values = sign * value(tries)
            if values.max() <= now + 1e-12:
                break
            best, now = tries[int(values.argmax())], float(values.max())
        return best

    signs = rng.choice([-1.0, 1.0], size=(draws, half.size))
    cloud = half * signs * rng.choice([1.0, 0.5, 0.1], size=(draws, 1))
    seen = value(cloud)
    bottom, top = climb(cloud[int(seen.argmin())], -1.0), climb(cloud[int(seen.argmax())], 1.0)
    share = np.linspace(0.0, 1.0, 401)[:, None]
    line = value(bottom * (1.0 - share) + top * share)
    every = np.concatenate([seen, line])
    hit = bool((np.abs(every - published) <= published.half + SLACK).any())
    return Reach(float(every.min()), float(every.max()), hit)


@dataclass
class Ledger:
    """Collects the figures of one paper."""

    paper: str
    figures: list[Figure] = field(default_factory=list)

    def _add(
        self,
        table: str,
        figure: str,
        published: float | str | None,
        recomputed: float | str | None,
        agrees: bool | None,
        note: str,
    ) -> None:
        if isinstance(published, float):
            published = float(published)  # without its text
        gap = recomputed - published if isinstance(published, float) and isinstance(recomputed, float) else None
        self.figures.append(
            Figure(
                paper=self.paper,
                table=table,
                figure=figure,
                published=published,
                recomputed=recomputed,
                difference=gap,
                agrees=agrees,
                note=note,
            )
        )

    def value(self, table: str, figure: str, published: Printed, ours: float, note: str = "", why: str = "") -> bool:
        """A figure from inputs that are exact; `note` is always shown, `why` only if the two differ."""
        agrees = bool(abs(float(ours) - published) <= published.half + SLACK)
        self._add(table, figure, published, float(ours), agrees, _join(note, "" if agrees else why or "not explained"))
        return agrees

    def check(
        self,
        table: str,
        figure: str,
        published: Printed,
        function: Function,
        *inputs: Sequence[Printed],
        note: str = "",
        why: str = "",
    ) -> bool:
        """A figure computed from printed, rounded inputs; each of `inputs` is one argument, shape (P,)."""
        ours = float(function(*[np.array([float(x) for x in part]) for part in inputs]))
        agrees = bool(abs(ours - published) <= published.half + SLACK)
        if not agrees:
            box = reach(function, inputs, published)
            agrees = box.hit
            digits = len(published.text.partition(".")[2]) + 1
            span = f"{box.low:.{digits}f}..{box.high:.{digits}f}"
            if box.hit:
                note = _join(note, f"rounded inputs: {span}")
            else:
                note = _join(note, why or "not explained", f"rounded inputs: {span}")
        self._add(table, figure, published, ours, agrees, note)
        return agrees

    def drawn(self, table: str, figure: str, published: Printed, values: Floats, why: str) -> bool:
        """A figure from random data in the place of the paper's: also agrees within two standard errors."""
        ours, error = float(values.mean()), float(values.std(ddof=1) / values.size**0.5)
        agrees = bool(abs(ours - published) <= published.half + 2.0 * error)
        note = _join(f"data drawn, s.e. {error:.2g}", "" if agrees else why)
        self._add(table, figure, published, ours, agrees, note)
        return agrees

    def ours(self, table: str, figure: str, value: float, note: str = "") -> None:
        """A figure that the paper shows in a picture only."""
        self._add(table, figure, None, float(value), None, note or "no printed number")

    def lost(self, table: str, figure: str, published: Printed, note: str) -> None:
        """A figure that cannot be recomputed."""
        self._add(table, figure, published, None, None, note)

    def quoted(self, table: str, figure: str, published: Printed, others: float, note: str) -> None:
        """A figure that follows from other printed figures only: `others` is what they give. It is not counted."""
        same = abs(float(others) - published) <= published.half + SLACK
        text = f"{note}: {others:.4g}, {'as' if same else 'not as'} printed"
        self.figures.append(
            Figure(
                paper=self.paper,
                table=table,
                figure=figure,
                published=float(published),
                recomputed=None,
                difference=None,
                agrees=None,
                note=text,
                quoted=True,
            )
        )

    def worded(self, table: str, figure: str, published: str, ours: str, *, agrees: bool, note: str = "") -> None:
        """A figure in words, such as the letters of several policies."""
        self._add(table, figure, published, ours, agrees, note)

    def claim(self, table: str, figure: str, holds: bool, note: str = "") -> None:
        """A statement without a number of its own, often about a picture; it holds here or it does not."""
        self._add(table, figure, "yes", "yes" if holds else "no", bool(holds), note)


def _join(*parts: str) -> str:
    return "; ".join(p for p in parts if p)
