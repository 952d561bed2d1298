"""`redteam`: search, verify on fresh scenarios, and show a failure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foretell.clock import Realtime
from foretell.counting import counted
from foretell.errors import ForetellError, UsageError, suggest
from foretell.factors import factor
from foretell.factors.arms import decoded, parse
from foretell.redteam.answer import RedTeam, Seen
from foretell.redteam.looks import Looks, Settings
from foretell.redteam.search import FINAL, SIZES, Combination, Sightings, search
from foretell.redteam.verify import Verified, attempts, least, solved, too_few, verify
from foretell.registry import names
from foretell.stats import ALPHA
from foretell.study.config import Record, ScenarioSource, Study, load_study
from foretell.study.run import SLOTS, Progress, with_names
from foretell.tasks.task import Task
from foretell.testset.testset import REQUIRED

__all__ = ["redteam"]

LEAST = 0.3
"""Clean success below which there is nothing to break."""


def redteam(
    study: Study | dict[str, Any] | str | Path,
    *,
    policy: str | None = None,
    task: str | None = None,
    factors: Sequence[str] = (),
    budget: int = 800,
    most: int = 3,
    severity: float = 1.0,
    breaks: float = 0.5,
    required: float = REQUIRED,
    fresh: int = 50,
    alpha: float = ALPHA,
    out: str | Path | None = None,
    workers: int | None = None,
    slots: int = SLOTS,
    video: bool = True,
    policies: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
    notify: Callable[[str], None] = lambda text: None,
) -> RedTeam:
    """Find the mildest combination of factors that breaks a policy: as few factors as possible, then the smallest sum
    of severities.

    The study gives the world, the clock, the seed, one task and one policy (choose with `task` and `policy`). A
    combination breaks the policy if success is below `breaks` times clean success. It counts if the scripted expert
    solves the share `required` of the same scenarios. It is verified on `fresh` new scenarios. `budget` limits all
    episodes: search, expert and verification. A second call runs no episode twice. `factors` are the factors to try
    (default: all that apply), `most` is the largest number of factors at once, and `severity` the highest severity.
    `policies` adds policy objects, as in `run`.
    """
    chosen = _choose(study, policy, task, policies)
    (name,) = chosen.policies
    settings = Settings(
        chosen,
        out=Path(out) if out is not None else Path("runs") / f"{chosen.name}-redteam",
        budget=budget,
        policies=policies,
        progress=progress,
        notify=notify,
        workers=workers,
        slots=slots,
    )
    tops = _tops(settings.task, factors, severity)
    _check(budget, most, breaks, required, fresh, alpha, len(tops))
    first, n = settings.first, SIZES[-1]
    looks = Looks(settings, "search", first, reserve=5 * fresh if budget >= 6 * fresh + 300 else 3 * fresh)
    notify(f"clean control: {counted(n, 'scenario')}")
    clean = looks.policy([Combination()], n)[Combination()]
    sightings, clean_rate = Sightings(), float(np.nan_to_num(clean).mean())
    if clean_rate >= LEAST:
        notify(f"search: {counted(len(tops), 'factor')}, clean success {clean_rate:.0%}")
        sightings = search(looks, tops, clean, most=most, breaks=breaks, required=required)
    spent = {"search": settings.spent - (cost := _expert(settings)), "certificates": cost}
    # a verification that has its own scenarios: nothing of the search can leak into it
    last = Looks(settings, "verify", first + FINAL)
    finding, refuted, discarded = None, list[Verified](), list[Seen]()
    for c in attempts(sightings, breaks):
        notify(f"verification: {c.arm} on {counted(fresh, 'fresh scenario')}")
        expert = last.expert([c], fresh).get(c)
        if expert is None:
            break
        if np.nan_to_num(expert).mean() < required:
            discarded.append(replace(_seen(sightings, c), expert=solved(expert)))
            continue
        tried = verify(last, c, fresh, breaks, alpha, expert)
        if tried is None:
            break
        if tried.verified:
            finding = tried
            break
        refuted.append(tried)
    spent["verification"] = settings.spent - sum(spent.values())
    answer = RedTeam(
        policy=name,
        task=settings.task.name,
        world=chosen.world if isinstance(chosen.world, str) else "as in the study",
        finding=finding,
        why=_why(name, settings.task.name, finding, sightings, solved(clean), breaks, bool(refuted or discarded)),
        breaks=breaks,
        required=required,
        severity=severity,
        most=most,
        seeds=((first, first + FINAL - 1), (first + FINAL, first + FINAL + fresh - 1)),
        budget=budget,
        spent=spent,
        ran=settings.ran,
        out=settings.out,
        seen=tuple(_seen(sightings, c) for c in sightings.verdicts),
        discarded=(*(_seen(sightings, c) for c in sightings.discarded), *discarded),
        refuted=tuple(refuted),
        **(_shown(settings, last, finding, video, notify) if finding and finding.failing else {}),
    )
    settings.out.mkdir(parents=True, exist_ok=True)
    (settings.out / "redteam.json").write_text(json.dumps(answer.to_dict(), indent=2) + "\n", encoding="utf-8")
    return answer


def _choose(source: Any, policy: str | None, task: str | None, objects: Mapping[str, Any] | None) -> Study:
    """The study with one task, one policy and one clock."""
    study = load_study(with_names(source, objects) if objects and isinstance(source, dict) else source)
    uses = {entry.use: entry for entry in study.tasks}
    for field, wanted, known in (("policy", policy, list(study.policies)), ("task", task, list(uses))):
        if wanted is None and len(known) > 1:
            raise UsageError(f"{field}: the study has {', '.join(map(repr, known))}; choose one with --{field}")
        if wanted is not None and wanted not in known:
            raise UsageError(f"{field}: {wanted!r} is not in the study; {suggest(wanted, known)}")
    if len(study.clocks) > 1 or isinstance(study.clocks[0], Realtime):
        raise UsageError("clocks: a search needs one clock that reproduces, `sync` or `virtual`")
    if study.scenarios.file is not None or study.scenarios.like is not None:
        raise UsageError("scenarios: a search needs fresh ones, drawn by seed; `file` and `like` have no more of them")
    if study.scenarios.fix:
        raise UsageError("scenarios: a search draws scenarios as the task does; leave `fix` out")
    name, use = policy or next(iter(study.policies)), task or next(iter(uses))
    changes = {"policies": {name: study.policies[name]}, "tasks": [uses[use]]}
    return study.model_copy(update=changes)


def _tops(task: Task, wanted: Sequence[str], severity: float) -> dict[str, float]:
    """Factor -> the highest severity to look at."""
    known = names("factors")
    wanted = [decoded(name) for name in wanted]
    for name in wanted:
        if name not in known:
            raise UsageError(f"factors: {name!r} is not known; {suggest(name, known)}")
        if why := factor(name).applies(task):
            raise UsageError(f"factors: {why}")
    try:
        task.expert()
    except NotImplementedError:
        raise UsageError(f"task: {task.name!r} has no scripted expert, so nothing shows what is solvable") from None
    applying = [name for name in known if factor(name).applies(task) is None]
    if not applying:
        raise UsageError(f"factors: none applies to task {task.name!r}")
    if not 0 < severity <= 5:
        raise UsageError(f"severity: {severity:g} should be above 0 and at most 5")
    return {name: min(severity, factor(name).most) for name in applying if not wanted or name in wanted}


def _check(budget: int, most: int, breaks: float, required: float, fresh: int, alpha: float, factors: int) -> None:
    for field, value, low, high in (
        ("breaks", breaks, 0.0, 1.0), ("required", required, 0.0, 1.0), ("alpha", alpha, 0.0, 1.0),
    ):  # fmt: skip
        if not low < value < high and not (field == "required" and value == 1):
            raise UsageError(f"{field}: {value:g} should lie between {low:g} and {high:g}")
    if most < 1:
        raise UsageError(f"most: {most} should be at least 1 factor")
    if too_few(fresh, breaks, alpha):
        raise UsageError(
            f"fresh: {fresh} scenarios verify nothing, even if the policy solves all of them clean and none under the "
            f"combination: breaks {breaks:g} at alpha {alpha:g} needs at least {least(breaks, alpha)}"
        )
    episodes = FINAL + SIZES[0] * factors + 3 * fresh
    if budget < episodes:
        raise UsageError(
            f"budget: {budget} episodes are too few: {FINAL} clean ones, {SIZES[0]} for each of {factors} factors "
            f"and 3 x {fresh} to verify are {episodes}"
        )


def _expert(settings: Settings) -> int:
    return sum(folder == "expert" for folder, *_ in settings.asked)


def _seen(sightings: Sightings, c: Combination) -> Seen:
    outcomes = sightings.outcomes.get(c, np.empty(0))
    k, n = solved(outcomes)
    expert = solved(sightings.experts[c]) if c in sightings.experts else None
    verdict = "the expert cannot solve it" if c in sightings.discarded else sightings.verdicts[c]
    return Seen(arm=c.arm, solved=k, n=n, clean=solved(sightings.clean[:n])[0], verdict=verdict, expert=expert)


def _why(
    policy: str,
    task: str,
    finding: Verified | None,
    sightings: Sightings,
    clean: tuple[int, int],
    breaks: float,
    tried: bool,
) -> str:
    who = f"{policy} on {task}"
    if finding:
        c = finding.combination
        count = counted(len(c.severities), "factor")
        return f"{who} breaks under {c.arm} ({count}, total severity {c.mildness[1]:g})"
    if not sightings.verdicts:
        return f"nothing to break: {who} solves {clean[0]} of {counted(clean[1], 'clean scenario')}"
    if tried:
        return f"not found within the budget: what broke {who} in the search was not confirmed on fresh scenarios"
    ended = "" if sightings.complete else "; the budget ended the search"
    return f"not found within the budget: no combination tried brings {who} below {breaks:g} of clean success{ended}"


def _shown(
    settings: Settings, looks: Looks, finding: Verified, video: bool, notify: Callable[[str], None]
) -> dict[str, Any]:
    """One failing episode: its scenario as a file, how to run it again, and a video."""
    from foretell.study.replay import replay

    c, seed = finding.combination, finding.failing[0]
    scenario, episode = looks.scenario(c, seed), looks.row(c, seed)["episode"]
    path, again = settings.out / "failure.jsonl", settings.out / "failure.yaml"
    path.write_text(scenario.model_dump_json() + "\n", encoding="utf-8")
    run = settings.out / "verify"
    (name,) = settings.study.policies
    shown: dict[str, Any] = {"episode": episode, "scenario": path, "commands": {}}
    if name in settings.policies:
        shown["commands"]["replay"] = f"foretell.replay({str(run)!r}, {episode!r}, policies={{{name!r}: ...}})"
    else:
        study = settings.study.model_copy(
            update={
                "name": f"{settings.study.name[:80]}-failure",
                "scenarios": ScenarioSource(file=Path(path.name)),
                "arms": [parse("none")],
                "record": Record(video=1),
            }
        )
        again.write_text(study.to_yaml(), encoding="utf-8")
        shown["commands"] = {
            "replay": f"foretell replay {shlex.quote(str(run))} {episode}",
            "run": f"foretell run {shlex.quote(str(again))}",
        }
    film = settings.out / f"failure-{episode}.mp4"
    if video and not film.exists():
        notify("video of a failing episode")
        try:
            replay(run, episode, out=film, policies=settings.policies)
        except ForetellError as error:
            film.unlink(missing_ok=True)
            return {**shown, "notes": (f"no video: {error}",)}
    return {**shown, "video": film} if film.exists() else shown
