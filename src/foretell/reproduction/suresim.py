"""SureSim: Table 1 and the widths of Section 5 with data of the same moments, and Figures 12 to 14 with the
artificial data of Appendix D.2. Its own data is not published, so agreement here is up to another data set.

Seed, data and methods were fixed before the first run (docs/reproduce.md has what changed later). The
algorithms are the corrected ones of `foretell.stats`; `suresim, printed` is Algorithm 2 with its printed weights
and range (the printed Algorithm 3 does not cover).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.papers import table, text
from foretell.reproduction.figure import Ledger
from foretell.reproduction.suresim_data import artificial, like
from foretell.stats import betting
from foretell.stats.coverage import SIGNIFICANCE, Coverage, method
from foretell.stats.regimes import Regime

__all__ = ["suresim"]

Floats = NDArray[np.float64]

SEED = 1
NAMES = {
    "classical": "betting",
    "suresim, printed": "suresim_paper",
    "suresim": "suresim",
    "suresim-ub": "suresim_ub",
    "2-stage": "suresim_2stage",
    "2-stage-ub": "suresim_2stage_ub",
    "control variate": "control_variate",
    "blocked (ours)": "blocked",
}
"""The paper's names -> ours."""
FINITE = ("classical", "suresim", "suresim-ub", "2-stage", "2-stage-ub")
ALPHAS = (0.1, 0.05, 0.01, 0.001)
SIZES = (100, 1000, 10_000)
CORRELATIONS = (0.0, 0.5, 0.9, 0.97)
OTHER_DATA = "other data with the same moments"


def suresim(full: bool = False) -> Ledger:
    """`full`: 1,000 and 400 draws instead of 100 and 20, and `blocked` in the figures as well."""
    book = Ledger("suresim")
    rows = {r["experiment"]: r for r in table("suresim", "1")}
    words = text("suresim")
    for name, row in rows.items():
        printed, note = words[f"correlation {name}"], "Table 1 prints it too"
        book.quoted("Section 5", f"correlation of {name}", printed, float(row["correlation"]), note)
    ends = [words[f"{name} width diffusion policy"] for name in ("classical", "suresim")]
    cut, note = 100.0 * (1.0 - ends[1] / ends[0]), "from the two printed widths"
    figure = "decrease of width in percent, from the printed widths"
    book.quoted("Section 5", figure, words["width decrease in percent"], cut, note)
    _moments(book, rows, words, 1000 if full else 100)
    _figures(book, 400 if full else 20, full)
    return book


def _widths(
    world: Regime, names: tuple[str, ...], alpha: float, draws: int, extra: int | None = None
) -> dict[str, Floats]:
    """Widths of every draw, by the paper's names; the same data for every method and N."""
    rng = world.generator(SEED)
    widths: dict[str, list[float]] = {name: [] for name in names}
    for i in range(draws):
        real, sim, more = world.draw(rng)
        for name in names:
            widths[name].append(method(NAMES[name])(real, sim, more[:extra], alpha, i).width)
    return {name: np.array(w) for name, w in widths.items()}


