"""The demonstration: four policies on three tasks, what 30 trials in another world say about one of them, a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.errors import UsageError
from foretell.stats import Interval, TrialsSaved, bound, clopper_pearson, real_trials_saved
from foretell.study.run import Progress, Run, run
from foretell.study.store import read

__all__ = ["Demo", "demo"]

POLICIES: dict[str, Any] = {
    "expert": "expert",
    "shaky": {"use": "noisy-expert", "noise": 0.1},
    "shakier": {"use": "noisy-expert", "noise": 0.35},
    "random": "random",
}
TASK, TRIED = "lift", "shakier"
"""What is tried in the stand-in reality."""


@dataclass(frozen=True)
class Demo:
    """What the demonstration did."""

    simulated: Run
    more: Run
    """Further simulated scenarios of the policy that is tried."""
    real: Run
    alone: Interval
    """From the stand-in's trials alone."""
    bound: Interval
    """With simulation."""
    saved: TrialsSaved | None
    """Real trials that the bound with simulation is worth; None where simulation was not used."""
    report: Path | None
    """The page with all of it; None where what draws charts is not installed."""
    why: str = ""
    """Why there is none."""

    def text(self) -> str:
        """The answer, in words."""
        solved = round(self.alone.estimate * self.alone.n)
        lines = [
            f"In the stand-in reality, {TRIED!r} solved {TASK} in {solved} of {self.alone.n} trials. Its success rate "
            f"there is between {self.alone.low:.1%} and {self.alone.high:.1%} (95% confidence, {self.alone.method}).",
        ]
        if self.bound.method != self.alone.method:
            lines.append(
                f"With {self.bound.n_extra} more scenarios in simulation: between {self.bound.low:.1%} and "
                f"{self.bound.high:.1%} ({self.bound.method}, {self.bound.guarantee})."
            )
        if "sentence" in self.bound.diagnostics:
            sentence = str(self.bound.diagnostics["sentence"])
            lines.append(sentence[:1].upper() + sentence[1:] + ".")
        if self.saved is not None:
            gain = self.saved.saved_against_best
            verdict = f"simulation saved {gain:.0%} of them" if gain > 0 else "simulation saved none"
            need = f"{self.saved.best} ({self.saved.best_method})"
            lines.append(f"Real trials alone need {need} for this width: {verdict}.")
        lines.append("A stand-in shows the mechanism; it is no evidence about robots.")
        return "\n".join(lines)


def demo(
    out: str | Path = "runs",
    *,
    scenarios: int = 50,
    trials: int = 30,
    more: int = 250,
    workers: int | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
    told: Callable[[str], None] = lambda text: None,
) -> Demo:
    """Run the demonstration into three run folders, bound the success of one policy in the stand-in reality, and write
    a report of it, `demo.html`. `told` hears what is done besides episodes."""
    folder = Path(out)
    tried = {"tasks": [TASK], "policies": {TRIED: POLICIES[TRIED]}}
    studies: dict[str, dict[str, Any]] = {
        "demo": {"tasks": ["lift", "can", "square"], "policies": POLICIES, "scenarios": {"count": scenarios}},
        "demo-more": {**tried, "scenarios": {"count": more, "seed": scenarios}},
        "demo-standin": {**tried, "world": "standin", "scenarios": {"like": str(folder / "demo"), "count": trials}},
    }
    done = {
        name: run({"name": name, **study}, out=folder / name, workers=workers, progress=progress, retire=True)
        for name, study in studies.items()
    }
    simulated, real = _scores(done["demo"].path), _scores(done["demo-standin"].path)
    paired = [scenario for scenario in real if scenario in simulated]
    extra = [s for key, s in simulated.items() if key not in real] + list(_scores(done["demo-more"].path).values())
    ours, theirs = [real[s] for s in paired], [simulated[s] for s in paired]
    alone = clopper_pearson(int(sum(ours)), len(ours))
    answer = bound(ours, theirs, extra)
    saved = real_trials_saved(ours, answer.width) if answer.method == "blocked" else None
    told("writing the report")
    page, why = _report([done[name].path for name in studies], folder / "demo.html")
    return Demo(done["demo"], done["demo-more"], done["demo-standin"], alone, answer, saved, page, why)


def _report(runs: list[Path], out: Path) -> tuple[Path | None, str]:
    """Where it is; or None, and why."""
    from foretell.report import report
    from foretell.report.page import needs_extra

    try:
        needs_extra()
    except UsageError as error:
        return None, str(error)
    return report(*runs, out=out).path, ""


def _scores(path: Path) -> dict[str, float]:
    """Scenario -> 1 or 0, of the policy that is tried."""
    rows = read(path).select(["task", "policy", "scenario", "success"]).to_pylist()
    mine = (row for row in rows if (row["task"], row["policy"]) == (TASK, TRIED) and row["success"] is not None)
    return {row["scenario"]: float(row["success"]) for row in mine}
