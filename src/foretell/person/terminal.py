"""A person at the terminal where the study runs, and at the page of `foretell view` beside it: both see the same
question, and the first answer counts."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from foretell.errors import ForetellError
from foretell.person.board import SceneBoard
from foretell.person.corrections import LastTrial, correct
from foretell.person.judgement import ENTER, ESCAPE, Form, Judgement, Question
from foretell.person.keys import Keys
from foretell.person.person import Person, SceneCard, SceneSkipped, Signal, TrialCard
from foretell.person.scene import scene_words
from foretell.tasks.frame import frame
from foretell.tasks.task import Task
from foretell.terminal import plain, safe

__all__ = ["STOPS", "TerminalPerson", "make_person"]

STOPS = frozenset({" ", "s", "q", ESCAPE, "\x03", "\x04", "\x1a", "\x1c"})
"""Keys that stop the robot while it runs; Ctrl-C, Ctrl-D, Ctrl-Z and Ctrl-\\ among them."""
SUCCESS = "y"
LEAVE = frozenset({"\x03", "\x04"})
"""Keys that stop the study wherever something is asked: Ctrl-C and Ctrl-D."""
LOOK_S = 0.05
"""Seconds between two looks at the page's answers."""
REMIND_S = 60.0
"""Seconds after which a question is asked again."""
ENDS = {
    "time_limit": "the time is over",
    "terminated": "the policy declares itself done",
    "stopped": "it was stopped",
    "success": "success was signalled",
}
WHY = "Why can it not be set? (Esc goes back) "
RUNNING = "While the robot runs: space, s, q or Esc stops it. y says that it has succeeded."


def make_person(folder: Path | None = None, overlay: str = "mujoco") -> Person:
    """The person of a run. `folder`: the run folder, for corrections and for the page; without one there is only the
    terminal. `overlay`: the simulated world whose view the page lays over the cameras' pictures."""
    return TerminalPerson(folder, overlay)


class TerminalPerson:
    """Asks on the terminal of standard input, and on the desk of a run folder. It takes the terminal at the first
    question, and `close` gives it back."""

    def __init__(self, folder: Path | None = None, overlay: str = "mujoco") -> None:
        self.folder = folder
        self._keys: Keys | None = None
        self._screen: TextIO = sys.stderr
        self._board = None if folder is None else SceneBoard(folder, overlay)
        self._frames: dict[str, Mapping[str, Any] | None] = {}
        self._last: LastTrial | None = None
        self._question = ""
        """What the page was asked last."""

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

    def close(self) -> None:
        if self._keys is not None:
            self._keys.close()
            self._keys = None
        if self._board is not None:
            self._board.close()
        if self._screen is not sys.stderr:
            with contextlib.suppress(OSError):
                self._screen.close()
            self._screen = sys.stderr

    def _take(self) -> Keys:
        if self._keys is None:
            self._keys = Keys()
            with contextlib.suppress(OSError):  # else a redirected stderr would hide the questions
                self._screen = open(os.ttyname(self._keys.fd), "w", encoding="utf-8", errors="replace")  # noqa: SIM115
        return self._keys

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

    def _fill(self, form: Form, leave: bool = False) -> Form | None:
        """Ask until the form is done. None where the person leaves it, if they may."""
        asked = ""
        while not form.done:
            if form.typed is not None:
                note = self._line(form.question, form.note)
                form.typed = None
                if note is not None:
                    form.write(note)
                continue
            question = form.question
            key = self._answer(question, leave=leave, listed=form.at != asked)
            asked = form.at
            if key == ESCAPE:
                return None
            form.press(key)
        return form

    def _answer(self, question: Question, *, leave: bool = False, remind: bool = True, listed: bool = True) -> str:
        """The key of one of the options. `listed`: the options are shown too, because they were not before."""
        options = {**question.options, **({ESCAPE: "leave it so"} if leave else {})}
        self._show(question, listed)
        self._publish(Question(question.text, options))
        since = time.monotonic()
        while True:
            key, _ = self._next()
            key = key.lower() if key is not None else None
            if key is not None and key in options:
                self._say(key if key.isprintable() else "")
                return key
            if remind and time.monotonic() - since > REMIND_S:
                since = time.monotonic()
                self._say("\a")
                self._show(question)

    def _next(self) -> tuple[str | None, str | None]:
        """A key of the terminal or the page, or a line of text of the page; nothing if nobody does anything."""
        keys = self._take()
        key = keys.read(LOOK_S)
        if keys.gone or key in LEAVE:
            raise KeyboardInterrupt
        answer = self._board.desk.answer() if key is None and self._board is not None else None
        if answer is not None and answer.question == self._question:
            return answer.key, answer.text
        return key, None

    def _publish(self, question: Question, text: str = "") -> None:
        if self._board is not None:
            self._question = self._board.ask(question, text)

    def _run(self) -> None:
        if self._board is not None:
            self._question = self._board.running()

    def _show(self, question: Question, listed: bool = True) -> None:
        short = len(question.options) <= 3
        options = [f"{_named(key)} {words}" for key, words in question.options.items()]
        if listed and not short:
            self._say("".join(f"  {option}\n" for option in options), end="")
        after = f"  [{', '.join(options)}]" if short else ""
        self._say(f"{plain(question.text)}{after} ", end="")

    def _line(self, question: Question, text: str = "") -> str | None:
        """A line of text; None after Esc."""
        self._say(f"{question.text}{text}", end="")
        self._publish(question, text)
        while True:
            key, whole = self._next()
            if key in (ENTER, ESCAPE) or whole is not None:
                self._say(whole or "")
                return None if key == ESCAPE else (text if whole is None else whole).strip()
            if key in ("\x7f", "\b") and text:
                text = text[:-1]
                self._say("\b \b", end="", data=False)
            elif key is not None and key.isprintable():
                text += key
                self._say(key, end="")

    def _say(self, text: str, end: str = "\n", data: bool = True) -> None:
        try:
            self._screen.write((safe(text) if data and text != "\a" else text) + end)
            self._screen.flush()
        except OSError:  # the terminal is gone, which the next look at it tells
            pass


def _head(scene: SceneCard) -> str:
    if scene.number is None:
        return "Next trial"
    return f"Trial {scene.number}{f' of {scene.count}' if scene.count else ''}"


def _named(key: str) -> str:
    return {ENTER: "Enter", ESCAPE: "Esc"}.get(key, key)
