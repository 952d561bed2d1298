"""The page: one HTML file with everything in it. It asks nothing of any network, and names are data, never markup."""

from __future__ import annotations

import contextlib
import json
import os
import re
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from foretell.errors import UsageError

__all__ = ["needs_extra", "page", "theme"]

HERE = Path(__file__).parent
SCRIPTS = ("episode", "table", "charts", "compared", "page")
"""Scripts in the order in which the page runs them. Each uses those before it."""
END = "})();"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob: {here}; media-src data: blob: {here}; connect-src {connect}; "
    "base-uri 'none'; form-action 'none'"
)
"""What the page may load; Vega compiles its expressions, hence eval. `blob:` and `data:` are its own."""


def page(contents: dict[str, Any], live: dict[str, Any] | None = None, script: str = "") -> str:
    """The page of what `contents` gives. `live` becomes `window.foretell.live`, and `script` runs after the page's own:
    such a page may talk to the server it came from."""
    videos = contents.get("videos") or {}
    contents = {k: v for k, v in contents.items() if k != "videos"}
    parts = {
        "policy": escape(
            POLICY.format(here="'self'", connect="'self'") if live else POLICY.format(here="file:", connect="'none'")
        ),
        "title": escape(f"{contents['title']} · foretell"),
        "css": (HERE / "page.css").read_text(encoding="utf-8"),
        "contents": as_json(contents),
        "live": as_json(live),
        "theme": as_json(theme()),
        "videos": "\n".join(
            f'<script type="text/plain" data-video="{escape(link)}">{data}</script>' for link, data in videos.items()
        ),
        "vega": vega(),
        "js": "\n".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS),
        "script": script,
    }
    html = (HERE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], html)


def as_json(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element, or a line."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair has no place in a file


def theme() -> dict[str, Any]:
    """Vega's configuration for `light`, `dark` and `paper`."""
    contents: dict[str, Any] = json.loads((HERE / "theme.json").read_text(encoding="utf-8"))
    return contents


@cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed, as one script. Bundling takes seconds, so it is kept in the user's cache."""
    needs_extra()
    import vl_convert

    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foretell"
    kept = folder / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if (text := kept.read_text(encoding="utf-8")).endswith(END):
            return text
    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg] # its stub lacks the default of `snippet`
    text = f"(function () {{\n{bundle}\n{END}"
    with contextlib.suppress(OSError):  # no home, or a full disk: then it is made each time
        folder.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(kept)
    return text


def needs_extra() -> None:
    """Raises UsageError where what draws charts is not installed."""
    for module in ("altair", "vl_convert"):
        try:
            __import__(module)
        except ImportError:
            raise UsageError(
                f"charts need {module.replace('_', '-')}, which is not installed: pip install 'foretell[report]'"
            ) from None
