"""Pitfalls: mistakes in a policy's conventions, each with what it costs on a policy that works.

    foretell check policy expert --task widowx_stack_cube --pitfalls all

A policy that does better with a mistake than without it has that mistake itself: then the check fails, and names the
adapter that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.adapters.gripper import ends
from foretell.adapters.image import Image
from foretell.adapters.sticky_gripper import StickyGripper
from foretell.arrays import Bools, Floats
from foretell.checks.mistakes import Misheard, Misordered, Opening, Overheard, Whole, flipped, halved, misread, rescaled
from foretell.checks.report import Report
from foretell.checks.setting import called, made, task_of, world_of
from foretell.errors import UsageError, suggest
from foretell.policies.make import bind
from foretell.policy import PolicySpec
from foretell.rollout import Job, run_sync
from foretell.scenario import Scenario
from foretell.spec import DimSpec
from foretell.stats.interval import ALPHA
from foretell.stats.paired import paired_difference, table
from foretell.tasks.task import Task
from foretell.world import World

__all__ = ["PITFALLS", "Pitfall", "check_pitfalls"]

SCENARIOS = 24
SLOTS = 24
CROP = 0.9
"""Share of a picture's area that policies trained with random crops keep."""


@dataclass(frozen=True, kw_only=True)
class Pitfall:
    """One mistake."""

    name: str
    about: str
    """What is taken for what."""
    fix: str | Callable[[PolicySpec], str]
    """What to write under `adapt` where a policy has this mistake; it may depend on the robot's action."""
    concerns: Callable[[PolicySpec], bool]
    wrap: Callable[[Any, PolicySpec, Floats], Any]
    """The policy with the mistake; from the policy, its spec and the actions (k, dim) that it took without it."""


def check_pitfalls(
    policy: Any,
    task: str | Task | type[Task] = "lift",
    world: Any = "mujoco",
    options: Mapping[str, Any] | None = None,
    controller: str | None = None,
    pitfalls: str = "all",
    count: int = SCENARIOS,
) -> Report:
    """Run a policy on the first `count` layouts of a task (or scenarios, where it publishes none), as it is and with
    each mistake that concerns it. `pitfalls` are names, separated by commas."""
    chosen = _chosen(pitfalls)
    report = Report(f"pitfalls of policy {called(policy)}")
    runs: list[_Runs] = []

    def reference() -> tuple[bool, str]:
        setting = task_of(task)
        scenarios = list(setting.layouts())[:count] or [setting.scenario(seed) for seed in range(count)]
        runs.append(
            _Runs(
                world=world_of(setting, world, slots=min(SLOTS, len(scenarios)), controller=controller),
                make=lambda: made(policy, options),
                scenarios=scenarios,
            )
        )
        return True, f"solves {runs[0].clean.sum()} of {len(scenarios)} scenarios of {setting.name!r} as it is."

    if report.look("reference", reference):
        for pitfall in chosen:
            if pitfall.concerns(runs[0].spec):
                report.look(pitfall.name, lambda pitfall=pitfall: _cost(runs[0], pitfall))  # type: ignore[misc]
    return report


def _chosen(names: str) -> list[Pitfall]:
    known = {pitfall.name: pitfall for pitfall in PITFALLS}
    if names == "all":
        return list(PITFALLS)
    for name in names.split(","):
        if name not in known:
            raise UsageError(f"pitfalls: {name!r:.100} is not known; {suggest(name, ['all', *known])}")
    return [known[name] for name in names.split(",")]


class _Runs:
    """A policy, as it is and with mistakes, on the same scenarios."""

    def __init__(self, *, world: World, make: Callable[[], Any], scenarios: list[Scenario]):
        self._world, self._make, self._scenarios = world, make, scenarios
        overheard = Overheard(make())
        self.clean = self._run(overheard)
        self.spec, self._actions = overheard.spec, np.concatenate(overheard.actions)

    def with_mistake(self, pitfall: Pitfall) -> Bools:
        return self._run(pitfall.wrap(self._make(), self.spec, self._actions))

    def _run(self, policy: Any) -> Bools:
        """(scenarios,) success."""
        bound = {"policy": bind(policy, self._world, "policy")}
        jobs = iter([Job(policy="policy", scenario=s, key=str(i)) for i, s in enumerate(self._scenarios)])
        ended = {job.key: outcome for job, outcome in run_sync(self._world, bound, lambda: next(jobs, None))}
        return np.array([bool(ended[str(i)].success) for i in range(len(self._scenarios))])


def _cost(runs: _Runs, pitfall: Pitfall) -> tuple[bool, str]:
    clean, wrong = runs.clean, runs.with_mistake(pitfall)
    counts = table(wrong.astype(float), clean.astype(float))
    gain, sure = paired_difference(*counts), paired_difference(*counts, alpha=ALPHA / len(PITFALLS))
    assert gain.estimate is not None and gain.low is not None and gain.high is not None and sure.low is not None
    figures = (
        f"{pitfall.about}: {wrong.sum()} of {len(wrong)} instead of {clean.sum()}, {100 * gain.estimate:+.0f} points "
        f"({100 * gain.low:+.0f} to {100 * gain.high:+.0f})"
    )
    if sure.low > 0:
        fix = pitfall.fix if isinstance(pitfall.fix, str) else pitfall.fix(runs.spec)
        return False, f"{figures}; it does better with this mistake, so it may have it: try `adapt: [{fix}]`."
    return True, f"{figures}."


# -- the mistakes ------------------------------------------------------------------------------------------------


