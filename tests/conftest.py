"""Skips, with a plain reason, for machines that cannot draw or have no browser."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

# a shell that starts us in the background has us ignore Ctrl-C, and the programs under test would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# films that no test asks for would cost more than the tests
os.environ["FORETELL_VIDEO"] = "none"


@functools.cache
def _can_draw() -> bool:
    """In a process of its own: a broken driver may crash it."""
    code = "from foretell.sim.render import shared_renderer; shared_renderer()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120).returncode == 0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--daily", action="store_true", help="also run the tests that are marked `daily`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--daily"):
        later = [item for item in items if item.get_closest_marker("daily")]
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if not item.get_closest_marker("daily")]
    drawing = [item for item in items if item.get_closest_marker("gl")]
    if drawing and not _can_draw():
        for item in drawing:
            item.add_marker(pytest.mark.skip(reason="no OpenGL here: install libegl1 and libgl1-mesa-dri"))


CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's chromium, driven by Playwright: `browser.new_context(...)` and so on. One for each module."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip("no browser here: install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
    with driver.sync_playwright() as playwright:
        # no sandbox: tests run as root in containers, on pages of our own
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--mute-audio"])
        yield started
        started.close()
