"""Fit θ to recordings: hold some out, search, and judge the result on both."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.digest import digest
from foretell.errors import UsageError, suggest
from foretell.identify.certainty import certainty
from foretell.identify.fit import WAYS, Notify, jacobian
from foretell.identify.fitted import Fitted, unexplained
from foretell.identify.loss import Losses, losses, residual
from foretell.identify.motion import Motion, Motions
from foretell.identify.parameter import Space
from foretell.identify.recording import Recording
from foretell.sim.params import MujocoFile
from foretell.tasks.tabletop import TabletopTask

__all__ = ["search", "split"]

NO_EFFECT = 1e-9
"""Share of the largest effect of a parameter that counts as none."""
SLOTS = 512
"""Episodes that run side by side; more only cost memory."""


def split(recordings: Sequence[Recording], share: float) -> tuple[list[Recording], list[Recording]]:
    """Training and held-out recordings. A hash of their names decides, so that order does not. One of two or more is
    held out at least, unless the share is 0."""
    if not 0 <= share < 1:
        raise UsageError(f"identify: held_out should be at least 0 and below 1, as 0.25; {share:g} was given")
    count = 0 if share == 0 or len(recordings) < 2 else max(1, round(share * len(recordings)))
    count = min(count, len(recordings) - 1)
    ranked = sorted(recordings, key=lambda recording: digest(["held out", recording.name]))
    away = {recording.name for recording in ranked[:count]}
    return [r for r in recordings if r.name not in away], [r for r in recordings if r.name in away]


def search(
    recordings: Sequence[Recording],
    task: TabletopTask,
    space: Space,
    *,
    way: str,
    to: Sequence[str],
    moved: Bools,
    outputs: Sequence[str],
    held_out: float,
    evaluations: int,
    seed: int,
    threads: int,
    notify: Notify,
) -> Fitted:
    """Fit the parameters of a space. `moved` (joints,): those that actions move; `outputs`: names of the residuals."""
    if way not in WAYS:
        raise UsageError(f"identify: way {way!r:.100} is not known; {suggest(way, list(WAYS))}")
    if evaluations < 1:
        raise UsageError(f"identify: evaluations should be at least 1; {evaluations} was given")
    began = time.monotonic()
    training, away = split(recordings, held_out)
    judge = _Judge(training, task=task, space=space, to=to, moved=moved, threads=threads)
    searched = WAYS[way](space, judge.residuals, judge.cost, evaluations, seed, notify)
    x = np.clip(searched.x, space.low, space.high)
    if judge.cost([x])[0] > judge.cost([space.start])[0]:
        x = space.start.copy()
    slopes = jacobian(space, x, judge.residuals)
    notes = list(searched.notes)
    unstable = ~np.isfinite(slopes).all(axis=0)
    notes += [f"physics diverges close to the fitted {space.parameters[k].name}" for k in np.flatnonzero(unstable)]
    slopes[:, unstable] = 0.0
    size = np.linalg.norm(slopes, axis=0)
    for k in np.flatnonzero((size <= NO_EFFECT * size.max()) & ~unstable).tolist():  # all searches move such a number
        x[k] = space.start[k]
        notes.append(f"{space.parameters[k].name} has no effect on these recordings, so it keeps its value")
    every = Motions(recordings, task, most_delay=space.most_delay, threads=threads)
    before, after = every.run([space.at(space.start), space.at(x)])
    motions = before, after
    named = [dict(zip((r.name for r in recordings), _losses(recordings, m, moved), strict=True)) for m in motions]
    left = {r.name: residual(r, m, moved, to) for r, m in zip(recordings, motions[1], strict=True)}
    certain, ratios = certainty(space.parameters, x, *_by_recording(training, slopes, left))
    if np.array_equal(x, space.start):
        notes.append("no value of θ that was tried follows the recordings better: θ stays as it was")
    if space.world.physics.delay_spread > 0:
        notes.append("this world draws another delay for each episode; the fit takes its middle")
    if not away:
        notes.append("no recording was held out, so nothing shows how the fit does on other motion")
    return Fitted(
        way=way,
        to=tuple(to),
        parameters=tuple(certain),
        ratios=tuple(ratios),
        training=tuple(r.name for r in training),
        held_out=tuple(r.name for r in away),
        before=named[0],
        after=named[1],
        unexplained=unexplained(outputs, list(left.values())),
        tried=searched.tried,
        seconds=time.monotonic() - began,
        notes=tuple(notes),
        world=space.at(x),
        recordings=recordings,
        motions=motions,
    )


class _Judge:
    """Residuals and losses of many points on the training recordings."""

    def __init__(
        self,
        recordings: Sequence[Recording],
        *,
        task: TabletopTask,
        space: Space,
        to: Sequence[str],
        moved: Bools,
        threads: int,
    ):
        self.recordings, self.space, self.to, self.moved = recordings, space, to, moved
        self.motions = Motions(recordings, task, most_delay=space.most_delay, threads=threads)

    def _run(self, points: Sequence[Floats]) -> list[list[Motion]]:
        worlds: list[MujocoFile] = [self.space.at(x) for x in points]
        most = max(1, SLOTS // len(self.recordings))
        return [m for at in range(0, len(worlds), most) for m in self.motions.run(worlds[at : at + most])]

    def residuals(self, points: list[Floats]) -> list[Floats]:
        def stacked(motions: Sequence[Motion]) -> Floats:
            pairs = zip(self.recordings, motions, strict=True)
            parts = [residual(r, m, self.moved, self.to).ravel() for r, m in pairs]
            # a diverged world is infinitely far, which every search steps back from
            return np.nan_to_num(np.concatenate(parts), nan=np.inf, posinf=np.inf, neginf=-np.inf)

        return [stacked(motions) for motions in self._run(points)]

    def cost(self, points: list[Floats]) -> Floats:
        """SIMPLER's loss where the tool is followed, the joints' where only they are."""
        which = "sysid" if "tool" in self.to else "joints"
        rows = [[loss[which] for loss in _losses(self.recordings, m, self.moved)] for m in self._run(points)]
        mean: Floats = np.mean(rows, axis=1)
        return mean


def _losses(recordings: Sequence[Recording], motions: Sequence[Motion], moved: Bools) -> list[Losses]:
    return [losses(r, m, moved) for r, m in zip(recordings, motions, strict=True)]


def _by_recording(
    training: Sequence[Recording], slopes: Floats, left: dict[str, Floats]
) -> tuple[list[Floats], list[Floats]]:
    """Slopes (T, outputs, parameters) and residuals (T, outputs) of each recording, from slopes of all (rows,
    parameters)."""
    shapes = [left[r.name].shape for r in training]
    ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]
    parts = np.split(slopes, ends)
    by = [part.reshape(*shape, -1) for part, shape in zip(parts, shapes, strict=True)]
    return by, [left[r.name] for r in training]
