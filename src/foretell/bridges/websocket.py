"""`ws://host:port`: a policy that a server holds, in openpi's websocket protocol."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.bridges.channel import Channel
from foretell.bridges.conventions import PRESETS, Convention, declared, filled
from foretell.bridges.sources import Source, read_sources
from foretell.digest import as_json
from foretell.errors import PolicyError, UsageError, suggest
from foretell.policy import Policy, PolicySpec, observed
from foretell.spec import ActionSpec, DimSpec, Feature, Stream
from foretell.tasks.task import Task

__all__ = ["OURS", "Websocket", "spec_from", "spec_to"]

OURS = "foretell"
"""Key of the metadata by which a server of `foretell serve-policy` declares its policy."""


class Websocket(Policy):
    """Asks a server. What it reads and what its actions mean is declared by a preset, by `observation` and `action`, or
    by the server itself if it is one of foretell's."""

    def __init__(
        self,
        address: str,
        *,
        preset: str | None = None,
        observation: Mapping[str, Any] | None = None,
        action: Sequence[Mapping[str, Any]] | None = None,
        action_rate: float | None = None,
        chunk: int | None = None,
        camera: str | None = None,
        wrist: str | None = None,
        version: str | None = None,
        timeout: float = 30.0,
        patience: float = 30.0,
        key: str | None = None,
    ):
        if preset is not None and preset not in PRESETS:
            raise UsageError(f"preset: {preset!r:.80} is not known; {suggest(str(preset), PRESETS)}")
        self._preset = PRESETS.get(preset or "")
        self._given: dict[str, Any] = {"observation": observation, "action": action, "action_rate": action_rate}
        self._given["chunk"] = chunk
        self._cameras = {"camera": camera, "wrist": wrist}
        self._version = version
        self.channel = Channel(f"ws:{address}", timeout=timeout, patience=patience, key=key)
        self._sources: dict[str, Source] = {}
        self._episodes: dict[int, dict[str, int]] = {}  # slot -> the episode in it
        self._count = 0
        self._ours = False

    # -- before the first episode -----------------------------------------------------------------------------

    def bind(self, task: Task, action: ActionSpec) -> None:
        try:
            metadata = self.channel.open()
        except PolicyError as error:
            raise UsageError(str(error)) from None
        own = metadata.get(OURS)
        if isinstance(own, Mapping) and self._preset is None and self._given["observation"] is None:
            self._ours, self.spec = True, spec_from(own)
            return
        how = self._convention()
        names = _names(task, self._cameras)
        self._sources = read_sources(filled(how.observation, names))
        reads: dict[str, Stream] = {}
        for source in self._sources.values():
            for name, stream in source.reads().items():
                if name in reads and reads[name] != stream:
                    raise UsageError(
                        f"observation: {name!r} is read in two sizes, {reads[name].shape} and {stream.shape}"
                    )
                reads[name] = stream
        self.spec = PolicySpec(
            reads=reads,
            action=declared(how.action, action),
            action_rate=how.action_rate,
            chunk=how.chunk,
            execute=min(how.execute, how.chunk),
            batch=1,
        )

    def _convention(self) -> Convention:
        given = {name: value for name, value in self._given.items() if value is not None}
        if self._preset is not None:
            more = {"execute": given["chunk"]} if "chunk" in given else {}
            return dataclasses.replace(self._preset, **given, **more)
        missing = [name for name in ("observation", "action", "action_rate") if name not in given]
        if missing:
            raise UsageError(
                f"{self.channel.address} does not say what it reads and what its actions mean: give `preset` "
                f"({', '.join(PRESETS)}), or {', '.join(f'`{name}`' for name in missing)}"
            )
        given = {"chunk": 1, **given, "action": tuple(given["action"])}
        return Convention(**given, execute=given["chunk"])

    def inform(self, features: Mapping[str, Feature]) -> None:
        """Ask one question with an empty scene: what is wrong with the answer shows before the first episode."""
        for source in self._sources.values():
            source.inform(features)
        seen: dict[str, Any] = {"time": np.zeros(1), "instruction": ["do nothing"]}
        for name, stream in observed(self.spec.reads).items():
            if name in features:
                shape = stream.shape or features[name].shape
                value = np.zeros(shape, dtype=features[name].dtype)
                if features[name].kind == "orientation" and shape == (4,):
                    value[0] = 1.0
                history = (stream.history,) if stream.history > 1 else ()
                seen[name] = np.broadcast_to(value, (1, *history, *shape))
        if set(seen) >= set(observed(self.spec.reads)):
            try:
                self._answer(seen, 0, {})
            except PolicyError as error:
                raise UsageError(f"{self.channel.address}, asked once before the first episode: {error}") from None

    # -- while episodes run -----------------------------------------------------------------------------------

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self._count += 1
            self._episodes[slot] = {"slot": slot, "episode": self._count, "seed": int(seed)}

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        episodes = [self._episodes.get(slot, {}) for slot in slots.tolist()]
        return np.stack([self._answer(observations, row, episode) for row, episode in enumerate(episodes)])

    def _answer(self, seen: Mapping[str, Any], row: int, episode: dict[str, int]) -> np.ndarray:
        """(chunk, dim) of one row."""
        question: dict[str, Any]
        if self._ours:
            question = {name: np.asarray(seen[name][row]) for name in observed(self.spec.reads)}
            question |= {"prompt": str(seen["instruction"][row]), "time": float(seen["time"][row]), OURS: episode}
        else:
            question = {name: source.value(seen, row) for name, source in self._sources.items()}
        answer = self.channel.ask(question, again=not self._ours)
        if "actions" not in answer:
            raise PolicyError(
                f"the server's answer has no `actions`; it has {', '.join(map(str, answer)) or 'nothing'}"
            )
        try:
            actions = np.asarray(answer["actions"], dtype=np.float64)
        except (TypeError, ValueError):
            raise PolicyError("the server's `actions` are no array of numbers") from None
        size = self.spec.action.size
        actions = actions[None] if actions.ndim == 1 else actions
        if actions.ndim != 2 or actions.shape[1] != size or len(actions) < self.spec.chunk:
            raise PolicyError(
                f"the server's `actions` have shape {actions.shape}; {self.spec.chunk} or more actions of {size} "
                "numbers are expected (chunk, action)"
            )
        return actions[: self.spec.chunk]

    def fingerprint(self) -> str:
        """Of what the server says of itself, and of `version`: a server does not tell its weights."""
        metadata = self.channel.metadata
        own = metadata.get(OURS)
        if isinstance(own, Mapping) and "fingerprint" in own:
            known: Any = ["served", str(own["fingerprint"])]
        elif self._version is not None:
            known = ["version", self._version]
        else:
            known = ["metadata", self.channel.address, repr(sorted(metadata.items(), key=str))]
        return hashlib.sha256(as_json(known).encode()).hexdigest()

    def close(self) -> None:
        self.channel.close()