def _moments(book: Ledger, rows: dict[str, Any], words: dict[str, Any], draws: int) -> None:
    """Table 1: data with its moments, the widths they give, and the trials saved."""
    alpha = float(words["alpha"])
    names = tuple(NAMES)
    mean: dict[str, dict[str, float]] = {}
    for name, row in rows.items():
        world = like(name, row, int(row["n"]), int(row["N"]))
        moments = world.moments()
        gaps = {
            k: abs(moments[v] - row[k]) / row[k].half
            for k, v in (("correlation", "correlation"), ("real mean", "real_mean"), ("paired sim mean", "sim_mean"),
                         ("real variance", "real_variance"), ("rectifier variance", "rectifier_variance"))
        }  # fmt: skip
        worst = max(gaps, key=lambda k: gaps[k])
        note = f"furthest off: {worst}, {gaps[worst]:.2f} half units"
        book.claim("Table 1", f"some data has the moments of {name}", gaps[worst] <= 1.0, note)
        wide = _widths(world, names, alpha, draws)
        mean[name] = {k: float(v.mean()) for k, v in wide.items()}
        for label, values in wide.items():
            figure = f"width of {label}, {name}"
            key = f"{'suresim' if label.startswith('suresim, ') else label} width {name}"
            if label in ("classical", "suresim, printed") and key in words:
                book.drawn("Table 1", figure, words[key], values, OTHER_DATA)
            else:
                book.ours(
                    "Table 1", figure, float(values.mean()), f"picture only; s.e. {values.std() / draws**0.5:.2g}"
                )
        key = f"trials saved in percent at least {name}"
        if key in words:
            cut = 100.0 * (1.0 - wide["suresim, printed"] / wide["classical"].mean())
            if name == "diffusion policy":
                book.drawn(
                    "Table 1",
                    f"decrease of width in percent, {name}",
                    words["width decrease in percent"],
                    cut,
                    OTHER_DATA,
                )
            saved = _saved(world, wide["suresim, printed"], alpha, min(draws, 200))
            error = float(saved.std() / saved.size**0.5)
            holds = float(saved.mean()) > float(words[key])
            note = f"ours {saved.mean():.1f} %, s.e. {error:.2g}; {OTHER_DATA}"
            book.claim("Fig. 5", f"suresim saves over {words[key]:.0f} % of real trials, {name}", holds, note)
    _statements(book, rows, mean, alpha, draws)


def _saved(world: Regime, widths: Floats, alpha: float, draws: int) -> Floats:
    """Trials saved in percent, the paper's way: more trials for Classical until its interval is the narrower one."""
    rng = world.generator(SEED + 1)
    savings = []
    for width in widths[:draws]:
        real, _ = world.pairs(rng, 4 * world.n)
        sizes = range(world.n, 4 * world.n + 1, 3)
        enough = next((n for n in sizes if betting(real[:n], alpha, horizon=n).width < width), 4 * world.n)
        savings.append(100.0 * (1.0 - world.n / enough))
    return np.array(savings)


def _statements(
    book: Ledger, rows: dict[str, Any], mean: dict[str, dict[str, float]], alpha: float, draws: int
) -> None:
    """What Section 5 says of Figures 4, 6, 8 and 9."""
    dp = like("diffusion policy", rows["diffusion policy"], 60, 700)
    few = float(_widths(dp, ("suresim, printed",), alpha, draws, extra=100)["suresim, printed"].mean())
    classical = mean["diffusion policy"]["classical"]
    note = f"{few:.4f} and {classical:.4f}"
    book.claim("Fig. 4", "N = 100 is enough for suresim to beat classical, diffusion policy", few < classical, note)
    pi0 = like("pi0, moderate", rows["pi0, moderate"], 60, 2100)
    some = float(_widths(pi0, ("suresim, printed",), alpha, draws, extra=500)["suresim, printed"].mean())
    end = mean["pi0, moderate"]["suresim, printed"]
    book.claim(
        "Fig. 6", "suresim has converged at N = 500, moderate pi0", some < 1.05 * end, f"{some:.4f}, then {end:.4f}"
    )
    low = mean["pi0, low"]
    best = min((k for k in NAMES if k.startswith(("suresim", "2-"))), key=lambda k: low[k])
    note = f"{best} {low[best]:.4f}, classical {low['classical']:.4f}"
    book.claim("Fig. 8", "none of the paper's methods beats classical, low pi0", low[best] >= low["classical"], note)
    high = mean["pi0, sim2sim"]
    worst = max((k for k in NAMES if k != "classical"), key=lambda k: high[k])
    note = f"widest: {worst} {high[worst]:.4f}, classical {high['classical']:.4f}"
    book.claim("Fig. 9", "all methods beat classical at alpha 0.1, sim2sim", high[worst] < high["classical"], note)


Coverages = dict[tuple[float, int, float, str], Coverage]
"""(correlation, N, alpha, method) -> width and coverage."""


