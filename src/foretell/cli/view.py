"""Watch runs in a browser while they are made; stop a study from there.

Examples:
    foretell view runs/first-study --open
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    runs: Annotated[list[Path], tyro.conf.Positional],
    host: str = "127.0.0.1",
    port: int = 0,
    open: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Serve the report's page of some runs, updated while they are written, until Ctrl-C.

    Args:
        runs: Run folders; one that does not exist yet is waited for.
        host: Address to serve at; by default only this machine can reach it.
        port: Default any that is free.
        open: Open the page in a browser.
        json_: Print the address as JSON.
    """
    from foretell.view import Served, view

    def told(served: Served) -> None:
        print(json.dumps(served.to_dict()) if json_ else served.text(), flush=True)

    view(*runs, host=host, port=port, open=open, told=told)
