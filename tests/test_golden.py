"""Rows stay what they were, bit for bit: see `golden.py`."""

from __future__ import annotations

import json
from typing import Any

import golden
import pytest

KEPT = json.loads(golden.FILE.read_text())
SEES = ["zoo:bc-vision"]


@pytest.mark.parametrize("case", [pytest.param(c, id=golden.name_of(c)) for c in golden.cases() if c[2] not in SEES])
def test_rows_are_what_they_were(case: tuple[str, str, str, Any]) -> None:
    _compare(case)


@pytest.mark.gl
@pytest.mark.parametrize("case", [pytest.param(c, id=golden.name_of(c)) for c in golden.cases() if c[2] in SEES])
def test_rows_of_policies_that_see_are_what_they_were(case: tuple[str, str, str, Any]) -> None:
    _compare(case)


def _compare(case: tuple[str, str, str, Any]) -> None:
    kept, now = KEPT["rows"][golden.name_of(case)], golden.rows(*case)
    names = ("scenario", "base", "world", "policy")  # the same on every machine
    assert {arm: {n: row[n] for n in names} for arm, row in now.items()} == {
        arm: {n: row[n] for n in names} for arm, row in kept.items()
    }
    if golden.here() != KEPT["here"]:
        pytest.skip(f"bits were recorded with {KEPT['here']}; here are {golden.here()}")
    metrics = {arm: {k: v for k, v in row["metrics"].items() if k in kept[arm]["metrics"]} for arm, row in now.items()}
    assert {arm: {**row, "metrics": metrics[arm]} for arm, row in now.items()} == kept
