"""Where an object stands, from its silhouette: the place and turn on its support at which the world's own camera shows
it as a picture does.

The outline of the rendered object is moved onto the outline of the mask by Gauss-Newton on signed distances. The depth
picture says how far each point of the outline goes with a step, so that one render serves all three unknowns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Bools, Bytes, Floats, Ints
from foretell.errors import UsageError
from foretell.match.likeness import best_turns, ranked
from foretell.match.mask import Hint, cut_again, cut_out
from foretell.match.opencv import opencv
from foretell.match.sight import Sight
from foretell.reality.frames import DOUBTFUL

__all__ = ["Located", "locate", "locate_by", "overlap", "require_sure"]

TURNS = 24
"""Directions from which the search begins."""
ENOUGH = 1200
"""Pixels of a mask of which a quarter will do for that."""
STARTS = 5
"""Best of them that are refined."""
STEPS = 12
CLIP = 12.0
"""Pixels of distance beyond which an outline pulls no harder."""
SOFT = 1.5
"""Pixels from which on a residual counts less (Huber)."""
SECTORS = 12
"""Parts of the outline that are left out in turn to see how sure the pose is: errors of neighbours hang together."""
EDGE = 0.5
"""Pixels by which the whole outline of a mask may be off: a tool draws it a little too wide or too narrow."""
LEAST = 0.5
"""Overlap below which a mask is not that of the object. Half of it will do before a pose is refined."""
ALIKE = 0.015
"""Overlaps that differ by less do not tell poses apart."""
SURE = math.radians(20)
"""Standard deviation of a turn beyond which it is not known."""


@dataclass(frozen=True, kw_only=True)
class Located:
    """Where an object stands."""

    pose: Floats
    """(3,) x and y in the task frame, m, and the turn from the layout's orientation, rad."""
    sd: Floats
    """(3,) standard deviations: of the outline's errors, and of a mask that is half a pixel too wide. That of an
    unknown turn is infinite. Errors of the camera are not in it."""
    overlap: float
    """Intersection over union of mask and silhouette."""
    turns: tuple[float, ...]
    """Other turns that fit as well, rad; empty where the turn is known, or not at all."""
    by: str
    """What tells the turn: `silhouette`, `colours` (of several with this silhouette), `layout` (the nearest to the
    layout's, of several), `nothing` (it is the layout's)."""

    @property
    def turn_known(self) -> bool:
        return bool(np.isfinite(self.sd[2]))


def overlap(a: Bools, b: Bools) -> float:
    """Intersection over union."""
    union = int((a | b).sum())
    return float((a & b).sum() / union) if union else 0.0


def locate(sight: Sight, mask: Bools, image: Bytes | None) -> Located:
    """The pose at which an object has the silhouette `mask` (height, width). Where several turns have it, the colours
    of the picture (height, width, 3) may decide. Raises UsageError where no pose fits."""
    start = sight.on_support(_centre(mask))
    if start is None:
        raise UsageError(
            f"match: {sight.part}: its mask lies above the horizon of camera {sight.camera!r}, not on a support"
        )
    small, shrunk = (sight.halved(), mask[::2, ::2]) if mask.sum() > ENOUGH else (sight, mask)
    circle = [_aligned(small, shrunk, np.array([*start, turn])) for turn in np.arange(TURNS) * 2 * np.pi / TURNS]
    scores = np.array([score for score, _ in circle])
    _require_fit(sight, mask, float(scores.max()))
    peaks = [i for i in range(TURNS) if scores[i] >= max(scores[i - 1], scores[(i + 1) % TURNS])]
    peaks = sorted(peaks, key=lambda i: -scores[i])[:STARTS]
    field = _signed(mask)
    ends = [_refined(sight, mask, field, circle[i][1]) for i in peaks]
    best = max(score for score, _ in ends)
    _require_fit(sight, mask, best, LEAST)
    good = [pose for score, pose in ends if score >= best - ALIKE]
    good.sort(key=lambda pose: abs(math.remainder(pose[2], 2 * math.pi)))
    sd = _certainty(sight, field, good[0])
    if np.ptp(scores) < 2 * ALIKE or sd[2] > SURE:  # round: the colours tell, or nothing does
        turns, spread = ([0.0], math.inf) if image is None else best_turns(sight, image, mask, good[0])
        by = "nothing" if not math.isfinite(spread) else "layout" if turns[1:] else "colours"
        _, pose = _refined(sight, mask, field, np.array([*good[0][:2], turns[0]]), turns=False)
        sd[2], others = spread, tuple(turns[1:])
        if by != "colours":  # its origin may be off its axis
            sd[:2] = np.hypot(sd[:2], np.std([end[:2] for _, end in circle], axis=0))
    else:
        several = _distinct(good)
        order = ranked(sight, image, mask, several) if image is not None and len(several) > 1 else None
        by = "silhouette" if len(several) == 1 else "colours" if order else "layout"
        pose = (order or several)[0]
        others = () if order else tuple(math.remainder(other[2], 2 * math.pi) for other in several[1:])
        sd = _certainty(sight, field, pose)
    score = overlap(sight.silhouette(pose), mask)
    return Located(pose=pose, sd=sd, overlap=score, turns=others, by=by)


