"""The demonstration: four policies on three tasks, and what 30 trials in another world say about one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.stats import Interval, clopper_pearson
from foretell.study.run import Progress, Run, run
from foretell.study.store import read

__all__ = ["Demo", "demo"]

POLICIES: dict[str, Any] = {
    "expert": "expert",
    "shaky": {"use": "noisy-expert", "noise": 0.1},
    "shakier": {"use": "noisy-expert", "noise": 0.3},
    "random": "random",
}
TRIED = "shakier"
TASK = "lift"


@dataclass(frozen=True)
class Demo:
    """What the demonstration did."""

    simulated: Run
    real: Run
    bound: Interval
    sentence: str


def demo(
    out: str | Path = "runs",
    *,
    scenarios: int = 50,
    trials: int = 30,
    workers: int | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
) -> Demo:
    """Run the demonstration into two run folders and bound the success of one policy in the stand-in reality."""
    folder = Path(out)
    study = {
        "name": "demo",
        "world": "mujoco",
        "tasks": ["lift", "can", "square"],
        "policies": POLICIES,
        "scenarios": {"count": scenarios, "seed": 0},
    }
    simulated = run(study, out=folder / "demo", workers=workers, progress=progress)
    paired = {
        "name": "demo-standin",
        "world": "standin",
        "tasks": [TASK],
        "policies": {TRIED: POLICIES[TRIED]},
        "scenarios": {"like": str(folder / "demo"), "count": trials},
    }
    real = run(paired, out=folder / "demo-standin", workers=workers, progress=progress)
    outcomes = [s for s in read(real.path)["success"].to_pylist() if s is not None]
    bound = clopper_pearson(sum(outcomes), len(outcomes))
    return Demo(simulated, real, bound, _sentence(bound, sum(outcomes)))


def _sentence(bound: Interval, solved: int) -> str:
    return (
        f"In the stand-in reality, {TRIED!r} solved {TASK} in {solved} of {bound.n} trials: its success rate there is "
        f"between {bound.low:.0%} and {bound.high:.0%} ({1 - bound.alpha:.0%} confidence, {bound.method}). "
        "A stand-in shows the mechanism; it is no evidence about robots."
    )
