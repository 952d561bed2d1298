"""The demonstration ends with a report, or says in a line how to get one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from foretell.cli import main
from foretell.report import contents


@pytest.mark.slow
def test_the_demo_ends_with_a_report_or_says_how_to_get_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["demo", "--out", str(tmp_path), "--scenarios", "2", "--trials", "2", "--more", "2", "--workers", "0"]
    main(arguments)
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"in a browser: {tmp_path / 'demo.html'}")
    page = (tmp_path / "demo.html").read_text()
    assert all(f'"name":"{run}"' in page for run in ("demo", "demo-more", "demo-standin"))
    said = contents([tmp_path / name for name in ("demo", "demo-more", "demo-standin")])
    sections = {section["id"]: section for section in said["sections"]}
    (line,) = next(b["rows"] for b in sections["bounds"]["blocks"] if b.get("name") == "trials-saved")
    assert line[0] == "shakier" and line[2:4] == [2, 2], "its further scenarios are one simulation with the first"
    assert "1 policy has scenarios in common" in str(sections["reality"]["blocks"])
    assert "(demo" not in str(sections["verdict"])
    (tmp_path / "demo.html").unlink()
    monkeypatch.setitem(sys.modules, "altair", None)  # as if it were not installed
    main(arguments)
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == "No report: charts need altair, which is not installed: pip install 'foretell[report]'"
    assert not (tmp_path / "demo.html").exists()
