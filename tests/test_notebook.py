"""What a notebook shows of results: every answer without being asked, with names escaped."""

from __future__ import annotations

from pathlib import Path

import made
import pytest

import foretell
from foretell.answers.clocks import Clocks
from foretell.leaderboard import Leaderboard
from foretell.notebook import html_of
from foretell.study.status import Run

NAME = "<b>bc</b> & co"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenarios, rows = made.rows({NAME: 0.8, "dp": 0.4}, 30)
    return made.run(tmp_path_factory.mktemp("runs") / "made", scenarios, rows)


def test_show_is_a_table(run: Path) -> None:
    found = foretell.show(run)
    said = found._repr_html_()
    assert isinstance(found, list) and found[0]["n"] == 30
    assert said.count("<tr>") == 3 and "<th>policy</th>" in said and "world mujoco" in said and "Intervals: " in said
    assert "&lt;b&gt;bc&lt;/b&gt; &amp; co" in said and "<b>bc" not in said


def test_answers_show_their_text(run: Path) -> None:
    rates = {"policy": ["a", "b", "c"], "real": [0.2, 0.5, 0.9], "sim": [0.3, 0.4, 0.8]}
    answers = [
        foretell.bound("14/20"),
        foretell.compare(run),
        foretell.predictivity(rates),
        foretell.budget(width=0.2, rate=0.5),
    ]
    for answer in answers:
        said = answer._repr_html_()
        assert said == html_of(answer.text()) and said.startswith("<p>")
    assert "&lt;b&gt;bc" in answers[1]._repr_html_() and "<b>bc" not in answers[1]._repr_html_()


def test_runs_and_boards_are_shown_too() -> None:
    said = Run(path=Path("runs/a"), planned=4, ran=1, skipped=3, left=0, notes=("a <note>",))._repr_html_()
    assert "1 episode run, 3 were there already; everything is in runs/a" in said and "a &lt;note&gt;" in said
    for kind in (Clocks, Leaderboard):
        assert kind._repr_html_ is foretell.bound("1/2")._repr_html_.__func__


def test_tables_in_text_stay_aligned() -> None:
    said = html_of("A sentence.\n\npolicy  success\nbc       80%\n\nnote: x <y>")
    pre = '<pre style="overflow-x: auto">policy  success\nbc       80%</pre>'
    assert said == f"<p>A sentence.</p>{pre}<p>note: x &lt;y&gt;</p>"
