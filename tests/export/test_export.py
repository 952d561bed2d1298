"""Episodes for other tools: what is written, that nothing is lost on the way, and what is refused."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from studies import cli

import foretell
from foretell.datasets import LeRobotData
from foretell.errors import UsageError

LEROBOT = os.environ.get("FORETELL_LEROBOT", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the expert and of a policy that fails, and the dataset of the expert's episodes."""
    folder = tmp_path_factory.mktemp("export")
    study = {
        "name": "run",
        "tasks": [{"use": "lift", "time_limit": 3.0}],
        "policies": {"expert": "expert", "shaky": {"use": "noisy-expert", "noise": 1.5}},
        "scenarios": {"count": 2},
        "record": {"steps": "all", "events": "all"},
    }
    foretell.run(study, out=folder / "run", workers=0)
    foretell.export(folder / "run", out=folder / "set", policy="expert")
    return folder


def test_a_dataset_has_every_step(folder: Path) -> None:
    info = json.loads((folder / "set" / "meta" / "info.json").read_text())
    rows = [row for row in foretell.read(folder / "run").to_pylist() if row["policy"] == "expert"]
    assert (info["codebase_version"], info["fps"], info["total_episodes"]) == ("v3.0", 20, 2)
    assert info["total_frames"] == sum(row["steps"] for row in rows)
    assert info["features"]["observation.state"]["names"][:2] == ["panda/joint1", "panda/joint2"]
    data = LeRobotData(folder / "set")
    assert data.tasks == {0: "lift the cube"}
    table = data.table(["action", "episode_index", "timestamp"], ["next.success"])
    steps = pq.read_table(folder / "run" / "steps" / f"{min(rows, key=lambda r: r['scenario'])['episode']}.parquet")
    actions = np.array(steps["action"].to_pylist())[1:]
    first = data.episodes(table)[0]
    assert np.allclose(data.numbers(table, "action")[first], actions[: len(first)], atol=1e-7)
    assert np.allclose(data.numbers(table, "timestamp")[first, 0], np.arange(len(first)) / 20)


def test_the_expert_does_again_what_the_dataset_says(folder: Path) -> None:
    """It reads what the dataset has, so no number was changed or confused on the way."""
    offline = foretell.offline("expert", folder / "set", task="lift")
    assert offline.errors[0].trajectories == 2 and offline.errors[0].error < 1e-6
    assert foretell.offline("zoo:bc", folder / "set", task="lift").errors[0].error > 1e-6


def test_a_run_folder_is_as_good_as_a_dataset(folder: Path, tmp_path: Path) -> None:
    errors = [foretell.offline("zoo:bc", folder / "set", task="lift").errors[0].error]
    errors.append(foretell.offline("zoo:bc", folder / "run").errors[0].error)
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)


def test_trials_come_back_as_they_were(folder: Path, tmp_path: Path) -> None:
    done = foretell.import_(folder / "set", like=folder / "run", out=tmp_path / "real", name="lab")
    rows = foretell.read(tmp_path / "real").to_pylist()
    before = {r["scenario"]: r for r in foretell.read(folder / "run").to_pylist() if r["policy"] == "expert"}
    assert done.added == 2 and "2 trials were simulated" in " ".join(done.notes)
    for row in rows:
        was = before[row["scenario"]]
        assert (row["success"], row["policy_hash"], row["sim_s"]) == (was["success"], was["policy_hash"], was["sim_s"])


def test_success_from_the_dataset_or_from_a_file_beside_it(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "set", tmp_path / "set")
    (tmp_path / "set" / "trials.csv").unlink()
    foretell.import_(tmp_path / "set", policy="act", task="lift", out=tmp_path / "own")
    assert foretell.read(tmp_path / "own")["policy"].to_pylist() == ["act", "act"]
    sheet = tmp_path / "outcomes.csv"
    sheet.write_text("episode_index,policy,success,failure reason\n0,act,yes,\n1,act,no,slipped\n")
    foretell.import_(tmp_path / "set", outcomes=sheet, task="lift", out=tmp_path / "judged")
    rows = sorted(foretell.read(tmp_path / "judged").to_pylist(), key=lambda row: row["trial"])
    assert [(row["success"], row["failure_reason"]) for row in rows] == [(True, None), (False, "slipped")]
    sheet.write_text("episode_index,policy,success\n7,act,yes\n0,act,yes\n0,act,no\n")
    with pytest.raises(UsageError, match=r"an episode of the dataset \(0 to 1\); given: '7'(.|\n)*than line 3"):
        foretell.import_(tmp_path / "set", outcomes=sheet, task="lift", out=tmp_path / "wrong")


