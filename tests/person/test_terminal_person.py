"""A person at a real pseudo-terminal: what is on the screen, what keys do, and the terminal as it was afterwards."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from keyboard import Keyboard

HEAD = """
import json, sys, termios, time
from pathlib import Path
import foretell
from foretell.person import SceneCard, SceneSkipped, TrialCard, make_person
from foretell.tasks.make import make_task

task = make_task("lift")
scenario = task.scenario(0)
person = make_person(Path("run"))
before = termios.tcgetattr(0)
scene = SceneCard(scenario=scenario, task=task, number=7, count=60)
trial = TrialCard(scenario=scenario, task=task, seconds=12.5, end="time_limit")

def end():
    person.close()
    print("restored", termios.tcgetattr(0) == before, flush=True)
"""


@pytest.fixture
def at(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Start a script at a terminal."""
    (tmp_path / "run").mkdir()

    def start(body: str) -> Keyboard:
        (tmp_path / "script.py").write_text(HEAD + body)
        return Keyboard("script.py", folder=tmp_path)

    return start


JUDGE = """
try:
    print("RESULT", json.dumps(person.judge(trial).to_dict()), flush=True)
finally:
    end()
"""


def result(keyboard: Keyboard) -> dict[str, object]:
    keyboard.see("RESULT ")
    return json.loads(keyboard.see("\n"))


def test_a_scene_is_said_in_words_and_waits_for_ready(at) -> None:
    with at("person.set_scene(scene)\nprint('GOES ON', flush=True)\nend()") as keyboard:
        card = keyboard.see("Set this scene.")
        assert "Trial 7 of 60" in card and "lift: " in card and "from the base of panda: " in card
        keyboard.press("y 7")  # none of these says that it is ready
        time.sleep(0.3)
        keyboard.press("\n")
        keyboard.see("While the robot runs: space, s, q or Esc stops it")
        keyboard.see("GOES ON")
        keyboard.see("restored True")
        assert keyboard.end() == 0


def test_success_takes_three_keys(at) -> None:
    with at(JUDGE) as keyboard:
        keyboard.see("The trial has ended after 12.5 s: the time is over.")
        keyboard.see("Did the robot do it?")
        keyboard.press("y")
        keyboard.see("What happened?")
        keyboard.press("\n")
        keyboard.see("Success. Note: none")
        keyboard.press("\n")
        said = result(keyboard)
        assert said["success"] is True and said["events"] == [] and said["note"] is None
        keyboard.see("restored True")


def test_a_failure_has_its_stage_events_and_note_and_every_step_can_be_undone(at) -> None:
    with at(JUDGE) as keyboard:
        keyboard.see("Did the robot do it?")
        keyboard.press("y")
        keyboard.see("What happened?")
        keyboard.press("u")  # it was no success after all
        keyboard.see("Did the robot do it?")
        keyboard.press("n")
        keyboard.see("How far did it get?")
        keyboard.press("2")
        keyboard.see("What happened?")
        keyboard.press("u")
        keyboard.see("How far did it get?")
        keyboard.press("1")
        keyboard.see("What happened?")
        keyboard.press("d")
        keyboard.see("So far: dropped an object")
        keyboard.press("k")
        keyboard.see("knocked an object over")
        keyboard.press("u")
        keyboard.see("So far: dropped an object ")
        keyboard.press("\n")
        keyboard.see("dropped an object. Note: none")
        keyboard.press("t")
        keyboard.see("Note (Enter keeps it, Esc drops it): ")
        keyboard.press("it slippppee\x7f\x7f\x7f\x7f\x7fped; ça va\n")
        keyboard.see('Note: "it slipped; ça va"')
        keyboard.press("t")
        keyboard.see("it slipped")
        keyboard.press(" away\x1b")
        keyboard.see('Note: "it slipped; ça va"')
        keyboard.press("\n")
        said = result(keyboard)
        assert said["success"] is False and len(said["stages"]) == 1
        assert (said["events"], said["note"]) == (["dropped"], "it slipped; ça va")


RUN = """
print("RUNS", flush=True)
try:
    longest = 0.0
    while True:
        began = time.monotonic()
        signal = person.poll()
        longest = max(longest, time.monotonic() - began)
        if signal:
            break
        time.sleep(0.01)
    print("SIGNAL", signal, longest < 0.05, person.heard() > time.monotonic() - 1, flush=True)
finally:
    end()
"""


@pytest.mark.parametrize(
    ("keys", "signal"),
    [
        (" ", "stop"),
        ("s", "stop"),
        ("Q", "stop"),
        ("\x1b", "stop"),
        ("\x1a", "stop"),
        ("\x13 ", "stop"),
        ("y", "success"),
    ],
)
def test_keys_while_the_robot_runs(at, keys: str, signal: str) -> None:
    with at(RUN) as keyboard:
        keyboard.see("RUNS")
        keyboard.press("\x1b[A7")  # an arrow and a digit mean nothing
        time.sleep(0.2)
        keyboard.press(keys)
        keyboard.see(f"SIGNAL {signal} True True")
        keyboard.see("restored True")


