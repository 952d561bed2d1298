"""vla-eval runs foretell's tasks; run with the Python of an environment that has both: FOLDER. Prints what it found."""

import json
import sys

import numpy as np
from vla_eval.api import evaluate
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.specs import GRIPPER_CLOSE_POS, LANGUAGE, POSITION_DELTA, ROTATION_AA


class Follow(PredictModelServer):
    """A scripted pick: over the cube, down, close, up."""

    async def on_episode_start(self, config, ctx):
        await super().on_episode_start(config, ctx)
        self.held = 0

    def get_action_spec(self):
        return {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_POS}

    def get_observation_spec(self):
        return {"language": LANGUAGE}

    def predict(self, obs, ctx):
        hand, cube = obs["states"][:3], obs["states"][3:6]
        action = np.zeros(7)
        off = cube - hand
        near = np.abs(off[:2]).max() < 0.01
        if near and off[2] > -0.012:
            self.held += 1
        target = off + [0, 0, 0 if near else 0.08]
        action[:3] = np.clip(target / 0.05, -0.6, 0.6) if self.held < 6 else [0, 0, 0.5]
        action[6] = 1.0 if self.held else -1.0
        return {"actions": action}


config = {
    "output_dir": sys.argv[1],
    "benchmarks": [
        {
            "benchmark": "foretell.serving.vla_benchmark:ForetellBenchmark",
            "name": "foretell",
            "episodes_per_task": 3,
            "params": {
                "tasks": ["lift"],
                "observation": {"states": ["panda/ee_pos", "cube/pos"], "task_description": "instruction"},
            },
        }
    ],
}
results = evaluate(Follow(), config, docker=False)
print(json.dumps(results, default=str))
