"""Draws docs/pictures/audit.png: the regrets on the page that `foretell reproduce audit -o audit.html` writes.

python docs/pictures/audit.py audit.html
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main(page: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1000, "height": 1200})
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector("html[data-ready]")
        tab.wait_for_timeout(1500)
        chart = tab.locator("#decisions figure, #decisions .chart").first
        chart.screenshot(path=str(Path(__file__).with_suffix(".png")))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
