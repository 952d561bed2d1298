"""Pairs of policies told apart with fewer real trials when simulation orders the tests, beside Holm.

    python benchmarks/ranking.py --zoo RUN         a run of the zoo's policies; forecast: their cards (200 simulated)
    python benchmarks/ranking.py --toyota FOLDER   rollouts of TRI's LBM paper (Dryad 10.5061/dryad.xd2547dxc)
    python benchmarks/ranking.py                   policies drawn at random, forecasts from good to reversed

Each policy's real trials are subsampled without replacement, `DRAWS` times per number of trials; a line says how many
pairs are told apart on average by Holm, by closed tests without a forecast, and by closed tests in its order, and from
how many trials (interpolated) the last tell as many pairs apart as Holm.
The forecast never sees the trials that are tested.
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
from foretell.stats.family import expected, leaning, pair_order

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


def sample(real: Scores, n: int, paired: bool, rng: np.random.Generator) -> Scores:
    """n trials of each policy, of the same scenarios if paired."""
    rows = rng.permutation(next(iter(real.values())).size)[:n] if paired else None
    return {name: x[rows if rows is not None else rng.permutation(x.size)[:n]] for name, x in real.items()}


def study(families: list[tuple[Scores, Mapping[str, float]]], paired: bool, draws: int) -> None:
    """Print the table for families of policies that each have as many trials."""
    most = min(x.size for real, _ in families for x in real.values())
    sizes = sorted({max(4, round(most * share)) for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)})
    every = sum(len(real) * (len(real) - 1) // 2 for real, _ in families)
    kind = "paired" if paired else "unpaired"
    print(f"pairs told apart of {every} in {len(families)} families, alpha {ALPHA}, {kind} trials, {draws} draws")
    print("| real trials of each policy | " + " | ".join(METHODS) + " | the order needs, for as many as Holm |")
    print("|" + "---|" * 5)
    means = []
    for n in sizes:
        rng = np.random.default_rng([1, n])
        rounds = draws if n < most else 1
        total = np.zeros(3)
        for _ in range(rounds):
            for real, forecast in families:
                total += told_apart(sample(real, n, paired, rng), forecast, paired)
        means.append(total / rounds)
    curve = np.maximum.accumulate(np.array(means), axis=0)
    for n, found in zip(sizes, means, strict=True):
        reached = curve[:, 2] >= found[0]
        needs = f"{np.interp(found[0], curve[:, 2], sizes):.0f}" if reached.any() else f"more than {most}"
        needs = f"{sizes[0]} or fewer" if reached[0] else needs
        print(f"| {n} | " + " | ".join(f"{v:.2f}" for v in found) + f" | {needs} |", flush=True)


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
    parser.add_argument("--draws", type=int, default=DRAWS)
    args = parser.parse_args()
    if args.zoo:
        study(zoo(args.zoo), True, args.draws)
    if args.toyota:
        study(toyota(args.toyota), False, args.draws)
    if args.zoo or args.toyota:
        return 0
    print("| forecast | policies | trials | pairs | " + " | ".join(METHODS) + " |")
    print("|" + "---|" * 7)
    for kind in ("good", "fair", "useless", "reversed"):
        for policies, n in ((4, 20), (6, 30), (8, 50)):
            found = [told_apart(real, said, True) for real, said in drawn(kind, policies, n, args.draws)]
            pairs = policies * (policies - 1) // 2
            print(
                f"| {kind} | {policies} | {n} | {pairs} | "
                + " | ".join(f"{v:.2f}" for v in np.mean(found, axis=0))
                + " |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
