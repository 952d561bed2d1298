"""A policy's class of one's own, in its own environment: `spec`, `act`, and `reset` if it needs one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["PythonModel", "make"]


class PythonModel:
    """Makes the class with the options of the study."""

    def __init__(self, use: str, options: dict[str, Any], load: Callable[..., Any]):
        self.policy = load(use, field="policies")(**options)
        spec = getattr(self.policy, "spec", None)
        if dataclasses.is_dataclass(spec) and not isinstance(spec, type):  # foretell is in that environment too
            spec = dataclasses.asdict(spec)
        if not isinstance(spec, Mapping):
            raise TypeError(
                f"{use}: `spec` is {type(spec).__name__}, it should be a table such as "
                '{"reads": {"panda/ee_pos": [3]}, "action": "ee_delta", "action_rate": 20, "chunk": 1}'
            )
        if not callable(getattr(self.policy, "act", None)):
            raise TypeError(f"{use} has no method `act`")
        declared = getattr(self.policy, "files", ())
        self.about = {"spec": dict(spec), "declared": [str(path) for path in declared]}

    def reset(self, slots: Sequence[int], instructions: Sequence[str], seeds: Sequence[int]) -> None:
        own = getattr(self.policy, "reset", None)
        if callable(own):
            own(np.array(slots, dtype=np.int32), list(instructions), list(seeds))

    def act(self, slots: Sequence[int], observations: dict[str, Any]) -> Any:
        answer = self.policy.act(np.array(slots, dtype=np.int32), observations)
        actions = getattr(answer, "actions", answer)
        ends = getattr(answer, "terminate", None)
        answer = {"actions": np.asarray(actions, dtype=np.float64)}
        return answer if ends is None else {**answer, "terminate": np.asarray(ends, dtype=bool)}


make = PythonModel
