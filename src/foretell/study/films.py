"""Which episodes are filmed. Outcomes are known only afterwards, so films are made by running chosen episodes again."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.counting import counted
from foretell.episodes.columns import plain_text
from foretell.episodes.read import read_columns
from foretell.errors import ForetellError
from foretell.rollout import Outcome
from foretell.rollout.video import FRAME_S, frames
from foretell.study.config import Record
from foretell.terminal import brief

if TYPE_CHECKING:
    from foretell.study.plan import Planned

__all__ = ["FAILURES", "FEW", "at_most", "chosen", "film", "steps", "unfilm", "while_it_runs"]

FAILURES = 20
"""Failures of one task, policy, clock and arm that `video: failures` films."""
FEW = 4
"""Films of a study that does not say what to film."""
TIME, SHARE = 30.0, 0.1
"""What these may take: so many seconds of one core, or so large a share of the study's wall time. Each counts as long
as its episode took in the study, and its frames `FRAME_S` each."""


def while_it_runs(record: Record, once: bool, index: int) -> bool:
    """Whether the episode of this scenario is filmed as it runs: where all are, and what runs only `once`."""
    if isinstance(record.video, int) or record.video == "failures":
        return once and index < _most(record)
    return record.video == "all"


def chosen(record: Record, episodes: Mapping[str, Planned], ended: Mapping[str, bool]) -> list[str]:
    """Keys of the episodes to film: of each task, policy, clock and arm the first failures, then successes.

    `ended`: key -> success, of the episodes that were judged. A number is shared between both outcomes, failures
    have the larger half, and what one cannot use goes to the other.
    """
    if record.video == "few":
        return _few(episodes, ended)
    chosen_: list[str] = []
    for names in _cells(episodes):
        failures = [n for n in names if ended.get(n) is False]
        solved = [n for n in names if ended.get(n) is True] if record.video != "failures" else []
        most = _most(record)
        spare = max(0, most // 2 - len(solved))
        some = failures[: (most + 1) // 2 + spare] if solved else failures[:most]
        chosen_ += [*some, *solved[: most - len(some)]]
    return chosen_


def _few(episodes: Mapping[str, Planned], ended: Mapping[str, bool]) -> list[str]:
    """A failure of each task, policy, clock and arm, then a success of each, then another failure of each; together
    at most `FEW`."""
    rounds: tuple[list[str], list[str], list[str]] = [], [], []
    for names in _cells(episodes):
        failures = [n for n in names if ended.get(n) is False][:2]
        solved = [n for n in names if ended.get(n) is True][:1]
        for wanted, some in zip(rounds, (failures[:1], solved, failures[1:]), strict=True):
            wanted += some
    return [name for wanted in rounds for name in wanted][:FEW]


def at_most(record: Record, episodes: list[Planned]) -> int:
    """Films that a study can give."""
    again = {str(i): episode for i, episode in enumerate(episodes)}
    if record.video == "few":
        return min(FEW, sum(min(len(names), 3) for names in _cells(again))) if _encodes() else 0
    later = 0 if record.video == "all" else sum(min(len(names), _most(record)) for names in _cells(again))
    return later + sum(episode.video for episode in episodes)


def film(
    record: Record,
    run: Path,
    *,
    named: Mapping[str, Planned],
    place: Callable[[str], Path],
    again: Callable[[dict[str, Planned]], Iterator[tuple[str, Outcome]]],
    notify: Callable[[str], None],
    spent: float,
) -> list[str]:
    """Film the episodes of a run that are to be filmed and have ended. Returns plain sentences on what went wrong.

    `named`: key -> episode as planned; `place`: key -> where its film goes; `again` runs episodes once more. `spent`:
    wall seconds that the study took.
    """
    few = record.video == "few"
    if record.video in (0, "all") or (few and not _encodes()):
        return []
    columns = ["episode", "success", "steps", "end", "sim_s"]
    rows = {row["episode"]: row for row in plain_text(read_columns(run, [*columns, "wall_s"])).to_pylist()}
    ended = {name: row["success"] for name, row in rows.items() if row["end"] != "error"}
    wanted = chosen(record, named, ended)
    if few:
        wanted = _soon(wanted, rows, spent)
    wanted = [name for name in wanted if not (run / place(name)).exists()]
    if not wanted:
        return []
    notify(f"filming {counted(len(wanted), 'episode')}{' (record: {video: none} films nothing)' if few else ''}")
    try:
        return _filmed(run, {name: named[name] for name in wanted}, rows, place, again)
    except ForetellError as error:
        if not few:
            raise
        return [f"nothing is filmed: {error}; `record: {{video: none}}` asks for no films"]


def _soon(wanted: list[str], rows: Mapping[str, dict[str, Any]], spent: float) -> list[str]:
    """Those that can be filmed in the time that films which nobody asked for may take. What takes longer than the time
    that is left makes room for what comes after it: a page with one outcome is better than one without films."""
    allowed, some = max(TIME, SHARE * spent), []
    for name in wanted:
        takes = rows[name]["wall_s"] + FRAME_S * frames(rows[name]["sim_s"])
        if takes <= allowed:
            allowed -= takes
            some.append(name)
    return some


def _encodes() -> bool:
    """Whether films can be written here; who has not installed that wants none."""
    return importlib.util.find_spec("av") is not None


def _filmed(
    run: Path,
    named: Mapping[str, Planned],
    rows: Mapping[str, dict[str, Any]],
    place: Callable[[str], Path],
    again: Callable[[dict[str, Planned]], Iterator[tuple[str, Outcome]]],
) -> list[str]:
    """Film these episodes. Returns sentences on those that came out otherwise."""
    other: dict[str, list[str]] = {}
    broken: dict[str, list[str]] = {}
    for name, outcome in again({name: replace(episode, video=True, events=False) for name, episode in named.items()}):
        if (outcome.success, outcome.steps, outcome.end) != tuple(rows[name][c] for c in ("success", "steps", "end")):
            unfilm(run, place(name), name)
            who = f"policy {named[name].policy!r} on {named[name].scenario.task}"
            if outcome.blame in ("world", "machine"):  # that tells nothing of the policy
                broken.setdefault(f"{who}, blame {outcome.blame}", []).append(f"{name}: {outcome.error}")
            else:
                other.setdefault(who, []).append(name)
    return [
        f"{who}: {counted(len(errors), 'episode')} could not be filmed, first episode {brief(errors[0])}"
        for who, errors in broken.items()
    ] + [
        f"{who} does not reproduce: {counted(len(names), 'episode')} had another result when filmed, so there is no "
        "film; first "
        f"episode {names[0]}"
        for who, names in other.items()
    ]


def unfilm(run: Path, video: Path, episode: str, keep_steps: bool = False) -> None:
    """Take a film away, and the steps that it shows, unless they are kept for their own sake."""
    for path in (video, steps(episode).with_suffix(".jpg"), *(() if keep_steps else (steps(episode),))):
        (run / path).unlink(missing_ok=True)


def steps(episode: str) -> Path:
    """Within the run folder: the true state and the action after every action of an episode. The strip of pictures of a
    film is beside it, as `.jpg`."""
    return Path("steps") / f"{episode}.parquet"


def _most(record: Record) -> int:
    return record.video if isinstance(record.video, int) else FAILURES


def _cells(episodes: Mapping[str, Planned]) -> Iterator[list[str]]:
    """Keys of each task, policy, clock and arm that can run again, as planned."""

    def cell(item: tuple[str, Planned]) -> tuple[Any, ...]:
        return id(item[1].group), item[1].policy, item[1].arm

    for _, names in groupby(episodes.items(), cell):
        mine = list(names)
        if not mine[0][1].group.once:
            yield [name for name, _ in mine]
