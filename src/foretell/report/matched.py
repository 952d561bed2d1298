"""The page of `foretell match check`: a real frame and the simulated one, and how alike they are."""

from __future__ import annotations

import base64
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.files import require_writable
from foretell.match import Resemblance
from foretell.match.opencv import opencv
from foretell.report.page import needs_extra, page
from foretell.report.section import PicturePair, Section, Sheet

__all__ = ["require_page", "write_check"]

QUALITY = 92
"""Of the JPEG pictures on the page."""


def require_page(path: str | Path) -> Path:
    """The path of a page that can be written."""
    needs_extra()
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"out: {path} should end in .html")
    require_writable(path, "out")
    return path


def write_check(likeness: Resemblance, path: str | Path) -> Path:
    """Write the page as one HTML file."""
    path = require_page(path)
    path.write_text(page(_contents(likeness)), encoding="utf-8")
    return path


def _contents(likeness: Resemblance) -> dict[str, Any]:
    return {
        "title": f"{likeness.task}, seen by {likeness.camera}",
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "foretell": version("foretell"),
        "runs": [],
        "sections": [_frames(likeness).to_dict(), _numbers(likeness).to_dict()],
        "episodes": {"count": 0},
        "notes": likeness.notes,
    }


def _frames(likeness: Resemblance) -> Section:
    more = [("Difference", _picture(_difference(likeness)))]
    if likeness.covered is not None:
        more.append(("Silhouettes", _picture(_silhouettes(likeness))))
    compared = PicturePair(
        name="frames",
        title="The real frame and the simulated one",
        labels=("real", "simulated"),
        pictures=(_picture(likeness.real), _picture(likeness.simulated)),
        more=more,
        about="The difference is that of each channel, twice as bright. Silhouettes: green is in both, orange in the "
        "real frame alone, blue in the simulated one alone.",
    )
    where = "the first scenario" if likeness.layout is None else f"layout {likeness.layout}"
    says = f"World `{likeness.world}`, {where}. In flicker, whatever jumps is in another place."
    return Section("frames", "Frames", says, [compared])


def _numbers(likeness: Resemblance) -> Section:
    overlap = "not known" if likeness.overlap is None else f"{likeness.overlap:.3f}"
    shared = "where both silhouettes are" if likeness.covered is not None else "where the simulated silhouette is"
    source = f"intersection over union; the real silhouette is known from: {likeness.known_from}"
    rows = [
        ["silhouette overlap", overlap, source],
        ["colour distance", _number(likeness.colour), f"mean CIEDE2000 {shared}"],
        ["colour distance elsewhere", _number(likeness.colour_elsewhere), "mean CIEDE2000 in neither silhouette"],
    ]
    rows += [[f"colour of {name}", _number(v), "where the simulation shows it"] for name, v in likeness.parts.items()]
    columns = ["number", "value", "what it is"]
    about = "An overlap of 1 is perfect. A CIEDE2000 of 2 is just seen, 10 is plain, and 50 is black beside grey."
    sheet = Sheet(name="likeness", title="How alike they are", columns=columns, rows=rows, right=["value"], about=about)
    known = "" if likeness.overlap is None else f"The silhouettes overlap by {likeness.overlap:.2f}. "
    says = f"{known}The colours of the foreground are {_number(likeness.colour)} apart."
    return Section("numbers", "Numbers", says, [sheet])


def _number(value: float) -> str:
    return "nothing to compare" if np.isnan(value) else f"{value:.1f}"


def _difference(likeness: Resemblance) -> np.ndarray:
    apart = np.abs(likeness.real.astype(np.int16) - likeness.simulated)
    return np.asarray(np.minimum(2 * apart, 255), dtype=np.uint8)


def _silhouettes(likeness: Resemblance) -> np.ndarray:
    assert likeness.covered is not None
    picture = np.asarray(likeness.real.mean(axis=2, keepdims=True) * [0.45, 0.45, 0.45], dtype=np.uint8)
    kinds = (
        (likeness.foreground & likeness.covered, (40, 200, 120)),
        (~likeness.foreground & likeness.covered, (255, 140, 40)),
        (likeness.foreground & ~likeness.covered, (70, 130, 255)),
    )
    for where, colour in kinds:
        picture[where] = (0.4 * picture[where] + 0.6 * np.array(colour)).astype(np.uint8)
    return picture


def _picture(image: np.ndarray) -> str:
    """A data address."""
    cv2 = opencv()
    _, data = cv2.imencode(".jpg", np.ascontiguousarray(image[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return f"data:image/jpeg;base64,{base64.b64encode(bytes(data)).decode()}"
