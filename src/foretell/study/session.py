"""A session: one process's world and policies of one group, ready to run episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foretell.clock import Clock, Realtime, Sync, Virtual, parse
from foretell.errors import ForetellError, UsageError
from foretell.factors import adopt
from foretell.policies.make import BoundPolicy, bind, construct, make_policy
from foretell.policy import TIMEOUT
from foretell.rollout import Job, Outcome, run_realtime, run_sync, run_virtual
from foretell.rollout.able import check_able
from foretell.rollout.companion import Companion
from foretell.study.hush import Hushed, hushed
from foretell.study.policy_entry import PolicyEntry
from foretell.tasks.identity import task_hash
from foretell.tasks.make import make_task
from foretell.world import Recordable
from foretell.world_file import controllers_of, make_world, world_hash

__all__ = ["Opened", "Session", "from_json", "to_json"]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What the rows of a group have in common, as found when it was opened. JSON-able."""

    world: str
    world_hash: str
    real: bool
    stands_in: bool
    params: dict[str, Any]
    robot: str
    controller: str
    task: str
    task_version: int
    task_hash: str
    success_rule: str
    time_limit: float
    policies: dict[str, dict[str, Any]]
    """Policy name -> its `hash` and `options`."""
    draws: bool = False
    """Whether the world can be filmed, if OpenGL is there."""
    notes: tuple[str, ...] = ()
    """What the world says of its parameters."""

    def check_same(self, now: Opened) -> None:
        """Raise ForetellError if files were edited since: their rows would go under the name of what was there."""
        what = [f"policy {n!r}" for n in self.policies if now.policies.get(n) != self.policies[n]]
        if (self.task_version, self.task_hash) != (now.task_version, now.task_hash):
            what.append(f"task {self.task!r}")
        if self.world_hash != now.world_hash:
            what.append(f"world {self.world!r}")
        if what:
            raise ForetellError(f"{what[0]} changed while the study ran; run the same command to resume")


def to_json(opening: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `Session` as JSON can hold them, for a worker."""
    policies = {name: entry.model_dump() for name, entry in opening["policies"].items()}
    return {**opening, "policies": policies, "clock": opening["clock"].to_dict()}


def from_json(given: dict[str, Any]) -> dict[str, Any]:
    """Inverse of `to_json`."""
    policies = {name: PolicyEntry.model_validate(entry) for name, entry in given["policies"].items()}
    return {**given, "policies": policies, "clock": parse(given["clock"])}


class Session:
    """Builds a world and binds policies to it; everything that can be wrong with either shows here."""

    def __init__(
        self,
        *,
        task: str,
        controller: str | None,
        time_limit: float | None = None,
        world: str | dict[str, Any],
        factors: Sequence[str] = (),
        policies: dict[str, Any],
        slots: int,
        threads: int,
        clock: Clock | None = None,
        video: bool = False,
        steps: bool = False,
        patience: float = TIMEOUT,
        view: bool = False,
        execute: int | None = None,
        folder: str | None = None,
        hush: str | None = None,
    ):
        """folder: the run folder, which a world that is attended keeps files in. hush: the file into which policies
        print in a blind study."""
        self._folder = folder
        self.clock, self.patience, self.view = clock or Sync(), patience, view
        realtime = isinstance(self.clock, Realtime)
        self._alike: dict[str, Any] = {"task": task, "controller": controller, "time_limit": time_limit, "world": world}
        self._alike["factors"] = list(factors)
        for target in factors:  # scenarios name them, and reading a scenario loads no code
            adopt(target)
        self._entries, self._hush = policies, hush
        made = make_task(task, time_limit)
        self.world = make_world(world, made, slots=1 if realtime else slots, threads=threads, controller=controller)
        self._task_hash, self._world_hash = task_hash(made, controllers_of(self.world)), world_hash(self.world)
        if steps and not isinstance(self.world, Recordable):
            raise UsageError(
                f"record: steps: world {self.world.name!r} does not give its true state (it has no `state`, `restore` "
                "and `trace`); record no steps"
            )
        self.policies: dict[str, BoundPolicy] = {}
        for name, entry in policies.items():
            with hushed(hush):
                bound = self._bound(name, entry, execute)
            self.policies[name] = bound if hush is None else Hushed(bound, hush)
            reads = bound.spec.reads
            if getattr(self.clock, "chunks", "") == "rtc" and "plan" not in reads:
                raise UsageError(
                    f"clocks: chunks: rtc needs a policy that reads its plan (stream `plan`), and {name!r} does not; "
                    "use replace"
                )
        specs = {name: bound.spec for name, bound in self.policies.items()}
        check_able(self.world, self.clock, specs, video=video, view=view)

    def _bound(self, name: str, entry: Any, execute: int | None) -> BoundPolicy:
        """A policy of the study, or an object given from Python, bound to the world."""
        if isinstance(entry, PolicyEntry):
            policy = make_policy(entry.use, entry.options)
            return bind(policy, self.world, name, entry.execute, entry.options)
        if isinstance(self.clock, Realtime):
            raise UsageError(
                f"policies: {name!r} is an object; realtime runs a policy in a process of its own, so give its "
                'name or "package.module:Class"'
            )
        return bind(construct(entry) if isinstance(entry, type) else entry, self.world, name, execute)

    @property
    def opened(self) -> Opened:
        world, task = self.world, self.world.task
        return Opened(
            world=world.name,
            world_hash=self._world_hash,
            real=world.real,
            stands_in=bool(getattr(world, "stands_in", False)),
            params=world.params,
            robot="+".join(mount.robot for mount in task.robots.values()),
            controller=world.controller,
            task=task.name,
            task_version=task.version,
            task_hash=self._task_hash,
            success_rule=task.success_rule,
            time_limit=task.time_limit,
            policies={n: {"hash": b.hash, "options": b.options} for n, b in self.policies.items()},
            notes=tuple(getattr(world, "notes", ())),
            draws="draw" in world.can and bool(getattr(task, "film", None) or world.cameras),
        )

    def run(
        self, source: Callable[[], Job | None], watch: Callable[[str, list[Job]], None] = lambda doing, jobs: None
    ) -> Iterator[tuple[Job, Outcome]]:
        """Run jobs until there are no more."""
        if self._folder is not None and (attend := getattr(self.world, "attend", None)) is not None:
            attend(Path(self._folder))
        if isinstance(self.clock, Virtual):
            return run_virtual(self.world, self.policies, source, watch, self.clock)
        if isinstance(self.clock, Realtime):
            return run_realtime(
                self.world, self.policies, source, watch, self.clock,
                launch=self._launch, patience=self.patience, view=self.view,
            )  # fmt: skip
        return run_sync(self.world, self.policies, source, watch)

    def _launch(self, request: dict[str, Any], fds: tuple[int, ...]) -> Companion:
        """Start a process beside the world's: the policy's, or the cameras'."""
        opening = {**self._alike, **request}
        if request["role"] == "thinker":
            opening["policy"] = self._entries[request["name"]].model_dump()
            opening["action"] = asdict(self.world.action)
            opening["action_rate"] = self.world.task.action_rate  # another simulator's, where the task is its own
            opening["features"] = {name: asdict(feature) for name, feature in self.world.features.items()}
        return Companion("foretell.study.companion", {"open": opening}, fds, self._hush)

    def close(self) -> None:
        self.world.close()
