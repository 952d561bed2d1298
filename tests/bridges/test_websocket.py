"""A policy behind a websocket: what is sent, what comes back, and every fault that a server can have."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import foretell
from foretell.bridges.sources import read_sources
from foretell.policies.make import bind, make_policy
from foretell.tasks.make import make_task
from foretell.world_file import make_world

pytest.importorskip("msgpack")
pytest.importorskip("websockets")
from policy_server import infer, later, serving

LIFT: dict[str, Any] = {
    "observation": {
        "observation/state": ["panda/ee_pos", {"stream": "panda/ee_quat", "as": "axis_angle"}],
        "observation/gripper": {"stream": "panda/gripper", "times": [0.5, -0.5]},
        "prompt": "instruction",
    },
    "action": [
        {"meaning": "translation", "size": 3, "scale": 0.05},
        {"meaning": "rotation", "size": 3, "rotation": "axis_angle"},
        {"meaning": "gripper", "grips": "closing"},
    ],
    "action_rate": 20,
    "chunk": 5,
}


@pytest.fixture(scope="module")
def world() -> Any:
    made = make_world("mujoco", make_task("lift"), slots=2, threads=1)
    yield made
    made.close()


def study(address: str, **more: Any) -> dict[str, Any]:
    policy = {"use": address, "timeout": 3, "patience": 0.2, **LIFT, **more}
    return {
        "name": "served",
        "tasks": [{"use": "lift", "time_limit": 1.0}],
        "policies": {"remote": policy},
        "scenarios": 2,
    }


def rows(path: Path) -> list[dict[str, Any]]:
    return foretell.read(path).to_pylist()


def test_a_study_asks_the_server(tmp_path: Path) -> None:
    with serving() as (address, asked, _):
        foretell.run(study(address), out=tmp_path / "run", workers=0)
    question = asked[-1]
    assert set(question) == {"observation/state", "observation/gripper", "prompt"}
    assert question["observation/state"].shape == (6,) and question["observation/state"].dtype == np.float32
    left, right = question["observation/gripper"]
    assert left == -right > 0.01  # the two fingers of an open hand
    assert question["prompt"] == "lift the cube"
    assert [row["blame"] for row in rows(tmp_path / "run")] == [None, None]
    assert len(asked) == 2 + 2 * 4  # a probe each time it is opened, then one question for five actions


@pytest.mark.gl
def test_pictures_have_the_servers_size_and_order(world: Any) -> None:
    with serving() as (address, asked, _):
        policy = make_policy(address, {"preset": "libero"})
        bound = bind(policy, world, "remote")
        assert bound.spec.chunk == 10 and bound.spec.executes == 5 and bound.spec.action_rate == 20
        world.reset(np.array([0], np.int32), [make_task("lift").scenario(0)], [0])
        seen = world.observe(np.array([0], np.int32), dict(bound.spec.reads))
        bound.act(np.array([0], np.int32), seen)
        picture = asked[-1]["observation/image"]
        policy.close()
    assert picture.shape == (224, 224, 3) and picture.dtype == np.uint8
    assert not picture[:28].any() and not picture[-28:].any() and picture[40:180].any()  # 4:3 in the middle of black
    assert asked[-1]["observation/state"].shape == (8,)
    seen_there = read_sources({"k": {"stream": "front/rgb", "size": [224, 224]}})["k"].value(seen, 0)
    np.testing.assert_array_equal(seen_there[:, ::-1], picture)  # LIBERO exchanges left and right


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give `preset` (libero, droid, aloha, bridge), or `observation`, `action`, `action_rate`"),
        ({"preset": "libbero"}, "did you mean 'libero'"),
        ({"preset": "droid"}, "has dimensions joint velocity 7, gripper 1"),
        ({"preset": "bridge"}, "scale is 1.0, but the controller 'ee_delta' takes 0.05"),
        ({**LIFT, "observation": {"a": {"stream": "panda/ee_quat", "as": "eulr_xyz"}}}, "did you mean 'euler_xyz'"),
        ({**LIFT, "observation": {"a": "panda/gripperr"}}, "reads 'panda/gripperr'"),
        (
            {**LIFT, "observation": {"a": {"stream": "panda/ee_pos", "as": "axis_angle"}}},
            "`as: axis_angle` makes no sense",
        ),
        ({**LIFT, "observation": {"a": {"stream": "front/rgb", "size": [0, 4]}}}, "it should be [height, width]"),
        ({**LIFT, "action": [{"meaning": "gripper", "grip": 1}]}, "did you mean 'grips'"),
        ({**LIFT, "chunk": 11}, "have shape (10, 7); 11 or more actions of 7 numbers are expected"),
    ],
)
def test_a_mismatch_is_an_error_before_the_first_episode(world: Any, options: dict[str, Any], words: str) -> None:
    with serving() as (address, _, _), pytest.raises(foretell.UsageError) as error:
        bind(make_policy(address, {"timeout": 3, **options}), world, "remote")
    assert words in str(error.value)


def test_no_server_is_an_error_before_the_first_episode(tmp_path: Path) -> None:
    with pytest.raises(foretell.UsageError, match=r"no policy server answers at ws://127\.0\.0\.1:9"):
        foretell.run(study("ws://127.0.0.1:9"), out=tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ("Traceback\nValueError: no weights", "sent a text instead of metadata: ValueError: no weights"),
        (b"\xc1", "cannot be read"),
    ],
)
def test_a_server_that_begins_wrongly_is_refused(world: Any, metadata: Any, words: str) -> None:
    with serving(metadata=metadata) as (address, _, _), pytest.raises(foretell.UsageError, match=words):
        bind(make_policy(address, {"timeout": 2, "patience": 0.1, **LIFT}), world, "remote")


def test_a_server_that_sends_nothing_first_is_no_server_of_this_protocol(world: Any) -> None:
    with (
        serving(first=False) as (address, _, _),
        pytest.raises(foretell.UsageError, match=r"sent no metadata within 0\.3 s"),
    ):
        bind(make_policy(address, {"timeout": 0.3, "patience": 0.1, **LIFT}), world, "remote")


@pytest.mark.parametrize(
    ("answer", "blame", "words"),
    [
        (
            "Traceback\nRuntimeError: out of memory",
            "policy",
            "the server reports an error: RuntimeError: out of memory",
        ),
        (b"\xc1\xc1", "policy", "cannot be read"),
        ({"action": np.zeros((10, 7))}, "policy", "has no `actions`; it has action"),
        ({"actions": np.zeros((10, 8))}, "policy", "have shape (10, 8); 5 or more actions of 7 numbers"),
        ({"actions": np.full((10, 7), np.nan)}, "policy", "not finite"),
        ({"actions": "none"}, "policy", "no array of numbers"),
        (bytes((64 << 20) + 1), "machine", "broke"),
        (None, "machine", "broke"),
    ],
    ids=["text", "garbage", "no actions", "shape", "nan", "words", "huge", "closed"],
)
def test_a_wrong_answer_ends_the_episode_with_the_right_blame(
    tmp_path: Path, answer: Any, blame: str, words: str
) -> None:
    count = 0

    def sometimes(question: dict[str, Any]) -> Any:
        nonlocal count
        count += 1
        return infer(question) if count < 3 else answer

    with serving(sometimes) as (address, _, _):
        foretell.run(study(address), out=tmp_path / "run", workers=0, limit=1)
    (row,) = rows(tmp_path / "run")
    assert (row["end"], row["blame"]) == ("error", blame), row["error"]
    assert words in row["error"]
    assert row["success"] is (False if blame == "policy" else None)


def test_a_slow_server_is_the_machines_and_runs_again(tmp_path: Path) -> None:
    count = 0

    def slow(question: dict[str, Any]) -> Any:
        nonlocal count
        count += 1
        return later(1.0)(question) if count == 3 else infer(question)

    with serving(slow) as (address, _, _):
        wanted = study(address, timeout=0.4)
        foretell.run(wanted, out=tmp_path / "run", workers=0)
        first = {row["scenario"]: row["blame"] for row in rows(tmp_path / "run")}
        assert sorted(first.values(), key=str) == [None, "machine"]
        foretell.run(wanted, out=tmp_path / "run", workers=0)
    assert [row["blame"] for row in rows(tmp_path / "run")] == [None, None]


def test_a_server_that_restarts_is_waited_for(tmp_path: Path) -> None:
    """Nothing is lost: the question is asked again."""
    with serving() as (address, asked, server):
        port = int(address.rpartition(":")[2])
        done = threading.Event()

        def restart() -> None:
            while len(asked) < 4:
                time.sleep(0.005)
            server.shutdown()
            time.sleep(0.3)
            with serving(port=port) as (_, _, _):
                done.wait(30)

        thread = threading.Thread(target=restart)
        thread.start()
        foretell.run(
            study(address, patience=20, action=LIFT["action"]) | {"scenarios": 6}, out=tmp_path / "run", workers=0
        )
        done.set()
        thread.join()
    assert [row["blame"] for row in rows(tmp_path / "run")] == [None] * 6


def test_workers_and_this_process_give_the_same_rows(tmp_path: Path) -> None:
    with serving() as (address, _, _):
        (tmp_path / "study.yaml").write_text(yaml.safe_dump(study(address)))
        foretell.run(tmp_path / "study.yaml", out=tmp_path / "a", workers=0)
        foretell.run(tmp_path / "study.yaml", out=tmp_path / "b", workers=1, slots=2)
    same = [[{k: v for k, v in row.items() if "wall" not in k} for row in rows(tmp_path / name)] for name in "ab"]
    assert sorted(same[0], key=str) == sorted(same[1], key=str)


def test_another_version_is_another_policy(world: Any) -> None:
    with serving(metadata={"model": "pi0"}) as (address, _, _):
        hashes = {
            bind(make_policy(address, {**LIFT, **more}), world, "remote").hash
            for more in ({}, {"version": "a"}, {"version": "b"})
        }
        again = bind(make_policy(address, {**LIFT, "version": "a"}), world, "remote").hash
    assert len(hashes) == 3 and again in hashes


def test_the_key_goes_into_the_header_and_not_into_the_study(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as (address, _, _):
        with pytest.raises(foretell.UsageError, match="'OPENPI_KEY' is not set"):
            make_policy(address, {**LIFT, "key": "OPENPI_KEY"})
        monkeypatch.setenv("OPENPI_KEY", "secret")
        policy = make_policy(address, {**LIFT, "key": "OPENPI_KEY"})
        policy.channel.open()
        assert policy.channel.socket.request.headers["Authorization"] == "Api-Key secret"
        policy.close()