def locate_by(sight: Sight, image: Bytes, hint: Hint) -> tuple[Located, Bools]:
    """As `locate`, from a mask or a box; and the mask. What GrabCut makes of a box is cut again where the object then
    is."""
    if not isinstance(hint, tuple):
        return locate(sight, hint, image), hint
    mask = cut_out(image, hint)
    mask = cut_again(image, sight.silhouette(locate(sight, mask, None).pose))
    return locate(sight, mask, image), mask


def require_sure(sight: Sight, located: Located, *, insist: bool) -> list[str]:
    """What a person should know of a pose. Raises UsageError where it is off its support; and where mask and
    silhouette do not agree, unless somebody insists."""
    if not sight.supported(located.pose):
        x, y, _ = located.pose
        raise UsageError(
            f"match: {sight.part}: nothing is under the object at x {x:+.3f} m, y {y:+.3f} m: is it the mask of "
            f"{sight.part!r}, and was the picture taken by camera {sight.camera!r}?"
        )
    if located.overlap >= DOUBTFUL:
        return []
    why = f"mask and silhouette do not agree (overlap {located.overlap:.0%}, below {DOUBTFUL:.0%})"
    if not insist:
        raise UsageError(
            f"match: {sight.part}: {why}: is it the mask of {sight.part!r}? Draw a better one, or take the pose as it "
            "is with --insist (insist=True in Python)"
        )
    return [f"{sight.part}: {why}: look at the picture, and draw a better mask"]


def _require_fit(sight: Sight, mask: Bools, score: float, least: float = LEAST / 2) -> None:
    if score < least:
        raise UsageError(
            f"match: {sight.part}: no pose on its support looks like the mask ({int(mask.sum())} pixels; best overlap "
            f"{score:.0%}, at least {least:.0%} is needed): is it the mask of {sight.part!r}, was the picture taken by "
            f"camera {sight.camera!r}, and does the object lie as in the layout (--layout)?"
        )


def _centre(mask: Bools) -> Floats:
    """(2,) of its pixels, from the left and from the top."""
    rows, columns = np.nonzero(mask)
    return np.array([columns.mean() + 0.5, rows.mean() + 0.5])


def _aligned(sight: Sight, mask: Bools, pose: Floats) -> tuple[float, Floats]:
    """Overlap and pose at which the silhouette has its centre where the mask has it, at a given turn."""
    score = 0.0
    for _ in range(3):
        seen = sight.silhouette(pose)
        if not seen.any():
            return 0.0, pose
        score = overlap(seen, mask)
        here, there = sight.on_support(_centre(seen)), sight.on_support(_centre(mask))
        if here is None or there is None:
            return score, pose
        pose = pose + [*(there - here), 0.0]
    return score, pose


def _signed(mask: Bools) -> Floats:
    """(height, width) distance from the edge of a mask, pixels, positive inside; smoothed over a pixel."""
    cv2 = opencv()
    inside, outside = (
        cv2.distanceTransform(part.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE) for part in (mask, ~mask)
    )
    signed = np.where(mask, inside - 0.5, 0.5 - outside)
    smooth: Floats = cv2.GaussianBlur(signed, (0, 0), 1.0).astype(np.float64)
    return smooth


