"""Policies in a process and a Python environment of their own: `lerobot:`, `python:` and `torchscript:`.

The process needs nothing of foretell. It keeps what a policy remembers, so an episode ends with it: the episode is the
machine's, runs again with the next command, and the next episode starts another process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foretell import __version__
from foretell.digest import as_json
from foretell.errors import LinkError, PolicyError, UsageError
from foretell.fingerprint.loaded import digests
from foretell.hardware import wire
from foretell.hardware.spawn import finish, spawn
from foretell.hardware.wire import LinkLost, WireError

__all__ = ["Hosted", "python_of"]

OPENING_S, TIMEOUT_S = 600.0, 60.0
"""Wall seconds that a policy may take to load, and to answer."""
LARGEST = wire.MOST_BYTES // 2
"""Bytes of the observations of one message; more slots are asked for in several."""
SCRIPT = Path(__file__).parent / "hosts" / "main.py"


@dataclass(frozen=True, kw_only=True)
class Running:
    """A process, and what its policy said of itself."""

    process: subprocess.Popen[bytes]
    link: socket.socket
    about: dict[str, Any]
    known: str
    """Digest of the files that it loaded."""

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)
        self.link.close()
        finish(self.process, 0.5)

    def ended(self) -> str:
        """How the process ended, in words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self.process.wait(0.2)
            return f" (its process ended with {f'signal {-code}' if code < 0 else f'exit code {code}'})"
        return ""


