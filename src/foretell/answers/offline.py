"""Action error on held-out trajectories: the cheap rival of simulation. Does it rank policies?

Every policy is shown what the sensors showed at each step of a recorded trajectory, and asked what it would do. The
error is the mean squared difference between its first action and the recorded one, each number of the action in halves
of its range. Nothing is simulated: the trajectory goes on as recorded, whatever the policy says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.answers.trajectories import Trajectory, read_trajectories, world_of
from foretell.answers.words import noted, table
from foretell.arrays import Floats
from foretell.episodes.read import read
from foretell.errors import PolicyError, UsageError
from foretell.notebook import Displayed
from foretell.policies.make import BoundPolicy, bind, make_policy
from foretell.policy import observed
from foretell.rollout.ask import ask
from foretell.seeding import seed as seed_of
from foretell.stats import ALPHA, Interval
from foretell.stats.predictivity import METRICS, with_interval
from foretell.study.config import load_study
from foretell.study.policy_entry import PolicyEntry

__all__ = ["Offline", "OfflineError", "offline"]

SHOWN = ("mmrv", "pearson")
DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class OfflineError:
    """How far one policy's actions are from the recorded ones."""

    policy: str
    error: float
    """Mean over trajectories."""
    low: float
    high: float
    """Percentile bootstrap over trajectories."""
    trajectories: int
    steps: int
    rate: float | None = None
    """Success rate in the run that the policies are from."""
    sim: float | None = None
    """The same in simulation."""


