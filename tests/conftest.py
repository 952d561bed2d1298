"""A skip, with a plain reason, for machines that cannot draw."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys

import pytest

# a shell that starts us in the background has us ignore Ctrl-C, and the programs under test would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def _can_draw() -> bool:
    """In a process of its own: a broken driver may crash it."""
    code = "from foretell.sim.render import shared_renderer; shared_renderer()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120).returncode == 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    drawing = [item for item in items if item.get_closest_marker("gl")]
    if drawing and not _can_draw():
        for item in drawing:
            item.add_marker(pytest.mark.skip(reason="no OpenGL here: install libegl1 and libgl1-mesa-dri"))
