"""Where an object is in a picture: a mask from any tool, or a box, from which GrabCut makes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from foretell.arrays import Bools, Bytes
from foretell.errors import UsageError
from foretell.match.opencv import opencv
from foretell.match.picture import boxed, read_mask, read_picture, shrunk
from foretell.match.video import upright

__all__ = ["Hint", "cut_again", "cut_out", "object_hints", "read_frame", "small_frame"]

Hint = Bools | tuple[int, ...]
"""Where an object is seen: a mask (height, width), or a box (left, top, right, bottom) in pixels."""
VIDEOS = (".mp4", ".mov", ".avi", ".mkv", ".webm")
LEAST = 30
"""Pixels of the smallest mask that says where an object is."""
AROUND = 0.4
"""How much of the picture around a box GrabCut sees, as a share of the box."""
ROUNDS = 6
"""Of GrabCut."""


def read_frame(path: str | Path) -> Bytes:
    """(height, width, 3) uint8: a PNG or JPEG file, or the first frame of a video."""
    path = Path(path)
    if path.suffix.lower() not in VIDEOS:
        return read_picture(path, "image")
    try:
        import av
    except ImportError:
        raise UsageError("videos need PyAV, which is not installed: pip install 'foretell[match]'") from None
    try:
        with av.open(str(path)) as file:
            for frame in file.decode(video=0):
                return upright(frame)
    except (av.FFmpegError, IndexError) as error:
        raise UsageError(f"image: cannot read {path}: {getattr(error, 'strerror', 'it has no pictures')}") from None
    raise UsageError(f"image: {path} has no pictures")


def object_hints(
    frame: Bytes, names: Sequence[str], mask: Sequence[str | Path], box: Sequence[int], stem: str | None = None
) -> dict[str, Hint]:
    """Object -> where it is seen, by masks or boxes in the order of the names. Where a mask is a folder, the file
    `stem`.png in it counts."""
    height, width = frame.shape[:2]
    if bool(mask) == bool(box):
        raise UsageError("match: give a mask (--mask) or a box (--box) for each object, and not both")
    if box:
        if len(box) != 4 * len(names):
            raise UsageError(f"box: 4 numbers are needed for each of {', '.join(names)}, and {len(box)} are given")
        for at in range(0, len(box), 4):
            if boxed(box[at : at + 4], "box", height, width).all():
                raise UsageError("box: it covers the whole picture, and should be drawn closely around the object")
        return {name: tuple(box[4 * i : 4 * i + 4]) for i, name in enumerate(names)}
    if len(mask) != len(names):
        raise UsageError(f"mask: one is needed for each of {', '.join(names)}, and {len(mask)} are given")
    masks: dict[str, Hint] = {}
    for name, given in zip(names, map(Path, mask), strict=True):
        file = given / f"{stem}.png" if given.is_dir() else given
        masks[name] = _enough(read_mask(file, "mask", height, width), f"{file} marks")
    return masks


def small_frame(frame: Bytes, hints: Mapping[str, Hint]) -> tuple[Bytes, dict[str, Hint]]:
    """A frame and where objects are seen in it, no larger than the renderer draws."""
    masks = [hint for hint in hints.values() if not isinstance(hint, tuple)]
    small, fewer = shrunk(frame, masks)
    left, ratio = iter(fewer), np.array(small.shape[1::-1]) / frame.shape[1::-1]
    smaller: dict[str, Hint] = {}
    for name, hint in hints.items():
        if isinstance(hint, tuple):
            low, high = np.floor(hint[:2] * ratio).astype(int), np.ceil(hint[2:] * ratio).astype(int)
            smaller[name] = (*low.tolist(), *high.tolist())
        else:
            smaller[name] = next(left)
    return small, smaller


def cut_out(image: Bytes, box: Sequence[int]) -> Bools:
    """(height, width) bool: what stands out in a box (left, top, right, bottom, in pixels), by GrabCut."""
    cv2 = opencv()
    left, top, right, bottom = box
    labels = np.full(image.shape[:2], cv2.GC_BGD, dtype=np.uint8)
    labels[top:bottom, left:right] = cv2.GC_PR_FGD
    return _enough(_cut(image, labels), "nothing stands out in the box, which gives")


def cut_again(image: Bytes, silhouette: Bools) -> Bools:
    """(height, width) bool: a mask by GrabCut, from about where the object is: its lid may have the colour of the
    table, and then a box alone does not tell."""
    cv2 = opencv()
    size = np.sqrt(float(silhouette.sum()))
    wide, narrow = (np.ones((2 * max(1, round(share * size)) + 1,) * 2, dtype=np.uint8) for share in (0.12, 0.15))
    shape = silhouette.astype(np.uint8)
    labels = np.full(shape.shape, cv2.GC_BGD, dtype=np.uint8)
    labels[cv2.dilate(shape, wide) > 0] = cv2.GC_PR_BGD
    labels[silhouette] = cv2.GC_PR_FGD
    labels[cv2.erode(shape, narrow) > 0] = cv2.GC_FGD
    return _enough(_cut(image, labels), "nothing stands out where the object is, which gives")


def _cut(image: Bytes, labels: Bytes) -> Bools:
    """The foreground by GrabCut, from OpenCV's labels (height, width)."""
    cv2 = opencv()
    rows, columns = np.nonzero(labels != cv2.GC_BGD)
    margin = round(AROUND * max(np.ptp(rows), np.ptp(columns))) + 4
    part = (
        slice(max(0, rows.min() - margin), rows.max() + margin),
        slice(max(0, columns.min() - margin), columns.max() + margin),
    )
    near = labels[part].copy()
    cv2.setRNGSeed(0)  # GrabCut draws at random, and a picture should give one answer
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(np.ascontiguousarray(image[part][..., ::-1]), near, None, *models, ROUNDS, cv2.GC_INIT_WITH_MASK)
    mask = np.zeros(labels.shape, dtype=bool)
    mask[part] = (near == cv2.GC_FGD) | (near == cv2.GC_PR_FGD)
    return _largest(mask)


def _largest(mask: Bools) -> Bools:
    """The largest connected part, with its holes filled."""
    cv2 = opencv()
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    if count < 2:
        return mask
    part = (labels == 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())).astype(np.uint8)
    edges, _ = cv2.findContours(part, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    filled: Bools = cv2.drawContours(part, edges, -1, 1, cv2.FILLED).astype(bool)
    return filled


def _enough(mask: Bools, what: str) -> Bools:
    count = int(mask.sum())
    if count < LEAST:
        raise UsageError(f"mask: {what} {count} pixels; at least {LEAST} are needed to tell where an object is")
    return mask
