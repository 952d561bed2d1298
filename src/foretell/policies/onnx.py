"""An exported network as a policy: `onnx:PATH`. The file says, in its metadata, what it reads and returns.

An input named after a stream receives it: `panda/ee_pos`, or with `.` or `__` for the slash, for exporters that
allow only identifiers; `plan` and `committed` come from the driver. `foretell.inputs` gives the stream of an input
that is named otherwise. The input `instruction` (batch, bytes) of type uint8 receives the instruction in UTF-8, ended
by zeros. See docs/policies.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.bridges.conventions import named
from foretell.errors import PolicyError, UsageError, suggest
from foretell.onnx_file import onnx_hash, open_onnx
from foretell.policy import PLANS, Chunk, Policy, PolicySpec
from foretell.spec import ActionSpec, Feature, Stream
from foretell.tasks.task import Task

__all__ = ["KEYS", "Onnx"]

KEYS: dict[str, type | tuple[type, ...]] = {
    "reads": dict,  # stream -> {shape, rate, history}
    "inputs": dict,  # input -> stream
    "state": list,  # streams concatenated into the input `state`
    "action": str,  # controller, such as ee_delta
    "action_rate": (int, float),
    "chunk": int,
    "execute": int,
    "recurrent": dict,  # input -> the output that is its next value
    "noise": str,  # input filled with standard normal draws
}
"""What metadata may say, each as `foretell.KEY`; JSON, or plain text where it is a string. `annotate` writes it."""

TYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}


@dataclass(frozen=True, kw_only=True)
class _Input:
    """One input of the model and what fills it."""

    name: str
    dims: tuple[int | None, ...]
    """Without the batch axis; None where any size goes."""
    dtype: Any
    streams: tuple[str, ...] = ()
    """Empty for recurrent state, noise and the instruction."""
    joined: bool = False
    """The input `state`: streams put end to end."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one slot's recurrent state or noise, which have no axis of any size."""
        return tuple(d for d in self.dims if d is not None)