@dataclass(frozen=True, kw_only=True)
class Offline(Displayed):
    """Errors of policies, and how well they rank them."""

    task: str
    errors: tuple[OfflineError, ...]
    metrics: Mapping[str, Mapping[str, Interval]]
    """`offline` and `sim` -> metric -> value with interval. Empty where no rates are known."""
    alpha: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        metrics = {side: {n: i.to_dict() for n, i in made.items()} for side, made in self.metrics.items()}
        return {
            "task": self.task,
            "alpha": self.alpha,
            "errors": [asdict(error) for error in self.errors],
            "metrics": metrics,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The answer as text."""
        first = self.errors[0]
        lines = [f"Action error on {first.trajectories} held-out trajectories of {self.task}, best first:"]
        ranked, known = sorted(self.errors, key=lambda error: error.error), first.rate is not None
        header = [
            "policy",
            "error",
            "interval",
            *(["success"] if known else []),
            *(["in sim"] if first.sim is not None else []),
        ]
        rows = [
            [
                e.policy,
                f"{e.error:.4f}",
                f"{e.low:.4f} to {e.high:.4f}",
                *([f"{e.rate:.0%}"] if e.rate is not None else []),
                *([f"{e.sim:.0%}"] if e.sim is not None else []),
            ]
            for e in ranked
        ]
        lines.append(table(header, rows))
        for side, made in self.metrics.items():
            listed = "; ".join(_listed(name, interval) for name, interval in made.items())
            lines.append(
                f"{'Action error' if side == 'offline' else 'Simulation'} against these success rates: {listed}"
            )
        return "\n".join([*lines, *noted(list(self.notes))])


def _listed(name: str, interval: Interval) -> str:
    ends = (
        "no interval" if interval.low is None or interval.high is None else f"{interval.low:.2f} to {interval.high:.2f}"
    )
    return f"{name} {interval.estimate:.2f} ({ends})"


def offline(
    policy: str | Path,
    data: str | Path,
    *,
    task: str | None = None,
    world: str = "mujoco",
    sim: str | Path | None = None,
    count: int | None = None,
    alpha: float = ALPHA,
    seed: int = 0,
    notify: Callable[[str], None] = lambda text: None,
) -> Offline:
    """Compare a policy's actions with those of recorded trajectories that it was not trained on.

    `policy`: a policy as a study names it, or a run folder, whose policies are all compared, and whose success rates
    the errors are held against. `sim`: a run folder with the same policies in simulation, whose rates are held against
    the same. `data`: a run folder with recorded steps, of which the successful episodes count, or a LeRobot dataset
    that `foretell export` wrote; `task` names its task, and `world` what it was made in. `count`: use the first N
    trajectories. `seed` draws the bootstrap.
    """
    source = Path(policy)
    run = source if (source / "study.yaml").is_file() else None
    made = world_of(Path(data), task, world)
    entries = (
        load_study(source / "study.yaml").policies if run is not None else {str(policy): PolicyEntry(use=str(policy))}
    )
    rows: list[OfflineError] = []
    each: dict[str, Floats] = {}
    try:
        bound = {
            name: bind(make_policy(entry.use, entry.options), made, name, entry.execute, entry.options)
            for name, entry in entries.items()
        }
        wanted = {n: s for p in bound.values() for n, s in observed(p.spec.reads).items()}
        some = read_trajectories(Path(data), made, wanted, count)
        for name, ready in bound.items():
            notify(name)
            each[name] = np.array([_error(ready, trajectory, number) for number, trajectory in enumerate(some)])
        steps = sum(len(trajectory.actions) for trajectory in some)
    finally:
        made.close()
    rng = np.random.default_rng(seed)
    rates = {} if run is None else _rates(run, made.task.name, list(each))
    simulated = {} if sim is None else _rates(Path(sim), made.task.name, list(each))
    for name, errors in each.items():
        drawn = rng.choice(errors, (DRAWS, errors.size)).mean(axis=1)
        low, high = np.quantile(drawn, [alpha / 2, 1 - alpha / 2])
        rows.append(
            OfflineError(
                policy=name,
                error=float(errors.mean()),
                low=float(low),
                high=float(high),
                trajectories=errors.size,
                steps=steps,
                rate=float(rates[name].mean()) if rates else None,
                sim=float(simulated[name].mean()) if simulated else None,
            )
        )
    return Offline(
        task=made.task.name, errors=tuple(rows), metrics=_metrics(each, rates, simulated, alpha, seed), alpha=alpha
    )


def _error(bound: BoundPolicy, trajectory: Trajectory, number: int) -> float:
    """Mean squared error of the policy's first action at every step of a trajectory."""
    spec, slots = bound.spec, np.zeros(1, dtype=np.int32)
    half = (spec.action.high - spec.action.low) / 2
    bound.reset(slots, [trajectory.instruction], [seed_of(f"{trajectory.name}/{number}", 0, "policy")])
    off = []
    for step, action in enumerate(trajectory.actions):
        answer = ask(bound, spec, slots, trajectory.seen(step, spec.reads, spec))
        if answer.errors:
            raise PolicyError(f"policy, at step {step} of {trajectory.name}: {next(iter(answer.errors.values()))}")
        wanted = np.clip(action, spec.action.low, spec.action.high)
        off.append(np.mean(((answer.actions[0, 0] - wanted) / half) ** 2))
    return float(np.mean(off))


def _rates(run: Path, task: str, policies: list[str]) -> dict[str, Floats]:
    """Policy -> success of its episodes of the task that were judged."""
    rows = [row for row in read(run).to_pylist() if row["task"] == task and row["success"] is not None]
    rates = {
        name: np.array([float(row["success"]) for row in rows if row["policy"] == name and row["arm"] == "none"])
        for name in policies
    }
    if missing := next((name for name, values in rates.items() if not values.size), None):
        raise UsageError(f"{run} has no judged episode of policy {missing!r} on task {task!r}")
    return rates


def _metrics(
    errors: Mapping[str, Floats], rates: Mapping[str, Floats], sims: Mapping[str, Floats], alpha: float, seed: int
) -> dict[str, dict[str, Interval]]:
    if len(rates) < 2:
        return {}
    real = [rates[name] for name in errors]
    sides = {
        "offline": [-errors[name] for name in errors],
        **({"sim": [sims[name] for name in errors]} if sims else {}),
    }
    made: dict[str, dict[str, Interval]] = {}
    for side, values in sides.items():
        made[side] = {
            name: with_interval(
                METRICS[name],
                [float(v.mean()) for v in real],
                [float(v.mean()) for v in values],
                real_outcomes=real,
                sim_outcomes=values,
                over="trials",
                alpha=alpha,
                seed=seed,
            )
            for name in SHOWN
            if name == "mmrv" or len(real) >= 3
        }
    return made
