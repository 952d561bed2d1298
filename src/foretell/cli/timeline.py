"""Show when one episode looked, thought, acted and waited: a trace for Perfetto, or a picture.

Examples:
    foretell timeline runs/latency 4f2a1c
    foretell timeline runs/latency 4f2a1c -o episode.svg --start 1 --stop 4
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    run: Annotated[Path, tyro.conf.Positional],
    episode: Annotated[str, tyro.conf.Positional],
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    start: float = 0.0,
    stop: float | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Observations, inferences, actions, starvation and seams of one episode, whose study had `record: {events: N}`.

    Args:
        run: A run folder.
        episode: The episode's key, or enough of its beginning; `foretell show RUN --episodes` lists them.
        out: FILE.json for https://ui.perfetto.dev or chrome://tracing, or FILE.svg, a picture.
        start: Where the picture begins, in simulated seconds.
        stop: Where the picture ends; default with the episode.
        json_: Print the figures as JSON.
    """
    from foretell.report.timeline import timeline

    found = timeline(run, episode, out, start=start, stop=stop)
    print(json.dumps(found.to_dict(), indent=2) if json_ else found.text())
