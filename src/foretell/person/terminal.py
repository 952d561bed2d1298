"""The person of a run: who sets scenes, stops the robot and judges, at the terminal or on its page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.errors import ForetellError
from foretell.person.conversation import Conversation
from foretell.person.corrections import LastTrial, correct
from foretell.person.judgement import ENTER, ESCAPE, Form, Judgement, Question
from foretell.person.person import Person, SceneCard, SceneSkipped, Signal, TrialCard
from foretell.person.scene import scene_words
from foretell.tasks.frame import frame
from foretell.tasks.task import Task

__all__ = ["STOPS", "TerminalPerson", "make_person"]

STOPS = frozenset({" ", "s", "q", ESCAPE, "\x03", "\x04", "\x1a", "\x1c"})
"""Keys that stop the robot while it runs; Ctrl-C, Ctrl-D, Ctrl-Z and Ctrl-\\ among them."""
SUCCESS = "y"
ENDS = {
    "time_limit": "the time is over",
    "terminated": "the policy declares itself done",
    "stopped": "it was stopped",
    "success": "success was signalled",
    "error": "it went wrong, and was stopped",
}
WHY = "Why can it not be set? (Esc goes back) "
RUNNING = "While the robot runs: space, s, q or Esc stops it. y says that it has succeeded."


def make_person(folder: Path | None = None, overlay: str = "mujoco") -> Person:
    """The person of a run. `folder`: the run folder, for corrections and for the page; without one there is only the
    terminal. `overlay`: the simulated world whose view the page lays over the cameras' pictures."""
    return TerminalPerson(folder, overlay)


class TerminalPerson(Conversation):
    """The person at the terminal where the study runs, and at the page beside it."""

    def __init__(self, folder: Path | None = None, overlay: str = "mujoco") -> None:
        super().__init__(folder, overlay)
        self._frames: dict[str, Mapping[str, Any] | None] = {}
        self._last: LastTrial | None = None

    def set_scene(self, scene: SceneCard) -> None:
        self._take().drain()
        head, about = _head(scene), self._frame(scene.task)
        words = scene_words(scene.scenario, about)
        if self._board is not None:
            self._board.set(scene, head, words, about)
        while True:
            self._say(f"\n── {head} ──\n{words}")
            key = self._answer(Question("Set this scene.", self._choices()))
            if key == ENTER:
                break
            if key == "b":
                self._take_back(scene.task)
            elif key == "p":
                self._answer(Question("Paused.", {"p": "go on"}), remind=False)
            elif key == "x" and (why := self._line(Question(WHY, {}, typing=True))) is not None:
                raise SceneSkipped(f"the person could not set this scene: {why or 'no reason given'}")
            elif key == "q" and self.ask("Stop the study? Finished trials are kept."):
                raise KeyboardInterrupt
        self._say(RUNNING)
        self._run()

    def warn(self, text: str) -> None:
        self._say("\a", end="")
        self._say(f"\n{text}")
        if self._board is not None:
            self._board.ended(text)

    def ask(self, question: str) -> bool:
        self._take().drain()
        answer = self._answer(Question(question, {"y": "yes", "n": "no"})) == "y"
        self._run()
        return answer

    def poll(self) -> Signal | None:
        keys = self._take()
        signal: Signal | None = None
        keys.ask_alive()
        while (key := keys.read()) is not None:
            if key.lower() in STOPS:
                return "stop"
            signal = "success" if key.lower() == SUCCESS else signal
        while self._board is not None and (answer := self._board.desk.answer()) is not None:
            if answer.key in STOPS:  # whatever question was on the page
                return "stop"
            signal = "success" if (answer.question, answer.key) == (self._question, SUCCESS) else signal
        return "stop" if keys.gone else signal

    def judge(self, trial: TrialCard) -> Judgement:
        self._take().drain()
        ended = f"The trial has ended after {trial.seconds:.1f} s: {ENDS.get(trial.end, trial.end)}."
        self._say(f"\n{ended}")
        if self._board is not None:
            self._board.ended(ended)
        form = self._fill(Form(task=trial.task))
        assert form is not None
        if self.folder is not None:
            self._last = LastTrial.of(trial, form.judgement)
            self._last.keep(self.folder)
        self._say("Thank you.")
        return form.judgement

    def heard(self) -> float:
        return time.monotonic() if self._keys is None else self._keys.heard()

    def _run(self) -> None:
        if self._board is not None:
            self._question = self._board.running()

    def _frame(self, task: Task) -> Mapping[str, Any] | None:
        if task.name not in self._frames:
            try:
                self._frames[task.name] = frame(task)
            except (ForetellError, ValueError):  # a task of one's own may have none
                self._frames[task.name] = None
        return self._frames[task.name]

    def _choices(self) -> dict[str, str]:
        back = {"b": "take back the last verdict"} if self._recalled() is not None else {}
        return {
            ENTER: "it is ready",
            **back,
            "x": "it cannot be set",
            "p": "pause",
            "q": "stop the study",
        }

    def _recalled(self) -> LastTrial | None:
        """The last trial that was judged, also by a process before this one."""
        if self._last is None and self.folder is not None:
            self._last = LastTrial.kept(self.folder)
        return self._last

    def _take_back(self, task: Task) -> None:
        last = self._recalled()
        if last is None or self.folder is None:
            return
        if last.task != task.name:
            self._say(f"The last trial was of {last.task}; run `foretell judge` to correct it.")
            return
        self._say(
            f"\nThe last trial took {last.seconds:.1f} s and was judged: {last.judgement.words}. Esc leaves it so."
        )
        form = self._fill(Form(task=task), leave=True)
        if form is not None:
            self._last = correct(self.folder, task, last, form.judgement)
            self._say("The correction is kept.")


def _head(scene: SceneCard) -> str:
    if scene.number is None:
        return "Next trial"
    return f"Trial {scene.number}{f' of {scene.count}' if scene.count else ''}"
