"""Pairs of policies told apart with fewer real trials when simulation orders the tests, beside Holm.

    python benchmarks/ranking.py --zoo RUN         a run of the zoo's policies; forecast: their cards (200 simulated)
    python benchmarks/ranking.py --toyota FOLDER   rollouts of TRI's LBM paper (Dryad 10.5061/dryad.xd2547dxc)
    python benchmarks/ranking.py                   policies drawn at random, forecasts from good to reversed
    python benchmarks/ranking.py --sequential ...  the same with bets, looked at after every trial

Each policy's real trials are subsampled without replacement, `DRAWS` times per number of trials; a line says how many
pairs are told apart on average by Holm, by closed tests without a forecast, and by closed tests in its order, and from
how many trials (interpolated) the last tell as many pairs apart as Holm.
With `--sequential` all trials come one by one, in `DRAWS` random orders, and the betting test is read after each. What
was decided stays decided, and a policy needs no more trials once all of its pairs are decided: the last line says how
many trials that takes. The forecast never sees the trials that are tested.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

from foretell.stats import barnard, closed, holm, mcnemar
from foretell.stats.blocked import Gambler
from foretell.stats.family import LEAN, Expected, bets_aim, expected, leaning, pair_order

ALPHA = 0.05
DRAWS = 100
METHODS = ("Holm", "closed, no forecast", "closed, in the order of the forecast")
barnard_of, mcnemar_of = cache(barnard), cache(mcnemar)

Scores = dict[str, np.ndarray]


def one_sided(a: np.ndarray, b: np.ndarray, paired: bool) -> tuple[float, float, float]:
    """p-values for a better, b better, and two-sided; binary scores of shape (n,)."""
    if paired:
        counts = int((a * (1 - b)).sum()), int(((1 - a) * b).sum())
        return mcnemar_of(*counts, "greater"), mcnemar_of(*counts, "less"), mcnemar_of(*counts)
    table = int(a.sum()), a.size, int(b.sum()), b.size
    return barnard_of(*table, "greater"), barnard_of(*table, "less"), barnard_of(*table)


def told_apart(real: Scores, forecast: Mapping[str, float], paired: bool) -> tuple[int, int, int]:
    """Pairs told apart by each of `METHODS`."""
    names = sorted(real)
    pairs = list(combinations(names, 2))
    tests = [one_sided(real[a], real[b], paired) for a, b in pairs]
    two = [both for *_, both in tests]
    leaned = [
        leaning(up, down, expected(forecast[a], forecast[b]))
        for (up, down, _), (a, b) in zip(tests, pairs, strict=True)
    ]
    ordered = closed(leaned, len(names), pair_order([forecast[name] for name in names]))
    return tuple(int((p <= ALPHA).sum()) for p in (holm(two), closed(two, len(names)), ordered))  # type: ignore[return-value]


def p_values(a: np.ndarray, b: np.ndarray, aim: float, toward: Expected | None) -> np.ndarray:
    """p-value of the betting test after each of n trials, planned for n; scores and result of shape (n,)."""
    lean = {"greater": LEAN, "less": 1.0 - LEAN, None: 0.5}[toward]
    sides = []
    for part, gain in ((lean, a - b), (1.0 - lean, b - a)):
        gambler = Gambler(np.array([0.5]), 2.0 * part * aim, a.size)
        wealth = []
        for score in 0.5 * (1.0 + gain):
            gambler.update(float(score), 0.0, 0.0)
            wealth.append(float(gambler.log_wealth[0]))
        sides.append(np.exp(-np.maximum.accumulate([0.0, *wealth])[1:]) / part)
    return np.minimum(1.0, np.minimum(*sides))


def looked_at(real: Scores, forecast: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs told apart by each of `METHODS` after every trial, shape (n, 3), and the real trials until no policy needs
    more, shape (3,)."""
    names = sorted(real)
    count, pairs = len(names), list(combinations(names, 2))
    plain = np.array([p_values(real[a], real[b], bets_aim(ALPHA, count, False), None) for a, b in pairs])
    leans = [expected(forecast[a], forecast[b]) for a, b in pairs]
    aim = bets_aim(ALPHA, count, True)
    leaned = np.array([p_values(real[a], real[b], aim, lean) for (a, b), lean in zip(pairs, leans, strict=True)])
    order = pair_order([forecast[name] for name in names])
    adjusted = [[holm(p), closed(p, count), closed(q, count, order)] for p, q in zip(plain.T, leaned.T, strict=True)]
    apart = np.array(adjusted) <= ALPHA  # (n, methods, pairs)
    trials = np.where(apart[-1], apart.argmax(axis=0) + 1, len(apart))  # of each pair: (methods, pairs)
    needs = [trials[:, [name in pair for pair in pairs]].max(axis=1) for name in names]
    return apart.sum(axis=2), np.sum(needs, axis=0)