def _turns(spec: PolicySpec) -> bool:
    return any(dim.rotation is not None for dim in spec.action.dims)


def _grips(spec: PolicySpec) -> bool:
    return any(dim.grips is not None for dim in spec.action.dims)


def _other_sign(spec: PolicySpec) -> str:
    closed, opened = next(ends(dim) for dim in spec.action.dims if dim.grips is not None)
    return f"{{gripper: {{open: {closed:g}, closed: {opened:g}}}}}"


def _change(spec: PolicySpec) -> DimSpec | None:
    """The gripper that takes changes, where there is one."""
    return next((d for d in spec.action.dims if d.grips is not None and d.mode == "delta"), None)


def _sees(spec: PolicySpec) -> bool:
    return any(s.shape is not None and len(s.shape) == 3 and s.shape[2] == 3 for s in spec.reads.values())


def _wider(policy: Any, spec: PolicySpec, actions: Floats) -> Image:
    """Pictures of 4 to 3, squeezed into the policy's size."""
    height = next(s.shape[0] for s in spec.reads.values() if s.shape is not None and len(s.shape) == 3)
    return Image(policy, source=[height, round(height * 4 / 3)], filter="bilinear")


def _brief(policy: Any, spec: PolicySpec, actions: Floats) -> StickyGripper:
    """Changes of the opening that last one action."""
    truth = _change(spec)
    assert truth is not None
    return StickyGripper(Opening(policy, truth=truth), steps=1)


def _raw(policy: Any, spec: PolicySpec, actions: Floats) -> Misheard:
    size = spec.action.size
    return Misheard(policy, rescaled(actions, np.stack([np.ones(size), np.zeros(size)])))


def _other_form(policy: Any, spec: PolicySpec, actions: Floats) -> Misheard:
    return Misheard(policy, rescaled(actions, np.stack([actions.std(axis=0), actions.mean(axis=0)])))


PITFALLS = (
    Pitfall(
        name="rotation_format",
        about="roll, pitch, yaw sent as axis-angle",
        fix="{rotation: euler_xyz}",
        concerns=_turns,
        wrap=lambda policy, spec, actions: Misheard(policy, misread("euler_xyz", "axis_angle")),
    ),
    Pitfall(
        name="rotation_order",
        about="yaw, pitch, roll sent as roll, pitch, yaw",
        fix="{rotation: euler_zyx}",
        concerns=_turns,
        wrap=lambda policy, spec, actions: Misheard(policy, misread("euler_zyx", "euler_xyz")),
    ),
    Pitfall(
        name="quaternion_order",
        about="quaternions (x, y, z, w) read as (w, x, y, z)",
        fix="{rotation: quaternion_xyzw}",
        concerns=_turns,
        wrap=lambda policy, spec, actions: Misheard(policy, misread("quaternion_xyzw", "quaternion")),
    ),
    Pitfall(
        name="gripper_sign",
        about="open taken for closed",
        fix=_other_sign,
        concerns=_grips,
        wrap=lambda policy, spec, actions: Misheard(policy, flipped),
    ),
    Pitfall(
        name="gripper_range",
        about="0 for closed and 1 for open, sent as they are",
        fix="{gripper: {open: 1, closed: 0}}",
        concerns=lambda spec: _grips(spec) and _change(spec) is None,
        wrap=lambda policy, spec, actions: Misheard(policy, halved),
    ),
    Pitfall(
        name="sticky_gripper",
        about="changes of the gripper's opening that last 1 action",
        fix="{sticky_gripper: 15}",
        concerns=lambda spec: _change(spec) is not None,
        wrap=_brief,
    ),
    Pitfall(
        name="unnormalise",
        about="normalised actions sent as they are",
        fix="{unnormalise: STATISTICS}",
        concerns=lambda spec: True,
        wrap=_raw,
    ),
    Pitfall(
        name="statistics",
        about="actions normalised by q01 and q99, undone by mean and std",
        fix="{unnormalise: {statistics: STATISTICS, form: quantiles}}",
        concerns=lambda spec: True,
        wrap=_other_form,
    ),
    Pitfall(
        name="chunk",
        about="the whole chunk run before the next call",
        fix="{ensemble: 0}",
        concerns=lambda spec: spec.executes < spec.chunk,
        wrap=lambda policy, spec, actions: Whole(policy),
    ),
    Pitfall(
        name="history_order",
        about="the newest sample first",
        fix="{history: 2}",
        concerns=lambda spec: any(stream.history > 1 for stream in spec.reads.values()),
        wrap=lambda policy, spec, actions: Misordered(policy),
    ),
    Pitfall(
        name="centre_crop",
        about=f"pictures cropped to {100 * CROP:.0f} % of their area",
        fix=f"{{image: {{crop: {CROP}}}}}",
        concerns=_sees,
        wrap=lambda policy, spec, actions: Image(policy, crop=CROP, filter="bilinear"),
    ),
    Pitfall(
        name="aspect",
        about="pictures of 4 to 3 squeezed into a square",
        fix="{image: {source: [480, 640], fit: pad}}",
        concerns=_sees,
        wrap=_wider,
    ),
    Pitfall(
        name="colour_order",
        about="red taken for blue",
        fix="{image: {colour: bgr}}",
        concerns=_sees,
        wrap=lambda policy, spec, actions: Image(policy, colour="bgr"),
    ),
    Pitfall(
        name="upside_down",
        about="pictures turned by 180 degrees",
        fix="{image: {turn: 180}}",
        concerns=_sees,
        wrap=lambda policy, spec, actions: Image(policy, turn=180),
    ),
)
