"""Run one episode again and compare it bit for bit; film it.

Examples:
    foretell replay runs/first-study 4f2a1c                # the beginning of an episode's key
    foretell replay runs/first-study 4f2a1c --video episode.mp4 --camera front
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    run: Annotated[Path, tyro.conf.Positional],
    episode: Annotated[str, tyro.conf.Positional],
    video: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    camera: str | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Run one episode of a run again. Exit code 1 if it does not come out identical.

    Args:
        run: A run folder.
        episode: The episode's key, or enough of its beginning; foretell.read(RUN) has them, in column `episode`.
        video: Write a video of it (mp4).
        camera: The camera to film with, for --video; default the one that the task films with.
        json_: Print what was found as JSON.
    """
    from foretell.study.replay import replay

    found = replay(run, episode, video=video, camera=camera)
    if json_:
        answer = {**asdict(found), "identical": found.identical, "video": str(found.video) if found.video else None}
        print(json.dumps(answer, indent=2))
    else:
        print(found.text())
    if not found.identical:
        raise SystemExit(1)
