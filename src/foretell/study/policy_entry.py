"""A policy of a study, as a user writes it: what to use, its options, and the adapters around it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from foretell.adapters import entries
from foretell.errors import UsageError
from foretell.registry import names

__all__ = ["PolicyEntry", "anchor_adapters"]


class PolicyEntry(BaseModel):
    """A policy and its options; every field besides `use`, `execute` and `adapt` is handed to the policy.

    `adapt` is the name of a preset or a list of adapters, from the policy outwards: see `foretell.adapters`. It stands
    among the options, because it names the episode as they do."""

    model_config = ConfigDict(extra="allow", frozen=True)

    use: str
    execute: int | None = Field(default=None, ge=1, le=1_000_000)

    @model_validator(mode="before")
    @classmethod
    def _adapted(cls, value: Any) -> Any:
        """With every option of an adapter written out, and statistics by value: a run folder needs no other file."""
        if not isinstance(value, dict) or "adapt" not in value:
            return value
        try:
            listed = entries(value["adapt"]) if value["adapt"] is not None else []
        except UsageError as error:
            raise ValueError(str(error)) from None
        rest = {key: item for key, item in value.items() if key != "adapt"}
        return {**rest, "adapt": listed} if listed else rest

    @model_validator(mode="after")
    def _recordable(self) -> PolicyEntry:
        """Options name the episode, so they must be values that read the same everywhere."""
        for name, value in self.options.items():
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError):
                raise ValueError(f"option {name!r} is {value!r}, it should be text or a finite number") from None
        return self

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


def anchor_adapters(policies: Any, folder: Path) -> None:
    """Make absolute the files beside a study that its adapters name: statistics, or the adapters' own code."""
    for entry in policies.values() if isinstance(policies, dict) else ():
        if isinstance(entry, dict) and "adapt" in entry:
            entry["adapt"] = _anchored(entry["adapt"], folder)


def _anchored(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        return {_anchored(key, folder): _anchored(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_anchored(item, folder) for item in value]
    if not isinstance(value, str) or value in names("adapters") or value in names("presets"):
        return value
    file, colon, rest = value.rpartition(":") if ".py:" in value else (value, "", "")
    return f"{folder / file}{colon}{rest}" if os.path.isfile(folder / file) else value
