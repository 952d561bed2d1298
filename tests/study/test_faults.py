"""Whatever policies, users, disks and signals do: finished episodes are kept, and the same command completes the
study with no row lost, doubled or changed."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from studies import Lab, background, cli, command, environment, lines, marked, refused, rows, wait_for, workers

import foretell
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError, UsageError
from foretell.study.status import Run

COUNT = 10


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def clean(lab: Lab) -> pa.Table:
    """The rows of a run in which nothing goes wrong."""
    lab.calm()
    return rows(foretell.run(lab.study(count=COUNT), out=lab.folder / "clean", workers=0).path)


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


def faulty_run(lab: Lab, name: str, faults: list[str], **options: int) -> tuple[Run, dict[str, dict], pa.Table]:
    """Run with scenario i at fault i. Returns the run, fault -> its row, and the rows of all other scenarios."""
    seeds = dict(zip(lab.seeds(count=COUNT), faults, strict=False))
    lab.faults(**seeds)
    try:
        done = foretell.run(lab.study(count=COUNT), out=lab.folder / name, **options)
    finally:
        lab.calm()
    assert done.ran == COUNT
    found = rows(done.path)
    ids = [s.id for s in read_scenarios(done.path)]
    by_id = {row["scenario"]: row for row in found.to_pylist()}
    others = found.filter(pc.is_in(found["scenario"], pa.array(ids[len(faults) :])))
    return done, {fault: by_id[ids[i]] for i, fault in enumerate(faults)}, others


def unharmed(others: pa.Table, clean: pa.Table) -> None:
    assert len(others) >= 3
    assert others.equals(clean.filter(pc.is_in(clean["scenario"], others["scenario"])))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_policy_that_errs_in_some_episodes_harms_no_others(lab: Lab, clean: pa.Table, workers: int) -> None:
    faults = ["raise", "nan", "shape", "type", "wild", "range", "reset"]
    done, row, others = faulty_run(lab, f"errs{workers}", faults, workers=workers)
    unharmed(others, clean)
    for fault, error in {
        "raise": "act raised ZeroDivisionError: one in a thousand",
        "nan": "act returned a value that is not finite: nan at action 0, dimension 2",
        "shape": "act returned actions of shape (1, 6), expected (1, 1, 7) (slots, chunk, action)",
        "type": "act returned dict, not an array of numbers: float() argument must be",
        "wild": "act returned Wild, not an array of numbers: a tensor on another device",
        "reset": "reset raised RuntimeError: cannot begin",
    }.items():
        assert row[fault]["error"].startswith(error)
        assert (row[fault]["end"], row[fault]["blame"], row[fault]["success"]) == ("error", "policy", False)
        assert row[fault]["failure_reason"] == "policy error"
        assert row[fault]["steps"] == (0 if fault == "reset" else 4)
    assert row["range"]["blame"] is None and row["range"]["end"] != "error"
    clipped = dict(row["range"]["metrics"])["out_of_range_actions"]
    assert clipped == row["range"]["steps"] - 4
    errors, ranges = sorted(done.notes)
    assert "policy 'faulty' on brief, blame policy: 6 episodes, first episode " in errors
    assert ranges == (
        "policy 'faulty' on brief: actions out of range were clipped: 1 episode, "
        f"first episode {row['range']['episode']}, {clipped:.0f} actions"
    )
    (shown,) = foretell.show(done.path)
    assert (shown["n"], shown["errors"]) == (COUNT, {"policy": 6})


@pytest.mark.slow
def test_a_policy_that_hangs_or_kills_its_process_harms_no_other_episode(lab: Lab, clean: pa.Table) -> None:
    faults = ["hang", "sigkill", "exit", "segfault", "sys.exit", "spin"]
    done, row, others = faulty_run(lab, "kills", faults, workers=2, slots=5)
    unharmed(others, clean)
    for fault, error in {
        "hang": "the policy did not answer within 3 s",
        "spin": "the policy did not answer within 3 s",
        "sigkill": "the process died (SIGKILL) inside the policy",
        "segfault": "the process died (SIGSEGV) inside the policy",
        "exit": "the process died (exit code 3) inside the policy",
        "sys.exit": "the process died (exit code 1) inside the policy",
    }.items():
        assert row[fault]["error"] == error, fault
        judged = ("machine", None) if fault == "sigkill" else ("policy", False)  # who killed it, nobody knows
        assert (row[fault]["end"], row[fault]["blame"], row[fault]["success"]) == ("error", *judged)
    machine, policy = sorted(done.notes)
    assert "policy 'faulty' on brief, blame machine: 1 episode, first episode " in machine
    assert "policy 'faulty' on brief, blame policy: 5 episodes, first episode " in policy
    again = foretell.run(lab.study(count=COUNT), out=done.path, workers=1)
    assert (again.ran, again.skipped) == (1, COUNT - 1), "a policy's own faults are not tried again"
    assert "machine" not in read(done.path)["blame"].to_pylist()


@pytest.mark.daily
def test_one_worker_hangs_while_another_is_busy(lab: Lab) -> None:
    """The other's chatter must not keep us from looking at the clock."""
    lab.faults(**{lab.seeds("Blink", 1)[0]: "hang", "sleep": 0.01})
    study = lab.study("busy", "Blink", 60, policy_timeout=1.0)
    foretell.run(study, out=lab.folder / "busy", workers=2, slots=1)
    lab.calm()
    found = read(lab.folder / "busy")
    assert found["error"].drop_null().to_pylist() == ["the policy did not answer within 1 s"]
    hung = found.filter(pc.is_valid(found["error"]))["wall_started"][0].as_py()
    later = pc.sum(pc.greater(found["wall_started"], hung)).as_py()
    assert later >= 10, "it was found out long before the others were through"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("init", "policy.py:Faulty could not be made: RuntimeError: no weights"),
        ("bind", "policy 'faulty': bind raised RuntimeError: not made for this"),
    ],
    ids=["init", "bind"],
)
def test_a_policy_that_cannot_start_is_refused_before_anything_is_written(lab: Lab, fault: str, error: str) -> None:
    lab.faults(**{fault: True})
    lab.study("start", count=2)
    message = refused("run", "start.yaml", "--workers", 1, cwd=lab.folder)
    lab.calm()
    assert error in message
    assert not (lab.folder / "runs" / "start").exists()


