"""Drivers: any class with the methods of LeRobot's `Robot`. Nothing of LeRobot is needed, and nothing else is assumed.

A driver of one's own is a file:

    class Arm:
        observation_features = {"waist.pos": float, "front": (480, 640, 3)}
        action_features = {"waist.pos": float}
        is_connected = False

        def __init__(self, port): ...
        def connect(self): ...
        def get_observation(self): ...     # key -> number or picture
        def send_action(self, action): ... # key -> number; returns what was sent
        def disconnect(self): ...

Features must be readable while it is not connected. All methods are called from a single thread. `stop()`, which holds
the robot at once, is called where a driver has it, from another thread too if that thread hangs.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Protocol

from foretell.errors import ForetellError, UsageError, raised
from foretell.hardware.file import RobotFile
from foretell.registry import load

__all__ = ["RobotDriver", "connect", "features_of", "make_driver"]

METHODS = ("connect", "get_observation", "send_action", "disconnect")


class RobotDriver(Protocol):
    """What a driver has."""

    observation_features: Mapping[str, Any]
    action_features: Mapping[str, Any]

    def connect(self) -> None: ...

    def get_observation(self) -> Mapping[str, Any]: ...

    def send_action(self, action: dict[str, float]) -> Mapping[str, Any]: ...

    def disconnect(self) -> None: ...


def make_driver(file: RobotFile) -> RobotDriver:
    """The driver that a world file names. It is not connected. Raises UsageError where it lacks a method."""
    where, options = f"{file.name}: driver", dict(file.driver.options)
    if file.python is not None:
        from foretell.hardware.remote import HostedRobot

        rest = {key: value for key, value in file.hold.items() if value is not None}
        rest |= {file.base.x: 0.0, file.base.theta: 0.0} if file.base is not None else {}
        made: Any = HostedRobot(file.target, options, python=file.python, rest=rest)
    else:
        kind = load(file.target, field=f"{where}.use")
        config = getattr(kind, "config_class", None)
        try:  # LeRobot's own classes take a configuration
            made = kind(config(**options)) if config is not None else kind(**options)
        except ForetellError:
            raise
        except Exception as error:
            raise UsageError(
                f"{where}: {file.driver.use} could not be made: {raised(error)}; see driver.options"
            ) from None
    if missing := [name for name in METHODS if not callable(getattr(made, name, None))]:
        raise UsageError(
            f"{where}.use: {file.driver.use} has no method {', '.join(map(repr, missing))}; a driver has the methods "
            "of LeRobot's Robot"
        )
    for side in ("observation_features", "action_features"):
        features_of(made, side, where)
    driver: RobotDriver = made
    return driver


def features_of(driver: RobotDriver, side: str, where: str = "driver") -> dict[str, tuple[int, ...]]:
    """Key -> its shape, of what a driver gives (`observation_features`) or takes (`action_features`); a number has
    shape ()."""
    try:
        features = getattr(driver, side)
    except AttributeError:
        raise UsageError(f"{where}: it has no `{side}`; a driver has those of LeRobot's Robot") from None
    except Exception as error:
        raise UsageError(
            f"{where}: `{side}` raised {raised(error)}; it must be readable while the robot is not connected"
        ) from None
    if not isinstance(features, Mapping):
        raise UsageError(f"{where}: `{side}` should map keys to types or shapes (given: {features!r:.100})")
    return {str(key): tuple(value) if isinstance(value, tuple | list) else () for key, value in features.items()}


def connect(driver: RobotDriver) -> None:
    """Connect, without calibration where a driver offers it: calibration may move the robot."""
    if getattr(driver, "is_connected", False) is True:
        return
    try:
        takes = "calibrate" in inspect.signature(driver.connect).parameters
    except (TypeError, ValueError):
        takes = False
    call: Any = driver.connect
    call(calibrate=False) if takes else call()
