"""Starts rehearsals for tests: real processes, real sockets, real time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

import foretell
from foretell.hardware.rehearsal import Hands
from foretell.hardware.remote import RemoteRobot

START_S = 60.0


class Rehearsal:
    """A running rehearsal: its process, its hands, and the world file that it printed."""

    def __init__(self, process: subprocess.Popen[str]):
        self.process = process
        assert process.stderr is not None and process.stdout is not None
        words = ""
        while "Ctrl-C ends it" not in words:
            line = process.stderr.readline()
            if not line:
                raise AssertionError(f"the rehearsal did not start: {words}")
            words += line
        address, hands = re.findall(r"127\.0\.0\.1:\d+", words)
        self.hands = Hands(hands)
        printed = os.read(process.stdout.fileno(), 1 << 16).decode()  # printed and flushed before that line
        self.file: dict[str, Any] = yaml.safe_load(printed)
        assert self.file["driver"]["options"]["address"] == address

    def robot(self, patience: float = 1.0) -> RemoteRobot:
        """A driver of it, as a world file makes one."""
        return RemoteRobot(**self.file["driver"]["options"], patience=patience)

    def write(self, path: Path, **changes: Any) -> Path:
        """Its world file on disk, with some fields changed."""
        path.write_text(yaml.safe_dump({**self.file, **changes}, sort_keys=False))
        return path


@contextmanager
def rehearsing(task: str, world: str, *more: str) -> Iterator[Rehearsal]:
    """A rehearsal on free ports, which ends with the block."""
    path = os.pathsep.join([str(Path(foretell.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "foretell.hardware.rehearsal", "--task", task, "--world", world]
    with subprocess.Popen(
        [*command, "--port", "0", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            yield Rehearsal(process)
        finally:
            process.kill()
