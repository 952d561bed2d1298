"""What a verdict makes of an outcome."""

from __future__ import annotations

from typing import Any

import pytest

from foretell.episode import Outcome
from foretell.errors import UsageError
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


@pytest.mark.parametrize("judge", ["person", "detector"])
def test_marks_of_a_person_or_a_detector_are_kept(judge: Any) -> None:
    outcome = Outcome(end="time_limit")
    settle(outcome, Lift(), Verdict(success=True, score=0.6, stages={}, judge=judge), None)
    assert outcome.success and outcome.score == 0.6


@pytest.mark.parametrize("says", [False, None])
def test_an_episode_does_not_end_with_a_success_that_the_judge_denies(says: bool | None) -> None:
    """Sensors stopped it, and a detector says no."""
    outcome = Outcome(end="success")
    settle(outcome, Lift(), Verdict(success=says, score=0.25, stages={}, judge="detector", reason="lamp off"), True)
    assert (outcome.end, outcome.success, outcome.score) == ("stopped", says, 0.25)
    assert outcome.failure_reason == ("lamp off" if says is False else None)


def test_a_task_that_was_solved_on_the_way_counts_by_its_rule() -> None:
    outcome = Outcome(end="time_limit")
    settle(outcome, Lift(), Verdict(success=False, score=0.5, stages={"reach": 1.0}), True)
    assert Lift.success_rule == "any" and outcome.success and not outcome.success_end and outcome.score == 1.0


def test_stages_explain_a_failure_only_where_the_task_judged() -> None:
    reasons = {}
    for judge in ("task", "person", "detector"):
        settle(
            outcome := Outcome(end="time_limit"),
            Lift(),
            Verdict(success=False, score=0.0, stages={}, judge=judge),
            None,
        )
        reasons[judge] = outcome.failure_reason
    assert reasons == {"task": f"no {Lift().stages[0].name}", "person": "undone", "detector": "undone"}


def test_an_unknown_judge_is_refused() -> None:
    with pytest.raises(UsageError, match="judge is 'robot'; it should be one of task, person, detector"):
        Verdict(success=True, score=1.0, stages={}, judge="robot")  # type: ignore[arg-type]
