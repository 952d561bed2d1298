"""Shared by the tests that run studies: a brief task, policies that misbehave on request, and the command line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pytest
import yaml

import foretell.cli
from foretell.episodes.read import read
from foretell.seeding import seed
from foretell.study.plan import make_task

TASK = '''
import os
from pathlib import Path

from foretell.tasks.lift import Lift

DEADLY = Path(__file__).with_name("deadly")


class Brief(Lift):
    """Lift, but in four seconds."""

    name = "brief"
    time_limit = 4.0


class Blink(Brief):
    """Over before it has begun."""

    name = "blink"
    time_limit = 0.5


class Deadly(Blink):
    """Kills its process, outside any policy, while a file says so."""

    name = "deadly"

    def reached(self, state):
        if DEADLY.exists():
            os._exit(7)
        return super().reached(state)
'''

POLICY = '''
import ctypes, json, os, signal, subprocess, sys, threading, time
from pathlib import Path

import numpy as np

from foretell import Chunk, Policy, PolicySpec, Stream
from foretell.policies.expert import NoisyExpert

FAULTS = Path(__file__).with_name("faults.json")


class Faulty(NoisyExpert):
    """A policy with a state (its noise), called for all slots at once; FAULTS says what to do wrong, and when."""

    files = ()  # FAULTS is no part of what it is known by

    def __init__(self):
        super().__init__(0.2)
        self.faults = json.loads(FAULTS.read_text()) if FAULTS.exists() else {}
        self.seeds = {}
        if "init" in self.faults:
            raise RuntimeError("no weights")

    def bind(self, task, action):
        super().bind(task, action)
        if "bind" in self.faults:
            raise RuntimeError("not made for this")

    def reset(self, slots, instructions, seeds):
        super().reset(slots, instructions, seeds)
        self.seeds |= dict(zip(slots.tolist(), map(str, seeds)))
        if any(self.fault(slot) == "reset" for slot in slots.tolist()):
            raise RuntimeError("cannot begin")

    def fault(self, slot):
        return self.faults.get(self.seeds[slot])

    def act(self, slots, observations):
        time.sleep(self.faults.get("sleep", 0))
        actions = super().act(slots, observations)
        for row, slot in enumerate(slots.tolist()):
            if observations["time"][row] >= 0.2:  # not at once: the neighbours are well under way
                actions = self.err(self.fault(slot), actions, row)
        return actions

    def err(self, fault, actions, row):
        if fault == "raise":
            raise ZeroDivisionError("one in a thousand")
        elif fault == "nan":
            actions[row, 2] = np.nan
        elif fault == "shape":
            return actions[:, :6]
        elif fault == "type":
            return {"action": actions}
        elif fault == "wild":
            return Wild()
        elif fault == "range":
            actions[row, 0] = 1.5
        elif fault == "hang":
            threading.Event().wait()
        elif fault == "spin":  # in C, without letting go of the interpreter
            Path(__file__).with_name("spinning").touch()
            sum(range(10**15))
        elif fault == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault == "exit":
            os._exit(3)
        elif fault == "sys.exit":
            sys.exit("enough")
        elif fault == "segfault":
            ctypes.string_at(0)
        return actions


class Wild:
    def __array__(self, *_, **__):
        raise RuntimeError("a tensor on another device")


class Chunked(Policy):
    """Eight actions a call, five of them run; reads history; called for four slots at a time."""

    spec = PolicySpec(
        reads={"cube/pos": Stream((3,)), "panda/ee_pos": Stream((3,), history=2)},
        chunk=8,
        execute=5,
        batch=4,
        seeded=True,
    )

    def __init__(self, gain=4.0):
        self.gain, self.bias = gain, {}

    def reset(self, slots, instructions, seeds):
        self.bias |= {s: np.random.default_rng(k).normal(0, 0.2, 3) for s, k in zip(slots.tolist(), seeds)}

    def act(self, slots, observations):
        ee = observations["panda/ee_pos"]
        wanted = self.gain * (observations["cube/pos"] - ee[:, -1]) - (ee[:, -1] - ee[:, 0])
        wanted += [self.bias[s] for s in slots.tolist()]
        actions = np.zeros((len(slots), 8, 7))
        actions[:, :, :3] = np.clip(wanted, -1, 1)[:, None] * np.linspace(1, 0.5, 8)[None, :, None]
        return Chunk(actions)


class Talker(Faulty):
    """Prints everywhere, reads standard input, starts programs, and cannot even end quietly."""

    def act(self, slots, observations):
        print("hello")
        os.write(1, b"hello from C\\n")
        subprocess.run("echo hello from a child; cat", shell=True, check=True)
        assert sys.stdin.read() == ""
        return super().act(slots, observations)

    def __del__(self):
        raise RuntimeError("from beyond")


class Blind(Faulty):
    """Refuses to act where anything that draws was loaded."""

    def act(self, slots, observations):
        drawing = {"OpenGL", "glfw", "mujoco.egl", "mujoco.osmesa", "foretell.sim.egl", "av"} & set(sys.modules)
        if drawing:
            raise RuntimeError(f"loaded: {drawing}")
        return super().act(slots, observations)
'''


class Lab:
    """A folder with a task file, a policy file and studies."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        (folder / "task.py").write_text(TASK)
        (folder / "policy.py").write_text(POLICY)

    def study(self, name: str = "study", task: str = "Brief", count: int = 6, **changes: Any) -> Path:
        """Write a study file."""
        contents = {
            "name": name,
            "tasks": [f"task.py:{task}"],
            "policies": {"faulty": "policy.py:Faulty"},
            "scenarios": {"count": count},
            "policy_timeout": 3.0,
        }
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(contents | changes, allow_unicode=True))
        return path

    def seeds(self, task: str = "Brief", count: int = 6, trial: int = 0) -> list[str]:
        """What `reset` is told in each scenario, by which a policy can know it."""
        made = make_task(f"{self.folder / 'task.py'}:{task}")
        return [str(seed(made.scenario(i).base, trial, "policy")) for i in range(count)]

    def faults(self, **faults: Any) -> None:
        (self.folder / "faults.json").write_text(json.dumps(faults))

    def calm(self) -> None:
        (self.folder / "faults.json").unlink(missing_ok=True)


