"""Draws docs/pictures/report.png: the page that `foretell demo` writes, on a desk and, dark, on a telephone.

python docs/pictures/report.py runs/demo.html
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

HEIGHT, GAP = 1460, 48


def seen(browser: Browser, page: Path, scheme: str, width: int, height: int, scale: float, at: str = "") -> Image.Image:
    """What a browser window of that size shows, from one of the page's sections on."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=scale
    )
    tab = context.new_page()
    tab.goto(page.resolve().as_uri())
    tab.wait_for_selector("html[data-ready]")
    if at:
        tab.evaluate("id => document.getElementById(id).scrollIntoView()", at)
        tab.wait_for_timeout(600)
    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    context.close()
    return picture


def main(page: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        desk = seen(browser, page, "light", 1180, HEIGHT, 1.0)
        phone = seen(browser, page, "dark", 390, 844, 1.4, "pictures")
        browser.close()
    whole = Image.new("RGB", (desk.width + phone.width + 3 * GAP, HEIGHT + 2 * GAP), "#e4e6e9")
    whole.paste(desk, (GAP, GAP))
    whole.paste(phone, (desk.width + 2 * GAP, 2 * GAP))
    whole.quantize(256, dither=Image.Dither.NONE).save(Path(__file__).with_name("report.png"), optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
