"""A strip of pictures as text: two pixels to a letter, in the colours of a terminal that has them all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["colours", "drawn"]


def colours() -> bool:
    """Whether standard output is a terminal that says it shows any colour."""
    return sys.stdout.isatty() and os.environ.get("COLORTERM") in ("truecolor", "24bit")


def drawn(picture: Path, width: int = 100) -> str:
    """A picture file, so many letters wide; the upper half block shows one pixel above another."""
    from foretell.rollout.video import require_encoder

    with require_encoder().open(str(picture)) as file:
        frame = next(file.decode(video=0))
    height = 2 * max(1, round(width * frame.height / frame.width / 2))
    pixels = frame.reformat(width=width, height=height, format="rgb24").to_ndarray()
    lines = []
    for above, below in zip(pixels[::2], pixels[1::2], strict=True):
        cells = (
            "\x1b[38;2;{};{};{};48;2;{};{};{}m▀".format(*map(int, a), *map(int, b))
            for a, b in zip(above, below, strict=True)
        )
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)
