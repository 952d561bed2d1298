"""Sim2Real Predictivity: SRCC and rank reversals from Table I, and the sums in its text."""

from __future__ import annotations

from typing import Any

from foretell.papers import table, text
from foretell.reproduction.figure import Ledger
from foretell.stats import pearson, rank_reversals

__all__ = ["srcc"]


def _gain(real: Any, before: Any, after: Any) -> Any:
    return pearson(real, after) - pearson(real, before)


def _share_reversed(real: Any, sim: Any) -> Any:
    size = real.shape[-1]
    return 100.0 * rank_reversals(real, sim) / (size * (size - 1) / 2)


def srcc() -> Ledger:
    """Every figure of the paper that its table and text determine."""
    book = Ledger("srcc")
    rows, words = table("srcc", "1"), text("srcc")
    real = [r["reality"] for r in rows]
    for name, label in (("chall", "challenge settings"), ("test", "tuned settings")):
        sim = [r[f"coda {name}"] for r in rows]
        book.check("Table I", f"SRCC of SPL, {label}", words[f"srcc spl {name}"], pearson, real, sim)
        note = "ties in the printed SPL hide pairs"
        book.check(
            "Table I", f"rank reversals, {label}", words[f"reversals {name}"], rank_reversals, real, sim, note=note
        )
        missing = "success rates per policy are in a picture only"
        book.lost("Table I", f"SRCC of success, {label}", words[f"srcc success {name}"], missing)
    sides = [[r[f"coda {name}"] for r in rows] for name in ("chall", "test")]
    figure, printed = "reversals of 36 pairs in percent", words["reversals test in percent"]
    why = "5 of 36 is 13.9: cut off, not rounded; ties in the printed SPL hide a pair"
    book.check("Running text", figure, printed, _share_reversed, real, sides[1], why=why)
    book.check("Running text", "gain in SRCC of SPL", words["gain spl"], _gain, real, *sides)
    gain = float(words["srcc success test"] - words["srcc success chall"])
    book.quoted("Running text", "gain in SRCC of success", words["gain success"], gain, "difference of the two printed")
    runs = words["models"] * words["rooms"] * words["legs"] * words["trials"]
    hours = runs * words["minutes per episode"] / 60.0
    note = "from the design in the text"
    book.quoted("Running text", "runs, simulated and real", words["runs"], 2.0 * runs, note)
    book.quoted("Running text", "hours of real testing", words["hours"], hours, note)
    book.quoted("Running text", "days of real testing", words["days"], hours / words["hours per day"], note)
    for name in ("gibson chall", "gibson test"):
        value = float(pearson([float(x) for x in real], [float(r[name]) for r in rows]))
        book.ours("Table I", f"SRCC of SPL, {name}", value, "not in the paper: other scenes than the real ones")
    return book
