"""What a report is made of: sections, each with one plain sentence that says what it means, and blocks under it.

Pure data. The page, `foretell figure` and the live view all read the same sections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Block", "Chart", "PicturePair", "Section", "Sheet", "Strips", "Words"]

Row = dict[str, Any]
INHERITED = frozenset(
    ("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf")
    + ("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__")
)
"""What every object in JavaScript has: Vega looks names up in objects, and would find these."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One figure: a Vega-Lite specification with its data in it. Colours of text, axes and background are left to the
    page (light or dark) or to paper."""

    name: str
    """What `foretell figure RUN NAME` calls it: lower case, dashes; one of a kind in a report."""
    title: str
    spec: dict[str, Any]
    rows: Sequence[Row]
    """The figures behind it, as its CSV has them."""
    about: str = ""
    """What to see in it, and how its intervals are made."""
    kind: str = "chart"

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", _drawable(self.spec))


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table of text and numbers. `right` names the columns that are aligned to the right."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    right: Sequence[str] = ()
    about: str = ""
    kind: str = "sheet"


@dataclass(frozen=True)
class Words:
    """A paragraph, or several. `tone` is plain, good, caution or bad; `code` is text as it
    stands. A title, if any, stands above."""

    text: str
    tone: str = "plain"
    title: str = ""
    kind: str = "words"


@dataclass(frozen=True, kw_only=True)
class Strips:
    """Films at a glance: of each a few pictures side by side, and the episode that they are of."""

    name: str
    title: str
    films: Sequence[Row]
    """`run`, `episode`, `said` (one line), `outcome`, and `picture`: a JPEG as a data address."""
    about: str = ""
    kind: str = "strips"


@dataclass(frozen=True, kw_only=True)
class PicturePair:
    """Two pictures of one thing, side by side, in turn, one over the other, or as their difference."""

    name: str
    title: str
    labels: tuple[str, str]
    pictures: tuple[str, str]
    """As data addresses, of the same size."""
    more: Sequence[tuple[str, str]] = ()
    """Further pictures of the same size: label and data address."""
    about: str = ""
    kind: str = "compared"


Block = Chart | PicturePair | Sheet | Strips | Words


@dataclass(frozen=True)
class Section:
    """A part of a report. It exists only where there is data for it."""

    id: str
    title: str
    says: str
    """One plain sentence: what the figures below mean."""
    blocks: Sequence[Block] = field(default_factory=tuple)

    def to_dict(self) -> Row:
        return asdict(self)


def _drawable(value: Any) -> Any:
    """A specification that Vega draws whatever things are called. A name that it would take for something else gets a
    space of no width, and a line separator, which its parser refuses, becomes a space. Tables keep the names."""
    if isinstance(value, dict):
        return {key: _drawable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_drawable(part) for part in value]
    if isinstance(value, str):
        return f"{value}\u200b" if value in INHERITED else value.replace("\u2028", " ").replace("\u2029", " ")
    return value
