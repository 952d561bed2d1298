"""A second judge: somebody who sees films of trials, in any order, and is told neither the policy nor the verdict."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from foretell.person.conversation import Conversation
from foretell.person.judgement import ENTER, Form, Judgement, Question
from foretell.tasks.task import Task

__all__ = ["FILMS", "FilmCard", "FilmJudge", "Reviewed"]

FILMS = "films"
"""Folder of the desk with the films that are shown now, under names that tell nothing."""
Reviewed = Judgement | Literal["back", "stop"]
"""What a judge does with a film: a verdict, back to the film before, or stop."""


@dataclass(frozen=True, kw_only=True)
class FilmCard:
    """A trial as a second judge sees it."""

    task: Task
    instruction: str
    films: Mapping[str, Path]
    """Camera -> its film."""
    number: int
    count: int
    back: bool = False
    """Whether there is a film before this one to go back to."""


class FilmJudge(Conversation):
    """Shows films and asks about them. The page of `foretell view` plays them; the terminal names their files."""

    def review(self, card: FilmCard) -> Reviewed:
        """A verdict without success where the judge cannot tell. Raises KeyboardInterrupt at Ctrl-C."""
        self._take().drain()
        head = f"Film {card.number} of {card.count}"
        shown = self._lay_out(card)
        if self._board is not None:
            self._board.film(head, f"{card.task.name}: {card.instruction}", [path.name for path in shown.values()])
        self._say(f"\n── {head} ──\n{card.task.name}: {card.instruction}")
        for camera, path in shown.items():
            self._say(f"  {camera}: {path}")
        back = {"b": "back to the film before"} if card.back else {}
        options = {ENTER: "judge it", **back, "x": "it cannot be told from the film", "q": "stop for now"}
        key = self._answer(Question("Watch the film.", options))
        if key == "b":
            return "back"
        if key == "q":
            return "stop"
        if key == "x":
            return Judgement(success=None)
        form = self._fill(Form(task=card.task), leave=True)
        return self.review(card) if form is None else form.judgement

    def _lay_out(self, card: FilmCard) -> dict[str, Path]:
        """Camera -> its film under a neutral name: names of films may have the policy's."""
        assert self.folder is not None and self._board is not None
        folder = self._board.desk.folder / FILMS
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shown = {}
        for place, (camera, film) in enumerate(card.films.items(), start=1):
            shown[camera] = folder / f"film-{card.number}-{place}{film.suffix}"
            try:
                os.link(film, shown[camera], follow_symlinks=False)
            except OSError:  # another file system, or one without links
                shutil.copyfile(film, shown[camera])
        return shown

    def close(self) -> None:
        if self.folder is not None and self._board is not None:
            with contextlib.suppress(OSError):
                shutil.rmtree(self._board.desk.folder / FILMS, ignore_errors=True)
        super().close()
