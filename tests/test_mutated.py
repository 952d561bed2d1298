"""Files spoilt in some hundreds of ways: each is read or refused in words, at once. See `tests/mutate.py` for more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mutate
import pytest
from studies import environment

COUNTS = {"study": 150, "run": 12, "scenarios": 120, "testset": 80, "world": 100, "profile": 100}
COUNTS |= {"object": 100, "mesh": 60, "room": 80, "map": 80}


@pytest.mark.parametrize(("kind", "count"), COUNTS.items(), ids=COUNTS)
def test_a_spoilt_file_is_read_or_refused_in_words(kind: str, count: int) -> None:
    tally = mutate.mutate(kind, count)
    assert tally.wrong == []
    assert tally.taken["refused"] + tally.taken["accepted"] == count
    assert tally.taken["refused"] and tally.taken["accepted"], "both kinds were tried"


def test_a_spoilt_network_too() -> None:
    """In a process of its own: what loads networks is written in C++, and could crash."""
    script = Path(mutate.__file__)
    done = subprocess.run(
        [sys.executable, script, "--kind", "onnx", "--count", "40"],
        env=environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong" in done.stdout
