"""Probes: a learned policy with one mistake in its conventions gets the code of that mistake, and none without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import cli

from foretell.checks.mistakes import Misheard, flipped
from foretell.checks.probes import CODES, probe
from foretell.checks.report import Report
from foretell.policies.make import bind, make_policy
from foretell.policy import Policy, PolicySpec
from foretell.spec import Stream
from foretell.tasks.make import make_task
from foretell.world_file import make_world


@pytest.fixture(scope="module")
def lift() -> Any:
    made = make_world("mujoco", make_task("lift"), slots=6, threads=1)
    yield made
    made.close()


def probed(world: Any, policy: Any) -> Report:
    report = Report("policy")
    probe(report, bind(policy, world, "policy"), world)
    return report


def codes(report: Report) -> list[str]:
    return [str(finding.code) for finding in report.findings if not finding.passed]


def change(at: Any, by: Callable[[np.ndarray], Any]) -> Any:
    def changed(actions: np.ndarray, action: Any) -> np.ndarray:
        actions = actions.copy()
        actions[..., at] = by(actions[..., at])
        return actions

    return changed


MISTAKES: dict[str, tuple[Any, str, str]] = {
    "gripper": (flipped, "gripper-sign", "the gripper opens when it should close"),
    "gripper 0 to 1": (change(6, lambda a: 0.5 * (a + 1)), "gripper-range", "stays between 0"),
    "z": (change(2, lambda a: -a), "axis-sign", "moves the other way along z"),
    "frame": (change([0, 1], lambda a: a[..., ::-1]), "frame", "y for x, x for y, z for z"),
    "metres": (change(slice(0, 3), lambda a: 0.05 * a), "units", "look like metres"),
    "millimetres": (change(slice(0, 3), lambda a: 50.0 * a), "units", "look like millimetres"),
    "degrees": (change(slice(3, 6), lambda a: 28.6 * a), "units", "look like degrees"),
    "yaw first": (change([3, 4, 5], lambda a: a[..., ::-1]), "rotation-format", "turns about x where the expert"),
    "turns": (change(slice(3, 6), lambda a: -a), "rotation-sign", "turns the other way"),
    "not undone": (
        change(slice(0, 3), lambda a: (a - [0.0, 0.0, 0.1]) / [0.155, 0.066, 0.25]),
        "normalisation",
        "spread near 1",
    ),
    "constant": (lambda a, action: 0.0 * a + 0.1, "output-constant", "are the same"),
    "saturated": (change(slice(0, 6), np.sign), "output-saturated", "at an end of their range"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_has_its_code(lift: Any, name: str) -> None:
    mistake, code, words = MISTAKES[name]
    report = probed(lift, Misheard(make_policy("zoo:bc"), mistake))
    assert code in codes(report) and code in CODES
    finding = next(f for f in report.findings if f.code == code)
    assert words in finding.detail
    if code not in ("output-constant", "output-saturated"):
        assert codes(report) == [code]


@pytest.mark.parametrize("policy", ["expert", "noisy-expert", "zoo:bc", "zoo:dp"])
def test_policies_without_a_mistake_have_none(lift: Any, policy: str) -> None:
    assert codes(probed(lift, make_policy(policy))) == []


def test_of_a_random_policy_nothing_is_claimed(lift: Any) -> None:
    report = probed(lift, make_policy("random"))
    assert codes(report) == [] and "too unlike to tell" in report["translation"].detail


class Blind(Policy):
    """Reads a picture and a number, and does something by the clock."""

    def __init__(self, rate: float = 20.0):
        reads = {"front/rgb": Stream((24, 32, 3)), "panda/gripper": Stream((1,))}
        self.spec = PolicySpec(reads=reads, action_rate=rate, batch=None)

    def act(self, slots: Any, observations: Any) -> Any:
        actions = np.zeros((len(slots), 7))
        actions[:, 2] = 0.5 * np.sin(10 * observations["time"])
        return actions


@pytest.mark.gl
def test_what_is_read_and_ignored_is_named(lift: Any) -> None:
    report = probed(lift, Blind(rate=50.0))
    assert {"image-ignored", "state-ignored", "rate"} <= set(codes(report))
    assert "this task has only one" in report["instruction"].detail


def test_the_command_prints_codes(tmp_path: Path) -> None:
    adapted = "from foretell.checks.mistakes import Misheard, flipped\nfrom foretell.policies.make import make_policy\n"
    adapted += "def Wrong():\n    return Misheard(make_policy('zoo:bc'), flipped)\n"
    (tmp_path / "wrong.py").write_text(adapted)
    asked = ("check", "policy", f"{tmp_path / 'wrong.py'}:Wrong", "--probes")
    text = cli(*asked, cwd=tmp_path, code=1).stdout
    assert "the gripper opens when it should close" in text and "[code: gripper-sign]" in text
    table = json.loads(cli(*asked, "--json", cwd=tmp_path, code=1).stdout)
    assert "gripper-sign" in [finding["code"] for finding in table["findings"]]


def test_a_policy_elsewhere_is_probed_with_its_options(tmp_path: Path) -> None:
    """As a study writes it; what is wrong with the writing is said."""
    own = Path(__file__).parent / "bridges" / "own_policy.py"
    entry = f"{{use: 'python:{own}:Counter', fault: none}}"
    report = json.loads(cli("check", "policy", entry, "--json", cwd=tmp_path, code=1).stdout)
    assert {"situations", "output", "rate", "numbers", "instruction"} <= {f["name"] for f in report["findings"]}
    wrong = cli("check", "policy", "{preset: libero}", cwd=tmp_path, code=2)
    assert "should look like {use: ws://127.0.0.1:8000, preset: libero}" in wrong.stderr
