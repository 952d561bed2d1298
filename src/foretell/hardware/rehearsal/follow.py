"""Hands that follow a run: when the run asks for a scene, they set it; when a trial has ended, they tell what is true.
So one person can rehearse a whole study at its terminal."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from foretell.errors import ForetellError
from foretell.hardware.rehearsal.hands import Hands
from foretell.person.desk import DESK
from foretell.scenario import Scenario

__all__ = ["DeskFollower", "follow"]

LOOK_S = 0.05


class DeskFollower:
    """Looks at the desk of a run."""

    def __init__(self, run: Path, hands: Hands):
        self._now, self._hands = run / DESK / "now.json", hands
        self._set: tuple[str, int] | None = None
        self._open = False  # whether the scene that was set has had no verdict yet

    def look(self) -> str | None:
        """Do what the desk asks for. Returns what is to be said of it."""
        try:
            now: dict[str, Any] = json.loads(self._now.read_text())
            scene = (str(now["question"]).partition("-")[0], int(now["scene"]))
        except (OSError, ValueError, KeyError):  # nobody has asked yet
            return None
        if scene != self._set and now["words"]:
            self._set, self._open = scene, True
            scenario = Scenario.model_validate(now["scenario"])
            self._hands.set(scenario, trial=int(now["trial"]), moved="home")
            return "The scene is set."
        if self._open and scene == self._set and now["state"] == "ask" and not now["words"]:
            self._open = False
            return _sentence(self._hands.truth())
        return None


def follow(run: Path, address: str) -> None:
    """Follow a run in a thread, as long as the rehearsal at an address lives."""

    def work() -> None:
        follower = DeskFollower(run, Hands(address))
        while True:
            try:
                words = follower.look()
            except ForetellError as error:
                words = str(error)
            except OSError:  # the rehearsal has ended
                return
            if words:
                print(words, file=sys.stderr, flush=True)
            time.sleep(LOOK_S)

    threading.Thread(target=work, daemon=True).start()


def _sentence(truth: dict[str, Any]) -> str:
    stages = ", ".join(f"{name} at {at:.1f} s" for name, at in truth["stages"].items()) or "no stage"
    return f"The task says: {'success' if truth['success'] else 'failure'}; {stages}."
