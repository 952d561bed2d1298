"""Rows stay what they were, bit for bit: see `golden.py`."""

from __future__ import annotations

import json
from typing import Any

import golden
import pytest

KEPT = json.loads(golden.FILE.read_text())
SEES = ["zoo:bc-vision"]


def _cases(sees: bool) -> list[Any]:
    """Those of `lift` in the native world at every run, of the virtual clock with the expert; all others once a day."""
    cases = [case for case in golden.cases() if (case[2] in SEES) == sees]
    often = [case[:2] == ("mujoco", "lift") and ("expert" in case or "sync" in case) for case in cases]
    marks = [() if quick else pytest.mark.daily for quick in often]
    return [pytest.param(case, id=golden.name_of(case), marks=m) for case, m in zip(cases, marks, strict=True)]


@pytest.mark.parametrize("case", _cases(sees=False))
def test_rows_are_what_they_were(case: tuple[str, str, str, Any]) -> None:
    _compare(case)


@pytest.mark.gl
@pytest.mark.parametrize("case", _cases(sees=True))
def test_rows_of_policies_that_see_are_what_they_were(case: tuple[str, str, str, Any]) -> None:
    _compare(case)


def _compare(case: tuple[str, str, str, Any]) -> None:
    kept, now = KEPT["rows"][golden.key_of(case)], golden.rows(*case)
    names = ("scenario", "base", "world", "policy")  # the same on every machine
    assert {arm: {n: row[n] for n in names} for arm, row in now.items()} == {
        arm: {n: row[n] for n in names} for arm, row in kept.items()
    }
    if golden.here() != KEPT["here"]:
        pytest.skip(f"bits were recorded with {KEPT['here']}; here are {golden.here()}")
    metrics = {arm: {k: v for k, v in row["metrics"].items() if k in kept[arm]["metrics"]} for arm, row in now.items()}
    assert {arm: {**row, "metrics": metrics[arm]} for arm, row in now.items()} == kept