def sample(real: Scores, n: int, paired: bool, rng: np.random.Generator) -> Scores:
    """n trials of each policy, of the same scenarios if paired."""
    rows = rng.permutation(next(iter(real.values())).size)[:n] if paired else None
    return {name: x[rows if rows is not None else rng.permutation(x.size)[:n]] for name, x in real.items()}


def study(families: list[tuple[Scores, Mapping[str, float]]], paired: bool, draws: int, sequential: bool) -> None:
    """Print the table for families of policies that each have as many trials."""
    most = min(x.size for real, _ in families for x in real.values())
    sizes = sorted({max(4, round(most * share)) for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)})
    every = sum(len(real) * (len(real) - 1) // 2 for real, _ in families)
    kind = ("paired" if paired else "unpaired") + " trials" + (", a look after each" if sequential else "")
    print(f"pairs told apart of {every} in {len(families)} families, alpha {ALPHA}, {kind}, {draws} draws")
    print("| real trials of each policy | " + " | ".join(METHODS) + " | the order needs, for as many as Holm |")
    print("|" + "---|" * 5)
    spent = None
    if sequential:
        rng, total, spent = np.random.default_rng([1, most]), np.zeros((most, 3)), np.zeros(3)
        for _ in range(draws):
            for real, forecast in families:
                told, trials = looked_at(sample(real, most, paired, rng), forecast)
                total, spent = total + told / draws, spent + trials / draws
        means = [total[n - 1] for n in sizes]
    else:
        means = [subsampled(families, n, paired, draws if n < most else 1) for n in sizes]
    curve = np.maximum.accumulate(np.array(means), axis=0)
    for n, told in zip(sizes, means, strict=True):
        reached = curve[:, 2] >= told[0]
        needs = f"{np.interp(told[0], curve[:, 2], sizes):.0f}" if reached.any() else f"more than {most}"
        needs = f"{sizes[0]} or fewer" if reached[0] else needs
        needs = needs if told[0] else "none told apart"
        print(f"| {n} | " + " | ".join(f"{v:.2f}" for v in told) + f" | {needs} |", flush=True)
    if spent is not None:
        every = most * sum(len(real) for real, _ in families)
        print(f"| trials until none is needed, of {every} | " + " | ".join(f"{v:.0f}" for v in spent) + " | |")


def subsampled(families: list[tuple[Scores, Mapping[str, float]]], n: int, paired: bool, draws: int) -> np.ndarray:
    """Pairs told apart by each of `METHODS` with n trials of each policy, mean over draws, shape (3,)."""
    rng, total = np.random.default_rng([1, n]), np.zeros(3)
    for _ in range(draws):
        for real, forecast in families:
            total += told_apart(sample(real, n, paired, rng), forecast, paired)
    return total / draws


def zoo(run: Path) -> list[tuple[Scores, Mapping[str, float]]]:
    """One family for each task of a run; the forecast is on the cards of the policies."""
    import yaml

    import foretell

    rows = foretell.read(run).to_pylist()
    models = Path(foretell.__file__).parent / "zoo" / "models"
    families = []
    for task in sorted({row["task"] for row in rows}):
        mine = [row for row in rows if row["task"] == task and row["success"] is not None]
        names = sorted({row["policy"] for row in mine})
        common = sorted(set.intersection(*({r["scenario"] for r in mine if r["policy"] == n} for n in names)))
        score = {(row["policy"], row["scenario"]): float(row["success"]) for row in mine}
        real = {name: np.array([score[name, unit] for unit in common]) for name in names}
        cards = {name: yaml.safe_load((models / task / f"{name}.yaml").read_text()) for name in names}
        forecast = {name: card["success"]["rate"] for name, card in cards.items()}
        for name in names:
            print(f"{task} {name}: {real[name].mean():.1%} of {len(common)} here, {forecast[name]:.1%} on its card")
        families.append((real, forecast))
    return families


def toyota(folder: Path) -> list[tuple[Scores, Mapping[str, float]]]:
    """Single-task, zero-shot and fine-tuned policy on hardware; forecast: the same task and shift in simulation."""
    csv.field_size_limit(10**8)
    with (folder / "Fig2.csv").open() as file:
        rows = list(csv.DictReader(file))
    simulated = {
        "Fig2A_HW_Seen_Nominal": "Fig2A_Sim_Seen_Nominal",
        "Fig2B_HW_Seen_NovelStation": "Fig2A_Sim_Seen_Nominal",
    }
    simulated["Fig2B_HW_Seen_DistShift"] = "Fig2B_Sim_Seen_DistShift"
    families = []
    for panel, sim in simulated.items():
        tasks = dict.fromkeys(r["Task"] for r in rows if r["Panel"] == panel and not r["Task"].startswith("Aggregate"))
        for task in tasks:
            real = {
                r["Method"]: np.array(
                    [cell.strip() == "True" for cell in r["Success/Failure"].strip("[]").split(",")], float
                )
                for r in rows
                if (r["Panel"], r["Task"]) == (panel, task)
            }
            rates = {r["Method"]: float(r["Success_Rate"]) for r in rows if (r["Panel"], r["Task"]) == (sim, task)}
            families.append((real, rates))
    return families


def drawn(kind: str, policies: int, n: int, families: int) -> list[tuple[Scores, Mapping[str, float]]]:
    """Success rates drawn evenly; 40 % of a policy's trials are decided by the scenario, as for all others."""
    rng = np.random.default_rng([policies, n])
    made = []
    for _ in range(families):
        rate = rng.uniform(0.1, 0.95, policies)
        shared = rng.random(n)
        spread = {"good": 0.05, "fair": 0.15}.get(kind, 0.0)
        truth = {"useless": rng.uniform(0.1, 0.95, policies), "reversed": 1 - rate}.get(
            kind, np.clip(rate + rng.normal(0, spread, policies), 0.01, 0.99)
        )
        seen = rng.binomial(100, truth) / 100
        real = {
            f"p{i:02d}": (np.where(rng.random(n) < 0.4, shared, rng.random(n)) < rate[i]).astype(float)
            for i in range(policies)
        }
        made.append((real, {f"p{i:02d}": float(seen[i]) for i in range(policies)}))
    return made


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=Path)
    parser.add_argument("--toyota", type=Path)
    parser.add_argument("--sequential", action="store_true", help="bets, looked at after every trial")
    parser.add_argument("--draws", type=int, default=DRAWS)
    args = parser.parse_args()
    if args.zoo:
        study(zoo(args.zoo), True, args.draws, args.sequential)
    if args.toyota:
        study(toyota(args.toyota), False, args.draws, args.sequential)
    if args.zoo or args.toyota:
        return 0
    spent = " | ".join(f"trials, {name}" for name in METHODS)
    print(
        "| forecast | policies | trials | pairs | "
        + " | ".join(METHODS)
        + (f" | {spent} |" if args.sequential else " |")
    )
    print("|" + "---|" * (10 if args.sequential else 7))
    for kind in ("good", "fair", "useless", "reversed"):
        for policies, n in ((4, 20), (6, 30), (8, 50)):
            families = drawn(kind, policies, n, args.draws)
            cells: list[str] = []
            if args.sequential:
                looks = [looked_at(real, forecast) for real, forecast in families]
                cells = [f"{v:.0f}" for v in np.mean([trials for _, trials in looks], axis=0)]
                told = [counts[-1] for counts, _ in looks]
            else:
                told = [told_apart(real, forecast, True) for real, forecast in families]
            cells = [f"{v:.2f}" for v in np.mean(told, axis=0)] + cells
            pairs = policies * (policies - 1) // 2
            print(f"| {kind} | {policies} | {n} | {pairs} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
