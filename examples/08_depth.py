"""A policy that sees depth and segmentation: it finds the cube in a point cloud, and is told no position.

The camera's lens turns each pixel of depth into a point; the segmentation says which of these points are the cube's.
"""

from pathlib import Path

import numpy as np

import foretell
from foretell import Policy, PolicySpec, Stream
from foretell.answers.show import table
from foretell.camera import point_cloud

HEIGHT, WIDTH = 120, 160


class Seek(Policy):
    """Above the cube, down, close, up. It sees where the cube is, and remembers it when the hand hides it."""

    spec = PolicySpec(
        reads={
            "front/depth": Stream((HEIGHT, WIDTH, 1)),  # float32, m along the lens's axis; 0: nothing there
            "front/segmentation": Stream((HEIGHT, WIDTH, 1)),  # int32, ids of parts
            "panda/ee_pos": Stream((3,)),
            "panda/gripper": Stream((1,), history=2),
        },
        batch=None,
    )

    def bind(self, task, action):
        self.camera = task.cameras["front"]
        self.lens = self.camera.lens(HEIGHT, WIDTH)

    def inform(self, features):
        self.cube = features["front/segmentation"].legend.index("cube")

    def reset(self, slots, instructions, seeds):
        self.spots = getattr(self, "spots", {}) | {int(slot): np.zeros(3) for slot in slots}

    def find(self, depth, parts):
        """(3,) the middle of the cube, from the points of its upper face."""
        points = self.camera.in_task_frame(point_cloud(depth, self.lens)[parts[..., 0] == self.cube])
        height = points[:, 2].max()
        face = points[points[:, 2] > height - 0.003, :2]
        return np.array([*(face.min(axis=0) + face.max(axis=0)) / 2, height - 0.021])

    def act(self, slots, observations):
        hand = observations["panda/ee_pos"]
        for row, slot in enumerate(slots.tolist()):
            if hand[row, 2] > 0.12:  # lower down, the hand hides the cube
                self.spots[slot] = self.find(observations["front/depth"][row], observations["front/segmentation"][row])
        gap = np.array([self.spots[slot] for slot in slots.tolist()]) - hand
        before, now = observations["panda/gripper"][:, 0, 0], observations["panda/gripper"][:, 1, 0]
        aside = np.linalg.norm(gap[:, :2], axis=1) > 0.015
        there = ~aside & (np.abs(gap[:, 2]) < 0.01)
        held = (now < 0.07) & (before - now < 0.0005)
        gap[:, 2] += np.where(held, 0.10, np.where(aside, 0.06, 0.0))

        actions = np.zeros((len(slots), 7))  # translation, rotation, gripper
        actions[:, :3] = np.clip(gap / 0.05, -0.5, 0.5)  # 1 is 5 cm
        actions[:, 6] = np.where(there | (now < 0.07), 1, -1)
        return actions


STUDY = f"""
name: depth
tasks: [lift]
policies: {{seek: "{Path(__file__).resolve()}:Seek"}}
scenarios: {{count: 8}}
"""

if __name__ == "__main__":  # this file is also loaded by the workers, for the class
    Path("depth.yaml").write_text(STUDY)
    table(foretell.show(foretell.run("depth.yaml").path))
