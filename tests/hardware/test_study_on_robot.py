"""A whole study on a robot, with a person at a real terminal: scenes, stops, signals, failures, and going on later."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_robots import JOINTS, arm_file, sends
from keyboard import Keyboard

import foretell

POLICY = '''
import time

import numpy as np

from foretell import PolicySpec, Stream


class Nudge:
    """Moves the hand up and down, as far as `size` says; it thinks for `nap` seconds about one action."""

    def __init__(self, size: float = 0.01, nap: float = 0.0, at: int = 4):
        self.size, self.nap, self.at = size, nap, at

    def bind(self, task, action):
        reads = {"widowx/joint_pos": Stream(), "third/rgb": Stream((24, 32, 3))}
        self.spec = PolicySpec(reads=reads, action=action, action_rate=task.action_rate, batch=None)

    def reset(self, slots, instructions, seeds):
        self.count = 0

    def act(self, slots, observations):
        self.count += 1
        time.sleep(self.nap if self.count == self.at else 0.0)
        action = np.zeros((1, 7))
        action[:, 2], action[:, 6] = self.size * (-1) ** (self.count // 4), 1.0
        return action
'''
STUDY: dict[str, Any] = {
    "name": "real",
    "world": "arm.yaml",
    "tasks": [{"use": "widowx_carrot_on_plate", "time_limit": 1.6}],
    "policies": {"nudge": "nudge.py:Nudge"},
    "scenarios": 2,
    "clocks": ["realtime"],
    "record": {"video": 2},  # as in simulation; a robot's films are kept anyway
}
WITHIN_S = 0.4
"""From a key or a signal to the last send, on a busy machine."""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "nudge.py").write_text(POLICY)
    arm_file(tmp_path, options={"log": "sends.jsonl", "at": [0.1, 0.0, 0.2, 0.0, 1.3, 0.0]}, approach=1.0)
    write(tmp_path)
    return tmp_path


BUSY = ("the machine reached a speed", "this program gave no target", "the robot was silent")
"""What a machine that does too much else makes of a trial."""


def steadily(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test again where the machine was too busy for real time."""

    @functools.wraps(test)
    def run(lab: Path, **more: Any) -> None:
        for _ in range(4):
            try:
                return test(lab, **more)
            except AssertionError as error:
                runs = [run for run in (lab / "runs").glob("*") if (run / "study.yaml").exists()]
                errors = [str(row["error"]) for run in runs for row in foretell.read(run).to_pylist()]
                if not any(word in text for word in BUSY for text in [*errors, str(error)]):
                    raise
            shutil.rmtree(lab / "runs")
            (lab / "sends.jsonl").unlink(missing_ok=True)
        pytest.skip("this machine is too busy for the clock `realtime`")

    return run


def write(lab: Path, **changes: Any) -> None:
    (lab / "study.yaml").write_text(yaml.safe_dump({**STUDY, **changes}))


def start(lab: Path, *more: str) -> Keyboard:
    return Keyboard("-m", "foretell", "run", "study.yaml", *more, folder=lab, patience=90.0)


def set_scene(keyboard: Keyboard) -> None:
    keyboard.see("Set this scene.")
    keyboard.press("\n")
    keyboard.see("Is the way clear?")
    keyboard.press("y")


def judge(keyboard: Keyboard, answer: str) -> None:
    keyboard.see("Did the robot do it?")
    keyboard.press(answer)
    if answer == "n":
        keyboard.see("How far did it get?")
        keyboard.press("1")
    keyboard.see("What happened?")
    keyboard.press("\n")
    keyboard.see("Note: none")
    keyboard.press("\n")


def rows(lab: Path) -> list[dict[str, Any]]:
    return foretell.read(lab / "runs/real").to_pylist()


def ended_with(keyboard: Keyboard) -> int:
    """The exit code, whether or not the terminal is still there."""
    if keyboard.fd >= 0:
        return keyboard.end()
    _, status = os.waitpid(keyboard.pid, 0)
    keyboard.pid = 0
    return os.waitstatus_to_exitcode(status)


def moving(lab: Path, since: float, count: int = 20) -> None:
    """Wait until the robot has been sent so much."""
    until = time.monotonic() + 30
    while sum(send["at"] > since for send in sends(lab / "sends.jsonl")) < count:
        assert time.monotonic() < until, "the robot does not move"
        time.sleep(0.01)


@steadily
def test_a_study_from_the_first_scene_to_the_rows(lab: Path) -> None:
    with start(lab) as keyboard:
        for answer in "yn":
            set_scene(keyboard)
            judge(keyboard, answer)
        keyboard.see("everything is in")
        assert keyboard.end() == 0, keyboard.screen
    assert "runs in real time" in keyboard.screen.split("Set this scene.")[0]
    told = {row["success"]: row for row in rows(lab)}
    assert set(told) == {True, False}
    for row in told.values():
        assert (row["judge"], row["real"], row["end"], row["blame"]) == ("person", True, "time_limit", None)
        assert dict(row["metrics"])["sends"] > 40
        name = row["episode"]
        for path in (f"steps/{name}.parquet", f"frames/{name}-third.mp4", f"frames/{name}-start-third.png"):
            assert (lab / "runs/real" / path).stat().st_size > 100, path
    assert dict(told[False]["stages"]).keys() == {"grasp"}
    log = sends(lab / "sends.jsonl")
    assert {key for send in log for key in send["sent"]} == {f"{joint}.pos" for joint in (*JOINTS, "gripper")}
    with start(lab) as keyboard:  # nobody is asked again
        keyboard.see("2 were there already")
        assert keyboard.end() == 0 and "Set this scene" not in keyboard.screen
    assert len(sends(lab / "sends.jsonl")) == len(log)


