"""The live table of a terminal: it fits, whatever the terminal and however many cells, and names stay names."""

from __future__ import annotations

import time

import pytest
from rich.cells import cell_len

from foretell.episodes.tally import Tally
from foretell.study.progress import draw, lasting, speed
from foretell.study.status import Progress


def progress(policies: int, done: float, arms: tuple[str, ...] = ("none",)) -> Progress:
    names = {"world": "mujoco", "world_hash": "w", "task": "lift", "policy_options": "{}", "clock": '{"kind": "sync"}'}
    cells = [
        {**names, "policy": f"[bold]policy 木 {i}", "policy_hash": "p", "arm": a} for i in range(policies) for a in arms
    ]
    plan = [{**c, "unit": f"{u}", "episode": f"{c['policy']}{c['arm']}{u}"} for c in cells for u in range(10)]
    tally, now = Tally(plan, since=time.time() - 20), time.time()
    for entry in plan[: int(done * len(plan))]:
        tally.add({**entry, "success": True, "blame": None, "wall_started": now - 10, "wall_s": 5.0})
    return Progress(
        planned=len(plan), done=int(done * len(plan)), ran=1, tally=tally, study="a study with a long name " * 3
    )


@pytest.mark.parametrize("width", [1, 8, 12, 20, 33, 47, 60, 80, 132])
@pytest.mark.parametrize(("policies", "done"), [(1, 0.0), (3, 0.5), (40, 0.71), (3, 1.0)])
def test_it_fits_any_terminal(width: int, policies: int, done: float) -> None:
    for height in (10, 24, 60):
        lines = draw(progress(policies, done, ("none", "a rather long arm+another")), width, height).plain.split("\n")
        assert len(lines) < height
        assert max(map(cell_len, lines)) <= max(width, 20)


def test_what_runs_is_shown_first_and_the_rest_is_counted() -> None:
    text = draw(progress(40, 0.71), 100, 20).plain
    assert "[bold]policy 木 28   4/10" in text and "running" in text
    assert "more complete; 11 waiting" in text
    assert "284/400 episodes" in text
    assert "/s" in text and " left" in text


def test_figures_go_and_the_line_stays_when_all_is_done() -> None:
    text = draw(progress(2, 1.0), 100, 20, figures=False).plain
    assert "\n" not in text and "20/20 episodes" in text and "left" not in text


def test_speeds_and_spans_read_well() -> None:
    assert [speed(p) for p in (None, 250.0, 12.34, 0.05)] == ["", "250/s", "12.3/s", "3.0/min"]
    assert [lasting(s) for s in (0, 41.2, 725, 11400, 1e12)] == ["0:00", "0:42", "12:05", "3:10:00", "2400:00:00"]
