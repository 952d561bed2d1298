"""Worlds in a Python environment of their own: a small one here, and the real simulators where they are installed."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell
from foretell import Policy, PolicySpec, Stream, UsageError
from foretell.bridges.simulators import environment
from foretell.bridges.simulators.environment import Environment
from foretell.episodes.read import read
from foretell.hardware import wire
from foretell.tasks.make import make_task
from foretell.world_file import make_world

SIMULATORS = os.environ.get("FORETELL_SIMULATORS")
real = pytest.mark.skipif(
    not SIMULATORS, reason="FORETELL_SIMULATORS names no folder in which `foretell env create` made environments"
)


class Seek(Policy):
    """Slides to the goal."""

    def bind(self, task: Any, action: Any) -> None:
        self.spec = PolicySpec(reads={"env/obs": Stream((2,))}, action=action, action_rate=task.action_rate, batch=None)

    def act(self, slots: np.ndarray, observations: Any) -> np.ndarray:
        return np.clip(5 * (observations["env/obs"][:, 1:] - observations["env/obs"][:, :1]), -1, 1)


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python environment with Gymnasium and the small environment, and without foretell."""
    folder = tmp_path_factory.mktemp("env") / "slide"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "more.pth").write_text("\n".join(site.getsitepackages()))
    shutil.copy(Path(__file__).with_name("fake_env.py"), packages / "fake_env.py")
    return folder


def world(env: Path, **more: Any) -> dict[str, Any]:
    return {"kind": "gymnasium:Slide-v0", "env": str(env), "imports": ["fake_env"], **more}


def study(env: Path, **more: Any) -> dict[str, Any]:
    about: dict[str, Any] = {"name": "slide", "world": world(env), "tasks": ["own"], "scenarios": 3}
    return {**about, "policies": {"seek": "x"}, "record": {"video": "none"}, **more}


def run(asked: dict[str, Any], out: Path) -> list[dict[str, Any]]:
    asked = {key: value for key, value in asked.items() if key != "policies"}
    foretell.run(asked, out=out, policies={"seek": Seek}, workers=0)
    table: pa.Table = read(out)
    rows = table.select([c for c in table.column_names if not c.startswith("wall_") and c != "study"]).to_pylist()
    return sorted(rows, key=lambda row: (row["clock"], row["scenario"]))


def fault(env: Path, name: str) -> None:
    (next((env / "lib").glob("python*/site-packages")) / "fault").write_text(name)


def test_a_registered_environment_is_a_world(env: Path, tmp_path: Path) -> None:
    clocks = ["sync", {"virtual": {"latency": 0.1}}]
    rows = run(study(env, clocks=clocks), tmp_path / "a")
    assert [row["success"] for row in rows] == [True] * 6
    alike = run(study(env, clocks=[{"virtual": {"latency": 0.0}}]), tmp_path / "b")
    assert [row["sim_s"] for row in alike] == [row["sim_s"] for row in rows if "sync" in row["clock"]]
    slow, fast = ([row["sim_s"] for row in rows if name in row["clock"]] for name in ("virtual", "sync"))
    assert all(late > soon for late, soon in zip(slow, fast, strict=True))
    assert rows[0]["world"] == "Slide-v0" and "gymnasium" in rows[0]["world_params"]
    assert {row["end"] for row in rows} == {"success"}


def test_its_limit_of_time_ends_an_episode(env: Path) -> None:
    task = make_task("own")
    made = make_world(world(env), task, slots=1, threads=1)
    try:
        assert (task.action_rate, task.time_limit) == (pytest.approx(20), pytest.approx(2.0))
        slot, n = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int64)
        made.reset(slot, [task.scenario(3)], [0])
        made.command(slot, np.zeros((1, 1)), n)
        made.advance(slot, 40 * n)
        assert made.over(slot)[0] and not made.progress(slot)[0]
        assert made.picture(0, "view", 20, 30).shape == (20, 30, 3)
    finally:
        made.close()


@pytest.mark.parametrize(
    ("what", "blame", "words"),
    [
        ("kill", "machine", "the simulator's process was lost: advance: the other end closed the link"),
        ("hang", "machine", "the simulator's process was lost: advance: the other end was silent for too long"),
        ("raise", "world", "the simulator raised in advance: RuntimeError: the joint came off"),
    ],
)
def test_what_goes_wrong_costs_one_episode(env: Path, tmp_path: Path, what: str, blame: str, words: str) -> None:
    asked = study(env, world=world(env, patience=2.0))
    fault(env, what)
    rows = run(asked, tmp_path / "run")
    bad = [row for row in rows if row["end"] == "error"]
    assert len(rows) == 3 and [row["blame"] for row in bad] == [blame] and bad[0]["error"].startswith(words)
    assert sum(bool(row["success"]) for row in rows) == 2, "the others are finished"
    again = run(asked, tmp_path / "run")
    assert sum(bool(row["success"]) for row in again) == (3 if blame == "machine" else 2), "the machine is retried"


