"""What users install: the wheel, in an environment of its own, with nothing of this checkout in sight."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.daily
def test_the_wheel_installs_and_runs_the_demo(tmp_path: Path) -> None:
    def sh(*command: str | Path, **options) -> str:
        clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=clean, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    sh(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    pages = {"report/page.html", "report/charts.js", "report/theme.json", "view/live.css", "view/live.js"}
    assert {f"foretell/{name}" for name in ("py.typed", "worlds/standin.yaml", *pages)} <= set(names)
    assert not [n for n in names if n.startswith(("tests", "examples", "benchmarks"))]
    sh(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    sh(python, "-m", "pip", "install", "--quiet", wheel)
    away = tmp_path / "somewhere else"
    away.mkdir()
    where = sh(python, "-c", "import foretell; print(foretell.__file__)", cwd=away)
    assert "site-packages" in where
    foretell = tmp_path / "venv" / "bin" / "foretell"
    said = sh(foretell, "demo", "--trials", "2", "--more", "2", "--ranked", "2", "--seen", "1", cwd=away)
    assert "Its success rate there: 2 trials give" in " ".join(said.split())
    again = sh(foretell, "show", "runs/demo", "--json", cwd=away)
    assert again.count('"gaussian"') == 1
