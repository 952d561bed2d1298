"""A policy that LeRobot trained on foretell's demonstrations: how often does it succeed here?

    python benchmarks/lerobot_policy.py --env path/to/lerobot      # about five minutes on one core

The scripted expert shows `lift` (disturbed now and then, as for the zoo), LeRobot's own ACT is trained on that in its
own environment (lerobot_side.py), written as LeRobot writes it, and runs in a study as `lerobot:FOLDER`. Scenarios of
the study are none of the demonstrated ones.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

import foretell
from foretell.train.demos import record

MAPPING = {
    "observation.state": ["panda/ee_pos", "panda/ee_quat", "panda/gripper"],
    "observation.environment_state": ["cube/pos", "cube/quat"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, required=True, help="a virtual environment with lerobot")
    parser.add_argument("--out", type=Path, default=Path("runs/lerobot"))
    parser.add_argument("--demos", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--scenarios", type=int, default=100)
    given = parser.parse_args()
    folder = given.out / f"act_{given.demos}_{given.seconds:g}"
    if not (folder / "config.json").is_file():
        began = time.process_time()
        demos = given.out / f"demos_{given.demos}.npz"
        shown = record("lift", given.demos)
        shown.save(demos)
        print(f"{shown.count} demonstrations, {len(shown.states)} steps, {time.process_time() - began:.0f} CPU s")
        side = Path(__file__).with_name("lerobot_side.py")
        command = [given.env / "bin" / "python", side, "train", demos, folder, "--seconds", str(given.seconds)]
        subprocess.run(command, check=True)
    policy = {"use": f"lerobot:{folder}", "env": str(given.env), "action": "ee_delta", "action_rate": 20}
    study = {
        "name": "lerobot",
        "tasks": ["lift"],
        "policies": {"act": {**policy, "observation": MAPPING}, "zoo:bc": "zoo:bc"},
        "scenarios": {"count": given.scenarios, "seed": 0},
    }
    done = foretell.run(study, out=given.out / f"run_{given.scenarios}_{given.seconds:g}", workers=0)
    for row in foretell.show(done.path):
        print(f"{row['policy']:7} {row['rate']:.0%}, between {row['low']:.0%} and {row['high']:.0%}")


if __name__ == "__main__":
    main()
