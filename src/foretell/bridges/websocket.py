"""`ws://host:port`: a policy that a server holds, in openpi's websocket protocol."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.bridges.channel import Channel
from foretell.bridges.conventions import PRESETS, Convention
from foretell.bridges.mapped import Mapped, as_actions
from foretell.bridges.specs import spec_from
from foretell.digest import as_json
from foretell.errors import PolicyError, UsageError, suggest
from foretell.policy import observed
from foretell.spec import ActionSpec, Feature
from foretell.tasks.task import Task

__all__ = ["OURS", "Websocket"]

OURS = "foretell"
"""Key of the metadata by which a server of `foretell serve-policy` declares its policy."""


class Websocket(Mapped):
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
        self.camera, self.wrist = camera, wrist
        self._version = version
        self.channel = Channel(f"ws:{address}", timeout=timeout, patience=patience, key=key)
        self.who = self.channel.address
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
        self.agree(self._convention(), task, action)

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
        if not self._ours:
            super().inform(features)

    def try_out(self, seen: Mapping[str, Any]) -> None:
        self._answer(seen, 0, {})

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
            question = self.question(seen, row)
        answer = self.channel.ask(question, again=not self._ours)
        if "actions" not in answer:
            raise PolicyError(
                f"the server's answer has no `actions`; it has {', '.join(map(str, answer)) or 'nothing'}"
            )
        return as_actions(answer["actions"], self.spec, "the server's")

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
