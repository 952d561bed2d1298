"""The site has every page, once; `make docs` builds it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import foretell

ROOT = Path(__file__).parents[1]


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in _pages(part)]


def test_every_page_is_in_the_sites_menu_once() -> None:
    listed = sorted(_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert listed == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_site_has_the_scripts_that_pages_link_to() -> None:
    """The hook of the site puts them under `files`; a pattern for a folder would not take them in again."""
    pathspec = pytest.importorskip("pathspec")
    excluded = pathspec.GitIgnoreSpec.from_lines(
        yaml.safe_load((ROOT / "mkdocs.yml").read_text())["exclude_docs"].splitlines()
    )
    texts = [page.read_text() for page in (ROOT / "docs").glob("*.md")]
    scripts = {target for text in texts for target in re.findall(r"\]\(\.\./([^)#\s]+\.py)", text)}
    assert scripts
    assert not [script for script in scripts if excluded.match_file(f"files/{script}")]
    assert excluded.match_file("site_hooks.py")


def test_the_api_page_has_every_public_name() -> None:
    listed = set(re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(), re.M))
    for name in foretell.__all__:
        if name != "__version__":
            module = getattr(foretell, name).__module__
            assert listed & {module, f"{module}.{name}"}, f"docs/api.md lacks {module}.{name}"
