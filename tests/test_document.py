"""YAML and JSON of others: every bomb is refused in one line that names file and line, at once and in little memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from foretell.document import NODES, load_json, load_yaml, parse_yaml
from foretell.errors import UsageError

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{y}: &{y} [{','.join(['*' + x] * 9)}]\n" for x, y in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 5000 + "]" * 5000, "line 1: it is nested more than 60 deep"),
        ("{a: " * 350 + "1" + "}" * 350, "nested more than 60 deep"),
        ("x: 1\na: &a [1, *a]\n", "line 2: the alias *a stands within what it names"),
        (LAUGHS, f"line 6: it has more than {NODES:,} values, with aliases written out"),
        (f"a: &a {'x' * 100_000}\nb: [{','.join(['*a'] * 1000)}]\n", "more than 4,000,000 characters"),
        ("a: " + "9" * 400, "has 400 digits"),
        ("a: 1\na: 2\n", "line 2: 'a' is given twice"),
        (
            "a: !!python/object/apply:os.system [ls]\n",
            "the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not",
        ),
        ("a: !!int x\n", "'x' is not a number"),
        ("a: !!bool x\n", "'x' is not yes or no"),
        ("--- a\n--- b\n", "another document"),
        ("a: *b\n", "undefined alias"),
        ("a: \x01\n", "control characters are not allowed"),
    ],
    ids=range(13),
)
def test_what_cannot_be_read_is_refused_in_a_line(text: str, said: str) -> None:
    began = time.process_time()
    with pytest.raises(UsageError) as refused:
        parse_yaml(text, "s.yaml")
    assert time.process_time() - began < 1.0
    message = str(refused.value)
    assert message.startswith("s.yaml is not valid YAML: ") and said in message
    assert "\n" not in message and len(message) < 400


def test_what_people_write_is_read_as_before() -> None:
    text = "d: &d {a: 1, b: 0.5}\ne: {<<: *d, b: yes}\nf: [~, 1e3, .inf, 0x10, 'x', 2024-01-01, 2024-13-45]\n"
    assert parse_yaml(text, "x") == {
        "d": {"a": 1, "b": 0.5},
        "e": {"a": 1, "b": True},
        "f": [None, "1e3", float("inf"), 16, "x", "2024-01-01", "2024-13-45"],
    }


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xff\n")
    (tmp_path / "link.yaml").symlink_to("latin.yaml")
    (tmp_path / "folder.yaml").mkdir()
    for name, said in {
        "latin.yaml": "line 2: it is not UTF-8",
        "none.yaml": "there is no file",
        "folder.yaml": "Is a directory",
        "x" * 5000: "File name too long",
    }.items():
        with pytest.raises(UsageError, match=said):
            load_yaml(tmp_path / name)
    with pytest.raises(UsageError, match="it is a link, and a run folder holds its own files"):
        load_yaml(tmp_path / "link.yaml", follow=False)
    with pytest.raises(UsageError, match="it is not a regular file"):
        load_yaml("/dev/zero")


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5000, "{", '{"a": ' * 100_000], ids=range(4))
def test_json_that_is_none_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"nested|digits|Expecting|delimiter"):
        load_json(text)
