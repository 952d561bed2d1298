"""A detector judges trials of a robot as they end. It proposes; a person judges a random share of the scenarios.

Its verdicts are the lines that `foretell judge RUN --detector` writes, so that `foretell bound RUN --detector` reads
them alike.
"""

from __future__ import annotations

import time
from pathlib import Path

from foretell.hardware.file import RobotFile
from foretell.judging.confirm import confirms
from foretell.judging.detector import Proposal, load_detector
from foretell.judging.film import read_frames
from foretell.scenario import Scenario
from foretell.verdict_lines import append_verdict

__all__ = ["LiveDetector"]

SEED = 0
"""Of the coins that choose what a person judges; `foretell judge --detector` has the same by default."""


class LiveDetector:
    """The detector of a world file."""

    def __init__(self, run: Path, file: RobotFile):
        assert file.detector is not None
        self._run, self._share = run, file.confirm
        given = file.detector
        self._detector = load_detector(Path(given) if given.endswith(".onnx") else given)

    def propose(self, scenario: Scenario, episode: str, film: Path) -> tuple[Proposal, bool]:
        """What it says of a trial, and whether a person judges that trial. The line is on disk then."""
        proposal = self._detector.propose(read_frames(film), scenario.instruction)
        chosen = confirms(scenario.parent or scenario.id, self._share, SEED)
        judge = f"detector-{self._detector.name}"
        line = {
            "episode": episode,
            "judge": judge,
            "kind": "detector",
            "success": proposal.success,
            "score": proposal.score,
            "wall_time": time.time(),
            "note": None,
            "version": self._detector.version,
            "confirm": self._share,
            "seed": SEED,
            "chosen": chosen,
        }
        append_verdict(self._run, judge, line)
        return proposal, chosen
