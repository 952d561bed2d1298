"""The words of errors that users meet often: field, value, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import foretell
from foretell.clock import parse
from foretell.errors import UsageError
from foretell.study.config import load_study
from foretell.world_file import world_class


def planned(**scenarios: Any) -> Callable[[], object]:
    return lambda: load_study({"tasks": ["lift"], "policies": ["expert"], "scenarios": scenarios})


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: world_class("mujocco"),
            "world: 'mujocco' is not known; did you mean 'mujoco'? "
            '(a world is a name, a .yaml file or "file.py:Class")',
        ),
        (
            lambda: parse({"virtual": {"chunks": "exec"}}),
            "clocks: virtual: chunks: 'exec' is not known; did you mean 'execute'?",
        ),
        (
            lambda: parse({"realtime": {"hold": "wait"}}),
            "clocks: realtime: hold: 'wait' is not known; known: repeat, target, tick, zero",
        ),
        (
            lambda: parse({"virtual": {"computers": 2}}),
            "clocks: virtual: computers: 2 is not known; known: one, unlimited",
        ),
        (
            lambda: parse({"virtual": {"computers": "unlimited"}}),
            "clocks: virtual: `computers: unlimited` needs a policy that thinks while it acts, and `chunks: execute` "
            "thinks only between two chunks: use `chunks: replace`, `ensemble` or `rtc`",
        ),
        (
            planned(layouts="all", fix=["size"]),
            "study: scenarios: `fix` changes scenarios that are drawn, and `layouts` draws none: leave `fix` out "
            "(given: {'layouts': 'all', 'fix': ['size']})",
        ),
        (
            planned(layouts="all", seed=3),
            "study: scenarios: `seed` draws scenarios, and published layouts are not drawn: leave `seed` out "
            "(given: {'layouts': 'all', 'seed': 3})",
        ),
        (
            lambda: foretell.bound("21/20"),
            "real: '21/20' has more successes than trials; write successes/trials, such as 14/20",
        ),
        (lambda: foretell.bound("0/0"), "real: '0/0': the number of trials must be from 1 to 10,000,000"),
    ],
)
def test_an_error_names_the_field_the_value_and_the_fix(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(UsageError) as refusal:
        ask()
    assert str(refusal.value) == words
