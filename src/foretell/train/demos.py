"""Demonstrations: the scripted expert acts in the ordinary world, is disturbed now and then, and recovers.

At every action the expert's own answer is written down, whoever acts. For a few actions at a time somebody else does:
a random push (as in DART), or a student trained before (as in DAgger). Only episodes that end well are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.policy import Policy, PolicySpec
from foretell.rollout import Job
from foretell.scenario import Scenario
from foretell.seeding import seed as seed_of
from foretell.spec import ActionSpec, Stream
from foretell.study.session import Session
from foretell.tasks.script import Script

__all__ = ["CAMERAS", "FIRST_SEED", "OBJECTS", "Demos", "demonstrated", "record", "streams"]

FIRST_SEED = 3_000_000_000
"""Scenarios of demonstrations have seeds from here on; studies count up from their own, usually 0."""
OBJECTS = {"lift": "cube", "can": "can", "square": "nut"}
CAMERAS = {"front": Stream((84, 84, 3)), "panda/wrist": Stream((84, 84, 3))}
HELD = ("up", "across", "turn", "centre", "lower")
"""Phases in which the expert carries the object; when it is lost there, the expert starts over."""
LOST = 0.12
"""Distance of the object from the finger tips that means it was dropped, m."""

Student = Callable[[np.ndarray], np.ndarray]
"""(n, history, numbers) states -> (n, 7) actions."""


def streams(task: str) -> list[str]:
    """What a state policy reads, in the order in which a state holds it: 15 numbers."""
    thing = OBJECTS[task]
    return ["panda/ee_pos", "panda/ee_quat", "panda/gripper", f"{thing}/pos", f"{thing}/quat"]


@dataclass(kw_only=True)
class Demos:
    """Steps of all episodes, end to end."""

    states: np.ndarray
    """(steps, 15) float32"""
    actions: np.ndarray
    """(steps, 7) float32: the expert's, whether or not it acted"""
    calm: np.ndarray
    """(steps,) bool: the expert acted"""
    episode: np.ndarray
    """(steps,) int"""
    pictures: np.ndarray | None = None
    """(steps, cameras, 84, 84, 3) uint8"""

    @property
    def count(self) -> int:
        return len(np.unique(self.episode))

    def first(self, episodes: int) -> Demos:
        """Only the first so many episodes."""
        return self._only(np.unique(self.episode)[:episodes])

    def beginning(self, where: Callable[[np.ndarray], bool]) -> Demos:
        """Only the episodes whose first state is so."""
        episodes, first = np.unique(self.episode, return_index=True)
        return self._only(np.array([e for e, at in zip(episodes, first, strict=True) if where(self.states[at])]))

    def _only(self, episodes: np.ndarray) -> Demos:
        keep = np.isin(self.episode, episodes)
        pictures = None if self.pictures is None else self.pictures[keep]
        return Demos(
            states=self.states[keep],
            actions=self.actions[keep],
            calm=self.calm[keep],
            episode=self.episode[keep],
            pictures=pictures,
        )

    def __add__(self, other: Demos) -> Demos:
        shifted = other.episode + (self.episode.max(initial=-1) + 1)
        return Demos(
            states=np.concatenate([self.states, other.states]),
            actions=np.concatenate([self.actions, other.actions]),
            calm=np.concatenate([self.calm, other.calm]),
            episode=np.concatenate([self.episode, shifted]),
            pictures=None if self.pictures is None else np.concatenate([self.pictures, other.pictures]),
        )

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {k: v for k, v in vars(self).items() if v is not None}
        np.savez(path, **arrays)

    @staticmethod
    def load(path: Path) -> Demos:
        return Demos(**np.load(path))


