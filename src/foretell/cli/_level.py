"""`--confidence 95` beside `--alpha 0.05`: two ways to ask for the same intervals."""

from __future__ import annotations

from foretell.errors import UsageError

__all__ = ["alpha_of"]


def alpha_of(alpha: float | None, confidence: float | None) -> float:
    """One minus the confidence level, however it was given; 0.05 if it was not. `confidence` is in percent."""
    if confidence is None:
        return 0.05 if alpha is None else alpha
    if alpha is not None:
        raise UsageError("--alpha and --confidence say the same: give one of them, such as --confidence 95")
    if not 1.0 < confidence < 100.0:
        more = f": give --confidence {100 * confidence:g}" if 0.0 < confidence < 1.0 else ", between 1 and 100"
        raise UsageError(f"confidence is {confidence:g}, it should be in percent{more}")
    return round(1.0 - confidence / 100.0, 12)  # 95 is 0.05, not 0.05000000000000004
