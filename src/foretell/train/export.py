"""Students as ONNX files that `foretell.policies.onnx` runs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from foretell.policies.annotate import annotate
from foretell.spec import Stream
from foretell.train.demos import streams
from foretell.train.heads import DIM
from foretell.train.students import StateStudent

__all__ = ["export", "export_state"]


def export(student: Any, inputs: dict[str, torch.Tensor], path: Path, **spec: Any) -> None:
    """Write a student, called with `inputs` and what its head takes besides, whose output is `actions` and, after it,
    the outputs of `recurrent`; `spec` as `annotate` takes it."""
    head = student.head
    outputs = ["actions", *(spec.get("recurrent") or {}).values()]
    if head.noise is not None:
        inputs = {**inputs, "noise": torch.zeros(2, *head.noise)}
    if head.continues:
        inputs = {**inputs, "plan": torch.zeros(2, head.chunk, DIM), "committed": torch.zeros(2)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no further package is called legacy
        torch.onnx.export(
            student,
            tuple(inputs.values()),
            str(path),
            input_names=list(inputs),
            output_names=outputs,
            dynamic_axes={name: {0: "batch"} for name in [*inputs, *outputs]},
            opset_version=17,
            dynamo=False,
        )
    annotate(
        path,
        **{"action": "ee_delta", **spec},  # in this order: a file made again is then the same to the byte
        chunk=head.chunk,
        execute=student.shape.execute or head.chunk,
        noise="noise" if head.noise is not None else None,
    )


def export_state(task: str, student: StateStudent, path: Path) -> None:
    history = student.shape.history
    inputs = {"state": torch.zeros(2, history, 15)}
    sizes = (3, 4, 1, 3, 4)
    reads = {name: Stream((n,), None, history) for name, n in zip(streams(task), sizes, strict=True)}
    export(student, inputs, path, state=streams(task), reads=reads)
