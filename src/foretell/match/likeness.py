"""How alike a rendered object and the one in a picture are: what tells turns apart that have one silhouette."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foretell.arrays import Bools, Bytes, Floats
from foretell.match.opencv import opencv
from foretell.match.sight import Sight

__all__ = ["best_turns", "likeness", "ranked"]

LEAST = 0.5
"""Correlation below which colours say nothing: the model has another print than the object."""
AHEAD = 0.15
"""By how much the best turn must be better than any other."""
TURNS = 36
MOST = 3
"""Turns that a print may leave open."""
FINE = 5
"""Turns that are tried around each of these."""


def likeness(sight: Sight, image: Bytes, mask: Bools, pose: Floats) -> float:
    """Correlation of the colours of the object in the picture and as the world draws it, over the pixels that both show
    it in: 1 for equal ones up to brightness, 0 where one of them is plain."""
    cv2 = opencv()
    both = mask & sight.silhouette(pose)
    if both.sum() < 20:
        return 0.0
    real, drawn = (
        cv2.GaussianBlur(np.ascontiguousarray(part), (0, 0), 1.0)[both].astype(np.float64)
        for part in (image, sight.picture(pose))
    )
    real, drawn = real - real.mean(axis=0), drawn - drawn.mean(axis=0)
    size = math.sqrt(float((real**2).sum()) * float((drawn**2).sum()))
    return float((real * drawn).sum()) / size if size > both.sum() else 0.0


def ranked(sight: Sight, image: Bytes, mask: Bools, poses: Sequence[Floats]) -> list[Floats] | None:
    """Poses from the most alike on; None where the colours do not tell."""
    scores = [likeness(sight, image, mask, pose) for pose in poses]
    order = sorted(range(len(poses)), key=lambda i: -scores[i])
    first, second = scores[order[0]], scores[order[1]]
    return [poses[i] for i in order] if first >= LEAST and first - second >= AHEAD else None


def best_turns(sight: Sight, image: Bytes, mask: Bools, pose: Floats) -> tuple[list[float], float]:
    """The turns of a round object that its print allows, rad, the nearest to the layout's first, and their standard
    deviation. Where no print tells, the turn of the layout (0), and infinity."""

    def score(turn: float) -> float:
        return likeness(sight, image, mask, np.array([*pose[:2], turn]))

    step = 2 * math.pi / TURNS
    scores = np.array([score(i * step) for i in range(TURNS)])
    peaks = [i for i in range(TURNS) if scores[i] >= max(scores[i - 1], scores[(i + 1) % TURNS], scores.max() - AHEAD)]
    if scores.max() < LEAST or len(peaks) > MOST or np.mean(scores > scores.max() - AHEAD) > 0.4:
        return [0.0], math.inf
    turns, spread = [], step
    for i in peaks:
        near = np.linspace(-step, step, FINE)
        curve = np.polyfit(near, [score(i * step + turn) for turn in near], 2)
        shift = float(np.clip(-curve[1] / (2 * curve[0]), -step, step)) if curve[0] < 0 else 0.0
        turns.append(math.remainder(i * step + shift, 2 * math.pi))
        # a step that costs a hundredth of the correlation is not told from none
        spread = min(spread, math.sqrt(0.01 / -curve[0])) if curve[0] < 0 else spread
    return sorted(turns, key=abs), spread
