"""A line to a policy server that speaks openpi's websocket protocol: it sends metadata first, then answers questions.

A server that restarts or is slow to begin is waited for, and the question is asked again: the protocol keeps no state
between two questions.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any, cast

from foretell.bridges.packing import pack, unpack
from foretell.errors import LinkError, PolicyError, UsageError
from foretell.terminal import brief, safe

__all__ = ["Channel"]

LARGEST = 64 << 20
"""Bytes of the largest message that is taken."""
RETRY_S = 0.5
"""Wall seconds between two tries to connect."""


class Channel:
    """Asks one question at a time. Connects when it is first needed."""

    def __init__(self, address: str, *, timeout: float, patience: float, key: str | None = None):
        self.address, self.timeout, self.patience = address, timeout, patience
        self._headers = {"Authorization": f"Api-Key {_secret(key)}"} if key else None
        self._held, self.socket = contextlib.ExitStack(), cast(Any, None)
        self.metadata: dict[str, Any] = {}

    def open(self, patience: float | None = None) -> dict[str, Any]:
        """Connect, and give what the server says of itself. Waits up to `patience` s for a server that is not there.
        Raises LinkError."""
        websockets = _require_websockets()
        until = time.monotonic() + (self.patience if patience is None else patience)
        while self.socket is None:
            try:
                connection = websockets.connect(
                    self.address,
                    compression=None,
                    max_size=LARGEST,
                    open_timeout=self.timeout,
                    ping_interval=None,  # a server that thinks does not answer pings
                    additional_headers=self._headers,
                    proxy=None,
                )
                self.socket = self._held.enter_context(connection)
                self.metadata = self.metadata_of()
            except (OSError, TimeoutError, LinkError) as error:
                self.close()
                if time.monotonic() >= until:
                    why = (
                        error
                        if isinstance(error, LinkError)
                        else f"no policy server answers at {self.address}: {_why(error)}"
                    )
                    raise LinkError(str(why)) from None
                time.sleep(RETRY_S)
            except Exception as error:  # a handshake that fails: something else listens there
                self.close()
                raise LinkError(f"{self.address} is no policy server: {_why(error)}") from None
        return self.metadata

    def ask(self, question: dict[str, Any], *, again: bool = True) -> dict[str, Any]:
        """The answer. Raises PolicyError for what the server did wrong, LinkError where it is gone or silent. `again`:
        ask once more where the connection breaks, because the server remembers nothing."""
        data, until = self.packed(question), time.monotonic() + self.patience
        while True:
            try:
                self.open(max(0.0, until - time.monotonic()))
                self.socket.send(data)
                return self.answer()
            except TimeoutError:
                self.close()
                raise LinkError(f"{self.address} did not answer within {self.timeout:g} s (timeout)") from None
            except (PolicyError, LinkError):
                self.close()
                raise
            except Exception as error:  # the connection broke
                self.close()
                if not again or time.monotonic() >= until:
                    raise LinkError(f"the connection to {self.address} broke: {_why(error)}") from None

    def packed(self, question: dict[str, Any]) -> bytes:
        """A question as a message."""
        return pack(question)

    def metadata_of(self) -> dict[str, Any]:
        """What the server says of itself, on a new connection. Raises LinkError."""
        try:
            data = self.socket.recv(timeout=self.timeout)
        except TimeoutError:
            raise LinkError(
                f"{self.address} sent no metadata within {self.timeout:g} s: a server of openpi's protocol begins with "
                "it"
            ) from None
        if isinstance(data, str):
            raise LinkError(f"{self.address} sent a text instead of metadata: {_short(data)}")
        try:
            given = unpack(data)
        except ValueError as error:
            raise LinkError(f"{self.address} sent metadata that cannot be read: {error}") from None
        if not isinstance(given, dict):
            raise LinkError(f"{self.address} sent metadata of type {type(given).__name__}, it should be a mapping")
        return {str(name): value for name, value in given.items()}

    def answer(self) -> dict[str, Any]:
        """The next message. Raises PolicyError where it is an error or nonsense."""
        data = self.socket.recv(timeout=self.timeout)
        if isinstance(data, str):
            raise PolicyError(f"the server reports an error: {_short(data)}")
        try:
            answer = unpack(data)
        except ValueError as error:
            raise PolicyError(f"the server sent an answer that cannot be read: {error}") from None
        if not isinstance(answer, dict):
            raise PolicyError(f"the server sent {type(answer).__name__}, it should be a mapping with `actions`")
        return answer

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._held.close()
        self._held, self.socket = contextlib.ExitStack(), None


def _require_websockets() -> Any:
    try:
        from websockets.sync import client
    except ImportError:
        raise UsageError("policies over the wire need websockets: pip install 'foretell[wire]'") from None
    return client


def _secret(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise UsageError(f"key: the environment variable {name!r:.80} is not set; it should hold the server's API key")
    return value


def _why(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return _short(str(reason))


def _short(text: str) -> str:
    """The last line says what happened, where a server sends a traceback."""
    lines = [line for line in text.strip().splitlines() if line.strip()] or [""]
    return brief(safe(lines[-1]), width=300)
