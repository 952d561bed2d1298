"""A second judge at a real terminal: blind, in random order, resumed, and compared with the first verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made
import pytest
from keyboard import Keyboard
from studies import cli

import foretell
from foretell.answers.agreement import agreement
from foretell.episodes.verdicts import verdict_lines
from foretell.judging.confirm import confirms
from foretell.person.judgement import Judgement
from foretell.person.review import FilmCard
from foretell.study.second import second_judge
from foretell.verdict_lines import append_verdict


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Six episodes of two policies; all but the last were filmed, by two cameras."""
    scenarios, episodes = made.rows({"hush-a": 1.0, "hush-b": 0.0}, 3, judge="person", world="robot")
    path = made.run(tmp_path / "run", scenarios, episodes)
    (path / "frames").mkdir()
    for episode in episodes[:-1]:
        for camera in ("front", "wrist"):
            (path / "frames" / f"{episode.episode}-{camera}.mp4").write_bytes(b"film")
    return path


class Scripted:
    """A judge who answers from a list, and notes what is shown."""

    def __init__(self, answers: list[Any]):
        self.answers, self.cards = answers, list[FilmCard]()

    def __call__(self, run: Path) -> Scripted:
        return self

    def review(self, card: FilmCard) -> Any:
        self.cards.append(card)
        return self.answers.pop(0)

    def close(self) -> None:
        self.cards.append(None)  # type: ignore[arg-type]


YES, NO, UNSURE = Judgement(success=True), Judgement(success=False, note="too early"), Judgement(success=None)


def test_it_stops_and_goes_on_and_no_film_is_lost_or_doubled(run: Path) -> None:
    first = Scripted([YES, NO, "stop"])
    done = second_judge(run, "ann", first)
    assert (done.judged, done.left, done.without_film) == (2, 3, 1) and first.cards[-1] is None
    assert [card.number for card in first.cards[:-1]] == [1, 2, 3] and first.cards[0].count == 5
    second = Scripted([YES, "back", NO, YES, UNSURE])
    done = second_judge(run, "ann", second)
    assert (done.judged, done.left) == (3, 0)
    assert [card.number for card in second.cards[:-1]] == [3, 4, 3, 4, 5]
    lines = verdict_lines(run, "ann")
    assert len(lines) == 6 and len({line["episode"] for line in lines}) == 5
    assert second_judge(run, "ann", Scripted([])).judged == 0  # nobody is asked
    shown = [str(card.films["front"]) for card in (*first.cards[:2], *second.cards[-4:-1])]
    assert len(set(shown)) == 5


def test_each_judge_has_an_order_of_their_own(run: Path) -> None:
    orders = set()
    for name in ("ann", "bo", "cy", "di"):
        judge = Scripted([YES] * 5)
        second_judge(run, name, judge)
        orders.add(tuple(str(card.films["front"]) for card in judge.cards[:-1]))
    planned = [f"{row['episode']}-front.mp4" for row in foretell.read(run).to_pylist()][:5]
    assert len(orders) > 2 and tuple(planned) not in orders


def test_agreement_counts_what_both_judged(run: Path) -> None:
    truth = {row["episode"]: row["success"] for row in foretell.read(run).to_pylist()}

    class Knows(Scripted):
        def review(self, card: FilmCard) -> Any:
            episode = card.films["front"].name.partition("-")[0]
            self.cards.append(card)
            if len(self.cards) == 1:
                return UNSURE
            said = truth[episode]
            return Judgement(success=not said if len(self.cards) == 2 else said, note="hm")

    second_judge(run, "ann", Knows([]))
    (answer,) = agreement(run)
    assert (answer.judge, answer.n, answer.unsure, answer.episodes) == ("ann", 4, 1, 6)
    assert answer.equal is not None and answer.equal.estimate == 0.75
    assert len(answer.differences) == 1 and answer.differences[0]["note"] == "hm"
    assert "Second judge ann: 3 of 4 verdicts equal, of 6 episodes" in answer.text()
    assert answer.differences[0]["episode"] in answer.text()
    said = cli("show", "run", cwd=run.parent).stdout
    assert "Second judge ann: 3 of 4 verdicts equal" in said and "Cohen's kappa" in said
    json.dumps(answer.to_dict())
    assert agreement(run, "bo") == []


def test_what_a_detector_waits_for_comes_first(run: Path) -> None:
    rows = {row["episode"]: row["scenario"] for row in foretell.read(run).to_pylist()}
    share, seed = 0.4, next(s for s in range(99) if sum(confirms(u, 0.4, s) for u in set(rows.values())) == 1)
    line = {"kind": "detector", "judge": "detector-x", "success": True, "score": 1.0, "confirm": share, "seed": seed}
    append_verdict(run, "detector-x", {**line, "episode": next(iter(rows))})
    judge = Scripted([YES] * 5)
    second_judge(run, "ann", judge)
    shown = [confirms(rows[card.films["front"].name.partition("-")[0]], share, seed) for card in judge.cards[:-1]]
    assert 1 <= sum(shown) <= 2 and shown == sorted(shown, reverse=True)


@pytest.mark.parametrize("name", ["person", "detector-x", "../x", "", "a b", "-x"])
def test_names_that_are_none(run: Path, name: str) -> None:
    with pytest.raises(foretell.UsageError, match="by: "):
        second_judge(run, name, Scripted([]))


def test_a_run_without_films_says_what_to_do(run: Path) -> None:
    for film in (run / "frames").iterdir():
        film.unlink()
    with pytest.raises(foretell.UsageError, match=r"record: \{video: all\}"):
        second_judge(run, "ann", Scripted([]))
    with pytest.raises(foretell.UsageError, match="by, detector: they judge films"):
        foretell.judge(run, by="ann", task="lift")


def test_at_a_terminal_nothing_tells_the_policy_or_the_verdict(run: Path, tmp_path: Path) -> None:
    with Keyboard("-m", "foretell", "judge", "run", "--by", "ann", folder=tmp_path) as keyboard:
        card = keyboard.see("Watch the film.")
        assert "Film 1 of 5" in card and "lift: " in card and "run/desk/films/film-1-1.mp4" in card
        assert (run / "desk/films/film-1-1.mp4").read_bytes() == b"film"
        keyboard.press("\n")
        keyboard.see("Did the robot do it?")
        keyboard.press("n")
        keyboard.see("How far did it get?")
        keyboard.press("1")
        keyboard.see("What happened?")
        keyboard.press("d\n")
        keyboard.see("Note: none")
        keyboard.press("\n")
        keyboard.see("Film 2 of 5")
        keyboard.see("Watch the film.")
        keyboard.press("b")
        keyboard.see("Film 1 of 5")
        keyboard.see("Watch the film.")
        keyboard.press("x")
        keyboard.see("Film 2 of 5")
        keyboard.see("Watch the film.")
        keyboard.press("q")
        keyboard.see("1 film judged by ann, 4 left; run the same command to go on")
        assert keyboard.end() == 0
        shown = keyboard.screen
    assert "hush" not in shown and "robot:" not in shown and "kappa" not in shown
    assert not (run / "desk/films").exists()
    lines = verdict_lines(run, "ann")
    assert [line["success"] for line in lines] == [False, None] and lines[0]["events"] == ["dropped"]


def test_without_a_terminal_nobody_is_asked(run: Path) -> None:
    said = cli("judge", "run", "--by", "ann", cwd=run.parent, code=2).stderr
    assert "needs a person at a terminal" in said