def test_a_policy_may_print_read_and_end_badly(lab: Lab) -> None:
    lab.study("talk", "Blink", 2, policies={"talker": "policy.py:Talker"})
    done = subprocess.run(
        command("run", "talk.yaml", "--json", "--workers", 1),
        cwd=lab.folder,
        env=environment(),
        input="something to read",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["ran"] == 2
    assert json.loads(done.stdout)["notes"] == []
    for said in ("hello", "hello from C", "hello from a child"):
        assert said in done.stderr.splitlines()


def test_an_error_is_a_note_not_a_failure(lab: Lab) -> None:
    lab.faults(**dict.fromkeys(lab.seeds(count=1), "raise"))
    lab.study("noted", count=2)
    done = cli("run", "noted.yaml", "--workers", 1, cwd=lab.folder)
    lab.calm()
    assert "note: policy 'faulty' on brief, blame policy: 1 episode, first episode " in done.stdout
    assert "act raised ZeroDivisionError: one in a thousand" in done.stdout
    assert "1 policy" in done.stdout, "the table shows it"


def test_a_policy_that_raises_every_time_leaves_its_traceback_and_a_code(lab: Lab) -> None:
    (lab.folder / "raises.py").write_text(
        "from foretell.policies.random import Random\n"
        "def deep(n):\n    if n:\n        deep(n - 1)\n    raise KeyError('x' * 50_000)\n"
        "class Raises(Random):\n    def act(self, slots, observations):\n        deep(3)\n"
    )
    policies = {"bad": "raises.py:Raises", "random": "random"}
    lab.study("raises", "Blink", 15, policies=policies)
    for crew in (1, 0):
        out = lab.folder / f"raises-{crew}"
        done = cli("run", "raises.yaml", "--out", out, "--workers", crew, cwd=lab.folder, code=1)
        assert done.stderr.endswith(
            "foretell: every episode of 'bad' ended in an error, so its success rate is unknown\n"
        )
        (note,) = (line for line in done.stdout.splitlines() if line.startswith("note: policy 'bad' on blink"))
        kept = sorted((out / "errors").iterdir())
        assert len(kept) == 10 and all(path.stat().st_size < 20_000 for path in kept)
        named = Path(note.partition(" (traceback in ")[2].partition("): ")[0])
        assert note.index("traceback in") < note.index("KeyError") < 500, "an error text may be long, and is cut"
        assert lab.folder / named in kept
        said = (lab.folder / named).read_text()
        assert said.startswith("Traceback (most recent call last):")
        assert said.count("    deep(n - 1)") == 3 and "characters are left out" in said
    again = cli("run", "raises.yaml", "--out", out, "--json", cwd=lab.folder, code=1)
    assert json.loads(again.stdout)["failing"] == ["bad"], "still true, although nothing ran"


def test_episodes_lost_to_the_machine_are_tried_again(lab: Lab) -> None:
    study, out, deadly = lab.study("deadly", "Deadly", 2), lab.folder / "deadly-run", lab.folder / "deadly"
    deadly.touch()
    done = foretell.run(study, out=out, workers=1)
    deadly.unlink()
    assert done.ran == 2
    assert set(read(out)["error"].to_pylist()) == {"the process died (exit code 7) outside the policy"}
    (shown,) = foretell.show(out)
    assert (shown["n"], shown["rate"], shown["errors"]) == (0, None, {"machine": 2})
    done = foretell.run(study, out=out, workers=1)
    assert (done.ran, done.skipped, done.notes) == (2, 0, ())
    fresh = foretell.run(study, out=lab.folder / "deadly-clean", workers=0)
    assert rows(out).equals(rows(fresh.path))
    assert foretell.run(study, out=out, workers=0).ran == 0


def test_a_worker_that_dies_while_loading_says_what_it_loaded(lab: Lab) -> None:
    (lab.folder / "doomed.py").write_text("import os\nclass Doomed:\n    def __init__(self):\n        os._exit(9)\n")
    study = lab.study("doomed", policies={"mine": "doomed.py:Doomed"})
    with pytest.raises(
        ForetellError, match=r"a worker died \(exit code 9\) while loading .*mine \(.*doomed.py:Doomed\)"
    ):
        foretell.run(study, out=lab.folder / "doomed", workers=1)


def test_a_process_that_a_policy_leaves_behind_holds_nothing_up(lab: Lab) -> None:
    """It has inherited the worker's pipe, so that the pipe does not end when the worker does."""
    text = """
import os, time
from foretell.policies.random import Random
class Forks(Random):
    def act(self, slots, observations):
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
        os._exit(5)
"""
    (lab.folder / "forks.py").write_text(text)
    began = time.monotonic()
    foretell.run(lab.study("forks", "Blink", 1, policies={"p": "forks.py:Forks"}), out=lab.folder / "forks", workers=1)
    assert time.monotonic() - began < 60
    assert read(lab.folder / "forks")["error"].to_pylist() == ["the process died (exit code 5) inside the policy"]


# Signals


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.daily)])
def test_a_stopped_study_goes_on_where_it_was(lab: Lab, clean: pa.Table, mark: str, how: signal.Signals) -> None:
    name = f"stopped-{how.name}"
    lab.study(count=COUNT)
    lab.faults(sleep=0.02)
    out = lab.folder / name
    with background(
        "run", "study.yaml", "--out", out, "--slots", 2, "--workers", 2, cwd=lab.folder, mark=mark
    ) as first:
        wait_for(lambda: lines(out) >= 2)
        with pytest.raises(UsageError, match=f"is being written by process {first.pid} on ") as second:
            foretell.run(lab.folder / "study.yaml", out=out, workers=1)
        assert f"run {name} " in str(second.value) and "run the same command again" in str(second.value)
        wait_for(lambda: lines(out) >= 4)
        assert len(workers(mark)) == 2
        os.killpg(first.pid, how) if how == signal.SIGINT else first.send_signal(how)
        had = time.monotonic()
        said, complained = first.communicate(timeout=60)
        assert time.monotonic() - had < 20
    lab.calm()
    assert first.returncode == 128 + how
    assert said == ""
    *progress, last = complained.splitlines()  # a slow machine tells how far it is
    assert last == "foretell: stopped. Every finished episode is kept. Run the same command to resume"
    assert all(" of 10 episodes, " in line for line in progress)
    assert wait_for(lambda: not marked(mark))
    kept = len(read(out))
    assert 4 <= kept < COUNT
    assert lines(out) == 0, "the journal is sealed"
    done = foretell.run(lab.folder / "study.yaml", out=out, workers=0)
    assert (done.ran, done.skipped) == (COUNT - kept, kept)
    assert rows(out).equals(clean)


