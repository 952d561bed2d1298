"""The plan of a study: every scenario resolved, every episode listed, before anything runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal

from foretell.clock import Clock, Realtime
from foretell.episode import unmarked
from foretell.episodes.provenance import design_of
from foretell.errors import UsageError
from foretell.factors import arms, factor
from foretell.fingerprint.source import own_classes
from foretell.objects.imported import is_imported, require_unchanged
from foretell.scenario import Scenario, checked
from foretell.stats.order import by_id
from foretell.study.config import Study, TaskEntry
from foretell.study.films import FAILURES, while_it_runs
from foretell.study.fix import fixed
from foretell.study.objects import objects_in, with_object
from foretell.study.patience import Patience
from foretell.study.room import require_room
from foretell.study.scenario_file import ScenarioFile, read_scenario_file
from foretell.study.scenarios import Scenarios
from foretell.study.select import clean_scenarios, select
from foretell.tasks.make import make_task
from foretell.tasks.starts import Startable, check_start, startable_of
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task
from foretell.world_file import attended

if TYPE_CHECKING:
    from foretell.study.latencies import Settle

__all__ = [
    "JobGroup", "Perturbed", "Planned", "TooLarge", "check_size", "left_out", "make_task", "perturb_scenarios", "plan",
    "resolve_scenarios",
]  # fmt: skip

LARGE = 1_000_000
"""Episodes above which a study is asked about: a million take 1 to 2 GB to plan, by what 200,000 take."""
COUNT = 50
"""Scenarios per task where a study does not say."""
Perturbed = dict[str, dict[str, Scenarios]]
"""Task entry -> arm -> its scenarios under that arm."""


@dataclass(frozen=True)
class JobGroup:
    """Episodes that can share a world: one task, controller and clock, and the policies that run under it."""

    task: TaskEntry
    clock: Clock
    policies: tuple[str, ...]
    real: bool = False
    """Whether the world is reality, or somebody attends to it; see `world_file.attended`."""

    @property
    def once(self) -> bool:
        """Whether an episode does not run again, to be filmed: in real time it would come out otherwise, and in reality
        it would be another trial."""
        return self.real or isinstance(self.clock, Realtime)

    def __hash__(self) -> int:  # asked for once per episode, and a latency trace is long
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.task.use, self.clock, self.policies))


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Planned:
    """One episode to be. Nobody changes it. It is not frozen, because a frozen one takes four times as long to make,
    and there is one for each episode."""

    group: JobGroup
    policy: str
    scenarios: Scenarios
    index: int
    """Which of the scenarios."""
    arm: str
    trial: int
    video: bool
    events: bool = False
    steps: bool = False

    @property
    def scenario(self) -> Scenario:
        """The scenario. It is made at each call; `scenarios.names` has its name without making it."""
        return self.scenarios[self.index]


class TooLarge(UsageError):  # noqa: N818 - says what is wrong
    """A study with so many episodes that it may be a mistake."""


def check_size(study: Study, large: bool = False, scenarios: Mapping[str, Sequence[Scenario]] | None = None) -> None:
    """Raises TooLarge if a study has more than `LARGE` episodes and `large` is not set. Before its scenarios are
    drawn, layouts and those of a file or of another run count as one for each task, because their number is unknown."""
    source = study.scenarios
    drawn = (study.count or COUNT) if not source.listed else 1
    each = study.trials * len(study.policies) * len(study.clocks)
    count = 0
    for entry in study.tasks:
        number = len(scenarios[entry.use]) if scenarios else drawn
        arms_ = 1 if source.file is not None else len(arms.expand(study.arms, make_task(entry.use)))
        count += number * arms_ * each
    if count > LARGE and not large:
        raise TooLarge(
            f"the study has {count:,} episodes, more than {LARGE:,}: check `scenarios: count` and `trials`, or give "
            "--large (large=True in Python) if you want so many"
        )


def _published(use: str, task: Task, wanted: Literal["all"] | tuple[int, ...]) -> list[Scenario]:
    """The layouts of a task, all or those of these numbers."""
    layouts = list(task.layouts())
    if own_classes(type(task)):
        layouts = [checked(layout, f"tasks: {use}: layout {i}") for i, layout in enumerate(layouts)]
    if not layouts:
        raise UsageError(f"scenarios: layouts: task {use!r} publishes no layouts; draw scenarios by `count`")
    if wanted == "all":
        return layouts
    if unknown := [number for number in wanted if number >= len(layouts)]:
        raise UsageError(
            f"scenarios: layouts: task {use!r} has no layout {unknown[0]}; its layouts are 0 to {len(layouts) - 1}"
        )
    return [layouts[number] for number in wanted]


def resolve_scenarios(study: Study) -> tuple[dict[str, Scenarios], str]:
    """Task entry -> its scenarios, and how they were chosen: iid, grid or chosen. Guarantees depend on that."""
    source = study.scenarios
    tasks = {entry.use: make_task(entry.use) for entry in study.tasks}
    if study.until is not None:
        study.until.check(study.policies)
    if source.file is None and source.like is None:
        return _made(study, tasks)
    listed, where, design = _listed(study)
    by_task: dict[str, list[Scenario]] = defaultdict(list)
    for scenario in listed:
        by_task[scenario.task].append(scenario)
    chosen = {use: by_task.get(task.name, [])[: source.count] for use, task in tasks.items()}
    if testset := testset_of(study):
        if study.until is not None:
            raise UsageError(f"until: {source.file} is a test set, which runs whole: leave `until` out")
        for use, task in tasks.items():
            testset.check_task(task.name, task.version)
            chosen[use] = [s for under in testset.arms(task.name, source.count).values() for s in under]
    for use, scenarios in chosen.items():
        if not scenarios:
            raise UsageError(f"scenarios: {where} has none of task {use!r}; it has {sorted(by_task) or 'nothing'}")
        _check_fit(scenarios, use, tasks[use], where)
    if testset is None:  # a test set was drawn by seed, so its order is a random one
        chosen = {use: _in_turn(study, use, scenarios) for use, scenarios in chosen.items()}
    return {use: Scenarios.of(scenarios) for use, scenarios in chosen.items()}, design


def _made(study: Study, tasks: Mapping[str, Task]) -> tuple[dict[str, Scenarios], str]:
    """Scenarios that neither a file nor another run lists, and how they were chosen."""
    source = study.scenarios
    if source.layouts is not None:
        return _laid_out(study, tasks)
    if source.objects is not None:
        return {use: _of_objects(study, use, task) for use, task in tasks.items()}, "chosen"
    if source.select is not None:
        return _selected(study, tasks)
    return {use: _drawn(study, task) for use, task in tasks.items()}, "iid"


def _selected(study: Study, tasks: Mapping[str, Task]) -> tuple[dict[str, Scenarios], str]:
    """The scenarios of a simulated run that coins chose. With equal chances they are as they came about there."""
    chosen, made = study.scenarios.select, {}
    assert chosen is not None
    for use, task in tasks.items():
        _, scenarios = select(chosen, task.name, study.policies, study.scenarios.count)
        _check_fit(scenarios, use, task, str(chosen.source))
        made[use] = Scenarios.of(scenarios)
    return made, design_of(chosen.source) if chosen.rule == "uniform" else "chosen"


def _laid_out(study: Study, tasks: Mapping[str, Task]) -> tuple[dict[str, Scenarios], str]:
    """Published layouts, and how they were chosen."""
    wanted = study.scenarios.layouts
    assert wanted is not None
    published = {use: _published(use, task, wanted)[: study.scenarios.count] for use, task in tasks.items()}
    for use, layouts in published.items():
        _check_starts(layouts, f"layouts of {use!r}", _startable(tasks[use]))
    design = "grid" if wanted == "all" else "chosen"
    return {use: Scenarios.of(_in_turn(study, use, layouts)) for use, layouts in published.items()}, design


def _in_turn(study: Study, use: str, listed: list[Scenario]) -> list[Scenario]:
    """Scenarios that are not drawn, in the order in which they run. A study that stops by `until` takes them in the
    order of a hash of their ids: a file may be sorted by how hard they are, and then the first are no fair sample."""
    if study.until is None:
        return listed
    most = study.until.max
    if most is not None and len(listed) < most:
        raise UsageError(
            f"until: `max` is {most}, and there are {len(listed)} scenarios of task {use!r}: lower it, or leave it out "
            "to take them all"
        )
    return [listed[i] for i in by_id([scenario.id for scenario in listed])][:most]


def _listed(study: Study) -> tuple[list[Scenario], str, str]:
    """The scenarios of the file or of the run that a study names, where they are, and how they were chosen."""
    source = study.scenarios
    if source.file is not None:
        design = "iid" if testset_of(study) else "chosen"  # a test set is drawn by seed
        return read_scenario_file(source.file).scenarios, str(source.file), design
    assert source.like is not None
    try:
        scenarios = clean_scenarios(source.like)  # the arms of this study make the perturbed scenarios again
    except UsageError as error:
        raise UsageError(f"scenarios: like: {error}") from None
    return scenarios, str(source.like), design_of(source.like)


def _check_fit(scenarios: Sequence[Scenario], use: str, task: Task, where: str) -> None:
    """Raises UsageError for a scenario that lacks an object of the task, or has a factor that the task cannot have."""
    needed = set(task.scenario(0).placements)
    for name in dict.fromkeys(p.asset for s in scenarios for p in s.placements.values() if is_imported(p.asset)):
        require_unchanged(name)
    for scenario in scenarios:
        if missing := sorted(needed - set(scenario.placements)):
            raise UsageError(f"scenarios: {where}: scenario {scenario.id} of {use!r} does not place {missing[0]!r}")
        if why := next((why for name in scenario.factors if (why := factor(name).applies(task))), None):
            raise UsageError(f"scenarios: {where}: scenario {scenario.id}: {why}")
        try:
            task.check(scenario)
        except UsageError as error:
            raise UsageError(f"scenarios: {where}: scenario {scenario.id}: {error}") from None
    _check_starts(scenarios, where, _startable(task))


def _check_starts(scenarios: Iterable[Scenario], where: str, known: Mapping[str, Startable] | None) -> None:
    """Raises UsageError for a scenario with a start that the scene does not have, or that is out of range. known: what
    may start somewhere; None where only the world knows."""
    for scenario in scenarios if known is not None else ():
        try:
            check_start(scenario, known or {})
        except UsageError as error:
            why = str(error).removeprefix("scenario: ")
            raise UsageError(f"scenarios: {where}: scenario {scenario.id}: {why}") from None


def _startable(task: Task) -> Mapping[str, Startable] | None:
    return startable_of(task) if isinstance(task, TabletopTask) else None


def _of_objects(study: Study, use: str, task: Task) -> Scenarios:
    """The scenarios of a task with each object of a folder: the drawn layouts are the same for all objects."""
    source = study.scenarios
    assert source.objects is not None
    each = source.count or 1
    drawn = _drawn(study.model_copy(update={"scenarios": source.model_copy(update={"count": each})}), task)
    made = [with_object(layout, task, name) for name in objects_in(source.objects) for layout in drawn]
    require_room(made, task)
    return Scenarios.of(_in_turn(study, use, made))


def _drawn(study: Study, task: Task) -> Scenarios:
    """The scenarios of a task that a study draws by seed."""
    source, own = study.scenarios, bool(own_classes(type(task)))
    known = cache(lambda: _startable(task))  # asked after a scenario was checked: this makes one too

    def make(index: int) -> Scenario:
        scenario = task.scenario(source.seed + index)
        if own:
            scenario = checked(scenario, f"tasks: {task.name}: scenario of seed {source.seed + index}")
        _check_starts([scenario], f"seed {scenario.seed} of {task.name!r}", known())
        return fixed(scenario, task, source.fix) if source.fix else scenario

    # a task of one's own may give its scenarios factors
    return Scenarios(study.count or COUNT, make=make, clean=type(task).scenario is TabletopTask.scenario)


def testset_of(study: Study) -> ScenarioFile | None:
    """The test set that a study runs, if its scenarios come from one."""
    file = study.scenarios.file
    contents = read_scenario_file(file) if file is not None else None
    return contents if contents is not None and contents.header is not None else None


def perturb_scenarios(study: Study, scenarios: Mapping[str, Scenarios]) -> Perturbed:
    """A study's scenarios under its arms. An arm that applies to no task is an error; to some, it is run on those. A
    test set brings its own arms."""
    tasks = {entry.use: make_task(entry.use) for entry in study.tasks}
    if made := testset_of(study):
        if [arm.name for arm in study.arms] != ["none"]:
            raise UsageError(f"arms: {study.scenarios.file} is a test set and has its own arms: leave `arms` out")
        given = {use: made.arms(task.name, study.scenarios.count) for use, task in tasks.items()}
        return {use: {arm: Scenarios.of(s) for arm, s in by_arm.items()} for use, by_arm in given.items()}
    for arm in study.arms:
        if not any(arms.expand([arm], task) for task in tasks.values()):
            raise UsageError("arms: " + "; ".join(str(arm.applies(task)) for task in tasks.values()))
    perturbed: Perturbed = {}
    for use, task in tasks.items():
        plain, perturbed[use] = scenarios[use], {}
        for arm in arms.expand(study.arms, task):
            if arm.uses and not plain.clean and (twice := next((s for s in plain if s.factors), None)):
                raise UsageError(f"arms: scenario {twice.id} has factors already: only the arm none can run it")
            perturbed[use][arm.name] = _under(arm, plain, task) if arm.uses else plain
    return perturbed


def _under(arm: arms.Arm, plain: Scenarios, task: Task) -> Scenarios:
    own = any(own_classes(type(factor(use.factor))) for use in arm.uses)

    def make(index: int) -> Scenario:
        scenario = arm.on(plain[index], task)
        return checked(scenario, f"arms: {unmarked(arm.name)} on scenario {plain[index].id}") if own else scenario

    return Scenarios(len(plain), make=make)


def left_out(study: Study) -> list[str]:
    """Arms that a study names and that do not apply to some of its tasks, in words."""
    if testset_of(study):
        return []
    tasks = [make_task(entry.use) for entry in study.tasks]
    return [f"arm {unmarked(a.name)} is left out: {why}" for a in study.arms for t in tasks if (why := a.applies(t))]


def given_arm(scenario: Scenario) -> str:
    """The arm of a scenario that is run as it is: what it was given, in a file of scenarios, if anything."""
    names = [arms.Use(name).label for name in sorted(scenario.factors)]
    return "given:" + "+".join(names) if names else "none"


def _as_it_is(clock: Clock, policy: str, task: TaskEntry) -> Clock:
    return clock


def _kept(study: Study, arm: str, under: Scenarios, once: bool) -> Iterator[tuple[str, bool, bool, bool]]:
    """The arm of each scenario, and whether its film, events and steps are kept. From some scenario on these are the
    same for all."""
    record, own = study.record, arm == "none" and not under.clean
    last = max(0, FAILURES, *(n for n in (record.video, record.events, record.steps) if isinstance(n, int)))
    for index in range(len(under)):
        label = given_arm(under[index]) if own else arm
        if index <= last:
            flags = while_it_runs(record, once, index), record.keeps_events(index), record.keeps_steps(index)
        yield label, *flags


def plan(
    study: Study,
    scenarios: Mapping[str, Scenarios],
    settle: Settle = _as_it_is,
    perturbed: Perturbed | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> list[Planned]:
    """Every episode of a study, in the order in which they are started. `settle` gives a policy's own latency to
    clocks that leave it open (see `study.latencies`). perturbed: the scenarios under their arms, if they are known.
    `notify` is called with a message about slow steps."""
    episodes: list[Planned] = []
    patience = Patience(notify)
    perturbed = perturb_scenarios(study, scenarios) if perturbed is None else perturbed
    real = attended(study.world)
    for entry in study.tasks:
        for timing in study.clocks:
            settled = {name: settle(timing, name, entry) for name in study.policies}
            for policy in study.policies:
                alike = tuple(n for n, c in settled.items() if c == settled[policy])
                group = JobGroup(entry, settled[policy], alike, real)
                for arm, under in perturbed[entry.use].items():
                    kept = _kept(study, arm, under, group.once)
                    for index, (label, video, events, steps) in enumerate(kept):
                        if index % 1000 == 0:
                            patience(f"planning: {len(episodes):,} episodes so far")
                        for trial in range(study.trials):
                            first = trial == 0
                            episodes.append(
                                Planned(
                                    group=group,
                                    policy=policy,
                                    scenarios=under,
                                    index=index,
                                    arm=label,
                                    trial=trial,
                                    video=first and video,
                                    events=first and events,
                                    steps=steps,
                                )
                            )
    return episodes
