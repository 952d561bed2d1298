"""Processes that policies start, and processes that somebody else ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from studies import Lab, background, cli, lines, marked, rows, wait_for, workers

import foretell
from foretell.process import end, gone, listen, start

HELPERS = """
import multiprocessing, os, signal, time
from pathlib import Path
from foretell.policies.random import Random

class Helped(Random):
    def __init__(self):
        super().__init__()
        context = multiprocessing.get_context("fork")
        context.Process(target=time.sleep, args=(1000,), daemon=False).start()

class Mortal(Random):
    \"\"\"Is killed as long as a file says so; the file may say that once is enough.\"\"\"
    def act(self, slots, observations):
        deadly = Path(__file__).with_name("mortal")
        if deadly.exists():
            if deadly.read_text() == "once":
                deadly.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().act(slots, observations)
"""


@pytest.fixture(scope="module")
def clean(lab: Lab) -> pa.Table:
    """The rows of a run in which nothing goes wrong."""
    lab.calm()
    return rows(
        foretell.run(lab.study("slow", "Blink", 6, policy_timeout=2.0), out=lab.folder / "clean", workers=0).path
    )


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    lab = Lab(tmp_path_factory.mktemp("lab"))
    (lab.folder / "helpers.py").write_text(HELPERS)
    return lab


def test_a_policy_with_a_process_of_its_own_ends_with_the_study(lab: Lab) -> None:
    """The helper has inherited the worker's pipe: whoever waited for its end would wait for ever."""
    mark = "helped"
    lab.study("helped", "Blink", 2, policies={"p": "helpers.py:Helped"})
    with background("run", "helped.yaml", "--workers", 1, cwd=lab.folder, mark=mark) as process:
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "2 episodes run" in said
        assert wait_for(lambda: not marked(mark), 5)


@pytest.mark.parametrize(
    "verb", [("run", "helped-here.yaml", "--workers", 0), ("check", "policy", "helpers.py:Helped")]
)
def test_a_policy_made_in_the_main_process_holds_no_verb_up(lab: Lab, verb: tuple[object, ...]) -> None:
    """Python waits at its end for processes that `multiprocessing` has started."""
    mark = f"helped-{verb[0]}"
    lab.study("helped-here", "Blink", 2, policies={"p": "helpers.py:Helped"})
    with background(*verb, cwd=lab.folder, mark=mark) as process:
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert wait_for(lambda: not marked(mark), 5)


@pytest.mark.daily
def test_a_study_that_was_stopped_for_a_while_goes_on(lab: Lab, clean: pa.Table) -> None:
    """Nobody was late: the time in which nobody looked does not count as a policy's."""
    mark, out = "paused", lab.folder / "paused"
    lab.study("slow", "Blink", 6, policy_timeout=2.0)
    lab.faults(sleep=0.05)
    with background(
        "run", "slow.yaml", "--out", out, "--workers", 1, "--slots", 1, cwd=lab.folder, mark=mark
    ) as process:
        wait_for(lambda: lines(out) >= 1)
        pids = [process.pid, *workers(mark)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(2.5)
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)
        process.communicate(timeout=60)
        assert process.returncode == 0
    lab.calm()
    assert rows(out).equals(clean)


def test_rows_do_not_depend_on_the_clock_on_the_wall(
    lab: Lab, clean: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It jumps by days, forth and back, with every look."""
    looks = count()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 1e6 * (-1) ** next(looks))
    study = lab.study("slow", "Blink", 6, policy_timeout=2.0)
    done = foretell.run(study, out=lab.folder / "jumps", workers=0, slots=2)
    assert done.ran == 6 and foretell.run(study, out=done.path, workers=0).ran == 0
    assert rows(done.path).equals(clean)
    assert foretell.show(done.path)[0]["n"] == 6


def test_a_helper_that_has_left_the_group_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "30"], start_new_session=True)
print('{"child": %d}' % child.pid, flush=True)
sys.stdin.read()
"""
    (tmp_path / "escapes.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    heard: list[dict[str, int] | None] = []
    process = start("escapes")
    listen(process, heard.append)
    try:
        (said,) = wait_for(lambda: heard)
        began = time.monotonic()
        assert end(process) == -9 and gone(process)
        assert time.monotonic() - began < 5
    finally:
        os.kill(said["child"], signal.SIGKILL)
    wait_for(lambda: heard[-1] is None)


def test_a_worker_killed_once_from_outside_costs_nothing(lab: Lab) -> None:
    study = lab.study("mortal", "Blink", 3, policies={"p": "helpers.py:Mortal"})
    whole = rows(foretell.run(study, out=lab.folder / "whole", workers=0).path)
    (lab.folder / "mortal").write_text("once")
    done = foretell.run(study, out=lab.folder / "once", workers=1, slots=1)
    assert not (lab.folder / "mortal").exists() and done.notes == ()
    assert rows(done.path).equals(whole)


def test_a_worker_killed_again_and_again_is_the_machines_and_tried_again(lab: Lab) -> None:
    study = lab.study("mortal", "Blink", 1, policies={"p": "helpers.py:Mortal"})
    (lab.folder / "mortal").write_text("always")
    foretell.run(study, out=lab.folder / "again", workers=1, slots=1)
    (lab.folder / "mortal").unlink()
    (row,) = foretell.read(lab.folder / "again").to_pylist()
    assert (row["blame"], row["success"]) == ("machine", None)
    assert row["error"] == "the process died (SIGKILL) inside the policy"
    done = cli("run", "mortal.yaml", "--out", lab.folder / "again", "--workers", 1, cwd=lab.folder)
    assert "1 episode run" in done.stdout
    assert foretell.read(lab.folder / "again")["blame"].to_pylist() == [None]


PLACES = """
import os
from pathlib import Path
from foretell.policies.random import Random

class Placed(Random):
    \"\"\"Writes down which process each episode ran in.\"\"\"
    def reset(self, slots, instructions, seeds):
        with open(Path(__file__).with_name("places"), "a") as file:
            file.write(f"{os.getpid()}\\\\n" * len(slots))
        super().reset(slots, instructions, seeds)
"""


def test_workers_share_a_few_episodes_evenly(lab: Lab) -> None:
    """The first worker must not take all of them while the other one waits."""
    (lab.folder / "places.py").write_text(PLACES.replace("\\\\n", "\\n"))
    study = lab.study("places", "Blink", 6, policies={"p": "places.py:Placed"})
    foretell.run(study, out=lab.folder / "places-run", workers=2)
    counts = Counter((lab.folder / "places").read_text().split())
    assert sorted(counts.values()) == [3, 3]


def test_a_worker_starts_without_what_plans_and_reads_rows() -> None:
    """It would take half as long again to start."""
    code = "import sys, foretell.study.session; print(sorted({'pyarrow', 'foretell.stats'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