def _artificial(
    correlation: float, extra: int, alphas: tuple[float, ...], names: list[str], n: int, draws: int
) -> Coverages:
    rng = np.random.default_rng([SEED, extra, round(1000 * correlation)])
    hits = {(a, k): 0 for a in alphas for k in names}
    widths: dict[tuple[float, str], list[float]] = {key: [] for key in hits}
    for i in range(draws):
        real, sim = artificial(rng, n + extra, correlation)
        for alpha, name in hits:
            interval = method(NAMES[name])(real[:n], sim[:n], sim[n:], alpha, i)
            hits[alpha, name] += 0.5 in interval
            widths[alpha, name].append(interval.width)
    return {
        (correlation, extra, a, k): Coverage(
            regime="artificial",
            method=k,
            draws=draws,
            covered=hits[a, k],
            alpha=a,
            width=float(np.mean(widths[a, k])),
            width_error=0.0,
        )
        for a, k in hits
    }


def _figures(book: Ledger, draws: int, full: bool) -> None:
    """Figures 12 to 14; alphas, the list of N and the correlations shown are ours, the paper prints none of them."""
    words = text("suresim")
    n, rho = int(words["artificial n"]), float(words["artificial correlation"])
    names = [k for k in NAMES if full or k != "blocked (ours)"]
    cells: Coverages = {}
    for extra in SIZES:
        cells |= _artificial(rho, extra, ALPHAS, names, n, draws)
    for other in CORRELATIONS:
        if other != rho:
            cells |= _artificial(other, SIZES[-1], (ALPHAS[0], ALPHAS[2]), names, n, draws)
    for (r, extra, alpha, name), cell in cells.items():
        if r == rho:
            figure = f"{name}, alpha {alpha:g}, N = {extra}"
            book.ours("Fig. 12", f"width of {figure}", cell.width)
            book.ours("Fig. 14", f"coverage of {figure}", cell.coverage, f"{draws} draws, no printed number")
        if extra == SIZES[-1] and alpha in (ALPHAS[0], ALPHAS[2]):
            book.ours("Fig. 13", f"width of {name}, alpha {alpha:g}, correlation {r:g}", cell.width)
    _shapes(book, cells, rho)


def _shapes(book: Ledger, cells: Coverages, rho: float) -> None:
    """What Appendix D.3 says of the curves."""

    def width(name: str, alpha: float, extra: int = SIZES[-1], r: float = rho) -> float:
        return cells[r, extra, alpha, name].width

    simulated = [k for k in NAMES if k not in ("classical", "blocked (ours)")]
    rising = [f"{k} at {a:g}" for k in simulated for a in ALPHAS if not width(k, a, 100) > width(k, a, 10_000)]
    book.claim("Fig. 12", "every method narrows from N = 100 to 10,000", not rising, ", ".join(rising))
    gap = [width("2-stage", a) / width("suresim", a) for a in ALPHAS]
    note = "wider by " + ", ".join(f"{100 * (g - 1):.0f} %" for g in gap)
    book.claim("Fig. 12", "2-stage stays wider than suresim at N = 10,000", min(gap) > 1.0, note)
    ratio = {a: width("control variate", a) / width("suresim", a) for a in (ALPHAS[0], ALPHAS[-1])}
    note = ", ".join(f"alpha {a:g}: {100 * (q - 1):+.0f} %" for a, q in ratio.items())
    holds = ratio[ALPHAS[0]] < 1.0 < ratio[ALPHAS[-1]]
    book.claim("Fig. 12", "control variate is narrower than suresim at large alpha, wider at small", holds, note)
    up = [
        f"{k} at {a:g}" for k in simulated for a in (ALPHAS[0], ALPHAS[2])
        if not width(k, a, r=CORRELATIONS[0]) > width(k, a, r=CORRELATIONS[1]) > width(k, a, r=CORRELATIONS[-1])
    ]  # fmt: skip
    book.claim("Fig. 13", "every method narrows as the correlation grows", not up, ", ".join(up))
    short = [f"{c.method}, alpha {a:g}, N = {e}" for (_, e, a, k), c in cells.items() if k in FINITE and c.fails]
    note = ", ".join(short) or f"no cell below nominal by a binomial test at {SIGNIFICANCE:g}"
    book.claim("Fig. 14", "every finite-sample method covers everywhere", not short, note)
    least = cells[rho, SIZES[-1], ALPHAS[0], "control variate"].coverage
    note = f"ours {least:.2f} at alpha 0.1, N = 10,000; the paper's form of the estimate is not printed"
    book.claim("Fig. 14", "control variate misses at large alpha and large N", least < 1.0 - ALPHAS[0], note)
