"""Does matching help? A simulated laboratory plays the real one, policies are trained on its pictures, and five worlds
foretell how they do there: the native one, with identified gains, with matched looks, with both, and averaged over
variants. Prints the tables of docs/matching.md. Runs again from where it stopped.

python benchmarks/matched.py                    # everything: about 40 minutes of one core
python benchmarks/matched.py --only tables      # or: policies, looks, gains, runs
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import yaml
from matched_lab import CAMERA, FRAME, TASK, photograph, write_lab

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "runs" / "matched"
PHOTOS = FOLDER / "photos"
STEPS = ("policies", "looks", "gains", "runs", "tables")
STUDIES = ("real", "both", "matched", "none", "identified", "no_background", "no_objects", "no_camera", "aggregated")
LOOKS = {
    "both": ("camera", "background", "light", "painted"),
    "no_camera": ("background", "light", "painted"),
    "no_background": ("camera", "light", "painted"),
    "no_objects": ("camera", "background"),
    "calibrated": ("camera",),
}
"""Worlds with identified gains, and the matched looks that they have. `aggregated` varies the last one."""


def foretell(*arguments: str, cwd: Path = ROOT) -> None:
    print("$ foretell", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "foretell", *arguments], cwd=cwd, check=True, env=os.environ)


def looks(lab: Path) -> None:
    """The commands of docs/matching.md on pictures of the laboratory."""
    if (FOLDER / "looks.yaml").is_file():
        return
    PHOTOS.mkdir(exist_ok=True)
    photograph(lab, PHOTOS)
    world = ("--world", "../looks.new.yaml")
    task = ("--task", TASK, "--camera", CAMERA, "--layout", str(FRAME))
    run = [
        ("background", "table.mp4", "-o", "plate.png", "--mask", "hide.png", *world, "--camera", CAMERA),
        ("camera", "frame.png", "--points", "points.csv", "--fit", "focal", *world, "--camera", CAMERA),
        ("light", "frame.png", *task, "--parts", "widowx", *world, "-o", "light.png"),
        ("texture", "frame.png", *task, "--object", "carrot", "--mask", "mask_carrot.png", *world),
        ("texture", "frame.png", *task, "--object", "plate", "--mask", "mask_plate.png", *world),
        ("check", "frame.png", *task, "--plate", "plate.png"),
        ("check", "frame.png", *task, *world, "-o", "check.html"),
    ]
    for arguments in run:
        foretell("match", *arguments, cwd=PHOTOS)
    (FOLDER / "looks.new.yaml").rename(FOLDER / "looks.yaml")


def gains() -> None:
    """The native world with gains and delay as the laboratory's motion has them."""
    if (FOLDER / "identified.yaml").is_file():
        return
    foretell("run", "studies/matched_motion.yaml")
    motion, robot = "runs/matched_motion", ("--robot", "widowx", "--vary", "kp", "delay")
    foretell("identify", motion, *robot, "-o", "runs/matched/identified.new.yaml")
    (FOLDER / "identified.new.yaml").rename(FOLDER / "identified.yaml")


def combined() -> None:
    """World files with the identified gains and some of the matched looks."""
    fitted, seen = (yaml.safe_load((FOLDER / f"{name}.yaml").read_text()) for name in ("identified", "looks"))
    for name, uses in LOOKS.items():
        transforms = [transform for transform in seen["transforms"] if transform["use"] in uses]
        world = {**fitted, "name": name, "transforms": transforms}
        (FOLDER / f"{name}.yaml").write_text(yaml.safe_dump(world, sort_keys=False))


def runs() -> None:
    combined()
    for name in STUDIES:
        foretell("run", f"studies/matched_{name}.yaml")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=STEPS, nargs="+", default=STEPS)
    only = parser.parse_args().only
    FOLDER.mkdir(parents=True, exist_ok=True)
    lab = write_lab(FOLDER)
    if "policies" in only:
        from matched_policies import make_policies

        make_policies(lab, FOLDER)
    if "looks" in only:
        looks(lab)
    if "gains" in only:
        gains()
    if "runs" in only:
        runs()
    if "tables" in only:
        from matched_tables import print_tables

        print_tables(FOLDER.parent)


if __name__ == "__main__":
    main()