@steadily
def test_a_key_stops_the_robot_and_the_trial_is_judged(lab: Path) -> None:
    write(lab, scenarios=1, tasks=[{"use": "widowx_carrot_on_plate", "time_limit": 20}])
    with start(lab) as keyboard:
        set_scene(keyboard)
        moving(lab, time.monotonic(), 60)
        keyboard.press(" ")
        pressed = time.monotonic()
        keyboard.see("The trial has ended after")
        judge(keyboard, "n")
        keyboard.see("everything is in")
        assert keyboard.end() == 0
    log = sends(lab / "sends.jsonl")
    assert log[-1]["at"] - pressed < WITHIN_S
    assert all(abs(log[-1]["sent"][key] - log[-1]["is"][key]) < 3.0 for key in log[-1]["sent"])  # it was held
    (row,) = rows(lab)
    assert (row["end"], row["success"], row["blame"]) == ("stopped", False, None) and row["sim_s"] < 15


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "closed terminal"])
@pytest.mark.slow
@steadily
def test_whatever_ends_the_program_stops_the_robot_first_and_no_trial_is_lost(lab: Path, how: str) -> None:
    write(lab, scenarios=1, tasks=[{"use": "widowx_carrot_on_plate", "time_limit": 20}])
    with start(lab) as keyboard:
        set_scene(keyboard)
        moving(lab, time.monotonic(), 60)
        ended = time.monotonic()
        if how == "Ctrl-C":
            keyboard.press("\x03")
        elif how == "SIGTERM":
            keyboard.kill(signal.SIGTERM)
        else:
            keyboard.hang_up()
        assert ended_with(keyboard) != 0
    log = sends(lab / "sends.jsonl")
    assert log[-1]["at"] - ended < WITHIN_S
    assert all(abs(log[-1]["sent"][key] - log[-1]["is"][key]) < 3.0 for key in log[-1]["sent"])
    assert not rows(lab)
    if how == "SIGTERM":  # the trial that was cut off is run again, once
        write(lab, scenarios=1, tasks=[{"use": "widowx_carrot_on_plate", "time_limit": 20}])
        with start(lab) as keyboard:
            set_scene(keyboard)
            moving(lab, time.monotonic(), 60)
            keyboard.press("y")
            judge(keyboard, "y")
            keyboard.see("1 episode run")
            assert keyboard.end() == 0
        assert [row["success"] for row in rows(lab)] == [True]


@pytest.mark.slow
@steadily
def test_a_silent_policy_fails_and_a_lost_link_is_run_again(lab: Path) -> None:
    write(lab, policies={"slow": {"use": "nudge.py:Nudge", "nap": 1e4}})
    arm_file(lab, options={"log": "sends.jsonl"}, watchdog={"policy": 0.5})
    with start(lab) as keyboard:
        for _ in range(2):  # its silence in one trial does not count in the next
            set_scene(keyboard)
            judge(keyboard, "y")  # the policy failed all the same
        keyboard.see("everything is in")
        assert keyboard.end() == 1  # every trial of a policy ended in an error
        assert "Warning" not in keyboard.screen
    for row in rows(lab):
        assert (row["end"], row["blame"], row["success"]) == ("error", "policy", False)
        assert "watchdog.policy" in row["error"] and row["sim_s"] > 0.5

    write(lab, name="cut", scenarios=1)
    arm_file(lab, options={"lost_after": 40})
    with start(lab) as keyboard:
        set_scene(keyboard)
        keyboard.see("everything is in")
        assert keyboard.end() == 1
    (row,) = foretell.read(lab / "runs/cut").to_pylist()
    assert (row["end"], row["blame"], row["success"]) == ("error", "machine", None) and "the cable is out" in row[
        "error"
    ]
    arm_file(lab)
    with start(lab) as keyboard:
        set_scene(keyboard)
        judge(keyboard, "y")
        assert keyboard.end() == 0
    (row,) = foretell.read(lab / "runs/cut").to_pylist()
    assert row["success"] is True


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        ("sync", "use the clock `realtime`"),
        ({"realtime": {"speed": 2}}, "is reality: use speed 1"),
        ({"realtime": {"hold": "repeat"}}, "would move on while the policy is silent"),
    ],
)
def test_other_clocks_are_refused_before_anything_moves(lab: Path, clock: Any, words: str) -> None:
    from foretell.study.policy_entry import PolicyEntry
    from foretell.study.session import Session

    write(lab)
    with pytest.raises(foretell.UsageError, match=words):
        Session(
            task="widowx_carrot_on_plate",
            controller=None,
            world=str(lab / "arm.yaml"),
            policies={"nudge": PolicyEntry(use=f"{lab}/nudge.py:Nudge")},
            slots=1,
            threads=1,
            clock=foretell.clock.parse(clock),
        )
    assert not sends(lab / "sends.jsonl")