class Teacher(Policy):
    """The expert, disturbed; remembers what it saw and what it would have done."""

    def __init__(self, pushes: float, student: Student | None, history: int, cameras: bool):
        self.pushes, self.student, self.history, self.cameras = pushes, student, history, cameras
        self.steps: dict[int, list[tuple[Any, ...]]] = {}
        """Seed that the policy was reset with, which names the episode -> its steps."""
        self._seed: dict[int, int] = {}
        self._rng: dict[int, np.random.Generator] = {}
        self._left: dict[int, int] = {}
        self._push: dict[int, np.ndarray] = {}

    def bind(self, task: Any, action: ActionSpec) -> None:
        self._task = task.name
        script = task.expert()
        assert isinstance(script, Script)
        script.bind(task, action)
        self._script = script
        self._held = np.array([phase.name in HELD for phase in script.phases])
        pictures = {f"{name}/rgb": stream for name, stream in CAMERAS.items()} if self.cameras else {}
        self.spec = PolicySpec(
            reads={**script.spec.reads, **pictures},
            action=action,
            action_rate=task.action_rate,
            batch=None,
            seeded=True,
        )

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self._script.reset(slots, instructions, seeds)
        for slot, seed in zip(slots.tolist(), seeds, strict=True):
            self._seed[slot], self.steps[seed] = seed, []
            self._rng[slot], self._left[slot] = np.random.default_rng([seed, 7]), 0

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Floats:
        self._start_over(slots, observations)
        wanted = self._script.act(slots, observations)
        states = np.concatenate([observations[name] for name in streams(self._task)], axis=1).astype(np.float32)
        disturbed = np.array([self._disturb(slot) for slot in slots.tolist()])
        done = wanted.copy()
        if self.student is not None:
            done = np.where(disturbed[:, None], self.student(self._recent(slots, states)), wanted)
        elif disturbed.any():
            pushes = np.array([self._push[slot] for slot in slots[disturbed].tolist()])
            done[disturbed, :6] += pushes[:, :6]
            done[disturbed, 6] *= pushes[:, 6]
        for row, slot in enumerate(slots.tolist()):
            pictures = [observations[f"{name}/rgb"][row] for name in CAMERAS] if self.cameras else []
            self.steps[self._seed[slot]].append((states[row], wanted[row], not disturbed[row], *pictures))
        clipped: Floats = np.clip(done, -1.0, 1.0)
        return clipped

    def _start_over(self, slots: np.ndarray, observations: Mapping[str, Any]) -> None:
        away = np.linalg.norm(observations["panda/ee_pos"] - observations[f"{OBJECTS[self._task]}/pos"], axis=1) > LOST
        lost = slots[away & self._held[self._script.phase[slots]] & (self._script.stayed[slots] >= 0)]
        if len(lost):
            self._script.reset(lost, (), ())

    def _disturb(self, slot: int) -> bool:
        """Whether somebody else acts now."""
        rng = self._rng[slot]
        if self._left[slot] > 0:
            self._left[slot] -= 1
            return True
        if rng.uniform() >= self.pushes:
            return False
        if self.student is not None:
            self._left[slot] = int(rng.integers(5, 60))
        else:
            self._left[slot] = int(rng.integers(1, 6))
            lets_go = -1.0 if rng.uniform() < 0.12 else 1.0
            self._push[slot] = np.concatenate([rng.normal(0, 0.4, 3), rng.normal(0, 0.25, 3), [lets_go]])
        return True

    def _recent(self, slots: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(n, history, 15): the first state fills what is missing, as the driver does it."""
        rows = []
        for row, slot in enumerate(slots.tolist()):
            past = [step[0] for step in self.steps[self._seed[slot]][-(self.history - 1) :]] if self.history > 1 else []
            line = [*past, states[row]]
            rows.append([line[0]] * (self.history - len(line)) + line)
        return np.array(rows)


def demonstrated(session: Session, teacher: Any, scenarios: Iterator[Scenario], count: int) -> list[list[Any]]:
    """The steps of `count` successful episodes, in the order of their seeds. `teacher` is the session's policy of that
    name, and keeps the steps of each episode by its seed. The session is closed afterwards."""
    kept: dict[int, list[Any]] = {}
    tried = 0
    try:
        while len(kept) < count:
            batch = [next(scenarios) for _ in range(count - len(kept))]
            tried += len(batch)
            name = session.world.task.name
            assert tried <= 20 * count, f"{name}: only {len(kept)} of {tried} demonstrations succeed"
            jobs = iter([Job(policy="teacher", scenario=scenario) for scenario in batch])
            for job, outcome in session.run(lambda jobs=jobs: next(jobs, None)):  # type: ignore[misc]
                steps = teacher.steps.pop(seed_of(job.scenario.base, job.trial, "policy"))
                if outcome.success:
                    kept[job.scenario.seed] = steps
    finally:
        session.close()
    return [kept[seed] for seed in sorted(kept)]  # they finish in another order than they started


def record(
    task: str,
    count: int,
    *,
    seed: int = 0,
    pushes: float = 0.04,
    student: Student | None = None,
    history: int = 1,
    cameras: bool = False,
    where: Callable[[Scenario], bool] = lambda scenario: True,
    slots: int = 16,
) -> Demos:
    """`count` successful episodes. `pushes`: chance per action that a disturbance begins. `where`: only the scenarios
    for which it is true are demonstrated."""
    teacher = Teacher(pushes, student, history, cameras)
    session = Session(task=task, controller=None, world="mujoco", policies={"teacher": teacher}, slots=slots, threads=1)
    start = FIRST_SEED + seed * 1_000_000
    drawn = map(session.world.task.scenario, range(start, start + 1_000_000))
    episodes = demonstrated(session, teacher, filter(where, drawn), count)
    column = [[step[i] for steps in episodes for step in steps] for i in range(5 if cameras else 3)]
    return Demos(
        states=np.array(column[0], dtype=np.float32),
        actions=np.array(column[1], dtype=np.float32),
        calm=np.array(column[2], dtype=bool),
        episode=np.repeat(np.arange(len(episodes)), [len(steps) for steps in episodes]),
        pictures=np.stack([np.array(column[3]), np.array(column[4])], axis=1) if cameras else None,
    )
