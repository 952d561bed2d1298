"""Sim2Real Predictivity: SRCC and rank reversals from Table I, and the sums in its text."""

from __future__ import annotations

from foretell.papers import table, text
from foretell.reproduction.figure import Ledger
from foretell.stats import pearson, rank_reversals

__all__ = ["srcc"]


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
    pairs = words["models"] * (words["models"] - 1) / 2
    share = 100.0 * words["reversals test"] / pairs
    book.value(
        "Running text",
        "reversals of 36 pairs in percent",
        words["reversals test in percent"],
        share,
        why="cut off, not rounded",
    )
    gain = float(words["srcc spl test"] - words["srcc spl chall"])
    book.value("Running text", "gain in SRCC of SPL", words["gain spl"], gain)
    gain = float(words["srcc success test"] - words["srcc success chall"])
    book.value("Running text", "gain in SRCC of success", words["gain success"], gain)
    runs = words["models"] * words["rooms"] * words["legs"] * words["trials"]
    book.value("Running text", "runs, simulated and real", words["runs"], 2.0 * runs)
    hours = runs * words["minutes per episode"] / 60.0
    book.value("Running text", "hours of real testing", words["hours"], hours)
    book.value("Running text", "days of real testing", words["days"], hours / words["hours per day"])
    for name in ("gibson chall", "gibson test"):
        value = float(pearson([float(x) for x in real], [float(r[name]) for r in rows]))
        book.ours("Table I", f"SRCC of SPL, {name}", value, "not in the paper: other scenes than the real ones")
    return book
