"""Rank policies by success on one test set.

Examples:
    foretell leaderboard runs/bc runs/dp --html board.html
    foretell leaderboard runs/sim --real runs/standin --clock sync
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from foretell.cli._flags import Alpha, Clock, Confidence, Json, Runs, Seed, named

__all__ = ["main"]


def main(
    *,
    runs: Annotated[Runs, named(None, "Run folders of the same test set, in one world.")],
    testset: Annotated[Path | None, named("FILE")],
    real: Annotated[tuple[Path, ...], named("RUN ...")],
    clock: Clock,
    alpha: Alpha,
    confidence: Confidence = None,
    seed: Seed,
    html: Annotated[Path | None, named("FILE")] = None,
    json_: Json = False,
) -> None:
    """Rank policies by success under perturbation, and show the effect of every factor.

    Args:
        testset: The test set file with the certificates. Only runs that did not take their scenarios from it need it.
        real: Runs of the same test set in another world. R squared is shown for every factor.
        html: Write the leaderboard as an HTML page.
    """
    from foretell.cli._confidence import alpha_of
    from foretell.files import require_writable
    from foretell.leaderboard import leaderboard

    alpha = alpha_of(alpha, confidence)
    if html is not None:
        require_writable(html, "html")
    answer = leaderboard(*runs, testset=testset, real=real, clock=clock, alpha=alpha, seed=seed)
    if html is not None:
        from foretell.report.leaderboard import leaderboard_page

        html.write_text(leaderboard_page(answer), encoding="utf-8")
    print(json.dumps(answer.to_dict(), indent=2, allow_nan=False) if json_ else answer.text())
    if html is not None and not json_:
        print(f"the page is {html}")
