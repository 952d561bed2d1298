"""Classes in files: what a file may import, and what it must not get instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from foretell.cli import main
from foretell.errors import UsageError
from foretell.fingerprint.source import imported
from foretell.registry import load

TASK = "from {neighbour} import NAME\nfrom foretell.tasks.lift import Lift\nclass Mine(Lift):\n    name = NAME\n"


@pytest.fixture(autouse=True)
def _clean_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if name.startswith(("my_names", "foretell_user"))]:
        del sys.modules[name]


def test_a_file_imports_the_modules_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my_task.py").write_text(TASK.format(neighbour="my_names_a"))
    (tmp_path / "my_names_a.py").write_text("NAME = 'beside'\n")
    main(["check", "task", f"{tmp_path}/my_task.py:Mine", "--json"])
    assert '"passed": true' in capsys.readouterr().out
    found = load(f"{tmp_path}/my_task.py:Mine")
    assert found.name == "beside" and tmp_path / "my_names_a.py" in imported([found]), "and an edit of it is noticed"


@pytest.mark.parametrize("edited", ["mine.py", "my_names_d.py"])
def test_an_edit_within_a_second_that_keeps_the_length_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "mine.py").write_text("from my_names_d import GAIN as NEAR\nGAIN = 4\n")
    (tmp_path / "my_names_d.py").write_text("GAIN = 4\n")
    values = []
    for gain in (4, 5):
        path = tmp_path / edited
        path.write_text(path.read_text().replace("GAIN = 4", f"GAIN = {gain}"))
        os.utime(path, (1e9, 1e9 + 0.1 * gain))
        values.append((load(f"{tmp_path}/mine.py:GAIN"), load(f"{tmp_path}/mine.py:NEAR")))
    assert values == [(4, 4), (5, 4) if edited == "mine.py" else (4, 5)]


def test_two_neighbours_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "task.py").write_text(TASK.format(neighbour="my_names_b"))
        (tmp_path / folder / "my_names_b.py").write_text(f"NAME = {folder!r}\n")
    assert load(f"{tmp_path}/one/task.py:Mine").name == "one"
    with pytest.raises(UsageError, match=r"two/task.py imports 'my_names_b', which is .*one/my_names_b.py here"):
        load(f"{tmp_path}/two/task.py:Mine")


def test_a_neighbour_does_not_hide_a_module_of_pythons(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK.format(neighbour="my_names_c") + "import json\n")
    (tmp_path / "my_names_c.py").write_text("NAME = 'c'\n")
    (tmp_path / "json.py").write_text("raise RuntimeError\n")
    assert load(f"{tmp_path}/task.py:Mine").name == "c"


def test_an_edited_neighbour_is_loaded_anew(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK.format(neighbour="my_names_d"))
    (tmp_path / "my_names_d.py").write_text("from my_names_e import NAME\n")
    for name in ("first", "second!"):  # of another length: what Python compiled of it is known by time and size
        (tmp_path / "my_names_e.py").write_text(f"NAME = {name!r}\n")
        found = load(f"{tmp_path}/task.py:Mine")
        assert found.name == name and load(f"{tmp_path}/task.py:Mine") is found
