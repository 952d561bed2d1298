"""The site has every page, once; `make docs` builds it."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import unicodedata
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


def test_the_api_page_has_every_name_that_pages_import() -> None:
    listed = set(re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(), re.M))
    missing = set()
    for page in (ROOT / "docs").glob("*.md"):
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
            for where, names in re.findall(r"^from (foretell[\w.]*) import ([\w, ]+)", block, re.M):
                for name in names.split(", "):
                    thing = getattr(importlib.import_module(where), name, None)
                    if thing is None:
                        thing = importlib.import_module(f"{where}.{name}")
                    module = getattr(thing, "__module__", getattr(thing, "__name__", None))
                    names_of = {module, f"{module}.{name}", f"{where}.{name}", where}
                    if module is not None and not listed & names_of:
                        missing.add(f"{page.name}: {where}.{name} ({module})")
    assert not missing


def test_the_api_page_calls_verbs_as_users_do() -> None:
    text = (ROOT / "docs" / "api.md").read_text().partition("## Nouns")[0]
    verbs = re.findall(r"^::: (\S+)\n    options:\n      heading: foretell\.(\S+)$", text, re.M)
    assert len(verbs) == text.count("\n::: ") > 20
    for path, called in verbs:
        thing: Any = foretell
        for part in called.split("."):
            thing = getattr(thing, part)
        assert f"{thing.__module__}.{thing.__name__}" in (path, f"{path}.{thing.__name__}"), (path, called)


def _anchors(page: Path) -> set[str]:
    """What a link to a heading of a page may name, as Markdown's `toc` makes it."""
    heads = re.findall(r"^#{1,6} +(.+?)\s*$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)
    texts = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).replace("`", "") for head in heads]
    slugs = [re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", _ascii(text)).strip().lower()) for text in texts]
    return {slug if not slugs[:i].count(slug) else f"{slug}_{slugs[:i].count(slug)}" for i, slug in enumerate(slugs)}


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def test_links_to_headings_lead_to_one() -> None:
    """`make docs` refuses others too; this needs no MkDocs."""
    links = 0
    for page in (ROOT / "docs").glob("*.md"):
        for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text()):
            there = page if not target else page.parent / target
            if there.suffix == ".md":
                links += 1
                assert anchor in _anchors(there), f"{page.name}: {target}#{anchor}"
    assert links


@pytest.mark.daily
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="MkDocs is not installed: pip install 'foretell[docs]'")
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install 'foretell[docs]'")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        build, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.parent.name for path in (tmp_path / "site").glob("*/index.html")}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"} <= pages