def _refined(sight: Sight, mask: Bools, field: Floats, pose: Floats, turns: bool = True) -> tuple[float, Floats]:
    """Overlap and pose after Gauss-Newton from a pose. `turns`: whether the turn is free."""
    score = overlap(sight.silhouette(pose), mask)
    free = np.array([True, True, turns])
    size = np.array([1.0, 1.0, sight.radius])  # so that all three are metres
    for _ in range(STEPS):
        line = _outline(sight, field, pose)
        if line is None:
            break
        slope = (line.slope / size)[:, free]
        weight = np.minimum(1.0, SOFT / np.maximum(np.abs(line.error), 1e-9))
        normal = (slope * weight[:, None]).T @ slope
        normal += 1e-4 * np.trace(normal) / len(normal) * np.eye(len(normal))
        step = np.zeros(3)
        step[free] = -np.linalg.solve(normal, slope.T @ (weight * line.error))
        step = np.clip(step, -0.04, 0.04) / size
        moved = float(np.sqrt(np.mean((line.slope @ step) ** 2)))
        after = pose + step
        new = overlap(sight.silhouette(after), mask)
        if new < score - 0.02:  # too far: a silhouette is no smooth function of a turn
            after = pose + step / 2
            new = overlap(sight.silhouette(after), mask)
            if new < score - 0.02:
                break
        pose, score = after, new
        if moved < 0.02:
            break
    return score, pose


@dataclass(frozen=True)
class _Line:
    """The outline of a silhouette against a mask."""

    error: Floats
    """(n,) how much deeper in the mask than in its own silhouette each point is, pixels."""
    slope: Floats
    """(n, 3) how the error grows with x, y (pixels per m) and the turn (pixels per rad)."""
    sector: Ints
    """(n,) which part of the outline it belongs to."""


def _outline(sight: Sight, field: Floats, pose: Floats) -> _Line | None:
    """The points at which the object ends in the picture, not those where something stands before it."""
    seen, depth = sight.look(pose)
    if int(seen.sum()) < SECTORS:
        return None
    cv2 = opencv()
    inner = seen & ~cv2.erode(seen.astype(np.uint8), np.ones((3, 3), dtype=np.uint8), borderValue=1).astype(bool)
    far = np.where(seen | (depth <= 0), np.inf, depth)  # what else there is
    nearest = cv2.erode(far.astype(np.float32), np.ones((3, 3), dtype=np.uint8))
    inner &= nearest > depth - 0.005
    inner[[0, -1]] = inner[:, [0, -1]] = False
    rows, columns = np.nonzero(inner)
    if len(rows) < SECTORS:
        return None
    points = sight.points(rows, columns, depth[rows, columns])
    own = _signed(seen)
    error = np.clip(field[rows, columns], -CLIP, CLIP) - own[rows, columns]
    down, right = (np.asarray(part) for part in np.gradient(field))
    across = np.stack([right[rows, columns], down[rows, columns]], axis=1)
    slope = np.einsum("ni,nij->nj", across, sight.motion(points, pose))
    middle = _centre(seen)
    angle = np.arctan2(rows + 0.5 - middle[1], columns + 0.5 - middle[0])
    sector = np.floor((angle / (2 * np.pi) + 0.5) * SECTORS).astype(np.int64) % SECTORS
    return _Line(error, slope, sector)


def _certainty(sight: Sight, field: Floats, pose: Floats) -> Floats:
    """(3,) standard deviations of a pose."""
    line = _outline(sight, field, pose)
    if line is None:
        return np.full(3, math.inf)

    size = np.array([1.0, 1.0, sight.radius])
    if np.linalg.cond(line.slope / size) > 50:  # the turn changes nothing
        flat = _Line(line.error, line.slope[:, :2], line.sector)
        return np.array([*_spread(flat), math.inf])
    return _spread(line)


def _spread(line: _Line) -> Floats:
    """Standard deviations of a linear fit to an outline: jackknife over its sectors, and a mask that is too wide."""
    every = np.ones(len(line.error), dtype=bool)
    kept = [line.sector != sector for sector in np.unique(line.sector)]
    solved = np.array([np.linalg.pinv(line.slope[k]) @ line.error[k] for k in kept])
    count = len(kept)
    jackknife = (count - 1) / count * ((solved - solved.mean(axis=0)) ** 2).sum(axis=0)
    wide = np.linalg.pinv(line.slope[every]) @ np.full(int(every.sum()), EDGE)
    spread: Floats = np.sqrt(jackknife + wide**2)
    return spread


def _distinct(poses: list[Floats]) -> list[Floats]:
    """Some poses, without those that are turned almost as one before them."""
    kept: list[Floats] = []
    for pose in poses:
        if all(abs(math.remainder(pose[2] - other[2], 2 * math.pi)) > SURE for other in kept):
            kept.append(pose)
    return kept
