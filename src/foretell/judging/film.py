"""Pictures of a film, for a detector."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from foretell.errors import ForetellError
from foretell.judging.onnx import spread

__all__ = ["MOST", "read_frames"]

MOST = 64
"""Pictures that a detector gets of a film: at 640 x 480 these take 59 MB."""


def read_frames(path: Path, most: int = MOST) -> NDArray[np.uint8]:
    """Pictures of a film, (t, h, w, 3), at most so many, spread evenly from the first to the last."""
    try:
        import av
    except ImportError:
        raise ForetellError("films need PyAV: pip install 'foretell[video]'") from None
    try:
        with av.open(str(path)) as film:
            count = sum(packet.pts is not None for packet in film.demux(video=0))
        wanted = set(spread(count, min(most, count)).tolist()) if count else set()
        with av.open(str(path)) as film:
            frames = [f.to_ndarray(format="rgb24") for i, f in enumerate(film.decode(video=0)) if i in wanted]
    except (av.FFmpegError, OSError, IndexError) as error:
        raise ForetellError(f"{path} cannot be read as a film: {error}") from None
    if not frames:
        raise ForetellError(f"{path} has no pictures")
    return np.stack(frames)
