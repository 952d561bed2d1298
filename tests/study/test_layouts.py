"""`scenarios: {layouts: all}`: the layouts that a task publishes, in their order, as a grid."""

from __future__ import annotations

from pathlib import Path

import numpy_world
import pytest
from numpy_world import SEEK, TASK, WORLD

import foretell
from foretell.catalogue import catalogue
from foretell.episodes.provenance import read_provenance
from foretell.study.config import load_study
from foretell.study.plan import make_task, resolve_scenarios

STUDY = {"world": WORLD, "tasks": ["more.py:Grid"], "policies": {"seek": SEEK}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return numpy_world.enter(tmp_path, monkeypatch)


def test_they_are_run_in_their_order_and_recorded_as_a_grid() -> None:
    task = make_task("more.py:Grid")
    study = load_study({**STUDY, "scenarios": {"layouts": "all"}})
    found, design = resolve_scenarios(study)
    assert design == "grid"
    assert [s.seed for s in found["more.py:Grid"]] == [7, 3, 5]
    done = foretell.run(study, out="it", engine="here")
    assert done.ran == 3 and read_provenance("it")["design"] == "grid"
    assert set(foretell.read("it")["scenario"].to_pylist()) == {s.id for s in task.layouts()}
    assert foretell.run("it/study.yaml", out="it", engine="here").ran == 0
    assert foretell.run({**STUDY, "scenarios": {"like": "it"}}, out="again", engine="here").ran == 3
    assert read_provenance("again")["design"] == "grid"


def test_the_first_of_them_can_be_asked_for() -> None:
    found, _ = resolve_scenarios(load_study({**STUDY, "scenarios": {"layouts": "all", "count": 2}}))
    assert [s.seed for s in found["more.py:Grid"]] == [7, 3]


def test_some_can_be_asked_for_by_number() -> None:
    scenarios, design = resolve_scenarios(load_study({**STUDY, "scenarios": {"layouts": [2, 0]}}))
    assert [s.seed for s in scenarios["more.py:Grid"]] == [5, 7] and design == "chosen"
    study = load_study({**STUDY, "scenarios": {"layouts": [0, 3]}})
    with pytest.raises(foretell.UsageError, match=r"task 'more.py:Grid' has no layout 3; its layouts are 0 to 2"):
        resolve_scenarios(study)
    assert load_study({**STUDY, "scenarios": {"layouts": 1}}).scenarios.layouts == (1,)


@pytest.mark.parametrize(
    ("scenarios", "said"),
    [
        ({"layouts": "some"}, r"layouts: should be `all`, or a list of numbers from 0, such as \[0, 3\]"),
        ({"layouts": [1, -1]}, r"layouts: should be `all`, or a list"),
        ({"layouts": [True]}, r"layouts: should be `all`, or a list"),
        ({"layouts": []}, r"layouts: should be `all`, or a list"),
        ({"layouts": [1, 1]}, r"layouts: names a layout twice"),
        ({"layouts": "all", "like": "it"}, "give either `layouts` or `like`, not both"),
        ({"layouts": "all", "fix": "size"}, "`fix` changes scenarios that are drawn, and `layouts`"),
        ({"layouts": "all", "seed": 3}, "`seed` draws scenarios"),
    ],
)
def test_what_makes_no_sense_is_refused(scenarios: dict[str, object], said: str) -> None:
    with pytest.raises(foretell.UsageError, match=said):
        load_study({**STUDY, "scenarios": scenarios})


def test_a_task_that_only_draws_has_none() -> None:
    study = load_study({**STUDY, "tasks": [TASK], "scenarios": {"layouts": "all"}})
    with pytest.raises(foretell.UsageError, match=r"task '.*puck\.py:Reach' publishes no layouts; draw scenarios by"):
        resolve_scenarios(study)
    assert {entry["name"]: entry["layouts"] for entry in catalogue("tasks")}["lift"] == 0
