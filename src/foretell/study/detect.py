"""A detector judges the films of a run. It only proposes: rows stay as they are, and a person confirms some."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.episodes.confirmed import PREFIX, confirmed
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.episodes.units import unit_of
from foretell.episodes.verdicts import judges, newest, verdict_lines
from foretell.errors import UsageError, suggest
from foretell.files import inside
from foretell.judging.confirm import SHARE, check_share, confirms
from foretell.judging.detector import load_detector
from foretell.judging.film import read_frames
from foretell.notebook import Displayed
from foretell.study.patience import Patience
from foretell.verdict_lines import append_verdict

__all__ = ["Detected", "detect", "to_confirm"]


@dataclass(frozen=True, kw_only=True)
class Detected(Displayed):
    """What a detector said of the episodes of a run."""

    run: Path
    detector: str
    episodes: int
    """All that it has judged."""
    judged: int
    """In this call."""
    successes: int
    confirm: float
    seed: int
    chosen: int
    """Episodes that the coin gives to a person."""
    missing: tuple[str, ...]
    """Those of them that no person has judged yet."""
    agreement: dict[str, int] | None
    """Detector and rows: both, only_detector, only_row, neither; None where no row is judged."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {**vars(self), "run": str(self.run), "missing": list(self.missing)}

    def text(self) -> str:
        """What was done, and what is left to do."""
        earlier = self.episodes - self.judged
        before = f" ({earlier} of them before)" if earlier else ""
        lines = [
            f"Detector {self.detector} has judged {counted(self.episodes, 'episode')}{before}: {self.successes} "
            "successes. These are proposals; the rows stay as they are."
        ]
        if self.agreement is not None:
            a = self.agreement
            alike, total = a["both"] + a["neither"], sum(a.values())
            lines.append(
                f"It agrees with the verdict of the row in {alike} of {total} episodes; it sees {a['only_detector']} "
                f"successes more, and misses {a['only_row']}."
            )
        lines.append(
            f"A person confirms {counted(self.chosen, 'episode')}: every scenario with a chance of {self.confirm:.0%}, "
            f"drawn by seed {self.seed}. {len(self.missing)} are still to be judged"
            + (f": foretell judge {self.run} --detector {self.detector} --by NAME" if self.missing else "")
            + "."
        )
        if not self.missing:
            lines.append(f"Next: foretell bound {self.run} --detector {self.detector}")
        return "\n".join(lines)


def detect(
    run: str | Path,
    detector: Any,
    *,
    confirm: float = SHARE,
    seed: int = 0,
    notify: Callable[[str], None] = lambda text: None,
) -> Detected:
    """Let a detector judge every film of a run folder; call it again to go on. `notify`: called with slow steps."""
    run, share = Path(run), check_share(confirm)
    made = load_detector(detector)
    judge = PREFIX + made.name
    rows = [row for row in read(run).to_pylist() if row["blame"] is None]
    before = newest(verdict_lines(run, judge))
    for line in before.values():
        _check_same(line, made.name, made.version, share, seed)
    todo = [row for row in rows if row["episode"] not in before]
    camera = getattr(made.detector, "camera", None)
    films = {row["episode"]: _film(run, row, camera) for row in todo}
    if lacking := [name for name, film in films.items() if film is None]:
        raise UsageError(
            f"{run}: {len(lacking)} of {counted(len(rows), 'episode')} have no film ({lacking[0]} is one), and a "
            "detector must see them all: run the study with `record: {video: all}`"
        )
    instructions = {scenario.id: scenario.instruction for scenario in read_scenarios(run)}
    patience = Patience(notify)
    for number, row in enumerate(todo):
        patience(f"{made.name} judges: {number} of {len(todo)} episodes")
        film = films[row["episode"]]
        assert film is not None
        proposal = made.propose(read_frames(film), instructions.get(row["scenario"], ""))
        line = {
            "episode": row["episode"],
            "judge": judge,
            "kind": "detector",
            "success": proposal.success,
            "score": proposal.score,
            "wall_time": time.time(),
            "note": None,
            "version": made.version,
            "confirm": share,
            "seed": seed,
            "chosen": confirms(str(unit_of(row["parent"], row["scenario"], row["episode"])), share, seed),
        }
        append_verdict(run, judge, line)
        before[row["episode"]] = line
    lines = {row["episode"]: before[row["episode"]] for row in rows}
    people = confirmed(run)
    chosen = [row for row in rows if lines[row["episode"]]["chosen"]]
    missing = [row["episode"] for row in chosen if row["episode"] not in people and row["judge"] != "person"]
    return Detected(
        run=run,
        detector=made.name,
        episodes=len(rows),
        judged=len(todo),
        successes=sum(line["success"] for line in lines.values()),
        confirm=share,
        seed=seed,
        chosen=len(chosen),
        missing=tuple(missing),
        agreement=_agreement(rows, lines),
    )


def _check_same(line: Mapping[str, Any], name: str, version: str, share: float, seed: int) -> None:
    """Raises UsageError where the detector or the coin is another: verdicts of two cannot be mixed, and whoever flips
    coins until they please has no random sample."""
    if line.get("version") != version:
        raise UsageError(
            f"detector: {name!r} has judged this run before, and has changed since: give the new one another `name`"
        )
    if (line.get("confirm"), line.get("seed")) != (share, seed):
        raise UsageError(
            f"confirm, seed: this run has coins of share {line.get('confirm')} and seed {line.get('seed')}; they are "
            "flipped once: give the same"
        )


def _film(run: Path, row: Mapping[str, Any], camera: str | None) -> Path | None:
    """The film of an episode: of the robot's camera that the detector asks for, or of the only one."""
    names = sorted(path.name for path in (run / "frames").glob(f"{row['episode']}-*.mp4"))
    films = {name.removesuffix(".mp4").partition("-")[2]: f"frames/{name}" for name in names if ".part." not in name}
    if camera is not None and films:
        if camera not in films:
            raise UsageError(f"detector: camera {camera!r} has no film of {row['episode']}; {suggest(camera, films)}")
        return inside(run, films[camera])
    if len(films) > 1:
        raise UsageError(f"detector: several cameras filmed ({', '.join(films)}): give the detector a `camera`")
    path = next(iter(films.values()), row["video"])
    return inside(run, path) if path else None


def to_confirm(run: str | Path, name: str) -> set[str]:
    """Episodes of a run that the coins give to a person, of a detector that has judged it."""
    known = [judge.removeprefix(PREFIX) for judge in judges(run) if judge.startswith(PREFIX)]
    if name not in known:
        hint = suggest(name, known) if known else f"let it judge first: foretell judge {run} --detector FILE"
        raise UsageError(f"detector: {name!r:.80} has not judged {run}; {hint}")
    return {episode for episode, line in newest(verdict_lines(run, PREFIX + name)).items() if line.get("chosen")}


def _agreement(rows: list[dict[str, Any]], lines: Mapping[str, Mapping[str, Any]]) -> dict[str, int] | None:
    words = {(True, True): "both", (True, False): "only_detector", (False, True): "only_row", (False, False): "neither"}
    counts = dict.fromkeys(words.values(), 0)
    for row in rows:
        if row["success"] is not None:
            counts[words[bool(lines[row["episode"]]["success"]), bool(row["success"])]] += 1
    return counts if any(counts.values()) else None
