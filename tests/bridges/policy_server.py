"""A policy server that speaks openpi's protocol, written apart from foretell, and its faults."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np
from websockets.sync.server import Server, serve


def packed(value: Any) -> bytes:
    def default(array: Any) -> Any:
        return {b"__ndarray__": True, b"data": array.tobytes(), b"dtype": array.dtype.str, b"shape": array.shape}

    return msgpack.packb(value, default=default)


def unpacked(data: bytes) -> Any:
    def hook(given: dict[Any, Any]) -> Any:
        if b"__ndarray__" in given:
            return np.frombuffer(given[b"data"], given[b"dtype"]).reshape(given[b"shape"])
        return given

    return msgpack.unpackb(data, object_hook=hook)


def infer(question: dict[str, Any]) -> Any:
    """Ten actions that lift the hand and open it."""
    return {"actions": np.tile(np.array([0, 0, 0.5, 0, 0, 0, -1.0], dtype=np.float32), (10, 1))}


@contextmanager
def serving(
    answer: Callable[[dict[str, Any]], Any] = infer, *, metadata: Any = None, port: int = 0, first: bool = True
) -> Iterator[tuple[str, list[dict[str, Any]], Server]]:
    """Its address, the questions that it was asked, and the server. An answer that is bytes or text goes out as it
    is; None closes the connection."""
    asked: list[dict[str, Any]] = []

    def handle(connection: Any) -> None:
        if first:
            connection.send(packed(metadata or {}) if not isinstance(metadata, str | bytes) else metadata)
        for data in connection:
            asked.append(unpacked(data))
            given = answer(asked[-1])
            if given is None:
                connection.close()
                return
            connection.send(given if isinstance(given, str | bytes) else packed(given))

    server = serve(handle, "127.0.0.1", port, compression=None, max_size=None)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}", asked, server
    finally:
        server.shutdown()
        thread.join(timeout=5)


def later(seconds: float) -> Callable[[dict[str, Any]], Any]:
    """Answers late."""

    def answer(question: dict[str, Any]) -> Any:
        time.sleep(seconds)
        return infer(question)

    return answer
