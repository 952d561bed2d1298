"""Reading files of others: whole, up to a limit, and with no more memory than they need."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from foretell.files import PIECE, read_file


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"x" * 1000)
    tracemalloc.start()
    try:
        assert read_file(path) == b"x" * 1000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("start", [0, 1, PIECE, 2 * PIECE + 2, 3 * PIECE])
def test_a_file_is_read_whole_from_any_byte_on(tmp_path: Path, start: int) -> None:
    path, whole = tmp_path / "large", bytes(range(256)) * (2 * PIECE // 256) + b"."
    path.write_bytes(whole)
    assert read_file(path, start=start) == whole[start:]


def test_what_is_appended_meanwhile_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `fstat` has it, the file is still empty."""
    empty, path = tmp_path / "empty", tmp_path / "grows"
    empty.touch()
    path.write_bytes(b"y" * (2 * PIECE))
    before = empty.stat()
    monkeypatch.setattr("os.fstat", lambda fd: before)
    assert len(read_file(path)) == 2 * PIECE
    assert len(read_file(path, PIECE + 3)) == PIECE + 3


def test_a_file_above_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"z" * 11)
    with pytest.raises(OSError, match="it has 11 bytes, more than 10 bytes"):
        read_file(path, 10)