def test_ctrl_c_while_workers_start_is_quiet(lab: Lab, mark: str) -> None:
    lab.study("early", "Blink", 2)
    with background("run", "early.yaml", cwd=lab.folder, mark=mark) as process:
        wait_for(lambda: workers(mark))
        os.killpg(process.pid, signal.SIGINT)
        _, complained = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complained.startswith("foretell: stopped") and complained.count("\n") == 1
    assert wait_for(lambda: not marked(mark))


def test_no_worker_outlives_its_parent_even_stuck_in_c(lab: Lab, mark: str) -> None:
    lab.faults(**dict.fromkeys(lab.seeds("Blink", 4), "spin"))
    lab.study("stuck", "Blink", 4, policy_timeout=60)
    (lab.folder / "spinning").unlink(missing_ok=True)
    with background("run", "stuck.yaml", "--workers", 1, cwd=lab.folder, mark=mark) as process:
        wait_for((lab.folder / "spinning").exists)
        assert workers(mark)
        process.kill()
        assert wait_for(lambda: not marked(mark, but=process.pid))
    lab.calm()


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(30, marks=pytest.mark.daily)])
def test_kill_at_random_moments(tmp_path: Path, mark: str, count: int) -> None:
    lab = Lab(tmp_path)
    study = lab.study("killed", "Blink", 60, policies={"faulty": "policy.py:Faulty", "random": "random"})
    whole = rows(foretell.run(study, out=tmp_path / "whole", workers=0).path)
    assert len(whole) == 120
    rng, kills, among, tries = random.Random(0), 0, 0, 0
    late = 3.0  # seconds by which a run has about ended; found as we go, for machines differ and get busy
    least = count // 10 or 1  # kills that should fall among the episodes

    def goes_on() -> bool:
        return kills < count or (among < least and kills < 30)

    while goes_on():
        tries += 1
        out, had, complete = tmp_path / f"killed-{tries}", 0, False
        while not complete and goes_on():
            crew = (2, 0, 1, 0, 0)[kills % 5]
            with background("run", study.name, "--out", out, "--workers", crew, cwd=tmp_path, mark=mark) as process:
                try:
                    complete = process.wait(rng.uniform(0.1, 1.0) * late) == 0
                    assert complete
                except subprocess.TimeoutExpired:
                    process.kill()  # SIGKILL
                    process.wait()
                    kills += 1
                    assert wait_for(lambda: not marked(mark))
            kept = len(rows(out)) if out.exists() else 0
            assert kept >= had
            among += had < kept < 120
            late *= 0.85 if complete else 1.3 if kept == had else 1.0
            had = kept
        foretell.run(study, out=out, workers=0)
        assert rows(out).equals(whole), "every planned episode exactly once, and each as it would have been"
        assert not list((out / "videos").iterdir())
    assert among >= least


