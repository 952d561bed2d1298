"""The whole way: real episodes, a search, the check on held-out data, a world file, and its use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy_world
import pyarrow.parquet as pq
import pytest
import yaml
from pucks import puck
from studies import Lab, cli

import foretell
from foretell import UsageError
from foretell.episodes.fitted import FILE
from foretell.report.tuned import sections, write_tuned
from foretell.tune import Tuned

LAGS = {"theta.lag": {"choices": [0.05, 0.2, 0.3, 0.6]}}


def tuned(**more: Any) -> Tuned:
    options: dict[str, Any] = {"real": "runs/real", "space": LAGS, "metric": "success_gap", "out": "runs/tuned"}
    return foretell.tune(puck("puck.py:Puck"), **{**options, "stand_in": True, "workers": 0, **more})


@pytest.fixture(scope="module")
def answer(lab: Path) -> Tuned:
    with pytest.MonkeyPatch.context() as patch:
        numpy_world.enter(lab, patch)
        return tuned()


@pytest.fixture
def copied(here: Path, answer: Tuned, tmp_path: Path) -> Path:
    """The runs of `answer` in another folder, for a search that has the same cells."""
    shutil.copytree("runs/tuned", tmp_path / "tuned")
    return tmp_path / "tuned"


def test_it_finds_the_lag_and_shows_the_improvement_on_held_out_data(here: Path, answer: Tuned) -> None:
    assert answer.point == {"theta.lag": 0.3}
    assert answer.fitted[1] == 0.0 < answer.fitted[0]
    assert answer.recommended and answer.improvement.low is not None and answer.improvement.low > 0
    assert answer.improvement.guarantee == "asymptotic"
    # what each fold chose is scored where it was not fitted: never better than the fit itself
    assert answer.held_out[1] >= answer.fitted[1]
    assert "Recommended" in answer.text() and "theta.lag" in answer.text()


def test_a_second_call_runs_nothing_and_says_the_same(here: Path, answer: Tuned) -> None:
    ran = []
    again = tuned(progress=lambda state: ran.append(state.ran))
    assert max(ran, default=0) == 0
    assert again.to_dict() == answer.to_dict()


def test_every_theta_runs_the_scenarios_of_the_real_run(here: Path, answer: Tuned) -> None:
    real = set(foretell.read("runs/real")["scenario"].to_pylist())
    for tried, _ in answer.tried:
        assert set(foretell.read(tried.run)["scenario"].to_pylist()) == real
    assert len(answer.tried) == 5  # the world as it is, and four cells


def test_the_world_file_runs_and_its_real_trials_are_no_evidence(here: Path, answer: Tuned) -> None:
    assert answer.file is not None
    written = yaml.safe_load(answer.file.read_text())
    real = foretell.read("runs/real")
    assert written["theta"] == {"lag": 0.3} and written["fitted_to"] == sorted(set(real["scenario"].to_pylist()))
    assert set(answer.real_episodes) == set(real["episode"].to_pylist()) == set(written["fitted_episodes"])
    foretell.run(puck(str(answer.file), scenarios={"like": "runs/real"}), out="runs/check", workers=0)
    with pytest.raises(UsageError, match="was fitted to the real trials of 16 of 16"):
        foretell.predictivity(real="runs/real", sim="runs/check", stand_in=True)
    with pytest.raises(UsageError, match="was fitted to the real trials"):
        foretell.bound("runs/real", "runs/check", policy="gain-6", stand_in=True)
    for counted in (
        foretell.predictivity(real="runs/real", sim="runs/check", stand_in=True, fitted=True).notes,
        foretell.bound("runs/real", "runs/check", policy="gain-6", stand_in=True, fitted=True).notes,
    ):
        assert any("although the simulator was fitted" in note for note in counted)


def test_runs_of_the_search_are_no_evidence_either(here: Path, answer: Tuned, tmp_path: Path) -> None:
    """Every θ that was tried was tried on these real trials. The world as it is was chosen by nobody."""
    base, *others = [tried.run for tried, _ in answer.tried]
    foretell.predictivity(real="runs/real", sim=base, stand_in=True)
    rows = tmp_path / "rows.parquet"
    pq.write_table(foretell.read(others[0]), rows)
    for sim in (*others, rows):
        with pytest.raises(UsageError, match="was fitted to the real trials of 16 of 16"):
            foretell.predictivity(real="runs/real", sim=sim, stand_in=True)
        with pytest.raises(UsageError, match="was fitted to the real trials"):
            foretell.bound("runs/real", sim, policy="gain-6", stand_in=True)
    foretell.predictivity(real="runs/real", sim=others[0], stand_in=True, fitted=True)
    one = shutil.copytree(others[0], tmp_path / "again")
    foretell.run(one / "study.yaml", out=one, workers=0)  # whoever resumes it does not clear it
    with pytest.raises(UsageError, match="was fitted to the real trials"):
        foretell.predictivity(real="runs/real", sim=one, stand_in=True)


def test_a_search_may_gain_real_trials_and_resume(here: Path, copied: Path) -> None:
    """What was seen is beside the rows, so that neither keys nor the study change with it."""
    folder = next(path for path in sorted(copied.iterdir()) if (path / FILE).exists())
    seen = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps({name: ids[:3] for name, ids in seen.items()}))
    ran: list[int] = []
    tuned(out=copied, progress=lambda state: ran.append(state.ran))
    assert max(ran, default=0) == 0 and json.loads((folder / FILE).read_text()) == seen
    (folder / FILE).write_text("{")
    with pytest.warns(UserWarning, match="which real trials θ was chosen by is unknown"):
        foretell.read(folder)


def test_what_is_not_better_is_not_recommended(here: Path) -> None:
    """Values that act alike: nothing is gained, and no world file is left behind."""
    found = tuned(space={"theta.lag": {"choices": [0.1, 0.1001]}}, out="runs/same")
    assert not found.recommended and found.file is None and not (found.out / "tuned.yaml").exists()
    assert "Not recommended" in found.text()


def test_a_world_file_that_studies_may_name_stays(here: Path) -> None:
    space = {"theta.lag": {"choices": [0.1, 0.6]}}
    first = tuned(space=space, folds={"policies": 1, "scenarios": 1}, anyway=True, out="runs/stays")
    assert first.file is not None
    text = first.file.read_text()
    again = tuned(space={"theta.lag": {"choices": [0.1, 0.1001]}}, out="runs/stays")
    assert again.file is None and first.file.read_text() == text
    assert any("is of an earlier call" in note for note in again.notes)


def test_it_is_written_anyway_if_asked(here: Path) -> None:
    found = tuned(space={"theta.lag": {"choices": [0.1, 0.6]}}, folds={"policies": 1, "scenarios": 1}, anyway=True)
    assert found.improvement.low is None and "nothing is held out" in str(found.improvement.reason)
    assert not found.recommended
    assert (found.file is not None) == bool(found.point)


@pytest.mark.parametrize("way", ["tpe", pytest.param("gp", marks=pytest.mark.daily)])
def test_searches_find_it_too(here: Path, way: str) -> None:
    pytest.importorskip("torch" if way == "gp" else "optuna")
    found = tuned(space={"lag": [0.05, 0.6]}, way=way, trials=6, folds={"policies": 1, "scenarios": 1}, out="runs/way")
    assert found.fitted[1] < found.fitted[0] and 0.2 < found.point["theta.lag"] < 0.45


def test_held_out_policies_are_named(copied: Path) -> None:
    away = {"policies": ["gain-3", "gain-6", "gain-10"], "scenarios": 0.5}
    found = tuned(hold_out=away, out=copied)
    assert found.judging == ("gain-3", "gain-6", "gain-10") and found.scenarios == 16
    assert len(found.world["fitted_to"]) == 8 and len(found.real_episodes) == 8 * 3


def test_few_policies_are_warned_about(here: Path) -> None:
    found = foretell.tune(
        puck("puck.py:Puck", gains=(2.0, 3.0, 6.0)), real="runs/real", space=LAGS, metric="pearson",
        out="runs/few", stand_in=True, workers=0,
    )  # fmt: skip
    assert any("fewer than 5" in note for note in found.notes)
    assert any("no policy is held out" in note for note in found.notes)
    assert "too few" in str(found.for_others.reason)


def test_too_few_policies_are_never_recommended(here: Path) -> None:
    """Four policies on 16 scenarios show an improvement of the gap on held-out scenarios, and it may still be luck."""
    found = foretell.tune(
        puck("puck.py:Puck", gains=(2.0, 3.0, 4.0, 6.0)), real="runs/real", space=LAGS, metric="success_gap",
        folds={"policies": 1}, out="runs/four", stand_in=True, workers=0,
    )  # fmt: skip
    assert found.claim == "policies" and not found.recommended and found.file is None
    assert found.verdict().startswith("Not recommended: 4 policies are fewer than 5")
    assert "no world is recommended" in found.text() and not found.to_dict()["recommended"]


def test_cma_tunes_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two numbers of a planar world, by the whole way: runs, folds, the answer."""
    pytest.importorskip("cma")
    monkeypatch.chdir(tmp_path)
    study: dict[str, Any] = {
        "name": "drive", "tasks": [{"use": "pointnav", "time_limit": 25}], "policies": ["bug", "oracle", "bumper"],
        "scenarios": {"layouts": [0, 1]},
    }  # fmt: skip
    foretell.run({**study, "world": "planar_standin"}, out="real", workers=0)
    space = {"noise_multiplier": [0, 1], "localisation": [0, 0.5]}
    options: dict[str, Any] = {"real": "real", "space": space, "way": "cma", "trials": 6, "of": "score"}
    options |= {"metric": "success_gap", "folds": {"policies": 1, "scenarios": 1}, "stand_in": True, "workers": 0}
    found = foretell.tune({**study, "world": "planar"}, **options, out="tuned")
    assert len(found.tried) == 7 and found.fitted[1] <= found.fitted[0]
    assert all(0 <= t.point["theta.localisation"] <= 0.5 for t, _ in found.tried if t.point)
    again = foretell.tune({**study, "world": "planar"}, **options, out="tuned")
    assert again.to_dict() == found.to_dict()