class Hosted:
    """One process, started when it is first needed and again when it has died. `keeps`: another policy of the same
    file and options may take the process over; that of a class of a user's own may hold anything."""

    def __init__(self, kind: str, *, use: str, options: Mapping[str, Any], env: str | None, timeout: float):
        if not timeout > 0:
            raise UsageError(f"timeout is {timeout!r:.60}, it must be above 0 s")
        self.kind, self.use, self.options, self.timeout = kind, use, dict(options), timeout
        self.python = python_of(env)
        self.starts = 0
        """How often the process was started; what a slot remembers is lost with each."""
        self._keeps = kind != "python"
        self._key = as_json([kind, use, self.options, self.python])
        self._calls = 0
        self._running: Running | None = None
        self._end: weakref.finalize[Any, Any] = weakref.finalize(self, lambda: None)

    @property
    def about(self) -> dict[str, Any]:
        return self._running.about if self._running is not None else {}

    def open(self) -> dict[str, Any]:
        """Start the process where none runs; what the policy says of itself. Raises UsageError where it cannot be made
        there, LinkError where the process ends or hangs."""
        if self._running is None:
            self._running = self._idle() or self._start()
            end: Any = _give_back if self._keeps else _stop
            self._end = weakref.finalize(self, end, self._running, self._key)
            self.starts += 1
        return self._running.about

    def _idle(self) -> Running | None:
        """A process that another policy has left, if its files are the same."""
        running = _IDLE.pop(self._key, None)
        if running is not None and (running.process.poll() is not None or running.known != self._files(running.about)):
            running.stop()
            return None
        return running

    def _start(self) -> Running:
        known = self._files({})  # before it loads them: a file that changes meanwhile makes another policy
        process, link = spawn(self.python, SCRIPT, field="env", apart=False, more={"OMP_NUM_THREADS": "1"})
        running = Running(process=process, link=link, about={}, known=known)
        hello = {"protocol": wire.PROTOCOL, "version": __version__, "kind": self.kind}
        try:
            wire.send(link, {**hello, "use": self.use, "options": self.options}, OPENING_S)
            answer = wire.receive(link, OPENING_S)
        except (LinkLost, WireError) as error:
            code = running.ended()
            running.stop()
            raise LinkError(f"{self.use}: its process in {self.python} did not start: {error}{code}") from None
        words = answer.get("refused") or wire.refusal(answer, "this end", __version__, "the policy's process")
        if words or not isinstance(answer.get("hello"), dict):
            running.stop()
            raise UsageError(f"{self.use}, in {self.python}: {words or 'its process says nothing of itself'}")
        running.about.update(answer["hello"])
        return running if self._keeps else replace(running, known=self._files(running.about))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The answer to a call. Raises PolicyError for what the policy did wrong, LinkError where its process is
        gone, hangs or answers nonsense."""
        running = self._running
        if running is None:
            raise LinkError(f"{self.use}: its process is gone")
        self._calls += 1
        try:
            wire.send(running.link, {"id": self._calls, "call": name, "arguments": dict(arguments)}, self.timeout)
            answer = wire.receive(running.link, self.timeout)
            if answer.get("id") != self._calls:
                raise WireError(f"the answer is to call {answer.get('id')!r:.20} instead of {self._calls}")
        except (LinkLost, WireError) as error:
            code = running.ended()
            self.close()
            raise LinkError(f"{self.use}: {name}: {error}{code}; `timeout` is {self.timeout:g} s") from None
        if "error" in answer:
            wrong = PolicyError(f"{name} raised {answer['error']!s:.2000}")
            wrong.add_note(str(answer.get("trace", "")))
            raise wrong
        return answer.get("answer")

    def close(self) -> None:
        """End the process."""
        running, self._running = self._running, None
        self._end.detach()
        if running is not None:
            running.stop()

    def fingerprint(self) -> str:
        """Of the files that the policy was made of and the versions of what runs it."""
        self.open()
        assert self._running is not None
        known = [self.kind, Path(self.use).name, self._running.known, self.about.get("versions", {})]
        return hashlib.sha256(as_json(known).encode()).hexdigest()

    def _files(self, about: Mapping[str, Any]) -> str:
        """Digest of a file, of a folder's files, or of those that a class of one's own has opened."""
        paths = [Path(path) for path in about.get("files", ())] if not self._keeps else [Path(self.use)]
        if self._keeps and paths[0].is_dir():
            paths = [path for path in paths[0].iterdir() if path.is_file()]
        files = digests({path.resolve() for path in paths})
        return as_json([[file.name, file.size, file.sha256] for file in files])


_IDLE: dict[str, Running] = {}
"""Processes that no policy has now; the oldest first."""
IDLE = 4
"""How many of them are kept."""


def _give_back(running: Running, key: str) -> None:
    """Keep the process of a policy that is no longer used: to load one takes long."""
    for old in [_IDLE.pop(key, None), *(_IDLE.pop(next(iter(_IDLE))) for _ in range(len(_IDLE) - IDLE + 1))]:
        if old is not None:
            old.stop()
    _IDLE[key] = running


def _stop(running: Running, key: str) -> None:
    running.stop()


class Memory:
    """Which slots the process knows: those whose episode began since it was last started."""

    def __init__(self, host: Hosted):
        self._host = host
        self._since: dict[int, int] = {}

    def begin(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        """Tell the process of new episodes. Where it is gone, `check` says so: `reset` may not fail."""
        for slot in slots.tolist():
            self._since[slot] = -1
        try:
            self._host.open()
            episodes = {"slots": slots.tolist(), "instructions": list(instructions), "seeds": [int(s) for s in seeds]}
            self._host.call("reset", episodes)
        except (LinkError, UsageError) as error:
            self._why = str(error)
            return
        for slot in slots.tolist():
            self._since[slot] = self._host.starts

    def check(self, slots: np.ndarray) -> None:
        """Raise LinkError where the process has been started anew in the middle of an episode."""
        for slot in slots.tolist():
            if self._since.get(slot, self._host.starts) == -1:
                raise LinkError(self._why)
            if self._since.get(slot, self._host.starts) != self._host.starts:
                raise LinkError(f"{self._host.use}: its process was started anew, and what it remembered is lost")


def ask_in_parts(host: Hosted, slots: np.ndarray, observations: Mapping[str, Any], batch: int | None) -> dict[str, Any]:
    """The answer of `act`, asked in as many messages as the size of its observations needs. A policy with a fixed
    batch gets one message."""
    row = sum(value[:1].nbytes for value in observations.values() if isinstance(value, np.ndarray))
    most = len(slots) if batch else max(1, LARGEST // max(1, row))
    parts = []
    for at in range(0, len(slots), most):
        given = {name: value[at : at + most] for name, value in observations.items()}
        answer = host.call("act", {"slots": slots[at : at + most].tolist(), "observations": given})
        if not isinstance(answer, dict) or "actions" not in answer:
            raise PolicyError("the policy's process answered without `actions`")
        parts.append(answer)
    try:
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    except (KeyError, ValueError) as error:
        raise PolicyError(f"the policy's answers do not fit together: {error}") from None


def python_of(env: str | None) -> str:
    """The Python of an environment: a folder such as venv makes, or a Python. Without one, that of foretell."""
    if env is None:
        return sys.executable
    if not isinstance(env, str) or not env:
        raise UsageError(f"env: {env!r:.80} should be the folder of a virtual environment, or a Python")
    path = Path(os.path.expanduser(env))
    if path.is_dir():
        python = path / "bin" / "python"
        if not python.is_file():
            raise UsageError(f"env: {env!r:.300} is no virtual environment: there is no {python}")
        return str(python.absolute())
    if "/" not in env and (there := shutil.which(env)):
        return there
    if not path.is_file():
        raise UsageError(f"env: there is no virtual environment {env!r:.300}; make one with: python -m venv {env:.300}")
    return str(path.absolute())
