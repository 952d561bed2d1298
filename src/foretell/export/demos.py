"""Demonstrations of the scripted expert, as a dataset to train on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from foretell.errors import ForetellError, UsageError
from foretell.export.export import Exported, export, size_of
from foretell.study.run import run

__all__ = ["FIRST_SEED", "demos"]

FIRST_SEED = 2_000_000_000
"""Scenarios have seeds from here on. Studies count up from their own, usually 0, and those that the zoo learned from
begin at 3,000,000,000: its policies have not seen these."""


def demos(
    task: str,
    *,
    n: int = 100,
    to: str = "lerobot",
    out: str | Path,
    world: str = "mujoco",
    controller: str | None = None,
    noise: float = 0.0,
    seed: int = 0,
    cameras: Sequence[str] = (),
    size: str = "240x320",
    workers: int | None = None,
    keep: str | Path | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> Exported:
    """Run the scripted expert of a task in `n` scenarios that no study draws, and export the episodes that succeed.

    `noise` disturbs its actions, so that the dataset holds recoveries. `seed` chooses other scenarios. `keep`: the run
    folder to keep; without it the run is removed. The rest is as in `export`.
    """
    if n < 1:
        raise UsageError(f"n: {n} should be 1 or more")
    size_of(size)
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"out: {out} is not empty; give the name of a new folder")
    expert: dict[str, Any] = {"use": "noisy-expert", "noise": noise} if noise else {"use": "expert"}
    study = {
        "name": f"demos-{n}",
        "world": world,
        "tasks": [{"use": task, **({"controller": controller} if controller else {})}],
        "policies": {"expert": expert},
        "scenarios": {"count": n, "seed": FIRST_SEED + 1_000_000 * seed},
        "record": {"steps": "all", "video": "none"},
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(keep) if keep is not None else Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        made = run(study, out=folder, workers=workers)
        return export(made.path, to=to, out=out, success=True, cameras=cameras, size=size, notify=notify)
    except UsageError as error:
        if "no episode succeeded" in str(error):
            raise ForetellError(f"task {task!r}: its expert solved none of {n} scenarios") from None
        raise
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
