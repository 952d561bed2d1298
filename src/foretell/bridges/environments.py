"""`lerobot:PATH`, `python:MODULE:CLASS` and `torchscript:FILE`: policies in a Python environment of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.bridges.conventions import Convention
from foretell.bridges.hosted import TIMEOUT_S, Hosted, Memory, ask_in_parts
from foretell.bridges.mapped import Mapped
from foretell.bridges.sources import Numbers, Picture, Source
from foretell.bridges.specs import spec_of
from foretell.errors import ConventionError, LinkError, PolicyError, UsageError, suggest
from foretell.policy import Chunk, Policy, PolicySpec, observed
from foretell.spec import ActionSpec
from foretell.tasks.task import Task

__all__ = ["LeRobot", "OwnPython", "TorchScript"]


class _Elsewhere(Mapped):
    """A network that another process runs, with inputs of its own."""

    kind: str

    def __init__(
        self,
        path: str,
        *,
        action: Sequence[Mapping[str, Any]] | str | None = None,
        action_rate: float | None = None,
        observation: Mapping[str, Any] | None = None,
        chunk: int | None = None,
        camera: str | None = None,
        wrist: str | None = None,
        env: str | None = None,
        device: str = "cpu",
        threads: int = 1,
        timeout: float = TIMEOUT_S,
    ):
        self.path, self.camera, self.wrist, self._chunk = os.path.expanduser(path), camera, wrist, chunk
        self.who = f"{self.kind}:{path}"
        if action is None or action_rate is None:
            lacking = "action" if action is None else "action_rate"
            raise UsageError(
                f"{self.who:.200}: `{lacking}` is missing. Its file does not say what its actions mean: give `action`, "
                "the name of a controller (ee_delta, joint, ...) or a list of parts, and `action_rate`, per s"
            )
        self._action, self._rate, self._observation = action, float(action_rate), dict(observation or {})
        options = {"device": device, "threads": threads, **({"chunk": chunk} if chunk is not None else {})}
        self.host = Hosted(self.kind, use=os.path.abspath(self.path), options=options, env=env, timeout=timeout)
        self._memory = Memory(self.host)
        self.check_file()

    def check_file(self) -> None:
        """Raise UsageError where there is nothing to load."""
        if not os.path.isfile(self.path):
            raise UsageError(f"{self.who:.300}: there is no file {self.path:.300}")

    def bind(self, task: Task, action: ActionSpec) -> None:
        try:
            self._about = self.host.open()
        except LinkError as error:
            raise UsageError(str(error)) from None
        inputs = self._about["inputs"]
        for key in self._observation:
            if key not in inputs:
                raise UsageError(f"observation: {self.who:.200} takes no {key!r:.80}; {suggest(key, inputs)}")
        mapped = {key: self._observation.get(key) or self._guess(key, inputs[key], task) for key in inputs}
        chunk = self._about.get("chunk", self._chunk or 1)
        how = Convention(
            observation=mapped,
            action=self._action if isinstance(self._action, str) else tuple(self._action),
            action_rate=self._rate,
            chunk=chunk,
            execute=chunk,
        )
        self.agree(how, task, action, batch=None, seeded=bool(self._about.get("seeded")))
        size = self._about.get("action", self.spec.action.size)
        if size != self.spec.action.size:
            raise ConventionError(
                f"{self.who:.200}: its actions have {size} numbers, and `action` declares {self.spec.action.size}",
                "action-size",
            )

    def _guess(self, key: str, stated: Any, task: Task) -> Any:
        """What a key is made of that the study does not say. Raises UsageError."""
        raise UsageError(
            f"observation: {key!r:.80} is missing: say what {self.who:.200} gets as {key!r:.80}, such as "
            f"{{{key}: [panda/ee_pos, panda/gripper]}} or {{{key}: {{stream: front/rgb, size: [96, 96]}}}}"
        )

    def try_out(self, seen: Mapping[str, Any]) -> None:
        question = self.question(seen, 0)
        for key, stated in self._about["inputs"].items():
            if stated is not None:
                _fits(key, np.shape(question[key]), stated, self._sources[key])
        self.reset(np.array([0], np.int32), ["do nothing"], [0])
        self._asked(np.array([0], np.int32), seen)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._memory.begin(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        self._memory.check(slots)
        return self._asked(slots, observations)

    def _asked(self, slots: np.ndarray, observations: Mapping[str, Any]) -> np.ndarray:
        rows = [self.question(observations, row) for row in range(len(slots))]
        given: dict[str, Any] = {
            key: [row[key] for row in rows] if isinstance(rows[0][key], str) else np.stack([row[key] for row in rows])
            for key in rows[0]
        }
        given["task"] = [str(text) for text in observations["instruction"]]
        actions = np.asarray(ask_in_parts(self.host, slots, given, None)["actions"], dtype=np.float64)
        if actions.ndim == 2:
            actions = actions[:, None]
        expected = (len(slots), self.spec.chunk, self.spec.action.size)
        if actions.ndim != 3 or actions.shape[0::2] != expected[0::2] or actions.shape[1] < expected[1]:
            raise PolicyError(f"its actions have shape {actions.shape}, expected {expected} (slots, chunk, action)")
        return actions[:, : self.spec.chunk]

    def fingerprint(self) -> str:
        return self.host.fingerprint()

    def close(self) -> None:
        self.host.close()


class LeRobot(_Elsewhere):
    """A folder that LeRobot wrote, with LeRobot's own normalisation. A camera of the task whose name the folder has
    needs no mapping."""

    kind = "lerobot"

    def check_file(self) -> None:
        if not os.path.isfile(os.path.join(self.path, "config.json")):
            raise UsageError(
                f"{self.who:.300}: there is no {os.path.join(self.path, 'config.json')}; PATH is the folder that "
                "LeRobot calls pretrained_model"
            )

    def _guess(self, key: str, stated: Any, task: Task) -> Any:
        kind, shape = stated
        if kind == "VISUAL":
            robot = next(iter(task.robots), "robot")
            name = _plain(key.rpartition("images.")[2])
            for camera in [*task.cameras, f"{robot}/wrist"]:
                if name in (_plain(camera), _plain(camera.rpartition("/")[2])):
                    return {"stream": f"{camera}/rgb", "size": list(shape[1:]), "fit": "stretch"}
        return super()._guess(key, stated, task)


class TorchScript(_Elsewhere):
    """A TorchScript file. Each argument of its `forward` gets what `observation` says, with the batch first."""

    kind = "torchscript"


class OwnPython(Policy):
    """A class in another environment: `spec` is a table there, and `act` is as foretell's own policies have it."""

    elsewhere = True

    def __init__(self, use: str, *, env: str | None = None, timeout: float = TIMEOUT_S, **options: Any):
        if use.endswith(".py") or ":" not in use:
            raise UsageError(f'policies: "python:{use:.200}" should look like python:package.module:Class')
        where, _, name = use.rpartition(":")
        use = f"{Path(where).expanduser().absolute()}:{name}" if where.endswith(".py") else use
        self.host = Hosted("python", use=use, options=options, env=env, timeout=timeout)
        self._memory = Memory(self.host)

    def bind(self, task: Task, action: ActionSpec) -> None:
        try:
            given = dict(self.host.open()["spec"])
        except LinkError as error:
            raise UsageError(str(error)) from None
        self.spec: PolicySpec = spec_of(given, action, task, f"python:{self.host.use}")

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._memory.begin(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        self._memory.check(slots)
        given: dict[str, Any] = {name: np.asarray(observations[name]) for name in observed(self.spec.reads)}
        given |= {"time": np.asarray(observations["time"]), "instruction": list(observations["instruction"])}
        given |= {name: np.asarray(observations[name]) for name in self.spec.reads if name not in given}
        answer = ask_in_parts(self.host, slots, given, self.spec.batch)
        return Chunk(answer["actions"], answer.get("terminate"))

    def fingerprint(self) -> str:
        return self.host.fingerprint()

    def close(self) -> None:
        self.host.close()


def _plain(name: str) -> str:
    return name.replace("/", "_").replace(".", "_")


def _fits(key: str, shape: tuple[int, ...], stated: Any, source: Source) -> None:
    """Raise UsageError where a key does not have the shape that the policy states."""
    kind, wanted = stated[0], tuple(stated[1])
    if kind == "VISUAL":
        if not isinstance(source, Picture):
            raise UsageError(f"observation: {key}: the policy takes a picture here: {{stream: front/rgb, size: ...}}")
        wanted = (*wanted[1:], wanted[0])
    elif not isinstance(source, Numbers):
        raise UsageError(f"observation: {key}: the policy takes {wanted} numbers here, and no picture or text")
    if shape != wanted:
        code = "image-size" if kind == "VISUAL" else "stream-shape"
        raise ConventionError(f"observation: {key}: its shape is {shape}, the policy takes {wanted}", code)
