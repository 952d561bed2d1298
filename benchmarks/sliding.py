"""Does a simulator with sliding predict worse, in rooms that nothing was tuned on?

    python benchmarks/sliding.py RUNS                     # twelve agents in forty apartments, three worlds
    python benchmarks/sliding.py RUNS --world tuned.yaml  # and one more, such as that of foretell tune

The stand-in plays reality. The agents are those of studies/predict_navigation.yaml, and the scenarios are drawn: no
agent, world or θ was chosen by them. Runs are kept in the folder RUNS; the same command resumes them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

import foretell

REAL = "planar_standin"
WORLDS = ("planar_challenge", "planar")
STUDY = Path(__file__).parents[1] / "studies" / "predict_navigation_real.yaml"
SCENARIOS = {"count": 40, "seed": 50_000}


def run(world: str, folder: Path) -> Path:
    study = yaml.safe_load(STUDY.read_text())
    out = folder / Path(world).stem
    foretell.run({**study, "name": out.name, "world": world, "scenarios": SCENARIOS, "trials": 1}, out=out)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--world", action="append", default=[], help="a world file besides the two")
    options = parser.parse_args()
    real = run(REAL, options.runs)
    print("| world | metric | pearson | 95% interval | mmrv |\n|---|---|---|---|---|")
    for world in (*WORLDS, *options.world):
        sim = run(world, options.runs)
        for metric in ("success", "spl"):
            answer = foretell.predictivity(real=real, sim=sim, metric=metric, stand_in=True).to_dict()
            pearson, mmrv = answer["pearson"], answer["mmrv"]
            print(
                f"| {Path(world).stem} | {metric} | {pearson['value']:.3f} | "
                f"{pearson['low']:.3f} to {pearson['high']:.3f} | {mmrv['value']:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
