"""Our policies behind openpi's protocol: a study over the wire has the rows of a study without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import foretell
from foretell.policies.make import make_policy
from foretell.serving import ServedPolicy, serve_policy

pytest.importorskip("msgpack")
pytest.importorskip("websockets")


@contextmanager
def served(policy: str = "zoo:bc", task: str = "lift", **more: Any) -> Iterator[ServedPolicy]:
    there, stop, got = threading.Event(), threading.Event(), []

    def notify(about: ServedPolicy) -> None:
        got.append(about)
        there.set()

    thread = threading.Thread(
        target=serve_policy, args=(policy, task), kwargs={"port": 0, "notify": notify, "stop": stop, **more}
    )
    thread.start()
    try:
        assert there.wait(60)
        yield got[0]
    finally:
        stop.set()
        thread.join(10)


def rows(path: Path) -> list[dict[str, Any]]:
    other = ("episode", "study", "policy", "policy_hash", "policy_options")
    found = foretell.read(path).to_pylist()
    return sorted(({k: v for k, v in row.items() if "wall" not in k and k not in other} for row in found), key=str)


@pytest.mark.parametrize("policy", ["zoo:bc", "zoo:dp", "noisy-expert"])
def test_rows_over_the_wire_are_the_rows_at_home(tmp_path: Path, policy: str) -> None:
    """Policies that draw (dp, noisy-expert) too: episodes and seeds go over the wire."""
    study = {
        "name": "home",
        "tasks": [{"use": "lift", "time_limit": 2.0}],
        "policies": {"p": {"use": policy}},
        "scenarios": 3,
    }
    foretell.run(study, out=tmp_path / "home", workers=0)
    with served(policy) as about:
        away = {**study, "policies": {"p": {"use": about.url}}}
        foretell.run(away, out=tmp_path / "away", workers=0)
    assert rows(tmp_path / "home") == rows(tmp_path / "away")


def test_it_is_reachable_from_this_machine_only_and_says_so() -> None:
    with served() as about:
        assert about.url.startswith("ws://127.0.0.1:")
        health = urllib.request.urlopen(about.url.replace("ws:", "http:") + "/healthz", timeout=5)
        assert health.read() == b"OK\n"
        assert "It reads" in about.text() and "Ctrl-C" in about.text()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({}, "the question has no"),
        ({"prompt": 3}, "the question has no"),
        ({"all": np.zeros(3)}, "the question has no"),
    ],
)
def test_a_wrong_question_is_answered_by_a_text_and_the_next_client_is_served(
    question: dict[str, Any], words: str
) -> None:
    with served() as about:
        policy = make_policy(about.url)
        policy.channel.open()
        with pytest.raises(foretell.ForetellError, match=words):
            policy.channel.ask(question)
        reads = {name: np.zeros(shape) for name, shape in about.reads.items()}
        assert policy.channel.ask({**reads, "prompt": "lift"})["actions"].shape == (about.chunk, 7)
        wrong = {name: np.zeros((2, 2)) for name in about.reads}
        with pytest.raises(foretell.ForetellError, match=r"has shape \(2, 2\), it should be"):
            policy.channel.ask(wrong)
        with pytest.raises(foretell.ForetellError, match="type <U1"):
            policy.channel.ask({name: np.full(shape, "a") for name, shape in about.reads.items()})
        policy.close()


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(foretell.UsageError, match="port is 70000"):
        serve_policy("zoo:bc", "lift", port=70000)
    with served() as about, pytest.raises(foretell.UsageError, match=r"cannot serve at 127\.0\.0\.1"):
        serve_policy("zoo:bc", "lift", port=int(about.url.rpartition(":")[2]))


def test_the_command_serves_until_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "foretell", "serve-policy", "zoo:bc", "--task", "lift", "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert process.stdout is not None
        about = json.loads(process.stdout.readline())
        assert about["url"].startswith("ws://127.0.0.1:") and about["policy"] == "zoo:bc"
        process.send_signal(2)
        assert process.wait(20) == 0
    finally:
        process.kill()


OPENPI = os.environ.get("FORETELL_OPENPI", "")


@pytest.mark.skipif(not OPENPI, reason="FORETELL_OPENPI names no Python with openpi-client (docs/bridges.md)")
def test_openpis_own_client_is_served() -> None:
    with served() as about:
        script = Path(__file__).parents[1] / "openpi_client_side.py"
        command = [OPENPI, script, about.url, json.dumps(about.reads)]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60)
        answer = json.loads(said.stdout)
        policy = make_policy(about.url)
        policy.channel.open()
        ours = policy.channel.ask({**{n: np.full(s, 0.1) for n, s in about.reads.items()}, "prompt": "lift the cube"})
        policy.close()
    assert answer["shape"] == [about.chunk, 7] and "the question has no" in answer["error"]
    np.testing.assert_allclose(answer["first"], ours["actions"][0])


@pytest.mark.skipif(not OPENPI, reason="FORETELL_OPENPI names no Python with openpi-client (docs/bridges.md)")
def test_a_server_with_openpis_own_packer_is_asked(tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "openpi_server_side.py"
    process = subprocess.Popen([OPENPI, script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = f"ws://127.0.0.1:{int(process.stdout.readline())}"
        action = [{"meaning": "translation", "size": 3}, {"meaning": "rotation", "size": 3}, {"meaning": "gripper"}]
        policy = {
            "use": address,
            "observation": {"observation/state": ["panda/ee_pos"], "prompt": "instruction"},
            "action": action,
            "action_rate": 20,
            "chunk": 10,
        }
        study = {
            "name": "away",
            "tasks": [{"use": "lift", "time_limit": 1.0}],
            "policies": {"p": policy},
            "scenarios": 1,
        }
        foretell.run({**study, "record": {"steps": "all"}}, out=tmp_path / "run", workers=0)
    finally:
        process.kill()
        process.wait()
    (row,) = foretell.read(tmp_path / "run").to_pylist()
    assert row["blame"] is None and row["steps"] == 20
    (steps,) = (tmp_path / "run/steps").glob("*.parquet")
    table = pq.read_table(steps).to_pylist()
    assert table[1]["action"][2] > 0.1 and table[1]["action"][3:] == [0.0] * 4  # the height of the hand came back
