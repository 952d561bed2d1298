"""Show when one episode observed, inferred, acted and waited.

Examples:
    foretell timeline runs/latency 4f2a1c
    foretell timeline runs/latency 4f2a1c -o episode.svg --start 1 --stop 4
"""

from __future__ import annotations

import json
from typing import Annotated

from foretell.cli._flags import Episode, Json, OutFile, Run, named

__all__ = ["main"]


def main(
    *,
    run: Run,
    episode: Episode,
    out: OutFile,
    start: Annotated[float, named("SECONDS")],
    stop: Annotated[float | None, named("SECONDS", default="the end of the episode")],
    json_: Json = False,
) -> None:
    """Show the observations, inferences, actions and waiting times of one episode. Its study needs
    `record: {events: N}`.

    Args:
        out: The file to write: FILE.json for https://ui.perfetto.dev or chrome://tracing, or FILE.svg for a picture.
        start: The start of the picture, in simulated seconds.
        stop: The end of the picture, in simulated seconds.
    """
    from foretell.report.timeline import timeline

    answer = timeline(run, episode, out, start=start, stop=stop)
    print(json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
