"""An .onnx file: opened with ONNX Runtime on the CPU, and known by its contents."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

from foretell.errors import UsageError

__all__ = ["onnx_hash", "open_onnx"]


def open_onnx(path: Path, threads: int = 1) -> Any:
    """An inference session. Raises UsageError where the file cannot be loaded."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3  # warnings about unused initializers help no one here
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise UsageError(f"{path}: ONNX Runtime cannot load it: {' '.join(str(error).split())[:300]}") from None


def onnx_hash(path: Path) -> str:
    """SHA-256 of the file; and of the files that hold its weights, where they are kept beside it (large models)."""
    with path.open("rb") as file:
        model = file.read()
    total = hashlib.sha256(model)
    # TensorProto.external_data has an entry (key "location", value: a path), which protobuf writes just so
    places = set()
    for match in re.finditer(rb"\x0a\x08location\x12([\x80-\xff]?[\x00-\x7f])", model):
        size = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(match[1]))
        places.add(model[match.end() : match.end() + size])
    for place in sorted(places):
        beside = path.parent / os.fsdecode(place)
        if beside.is_file():
            with beside.open("rb") as file:
                while block := file.read(1 << 24):
                    total.update(block)
    return total.hexdigest()