def spec_to(spec: PolicySpec) -> dict[str, Any]:
    """A spec as a message has it."""
    reads = {name: dataclasses.asdict(stream) for name, stream in spec.reads.items()}
    dims = [dataclasses.asdict(dim) for dim in spec.action.dims]
    return {
        "reads": reads,
        "action": {"name": spec.action.name, "dims": dims},
        "action_rate": spec.action_rate,
        "chunk": spec.chunk,
        "execute": spec.executes,
        "seeded": spec.seeded,
    }


def spec_from(given: Mapping[str, Any]) -> PolicySpec:
    """Inverse of `spec_to`, for one robot at a time. Raises UsageError where a server of another version says other
    things."""
    try:
        reads = {
            str(name): Stream(tuple(s["shape"]) if s["shape"] is not None else None, s["rate"], int(s["history"]))
            for name, s in given["reads"].items()
        }
        dims = [DimSpec(**{k: _tuple(v) for k, v in dim.items()}) for dim in given["action"]["dims"]]
        return PolicySpec(
            reads=reads,
            action=ActionSpec(str(given["action"]["name"]), tuple(dims)),
            action_rate=float(given["action_rate"]),
            chunk=int(given["chunk"]),
            execute=int(given["execute"]),
            batch=1,
            seeded=bool(given["seeded"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"the server declares its policy in another way ({type(error).__name__}: {error}): run the same version of "
            "foretell on both sides"
        ) from None


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _names(task: Task, given: Mapping[str, str | None]) -> dict[str, str]:
    """What `{robot}`, `{camera}` and `{wrist}` of a preset are."""
    robot = next(iter(task.robots), "robot")
    camera = next(iter(task.cameras), f"{robot}/overhead")
    named = {"robot": robot, "camera": camera, "wrist": f"{robot}/wrist"}
    return named | {name: value for name, value in given.items() if value is not None}
