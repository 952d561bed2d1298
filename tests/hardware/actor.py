"""Plays the person in a rehearsal: sets each scene with the hands, and judges by what the task says is true."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from keyboard import Keyboard
from rehearsals import Rehearsal

from foretell.hardware.rehearsal import Hands
from foretell.registry import resolve
from foretell.scenario import Scenario

SCENE, START, VERDICT, MEND = "Set this scene.", "Is the way clear?", "Did the robot do it?", "Mend it. Try again?"
SEEN_S = 0.3
"""Wall seconds after which the robot has been read again."""
BUSY = ("the machine reached a speed", "this program gave no target", "the robot was silent", "no action for")
"""What a machine that does too much else makes of a trial."""


class Actor:
    """One person at one terminal, beside one rehearsal."""

    def __init__(self, folder: Path, rehearsal: Rehearsal, scenarios: Iterable[Scenario], *command: str):
        self.hands: Hands = rehearsal.hands
        self.scenarios = list(scenarios)
        self.keyboard = Keyboard("-m", "foretell", *command, folder=folder, patience=60.0)
        self.set: list[str] = []
        """Scenarios whose scene was set, in order."""
        self.truths: list[dict[str, Any]] = []

    def __enter__(self) -> Actor:
        return self

    def __exit__(self, *error: Any) -> None:
        self.keyboard.__exit__(*error)

    def set_scene(self) -> Scenario:
        """Do as the card says, and say that it is ready."""
        words = self.keyboard.see(SCENE)
        (scenario,) = (s for s in self.scenarios if all(line in words for line in s.card().splitlines()))
        self.hands.set(scenario, moved="home")
        time.sleep(SEEN_S)
        self.keyboard.press("\n")
        self.set.append(scenario.id)
        return scenario

    def agree(self) -> None:
        """Let the arm go to its start."""
        self.keyboard.see(START)
        self.keyboard.press("y")

    def judge(self) -> None:
        """Say what is true."""
        self.keyboard.see(VERDICT)
        truth = self.hands.truth()
        self.truths.append(truth)
        self.keyboard.press("y" if truth["success"] else "n")
        if not truth["success"]:
            self.keyboard.see("How far did it get?")
            self.keyboard.press(str(_reached(self.scenarios[0].task, truth["stages"])))
        self.keyboard.see("What happened?")
        self.keyboard.press("\n")
        self.keyboard.see("Note: none")
        self.keyboard.press("\n")

    def play(self) -> int:
        """Do whatever is asked, up to the end of the program. Returns its exit code."""
        answers = {SCENE: self.set_scene, START: self.agree, VERDICT: self.judge, MEND: self._mended}
        while (asked := self.keyboard.see_any(list(answers))) is not None:
            answers[asked]()
        return self.keyboard.end()

    def _mended(self) -> None:
        self.keyboard.see(MEND)
        self.keyboard.press("y")


def _reached(task: str, stages: Sequence[str]) -> int:
    """How many stages were reached, from the first on without a gap."""
    names = [stage.name for stage in resolve("tasks", task)().stages]
    return next((at for at, name in enumerate(names) if name not in stages), len(names))