def test_the_page_has_landscape_and_scatter(answer: Tuned, tmp_path: Path) -> None:
    made = {section.id: section for section in sections(answer)}
    assert list(made) == ["improvement", "policies", "landscape", "theta"]
    assert [block.name for block in made["policies"].blocks] == ["before-reach", "after-reach"]
    (landscape,) = made["landscape"].blocks
    assert len(landscape.rows) == 5
    text = write_tuned(answer, tmp_path / "tune.html").read_text()
    assert "landscape-theta-lag" in text and answer.verdict()[:12] in text


def test_the_command_reads_the_section_of_the_study(here: Path, answer: Tuned) -> None:
    section = {"real": "runs/real", "metric": "success_gap", "space": LAGS}
    (here / "study.yaml").write_text(yaml.safe_dump(puck("puck.py:Puck", tune=section)))
    done = cli("tune", "study.yaml", "--stand-in", "--workers", 0, "--out", "runs/tuned", "--json", cwd=here)
    told = json.loads(done.stdout)
    assert told["theta"] == {"theta.lag": 0.3} and told["recommended"]
    assert told == json.loads((here / "runs/tuned/tune.json").read_text())
    assert (here / "runs/tuned/tune.html").exists()
    cli("run", "study.yaml", "--dry-run", cwd=here)  # the section does not disturb other verbs


def test_mujoco_is_tuned_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three noisy experts on a brief task; a nested number of the robot is searched beside θ of the world."""
    monkeypatch.chdir(tmp_path)
    Lab(tmp_path)
    policies = {f"noise-{n}": {"use": "noisy-expert", "noise": n} for n in (0.0, 0.3, 1.0)}
    study: dict[str, Any] = {"name": "brief", "tasks": ["task.py:Brief"], "policies": policies, "scenarios": 2}
    foretell.run({**study, "world": "standin"}, out="real", workers=0)
    space = {"theta.robots.panda.kp_scale": {"choices": [0.7, 1.0]}}
    found = foretell.tune(
        {**study, "world": "mujoco"}, real="real", space=space, of="score", metric="success_gap", stand_in=True,
        out="tuned", workers=0,
    )  # fmt: skip
    assert len(found.tried) == 3 and found.parameters[0].start is None
    assert found.tasks == ("brief",) and found.scenarios == 2
