"""A robot that is attended: its link, the person beside it, the watchdog and the films, from trial to trial.

The order of a trial: the person sets the scene; the arm goes slowly to its start, after the person was asked; the
policy drives, and everybody can stop it; the robot is held; the person judges. Nothing is sent in between.
"""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from foretell.arrays import Bytes, Floats
from foretell.errors import ForetellError, WorldError
from foretell.hardware.arm import ArmBody
from foretell.hardware.base import BaseBody
from foretell.hardware.driver import RobotDriver
from foretell.hardware.file import RobotFile
from foretell.hardware.limits import SendLimits
from foretell.hardware.link import Link
from foretell.hardware.proposal import LiveDetector
from foretell.hardware.reading import Reading
from foretell.hardware.record import FrameRecorder, film_path
from foretell.hardware.trials import note_trial
from foretell.hardware.watchdog import Watchdog
from foretell.person import Judgement, SceneCard, SceneSkipped, TrialCard, make_person
from foretell.scenario import Scenario
from foretell.tasks.task import Task
from foretell.world import EpisodeCut, Judge

__all__ = ["LiveRobot"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
CLOSE, SETTLE_S = 0.05, 2.0
"""An arm has reached its start when no joint is farther from it, rad; it has so many seconds to settle."""
_TRIALS: Counter[Path] = Counter()
"""Run folder -> trials that this process has prepared: tasks may take turns, each with a link of its own."""
OFF, TURNED = 0.1, 0.2
"""How far a base may be from its start without a question, m and rad."""


class LiveRobot:
    """One robot and one person, for the time of a run."""

    def __init__(
        self,
        run: Path,
        *,
        file: RobotFile,
        task: Task,
        driver: RobotDriver,
        body: ArmBody | BaseBody,
        limits: SendLimits,
    ):
        self.file, self.task, self.body = file, task, body
        self.watchdog = Watchdog(file.watchdog)
        self._detector = LiveDetector(run, file) if file.detector is not None else None
        self.recorder = FrameRecorder(run, {name: camera.rate for name, camera in file.cameras.items()})
        self.link = Link(
            driver,
            mapping=body.map,
            limits=limits,
            rate=file.rate,
            silence=file.watchdog.link,
            watch=self.recorder.take,
        )
        self.person = make_person(run, file.drawn_by)
        self.stops_s: list[float] = []
        """Wall seconds that each stop took, from the order to the last send."""
        self._run, self._going, self._episode = run.resolve(), False, ""
        self._judged, self._cut = False, ""  # whether the trial has a verdict; why it was cut, where that is known
        self._handlers: dict[int, Any] = {}
        self.signalled_success = False
        """Whether the person ended the trial by saying that it succeeded."""

    def _listen(self) -> None:
        """Hear signals before all others do, the person's terminal among them."""
        if not self._handlers and threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._handlers[number] = signal.signal(number, self._signalled)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        """The robot is stopped first; then what would have happened happens. The end of the program is as after
        Ctrl-C, so that finished trials are kept."""
        self.link.stop()
        handler = self._handlers.get(number)
        if callable(handler):
            handler(number, frame)
        elif handler != signal.SIG_IGN:
            raise KeyboardInterrupt(number)

    # -- before a trial ---------------------------------------------------------------------------------------

    def prepare(self, scenario: Scenario, trial: int, episode: str) -> None:
        """Have the scene set, and the robot at its start. Raises EpisodeCut where the scene cannot be set, and
        KeyboardInterrupt where the person ends the study."""
        self._going = self._judged = self.signalled_success = False
        self._cut = ""
        _TRIALS[self._run] += 1
        self._connect()
        card = SceneCard(
            scenario=scenario,
            task=self.task,
            trial=trial,
            number=_TRIALS[self._run],
            live=self._frame,
            cameras=tuple(self.file.cameras),
        )
        while True:
            try:
                self.person.set_scene(card)
            except SceneSkipped as skipped:
                raise EpisodeCut("error", "world", str(skipped)) from None
            try:
                if self._approach() if isinstance(self.body, ArmBody) else self._placed():
                    break
            except EpisodeCut as cut:  # the link was lost on the way: no trial has begun
                self._mended(str(cut))
        self.body.start(self.link.reading)
        self._episode = episode

    def _frame(self, camera: str) -> Bytes | None:
        newest = self.link.newest  # none while a lost link is opened again
        return None if newest is None else newest.frames.get(camera)

    def _connect(self) -> None:
        """Connect where the link is not open. Raises KeyboardInterrupt where the person gives it up."""
        while not self.link.open:
            try:
                self.link.connect()
            except WorldError as error:
                self._mended(str(error))

    def _mended(self, why: str) -> None:
        """Ask the person to mend the link. Raises KeyboardInterrupt where they do not."""
        self.link.stop()
        if not self.person.ask(f"No trial can begin: {why}. Mend it. Try again? (no ends the study)"):
            raise KeyboardInterrupt

    def _approach(self) -> bool:
        """Bring the arm to its start, slowly, after asking. False: the scene is to be shown again."""
        assert isinstance(self.body, ArmBody)
        self._connect()
        begin, goal = self.link.reading.channels, self.body.pose
        far = float(np.max(np.abs(goal - begin)))
        seconds = far / self.file.approach
        if not self.person.ask(
            f"The arm moves to its start: up to {far:.2f} rad in {seconds:.1f} s. A key stops it. Is the way clear?"
        ):
            return False
        begin = self.link.reading.channels  # the arm may have been moved meanwhile
        seconds = max(float(np.max(np.abs(goal - begin))) / self.file.approach, 1e-6)
        self._start()
        started = time.monotonic()
        while True:
            passed = time.monotonic() - started
            if self._poll(driven=False) is not None:
                return False
            self.link.aim(begin + min(passed / seconds, 1.0) * (goal - begin))
            off = np.abs(self.link.reading.channels - goal)
            if passed > seconds and (off.max() < CLOSE or passed > seconds + SETTLE_S):
                break
            time.sleep(self.link.period)
        self.halt()
        if off.max() < CLOSE:
            return True
        worst = int(np.argmax(off))
        if not self.person.ask(
            f"The arm did not reach its start: {self.body.map.channels[worst]!r} is {off[worst]:.2f} away. Try again? "
            "(no ends the study)"
        ):
            raise KeyboardInterrupt
        return False

    def _placed(self) -> bool:
        """Whether a base stands where the trial starts, or the person begins all the same."""
        assert isinstance(self.body, BaseBody)
        self._connect()
        metres, turned = self.body.off_start(self.link.reading)
        if metres <= OFF and turned <= TURNED:
            return True
        return self.person.ask(
            f"Localisation says that the robot is {metres:.2f} m and {np.degrees(turned):.0f} degrees from its start. "
            "Begin all the same?"
        )

    # -- while it runs ----------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._listen()
        self.link.start()
        self.watchdog.start(time.monotonic())

    def acted(self, seconds: float) -> None:
        """The policy gave an action that lasts so long."""
        self.watchdog.acted(time.monotonic(), seconds)

    def tick(self, targets: Floats) -> None:
        """Aim at targets (k,) of the channels. Raises EpisodeCut where somebody stops it or is silent."""
        if not self._going:
            self._going = True
            note_trial(self._run, self._episode, "began")
            self._start()
            self.recorder.start(self._episode, self.link.reading)
        if (word := self._poll(driven=True)) is not None:
            self.signalled_success = word == "success"
            raise EpisodeCut("stopped", None, f"the person said {word}")
        self.link.aim(targets)

    def _poll(self, driven: bool) -> str | None:
        """What the person says; the robot is held then. Raises EpisodeCut where somebody is silent, or the link is
        lost. driven: by a policy."""
        word = self.person.poll()
        if word is not None:
            self.halt()
            return word
        now, link = time.monotonic(), self.link
        if link.fault is not None:
            self.halt()
            raise EpisodeCut("error", "machine", f"the link to the robot is lost: {link.fault}")
        if link.quiet:
            why = f"this program gave no target for {link.silence:g} s, and the robot was stopped (watchdog.link)"
            raise EpisodeCut("error", "machine", why)
        silence = self.watchdog.silent(now, robot=link.reading.at, person=self.person.heard(), policy=driven)
        if silence is not None:
            self.halt()
            raise EpisodeCut("error", silence.blame, silence.why)
        return None

    def halt(self) -> None:
        """Hold the robot; nothing more is sent."""
        began = time.monotonic()
        if not self.link.stop():
            self.person.warn("THE ROBOT DOES NOT ANSWER THE STOP. USE ITS EMERGENCY STOP.")
        self.stops_s.append(time.monotonic() - began)

    # -- after a trial ----------------------------------------------------------------------------------------

    def finish(self, why: str = "") -> None:
        """The trial has ended, however. why: it was cut off."""
        self.halt()
        self.recorder.finish()
        self._cut = why or self._cut

    def ended(self) -> None:
        """The trial is over, with a verdict or without."""
        if self._going:
            self._going = False
            note_trial(self._run, self._episode, "ended" if self._judged else "lost")
            if not self._judged:
                self.person.warn(f"This trial does not count: {self._cut or 'the machine failed'}.")

    def judged(self) -> None:
        """The trial has a verdict, whoever gave it."""
        self._judged = True

    def judge(self, scenario: Scenario, trial: int, seconds: float, end: str) -> tuple[Judgement, Judge]:
        """The verdict on a trial that was filmed, and who gave it. A detector has the word where the coin does not ask
        for a person."""
        proposed = None
        if self._detector is not None and self.film is not None:
            self.recorder.wait()
            try:
                proposal, chosen = self._detector.propose(scenario, self._episode, self._run / self.film)
            except ForetellError as error:  # no trial is lost with it: `foretell judge --detector` asks it again
                warnings.warn(f"{error}; the person judges this trial", stacklevel=2)
            else:
                if not chosen:
                    return Judgement(success=proposal.success, confirmed=False), "detector"
                proposed = proposal.success
        card = TrialCard(
            scenario=scenario,
            task=self.task,
            trial=trial,
            seconds=seconds,
            end=end,
            proposed=proposed,
            episode=self._episode or None,
        )
        return self.person.judge(card), "person"

    @property
    def reading(self) -> Reading:
        return self.link.reading

    @property
    def film(self) -> str | None:
        """Path of the trial's film of the first camera, within the run folder; None where it has not begun."""
        cameras = list(self.file.cameras)
        return str(film_path(Path(), self._episode, cameras[0])) if cameras and self._going else None

    def metrics(self) -> dict[str, float]:
        """Of what was sent in this trial."""
        sends = self.link.sends
        counts = {f"clipped_{reason}": float(count) for reason, count in sends.clipped.items()}
        counts["sends"] = float(sends.count)
        if sends.late:
            middle, most = np.quantile(sends.late, [0.5, 0.99]).tolist()
            counts |= {"wall_send_median_s": middle, "wall_send_p99_s": most}
        if self.recorder.dropped:
            counts["frames_dropped"] = float(self.recorder.dropped)
        return counts

    def close(self) -> None:
        """Stop the robot, disconnect, write what is left, and give the terminal back."""
        try:
            self.link.close()
        finally:
            for number, handler in self._handlers.items():
                if signal.getsignal(number) == self._signalled:
                    signal.signal(number, handler)
            self._handlers.clear()
            self.person.close()
            self.recorder.close()
