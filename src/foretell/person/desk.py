"""The desk: files in `RUN/desk/` through which a page of `foretell view` shows what is asked, and answers.

`now.json` is what is asked, `scene.svg` the scene from above, `live-CAMERA.png` what a camera sees, `sim-CAMERA.png`
what it would see in simulation. Answers are small files in `inbox/`, written whole under names of their own. A thread
writes and reads them, so that whoever drives the robot never waits for a disk. If the page dies, nothing is lost.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import re
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.files import create, read_file
from foretell.objects.png import write_png
from foretell.person.person import Live, no_frame

__all__ = ["DESK", "INBOX", "Desk", "DeskAnswer", "picture_name", "smaller"]

DESK, INBOX = "desk", "inbox"
LOOK_S, LIVE_S = 0.05, 0.4
"""Seconds between two looks at the inbox, and between two pictures of a camera."""
WIDEST = 640
"""Pixels of a live picture."""
MOST = 1 << 16
"""Bytes of an answer."""


@dataclass(frozen=True)
class DeskAnswer:
    """What somebody did on the page."""

    question: str
    """The question that was on the page."""
    key: str | None = None
    text: str | None = None
    """A line of text, where one was asked for."""


class Desk:
    """The desk of a run. It is opened with a thread, which `close` ends."""

    def __init__(self, run: Path) -> None:
        self.folder = run / DESK
        self._inbox = self.folder / INBOX
        if self.folder.is_symlink() or self._inbox.is_symlink():
            raise UsageError(f"{self.folder} is a link, and a run folder holds its own files: remove it")
        self._inbox.mkdir(parents=True, exist_ok=True)
        self._lock_file = self._claim(run)
        for path in self._inbox.iterdir():  # answers to somebody before
            path.unlink(missing_ok=True)
        self._now: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._session, self._number = secrets.token_hex(4), 0
        self._answers: queue.SimpleQueue[DeskAnswer] = queue.SimpleQueue()
        self._live: tuple[Live, Sequence[str]] = (no_frame, ())
        self._writes: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _claim(self, run: Path) -> int:
        """One process at a time asks at a desk. The kernel frees the lock with the process."""
        fd = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise UsageError(f"another process asks a person in {run}: end it first") from None
        return fd

    def show(self, state: str, **about: Any) -> str:
        """Say what is asked, or what happens. Returns the name of the question; only answers to it count."""
        with self._lock:
            self._number += 1
            question = f"{self._session}-{self._number}"
            self._now = {"question": question, "state": state, "since": time.time(), **about}
            self.write("now.json", json.dumps(self._now).encode())
        return question

    def add(self, **about: Any) -> None:
        """Add to what is shown, without asking anew. Any thread may call it."""
        with self._lock:
            self._now |= about
            self.write("now.json", json.dumps(self._now).encode())

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the desk soon, as a whole."""
        self._writes.put((name, data))

    def watch(self, live: Live = no_frame, cameras: Sequence[str] = ()) -> None:
        """Show what these cameras see from now on."""
        self._live = (live, cameras)

    def answer(self) -> DeskAnswer | None:
        """The next answer, if there is one. It never blocks."""
        try:
            return self._answers.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        if not self._ended.is_set():
            self.show("closed", text="Nobody runs this study now.")
            self._ended.set()
            self._thread.join(2.0)
            os.close(self._lock_file)

    def _work(self) -> None:
        shown = 0.0
        while True:
            ended = self._ended.wait(LOOK_S)
            try:
                self._write()
                if ended:
                    return
                self._read()
                if time.monotonic() - shown >= LIVE_S:
                    shown = time.monotonic()
                    self._look()
            except Exception:  # a full disk or a lost camera must not end the page, whose STOP is read here
                if ended:
                    return

    def _write(self) -> None:
        while not self._writes.empty():
            name, data = self._writes.get()
            part = self.folder / f"{name}.part"
            with open(create(part), "wb") as file:
                file.write(data)
            os.replace(part, self.folder / name)

    def _read(self) -> None:
        for name in sorted(os.listdir(self._inbox)):
            if not name.endswith(".json"):
                continue  # it is being written
            path = self._inbox / name
            answer = _answer(path)
            path.unlink(missing_ok=True)
            if answer is not None:
                self._answers.put(answer)

    def _look(self) -> None:
        live, cameras = self._live
        for camera in cameras:
            frame = live(camera)
            if frame is not None:
                self.write(picture_name("live", camera), write_png(smaller(frame), level=1))


def picture_name(kind: str, camera: str) -> str:
    """The file of a camera's picture: `live` or `sim`."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]+', '_', camera)}.png"


def smaller(frame: np.ndarray, widest: int = WIDEST) -> np.ndarray:
    """(height, width, 3) uint8 at most so wide: every k-th pixel."""
    step = -(-frame.shape[1] // widest)
    return np.ascontiguousarray(frame[::step, ::step, :3]).astype(np.uint8, copy=False)


def _answer(path: Path) -> DeskAnswer | None:
    """What a file of the inbox says; None where it says nothing."""
    try:
        given: Any = json.loads(read_file(path, MOST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(given, Mapping) or not isinstance(given.get("question"), str):
        return None
    key, text = given.get("key"), given.get("text")
    if not all(value is None or isinstance(value, str) for value in (key, text)):
        return None
    return DeskAnswer(given["question"], key, text)