class Onnx(Policy):
    """Runs an .onnx file on the CPU with ONNX Runtime.

    `batch` is used where the model takes any; a model with a fixed batch dictates it. `execute` overrides the
    file's. One thread by default: workers already fill the cores.
    """

    def __init__(self, path: str | Path, batch: int = 16, execute: int | None = None, threads: int = 1):
        self.path = Path(os.path.expanduser(path))
        if not os.path.isfile(self.path):
            raise UsageError(f"onnx: there is no file {str(self.path)[:300]}")
        self._hash = onnx_hash(self.path)  # taken with the weights that are loaded, not with those there later
        self._session = open_onnx(self.path, threads)
        self._about = self._metadata()
        self._execute = execute if execute is not None else self._about.get("execute")
        self._recurrent: dict[str, str] = self._about.get("recurrent", {})
        self._noise: str | None = self._about.get("noise")
        nodes = self._session.get_inputs()
        self._check_names("recurrent", self._recurrent, [n.name for n in nodes])
        self._check_names("noise", [self._noise] if self._noise else [], [n.name for n in nodes])
        self._check_names("inputs", self._about.get("inputs", {}), [n.name for n in nodes])
        self._check_names("state", ["state"] if "state" in self._about else [], [n.name for n in nodes])
        fixed = {n.shape[0] for n in nodes if n.shape and isinstance(n.shape[0], int)}
        if len(fixed) > 1:
            raise self._wrong(f"its inputs have batches of {sorted(fixed)}; the first axis must be one batch for all")
        self._batch = fixed.pop() if fixed else batch
        self._inputs = {n.name: self._input(n) for n in nodes}
        self._reads = self._streams()
        self._read_outputs()
        self._carried: dict[int, dict[str, np.ndarray]] = {}
        self._seed: dict[int, int] = {}
        self._calls: dict[int, int] = {}
        self._pictures: frozenset[str] | None = None

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.path}: {what}")

    # -- what the file says -------------------------------------------------------------------------------------

    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        for key, text in self._session.get_modelmeta().custom_metadata_map.items():
            if not key.startswith("foretell."):
                continue
            name = key.removeprefix("foretell.")
            if name not in KEYS:
                raise self._wrong(f"metadata {key!r} is not known; {suggest(name, KEYS)}")
            try:
                metadata[name] = text if KEYS[name] is str else json.loads(text)
            except json.JSONDecodeError as error:
                raise self._wrong(f"metadata {key!r} is not JSON ({error}): {text!r}") from None
            if not isinstance(metadata[name], KEYS[name]) or isinstance(metadata[name], bool):
                kinds = {dict: "an object", list: "a list", int: "a whole number", (int, float): "a number"}
                raise self._wrong(f"metadata {key!r} should be {kinds[KEYS[name]]}, it is {text}")
        return metadata

    def _check_names(self, key: str, given: Any, known: list[str]) -> None:
        for name in given:
            if name not in known:
                raise self._wrong(
                    f"metadata 'foretell.{key}' is for {name!r}, which is not there; {suggest(name, known)}"
                )

    def _input(self, node: Any) -> _Input:
        name = node.name
        if node.type not in TYPES:
            raise self._wrong(f"input {name!r} is a {node.type}; expected one of {', '.join(TYPES)}")
        if not node.shape:
            raise self._wrong(f"input {name!r} has no axes; its first must be the batch")
        dims = tuple(d if isinstance(d, int) else None for d in node.shape[1:])
        entry = _Input(name=name, dims=dims, dtype=TYPES[node.type])
        if name in self._recurrent or name == self._noise:
            if None in dims:
                raise self._wrong(f"input {name!r} is {node.shape}; all its axes but the batch must be of fixed size")
            return entry
        stream = self._about.get("inputs", {}).get(name)
        if stream is None and name == "instruction":
            if len(dims) != 1 or dims[0] is None or entry.dtype is not np.uint8:
                shape = f"a {node.type} of shape (batch, {_show(dims)})"
                raise self._wrong(f"input 'instruction' is {shape}; expected a tensor(uint8) of shape (batch, bytes)")
            return entry
        if stream is None and name == "state":
            if not self._about.get("state"):
                raise self._wrong("input 'state' needs metadata 'foretell.state', the list of the streams it holds")
            return _Input(name=name, dims=dims, dtype=entry.dtype, streams=tuple(self._about["state"]), joined=True)
        stream = stream or name.replace("__", "/").replace(".", "/")
        if "/" not in stream and stream not in PLANS:
            raise self._wrong(
                f"input {name!r} is not a stream; name it after one, such as 'panda/ee_pos' (or 'panda__ee_pos'), "
                "or say which it is in metadata 'foretell.inputs'"
            )
        return _Input(name=name, dims=dims, dtype=entry.dtype, streams=(stream,))

    def _streams(self) -> dict[str, Stream]:
        """What to ask the world for: as the metadata say, and as the shapes of inputs tell."""
        streams: dict[str, Stream] = {}
        for name, fields in self._about.get("reads", {}).items():
            unknown = set(fields) - {"shape", "rate", "history"}
            if unknown:
                raise self._wrong(
                    f"metadata 'foretell.reads': {name!r} has {sorted(unknown)}; known: shape, rate, history"
                )
            shape = fields.get("shape")
            streams[name] = Stream(
                None if shape is None else tuple(shape), fields.get("rate"), fields.get("history", 1)
            )
        reads: dict[str, Stream] = {}
        for entry in self._inputs.values():
            for name in entry.streams:
                stream = streams.get(name, Stream())
                reads[name] = stream if entry.joined else self._fit(entry, name, stream)
            if entry.joined:
                self._fit_state(entry, [reads[name] for name in entry.streams])
        for name in streams:
            if name not in reads:
                raise self._wrong(f"metadata 'foretell.reads' names {name!r}, but no input takes it")
        return reads

    def _fit(self, entry: _Input, name: str, stream: Stream) -> Stream:
        """A stream that fills one input by itself: the input's shape is the stream's, after the history's axis."""
        dims = entry.dims
        if stream.history > 1:
            if not dims or dims[0] not in (None, stream.history):
                raise self._wrong(f"input {entry.name!r} is (batch, {_show(dims)}), its history is {stream.history}")
            dims = dims[1:]
        shape = stream.shape
        if shape is None and None not in dims:
            shape = tuple(d for d in dims if d is not None)
        elif shape is not None and not _fits(shape, dims):
            raise self._wrong(f"input {entry.name!r} takes ({_show(dims)}), 'foretell.reads' says {shape} for {name!r}")
        return Stream(shape, stream.rate, stream.history)

    def _fit_state(self, entry: _Input, streams: list[Stream]) -> None:
        if not entry.dims or len(entry.dims) > 2:
            raise self._wrong(
                f"input 'state' is (batch, {_show(entry.dims)}); it takes (batch, n) or (batch, history, n)"
            )
        if len(entry.dims) == 2 and len({s.history for s in streams}) > 1:
            raise self._wrong("input 'state' has an axis for history, so all its streams need the same history")
        if entry.dims[-1] is not None and all(s.shape is not None for s in streams):
            each = [int(np.prod(s.shape or ())) * (s.history if len(entry.dims) == 1 else 1) for s in streams]
            if sum(each) != entry.dims[-1]:
                parts = ", ".join(f"{n} {k}" for n, k in zip(entry.streams, each, strict=True))
                raise self._wrong(
                    f"input 'state' takes {entry.dims[-1]} numbers, its streams give {sum(each)}: {parts}"
                )

    def _read_outputs(self) -> None:
        nodes = {n.name: n for n in self._session.get_outputs()}
        self._check_names("recurrent", self._recurrent.values(), list(nodes))
        for source, target in self._recurrent.items():
            shape = [d if isinstance(d, int) else None for d in nodes[target].shape[1:]]
            if nodes[target].shape and not _fits(self._inputs[source].dims, shape):
                raise self._wrong(
                    f"output {target!r} is (batch, {_show(shape)}), but input {source!r}, which it feeds, "
                    f"takes (batch, {_show(self._inputs[source].dims)})"
                )
        rest = [n for n in nodes if n not in self._recurrent.values() and n != "terminate"]
        named = [n for n in ("action", "actions") if n in rest] or (rest if len(rest) == 1 else [])
        if not named:
            raise self._wrong(f"none of its outputs ({', '.join(nodes)}) is named 'action' or 'actions'")
        self._action = named[0]
        self._ends = "terminate" in nodes
        shape = nodes[self._action].shape
        self._out: tuple[int | None, ...] = tuple(d if isinstance(d, int) else None for d in shape)
        chunk = self._about.get("chunk")
        if len(self._out) not in (0, 2, 3):
            raise self._wrong(f"output {self._action!r} is {shape}; expected (batch, dim) or (batch, chunk, dim)")
        if chunk is None:
            chunk = self._out[1] if len(self._out) == 3 else 1
            if chunk is None:
                raise self._wrong(f"output {self._action!r} is {shape}; say how long a chunk is in 'foretell.chunk'")
        elif (len(self._out) == 2 and chunk > 1) or (len(self._out) == 3 and self._out[1] not in (None, chunk)):
            raise self._wrong(f"output {self._action!r} is {shape}, 'foretell.chunk' says {chunk}")
        self._chunk = chunk
        self._wanted = [self._action, *self._recurrent.values(), *(["terminate"] if self._ends else [])]

    # -- the contract -------------------------------------------------------------------------------------------

    def bind(self, task: Task, action: ActionSpec) -> None:
        action = self._spoken(task, action)
        size = self._out[-1] if self._out else None
        if size not in (None, action.size):
            raise self._wrong(
                f"output {self._action!r} gives {size} numbers per action, the controller {action.name!r} "
                f"takes {action.size}"
            )
        self.spec = PolicySpec(
            reads=self._reads,
            action=action,
            action_rate=float(self._about.get("action_rate", task.action_rate)),
            chunk=self._chunk,
            execute=self._execute,
            batch=self._batch,
            seeded=self._noise is not None,
        )
        self.spec.validate(str(self.path))

    def _spoken(self, task: Task, action: ActionSpec) -> ActionSpec:
        """The action the file says it returns; the controller's own where it says nothing."""
        name = self._about.get("action")
        if name is None or name == action.name:
            return action
        return named(name, action, task, field=f"{self.path}: metadata 'foretell.action'")

    def inform(self, features: Mapping[str, Feature]) -> None:
        self._pictures = frozenset(name for name, feature in features.items() if feature.kind == "rgb")
        for entry in self._inputs.values():
            for name in entry.streams:
                shape = self._reads[name].shape
                if name in features and features[name].image and not features[name].accepts(shape):
                    raise self._wrong(
                        f"input {entry.name!r} takes ({_show(entry.dims)}), but pictures come as "
                        f"{features[name].expected}; put the transpose into the model"
                    )

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self._seed[slot], self._calls[slot] = seed, 0
            self._carried[slot] = {n: np.zeros(self._inputs[n].shape, self._inputs[n].dtype) for n in self._recurrent}

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        ids = slots.tolist()
        feed = {}
        for name, entry in self._inputs.items():
            if name in self._recurrent:
                feed[name] = np.stack([self._carried[slot][name] for slot in ids])
            elif name == self._noise:
                feed[name] = np.stack([self._draw(slot) for slot in ids]).astype(entry.dtype)
            elif not entry.streams:
                feed[name] = np.stack([self._spell(text, *entry.shape) for text in observations["instruction"]])
            else:
                feed[name] = self._fill(entry, observations)
        outputs = dict(zip(self._wanted, self._session.run(self._wanted, feed), strict=True))
        # kept only now, so that a call that fails can be made again; once per slot: padding repeats the last one
        for row in np.unique(slots, return_index=True)[1].tolist():
            self._calls[ids[row]] += 1
            self._carried[ids[row]] = {i: outputs[o][row].copy() for i, o in self._recurrent.items()}
        actions, ends = outputs[self._action], outputs.get("terminate")
        if ends is not None:
            ends = (ends if ends.dtype == bool else ends > 0.5).reshape(len(ids), -1)
        return Chunk(actions[:, None] if actions.ndim == 2 and self._chunk == 1 else actions, ends)

    def _is_picture(self, stream: str) -> bool:
        """As its world declares it; where no world has, whatever holds bytes may be one."""
        return self._pictures is None or stream in self._pictures

    def fingerprint(self) -> str:
        return self._hash

    def _draw(self, slot: int) -> np.ndarray:
        """Keyed by the slot's seed and the number of the call, so nothing else can move it."""
        assert self._noise is not None
        rng = np.random.default_rng([self._seed[slot], self._calls[slot]])
        return rng.standard_normal(self._inputs[self._noise].shape, dtype=np.float32)

    def _spell(self, text: str, size: int) -> np.ndarray:
        """(size,) a text in UTF-8, ended by zeros."""
        data = text.encode()
        if len(data) > size:
            raise PolicyError(f"{self.path}: it reads {size} bytes of an instruction, {text!r:.100} has {len(data)}")
        return np.frombuffer(data.ljust(size, b"\0"), np.uint8)

    def _fill(self, entry: _Input, observations: Mapping[str, Any]) -> np.ndarray:
        parts = [_as(observations[name], entry.dtype, self._is_picture(name)) for name in entry.streams]
        if entry.joined:
            # (n, numbers), or (n, history, numbers) where the model wants the history apart
            ages = [(self._reads[name].history,) if len(entry.dims) == 2 else () for name in entry.streams]
            parts = [p.reshape(len(p), *age, -1) for p, age in zip(parts, ages, strict=True)]
        value = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
        if not _fits(value.shape[1:], entry.dims):
            given = ", ".join(f"{n} {p.shape[1:]}" for n, p in zip(entry.streams, parts, strict=True))
            raise PolicyError(f"{self.path}: input {entry.name!r} takes ({_show(entry.dims)}), it was given {given}")
        return value


def _as(values: Any, dtype: Any, picture: bool) -> np.ndarray:
    """Observations as the input's type; pictures become numbers in [0, 1] where it wants floats."""
    array = np.asarray(values)
    if picture and array.dtype == np.uint8 and np.issubdtype(dtype, np.floating):
        return np.asarray(array.astype(dtype) / dtype(255))
    return array.astype(dtype, copy=False)


def _fits(shape: Sequence[int | None], dims: Sequence[int | None]) -> bool:
    return len(shape) == len(dims) and all(d is None or s == d for s, d in zip(shape, dims, strict=True))


def _show(dims: Sequence[int | None]) -> str:
    return ", ".join("any" if d is None else str(d) for d in dims)