def test_tables_for_a_spreadsheet(folder: Path, tmp_path: Path) -> None:
    said = cli("export", folder / "run", "--to", "csv", "-o", tmp_path / "tables", cwd=tmp_path).stdout
    assert said.startswith("4 episodes, ")
    with (tmp_path / "tables" / "episodes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["policy"] for row in rows} == {"expert", "shaky"} and all(row["success"] in "01" for row in rows)
    with (tmp_path / "tables" / "steps" / f"{rows[0]['episode']}.csv").open() as file:
        steps = list(csv.DictReader(file))
    assert len(steps) == int(rows[0]["steps"]) + 1 and steps[0]["action_0"] and not steps[-1]["action_0"]


@pytest.mark.slow
def test_a_recording_for_rerun(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (extra rerun)")
    done = foretell.export(folder / "run", to="rerun", policy="expert", success=True, out=tmp_path / "recordings")
    files = sorted(done.path.glob("lift-expert-*.rrd"))
    assert len(files) == done.episodes == 2
    rerun = [sys.executable, "-m", "rerun", "rrd"]
    verified = subprocess.run([*rerun, "verify", *files], capture_output=True, text=True, check=False)
    assert not verified.returncode and "verified without error" in verified.stdout + verified.stderr
    printed = subprocess.run([*rerun, "print", files[0]], capture_output=True, text=True, check=True).stdout
    for entity in (
        "/events",
        "/joints/panda/joint1",
        "/plan/action/0",
        "/plan/inference",
        "/objects/cube/pos/x",
        "/world/",
    ):
        assert f" - {entity}" in printed, entity


def test_demonstrations_of_the_expert(tmp_path: Path) -> None:
    done = foretell.demos("lift", n=2, out=tmp_path / "demos", workers=0, keep=tmp_path / "kept")
    assert done.episodes == 2 and (tmp_path / "kept" / "study.yaml").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demos", "kept"]


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    run = folder / "run"
    with pytest.raises(UsageError, match="to: 'lerobt' is no format; did you mean 'lerobot'"):
        foretell.export(run, to="lerobt", out=tmp_path / "x")
    with pytest.raises(UsageError, match="is not empty; give the name of a new folder"):
        foretell.export(run, out=folder)
    with pytest.raises(UsageError, match="policy: the run has no 'experts'; did you mean 'expert'"):
        foretell.export(run, out=tmp_path / "x", policy="experts")
    with pytest.raises(UsageError, match="size: 'large' should be height x width"):
        foretell.export(run, out=tmp_path / "x", size="large")
    with pytest.raises(UsageError, match="camera: 'frnt' is not in this world; did you mean 'front'"):
        foretell.export(run, out=tmp_path / "x", cameras=["frnt"])
    shutil.copytree(run, tmp_path / "bare", ignore=shutil.ignore_patterns("steps"))
    with pytest.raises(UsageError, match="no episode can be exported: 4 episodes: they have no recorded steps"):
        foretell.export(tmp_path / "bare", out=tmp_path / "x")
    assert not list(tmp_path.glob("x*"))


def test_hostile_datasets(folder: Path, tmp_path: Path) -> None:
    def damaged(name: str) -> Path:
        shutil.copytree(folder / "set", tmp_path / name)
        return tmp_path / name

    def refused(path: Path) -> str:
        with pytest.raises(UsageError) as refusal:
            foretell.import_(path, out=tmp_path / "never")
        return str(refusal.value)

    path = damaged("info")
    (path / "meta" / "info.json").write_text("[" * 100_000)
    assert "is no LeRobot dataset that can be read: meta/info.json" in refused(path)
    path = damaged("parquet")
    file = path / "data" / "chunk-000" / "file-000.parquet"
    file.write_bytes(file.read_bytes()[:-200])
    assert "file-000.parquet is damaged" in refused(path)
    path = damaged("keys")
    file = path / "data" / "chunk-000" / "file-000.parquet"
    pq.write_table(pa.table({"episode": [0, 1]}), file)
    assert "has no column 'episode_index'" in refused(path)
    path = damaged("outside")
    file = path / "data" / "chunk-000" / "file-000.parquet"
    shutil.move(file, tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    assert "leads out of its folder" in refused(path)
    path = damaged("pipe")
    (path / "meta" / "info.json").unlink()
    os.mkfifo(path / "meta" / "info.json")
    with pytest.raises(UsageError):
        foretell.import_(path, out=tmp_path / "never")
    assert not (tmp_path / "never").exists()


@pytest.mark.gl
@pytest.mark.daily
@pytest.mark.skipif(not LEROBOT, reason="FORETELL_LEROBOT is not set: the Python of an environment with lerobot")
def test_lerobot_reads_it(folder: Path, tmp_path: Path) -> None:
    foretell.export(folder / "run", out=tmp_path / "set", policy="expert", cameras=["front"], size="64x96")
    side = Path(__file__).parents[1] / "lerobot_side.py"
    answer = subprocess.run([LEROBOT, side, tmp_path / "set"], capture_output=True, text=True, check=False)
    assert not answer.returncode, answer.stderr[-2000:]
    said = json.loads(answer.stdout.splitlines()[-1])
    data = LeRobotData(tmp_path / "set")
    table = data.table(["action", "observation.state", "episode_index"])
    assert (said["version"], said["episodes"], said["frames"], said["fps"]) == ("v3.0", 2, len(table), 20)
    assert said["task"] == "lift the cube" and said["success"] and said["chunk"] == [4, 4, 7]
    assert said["image"] == [3, 64, 96] and 0.1 < said["brightness"] < 0.95
    for name, key in (("action", "action"), ("observation.state", "state")):
        assert np.allclose(said[key], data.numbers(table, name)[0])
    assert {"min", "max", "mean", "std", "count", "q01", "q99"} <= set(said["stats"])
    assert said["one"] == len(data.episodes(table)[1])
