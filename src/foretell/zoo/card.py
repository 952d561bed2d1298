"""A card says what a policy of the zoo is, what it was made from and how well it does. One beside every model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from foretell.document import parse_yaml

__all__ = ["MODELS", "Card", "InferenceTime", "Success", "about", "cards", "read_card"]

MODELS = Path(__file__).parent / "models"
"""models/TASK/NAME.onnx, and NAME.yaml, its card. A model that serves several tasks has a card for each."""


class _CardModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Success(_CardModel):
    """Share of unseen scenarios solved under the `sync` clock, with its Clopper-Pearson interval."""

    n: int
    successes: int
    rate: float
    low: float
    high: float
    alpha: float
    scenarios: str
    """Which ones."""


class InferenceTime(_CardModel):
    """Wall milliseconds of one inference for one robot (batch 1, one thread)."""

    median_ms: float
    p95_ms: float
    execute: int
    """Actions run per inference."""
    calls: int
    machine: str


class Card(_CardModel):
    """Everything a reader should know before trusting or comparing a policy."""

    name: str
    task: str
    file: str | None = None
    """The task whose folder holds the model, where one file serves several; None: its own."""
    about: str
    reads: list[str]
    data: str
    seed: int
    command: str
    """Makes the same weights again, on the same machine with the same versions."""
    training: str
    minutes: float
    """Wall time of training, without recording demonstrations."""
    weak: str | None = None
    """How it was made weak, if it was."""
    parameters: int
    bytes: int
    sha256: str
    """Of the .onnx file."""
    success: Success | None = None
    latency: InferenceTime | None = None

    @property
    def model(self) -> Path:
        return MODELS / (self.file or self.task) / f"{self.name}.onnx"

    @property
    def path(self) -> Path:
        return MODELS / self.task / f"{self.name}.yaml"

    def write(self, path: Path | None = None) -> None:
        fields = self.model_dump(mode="json", exclude={"file"} if self.file is None else None)
        text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120)
        (path or self.path).write_text(text, encoding="utf-8")


def read_card(name: str, task: str, models: Path = MODELS) -> Card:
    """The card of one policy on one task."""
    contents: Any = parse_yaml((models / task / f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml")
    return Card.model_validate(contents)


def cards(models: Path = MODELS) -> list[Card]:
    """All of them, by task and name."""
    return [read_card(path.stem, path.parent.name, models) for path in sorted(models.glob("*/*.yaml"))]


def about() -> dict[str, dict[str, Any]]:
    """Name of each policy -> a line about it and, per task, the share of unseen scenarios it solves."""
    policies: dict[str, dict[str, Any]] = {}
    for card in cards():
        entry = policies.setdefault(card.name, {"about": card.about, "tasks": {}})
        entry["tasks"][card.task] = card.success.rate if card.success else None
    return policies
