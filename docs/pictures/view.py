"""Makes docs/pictures/view.png: the live page in the middle of a study. Needs playwright and chromium.

python docs/pictures/view.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

STUDY = """
name: watched
tasks: [lift]
policies:
  expert: expert
  shaky: {use: noisy-expert, noise: 0.3}
  shakier: {use: noisy-expert, noise: 0.45}
scenarios: {count: 60}
"""
HERE = Path(__file__).parent
FORETELL = [sys.executable, "-m", "foretell"]


def main() -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        (Path(folder) / "watched.yaml").write_text(STUDY)
        served = subprocess.Popen(
            [*FORETELL, "view", "runs/watched", "--json"], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        assert served.stdout is not None
        page = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"]).new_page(
            viewport={"width": 1000, "height": 660}, device_scale_factor=1.5
        )
        page.goto(json.loads(served.stdout.readline())["url"])
        study = subprocess.Popen([*FORETELL, "run", "watched.yaml", "--workers", "1"], cwd=folder)
        page.locator("#live .cell:nth-child(3).running .bounds small", has_text="first").wait_for(timeout=600_000)
        page.wait_for_function("window.foretell.contents.episodes.count > 60", timeout=600_000)
        page.wait_for_timeout(1500)
        page.screenshot(path=HERE / "view.png")
        for process in (study, served):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