def test_a_broken_environment_is_refused_before_the_first_episode(
    env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(asked: dict[str, Any]) -> str:
        with pytest.raises(UsageError) as error:
            make_world(asked, make_task("own"), slots=1, threads=1)
        return str(error.value)

    monkeypatch.setenv("FORETELL_ENVS", str(tmp_path))
    assert "make it with `foretell env create metaworld`" in refused(world(env) | {"env": "metaworld"})
    assert "it needs a Vulkan device" in refused(world(env) | {"env": "maniskill"})
    assert "it has no bin/python" in refused(world(env) | {"env": str(tmp_path)})
    assert "No module named 'absent'" in refused(world(env, imports=["absent"]))
    silent = refused(world(env, make={"tells": "won"}))
    assert "info has no success or is_success" in silent and "it has won" in silent
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    assert "No module named 'gymnasium'" in refused(world(bare))
    with pytest.raises(UsageError, match="write `tasks: \\[own\\]`"):
        make_world(world(env), make_task("lift"), slots=1, threads=1)
    with pytest.raises(UsageError, match="use slots 1, and more workers"):
        make_world(world(env), make_task("own"), slots=2, threads=1)


def test_version_skew_is_refused_with_both_versions(env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Environment(about="", kind="gymnasium", pins={"gymnasium": "0.0.1"}, imports=("fake_env",))
    monkeypatch.setitem(environment.KNOWN, "slide", other)
    monkeypatch.setenv("FORETELL_ENVS", str(env.parent))
    with pytest.raises(UsageError, match=r"expects gymnasium 0\.0\.1, and the environment has \d+\.\d+"):
        make_world(world(env) | {"env": "slide"}, make_task("own"), slots=1, threads=1)
    monkeypatch.setattr(wire, "PROTOCOL", 99)
    with pytest.raises(UsageError, match=r"speaks version 99 of the link and worker\.py \(foretell .*\) version 1"):
        make_world(world(env), make_task("own"), slots=1, threads=1)


def test_robosuite_refuses_what_it_cannot_apply(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"name": "x", "world": "robosuite", "tasks": ["lift"], "policies": ["expert"]}
    asked |= {"scenarios": 1, "arms": ["none", "MO_Size"]}
    with pytest.raises(UsageError, match="world 'robosuite' cannot apply MO_Size: robosuite judges by the usual size"):
        foretell.run(asked, out=tmp_path / "run", workers=0)


def test_environments_are_listed_and_made_only_where_they_can_be(monkeypatch: pytest.MonkeyPatch, env: Path) -> None:
    monkeypatch.setenv("FORETELL_ENVS", str(env.parent))
    assert {one.name: one.made for one in foretell.env.list()}["robosuite"] is None
    with pytest.raises(UsageError, match="did you mean 'robosuite'"):
        foretell.env.create("robosuit")
    with pytest.raises(UsageError, match="foretell did not make it: give another --path"):
        foretell.env.create("metaworld", env)
    assert (env / "bin" / "python").exists(), "a Python environment of somebody else's is not emptied"
    with pytest.raises(UsageError, match="'libero' cannot be made: its package has no meshes"):
        foretell.env.create("libero")


@real
@pytest.mark.slow
def test_robosuite_solves_and_judges_our_lift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_ENVS", str(SIMULATORS))
    asked: dict[str, Any] = {"name": "x", "world": "robosuite", "tasks": ["lift"], "policies": ["expert"]}
    asked |= {"scenarios": 1, "arms": ["none", "Object_Mass"], "record": {"video": "none"}}
    asked |= {"clocks": ["sync", {"virtual": {"latency": 0.0}}]}
    foretell.run(asked, out=tmp_path / "run", workers=0)
    rows = read(tmp_path / "run").to_pylist()
    assert len(rows) == 4 and all(row["success"] for row in rows)
    assert {tuple(sorted(dict(row["stages"]))) for row in rows} == {("grasp", "lift", "reach")}
    clean = [row for row in rows if row["arm"] == "none"]
    assert len({(row["steps"], row["sim_s"]) for row in clean}) == 1


@real
@pytest.mark.slow
def test_metaworlds_script_solves_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_ENVS", str(SIMULATORS))
    asked: dict[str, Any] = {"name": "x", "tasks": ["own:reach-v3"], "policies": ["expert"], "scenarios": 1}
    asked |= {"world": {"kind": "gymnasium:Meta-World/MT1", "env": "metaworld"}, "record": {"video": "none"}}
    foretell.run(asked, out=tmp_path / "run", workers=0)
    assert [row["success"] for row in read(tmp_path / "run").to_pylist()] == [True]
