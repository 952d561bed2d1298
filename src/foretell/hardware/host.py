"""Runs a robot's driver in an environment of its own, which needs neither foretell nor numpy, and serves it.

    PYTHON host.py DESCRIPTOR        # `remote.HostedRobot` starts it so, with one end of a pair of sockets

The first message names the driver's class and its options. Then each message is one call of LeRobot's `Robot`. When
the link ends, whatever the reason, the robot is held and disconnected, and this process ends. When no call comes for
too long after an action, because the other end is frozen, the robot is held. Standard library only; Python 3.8 must be
able to read it. Simulators and policies in environments of their own are served by the same link.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import math
import os
import re
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Service", "begin", "build", "described", "load", "main", "serve", "serve_calls", "version"]

CALLS = ("connect", "get_observation", "send_action", "disconnect", "stop", "is_connected")
"""What may be called."""
GRACE_S = 5.0
"""Wall seconds that a driver has to hold and to disconnect once the process that asked for it is gone."""


def load(use: str, field: str = "driver.use") -> Any:
    """A class by "package.module:Class" or "file.py:Class"."""
    where, _, name = use.rpartition(":")
    if where.endswith(".py"):
        path = Path(where).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, str(path))
        if spec is None or spec.loader is None or not path.is_file():
            raise FileNotFoundError(f"{field}: there is no file {path}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    if not hasattr(module, name):
        raise AttributeError(f"{field}: {where} has no class {name!r}")
    return getattr(module, name)


def build(kind: Any, options: dict[str, Any]) -> Any:
    """A driver from its options. LeRobot's own robots take a configuration; its class reads the options."""
    config = getattr(kind, "config_class", None)
    if config is None:
        return kind(**options)
    try:
        import draccus  # type: ignore[import-not-found, unused-ignore] # LeRobot's; it reads what is nested, as cameras
    except ImportError:
        return kind(config(**options))
    return kind(draccus.decode(config, options))


def described(robot: Any) -> dict[str, Any]:
    """What a driver says of itself, as it goes over the wire: a type by its name, a picture by its shape."""

    def plain(features: Any) -> dict[str, Any]:
        return {str(k): list(v) if isinstance(v, (tuple, list)) else v.__name__ for k, v in dict(features).items()}

    sides = {"observation": plain(robot.observation_features), "action": plain(robot.action_features)}
    return {**sides, "stops": callable(getattr(robot, "stop", None)), "name": str(getattr(robot, "name", ""))}


class Service:
    """What a process serves."""

    def __init__(
        self,
        *,
        about: dict[str, Any],
        called: Callable[[Any, dict[str, Any]], Any],
        leave: Callable[[], None] = lambda: None,
        rest: Callable[[], None] = lambda: None,
        silence: float | None = None,
    ):
        """about: what this end says of itself. called: takes the name of a call and its arguments. leave: is called at
        the end. rest: is called once where no call comes for `silence` seconds after an action."""
        self.about, self.called, self.leave, self.rest, self.silence = about, called, leave, rest, silence


def serve_calls(link: socket.socket, served: Service, wire: Any) -> None:
    """Answer calls until the link ends."""
    moved = False
    while True:
        if moved and served.silence is not None and not select.select([link], [], [], served.silence)[0]:
            moved = False
            served.rest()
        try:
            asked = wire.receive(link)
        except (wire.LinkLost, wire.WireError):
            return
        moved = asked.get("call") == "send_action" or (moved and asked.get("call") != "stop")
        answer = {"id": asked.get("id")}
        try:
            answer["answer"] = served.called(asked.get("call"), asked.get("arguments", {}))
            data = wire.encode(answer)
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            data = wire.encode({"id": asked.get("id"), "error": words, "trace": traceback.format_exc()[-12000:]})
        try:
            link.settimeout(None)
            link.sendall(data)
        except OSError:
            return


