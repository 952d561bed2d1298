"""Parts are read within a bound of memory, which is the whole process's."""

from __future__ import annotations

import threading

import pytest

from foretell.episodes.parts import _bounded


def test_two_threads_that_read_leave_no_bound_behind() -> None:
    """As the live view reads: one looks where the run stands, another makes the page."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    inside, go = threading.Event(), threading.Event()

    def other() -> None:
        with _bounded(2_000_000_000):
            inside.set()
            go.wait(10)

    thread = threading.Thread(target=other)
    with _bounded(2_000_000_000):
        thread.start()
        inside.wait(0.5)  # it waits for us
    go.set()
    thread.join(10)
    try:
        assert resource.getrlimit(resource.RLIMIT_AS) == before
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
