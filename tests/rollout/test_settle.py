"""What a verdict makes of an outcome."""

from __future__ import annotations

import pytest

from foretell.episode import Outcome
from foretell.rollout.settle import settle
from foretell.tasks.lift import Lift
from foretell.world import Verdict


@pytest.mark.parametrize("solved", [True, False, None])
@pytest.mark.parametrize("says", [True, False])
def test_no_driver_overrules_a_person(solved: bool | None, says: bool) -> None:
    """Sensors may have seen it solved, or not: whoever judged at the end has the last word."""
    outcome = Outcome(end="time_limit")
    settle(outcome, Lift(), Verdict(success=says, score=None, stages={}, judge="person"), solved)
    assert (outcome.success, outcome.success_any, outcome.success_end) == (says, says, says)
    assert outcome.judge == "person" and outcome.score == (1.0 if says else None)


def test_a_task_that_was_solved_on_the_way_counts_by_its_rule() -> None:
    outcome = Outcome(end="time_limit")
    settle(outcome, Lift(), Verdict(success=False, score=0.5, stages={"reach": 1.0}), True)
    assert Lift.success_rule == "any" and outcome.success and not outcome.success_end and outcome.score == 1.0
