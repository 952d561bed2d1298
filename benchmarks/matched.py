"""Does matching help? A simulated laboratory plays the real one, policies are trained on its pictures, and five worlds
foretell how they do there: the native one, with identified gains, with matched looks, with both, and averaged over
variants. Prints the tables of docs/matching.md. Runs again from where it stopped.

python benchmarks/matched.py                       # everything: about 30 minutes of one core
python benchmarks/matched.py --small               # four policies, six layouts, four worlds: about 6 minutes
python benchmarks/matched.py --laboratory near     # one that looks less unlike the task
python benchmarks/matched.py --only tables         # or: policies, looks, gains, runs
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import yaml
from matched_lab import CAMERA, FRAME, LABORATORIES, TASK, Laboratory, photograph, write_lab

ROOT = Path(__file__).resolve().parents[1]
STEPS = ("policies", "looks", "gains", "runs", "tables")
STUDIES = ("real", "both", "matched", "none", "identified", "aggregated", "true_camera", "no_background",
           "no_objects", "no_camera")  # fmt: skip
LAYOUTS = [0, 7, 8, 15, 16, 23]
FEW = ("real", "both", "matched", "none", "identified")
"""Layouts and worlds of a small study."""
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


def looks(laboratory: Laboratory, folder: Path) -> None:
    """The commands of docs/matching.md on pictures of the laboratory."""
    if (folder / "looks.yaml").is_file():
        return
    photos = folder / "photos"
    photos.mkdir(exist_ok=True)
    photograph(laboratory, folder / "lab.yaml", photos)
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
        foretell("match", *arguments, cwd=photos)
    (folder / "looks.new.yaml").rename(folder / "looks.yaml")


def gains(folder: Path) -> None:
    """The native world with gains and delay as the laboratory's motion has them."""
    if (folder / "identified.yaml").is_file():
        return
    run("motion", folder)
    recorded, robot = f"../{folder.name}_motion", ("--robot", "widowx", "--vary", "kp", "delay")
    foretell("identify", recorded, *robot, "-o", "identified.new.yaml", cwd=folder)
    (folder / "identified.new.yaml").rename(folder / "identified.yaml")


def combined(folder: Path) -> None:
    """World files with the identified gains and some of the matched looks; and with all of them, but the camera as it
    truly is, which nobody knows in a real laboratory."""
    fitted, seen = (yaml.safe_load((folder / f"{name}.yaml").read_text()) for name in ("identified", "looks"))
    for name, uses in LOOKS.items():
        transforms = [transform for transform in seen["transforms"] if transform["use"] in uses]
        world = {**fitted, "name": name, "transforms": transforms}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(world, sort_keys=False))
    truth = yaml.safe_load((folder / "lab.yaml").read_text())["transforms"]
    (camera,) = (transform for transform in truth if transform["use"] == "camera")
    transforms = [camera if transform["use"] == "camera" else transform for transform in seen["transforms"]]
    world = {**fitted, "name": "true_camera", "transforms": transforms}
    (folder / "true_camera.yaml").write_text(yaml.safe_dump(world, sort_keys=False))


def run(name: str, folder: Path, small: bool = False) -> None:
    """A study of studies/, which are about the folder `matched`; of another folder, with the names of that one."""
    path = ROOT / "studies" / f"matched_{name}.yaml"
    if folder.name != "matched":
        study = yaml.safe_load(path.read_text().replace("../runs/matched/", ""))
        study["name"] = f"{folder.name}_{name}"
        if small and name != "motion":
            from matched_policies import SMALL

            study["policies"] = {policy: study["policies"][policy] for policy in SMALL}
            study["scenarios"] = {"layouts": LAYOUTS}
        path = folder / f"{name}_study.yaml"
        path.write_text(yaml.safe_dump(study, sort_keys=False))
    foretell("run", str(path.relative_to(ROOT)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laboratory", choices=tuple(LABORATORIES), default="far")
    parser.add_argument("--small", action="store_true", help="a small study, in folders of its own")
    parser.add_argument("--only", choices=STEPS, nargs="+", default=STEPS)
    asked = parser.parse_args()
    laboratory = LABORATORIES[asked.laboratory]
    folder = (
        ROOT
        / "runs"
        / "-".join(["matched", *[asked.laboratory] * (asked.laboratory != "far"), *["small"] * asked.small])
    )
    folder.mkdir(parents=True, exist_ok=True)
    lab = write_lab(laboratory, folder)
    if "policies" in asked.only:
        from matched_policies import make_policies

        make_policies(lab, laboratory.camera, folder, asked.small)
    if "looks" in asked.only:
        looks(laboratory, folder)
    if "gains" in asked.only:
        gains(folder)
    if "runs" in asked.only:
        combined(folder)
        for name in FEW if asked.small else STUDIES:
            run(name, folder, asked.small)
    if "tables" in asked.only:
        from matched_tables import print_tables

        print_tables(folder)


if __name__ == "__main__":
    main()
