"""What is written on a card: each scenario once, clean, of the newest version of the task."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import made

from foretell.registry import resolve
from foretell.tasks.lift import Lift
from foretell.train.measured import write_success
from foretell.zoo.card import MODELS, read_card


def test_a_scenario_counts_once(tmp_path: Path) -> None:
    models = tmp_path / "models"
    (models / "lift").mkdir(parents=True)
    shutil.copy(MODELS / "lift" / "bc.yaml", models / "lift")
    scenarios = [Lift().scenario(i) for i in range(200)]
    weights = read_card("bc", "lift").sha256
    kinds = {
        "new": {"task_version": 2, "successes": 150},
        "again": {"task_version": 2, "successes": 150},
        "old": {"task_version": 1, "successes": 200},
        "real": {"task_version": 2, "successes": 200, "world": "standin"},
        "hard": {"task_version": 2, "successes": 0, "arm": "MO_Size"},
    }
    runs = []
    for name, how in kinds.items():
        solved = how.pop("successes")
        rows = [made.row("bc", s, i < solved, policy_hash=weights, **how) for i, s in enumerate(scenarios)]
        runs.append(made.run(tmp_path / name, scenarios, rows))
    write_success(runs, models)
    found = read_card("bc", "lift", models).success
    assert found is not None
    assert (found.n, found.successes, found.rate, found.scenarios) == (200, 150, 0.75, "seeds 0 to 199")


def test_an_episode_in_which_the_world_failed_counts_neither_way(tmp_path: Path) -> None:
    task, models = "widowx_stack_cube", tmp_path / "models"
    (models / task).mkdir(parents=True)
    shutil.copy(MODELS / task / "sight.yaml", models / task)
    layouts, weights = resolve("tasks", task)().layouts(), read_card("sight", task).sha256
    rows = [made.row("sight", s, i < 6, policy_hash=weights, task=task) for i, s in enumerate(layouts)]
    lost = {"success": None, "blame": "world", "end": "error", "error": "physics diverged"}
    rows[-1] = replace(rows[-1], **lost)
    write_success([made.run(tmp_path / "run", layouts, rows)], models)
    success = read_card("sight", task, models).success
    assert success is not None and (success.n, success.successes) == (23, 6)
    assert success.scenarios == "without 1 in which the world failed, layouts 0 to 23"
