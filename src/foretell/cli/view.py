"""Watch runs in a browser while they are running.

Examples:
    foretell view runs/first-study --open
"""

from __future__ import annotations

import json
from typing import Annotated

from foretell.cli._flags import Json, Runs, Switch, named

__all__ = ["main"]


def main(
    *,
    runs: Annotated[Runs, named(None, "Run folders. A folder may appear later.")],
    host: Annotated[str, named("ADDRESS")],
    port: Annotated[int, named("PORT")],
    open: Switch,
    json_: Json = False,
) -> None:
    """Serve the report of some runs and update it while they are running, until Ctrl-C. The page can stop a study.

    Args:
        host: The address to serve at. 127.0.0.1 is reachable from this machine only.
        port: The port. 0 takes a free one.
        open: Open the page in a browser.
    """
    from foretell.view import Served, view

    def notify(served: Served) -> None:
        print(json.dumps(served.to_dict()) if json_ else served.text(), flush=True)

    view(*runs, host=host, port=port, open=open, notify=notify)
