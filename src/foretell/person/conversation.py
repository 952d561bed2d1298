"""Questions at a terminal and on the desk's page: both see the same question, and the first answer counts."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from foretell.person.board import SceneBoard
from foretell.person.judgement import ENTER, ESCAPE, Form, Question
from foretell.person.keys import Keys
from foretell.terminal import plain, safe

__all__ = ["Conversation"]

LEAVE = frozenset({"\x03", "\x04"})
"""Keys that stop the study wherever something is asked: Ctrl-C and Ctrl-D."""
LOOK_S = 0.05
"""Seconds between two looks at the page's answers."""
REMIND_S = 60.0
"""Seconds after which a question is asked again."""


class Conversation:
    """Asks on the terminal of standard input, and on the desk of a run folder. It takes the terminal at the first
    question, and `close` gives it back."""

    def __init__(self, folder: Path | None = None, overlay: str = "mujoco") -> None:
        self.folder = folder
        self._keys: Keys | None = None
        self._screen: TextIO = sys.stderr
        self._board = None if folder is None else SceneBoard(folder, overlay)
        self._question = ""
        """What the page was asked last."""

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
        self._publish(replace(question, options=options))
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
        keys.ask_alive()  # who answers on the page leaves the terminal silent
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


def _named(key: str) -> str:
    return {ENTER: "Enter", ESCAPE: "Esc"}.get(key, key)
