"""The doctor says what is so, and survives whatever it tries."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

import foretell
from foretell.cli import main
from foretell.doctor import machine

doctor = sys.modules[foretell.doctor.__module__]  # `foretell.doctor` is the function
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_it_knows_what_foretell_needs():
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    assert dict(need.split(">=") for need in project["dependencies"]) == doctor.NEEDS
    assert project["requires-python"] == f">={doctor.PYTHON}"
    assert project["optional-dependencies"]["video"] == [f"av>={doctor.VIDEO}"]
    assert tuple(need.split(">=")[0] for need in project["optional-dependencies"]["report"]) == doctor.PAGES


def test_what_reports_need_is_named_where_it_is_not_there(monkeypatch):
    assert doctor._pages().status == "ok"
    monkeypatch.setattr(doctor, "PAGES", ("altair", "no-such-package"))
    line = doctor._pages()
    assert line.status == "missing" and not line.required and line.fix == "pip install 'foretell[report]'"
    assert line.detail == "no-such-package not installed: no `report`, `figure` and `view`; all else works"


def test_a_whole_visit(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)  # another test may have needed it
    main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    lines = {line["name"]: line for line in found["lines"]}
    assert found["ok"] and {line["status"] for line in lines.values()} <= {"ok", "missing", "slow"}
    assert {*doctor.NEEDS, "python", "physics", "GL egl", "PyAV", "reports", "torch", "disk", "runs"} <= set(lines)
    assert "x real time on 1 thread" in lines["physics"]["detail"]
    assert all(line["fix"] for line in lines.values() if line["status"] != "ok")
    assert not list(tmp_path.iterdir())
    assert "torch" not in sys.modules


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("import os; os.abort()", "crashed (signal 6)"),
        ("import time; time.sleep(60)", "hung for 1 s"),
        ("raise OSError('no driver')", "OSError: no driver"),
        ("print('{}')", "it gave no picture"),
        ('print(\'{"seconds": 0.1, "spread": 0.0, "by": ""}\')', "blank"),
    ],
)
def test_graphics_that_crash_or_hang_are_only_missing(monkeypatch, program, says):
    monkeypatch.setattr(doctor, "DRAW", program)
    monkeypatch.setattr(machine, "PATIENCE", 1.0)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    lines = {line.name: line for line in doctor._graphics()}
    assert lines["GL egl"].status == "missing" and says in lines["GL egl"].detail
    assert "libegl1" in lines["GL egl"].fix and lines["cameras"].status == "missing"
    assert doctor.MachineDiagnosis(tuple(lines.values())).ok  # nothing that foretell cannot do without


def test_slow_frames_are_slow(monkeypatch):
    monkeypatch.setattr(doctor, "DRAW", 'print(\'{"seconds": 0.2, "spread": 9.0, "by": "me"}\')')
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    line = next(line for line in doctor._graphics() if line.name == "GL egl")
    assert line.status == "slow" and "200.0 ms by me; this one is used" in line.detail and line.fix


def test_only_the_package_that_crashes_is_blamed(monkeypatch, tmp_path):
    (tmp_path / "crashes.py").write_text("import os; os.abort()")
    (tmp_path / "raises.py").write_text("raise ImportError('libfoo.so.1')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = doctor._imports(["json", "crashes", "raises", "csv"])
    assert said["json"] == said["csv"] == "" and "signal 6" in said["crashes"] and "libfoo" in said["raises"]


def test_an_old_or_absent_package_is_an_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "NEEDS", {"numpy": "99.0", "no-such-package": "1.0"})
    monkeypatch.setattr(doctor, "_video", lambda: doctor.Line(name="PyAV", status="missing", detail="", fix="x"))
    with pytest.raises(SystemExit) as left:
        main(["doctor"])
    said = capsys.readouterr().out
    assert left.value.code == 1 and "is too old (needs 99.0)" in said and "pip install 'no-such-package>=1.0'" in said
    assert "physics" not in said  # what cannot work is not tried


def test_folders_that_cannot_be_written(monkeypatch, capsys):
    monkeypatch.chdir("/proc")
    lines = doctor._folders()
    assert [line.status for line in lines] == ["not writable", "not writable"]
    monkeypatch.setattr("foretell.doctor", lambda: doctor.MachineDiagnosis(tuple(lines)))
    with pytest.raises(SystemExit) as left:
        main(["doctor"])
    said = capsys.readouterr().out
    assert left.value.code == 1 and said.startswith("not writable  this folder  cannot write in /proc: ")
    assert said.splitlines()[-1].startswith("foretell works, but not in this folder: cannot write in /proc: ")


@pytest.mark.parametrize(
    ("have", "oldest", "enough"), [("2.10", "2.9", "ok"), ("1.9.9", "1.10", "missing"), ("4.0.0rc1", "4.0", "ok")]
)
def test_versions_are_numbers(have, oldest, enough):
    assert doctor._enough(have, oldest) == enough
