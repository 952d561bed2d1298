"""Rank policies by success under perturbation, on one test set.

Examples:
    foretell leaderboard runs/bc runs/dp --html board.html
    foretell leaderboard runs/sim --real runs/standin --clock sync
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    testset: Path | None = None,
    real: tuple[Path, ...] = (),
    clock: str | None = None,
    alpha: float | None = None,
    confidence: float | None = None,
    seed: int = 0,
    html: Path | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Score, success and change under every factor, of all policies in runs of one test set.

    Args:
        runs: Run folders that hold the same test set, in one world.
        testset: The file that says what is certified, for runs that did not take their scenarios from it.
        real: Runs of the same test set in another world, to set beside: R squared of every factor.
        clock: Which clock, where there are several.
        alpha: One minus the confidence level; default 0.05.
        confidence: The confidence level in percent, such as 95, instead of alpha.
        seed: Seed of the resampling behind some intervals.
        html: Also write a page.
        json_: Print JSON.
    """
    from foretell.cli._level import alpha_of
    from foretell.files import require_writable
    from foretell.leaderboard import leaderboard

    alpha = alpha_of(alpha, confidence)
    if html is not None:
        require_writable(html, "html")
    found = leaderboard(*runs, testset=testset, real=real, clock=clock, alpha=alpha, seed=seed)
    if html is not None:
        from foretell.report.leaderboard import leaderboard_page

        html.write_text(leaderboard_page(found), encoding="utf-8")
    print(json.dumps(found.to_dict(), indent=2, allow_nan=False) if json_ else found.text())
    if html is not None and not json_:
        print(f"the page is {html}")