def test_what_was_typed_while_the_robot_ran_answers_no_question(at) -> None:
    with at("while person.poll() is None: time.sleep(0.01)\ntime.sleep(0.5)\n" + JUDGE) as keyboard:
        time.sleep(0.5)
        keyboard.press("   y\ny\n\n")
        keyboard.see("Did the robot do it?")
        time.sleep(0.3)
        keyboard.press("n")
        keyboard.see("How far did it get?")
        keyboard.press("\x03")
        keyboard.see("restored True")
        assert keyboard.end() != 0 and "KeyboardInterrupt" in keyboard.screen


def test_closing_the_terminal_is_a_stop(at, tmp_path: Path) -> None:
    body = """
try:
    while (signal := person.poll()) is None:
        time.sleep(0.01)
    Path("said").write_text(signal)
except KeyboardInterrupt:
    Path("said").write_text("interrupt")
finally:
    person.close()
"""
    with at("print('RUNS', flush=True)\n" + body) as keyboard:
        keyboard.see("RUNS")
        time.sleep(0.3)
        keyboard.hang_up()
        until = time.monotonic() + 20
        while not (tmp_path / "said").exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.1)
        assert (tmp_path / "said").read_text() in ("stop", "interrupt")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_give_the_terminal_back(at, number: signal.Signals) -> None:
    body = """
person.poll()
print("RUNS", termios.tcgetattr(0) == before, flush=True)
try:
    time.sleep(60)
finally:
    print("STOPS", flush=True)  # a robot is stopped here
    end()
"""
    with at(body) as keyboard:
        keyboard.see("RUNS False")
        time.sleep(0.3)
        keyboard.kill(number)
        keyboard.see("STOPS")
        keyboard.see("restored True")


def test_an_exception_gives_the_terminal_back(at) -> None:
    body = "import atexit\nperson.poll()\natexit.register(lambda: None)\n"
    body += "import os\nif os.fork() == 0:\n    raise RuntimeError('oops')\nos.wait()\n"
    body += "print('restored', termios.tcgetattr(0) == before, flush=True)\n"
    with at(body) as keyboard:  # nobody closes the person: the end of the process does
        keyboard.see("oops")
        keyboard.see("restored True")


def test_a_scene_that_cannot_be_set(at) -> None:
    body = "try:\n    person.set_scene(scene)\n"
    body += "except SceneSkipped as skipped:\n    print('SKIPPED', skipped, flush=True)\nend()"
    with at(body) as keyboard:
        keyboard.see("Set this scene.")
        keyboard.press("x")
        keyboard.see("Why can it not be set?")
        keyboard.press("\x1b")  # by mistake
        keyboard.see("Set this scene.")
        keyboard.press("x")
        keyboard.see("Why can it not be set? (Esc goes back) ")
        keyboard.press("the cube is lost\n")
        keyboard.see("SKIPPED the person could not set this scene: the cube is lost")


def test_pause_and_stop_the_study(at) -> None:
    with at(
        "try:\n    person.set_scene(scene)\nexcept KeyboardInterrupt:\n    print('STOPPED', flush=True)\nend()"
    ) as keyboard:
        keyboard.see("Set this scene.")
        keyboard.press("p")
        keyboard.see("Paused.")
        keyboard.press("\np")
        keyboard.see("Set this scene.")
        keyboard.press("q")
        keyboard.see("Stop the study?")
        time.sleep(0.3)
        keyboard.press("n")
        keyboard.see("Set this scene.")
        keyboard.press("q")
        keyboard.see("Stop the study?")
        time.sleep(0.3)
        keyboard.press("y")
        keyboard.see("STOPPED")
        keyboard.see("restored True")


def test_a_question_that_nobody_answers_is_asked_again(at) -> None:
    body = "import foretell.person.conversation as conversation\nconversation.REMIND_S = 0.4\n"
    body += "print('ANSWER', person.ask('Go?'), flush=True)\nend()"
    with at(body) as keyboard:
        for _ in range(3):
            keyboard.see("Go?")
        keyboard.press("y")
        keyboard.see("ANSWER True")


def test_the_last_verdict_can_be_taken_back_also_the_next_day(at, tmp_path: Path) -> None:
    with at("person.judge(trial)\nend()") as keyboard:
        keyboard.see("Did the robot do it?")
        keyboard.press("y")
        keyboard.see("What happened?")
        keyboard.press("\n")
        keyboard.see("Note: none")
        keyboard.press("\n")
        keyboard.see("restored True")
        assert keyboard.end() == 0
    assert not (tmp_path / "run/verdicts").exists()
    with at("person.set_scene(scene)\nend()") as keyboard:
        keyboard.see("b take back the last verdict")
        keyboard.press("b")
        keyboard.see("The last trial took 12.5 s and was judged: success. Esc leaves it so.")
        keyboard.see("Did the robot do it?")
        keyboard.press("\x1b")
        keyboard.see("Set this scene.")
        keyboard.press("b")
        keyboard.see("Did the robot do it?")
        keyboard.press("n")
        keyboard.see("How far did it get?")
        keyboard.press("0")
        keyboard.see("What happened?")
        keyboard.press("d\n")
        keyboard.see("Note: none")
        keyboard.press("\n")
        keyboard.see("The correction is kept.")
        keyboard.see("Set this scene.")
        keyboard.press("\n")
        keyboard.see("restored True")
    (line,) = [json.loads(line) for line in (tmp_path / "run/verdicts/person.jsonl").read_text().splitlines()]
    assert (line["kind"], line["success"], line["events"], line["trial"]) == ("correction", False, ["dropped"], 0)
