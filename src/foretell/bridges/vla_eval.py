"""`vla-eval://host:port`: a policy behind one of vla-eval's model servers.

The server keeps what it remembers per connection, so each slot has one. A connection that breaks in an episode ends
that episode: the next one connects anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.bridges.channel import Channel
from foretell.bridges.conventions import Convention
from foretell.bridges.mapped import Mapped, as_actions
from foretell.bridges.packing import pack, unpack
from foretell.digest import as_json
from foretell.errors import ConventionError, LinkError, PolicyError, UsageError
from foretell.spec import ActionSpec, DimSpec
from foretell.tasks.task import Task

__all__ = ["VlaEval"]

PROTOCOL = 1
POSITION = {"delta_xyz": {"mode": "delta"}, "absolute_xyz": {"mode": "absolute"}}
ROTATION = {name: {"rotation": name} for name in ("axis_angle", "euler_xyz", "quaternion_xyzw")}
GRIPPER: dict[str, dict[str, Any]] = {
    "binary_close_positive": {"grips": "closing", "low": -1.0, "high": 1.0},
    "binary_close_negative": {"grips": "opening", "low": -1.0, "high": 1.0},
    "binary_close_01": {"grips": "closing", "low": 0.0, "high": 1.0},
    "continuous_01": {"low": 0.0, "high": 1.0},
}
FORMATS: dict[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = {
    "position": ("translation", POSITION),
    "rotation": ("rotation", ROTATION),
    "gripper": ("gripper", GRIPPER),
}
"""Component of vla-eval's action -> how we call it, and what its formats say."""
CODES = {"mode": "action-mode", "rotation": "rotation-format", "grips": "gripper-sign"}


class VlaChannel(Channel):
    """A line to a model server: both sides say hello, then it answers observations."""

    seq = 0

    def packed(self, question: dict[str, Any], kind: str = "observation") -> bytes:
        self.seq += 1
        return pack({"type": kind, "payload": question, "seq": self.seq, "timestamp": time.time()}, texts=True)

    def metadata_of(self) -> dict[str, Any]:
        from foretell import __version__

        hello = {"harness_version": __version__, "protocol_version": PROTOCOL}
        try:
            self.socket.send(self.packed(hello, "hello"))
            given = self.answer()
        except TimeoutError:
            raise LinkError(f"{self.address} did not say hello within {self.timeout:g} s") from None
        except PolicyError as error:
            raise LinkError(f"{self.address} is no model server of vla-eval: {error}") from None
        if given.get("protocol_version") != PROTOCOL:
            raise LinkError(
                f"{self.address} speaks version {given.get('protocol_version')!r:.20} of vla-eval's protocol (vla-eval "
                f"{given.get('harness_version')!s:.40}), and foretell version {PROTOCOL}"
            )
        return given

    def begin(self, episode: dict[str, Any]) -> None:
        """Start an episode. There is no answer; an error comes with the next one."""
        self.open()
        self.socket.send(self.packed(episode, "episode_start"))

    def answer(self) -> dict[str, Any]:
        data = self.socket.recv(timeout=self.timeout)
        try:
            message = unpack(data) if isinstance(data, bytes) else None
        except ValueError as error:
            raise PolicyError(f"the server sent an answer that cannot be read: {error}") from None
        payload = message.get("payload") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(payload, dict):
            raise PolicyError("the server sent something else than a message with `type` and `payload`")
        if message.get("type") == "error":
            raise PolicyError(f"the server reports an error: {payload.get('error')!s:.300}")
        if message.get("type") not in ("action", "hello") or message.get("seq") != self.seq:
            raise PolicyError(
                f"the server sent {message.get('type')!r:.40} number {message.get('seq')!r:.20}, it should be the "
                f"action to observation {self.seq}"
            )
        return payload


