"""Skips, with a plain reason, for machines that cannot draw or have no browser; and what tests cost."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from simd import simd

# a shell that starts us in the background has us ignore Ctrl-C, and the programs under test would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# without compiled modules on disk, each program under test takes a second more to start
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# tests run side by side already: threads of numeric libraries would only wait for each other
for library in ("OPENBLAS", "OMP", "LP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
# the same arithmetic on every x86 machine with AVX2: golden rows are kept to the bit. Set before numpy is imported
if platform.machine() == "x86_64" and "avx2" in simd():
    os.environ.setdefault("OPENBLAS_CORETYPE", "Zen")
    if "avx512f" in simd():
        os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR")
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


# -- what tests cost -------------------------------------------------------------------------------------------------

BUDGET_S = 5.0
"""CPU seconds of a test with the fixtures it is the first to ask for, unless it is marked `slow` or `daily`."""
COSTS: dict[str, tuple[float, bool]] = {}
"""Test -> its CPU seconds, and whether it may be slow."""
BEGAN = pytest.StashKey[float]()


def _cpu() -> float:
    """CPU seconds so far, with those of processes that were started here and have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[BEGAN] = _cpu()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append(("cpu_s", _cpu() - item.stash.get(BEGAN, _cpu())))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        seconds = next((value for name, value in report.user_properties if name == "cpu_s"), 0.0)
        COSTS[report.nodeid] = seconds, bool({"slow", "daily"} & set(report.keywords))


def _over() -> list[str]:
    """Tests above their budget without a mark."""
    return [test for test, (seconds, may) in COSTS.items() if seconds > BUDGET_S and not may]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total = sum(seconds for seconds, _ in COSTS.values())
    if total > 60:
        terminalreporter.section(f"{total / 60:.1f} minutes of CPU; the slowest")
        for test, (seconds, _) in sorted(COSTS.items(), key=lambda cost: -cost[1][0])[:10]:
            terminalreporter.line(f"{seconds:6.1f} s  {test}")
    for test in _over():
        terminalreporter.line(f"over {BUDGET_S:.0f} s of CPU: share, shrink or mark it (CONTRIBUTING.md): {test}")


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
