"""Results as a notebook shows them: sentences as paragraphs, tables as tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

__all__ = ["Displayed", "html_of", "html_table"]

ALIGNED = re.compile(r"^\s|\S\s{2,}\S")
"""A line of a table in text: it is indented, or has a gap between columns."""


class Displayed:
    """A result with a `text`. A notebook shows it without being asked."""

    def text(self) -> str:
        """The answer in words."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_of(self.text())


def html_of(text: str) -> str:
    """Text as HTML. Lines whose columns are aligned stay so; names in them are data, and are escaped."""
    parts: list[tuple[bool, list[str]]] = []
    for line in text.splitlines():
        aligned = bool(ALIGNED.search(line))
        if not line.strip():
            parts.append((False, []))
        elif parts and parts[-1][0] == aligned and parts[-1][1]:
            parts[-1][1].append(line)
        else:
            parts.append((aligned, [line]))
    pieces = []
    for aligned, lines in parts:
        if lines and aligned:
            pieces.append(f'<pre style="overflow-x: auto">{escape(chr(10).join(lines))}</pre>')
        elif lines:
            pieces.append(f"<p>{'<br>'.join(map(escape, lines))}</p>")
    return "".join(pieces)


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns with their names."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
