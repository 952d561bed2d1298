"""Keys of a terminal: bytes that come in pieces, and a line that breaks without being closed."""

from __future__ import annotations

import os
import pty
import time

import pytest

from foretell.person.keys import ASK, KeyParser, Keys


def test_sequences_are_no_keys_and_a_lone_escape_is_one() -> None:
    parser = KeyParser()
    assert parser.feed(b"a\x1b[Ab\x1bOPc\r", 0.0) == ["a", "b", "c", "\n"]
    assert parser.feed(b"\x1b", 1.0) == [] and parser.feed(b"", 1.02) == []
    assert parser.feed(b"", 1.06) == ["\x1b"]
    assert parser.feed(b"\x1b[", 2.0) == [] and parser.feed(b"0n", 2.01) == [] and parser.alive == 1
    assert parser.feed(b"\x1bq", 3.0) == ["\x1b", "q"]
    assert parser.feed("é".encode()[:1], 4.0) == [] and parser.feed("é".encode()[1:], 4.5) == ["é"]
    assert parser.feed(b"\x1b\x1b\x1b", 5.0) == ["\x1b", "\x1b"]  # pressed in fear: two are certain at once
    assert parser.feed(b"", 5.1) == ["\x1b"]


@pytest.mark.parametrize("answers", [True, False])
def test_a_line_that_breaks_is_noticed_where_the_terminal_answers(answers: bool) -> None:
    ours, theirs = pty.openpty()
    try:
        with Keys(theirs) as keys:
            until = time.monotonic() + 1.2
            while time.monotonic() < until:
                keys.ask_alive()
                assert keys.read() is None
                os.set_blocking(ours, False)
                try:
                    asked = os.read(ours, 100)
                except BlockingIOError:
                    asked = b""
                if answers and ASK in asked:
                    os.write(ours, b"\x1b[0n")
                time.sleep(0.01)
            assert time.monotonic() - keys.heard() < 0.8
            silent = time.monotonic() + 1.2
            while time.monotonic() < silent:  # nobody answers any more
                keys.ask_alive()
                keys.read()
                time.sleep(0.01)
            assert (time.monotonic() - keys.heard() > 1.0) is answers
            assert not keys.gone
    finally:
        os.close(ours)
        os.close(theirs)