def _called(robot: Any, name: Any, arguments: dict[str, Any]) -> Any:
    if name not in CALLS:
        raise AttributeError(f"{name!r:.50} is none of the calls {', '.join(CALLS)}")
    value = getattr(robot, name)
    if name == "is_connected":
        return bool(value() if callable(value) else value)
    if name == "connect":  # LeRobot's would ask to calibrate, and nobody is there to answer
        arguments = {"calibrate": False} if "calibrate" in inspect.signature(value).parameters else {}
    answer = value(**arguments)
    return answer if name in ("get_observation", "send_action") else None


def hold(robot: Any, rest: dict[str, float]) -> None:
    """Stop the robot: by its own `stop`, or by sending it what it measures, and `rest`, such as 0 as a velocity."""
    if callable(getattr(robot, "stop", None)):
        robot.stop()
        return
    measured = robot.get_observation()
    targets = {key: float(rest[key] if key in rest else measured[key]) for key in robot.action_features}
    if all(map(math.isfinite, targets.values())):
        robot.send_action(targets)


def _try(act: Callable[[], None], report: Callable[[str], None]) -> None:
    try:
        act()
    except Exception as error:
        report(f"the driver could not stop: {type(error).__name__}: {error}")


def _leave(robot: Any, rest: Callable[[], None], report: Callable[[str], None]) -> None:
    """Hold and disconnect; in a process that has lost its parent nobody else would."""
    connected = getattr(robot, "is_connected", True)
    if not (connected() if callable(connected) else connected):
        return
    rest()
    _try(robot.disconnect, report)


def _orphaned(parent: int) -> None:
    """End a process whose driver hangs, some time after its parent has gone: it would keep the robot's port."""
    while os.getppid() == parent:
        time.sleep(0.5)
    time.sleep(GRACE_S)
    os._exit(1)


def _wire() -> Any:
    """The module beside this file, without the package that they are in."""
    spec = importlib.util.spec_from_file_location("foretell_wire", str(Path(__file__).with_name("wire.py")))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version() -> str:
    """The version of the foretell that this file is from."""
    package = Path(__file__).resolve().parents[1] / "__init__.py"
    stated = re.search(r'__version__ = "(.+)"', package.read_text()) if package.is_file() else None
    return stated.group(1) if stated else "unknown"


def begin(descriptor: int) -> tuple[Any, socket.socket]:
    """The module `wire` and the link with this number, in a process that belongs to whoever holds its other end."""
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent]  # hides nothing
    wire = _wire()
    link = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.dup2(2, 1)  # what a driver prints is no answer
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=_orphaned, args=(os.getppid(),), daemon=True).start()
    return wire, link


def serve(descriptor: int, here: str, make: Callable[[dict[str, Any]], Service]) -> int:
    """Serve the link with this number. `here` is the script's name. `make` takes what the other end says first."""
    wire, link = begin(descriptor)
    with contextlib.suppress(wire.LinkLost, wire.WireError):
        hello = wire.receive(link)
        if words := wire.refusal(hello, here, version(), "the other end"):
            wire.send(link, {"refused": words})
            return 2
        try:
            served = make(hello)
            wire.send(link, {"hello": served.about, "protocol": wire.PROTOCOL, "version": version()})
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            wire.send(link, {"refused": words[:4000], "trace": traceback.format_exc()[-12000:]})
            return 2
        serve_calls(link, served, wire)
        served.leave()
    return 0


def _driver(hello: dict[str, Any]) -> Service:
    """A robot's driver, made as the other end says."""
    robot = build(load(hello["use"]), hello["options"])

    def report(text: str) -> None:
        print(text, file=sys.stderr)

    def rest() -> None:
        _try(lambda: hold(robot, hello.get("rest", {})), report)

    return Service(
        about=described(robot),
        called=lambda name, arguments: _called(robot, name, arguments),
        leave=lambda: _leave(robot, rest, report),
        rest=rest,
        silence=hello.get("silence"),
    )


def main(descriptor: int) -> int:
    """Serve a driver over the link with this number."""
    return serve(descriptor, "host.py", _driver)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
