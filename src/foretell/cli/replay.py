"""Run one episode again, compare it bit for bit, and film it.

Examples:
    foretell replay runs/first-study 4f2a1c  # the first characters of a key
    foretell replay runs/first-study 4f2a1c -o episode.mp4 --camera front
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from foretell.cli._flags import Episode, Json, OutFile, Run, named

__all__ = ["main"]


def main(
    *,
    run: Run,
    episode: Episode,
    out: OutFile,
    camera: Annotated[str | None, named("CAMERA", default="the one that the task films with")],
    json_: Json = False,
) -> None:
    """Run one episode of a run again. The exit code is 1 if the result is not identical.

    Args:
        out: The video (mp4) to write.
        camera: The camera of the video.
    """
    from foretell.study.replay import replay

    done = replay(run, episode, out=out, camera=camera)
    if json_:
        answer = {
            **asdict(done),
            "identical": done.identical,
            "video": str(done.video) if done.video else None,
        }
        print(json.dumps(answer, indent=2))
    else:
        print(done.text())
    if not done.identical:
        raise SystemExit(1)
