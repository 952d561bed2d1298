"""How closely a world's robot follows recorded motion, before and after θ is fitted to it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.counting import counted
from foretell.errors import UsageError, suggest
from foretell.files import require_writable
from foretell.identify.fit import Notify
from foretell.identify.fitted import Fitted
from foretell.identify.parameter import space
from foretell.identify.plausible import require_plausible
from foretell.identify.read import read_recordings
from foretell.identify.recording import Recording
from foretell.identify.replay import FreeSpace, Likeness, free_space, replay
from foretell.identify.search import search
from foretell.identify.tool import started
from foretell.registry import names, resolve
from foretell.robots import Robot, controllers
from foretell.robots.controller import scheme
from foretell.sim.params import MujocoFile, load_world
from foretell.world_file import WorldFile

__all__ = ["Identified", "identify"]

SHIFTED = {
    1: "one action later than the world: are the states a row too late, or does your robot answer so late?",
    -1: "one action earlier than the world: was each state recorded after its action? It should be from before",
}
"""What it may mean that most recordings are late (1) or early (-1)."""


@dataclass(frozen=True, kw_only=True)
class Identified:
    """How closely a world follows each sequence of a file, and the fit of θ, if there was one."""

    robot: str
    world: str
    sequences: tuple[Likeness, ...]
    """In the world as it is, unfitted."""
    fitted: Fitted | None = None
    refined: tuple[Likeness, ...] = ()
    """In the fitted world."""
    untimed: tuple[str, ...] = ()
    """Sequences of which nobody knows when their rows were recorded."""

    @property
    def notes(self) -> list[str]:
        """What a person should know before the fit is used."""
        notes = []
        if self.untimed:
            notes.append(
                f"{self.untimed[0]}{_more(self.untimed)}: no times are recorded. Missing rows are noticed only where "
                "one makes the motion jump: record the time of each row"
            )
        shown = self.refined or self.sequences
        for way, words in SHIFTED.items():
            odd = [s.sequence for s in shown if s.late == way]
            if 2 * len(odd) > len(shown):
                notes.append(f"{odd[0]}{_more(odd)}: the recorded robot moves {words}")
        if any(s.joint_rms is None for s in shown):
            notes.append("joints were not recorded: inverse kinematics gave those at the start, nearest to home")
        for s in shown:
            if s.jump_action is not None:
                notes.append(
                    f"{s.sequence}: in action {s.jump_action} the robot leaves the world's motion by {s.jump:.3f} (rad "
                    "or m) at once: is a row missing there, or did it touch something? Look before you use the fit"
                )
            if s.ik_agree is False:
                notes.append(
                    f"{s.sequence}: inverse kinematics failed in {counted(s.ik_failures, 'action')} of the replay, and "
                    f"in {s.ik_failures_recorded} recorded ones: the commanded paths differ from there on"
                )
        return notes

    def to_list(self) -> list[dict[str, Any]]:
        """One object for each sequence, JSON-able."""
        return [asdict(likeness) for likeness in self.sequences]

    def to_dict(self) -> dict[str, Any]:
        """With the fit, JSON-able."""
        fitted = {} if self.fitted is None else self.fitted.to_dict()
        after = [asdict(likeness) for likeness in self.refined]
        both = {"unfitted": self.to_list(), "fitted": after}
        return {"robot": self.robot, "from": self.world, **fitted, **both, "notes": self.notes}

    def text(self) -> str:
        """A table, and what was fitted."""
        notes = [f"note: {note}" for note in self.notes]
        if self.fitted is None:
            return "\n".join([_table(self.sequences), *notes])
        parts = [f"{self.world}, unfitted:", _table(self.sequences), "", "fitted:", _table(self.refined)]
        return "\n".join([*parts, "", self.fitted.text(), *notes])


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _table(sequences: Sequence[Likeness]) -> str:
    wide = max(len("sequence"), *(len(s.sequence) for s in sequences))
    lines = [f"{'sequence':<{wide}}  actions  joint RMS  tool, at most         IK failures (recorded)"]
    for s in sequences:
        tool = "not recorded" if s.ee_mm_max is None else f"{s.ee_mm_max:.2f} mm, {s.ee_deg_max:.3f} deg"
        joints = "-" if s.joint_rms is None else f"{s.joint_rms:.5f}"
        recorded = "" if s.ik_failures_recorded is None else f" ({s.ik_failures_recorded})"
        lines.append(f"{s.sequence:<{wide}}  {s.actions:>7}  {joints:>9}  {tool:<20}  {s.ik_failures}{recorded}")
    return "\n".join(lines)


def identify(
    data: str | Path,
    robot: str,
    *,
    world: str | Path | Mapping[str, Any] | WorldFile = "mujoco",
    controller: str | None = None,
    fit: bool = True,
    vary: Sequence[str] = ("gains",),
    way: str = "least-squares",
    to: Sequence[str] = (),
    held_out: float = 0.25,
    width: float = 5.0,
    evaluations: int = 400,
    seed: int = 0,
    out: str | Path | None = None,
    notify: Notify = lambda tried, loss: None,
) -> Identified:
    """Replay the recorded actions of a file or folder (see `foretell.identify.read`) in a world, in free space, compare
    joints and tool after every action, and fit what the world believes of the robot.

    `fit=False` compares with θ as it is. `vary` names what is fitted (`foretell.identify.VARIES`), `way` how
    (`foretell.identify.WAYS`), `to` what the motion is compared by: `tool`, `joints` or both; by default the tool where
    poses were recorded, and the joints otherwise. `out` is the world file to write.
    """
    kind = _robot(robot)
    task = free_space(robot, kind, controller)
    _, action = controllers(task.controller, {"robot": kind()}, 1, 0.002)
    recordings = started(read_recordings(data, kind, action.size, task.controller), kind)
    file = load_world(world)
    compared = _compared(to, recordings)
    require_plausible(recordings, kind, tool="tool" in compared)
    if out is not None:
        _require_out(Path(out), file, world)
    before = tuple(replay(recordings, task, world))
    untimed = tuple(recording.name for recording in recordings if not recording.timed)
    if not fit:
        return Identified(robot=robot, world=file.name, sequences=before, untimed=untimed)
    fitted = _fit(
        recordings, task, kind, file, compared, vary=vary, width=width, way=way, held_out=held_out,
        evaluations=evaluations, seed=seed, notify=notify, name=Path(data).stem,
    )  # fmt: skip
    if out is not None:
        fitted.write(Path(out))
    after = tuple(replay(recordings, task, fitted.world))
    return Identified(robot=robot, world=file.name, sequences=before, fitted=fitted, refined=after, untimed=untimed)


def _require_out(out: Path, file: MujocoFile, world: object) -> None:
    """Raises UsageError where the fitted world cannot be written."""
    require_writable(out, "--out")
    beside = Path(world).parent if isinstance(world, str | Path) else Path()
    if file.transforms and beside.resolve() != out.parent.resolve():
        raise UsageError(
            f"identify: --out {out} should be in the folder of the world ({beside}), because its transforms name files "
            "relative to it"
        )


def _robot(robot: str) -> type[Robot]:
    known = names("robots")
    if robot not in known and ":" not in robot:
        raise UsageError(f"identify: robot {robot!r:.100} is not known; {suggest(robot, known)}")
    kind = resolve("robots", robot)
    if not (isinstance(kind, type) and issubclass(kind, Robot) and kind.groups):
        raise UsageError(f"identify: {robot!r:.100} should be a subclass of foretell.robots.Robot with `groups`")
    return kind


COMPARED = ("tool", "joints")


def _compared(to: Sequence[str], recordings: Sequence[Recording]) -> tuple[str, ...]:
    poses = [recording.name for recording in recordings if recording.ee is not None]
    if not to:
        to = ("tool",) if len(poses) == len(recordings) else ("joints",)
    for word in to:
        if word not in COMPARED:
            raise UsageError(f"identify: to: {word!r:.100} is not known; {suggest(word, list(COMPARED))}")
    if "tool" in to and len(poses) < len(recordings):
        missing = next(recording.name for recording in recordings if recording.ee is None)
        raise UsageError(f"identify: to: tool: recording {missing!r:.100} has no poses of the tool; use --to joints")
    if "joints" in to and (alone := [r.name for r in recordings if not r.has_joints]):
        raise UsageError(
            f"identify: to: joints: recording {alone[0]!r:.100} has no joints; compare the tool (--to tool)"
        )
    return tuple(dict.fromkeys(to))


def _fit(
    recordings: Sequence[Recording],
    task: FreeSpace,
    kind: type[Robot],
    file: MujocoFile,
    to: tuple[str, ...],
    *,
    vary: Sequence[str],
    width: float,
    name: str,
    **how: Any,
) -> Fitted:
    named = file.model_copy(update={
        "name": f"{file.name}-{name}",
        "about": f"{file.name} with {', '.join(vary)} of {kind.name} fitted to {len(recordings)} recordings of {name}.",
        "fitted_to": tuple(sorted({*file.fitted_to, *(r.source for r in recordings)})),
    })  # fmt: skip
    around = space(named, kind, vary, width, file.steps([kind]).tick)
    groups = {group for _, group in scheme(task.controller, {"robot": kind()})}
    moved = np.array([key in groups for key, group in kind.groups.items() for _ in group.joints])
    joints = np.array([joint for group in kind.groups.values() for joint in group.joints])[moved].tolist()
    outputs = [f"tool {axis}" for axis in ("x", "y", "z", "turn x", "turn y", "turn z")] if "tool" in to else []
    outputs += joints if "joints" in to else []
    threads = min(4, os.cpu_count() or 1)
    return search(recordings, task, around, to=to, moved=moved, outputs=outputs, threads=threads, **how)
