"""Memory between processes: the newest wins, a queue keeps its order, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from foretell.rollout.shared import Latest, Queue

SHAPE = {"tick": ((), "i8"), "image": ((40, 40), "u1")}


def test_the_newest_wins() -> None:
    box = Latest(SHAPE)
    assert box.read()[0] == 0
    for tick in range(1, 8):
        box.write({"tick": tick, "image": tick})
    number, seen = box.read()
    assert number == 7 and seen["tick"] == 7 and (seen["image"] == 7).all()
    assert box.taken == box.written == 7
    box.close()


def test_a_queue_keeps_its_order_and_tells_what_it_lost() -> None:
    line = Queue(SHAPE, 4)
    for tick in range(3):
        line.put({"tick": tick})
    assert [int(v["tick"]) for v in line.take()] == [0, 1, 2]
    for tick in range(6):
        line.put({"tick": tick})
    assert line.waiting == 6 > line.count
    line.skip()
    assert line.waiting == 0
    line.close()


def test_a_reader_never_sees_half_a_value() -> None:
    """Another process writes as fast as it can; every image read is of one colour, its own tick's."""
    box = Latest(SHAPE)
    program = (
        "import sys; from foretell.rollout.shared import Latest\n"
        f"box = Latest({SHAPE!r}, fd={box.fd})\n"
        "for t in range(1, 20000): box.write({'tick': t, 'image': t % 251})\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        pass_fds=(box.fd,),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    reads = 0
    while child.poll() is None or reads == 0:
        _, seen = box.read()
        assert (seen["image"] == int(seen["tick"]) % 251).all()
        reads += 1
    assert child.wait() == 0 and int(box.read()[1]["tick"]) == 19999
    box.close()


def test_nothing_has_a_name() -> None:
    folder = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path("/tmp")
    before = set(folder.iterdir())
    box = Latest(SHAPE)
    box.write({"tick": 1, "image": np.ones((40, 40))})
    assert set(folder.iterdir()) <= before
    box.close()