# Disks


@pytest.mark.daily
def test_a_full_disk_keeps_what_was_finished(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.study("full", "Blink", 100)
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], capture_output=True
    ).returncode
    try:
        small = (lambda: None) if mounted else (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)))
        full = subprocess.run(
            command("run", "full.yaml", "--out", disk / "run", "--workers", 1),
            cwd=tmp_path, env=environment(), capture_output=True, text=True, preexec_fn=small,
        )  # fmt: skip
        assert full.returncode == 1
        assert full.stdout == ""
        last = full.stderr.splitlines()[-1]  # on a busy machine, progress comes first
        assert last.startswith(f"foretell: run run ({disk}/run) cannot be written: ")
        assert ("No space left on device" if mounted else "File too large") in full.stderr
        assert "are kept: free some space and run the same command to resume" in full.stderr
        assert "Traceback" not in full.stderr
        kept = len(read(disk / "run"))
        assert 10 < kept < 100
        if mounted:
            subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        done = json.loads(cli("run", "full.yaml", "--out", disk / "run", "--json", cwd=tmp_path).stdout)
        assert (done["ran"], done["skipped"], done["notes"]) == (100 - kept, kept, [])
        whole = foretell.run(lab.folder / "full.yaml", out=tmp_path / "whole", workers=0)
        assert rows(disk / "run").equals(rows(whole.path))
    finally:
        if mounted:
            subprocess.run(["umount", disk], check=True)


def test_an_out_that_is_a_file_is_refused(lab: Lab) -> None:
    (lab.folder / "occupied").write_text("")
    with pytest.raises(UsageError, match=r"run occupied .* cannot be opened for writing"):
        foretell.run(lab.study("file", "Blink", 1), out=lab.folder / "occupied", workers=0)