class VlaEval(Mapped):
    """Asks a model server of vla-eval. Keys of `observation` are its own; `images/NAME` is a picture."""

    def __init__(
        self,
        address: str,
        *,
        observation: Mapping[str, Any] | None = None,
        action: Sequence[Mapping[str, Any]] | str | None = None,
        action_rate: float | None = None,
        chunk: int = 1,
        camera: str | None = None,
        wrist: str | None = None,
        version: str | None = None,
        timeout: float = 30.0,
        patience: float = 30.0,
    ):
        self.camera, self.wrist = camera, wrist
        self._address, self._timeout, self._patience = f"ws:{address}", timeout, patience
        self.who = f"vla-eval:{address}"
        if observation is None:
            raise UsageError(
                f"{self.who:.200}: `observation` is missing: what its server gets, such as {{images/front: {{stream: "
                "front/rgb, size: [256, 256]}, states: [panda/ee_pos], task_description: instruction}"
            )
        self._observation, self._action = observation, action
        self._rate, self._chunk, self._version = action_rate, chunk, version
        self._lines: dict[int, VlaChannel] = {}
        self._broken: dict[int, str] = {}
        self._task = ""

    def _line(self, slot: int) -> VlaChannel:
        if slot not in self._lines:
            self._lines[slot] = VlaChannel(self._address, timeout=self._timeout, patience=self._patience)
        return self._lines[slot]

    def bind(self, task: Task, action: ActionSpec) -> None:
        try:
            metadata = self._line(0).open()
        except PolicyError as error:
            raise UsageError(str(error)) from None
        self._task = task.name
        self._metadata = {name: metadata.get(name) for name in ("model_server", "action_spec", "observation_spec")}
        stated = _parts(metadata.get("action_spec"))
        if self._action is None and stated is None:
            raise UsageError(
                f"{self.who:.200}: its server does not say what its actions mean: give `action`, the name of a "
                "controller (ee_delta, joint, ...) or a list of parts"
            )
        spoken = self._action if self._action is not None else stated
        how = Convention(
            observation=self._observation,
            action=spoken if isinstance(spoken, str) else tuple(spoken or ()),
            action_rate=float(self._rate if self._rate is not None else task.action_rate),
            chunk=self._chunk,
            execute=self._chunk,
        )
        self.agree(how, task, action)
        for index, (part, dim) in enumerate(zip(stated or (), self.spec.action.dims, strict=False)):
            _compare(self.who, index, part, dim)

    def try_out(self, seen: Mapping[str, Any]) -> None:
        self.reset(np.array([0]), ["do nothing"], [0])
        self._answer(seen, 0, 0)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for slot, text in zip(slots.tolist(), instructions, strict=True):
            self._broken.pop(slot, None)
            for last in (False, True):
                try:
                    self._line(slot).begin({"task": {"name": self._task, "instruction": text}})
                    break
                except LinkError as error:
                    self._broken[slot] = str(error)
                    break
                except Exception as error:  # a line that broke after the last episode: a new one is tried once
                    self._line(slot).close()
                    if last:
                        self._broken[slot] = f"the connection to {self._address} broke: {error}"

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        return np.stack([self._answer(observations, row, slot) for row, slot in enumerate(slots.tolist())])

    def _answer(self, seen: Mapping[str, Any], row: int, slot: int) -> np.ndarray:
        """(chunk, dim) of one row."""
        if slot in self._broken:
            raise LinkError(self._broken[slot])
        question: dict[str, Any] = {}
        for key, value in self.question(seen, row).items():
            place, _, name = key.partition("/")
            if name:
                question.setdefault(place, {})[name] = value
            else:
                question[key] = value
        try:
            answer = self._line(slot).ask(question, again=False)
        except LinkError as error:  # what the server remembered of this episode is gone
            self._broken[slot] = str(error)
            raise
        except PolicyError:
            self._broken[slot] = "the server has forgotten this episode after an error"
            raise
        if "actions" not in answer:
            raise PolicyError(
                f"the server's action has no `actions`; it has {', '.join(map(str, answer)) or 'nothing'}"
            )
        return as_actions(answer["actions"], self.spec, "the server's")

    def fingerprint(self) -> str:
        """Of `version`, or of what the server says of itself: it does not tell its weights."""
        known = ["version", self._version] if self._version is not None else [self._address, repr(self._metadata)]
        return hashlib.sha256(as_json(known).encode()).hexdigest()

    def close(self) -> None:
        for line in self._lines.values():
            line.close()


def _parts(stated: Any) -> list[dict[str, Any]] | None:
    """The parts of an action as a model server states them; None where it says too little."""
    if not isinstance(stated, Mapping) or not stated:
        return None
    parts = []
    for name, dim in stated.items():
        meaning, formats = FORMATS.get(str(name), ("", {}))
        known = formats.get(str(dim.get("format"))) if isinstance(dim, Mapping) else None
        if known is None or not isinstance(dim.get("dims"), int):
            return None
        parts.append({"meaning": meaning, "size": dim["dims"], **known})
    return parts


def _compare(who: str, index: int, part: Mapping[str, Any], dim: DimSpec) -> None:
    """Raise ConventionError where a study declares another action than the server."""
    for name, code in CODES.items():
        given = dataclasses.asdict(dim)[name]
        if name in part and given is not None and given != part[name]:
            raise ConventionError(
                f"{who:.200}: action part {index} ({dim.meaning}): {name} is {given!r} in the study, and the server "
                f"says {part[name]!r}",
                code,
            )
