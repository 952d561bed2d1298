"""Shards, pulled batches and merging: rows are those of one process, and nothing is lost, doubled or mixed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy_world
import pytest
import studies
import yaml

import foretell
from foretell.errors import UsageError
from foretell.study.leases import Leases
from foretell.study.shard import Shard, batches, shards_in, whose

STUDY: dict[str, Any] = {
    "name": "shared",
    "world": numpy_world.WORLD,
    "tasks": [numpy_world.TASK],
    "policies": {"seek": numpy_world.SEEK, "again": {"use": numpy_world.SEEK, "gain": 1.0}},
    "scenarios": 40,
    "trials": 2,
    "record": {"video": "none"},
}
PLANNED = 160


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = numpy_world.write(tmp_path_factory.mktemp("shards"))
    (folder / "shared.yaml").write_text(yaml.safe_dump(STUDY))
    with pytest.MonkeyPatch.context() as patch:
        numpy_world.enter(folder, patch)
        foretell.run("shared.yaml", out="whole", workers=0)
        for number in (1, 2, 3):
            foretell.run("shared.yaml", out="parts", workers=0, shard=f"{number}/3")
    return folder


@pytest.fixture
def here(lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folders, to work in."""
    shutil.copytree(lab, tmp_path, dirs_exist_ok=True)
    return numpy_world.enter(tmp_path, monkeypatch)


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    source = str(Path(foretell.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(folder)])}
    command = [sys.executable, "-m", "foretell", "run", "shared.yaml", "--workers", "0", *more]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **quiet)


def test_shards_are_disjoint_complete_and_keep_trials_together(here: Path) -> None:
    seen: dict[str, int] = {}
    for number, folder in enumerate(shards_in(Path("parts"))):
        rows = foretell.read(folder).to_pylist()
        assert 48 <= len(rows) <= 60
        for row in rows:
            assert seen.setdefault(row["episode"], number) == number
        pairs = {(row["policy"], row["scenario"]) for row in rows}
        assert len(pairs) * 2 == len(rows), "both trials of a scenario are in one shard"
    assert len(seen) == PLANNED


def test_merged_rows_are_those_of_one_process(here: Path) -> None:
    merged = foretell.merge(["parts"])
    assert (merged.ended, merged.planned, merged.added, merged.missing) == (PLANNED, PLANNED, PLANNED, {})
    assert studies.rows(Path("parts")).equals(studies.rows(Path("whole")))
    assert foretell.show("parts") == foretell.show("whole")
    again = foretell.merge(["parts"])
    assert (again.ended, again.added) == (PLANNED, 0)
    assert foretell.run("shared.yaml", out="parts", workers=0).skipped == PLANNED


def test_a_merge_tells_what_is_missing_and_its_command_runs_it(here: Path) -> None:
    shutil.rmtree(Path("parts/shards/2-of-3"))
    merged = foretell.merge(["parts"])
    assert merged.missing == {"2/3": PLANNED - merged.ended}
    command = shlex.split(merged.commands[0])
    assert command[:2] == ["foretell", "run"] and command[-2:] == ["--shard", "2/3"]
    studies.cli(*command[1:], "--workers", "0", cwd=here)
    assert foretell.merge(["parts"]).ended == PLANNED
    assert studies.rows(Path("parts")).equals(studies.rows(Path("whole")))


def test_shards_that_were_copied_merge_elsewhere(here: Path) -> None:
    for number in (1, 2, 3):
        shutil.copytree(f"parts/shards/{number}-of-3", f"copied/{number}-of-3")
    with pytest.raises(UsageError, match=r"plan-.* is missing: copy it there"):
        foretell.merge([f"copied/{n}-of-3" for n in (1, 2, 3)], out="elsewhere")
    for plan in Path("parts/shards").glob("plan-*"):
        shutil.copy(plan, "copied")
    foretell.merge([f"copied/{n}-of-3" for n in (1, 2, 3)], out="elsewhere")
    assert studies.rows(Path("elsewhere")).equals(studies.rows(Path("whole")))


