"""A whole study that a person attends, at a real terminal: corrected, skipped, stopped, and resumed."""

from __future__ import annotations

from pathlib import Path

import numpy_world
import pytest
import yaml
from keyboard import Keyboard
from studies import cli

import foretell

WORLD = '''
from puck import Puck

from foretell.person import SceneCard, TrialCard, make_person


class Attended(Puck):
    """A puck that a person sets and judges."""

    real = True
    can = frozenset({"wait"})
    needs = frozenset({"terminal"})
    person = None

    def attend(self, run):
        self.person = make_person(run)

    def reset(self, slots, scenarios, trials):
        super().reset(slots, scenarios, trials)
        self.scene = SceneCard(scenario=scenarios[0], task=self.task, trial=trials[0])
        self.person.set_scene(self.scene)

    def progress(self, slots):
        return None

    def verdict(self, slots):
        scenario, trial = self.scene.scenario, self.scene.trial
        card = TrialCard(scenario=scenario, task=self.task, trial=trial, seconds=1.0, end="time_limit")
        return [self.person.judge(card).verdict(self.task, 1.0)]

    def close(self):
        if self.person is not None:
            self.person.close()
'''
STUDY = {
    "name": "attended",
    "world": "attended.py:Attended",
    "tasks": ["puck.py:Reach"],
    "policies": {"seek": "puck.py:Seek"},
    "scenarios": 4,
    "order": "planned",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    numpy_world.enter(tmp_path, monkeypatch)
    (tmp_path / "attended.py").write_text(WORLD)
    (tmp_path / "attended.yaml").write_text(yaml.safe_dump(STUDY))
    return tmp_path


def succeed(keyboard: Keyboard) -> None:
    """A scene that is set, and a trial that succeeds."""
    keyboard.see("Set this scene.")
    keyboard.press("\n")
    keyboard.see("Did the robot do it?")
    keyboard.press("y")
    keyboard.see("What happened?")
    keyboard.press("\n")
    keyboard.see("Note: none")
    keyboard.press("\n")
    keyboard.see("Thank you.")


def test_no_trial_is_lost_or_doubled(folder: Path) -> None:
    command = ("-m", "foretell", "run", "attended.yaml")
    with Keyboard(*command, folder=folder) as keyboard:
        succeed(keyboard)
        keyboard.see("Set this scene.")
        keyboard.press("b")  # the first was no success
        keyboard.see("was judged: success")
        keyboard.see("Did the robot do it?")
        keyboard.press("n")
        keyboard.see("How far did it get?")
        keyboard.press("0")
        keyboard.see("What happened?")
        keyboard.press("s\n")
        keyboard.see("Note: none")
        keyboard.press("\n")
        keyboard.see("The correction is kept.")
        succeed(keyboard)
        keyboard.see("Set this scene.")
        keyboard.press("x")
        keyboard.see("Why can it not be set?")
        keyboard.press("the mark is gone\n")
        keyboard.see("Set this scene.")
        keyboard.press("q")
        keyboard.see("Stop the study?")
        keyboard.press("y")
        assert keyboard.end() == 130 and "Run the same command to resume" in keyboard.screen
    assert len(foretell.read(folder / "runs/attended")) == 3
    with Keyboard(*command, folder=folder) as keyboard:  # the next day
        succeed(keyboard)
        assert keyboard.end() == 0 and keyboard.screen.count("Set this scene.") == 1, keyboard.screen
    rows = sorted(foretell.read(folder / "runs/attended").to_pylist(), key=lambda row: row["wall_started"])
    assert [(row["success"], row["blame"]) for row in rows] == [
        (False, None),
        (True, None),
        (None, "world"),
        (True, None),
    ]
    assert rows[0]["failure_reason"] == "got stuck" and dict(rows[0]["events"]) == {"stuck": 1.0}
    assert "the person could not set this scene: the mark is gone" in rows[2]["error"]
    shown = cli("show", "runs/attended", cwd=folder).stdout
    assert "67%" in shown and "1 world" in shown and "1 verdict corrected afterwards" in shown
