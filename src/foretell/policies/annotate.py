"""Write into an .onnx file what it reads and returns, for `policies.onnx` to find."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.policies.onnx import KEYS, Onnx
from foretell.spec import Stream

__all__ = ["annotate"]


def annotate(path: str | Path, **spec: Any) -> None:
    """Write what a model reads and returns into its file: `reads`, `inputs`, `state`, `action`, `action_rate`,
    `chunk`, `execute`, `recurrent`, `noise`. What is already there stays, None takes a key out. A file that
    foretell could not use afterwards is left as it was.
    """
    try:
        import onnx
    except ImportError:
        raise UsageError("annotate needs the package onnx to write the file: pip install onnx") from None
    path = Path(path).expanduser()
    for key in spec:
        if key not in KEYS:
            raise UsageError(f"annotate: {key!r} is not known; {suggest(key, KEYS)}")
    if not path.is_file():
        raise UsageError(f"annotate: there is no file {path}")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise UsageError(f"annotate: {path} is not an ONNX model: {error}") from None
    props = {p.key: p.value for p in model.metadata_props}
    for key, value in spec.items():
        if value is None:
            props.pop(f"foretell.{key}", None)
        else:
            props[f"foretell.{key}"] = value if isinstance(value, str) else json.dumps(value, default=_plain)
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, props)
    draft = path.with_name(f".{path.name}.{os.getpid()}")  # beside it, because external weights are relative to it
    try:
        draft.write_bytes(model.SerializeToString())
        try:
            Onnx(draft)
        except UsageError as error:
            raise UsageError(str(error).replace(str(draft), str(path))) from None
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Stream):
        return asdict(value)
    raise UsageError(f"annotate: {value!r} cannot be written as JSON")