def test_a_shard_of_another_plan_is_refused_with_what_differs(here: Path) -> None:
    other = yaml.safe_load(Path("shared.yaml").read_text())
    other["scenarios"], other["policies"]["again"]["gain"] = 41, 2.0
    Path("shared.yaml").write_text(yaml.safe_dump(other))
    shutil.rmtree(Path("parts/shards/3-of-3"))
    foretell.run("shared.yaml", out="parts", workers=0, shard="3/3")
    with pytest.raises(UsageError) as refused:
        foretell.merge(["parts"])
    assert "scenarios.count: 40 there, 41 here" in str(refused.value)
    assert "policies.again.gain: 1.0 there, 2.0 here" in str(refused.value)
    assert not Path("parts/episodes").exists(), "nothing was written"


def test_shards_of_other_versions_or_weights_are_refused(here: Path) -> None:
    about = Path("parts/shards/3-of-3/provenance.json")
    text = about.read_text()
    changed = json.loads(text)
    changed["versions"]["mujoco"] = "3.9.9"
    about.write_text(json.dumps(changed))
    with pytest.raises(UsageError, match=r"mujoco: .* there, 3\.9\.9 here"):
        foretell.merge(["parts"])
    about.write_text(text)
    puck = Path("puck.py").read_text()
    Path("puck.py").write_text(puck.replace("class Seek", "CHANGED = True\n\n\nclass Seek"))
    shutil.rmtree(Path("parts/shards/3-of-3"))
    process = start(here, "--out", "parts", "--shard", "3/3")
    assert process.wait(timeout=60) == 0
    with pytest.raises(UsageError, match=r"policy_hash of (again|seek) on reach: \w+ there, \w+ here"):
        foretell.merge(["parts"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shard": "0/4"}, "should be from 1/4 to 4/4"),
        ({"shard": "5/4"}, "should be from 1/4 to 4/4"),
        ({"shard": "4"}, "is no share such as 3/64"),
        ({"shard": "/4"}, "SLURM_ARRAY_TASK_ID is not set"),
        ({"shard": "1/4", "pull": True}, "cannot be combined"),
        ({"pull": True, "limit": 3}, "leave --limit out"),
    ],
)
def test_wrong_shares_are_refused(here: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        foretell.run("shared.yaml", out="none", workers=0, **given)
    assert not Path("none").exists()


def test_what_differs_between_machines_is_refused(here: Path) -> None:
    study = {**STUDY, "clocks": [{"virtual": {"latency": "measured"}}]}
    with pytest.raises(UsageError, match="each machine would measure another latency"):
        foretell.run(study, out="none", shard="1/2")
    study = {**STUDY, "until": {"width": 0.5, "max": 40}}
    with pytest.raises(UsageError, match="use --shard"):
        foretell.run(study, out="none", pull=True)
    with pytest.raises(UsageError, match="has no shards"):
        foretell.merge(["whole"])


def test_a_slurm_task_names_its_shard() -> None:
    assert Shard.parse("/64", {"SLURM_ARRAY_TASK_ID": "7"}) == Shard(7, 64)
    assert Shard(7, 64).folder(Path("run")) == Path("run/shards/07-of-64")


def test_cells_that_stop_by_a_rule_stay_whole(here: Path) -> None:
    study = {**STUDY, "name": "stops", "trials": 1, "until": {"width": 0.3, "max": 40}}
    foretell.run(study, out="rule", workers=0)
    for number in (1, 2):
        foretell.run(study, out="ruled", workers=0, shard=f"{number}/2")
    merged = foretell.merge(["ruled"])
    assert studies.rows(Path("ruled")).equals(studies.rows(Path("rule")))
    assert merged.missing == {}
    assert foretell.show("ruled") == foretell.show("rule")


def test_pulled_batches_are_run_once_by_whoever_comes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.study.shard.BATCH", 16)
    done = foretell.run("shared.yaml", out="pulled", workers=0, pull=True)
    assert (done.ran, done.left) == (PLANNED, 0)
    late = foretell.run("shared.yaml", out="pulled", workers=0, pull=True)
    assert late.ran == 0 and "to others" in late.text()
    merged = foretell.merge(["pulled"])
    assert (merged.shards, merged.ended, merged.missing) == (2, PLANNED, {})
    assert studies.rows(Path("pulled")).equals(studies.rows(Path("whole")))


def test_a_batch_whose_rows_were_lost_may_be_pulled_again(here: Path) -> None:
    foretell.run("shared.yaml", out="pulled", workers=0, pull=True)
    (folder,) = shards_in(Path("pulled"))
    foretell.run("shared.yaml", out="pulled", workers=0, pull=True)
    shutil.rmtree(folder)
    merged = foretell.merge(["pulled"])
    assert merged.missing == {"pulled": PLANNED} and merged.commands[0].endswith("--pull")
    foretell.run("shared.yaml", out="pulled", workers=0, pull=True)
    assert foretell.merge(["pulled"]).ended == PLANNED
    assert studies.rows(Path("pulled")).equals(studies.rows(Path("whole")))


@pytest.mark.slow
def test_workers_that_are_killed_lose_and_double_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pull; two are killed while they work, and what they held is taken over."""
    monkeypatch.setattr("foretell.study.leases.EXPIRES", 1.0)
    crew = [start(here, "--out", "pulled", "--pull") for _ in range(2)]
    until = time.monotonic() + 60
    while time.monotonic() < until and not list(Path("pulled").glob("shards/pull-*/journal/*.jsonl")):
        time.sleep(0.02)
    for process in crew:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    foretell.run("shared.yaml", out="pulled", workers=0, pull=True)
    merged = foretell.merge(["pulled"])
    assert merged.ended == PLANNED, merged.text()
    assert studies.rows(Path("pulled")).equals(studies.rows(Path("whole")))


def test_an_owner_who_is_slow_keeps_what_it_did(tmp_path: Path) -> None:
    """The lease of a process that stopped is taken over; it goes on, and both have run the batch."""
    slow = Leases(tmp_path, batches=1, owner="slow", beat=60.0, expires=0.05)
    held = slow.take()
    assert next(held) == 0
    other = Leases(tmp_path, batches=1, owner="other", beat=0.01, expires=0.05)
    assert list(other.take()) == [0]
    assert list(held) == [], "the slow one ends, and does not raise"
    assert sorted(os.listdir(tmp_path)) == ["000000.1", "000000.2", "000000.done"]


def test_a_lease_with_signs_of_life_is_left_alone(tmp_path: Path) -> None:
    owner = Leases(tmp_path, batches=2, owner="owner", beat=0.02, expires=0.5)
    held = owner.take()
    mine = next(held)
    other = Leases(tmp_path, batches=2, owner="other", beat=0.02, expires=0.5)
    taken = other.take()
    assert next(taken) == 1 - mine
    assert not other._expired(tmp_path / f"{mine:06d}.1")
    time.sleep(0.6)
    assert not other._expired(tmp_path / f"{mine:06d}.1"), "its count has grown"


def test_shares_follow_from_the_plan_alone(here: Path) -> None:
    foretell.merge(["parts"])
    from foretell.episodes.planned import plan_table

    plan = plan_table("parts")
    number = whose(plan, 3)
    assert sorted(set(number.tolist())) == [1, 2, 3]
    assert batches(plan).max() == 2  # 160 episodes in batches of 64


def test_the_script_of_an_array_quotes_what_it_names(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = here / "two words"
    folder.mkdir()
    for name in ("shared.yaml", "puck.py"):
        shutil.copy(name, folder)
    monkeypatch.chdir(folder)
    script = foretell.slurm("shared.yaml", shards=3, cores=2)
    lines = script.splitlines()
    assert "#SBATCH --array=1-3" in lines and f"#SBATCH --chdir='{folder}'" in lines
    command = shlex.split(lines[-1])
    assert command[:2] == ["exec", "foretell"] and command[-4:] == ["--shard", "/3", "--workers", "2"]
    assert str(folder / "shared.yaml") in command
    with pytest.raises(UsageError, match="must be at least 1"):
        foretell.slurm("shared.yaml", shards=0)
