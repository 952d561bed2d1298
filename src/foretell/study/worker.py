"""A worker process: runs episodes that come in on standard input, one JSON message a line, and sends them back.

In:   {"open": {...}}, {"job": {...}}, {"end": true}
Out:  {"opened": {...}} or {"refused": "..."}, {"doing": "policy", "keys": [...]}, {"done": key, "outcome": {...}},
      {"idle": true}
Nothing is pickled. The policy may print what it likes: its output goes to standard error.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import traceback
from dataclasses import asdict
from typing import Any, TextIO

from foretell.process import leave, serve

__all__ = ["main"]


def main() -> None:
    """Serve until standard input ends, which it does when the parent dies, however it dies."""
    wire, orders = serve()
    inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(os.fdopen(orders), inbox), daemon=True).start()

    def send(message: dict[str, Any]) -> None:
        wire.write(json.dumps(message) + "\n")

    with contextlib.suppress(Exception):  # what is wrong with the installation shows again when a group is opened
        import foretell.study.session  # noqa: F401 - takes a second, in which the parent plans
    while True:
        message = inbox.get()
        if "open" in message:
            _group(message["open"], inbox, send)


def _listen(orders: TextIO, inbox: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in orders:
        inbox.put(json.loads(line))
    leave()


def _group(opening: dict[str, Any], inbox: queue.SimpleQueue[dict[str, Any]], send: Any) -> None:
    # imported here: the parent should learn of a broken installation by a message, not by a dead pipe
    from foretell.errors import ForetellError
    from foretell.rollout import Job
    from foretell.study.session import Session, from_json

    try:
        session = Session(**from_json(opening))
    except ForetellError as error:
        send({"refused": str(error)})
        return
    except Exception:
        send({"refused": "a worker could not start:\n" + traceback.format_exc()})
        return
    send({"opened": asdict(session.opened)})

    def source() -> Job | None:
        message = inbox.get()
        if "end" in message:
            inbox.put(message)  # stays at the end: nothing follows until this group is done
            return None
        return Job.from_dict(message["job"])

    def watch(doing: str, jobs: list[Job]) -> None:
        send({"doing": doing, "keys": [job.key for job in jobs]})

    try:
        for job, outcome in session.run(source, watch):
            send({"done": job.key, "outcome": asdict(outcome)})
    except ForetellError as error:  # such as no OpenGL: every other episode would meet it too
        send({"refused": str(error)})
        return
    except OSError as error:  # of the driver: those of a policy are its own
        send({"refused": f"a worker could not write: {error}; free some space and run the same command to resume"})
        return
    session.close()
    while "end" not in inbox.get():
        pass
    send({"idle": True})


if __name__ == "__main__":
    main()
