"""Your own policy: a class with `spec` and `act`. Run it as an object, and by name from a study file.

A study file is what to keep: its workers load this file by itself, so a crash or a hang costs one episode only.
"""

from pathlib import Path

import numpy as np

import foretell
from foretell import Policy, PolicySpec, Stream
from foretell.answers.show import table


class Pick(Policy):
    """Above the cube, down, close, up. It keeps no memory: what it sees tells it where it is."""

    spec = PolicySpec(
        reads={
            "panda/ee_pos": Stream((3,)),
            "panda/gripper": Stream((1,), history=2),  # the driver keeps the last two for us: (n, 2, 1)
            "cube/pos": Stream((3,)),
        },
        batch=None,  # any number of slots at once, because rows do not mix
    )

    def __init__(self, patient: bool = True):
        self.patient = patient  # wait for the fingers before going up

    def act(self, slots, observations):
        gap = observations["cube/pos"] - observations["panda/ee_pos"]
        before, now = observations["panda/gripper"][:, 0, 0], observations["panda/gripper"][:, 1, 0]
        aside = np.linalg.norm(gap[:, :2], axis=1) > 0.015
        there = ~aside & (np.abs(gap[:, 2]) < 0.01)
        stopped = (now < 0.07) & (before - now < 0.0005)
        held = there & stopped if self.patient else there
        gap[:, 2] += np.where(held, 0.10, np.where(aside, 0.06, 0.0))

        actions = np.zeros((len(slots), 7))  # translation, rotation, gripper
        actions[:, :3] = np.clip(gap / 0.05, -0.5, 0.5)  # 1 is 5 cm
        actions[:, 6] = np.where(there, 1, -1)
        return actions


STUDY = f"""
name: pick
tasks: [lift]
policies:
  patient: {{use: "{Path(__file__).resolve()}:Pick"}}
  hasty: {{use: "{Path(__file__).resolve()}:Pick", patient: false}}
scenarios: {{count: 30}}
"""

if __name__ == "__main__":  # this file is also loaded by the workers, for the class
    objects = {"patient": Pick(), "hasty": Pick(patient=False)}
    here = foretell.run({"name": "pick-here", "tasks": ["lift"], "scenarios": {"count": 30}}, policies=objects)

    Path("pick.yaml").write_text(STUDY)
    there = foretell.run("pick.yaml")
    table(foretell.show(there.path))

    columns = ["policy", "scenario", "success", "steps", "stages"]
    same = foretell.read(here.path).select(columns) == foretell.read(there.path).select(columns)
    print(f"as objects in this process and by name in workers: {'the same' if same else 'other'} rows")
