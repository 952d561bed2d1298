"""Policies in a process and an environment of their own: what they need, and every fault they can have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.errors import ConventionError
from foretell.policies.make import bind, make_policy
from foretell.tasks.make import make_task
from foretell.world_file import make_world

OWN = f"python:{Path(__file__).with_name('own_policy.py')}"


@pytest.fixture(scope="module")
def world() -> Any:
    made = make_world("mujoco", make_task("lift"), slots=2, threads=1)
    yield made
    made.close()


def study(policy: Any, scenarios: int = 2) -> dict[str, Any]:
    return {
        "name": "own",
        "tasks": [{"use": "lift", "time_limit": 0.5}],
        "policies": {"own": policy},
        "scenarios": scenarios,
    }


def rows(path: Path) -> list[dict[str, Any]]:
    return foretell.read(path).to_pylist()


def children() -> set[str]:
    """Policies' processes that this one has started."""
    command = ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return {line for line in lines if "hosts/main.py" in line}


def test_rows_are_those_of_a_policy_at_home(tmp_path: Path) -> None:
    """Whatever the number of slots, and with slots that were used before."""
    more = {"record": {"steps": "all"}}
    for name, slots in (("one", 1), ("three", 3)):
        foretell.run(study(f"{OWN}:Counter", 4) | more, out=tmp_path / name, workers=0, slots=slots)
    same = [[{k: v for k, v in row.items() if "wall" not in k} for row in rows(tmp_path / n)] for n in ("one", "three")]
    assert sorted(same[0], key=str) == sorted(same[1], key=str)
    assert [row["end"] for row in same[0]] == ["time_limit"] * 4


@pytest.mark.parametrize(
    ("fault", "blame", "words"),
    [
        ("raise", "policy", "ValueError: no such gripper"),
        ("shape", "policy", "shape (1, 6)"),
        ("nan", "policy", "not finite"),
        ("object", "policy", "float"),
        ("huge", "policy", "too large"),
        ("kill", "machine", "signal 9"),
        ("hang", "machine", "silent for too long"),
        ("garbage", "machine", "no message"),
    ],
)
def test_a_fault_ends_its_episode_with_the_right_blame(tmp_path: Path, fault: str, blame: str, words: str) -> None:
    """The other episode is whole, and where the machine is to blame the same command runs the lost one again."""
    wanted = study({"use": f"{OWN}:Counter", "fault": fault, "once": str(tmp_path / "done"), "timeout": 3})
    foretell.run(wanted, out=tmp_path / "run", workers=0, slots=1)
    told = {row["scenario"]: (row["blame"], row["error"]) for row in rows(tmp_path / "run")}
    assert sorted(str(b) for b, _ in told.values()) == sorted(["None", blame]), told
    assert words in next(error for _, error in told.values() if error)
    foretell.run(wanted, out=tmp_path / "run", workers=0, slots=1)
    again = [row["blame"] for row in rows(tmp_path / "run")]
    assert sorted(map(str, again)) == (["None", "None"] if blame == "machine" else ["None", "policy"])


