"""For `make docs`: files of the repository that pages link to become part of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]


def on_files(files: Files, config: Any) -> Files:
    for path in (*sorted((ROOT / "examples").iterdir()), ROOT / "SECURITY.md"):
        if path.is_file():
            name = f"files/{path.relative_to(ROOT).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **about: Any) -> str:
    return markdown.replace("](../", "](files/").replace("](docs/", "](../")
