"""`foretell tune`: find the θ with which simulation predicts the real episodes best, and check it on data that the
search did not see."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import ALPHA
from foretell.study.config import Study
from foretell.study.run import SLOTS, Progress
from foretell.tune.config import Tuning, load_tuning
from foretell.tune.engine import engine_of
from foretell.tune.fits import Fits, check_held_out, fit
from foretell.tune.improvement import improvement
from foretell.tune.landscape import Landscape
from foretell.tune.objective import Objective
from foretell.tune.space import Point, SearchSpace
from foretell.tune.tuned import FEW, Tuned
from foretell.tune.ways import check_way

__all__ = ["tune"]

FILE = "tuned.yaml"


def tune(
    study: Study | dict[str, Any] | str | Path,
    *,
    real: str | Path | None = None,
    space: Mapping[str, Any] | Sequence[str] | None = None,
    way: str | None = None,
    trials: int | None = None,
    metric: str | None = None,
    of: str | None = None,
    folds: Mapping[str, int] | None = None,
    hold_out: Mapping[str, Any] | None = None,
    seed: int | None = None,
    alpha: float = ALPHA,
    stand_in: bool = False,
    anyway: bool = False,
    out: str | Path | None = None,
    workers: int | None = None,
    slots: int = SLOTS,
    policies: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
    notify: Callable[[str], None] = lambda text: None,
) -> Tuned:
    """Find the θ with which simulation predicts the real episodes best, and check it on data it was not fitted to.

    The study gives the world, tasks, policies and clock. Its section `tune` gives `real` (the run folder of the real
    episodes), `space` and how to search (`foretell.tune.config.Tuning`); an argument takes the place of a field. Every
    θ runs the scenarios of the real episodes, in a run folder of its own below `out` (default `runs/NAME-tune`). Call
    it again to resume.

    The world file `tuned.yaml` is written if the improvement is shown on held-out data; `anyway` writes it in any
    case; it is never shown with fewer than five policies. The file lists the scenarios and the real episodes that it
    was fitted to, and `bound`, `compare` and `predictivity` do not take these as evidence for it, nor for any run below
    `out`. `stand_in`: a simulated world plays reality in `real`. `policies` adds policy objects, as
    in `run`.
    """
    given = {
        "real": real,
        "space": space if isinstance(space, Mapping) else space or None,
        "way": way,
        "trials": trials,
        "metric": metric,
        "of": of,
    }
    loaded, tuning = load_tuning(study, {**given, "folds": folds, "hold_out": hold_out, "seed": seed}, policies)
    if not 0 < alpha < 1:
        raise UsageError(f"alpha: {alpha:g} should lie between 0 and 1")
    objective = Objective(tuning.metric)
    if len(loaded.policies) < objective.policies:
        few = counted(len(loaded.policies), "policy", "policies")
        raise UsageError(f"tune: metric: {tuning.metric} needs {objective.policies} policies; the study has {few}")
    where = SearchSpace(loaded.world, tuning.space, [entry.use for entry in loaded.tasks])
    folder = Path(out) if out is not None else Path("runs") / f"{loaded.name}-tune"
    check_way(where, tuning.way)
    with closing(engine_of(loaded, workers, slots, policies)) as engine:
        landscape = Landscape(
            loaded, space=where, real=tuning.real, of=tuning.of, stand_in=stand_in, out=folder, engine=engine,
            policies=policies, workers=workers, slots=slots, progress=progress, notify=notify,
        )  # fmt: skip
        check_held_out(landscape, objective, tuning)
        landscape.start()
        fits = fit(landscape, objective, tuning)
    tuned = _answer(landscape, objective, tuning, fits, alpha)
    if (tuned.recommended or anyway) and tuned.point:
        tuned = replace(tuned, file=folder / FILE)
    elif (folder / FILE).exists():  # studies may name it
        earlier = f"{folder / FILE} is of an earlier call; this call does not recommend it"
        tuned = replace(tuned, notes=(*tuned.notes, earlier))
    tuned.write()
    return tuned


def _answer(landscape: Landscape, objective: Objective, tuning: Tuning, fits: Fits, alpha: float) -> Tuned:
    judged = fits.judged(landscape)
    real, before, after, tasks = judged.real, judged.before, judged.after, judged.tasks
    intervals = [
        improvement(objective, real, before, after, tasks, policies=others, alpha=alpha, seed=tuning.seed)
        for others in (False, True)
    ]
    if not fits.unseen:
        why = "nothing is held out, so nothing shows how θ does on other data"
        intervals = [replace(interval, low=None, high=None, reason=why) for interval in intervals]
    seen = np.ix_(*fits.seen)
    fitted = [
        objective.value(landscape.real[seen], scores[seen], landscape.tasks[fits.seen[1]])
        for scores in (landscape.base, landscape.scores(fits.best))
    ]
    ids = [unit for unit, used in zip(landscape.ids, fits.seen[1], strict=True) if used]
    episodes = landscape.episodes(ids, [landscape.policies[i] for i in np.flatnonzero(fits.seen[0])])
    return Tuned(
        study=landscape.study.name,
        objective=objective,
        of=tuning.of,
        way=tuning.way,
        policies=landscape.policies,
        tasks=tuple(landscape.task_names),
        scenarios=len(landscape.ids),
        parameters=landscape.space.parameters,
        point=fits.best,
        chosen=tuple(fits.chosen),
        fitted=(fitted[0], fitted[1]),
        held_out=(objective.value(real, before, tasks), objective.value(real, after, tasks)),
        improvement=intervals[0],
        for_others=intervals[1],
        tried=[(t, _value(landscape, objective, t.scores)) for t in landscape.tried.values()],
        rates={
            name: tuple(side[:, tasks == i].mean(axis=1) for side in (real, before, after))
            for i, name in enumerate(landscape.task_names)
        },
        judging=judged.policies,
        checked=fits.checked,
        world=_world(landscape, fits.best, objective, tuning, scenarios=ids, episodes=episodes),
        real_episodes=episodes,
        notes=(*landscape.notes, *fits.notes, *_notes(landscape, objective, fits)),
        out=landscape.out,
    )


def _value(landscape: Landscape, objective: Objective, scores: Floats | None) -> float:
    return math.nan if scores is None else objective.value(landscape.real, scores, landscape.tasks)


def _world(
    landscape: Landscape,
    best: Point,
    objective: Objective,
    tuning: Tuning,
    *,
    scenarios: Sequence[str],
    episodes: Sequence[str],
) -> dict[str, Any]:
    """The contents of the tuned world file."""
    contents, file = landscape.space.contents(best), landscape.space.file
    names = ", ".join(p.name for p in landscape.space.parameters)
    about = (
        f"{file.name} with {names} tuned so that {objective.metric} of {tuning.of} with real episodes is best "
        f"({len(landscape.policies)} policies, {counted(len(scenarios), 'scenario')})."
    )
    head = {"name": f"{file.name}-tuned", "kind": contents["kind"], "about": about}
    return {
        **head,
        **{k: v for k, v in contents.items() if k not in head},
        "fitted_to": sorted({*file.fitted_to, *scenarios}),
        "fitted_episodes": sorted({*file.fitted_episodes, *episodes}),
    }


def _notes(landscape: Landscape, objective: Objective, fits: Fits) -> list[str]:
    notes = []
    if len(landscape.policies) < FEW:
        notes.append(
            f"{counted(len(landscape.policies), 'policy is', 'policies are')} fewer than {FEW}: with so few, many "
            "values of θ put them in the right order by luck, and no world is recommended. Add policies"
        )
    for p in landscape.space.parameters:
        if p.name in fits.best and p.at_end(fits.best[p.name]):
            notes.append(f"{p.name} is at the end of its range ({fits.best[p.name]:g}): a wider range may do better")
    tried = [t for t in landscape.tried.values() if t.scores is not None]
    if len(tried) > 1 and all(np.array_equal(t.scores, landscape.base) for t in tried):  # type: ignore[arg-type]
        notes.append("no value of θ that was tried changes any score: these parameters have no effect on these tasks")
    values = [objective.sign * _value(landscape, objective, t.scores) for t in tried]
    best = max((v for v in values if math.isfinite(v)), default=math.nan)
    same = sum(v == best for v in values)
    if same > 1:
        notes.append(f"{same} of {len(values)} values of θ share the best {objective.metric} on all data")
    if lost := [t for t in landscape.tried.values() if t.scores is None]:
        few = counted(len(lost), "value", "values")
        notes.append(f"{few} of θ could not run every scenario and cannot be chosen ({lost[0].why})")
    return notes
