"""A detector of success: pictures of an episode in, success or its probability out.

    class Judge:
        def judge(self, frames, instruction):     # frames: uint8, (t, h, w, 3), from the first to the last
            return 0.9                            # True, False, or the probability of success

`load_detector("mine.py:Judge")` or `load_detector("success.onnx")`. A detector only proposes: see `foretell bound`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foretell.errors import ForetellError, UsageError, raised
from foretell.fingerprint.fingerprint import fingerprint_of
from foretell.fingerprint.loaded import loading, remember
from foretell.fingerprint.source import own_classes, source_hash
from foretell.judging.onnx import OnnxDetector
from foretell.registry import load

__all__ = ["Detector", "DetectorError", "NamedDetector", "Proposal", "load_detector"]

Frames = NDArray[np.uint8]


class Detector(Protocol):
    """What a user writes."""

    def judge(self, frames: Frames, instruction: str) -> bool | float:
        """Success, or its probability, from pictures of shape (t, h, w, 3), first to last."""


class DetectorError(ForetellError):
    """A detector raised, or returned what is no verdict."""


@dataclass(frozen=True)
class Proposal:
    """What a detector says of an episode."""

    success: bool
    score: float
    """Probability of success, 0 to 1."""


class NamedDetector:
    """A detector, its name and what it is known by."""

    def __init__(self, detector: Any, name: str, version: str):
        self.detector, self.name, self.version = detector, name, version

    def propose(self, frames: Frames, instruction: str) -> Proposal:
        """Ask it. Raises DetectorError where it fails."""
        if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[-1] != 3 or not len(frames):
            raise ValueError(f"frames must be uint8 of shape (t, h, w, 3), got {frames.dtype} {frames.shape}")
        try:
            answer = self.detector.judge(frames, instruction)
        except ForetellError:
            raise
        except Exception as error:
            raise DetectorError(f"detector {self.name!r} raised {raised(error)}") from error
        if not isinstance(answer, bool | int | float | np.bool_ | np.number) or not 0.0 <= float(answer) <= 1.0:
            raise DetectorError(
                f"detector {self.name!r} returned {answer!r:.100}; it should be True, False or a probability"
            )
        return Proposal(float(answer) >= 0.5, float(answer))


def load_detector(use: str | Path | Any) -> NamedDetector:
    """A detector from "file.py:Class", "package.module:Class", a path that ends in .onnx, or an object with `judge`."""
    if isinstance(use, Path) or (isinstance(use, str) and use.endswith(".onnx")):
        made = OnnxDetector(use)
        return NamedDetector(made, _name(Path(use).stem), made.version)
    if isinstance(use, str):
        made = _make(use)
        known = use.rpartition(":")[2]
    else:
        made, known = use, type(use).__name__
    if not callable(getattr(made, "judge", None)):
        raise UsageError(f"detector: {use!r:.200} has no method `judge`; see docs/real_trials.md")
    return NamedDetector(made, _name(str(getattr(made, "name", known))), _version(made))


def _make(use: str) -> Any:
    kind = load(use, field="detector")
    if not isinstance(kind, type):
        return kind
    try:
        with loading() as opened:
            made = kind()
    except ForetellError:
        raise
    except Exception as error:
        raise UsageError(f"detector: {use:.200} could not be made: {raised(error)}") from error
    remember(made, opened)
    return made


def _name(text: str) -> str:
    """A name that a file may have."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("._")[:60] or "detector"


def _version(detector: Any) -> str:
    """SHA-256 of its classes' source, and of the files that it loaded."""
    classes = own_classes(type(detector))
    covered = fingerprint_of(detector, classes)
    parts = [*map(source_hash, classes), covered.more or ""]
    return hashlib.sha256("".join(parts).encode()).hexdigest() if any(parts) else source_hash(type(detector))
