"""`foretell serve-policy`: a policy behind openpi's websocket protocol, until Ctrl-C.

Each connection has a thread and a slot of its own, and the policy is asked by one thread at a time: a slow inference
keeps no connection from being answered or closed. What comes in is only unpacked, never executed.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from foretell.bridges.packing import pack, require_msgpack, unpack
from foretell.bridges.specs import spec_to
from foretell.bridges.websocket import OURS
from foretell.counting import counted
from foretell.errors import UsageError, raised
from foretell.policies.make import BoundPolicy, bind, make_policy
from foretell.policy import as_chunk, observed
from foretell.spec import Feature
from foretell.tasks.make import make_task
from foretell.world_file import make_world

__all__ = ["ServedPolicy", "serve_policy"]

LARGEST = 64 << 20
"""Bytes of the largest question that is taken."""
CONNECTIONS = 64
"""Connections at a time; more are refused."""
SLOTS = 1024
"""Episodes side by side of one connection."""
IDLE_S = 600.0
"""Wall seconds after which a connection without a question is closed."""


@dataclass(frozen=True, kw_only=True)
class ServedPolicy:
    """Where a policy is served, and what it reads."""

    url: str
    policy: str
    task: str
    reads: dict[str, Any]
    """Stream -> shape of one sample."""
    action: list[str]
    """What the numbers of an action mean."""
    action_rate: float
    chunk: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        count = counted(self.chunk, "action")
        reads = ", ".join(f"{name} {tuple(shape)}" for name, shape in self.reads.items()) or "nothing"
        return "\n".join(
            [
                f"{self.policy} is served at {self.url} (openpi's protocol). Ctrl-C ends it.",
                f"It reads {reads}, and `prompt`.",
                f"It returns {count} of {', '.join(self.action)}, at {self.action_rate:g} actions a second.",
            ]
        )


def serve_policy(
    policy: str,
    task: str,
    *,
    world: str = "mujoco",
    controller: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    options: Mapping[str, Any] | None = None,
    notify: Callable[[ServedPolicy], None] = lambda served: print(served.text(), flush=True),
    stop: threading.Event | None = None,
) -> None:
    """Serve a policy of foretell to openpi's clients, and to studies as `ws://host:port`, until Ctrl-C.

    `policy` is named as in a study. `task`, `world` and `controller` say for which robot and actions. `port`: 0 takes
    a free port. `notify` is called with the address. `stop` ends it from another thread.
    """
    require_msgpack()
    try:
        from websockets.sync.server import serve
    except ImportError:
        raise UsageError("serve-policy needs websockets: pip install 'foretell[wire]'") from None
    if not 0 <= port < 65536:
        raise UsageError(f"port is {port}, it must be between 0 (any that is free) and 65535")
    made = make_world(world, make_task(task), slots=1, threads=1, controller=controller)
    try:
        bound = bind(make_policy(policy, dict(options or {}), alone=True), made, policy)
        counter = _Counter(bound, made.features)
    finally:
        made.close()
    try:
        server = serve(
            counter.serve,
            host,
            port,
            compression=None,
            max_size=LARGEST,
            ping_interval=None,
            process_request=_health,
        )
    except OSError as error:
        raise UsageError(
            f"cannot serve at {host}, port {port}: {error.strerror or error}; choose another --port"
        ) from None
    spec = bound.spec
    reads = {name: list(shape) for name, shape in counter.shapes.items()}
    served = ServedPolicy(
        url=f"ws://{host}:{server.socket.getsockname()[1]}",
        policy=policy,
        task=task,
        reads=reads,
        action=[f"{dim.meaning} ({dim.size})" for dim in spec.action.dims],
        action_rate=spec.action_rate,
        chunk=spec.chunk,
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    try:
        thread.start()
        notify(served)
        (stop or threading.Event()).wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        thread.join(timeout=5)


def _health(connection: Any, request: Any) -> Any:
    """`GET /healthz`, as openpi's server answers it."""
    return connection.respond(200, "OK\n") if request.path == "/healthz" else None


