"""What is printed of others' names: nothing that a terminal obeys, and never more than a screen."""

from __future__ import annotations

import sys

import pytest

from foretell.terminal import brief, plain, plainly, raw, safe


def test_control_characters_are_shown_and_letters_stay() -> None:
    evil = "a\x1b[31mb\x07\x9b2J\rc\u202ed"
    assert safe(evil) == "a\\x1b[31mb\\x07\\x9b2J\\rc\\u202ed"
    assert safe("Größe 木 🤖\n\tnext\u00a0line") == "Größe 木 🤖\n\tnext\u00a0line"
    assert plain("two\nlines\x1b") == "two lines\\x1b"


def test_a_long_text_is_cut_and_says_so() -> None:
    assert brief("short\nand sweet") == "short\nand sweet"
    cut = brief("\n".join(["x" * 5000] * 100))
    assert len(cut.split("\n")) == 24 and len(cut) < 24 * 640
    assert "... (5,000 characters)" in cut and cut.endswith("and 77 lines more")


def test_everything_printed_is_plain_while_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with plainly():
        print("\x1b[2Jgone")
        print("\x1b]0;title\x07", file=sys.stderr)
        raw(sys.stdout).write("\x1b[1mbold of our own\n")
    assert capsys.readouterr() == ("\\x1b[2Jgone\n\x1b[1mbold of our own\n", "\\x1b]0;title\\x07\n")
    assert raw(sys.stdout) is sys.stdout
