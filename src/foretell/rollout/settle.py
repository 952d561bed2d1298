"""What a verdict makes of an outcome: written once, for drivers and for who judges recorded steps again."""

from __future__ import annotations

from foretell.rollout.job import Outcome
from foretell.tasks.events import ended_early
from foretell.tasks.task import Task
from foretell.world import Verdict

__all__ = ["settle"]


def settle(outcome: Outcome, task: Task, verdict: Verdict, solved: bool | None) -> None:
    """Enter a verdict into the outcome of an episode that has its `end` and `blame`.

    `solved`: whether the task was solved at any action; None where nobody could tell before the end.
    """
    outcome.stages, outcome.score = verdict.stages, verdict.score
    outcome.metrics |= verdict.metrics
    outcome.events = dict(verdict.events)
    outcome.judge = verdict.judge
    if verdict.success is None:
        outcome.end = "stopped" if outcome.end == "success" else outcome.end
        return
    blamed = outcome.blame is not None
    # a person or a detector judges once, at the end, and has the last word on both
    final = solved is None or verdict.judge != "task"
    outcome.success_any = verdict.success if final else solved
    outcome.success_end = verdict.success and not blamed
    outcome.success = (outcome.success_any if task.success_rule == "any" else outcome.success_end) and not blamed
    if outcome.success:
        # a person or a detector may give a success less than full marks
        outcome.score = 1.0 if verdict.score is None or verdict.judge == "task" else verdict.score
    else:
        if outcome.end == "success":  # sensors stopped it, and the judge denies it
            outcome.end = "stopped"
        # stages explain a failure only where the task watched them
        missed = [s.name for s in task.stages if s.name not in verdict.stages and verdict.judge == "task"]
        why = verdict.reason or (f"no {missed[0]}" if missed else "undone")
        outcome.failure_reason = "policy error" if blamed else why
    if outcome.events.pop("ended_early", 1.0) and ended_early(outcome.end, outcome.success):  # 0: it was the world
        outcome.events["ended_early"] = 1.0
