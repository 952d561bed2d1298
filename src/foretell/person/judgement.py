"""How a trial went, in a person's words: success, the stage reached, events and a note, by single keys.

`Form` holds the questions. It knows no terminal and no page: both show its question and hand it the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from foretell.registry import resolve
from foretell.tasks.events import EVENTS
from foretell.tasks.task import Task
from foretell.world import Verdict

__all__ = ["ENTER", "ESCAPE", "Form", "Judgement", "Question", "event_keys"]

ENTER, ESCAPE = "\n", "\x1b"
LETTERS = {
    "grasped": "g",
    "wrong_object": "w",
    "dropped": "d",
    "closed_on_nothing": "c",
    "knocked_over": "k",
    "hit_table": "t",
    "hit_wall": "h",
    "self_collision": "r",
    "left_scene": "l",
    "stuck": "s",
    "never_moved": "m",
}
"""Event -> its key. `ended_early` has none: the episode's end tells it."""
ARMS_ONLY = {"grasped", "wrong_object", "dropped", "closed_on_nothing", "knocked_over", "hit_table", "left_scene"}
DIGITS = "0123456789acdefghijklmoqrtvwxz"
"""Keys of stages: 0 is none. Letters only where a task has more than nine."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a person says of a trial."""

    success: bool | None
    stages: tuple[str, ...] = ()
    """Stages that were reached."""
    events: tuple[str, ...] = ()
    note: str | None = None
    confirmed: bool = True
    """Whether a person gave this verdict; False where a detector's proposal stands unseen."""

    @property
    def reason(self) -> str | None:
        """Why it failed: the note, or else what went wrong first."""
        wrong = [EVENTS[name].words for name in self.events if EVENTS[name].wrong]
        return None if self.success else (self.note or (wrong[0] if wrong else None))

    def verdict(self, task: Task, seconds: float, metrics: Mapping[str, float] | None = None) -> Verdict:
        """As a world returns it. A person says afterwards which stages were reached, so their times are the latest
        possible: the end of the trial."""
        share = len(self.stages) / len(task.stages) if task.stages else None
        return Verdict(
            success=self.success,
            score=1.0 if self.success else share,
            stages=dict.fromkeys(self.stages, seconds),
            metrics=dict(metrics or {}),
            events=dict.fromkeys(self.events, 1.0),
            judge="person",
            reason=self.reason,
        )

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`. Raises KeyError, TypeError or ValueError for anything else."""
        success, note = given["success"], given["note"]
        if not (success is None or isinstance(success, bool)) or not (note is None or isinstance(note, str)):
            raise ValueError(f"success is {success!r:.40}, and note {note!r:.40}")
        stages, events = (tuple(map(str, given[name])) for name in ("stages", "events"))
        return cls(success=success, stages=stages, events=tuple(e for e in events if e in EVENTS), note=note)

    @property
    def words(self) -> str:
        """All of it, in a few words."""
        events = [EVENTS[name].words for name in self.events]
        return ", ".join(["success" if self.success else "failure", *events, *([self.note] if self.note else [])])

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "success": self.success,
            "stages": list(self.stages),
            "events": list(self.events),
            "note": self.note,
        }


@dataclass(frozen=True)
class Question:
    """What is asked now."""

    text: str
    options: Mapping[str, str]
    """Key -> what it means."""
    typing: bool = False
    """Whether a line of text is wanted: every key but Enter and Esc is a letter of it."""
    chosen: tuple[str, ...] = ()
    """Options that are chosen already, where several may be."""


def event_keys(task: Task) -> dict[str, str]:
    """Key -> event, of those that a person may see in this task."""
    kinds = [resolve("robots", mount.robot) for mount in task.robots.values()]
    drives = bool(kinds) and not any(group.pads for kind in kinds for group in kind.groups.values())
    left_out = ARMS_ONLY if drives else {"hit_wall"}
    return {key: name for name, key in LETTERS.items() if name not in left_out}


@dataclass(kw_only=True)
class Form:
    """The questions about one trial, answered key by key. `u` goes back one question."""

    task: Task
    success: bool | None = None
    reached: int | None = None
    events: list[str] = field(default_factory=list)
    note: str = ""
    at: str = "success"
    """success, stage, events, note or done."""
    typed: str | None = None
    """The line of text so far, while one is typed."""

    @property
    def done(self) -> bool:
        return self.at == "done"

    @property
    def question(self) -> Question:
        undo = {} if self.at == "success" else {"u": "undo"}
        if self.typed is not None:
            return Question("Note (Enter keeps it, Esc drops it): ", {ENTER: "keep", ESCAPE: "drop"}, typing=True)
        if self.at == "success":
            return Question("Did the robot do it?", {"y": "yes, success", "n": "no, failure"})
        if self.at == "stage":
            stages = {DIGITS[i + 1]: f"{s.name}: {s.threshold}" for i, s in enumerate(self.task.stages)}
            return Question("How far did it get?", {"0": "not even the first", **stages, **undo})
        if self.at == "events":
            chosen = ", ".join(EVENTS[name].words for name in self.events) or "nothing yet"
            events = {key: EVENTS[name].words for key, name in event_keys(self.task).items()}
            keys = tuple(LETTERS[name] for name in self.events)
            return Question(f"What happened? So far: {chosen}", {**events, ENTER: "go on", **undo}, chosen=keys)
        note = f'"{self.note}"' if self.note else "none"
        return Question(f"{self.summary()} Note: {note}", {ENTER: "that is all", "t": "type a note", **undo})

    def summary(self) -> str:
        """What was answered so far, in a sentence."""
        parts = ["success" if self.success else "failure"]
        if self.reached is not None:
            parts.append(f"got to {self.task.stages[self.reached - 1].name!r}" if self.reached else "reached no stage")
        parts += [EVENTS[name].words for name in self.events]
        return f"{', '.join(parts).capitalize()}."

    def press(self, key: str) -> bool:
        """Take a key; False if it means nothing here."""
        if self.typed is not None:
            return self._type(key)
        if key not in self.question.options:
            return False
        if key == "u":
            self._undo()
        elif self.at == "success":
            self.success, self.reached = key == "y", None
            self.at = "events" if self.success or not self.task.stages else "stage"
        elif self.at == "stage":
            self.reached, self.at = DIGITS.index(key), "events"
        elif self.at == "events":
            self._event(key)
        elif key == "t":
            self.typed = self.note
        else:
            self.at = "done"
        return True

    def write(self, note: str) -> None:
        """Take a note that was written elsewhere, as a whole."""
        self.note, self.typed = " ".join(note.split())[:LONGEST], None

    def _event(self, key: str) -> None:
        if key == ENTER:
            self.at = "note"
            return
        name = event_keys(self.task)[key]
        if name in self.events:
            self.events.remove(name)
        else:
            self.events.append(name)

    def _undo(self) -> None:
        if self.at == "note":
            self.at = "events"
        elif self.at == "events" and self.events:
            self.events.pop()
        elif self.at == "events" and self.reached is not None:
            self.at, self.reached = "stage", None
        else:
            self.at, self.success = "success", None

    def _type(self, key: str) -> bool:
        assert self.typed is not None
        if key == ENTER:
            self.write(self.typed)
        elif key == ESCAPE:
            self.typed = None
        elif key in ("\x7f", "\b"):
            self.typed = self.typed[:-1]
        elif key.isprintable() and len(self.typed) < LONGEST:
            self.typed += key
        else:
            return False
        return True

    @property
    def judgement(self) -> Judgement:
        names = [stage.name for stage in self.task.stages]
        return Judgement(
            success=self.success,
            stages=tuple(names if self.success else names[: self.reached or 0]),
            events=tuple(self.events),
            note=self.note or None,
        )


LONGEST = 500
"""Characters of a note."""
