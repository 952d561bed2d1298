"""The link to a robot: a thread that alone talks to the driver, so that the world never waits for it.

In each period it reads the robot and, while the robot may move, sends what the world last aimed at, within the limits.
It stops the robot by itself when the world gives no target for too long. After a stop nothing is sent until `start`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Floats
from foretell.errors import WorldError, raised
from foretell.hardware.driver import RobotDriver, connect
from foretell.hardware.limits import SendLimits
from foretell.hardware.mapping import ArmMap, BaseMap
from foretell.hardware.reading import Reading

__all__ = ["Link", "Sends"]

CONNECT_S = 60.0
"""Wall seconds for a driver to connect and to give its first observation."""
STOP_S = 1.0
"""Wall seconds that whoever stops the robot waits until it is done."""
LONGEST = 2.0
"""Periods for which a velocity counts at most: after a pause the robot makes no leap."""


@dataclass(kw_only=True)
class Sends:
    """What was sent since the robot last began to move."""

    count: int = 0
    clipped: Counter[str] = field(default_factory=Counter)
    """Reason -> sends that were clipped."""
    wanted: Floats = field(default_factory=lambda: np.zeros(0))
    sent: Floats = field(default_factory=lambda: np.zeros(0))
    """(k,) of the last send: what the world aimed at, and what the driver says it sent."""
    late: list[float] = field(default_factory=list)
    """Wall seconds from one send to the next."""


class Link:
    """One driver, connected or not."""

    def __init__(
        self,
        driver: RobotDriver,
        *,
        mapping: ArmMap | BaseMap,
        limits: SendLimits,
        rate: float,
        silence: float,
        watch: Callable[[Reading], None] = lambda reading: None,
    ):
        self.driver, self.mapping, self.limits = driver, mapping, limits
        self.period, self.silence, self._watch = 1.0 / rate, silence, watch
        self.fault: str | None = None
        """Why the link is lost; None while it is not."""
        self.quiet = False
        """Whether the robot was stopped because the world gave no target."""
        self.sends = Sends()
        self._reading: Reading | None = None
        self._state = threading.Condition()
        self._moving = self._halt = self._closing = False
        self._aim: Floats | None = None
        self._aimed = self._halted = 0.0
        self._last: Floats = np.zeros(0)
        self._sent_at = 0.0
        self._began = 0.0  # when the thread last called the driver
        self._thread: threading.Thread | None = None

    @property
    def newest(self) -> Reading | None:
        """The newest observation; None before the first one."""
        return self._reading

    @property
    def reading(self) -> Reading:
        """The newest observation."""
        assert self._reading is not None, "the link was never open"
        return self._reading

    @property
    def open(self) -> bool:
        """Whether the driver is connected, and answers."""
        return self._thread is not None and self._thread.is_alive() and self.fault is None and not self.hangs

    @property
    def hangs(self) -> bool:
        """Whether a call of the driver has not returned for longer than silence may last."""
        alive = self._thread is not None and self._thread.is_alive()
        return alive and self._reading is not None and time.monotonic() - self._began > max(1.0, self.silence)

    def connect(self, patience: float = CONNECT_S) -> None:
        """Connect, and wait for the first observation. Nothing is sent. Raises WorldError."""
        if self._thread is not None and self._thread.is_alive():
            if self.open:
                return
            self._thread.join(0.5)
            if self._thread.is_alive():
                raise WorldError("a call of the driver has not returned")
        self.fault, self._reading, self._halt, self._closing = None, None, False, False
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="robot link", daemon=True)
        self._thread.start()
        until = time.monotonic() + patience
        while self._reading is None and self.fault is None and time.monotonic() < until:
            time.sleep(0.005)
        if self.fault is not None:
            raise WorldError(self.fault)
        if self._reading is None:
            raise WorldError(f"the driver gave no observation within {patience:g} s")

    def start(self) -> None:
        """The robot may move from now on. It holds until `aim` says otherwise."""
        with self._state:
            self.sends, self.quiet, self._halt = Sends(), False, False
            self._last = self.mapping.resting(self.reading)
            self.mapping.begin(self.reading)
            self._aim, self._aimed = self._last.copy(), time.monotonic()
            self._sent_at = time.monotonic()
            self._moving = True

    def aim(self, targets: Floats) -> None:
        """Where the channels (k,) should be now. It never blocks for longer than a send takes to begin."""
        with self._state:
            self._aim, self._aimed = np.array(targets, dtype=float), time.monotonic()

    def stop(self, patience: float = STOP_S) -> bool:
        """Hold the robot at once, and send nothing more. Returns whether that is done: a driver that hangs has not."""
        with self._state:
            if not self._moving and not self._halt:
                return True
            if not self._halt:
                self._halt, self._halted = True, time.monotonic()
            self._state.notify_all()
            done = self._state.wait_for(lambda: not self._halt or not self._alive, patience) and not self._halt
        holds = getattr(self.driver, "stop", None)
        if not done and callable(holds):  # the thread hangs in another call
            helper = threading.Thread(target=_quietly(holds), name="robot stop", daemon=True)
            helper.start()
            helper.join(patience)
            done = not helper.is_alive()
        return done

    def close(self) -> None:
        """Stop the robot and disconnect."""
        self.stop()
        with self._state:
            self._closing = True
            self._state.notify_all()
        if self._thread is not None:
            self._thread.join(STOP_S + self.silence)

    @property
    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    # -- in the thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        doing = "connect"
        try:
            connect(self.driver)
            due = time.monotonic()
            while not self._closing:
                due = max(due + self.period, time.monotonic())
                doing = "get_observation"
                self._look()
                doing = "send_action"
                self._send()
                with self._state:
                    if not self._halt and not self._closing:
                        self._state.wait(max(0.0, due - time.monotonic()))
        except WorldError as error:
            self._lose(str(error))
        except Exception as error:
            self._lose(f"{doing} raised {raised(error)}")
        finally:
            self._end()

    def _look(self) -> None:
        self._began = time.monotonic()
        reading = self.mapping.read(self.driver.get_observation())
        if self._reading is None and (wrong := self.limits.check(reading)):
            raise WorldError(wrong)
        self._reading = reading
        self._watch(reading)

    def _send(self) -> None:
        with self._state:
            now, moving, halt = time.monotonic(), self._moving, self._halt
            aim, aimed = self._aim, self._aimed
        if not moving:
            if halt:
                self._rested()
            return
        if halt or aim is None or now - aimed > self.silence:
            self.quiet = not halt
            since = self._halted if halt else aimed + self.silence
            self._rest(late=now - since > self.silence)
            return
        seconds = min(now - self._sent_at, LONGEST * self.period)
        allowed, reasons = self.limits.allow(aim, self._last, seconds, self.reading)
        if self._halt:  # since we looked
            self._rest()
            return
        self._began = time.monotonic()
        answer = self.driver.send_action(self.mapping.write(allowed))
        sends = self.sends
        sends.count, sends.wanted, sends.sent = sends.count + 1, aim, self.mapping.back(answer, allowed)
        sends.clipped.update(reasons)
        sends.late.append(now - self._sent_at)
        self._last, self._sent_at = allowed, now

    def _rest(self, late: bool = False) -> None:
        """Hold the robot where it is: the last thing that is sent. late: the driver hung when this was asked for. An
        arm has then long been where it was last sent to, and nobody expects it to get anything more."""
        self._began = time.monotonic()
        holds = getattr(self.driver, "stop", None)
        if callable(holds):
            holds()
        elif self.mapping.coasts or not late:
            self.driver.send_action(self.mapping.write(self.limits.still(self.mapping.resting(self.reading))))
        self._rested()

    def _rested(self) -> None:
        with self._state:
            self._moving = self._halt = False
            self._state.notify_all()

    def _lose(self, why: str) -> None:
        """The link is lost. A robot that still listens is held."""
        if self._moving and self._reading is not None:
            with contextlib.suppress(Exception):
                self._rest()
        self.fault = why

    def _end(self) -> None:
        with contextlib.suppress(Exception):  # it may be unplugged
            self.driver.disconnect()
        self._rested()


def _quietly(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with contextlib.suppress(Exception):
            call()

    return run
