"""A model server of vla-eval's own, in its own environment, as a policy; and foretell's tasks as its benchmark."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import foretell
from foretell.errors import ConventionError, LinkError
from foretell.policies.make import bind, make_policy
from foretell.tasks.make import make_task
from foretell.world_file import make_world

pytest.importorskip("msgpack")
pytest.importorskip("websockets")
from policy_server import serving

VLA_EVAL = os.environ.get("FORETELL_VLA_EVAL", "")
needs_it = pytest.mark.skipif(not VLA_EVAL, reason="FORETELL_VLA_EVAL names no Python with vla-eval (docs/bridges.md)")
SIDES = Path(__file__).parents[1]
OPTIONS: dict[str, Any] = {
    "observation": {"states": ["panda/ee_pos"], "task_description": "instruction"},
    "chunk": 4,
    "timeout": 3,
    "patience": 0.2,
}
OPENING = [
    {"meaning": "translation", "size": 3},
    {"meaning": "rotation", "size": 3},
    {"meaning": "gripper", "grips": "opening"},
]
FAR = {"states": [{"stream": "panda/ee_pos", "plus": 10.0}], "task_description": "instruction"}


@contextmanager
def model_server(gripper: str = "positive") -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([VLA_EVAL, SIDES / "vla_eval_server_side.py", str(port), gripper])
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        yield f"vla-eval://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


def study(address: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "vla",
        "tasks": [{"use": "lift", "time_limit": 1.0}],
        "policies": {"e": {"use": address, **OPTIONS, **more}},
        "scenarios": 2,
        "record": {"steps": "all"},
    }


@pytest.fixture(scope="module")
def world() -> Any:
    made = make_world("mujoco", make_task("lift"), slots=1, threads=1)
    yield made
    made.close()


@needs_it
def test_a_study_asks_a_model_server(tmp_path: Path, world: Any) -> None:
    """Its state comes back as actions, and it counts the questions of each episode from 0."""
    with model_server() as (address, process):
        foretell.run(study(address), out=tmp_path / "run", workers=0, slots=2)
        with pytest.raises(ConventionError, match=r"grips is 'opening' in the study, and the server says 'closing'"):
            bind(make_policy(address, {**OPTIONS, "action": OPENING}), world, "e")
        with pytest.raises(
            foretell.UsageError, match="the server reports an error: observation_failed: ValueError: a s"
        ):
            bind(make_policy(address, {**OPTIONS, "observation": FAR}), world, "e")
        policy = bind(make_policy(address, OPTIONS), world, "e")
        process.kill()
        process.wait()
        with pytest.raises(LinkError, match="no policy server answers"):
            policy.policy.try_out({"panda/ee_pos": np.zeros((1, 3)), "instruction": ["lift"], "time": np.zeros(1)})
    rows = foretell.read(tmp_path / "run").to_pylist()
    assert [(row["blame"], row["steps"]) for row in rows] == [(None, 20)] * 2
    for file in (tmp_path / "run/steps").glob("*.parquet"):
        actions = [step["action"] for step in pq.read_table(file).to_pylist()]
        assert actions[1][2] > 0.1 and actions[1][3:6] == [0.0] * 3
        assert (actions[1][6], actions[5][6]) == (0.0, 1.0)


@needs_it
def test_what_a_server_declares_is_compared_before_the_first_episode(world: Any) -> None:
    with model_server("negative") as (address, _), pytest.raises(ConventionError) as error:
        bind(make_policy(address, OPTIONS), world, "e")
    assert error.value.code == "gripper-sign"


def test_a_server_of_another_protocol_is_said_to_be_one(world: Any) -> None:
    with serving() as (address, _, _), pytest.raises(foretell.UsageError, match="is no model server of vla-eval"):
        bind(make_policy(address.replace("ws:", "vla-eval:"), OPTIONS), world, "e")
    with pytest.raises(foretell.UsageError, match="no policy server answers at ws://127"):
        bind(make_policy("vla-eval://127.0.0.1:9", OPTIONS), world, "e")


def test_the_benchmark_says_where_it_runs() -> None:
    from foretell.serving.vla_benchmark import ForetellBenchmark

    with pytest.raises(foretell.UsageError, match="this benchmark runs inside vla-eval"):
        ForetellBenchmark()


@needs_it
def test_vla_eval_runs_our_tasks(tmp_path: Path) -> None:
    """Its own runner, against a scripted pick behind its own model server."""
    source = Path(foretell.__file__).parents[1]
    if subprocess.run([VLA_EVAL, "-c", "import mujoco, gymnasium, pydantic"], capture_output=True).returncode:
        pytest.skip("the environment with vla-eval lacks what foretell needs")
    command = [VLA_EVAL, SIDES / "vla_eval_benchmark_side.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(source)})
    assert done.returncode == 0, done.stderr[-2000:]
    (result,) = json.loads(done.stdout.splitlines()[-1])
    (task,) = result["tasks"]
    scenarios = [make_task("lift").scenario(seed).id for seed in range(3)]
    assert [episode["metrics"]["scenario"] for episode in task["episodes"]] == scenarios
    assert task["mean_success"] == 1.0
