"""A TorchScript file: its arguments, by name, get what the study maps to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["TorchScriptModel", "make"]


class TorchScriptModel:
    """One call for each slot: rows do not depend on what runs beside them."""

    def __init__(self, use: str, options: dict[str, Any], load: Callable[..., Any]):
        import torch

        torch.set_num_threads(int(options.get("threads", 1)))
        self.device = str(options.get("device", "cpu"))
        self.network = torch.jit.load(use, map_location=self.device).eval()
        arguments = self.network.forward.schema.arguments[1:]  # the first is the module itself
        self.inputs = [argument.name for argument in arguments]
        self.about = {"inputs": dict.fromkeys(self.inputs), "versions": {"torch": torch.__version__}}

    def reset(self, slots: Sequence[int], instructions: Sequence[str], seeds: Sequence[int]) -> None:
        """A TorchScript file keeps nothing between two calls."""

    def act(self, slots: Sequence[int], observations: dict[str, Any]) -> Any:
        import torch

        rows = []
        for row in range(len(slots)):
            given = [self._tensor(observations[name], row) for name in self.inputs]
            with torch.inference_mode():
                actions = self.network(*given)
            actions = actions[0] if isinstance(actions, (tuple, list)) else actions
            rows.append(np.asarray(actions.to("cpu", torch.float64).numpy())[0])
        return {"actions": np.stack(rows)}

    def _tensor(self, values: Any, row: int) -> Any:
        """A text as it is, and numbers with the batch first."""
        import torch

        if isinstance(values, list):
            return values[row]
        return torch.from_numpy(np.array(values[row : row + 1], copy=True)).to(self.device)


make = TorchScriptModel