def rows(run: Path) -> pa.Table:
    """All of a run that must be the same every time."""
    table = read(run)
    assert len(set(table["episode"].to_pylist())) == len(table)
    return table.select([name for name in table.column_names if not name.startswith("wall_")])


def command(*arguments: object) -> list[str]:
    # -P: as the installed script does, keep the current folder off Python's path
    return [sys.executable, "-P", "-m", "foretell", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    source = str(Path(foretell.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "COLUMNS": "200", **more}


def cli(*arguments: object, cwd: Path, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, which must be `code` and without a traceback: in this process, which has imported all
    that it needs, or in one of its own if it has an environment of its own."""
    if more:
        done = subprocess.run(
            command(*arguments), cwd=cwd, env=environment(**more), capture_output=True, text=True, timeout=120
        )
    else:
        done = _here([str(argument) for argument in arguments], cwd)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _here(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """As `foretell` would do it; leaves nothing that the next command could see."""
    before, handler, code = set(sys.modules), signal.getsignal(signal.SIGTERM), 0
    with pytest.MonkeyPatch.context() as patch, _printed() as (out, err):
        patch.chdir(cwd)
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "path", list(sys.path))
        patch.setattr(sys, "argv", ["foretell", *arguments])
        try:
            foretell.cli.main(arguments)
        except SystemExit as end:
            code = end.code or 0
        finally:
            signal.signal(signal.SIGTERM, handler)
            for name in set(sys.modules) - before:
                if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(cwd.resolve()):
                    del sys.modules[name]
        texts = [(file.flush(), file.seek(0), file.read())[2] for file in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *texts)


@contextlib.contextmanager
def _printed() -> Iterator[tuple[IO[str], IO[str]]]:
    """Files of what is printed meanwhile, with that of other processes and with warnings, which pytest would keep."""

    def show(message: Any, category: Any, filename: str, line: int, *_: object) -> None:
        print(warnings.formatwarning(message, category, filename, line), end="", file=sys.stderr)

    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        for quiet in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", quiet)
        warnings.showwarning = show
        kept = os.dup(1), os.dup(2)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            yield out, err
        finally:
            for number, copy in enumerate(kept, start=1):
                os.dup2(copy, number)
                os.close(copy)


def refused(*arguments: object, cwd: Path) -> str:
    """The message of a command that cannot be done as asked."""
    done = cli(*arguments, cwd=cwd, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("foretell: ")
    return done.stderr


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """What the condition gives, once it gives something."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)
    return found


def marked(mark: str, but: int = 0) -> list[int]:
    """Living processes with FORETELL_TEST=mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != but:
            with contextlib.suppress(OSError):
                dead = (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
                if not dead and f"FORETELL_TEST={mark}\0".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


def workers(mark: str) -> list[int]:
    """Those of them that are workers."""
    found = []
    for pid in marked(mark):
        with contextlib.suppress(OSError):
            if b"foretell.study.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def lines(run: Path) -> int:
    """Episodes in the journal."""
    total = 0
    for path in (run / "journal").glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError):
            total += path.read_bytes().count(b"\n")
    return total


@contextlib.contextmanager
def background(*arguments: object, cwd: Path, mark: str) -> Iterator[subprocess.Popen[str]]:
    """A command in a process group of its own, as a shell starts it; killed at the end if it still runs."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        env=environment(FORETELL_TEST=mark),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        left = time.monotonic() + 5
        while (pids := marked(mark)) and time.monotonic() < left:
            time.sleep(0.01)
        for pid in pids:  # a test that fails leaves nothing behind either
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
