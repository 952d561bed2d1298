"""What the page beside the robot shows: the scene in words, from above and as cameras should see it, and the question.

The simulated view is drawn for every camera that has a picture; the page lays it over the live one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.person.desk import Desk, picture_name, smaller
from foretell.person.judgement import Question
from foretell.person.overlay import Overlay
from foretell.person.person import SceneCard
from foretell.person.scene import scene_svg

__all__ = ["SceneBoard"]

RUN_OPTIONS = {" ": "STOP", "y": "it has succeeded"}


class SceneBoard:
    """The desk of a run, and what it shows. Nothing here waits."""

    def __init__(self, folder: Path, overlay: str) -> None:
        self._folder, self._world = folder, overlay
        self._desk: Desk | None = None
        self._overlay: Overlay | None = None
        self._about: dict[str, Any] = {"head": "", "words": "", "cameras": [], "svg": False}
        self._scene = 0
        """Number of the scene, so that a picture of the one before is not taken for it."""

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            self._desk = Desk(self._folder)
        return self._desk

    def set(self, scene: SceneCard, head: str, words: str, about: Mapping[str, Any] | None) -> None:
        """There is a new scene."""
        self._scene += 1
        svg = scene_svg(scene.scenario, about)
        self.desk.write("scene.svg", svg.encode())
        frames = {camera: frame for camera in scene.cameras if (frame := scene.live(camera)) is not None}
        self._about = {"head": head, "words": words, "cameras": list(frames), "svg": bool(svg)}
        self._about |= {"scene": self._scene, "simulated": {}}
        self._about |= {"scenario": scene.scenario.model_dump(mode="json"), "trial": scene.trial}
        self.desk.watch(scene.live, list(frames))
        if frames:
            self._draw(scene, frames)

    def _draw(self, scene: SceneCard, frames: Mapping[str, np.ndarray]) -> None:
        if self._overlay is None:
            self._overlay = Overlay(self._world, self._drawn)
        files = {camera: self.desk.folder / picture_name("sim", camera) for camera in frames}
        sizes = {camera: smaller(frame).shape[:2] for camera, frame in frames.items()}
        self._overlay.draw(scene.task, scene.scenario, files, sizes, self._scene)

    def _drawn(self, message: dict[str, Any]) -> None:
        """The simulated views are there. Called from a thread: it changes nothing but this entry."""
        if message.get("scene") == self._scene:
            self._about = {**self._about, "simulated": message["cameras"]}
            self.desk.add(simulated=message["cameras"])

    def ask(self, question: Question, text: str = "") -> str:
        """Returns the name of the question."""
        about = {"text": question.text, "options": list(question.options.items()), "typing": question.typing}
        return self._show("ask", {**about, "typed": text, "chosen": list(question.chosen)})

    def running(self) -> str:
        """The robot may move from now on."""
        return self._show("run", {"text": "The robot runs.", "options": list(RUN_OPTIONS.items()), "typing": False})

    def film(self, head: str, words: str, films: Sequence[str]) -> None:
        """There is another film to judge; its files are in the desk's folder `films`."""
        self._scene += 1
        self._about = {"head": head, "words": words, "cameras": [], "svg": False}
        self._about |= {"scene": self._scene, "films": list(films)}

    def ended(self, words: str) -> None:
        """The trial has ended; questions about it follow."""
        self._about = {**self._about, "head": words, "words": ""}

    def _show(self, state: str, about: dict[str, Any]) -> str:
        return self.desk.show(state, **self._about, **about)

    def close(self) -> None:
        if self._overlay is not None:
            self._overlay.close()
            self._overlay = None
        if self._desk is not None:
            self._desk.close()
            self._desk = None
