"""A model server of vla-eval; run with the Python of its environment: PORT STATED. Serves until it is killed.

It moves as its state says, so that what came over the wire comes back; a state above 9 makes it raise.
"""

import sys

import numpy as np
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve
from vla_eval.specs import GRIPPER_CLOSE_NEG, GRIPPER_CLOSE_POS, IMAGE_RGB, LANGUAGE, POSITION_DELTA, ROTATION_AA


class Echo(PredictModelServer):
    def __init__(self, gripper):
        super().__init__(chunk_size=None)
        self.gripper = gripper

    def get_action_spec(self):
        return {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": self.gripper}

    def get_observation_spec(self):
        return {"image": IMAGE_RGB, "language": LANGUAGE}

    def predict(self, obs, ctx):
        state = np.asarray(obs["states"])
        if state.max() > 9:
            raise ValueError("a state out of range")
        actions = np.zeros((4, 7), dtype=np.float32)
        actions[:, :3] = state[:3]
        actions[:, 6] = ctx.step  # it counts the questions of an episode
        assert isinstance(obs["task_description"], str)
        return {"actions": actions}


serve(Echo(GRIPPER_CLOSE_NEG if sys.argv[2] == "negative" else GRIPPER_CLOSE_POS), "127.0.0.1", int(sys.argv[1]))
