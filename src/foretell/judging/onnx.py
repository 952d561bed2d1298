"""An ONNX classifier as a detector: pictures in, the probability of success out.

The model has one input: float32 pictures from 0 to 1 of shape (1, 3, h, w), or (1, t, 3, h, w) for t pictures that are
spread evenly from the first to the last, or the same as uint8 from 0 to 255. h and w must be fixed. Pictures are
resized to them. Without t it sees the last one. Its output has one number: a probability, or a logit where the metadata
say `foretell.output = logit`.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.errors import UsageError
from foretell.onnx_file import onnx_hash, open_onnx

__all__ = ["OnnxDetector", "resized", "spread"]

TYPES: dict[str, Any] = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8}
OUTPUTS = ("probability", "logit")


class OnnxDetector:
    """Runs an .onnx file on the CPU."""

    def __init__(self, path: str | Path):
        self.path = Path(os.path.expanduser(path))
        if not os.path.isfile(self.path):
            raise UsageError(f"detector: there is no file {str(self.path)[:300]}")
        self.version = onnx_hash(self.path)
        self._session = open_onnx(self.path)
        nodes, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(nodes) != 1 or len(outputs) != 1:
            raise self._wrong(f"it has {len(nodes)} inputs and {len(outputs)} outputs, and a detector has one of each")
        (node,) = nodes
        self._input, self._dtype = node.name, TYPES.get(node.type)
        if self._dtype is None:
            raise self._wrong(f"its input is {node.type}, it should be {' or '.join(TYPES)}")
        sizes = node.shape[1:]
        if len(node.shape) not in (4, 5) or not all(isinstance(n, int) for n in sizes) or sizes[-3] != 3:
            raise self._wrong(
                f"its input has shape {node.shape}, it should be (1, 3, h, w) or (1, t, 3, h, w) with fixed t, h and w"
            )
        self.frames: int | None = sizes[0] if len(sizes) == 4 else None
        self.size: tuple[int, int] = (sizes[-2], sizes[-1])
        about = self._session.get_modelmeta().custom_metadata_map
        self._output = about.get("foretell.output", "probability")
        if self._output not in OUTPUTS:
            raise self._wrong(f"foretell.output is {self._output!r:.80}, it should be {' or '.join(OUTPUTS)}")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"detector: {self.path}: {what}")

    def judge(self, frames: NDArray[np.uint8], instruction: str) -> float:
        """Probability of success; frames: (t, h, w, 3)."""
        chosen = frames[-1:] if self.frames is None else frames[spread(len(frames), self.frames)]
        pictures = np.stack([resized(frame, self.size) for frame in chosen]).transpose(0, 3, 1, 2)
        numbers: NDArray[Any] = pictures / np.float32(255.0) if self._dtype is np.float32 else pictures
        given = numbers if self.frames is None else numbers[None]
        (answer,) = self._session.run(None, {self._input: given})
        if np.size(answer) != 1 or not np.isfinite(answer).all():
            raise self._wrong(f"its output is {np.asarray(answer).ravel()[:4]}, it should be one number")
        value = float(np.ravel(answer)[0])
        if self._output == "logit":
            return 1.0 / (1.0 + math.exp(-min(max(value, -60.0), 60.0)))
        return value


def spread(count: int, wanted: int) -> NDArray[np.int64]:
    """Numbers of `wanted` pictures of `count`, spread evenly from the first to the last; some twice where few."""
    return np.round(np.linspace(0, count - 1, wanted)).astype(np.int64)


def resized(frame: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """A picture (h, w, 3) in another size (h, w)."""
    if frame.shape[:2] == size:
        return frame
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(frame))
    return np.asarray(picture.resize(size[::-1], Image.Resampling.BILINEAR), dtype=np.uint8)
