"""Assets by name: one's own are added, and those of foretell stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import foretell
from foretell.errors import UsageError
from foretell.objects import ASSETS, CUBE, Asset

OWN = """
from foretell.objects import ASSETS, CUBE, Asset
from foretell.tasks.lift import Lift

ASSETS[{name!r}] = Asset({name!r}, 2 * CUBE.mass, CUBE.rest, CUBE.add)


class Mine(Lift):
    name = "mine"
"""


def test_a_name_of_foretell_cannot_be_taken() -> None:
    other = Asset("cube", 2 * CUBE.mass, CUBE.rest, CUBE.add)
    for take in (lambda: ASSETS.__setitem__("cube", other), lambda: ASSETS.update({"cube": other})):
        with pytest.raises(UsageError, match="ASSETS: 'cube' is an asset of foretell: give yours another name"):
            take()
    assert ASSETS["cube"] is CUBE
    ASSETS["cube"] = CUBE  # it is the same


def test_a_task_file_that_takes_one_is_refused(tmp_path: Path) -> None:
    study: dict[str, Any] = {"tasks": [f"{tmp_path}/task.py:Mine"], "policies": ["random"], "scenarios": 1}
    (tmp_path / "task.py").write_text(OWN.format(name="can"))
    with pytest.raises(UsageError, match="'can' is an asset of foretell"):
        foretell.run(study, out=tmp_path / "run", workers=0)
    (tmp_path / "task.py").write_text(OWN.format(name="my-can"))
    study["tasks"] = [{"use": study["tasks"][0], "time_limit": 0.2}]
    assert foretell.run(study, out=tmp_path / "run", workers=0).ran
    ASSETS.pop("my-can")
