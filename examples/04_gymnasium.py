"""The tasks as Gymnasium environments: one at a time, and a native vector of them."""

import gymnasium
import numpy as np

import foretell
from foretell.policies.expert import NoisyExpert

print(f"foretell {foretell.__version__} registered", *(i for i in gymnasium.registry if i.startswith("foretell/")))
env = gymnasium.make("foretell/Can-v2")
seen, info = env.reset(seed=7)  # the scenario that a study calls seed 7
print(f"the can stands at {np.round(seen['can/pos'], 3)} m; an action has {env.action_space.shape[0]} numbers")
seen, reward, terminated, truncated, info = env.step(env.action_space.sample())
env.close()

envs = gymnasium.make_vec("foretell/Lift-v2", num_envs=16)
slots, policy = np.arange(16), NoisyExpert(noise=0.3)
policy.bind(envs.unwrapped.task, envs.unwrapped.world.action)
seen, info = envs.reset(seed=0)  # environment i runs the scenario of seed i
policy.reset(slots, [""] * 16, list(range(16)))
solved_at = np.full(16, -1)
for step in range(120):
    seen, rewards, terminated, truncated, info = envs.step(policy.act(slots, seen))
    solved_at[(solved_at < 0) & info["is_success"]] = step + 1
envs.close()
print(f"{(solved_at > 0).sum()} of 16 solved within 6 s, the first after {solved_at[solved_at > 0].min()} actions")
