"""A person judges on the terminal: a real pseudo-terminal, with the prompt seen and the answer typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy_world
import pytest
import terminal
import yaml

import foretell

STUDY = {
    "name": "judged",
    "world": "judged.py:Judged",
    "tasks": ["puck.py:Reach"],
    "policies": {"seek": "puck.py:Seek"},
    "scenarios": 2,
}
PROMPT, WHY = "move the puck to the mark: done? [y/n] ", "why not? "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "judged.yaml").write_text(yaml.safe_dump(STUDY))
    return numpy_world.enter(tmp_path, monkeypatch)


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """The same without a terminal."""
    here = str(Path(foretell.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, str(folder)]), "TERM": "xterm"}
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    command = [sys.executable, "-m", "foretell", "run", "judged.yaml", *more]
    return subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)


def converse(folder: Path, answers: list[tuple[str, str]], *more: str) -> tuple[int, str]:
    return terminal.converse(folder, "judged.yaml", answers, *more)


@pytest.mark.parametrize("clock", ["sync", pytest.param("realtime", marks=pytest.mark.daily)])
def test_a_persons_yes_and_no_are_the_rows(folder: Path, clock: Any) -> None:
    (folder / "judged.yaml").write_text(yaml.safe_dump({**STUDY, "clocks": [clock]}))
    for _ in range(8):  # a busy machine may miss the rate, and then nobody is asked
        try:
            code, screen = converse(folder, [(PROMPT, "y"), (PROMPT, "n"), (WHY, "it stuck to the table")])
            break
        except AssertionError as error:
            if "blame machine" not in str(error):
                raise
            shutil.rmtree(folder / "runs")
    else:
        pytest.skip("this machine is too busy for the clock `realtime`")
    assert code == 0, screen
    found = foretell.read(folder / "runs/judged").to_pylist()
    assert [row["blame"] for row in found] == [None, None], found
    judged = {row["success"]: row for row in found}
    assert set(judged) == {True, False}
    assert {(row["judge"], row["real"], row["world"]) for row in found} == {("person", True, "judged")}
    for outcome, row in judged.items():
        assert row["success_any"] is row["success_end"] is outcome
    assert judged[True]["failure_reason"] is None and judged[True]["score"] == 1.0
    assert judged[False]["failure_reason"] == "it stuck to the table"
    # nothing is drawn over the question: from the prompt to the answer there is only what was typed
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "").split("\n")
    assert [line for line in lines if PROMPT in line] == [f"{PROMPT}y", f"{PROMPT}n"], screen
    assert f"{WHY}it stuck to the table" in lines


def test_ctrl_d_at_the_prompt_stops_the_study_like_ctrl_c(folder: Path) -> None:
    code, screen = converse(folder, [(PROMPT, "y"), (PROMPT, "\x04")])
    assert code == 130 and "Run the same command to resume" in screen, screen
    assert foretell.read(folder / "runs/judged")["success"].to_pylist() == [True]


def test_what_a_person_judged_is_not_asked_again(folder: Path) -> None:
    code, screen = converse(folder, [(PROMPT, "y")], "--limit", "1")
    assert code == 0 and screen.count(PROMPT) == 1
    code, screen = converse(folder, [(PROMPT, "maybe"), (PROMPT, "n"), (WHY, "")])
    assert code == 0 and screen.count(PROMPT) == 2  # an answer that is neither is no answer
    reasons = {row["success"]: row["failure_reason"] for row in foretell.read(folder / "runs/judged").to_pylist()}
    assert reasons == {True: None, False: "undone"}
    (figures,) = foretell.show(folder / "runs/judged")
    assert (figures["n"], figures["successes"]) == (2, 1)


def test_reality_is_filmed_as_it_runs_and_not_again(folder: Path) -> None:
    pytest.importorskip("av")
    (folder / "judged.yaml").write_text(yaml.safe_dump({**STUDY, "record": {"video": 1}}))
    code, screen = converse(folder, [(PROMPT, "y"), (PROMPT, "y")])
    assert code == 0 and screen.count(PROMPT) == 2, screen
    assert len(list((folder / "runs/judged/videos").glob("*.mp4"))) == 1


@pytest.mark.parametrize("more", [(), ("--workers", "1"), ("--engine", "here")])
def test_without_a_terminal_nothing_runs(folder: Path, more: tuple[str, ...]) -> None:
    process = start(folder, *more)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert b"needs a person at a terminal, and there is none here" in said
    assert not (folder / "runs").exists()


def test_workers_never_get_it(folder: Path) -> None:
    with pytest.raises(
        foretell.UsageError, match="'processes' cannot run this study, because the world needs a person"
    ):
        foretell.run("judged.yaml", engine="processes")
    # a world that says so only when it is made: its worker refuses it in words, and does not die
    late = "from judged import Judged\n\n\nclass Late(Judged):\n    needs = property(lambda self: {'terminal'})\n"
    (folder / "late.py").write_text(late)
    with pytest.raises(foretell.UsageError, match=r"late\.py:Late has .*in the body of the class"):
        foretell.run({**STUDY, "world": "late.py:Late"}, workers=1)


def test_a_dry_run_asks_nobody(folder: Path) -> None:
    process = start(folder, "--dry-run")
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and said.startswith(b"2 episodes, at most 7 s"), said
