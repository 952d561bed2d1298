"""Watch: a video of an episode, written while it runs, and a picture of what the wrist camera sees.

Needs OpenGL (`foretell doctor` says whether it works here) and PyAV (`pip install 'foretell[video]'`).
"""

from pathlib import Path

import numpy as np

import foretell
from foretell.rollout.video import require_encoder
from foretell.sim import MujocoWorld
from foretell.tasks.can import Can

av = require_encoder()  # says what to install if PyAV is missing

study = {
    "name": "watch",
    "tasks": ["lift"],
    "policies": ["expert"],
    "scenarios": {"count": 2},
    "record": {"video": 1},  # one of each task and policy, of a failure if there is one
}
run = foretell.run(study)
for row in foretell.read(run.path).to_pylist():
    if row["video"]:
        with av.open(run.path / row["video"]) as film:
            frames = sum(1 for _ in film.decode(video=0))
        print(f"{row['policy']} on {row['task']}, {row['end']}: {frames} frames in {run.path / row['video']}")

world, task, slots = MujocoWorld(Can(), slots=1), Can(), np.array([0])
world.reset(slots, [task.scenario(seed=3)], trials=[0])
for name in ("front", "panda/wrist"):
    image = world.picture(0, name, height=480, width=640)
    file = Path(f"{name.replace('/', '-')}.png")
    av.VideoFrame.from_ndarray(image, format="rgb24").save(file)
    print(f"{file}: {image.shape[1]} x {image.shape[0]}, mean brightness {image.mean():.0f} of 255")