class _Counter:
    """Where questions are put to the policy: each connection has a slot, and one question is answered at a time."""

    def __init__(self, bound: BoundPolicy, features: Mapping[str, Feature]):
        self.bound, self.features = bound, features
        self._lock, self._slots = threading.Lock(), itertools.count()
        self._free: list[int] = []
        self._open = 0
        self.shapes = {
            name: ((stream.history,) if stream.history > 1 else ()) + tuple(stream.shape or features[name].shape)
            for name, stream in observed(bound.spec.reads).items()
        }
        from foretell import __version__

        about = {**spec_to(bound.spec), "fingerprint": bound.hash, "version": __version__}
        self.metadata = pack({OURS: about})

    def serve(self, connection: Any) -> None:
        """One connection, until it closes."""
        with self._lock:
            refused = self._open >= CONNECTIONS
            self._open += 1
        there: dict[int, _Guest] = {}  # slot of the other side -> its episode here
        try:
            if refused:
                connection.close(1013, f"more than {CONNECTIONS} connections")
                return
            connection.send(self.metadata)
            while True:
                began = time.perf_counter()
                try:
                    data = connection.recv(timeout=IDLE_S)
                except TimeoutError:
                    connection.close(1000, f"no question for {IDLE_S:g} s")
                    return
                waited = time.perf_counter() - began
                connection.send(self._answer(there, data, waited))
        except _Wrong as wrong:
            with contextlib.suppress(Exception):
                connection.send(str(wrong))  # a text is an error, as in openpi
                connection.close(1011, "error")
        except Exception as error:
            if type(error).__module__.startswith("websockets"):  # the other side is gone
                return
            raise
        finally:
            with self._lock:
                self._open -= 1
                self._free += [guest.slot for guest in there.values()]

    def _answer(self, there: dict[int, _Guest], data: bytes | str, waited: float) -> bytes:
        if isinstance(data, str):
            raise _Wrong("a question should be a binary msgpack message, and a text came")
        try:
            question = unpack(data)
        except ValueError as error:
            raise _Wrong(f"the question cannot be read: {error}") from None
        if not isinstance(question, dict):
            raise _Wrong(f"a question should be a mapping, and {type(question).__name__} came")
        seen = self._seen(question)
        episode = question.get(OURS)
        given = episode if isinstance(episode, dict) else {}
        own, count, drawn = (given.get(name, 0) for name in ("slot", "episode", "seed"))
        if not all(type(number) is int for number in (own, count, drawn)):
            raise _Wrong(f"{OURS}: slot, episode and seed should be whole numbers")
        began = time.perf_counter()
        try:
            with self._lock:
                if own not in there:
                    if len(there) >= SLOTS:
                        raise _Wrong(f"one connection has at most {SLOTS} slots")
                    there[own] = _Guest(self._free.pop() if self._free else next(self._slots))
                at = np.array([there[own].slot], dtype=np.int32)
                if there[own].episode != count:  # the protocol has no word for a new episode
                    there[own].episode = count
                    self.bound.reset(at, seen["instruction"], [drawn])
                chunk = as_chunk(self.bound.act(at, seen), 1, self.bound.spec)
        except _Wrong:
            raise
        except Exception as error:
            raise _Wrong(f"the policy raised {raised(error)}") from error
        infer = 1e3 * (time.perf_counter() - began)
        timing = {"infer_ms": infer, "prev_total_ms": 1e3 * waited}
        return pack({"actions": chunk.actions[0].astype(np.float64), "server_timing": timing})

    def _seen(self, question: dict[Any, Any]) -> dict[str, Any]:
        """The streams of a question, as the policy takes them."""
        seen: dict[str, Any] = {"instruction": [str(question.get("prompt", ""))[:4096]]}
        time_s = question.get("time", 0.0)
        seen["time"] = np.array([float(time_s)]) if isinstance(time_s, int | float) else np.zeros(1)
        for name, shape in self.shapes.items():
            if name not in question:
                raise _Wrong(f"the question has no {name!r}; it has {', '.join(map(str, question))[:300]}")
            value, feature = np.asarray(question[name]), self.features[name]
            if value.shape != shape:
                raise _Wrong(f"{name!r} has shape {value.shape}, it should be {shape}")
            if value.dtype.kind not in "biuf" or (feature.image and value.dtype != feature.dtype):
                raise _Wrong(f"{name!r} has type {value.dtype}, it should be {feature.dtype}")
            seen[name] = value.astype(feature.dtype)[None]
        if len(self.shapes) < len(self.bound.spec.reads):  # `plan` and `committed`, which no question has
            spec = self.bound.spec
            seen |= {"plan": np.zeros((1, spec.chunk, spec.action.size)), "committed": np.zeros(1)}
        return seen


@dataclass
class _Guest:
    """One of the slots of a connection."""

    slot: int
    episode: int = -1


class _Wrong(Exception):  # noqa: N818 - says what happened
    """A question that cannot be answered."""
