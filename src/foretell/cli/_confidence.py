"""`--confidence 95` beside `--alpha 0.05`: two ways to ask for the same intervals."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.errors import UsageError

__all__ = ["alpha_of", "check_once"]


def alpha_of(alpha: float, confidence: float | None) -> float:
    """One minus the confidence level. `confidence` is in percent, and replaces `alpha` if it is given."""
    if confidence is None:
        return alpha
    if not 1.0 < confidence < 100.0:
        more = f": give --confidence {100 * confidence:g}" if 0.0 < confidence < 1.0 else ", above 1 and below 100"
        raise UsageError(f"--confidence is {confidence:g}, it should be in percent{more}")
    return round(1.0 - confidence / 100.0, 12)  # 95 is 0.05, not 0.05000000000000004


def check_once(arguments: Sequence[str]) -> None:
    """Raises UsageError if both flags are there."""
    given = {argument.partition("=")[0] for argument in arguments}
    if {"--alpha", "--confidence"} <= given:
        raise UsageError("--alpha and --confidence mean the same: give one of them, such as --confidence 95")