@pytest.mark.parametrize(
    ("use", "options", "words"),
    [
        (f"{OWN}:Nothing", {}, "has no class 'Nothing'"),
        (f"{OWN}:Counter", {"faults": 1}, "unexpected keyword argument 'faults'"),
        (f"{OWN}:NoSpec", {}, "`spec` is NoneType, it should be a table such as"),
        (f"{OWN}:Misspelt", {}, "'reeds' is not known; did you mean 'reads'?"),
        (f"{OWN}:Dies", {}, "did not start: the other end closed the link (its process ended with exit code 3)"),
        ("python:own_policy", {}, "should look like python:package.module:Class"),
        (f"{OWN}:Counter", {"env": "/nowhere"}, "env: there is no virtual environment '/nowhere'; make one with"),
        (f"{OWN}:Counter", {"env": "EMPTY"}, "is no virtual environment: there is no"),
        (f"{OWN}:Counter", {"timeout": 0}, "timeout is 0, it must be above 0 s"),
        ("lerobot:/nowhere", {"action": "ee_delta", "action_rate": 20}, "PATH is the folder that LeRobot calls"),
        ("lerobot:/nowhere", {"action": "ee_delta"}, "`action_rate` is missing"),
        ("torchscript:no.pt", {"action": "ee_delta", "action_rate": 20}, "there is no file no.pt"),
    ],
)
def test_what_cannot_be_made_is_an_error_before_the_first_episode(
    world: Any, tmp_path: Path, use: str, options: dict[str, Any], words: str
) -> None:
    options = {key: str(tmp_path) if value == "EMPTY" else value for key, value in options.items()}
    with pytest.raises(foretell.UsageError) as error:
        bind(make_policy(use, options), world, "own")
    assert words in str(error.value)


def test_a_broken_environment_is_said_to_be_one(world: Any, tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(foretell.UsageError, match=f"its process in {python} did not start: .*exit code 1"):
        bind(make_policy(f"{OWN}:Counter", {"env": str(tmp_path)}), world, "own")
    python.chmod(0o644)
    with pytest.raises(foretell.UsageError, match=f"env: {python} cannot be run: "):
        bind(make_policy(f"{OWN}:Counter", {"env": str(tmp_path)}), world, "own")


def test_another_version_on_the_other_side_is_refused(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.hardware.wire.PROTOCOL", 2)
    with pytest.raises(foretell.UsageError, match=r"speaks version 2 of the link and main\.py .* version 1"):
        bind(make_policy(f"{OWN}:Counter"), world, "own")


def test_a_mismatch_of_conventions_has_a_code(world: Any) -> None:
    with pytest.raises(ConventionError) as error:
        bind(make_policy(f"{OWN}:Radians"), world, "own")
    assert error.value.code == "action-size" and str(error.value).endswith("[code: action-size]")


def test_another_file_is_another_policy_and_the_process_ends(world: Any, tmp_path: Path) -> None:
    text = Path(__file__).with_name("own_policy.py").read_text()
    (tmp_path / "mine.py").write_text(text)
    before = children()
    hashes = []
    for extra in ("", "\nGAIN = 2\n", ""):
        (tmp_path / "mine.py").write_text(text + extra)
        policy = make_policy(f"python:{tmp_path / 'mine.py'}:Counter")
        hashes.append(bind(policy, world, "own").hash)
        policy.close()
    assert hashes[0] == hashes[2] != hashes[1]
    assert children() <= before


def test_torchscript_runs_in_a_process_of_its_own(tmp_path: Path, world: Any) -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, state: torch.Tensor, prompt: str) -> torch.Tensor:
            return torch.cat([state[:, :3], torch.zeros(state.shape[0], 4)], dim=1).unsqueeze(1).repeat(1, 4, 1)

    torch.jit.script(Net()).save(str(tmp_path / "net.pt"))
    options = {"action": "ee_delta", "action_rate": 20, "chunk": 4, "observation": {"state": ["panda/ee_pos"]}}
    with pytest.raises(foretell.UsageError, match="observation: 'prompt' is missing"):
        bind(make_policy(f"torchscript:{tmp_path / 'net.pt'}", options), world, "net")
    options["observation"]["prompt"] = "instruction"
    bound = bind(make_policy(f"torchscript:{tmp_path / 'net.pt'}", options), world, "net")
    seen = {"panda/ee_pos": np.array([[0.1, 0.2, 0.3]]), "time": np.zeros(1), "instruction": ["lift"]}
    bound.reset(np.array([0]), ["lift"], [0])
    actions = bound.act(np.array([0]), seen)
    assert actions.shape == (1, 4, 7)
    np.testing.assert_allclose(actions[0, 0, :3], [0.1, 0.2, 0.3], rtol=1e-6)
    assert sys.executable == bound.policy.host.python
