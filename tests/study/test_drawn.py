"""Resuming a large study draws no scenario again, and never takes names that would be drawn otherwise now."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import foretell
from foretell.digest import digest
from foretell.episode import key, keys
from foretell.episodes.parts import read_table, write_table
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError
from foretell.scenario import Scenario
from foretell.study import drawn, patience
from foretell.study.config import load_study
from foretell.study.drawn import FILE, SAMPLE, SOURCES, Drawn, draw
from foretell.study.estimate import estimate
from foretell.study.plan import plan
from foretell.tasks.lift import Lift
from foretell.tasks.tabletop import TabletopTask

COUNT = 100
STUDY: dict[str, Any] = {
    "name": "many",
    "tasks": ["lift"],
    "policies": ["random"],
    "scenarios": {"count": COUNT},
    "arms": ["none", "MO_Size"],
}
OWN = """
from foretell.tasks.lift import Lift

class Mine(Lift):
    name = "mine"

    def place(self, rng):
        found = super().place(rng)
        x, y, z = found["cube"].pos
        return {"cube": found["cube"].model_copy(update={"pos": (x + SHIFT, y, z)})}
"""


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "MANY", 10)


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds, as they are drawn."""
    seen: list[int] = []
    real = TabletopTask.scenario

    def scenario(self: TabletopTask, seed: int) -> Scenario:
        seen.append(seed)
        return real(self, seed)

    monkeypatch.setattr(TabletopTask, "scenario", scenario)
    return seen


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with three episodes of two hundred."""
    folder = tmp_path_factory.mktemp("drawn") / "many"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawn, "MANY", 10)
        foretell.run(STUDY, out=folder, workers=0, limit=3)
    return folder


@pytest.fixture
def folder(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "many"))


def names(found: Drawn) -> list[str]:
    return list(found.names)


@pytest.mark.daily
def test_resuming_draws_a_sample_and_what_it_runs(folder: Path, draws: list[int]) -> None:
    before = (folder / "scenarios.parquet").read_bytes()
    again = foretell.run(STUDY, out=folder, workers=0, limit=2)
    assert (again.planned, again.ran, again.skipped) == (2 * COUNT, 2, 3)
    assert len(set(draws)) < COUNT / 2 and len(draws) <= SAMPLE + 2 + 4  # and some for the parts of the scene
    assert (folder / "scenarios.parquet").read_bytes() == before
    rows = read(folder).to_pylist()
    assert len({row["episode"] for row in rows}) == 5 and {row["scenario"] for row in rows} <= set(names_of(folder))


def names_of(folder: Path) -> list[str]:
    return [s.id for s in read_scenarios(folder)]


def test_what_is_recalled_is_what_would_be_drawn(folder: Path, tmp_path: Path) -> None:
    study = load_study(STUDY)
    kept, fresh = draw(study, folder), draw(study, tmp_path / "nothing")
    assert kept.recalled and not fresh.recalled and kept.inputs == fresh.inputs
    assert names(kept) == names(fresh) and len(names(kept)) == 2 * COUNT
    for old, new in zip(plan(study, kept.clean, perturbed=kept.perturbed), plan(study, fresh.clean), strict=True):
        assert (old.policy, old.arm, old.trial) == (new.policy, new.arm, new.trial)
        assert old.scenarios.units[old.index] == new.scenario.pair
    assert kept.perturbed["lift"]["MO_Size"][7] == fresh.perturbed["lift"]["MO_Size"][7]


@pytest.mark.parametrize(
    "change",
    [
        {"scenarios": {"count": COUNT, "seed": 1}},
        {"scenarios": {"count": COUNT - 1}},
        {"scenarios": {"count": COUNT, "fix": ["size"]}},
        {"arms": ["none", "MO_Size@0.5"]},
        {"arms": ["MO_Size", "none"]},
        {"tasks": ["can"]},
    ],
)
def test_another_study_is_drawn_anew(folder: Path, change: dict[str, Any]) -> None:
    assert not draw(load_study({**STUDY, **change}), folder).recalled


def test_other_code_or_versions_are_drawn_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = load_study(STUDY)
    assert draw(study, folder).recalled
    for name, value in (("_code", lambda: "other"), ("version", lambda package: "99")):
        with monkeypatch.context() as patch:
            patch.setattr(drawn, name, value)
            assert not draw(study, folder).recalled
    with monkeypatch.context() as patch:
        patch.setattr(Lift, "version", 99)
        assert not draw(study, folder).recalled
    with monkeypatch.context() as patch:  # as code that no file shows: the sample tells
        patch.setattr(Lift, "start_noise", 0.5)
        assert not draw(study, folder).recalled


def test_the_code_is_every_source_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "lift.py").write_text("HEIGHT = 1\n")
    monkeypatch.setattr(drawn, "SOURCES", tmp_path)
    found = set()
    for text in ("HEIGHT = 1\n", "HEIGHT = 2\n"):
        (tmp_path / "tasks" / "lift.py").write_text(text)
        found.add(drawn._code.__wrapped__())
    (tmp_path / "tasks" / "lift.py").rename(tmp_path / "lift.py")
    found.add(drawn._code.__wrapped__())
    assert len(found) == 3


def test_a_task_of_ones_own_is_always_drawn_anew(tmp_path: Path, draws: list[int]) -> None:
    """It may depend on what no hash sees; an edited one is another task."""
    study = {**STUDY, "tasks": [f"{tmp_path / 'mine.py'}:Mine"], "arms": ["none"]}
    found = []
    for shift in ("0.0", "0.0", "0.01"):
        (tmp_path / "mine.py").write_text(OWN.replace("SHIFT", shift))
        draws.clear()
        found.append(names(draw(load_study(study), tmp_path / "run")))
        done = foretell.run(study, out=tmp_path / "run", workers=0, limit=1)
        assert set(range(COUNT)) <= set(draws)
        assert not (tmp_path / "run" / FILE).exists()
    assert found[0] == found[1] and not set(found[0]) & set(found[2])
    assert done.skipped == 0, "the two episodes of the old source do not count for the new one"


@pytest.mark.daily
def test_damage_and_other_names_are_not_believed(folder: Path) -> None:
    study = load_study(STUDY)
    table = read_table(folder / FILE)
    scenarios = table["scenario"].to_pylist()
    spoilt = {
        "torn": lambda: (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-20]),
        "gone": (folder / FILE).unlink,
        "short": lambda: write_table(folder / FILE, table.slice(0, len(table) - 1)),
        "columns": lambda: write_table(folder / FILE, table.drop_columns("unit")),
        "another name": lambda: write_table(
            folder / FILE, table.set_column(3, table.schema.field(3), [["0" * 16, *scenarios[1:]]])
        ),
    }
    for spoil in spoilt.values():
        spoil()
        assert not draw(study, folder).recalled
        foretell.run(STUDY, out=folder, workers=0, limit=1)
        assert draw(study, folder).recalled, "it is written anew"
    # a wrong name outside the sample: what is to run is drawn, and told from it
    scenarios[1] = "0" * 16
    write_table(folder / FILE, table.set_column(3, table.schema.field(3), [scenarios]))
    found = draw(study, folder)
    with pytest.raises(ForetellError, match=r"scenario 0{16} differs from the one drawn now: delete drawn.parquet"):
        _ = found.perturbed["lift"]["none"][1]


def test_lost_scenarios_are_written_again(folder: Path) -> None:
    before = names_of(folder)
    (folder / "scenarios.parquet").write_bytes(b"PAR1 damaged")
    foretell.run(STUDY, out=folder, workers=0, limit=1)
    assert sorted(names_of(folder)) == sorted(before)
    pq.write_table(read_table(folder / "scenarios.parquet").slice(1), folder / "scenarios.parquet")
    foretell.run(STUDY, out=folder, workers=0, limit=1)
    assert sorted(names_of(folder)) == sorted(before)


def test_few_scenarios_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "MANY", 2 * COUNT + 1)
    foretell.run(STUDY, out=tmp_path / "run", workers=0, limit=1)
    assert not (tmp_path / "run" / FILE).exists()


@pytest.mark.parametrize("task_hash", ["", "0123"])
def test_keys_of_many_episodes_are_digests_of_all_that_decides(task_hash: str) -> None:
    cell = {
        "world_hash": "w",
        "task": "lift/osc",
        "task_version": 2,
        "policy": 'ö "x"',
        "policy_hash": "p",
        "policy_options": {"b": 1.5, "a": [None, "é"]},
        "arm": "MO_Color{rosé}",
        "clock": {"kind": "virtual", "latency": {"values": [0.05]}},
        "task_hash": task_hash,
    }
    options = ("world_hash", "task", "task_version", "policy", "policy_hash", "policy_options")
    for scenario, trial in (("0123456789abcdef", 0), ('spot "é"', 12)):
        told = [*(cell[c] for c in options), scenario, cell["arm"], trial, cell["clock"]]
        assert keys(**cell)(scenario, trial) == digest([*told, task_hash] if task_hash else told)
        assert key(scenario=scenario, trial=trial, **cell) == keys(**cell)(scenario, trial)


@pytest.mark.daily
def test_an_estimate_draws_what_it_times(draws: list[int]) -> None:
    large = {**STUDY, "scenarios": {"count": 400_000}, "arms": ["none"]}
    assert estimate(large, slots=4, workers=1).episodes == 400_000
    assert len(draws) < 10


def test_what_takes_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    draw(load_study(STUDY), tmp_path, said.append)
    assert not said, "what is quick is done in silence"
    monkeypatch.setattr(patience, "FIRST", 0.0)
    monkeypatch.setattr(patience, "EVERY", 0.0)
    draw(load_study(STUDY), tmp_path, said.append)
    assert said[0] == "drawing scenarios of lift, arm none: 0 of 100"
    estimate({**STUDY, "scenarios": {"count": 3}}, notify=said.append)
    assert said[-1] == "timing lift: 0 of 1 groups of policies done"
    assert "planning: 0 episodes so far" in said


def test_every_source_file_of_foretell_counts() -> None:
    """It once was the folder of one package only, and an edited task left the names as they were."""
    assert Path(foretell.__file__).resolve().parent == SOURCES
