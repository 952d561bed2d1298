"""A PyTorch policy: teach a small network, save its weights, and evaluate it as a study does.

It needs PyTorch (`pip install torch`). A study says `use: 07_torch_policy.py:Network`, with the option `weights`.
"""

import sys
from pathlib import Path

import gymnasium
import numpy as np

import foretell
from foretell import Policy, PolicySpec, Stream
from foretell.answers.show import table

try:
    import torch
except ImportError:
    sys.exit("this example needs PyTorch: pip install torch")

torch.set_num_threads(1)  # workers run side by side, and one thread gives the same bits everywhere


def features(hand, cube, before, now):
    """(n, 8): from the hand to the cube, coarse and fine, and the gripper's width before and now. All are brought to
    about -1 to 1, because networks learn little from millimetres in metres."""
    gap = cube - hand
    parts = [gap / 0.1, np.tanh(gap / 0.015), before / 0.04 - 1, (before - now) / 0.01]
    return torch.as_tensor(np.concatenate(parts, axis=1), dtype=torch.float32)


def network():
    layer = torch.nn.Linear
    return torch.nn.Sequential(layer(8, 128), torch.nn.ReLU(), layer(128, 128), torch.nn.ReLU(), layer(128, 4))


class Network(Policy):
    """The network as a policy. The file of weights is part of its identity: other weights are another policy."""

    spec = PolicySpec(
        reads={"panda/ee_pos": Stream((3,)), "cube/pos": Stream((3,)), "panda/gripper": Stream((1,), history=2)},
        batch=16,  # networks give other bits at other batch sizes, so it is always called with 16 slots
    )

    def __init__(self, weights: str = "network.pt"):
        self.net = network()
        self.net.load_state_dict(torch.load(weights, weights_only=True))
        self.net.eval()

    @torch.inference_mode()
    def act(self, slots, observations):
        gripper = observations["panda/gripper"]
        seen = features(observations["panda/ee_pos"], observations["cube/pos"], gripper[:, 0], gripper[:, 1])
        moves = self.net(seen).clamp(-1, 1).double().numpy()
        actions = np.zeros((len(slots), 7))  # translation, rotation, gripper
        actions[:, :3], actions[:, 6] = moves[:, :3], moves[:, 3]
        return actions


def teacher(hand, cube, before, now):
    """(n, 4) translation and gripper: above the cube, down, close, and up once the fingers have stopped."""
    gap = cube - hand
    aside = np.linalg.norm(gap[:, :2], axis=1) > 0.015
    there = ~aside & (np.abs(gap[:, 2]) < 0.01)
    held = there & (now[:, 0] < 0.07) & (before[:, 0] - now[:, 0] < 0.0005)
    gap[:, 2] += np.where(held, 0.10, np.where(aside, 0.06, 0.0))
    return np.column_stack([np.clip(gap / 0.05, -0.5, 0.5), np.where(there, 1.0, -1.0)])


def demonstrate(episodes=100, steps=60, push=0.2):
    """What the teacher sees and does. It is pushed off its way at random, so that the network sees how to come back."""
    rng = np.random.default_rng(0)
    envs = gymnasium.make_vec("foretell/Lift-v2", num_envs=episodes)
    seen, _ = envs.reset(seed=10_000)  # far from the scenarios of the study
    before, saw, did = seen["panda/gripper"], [], []
    for _ in range(steps):
        state = seen["panda/ee_pos"], seen["cube/pos"], before, seen["panda/gripper"]
        wanted = teacher(*state)
        saw.append(features(*state))
        did.append(torch.as_tensor(wanted, dtype=torch.float32))
        actions = np.zeros((episodes, 7))
        actions[:, :3] = wanted[:, :3] + push * rng.standard_normal((episodes, 3)) * (rng.random((episodes, 1)) < 0.3)
        actions[:, 6] = wanted[:, 3]
        before = seen["panda/gripper"]
        seen, *_ = envs.step(actions)
    envs.close()
    return torch.cat(saw), torch.cat(did)


def train(saw, did, steps=3000):
    torch.manual_seed(0)
    net = network()
    best = torch.optim.Adam(net.parameters(), lr=2e-3)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(best, steps)
    for _ in range(steps):
        some = torch.randint(len(saw), (256,))
        loss = torch.nn.functional.smooth_l1_loss(net(saw[some]), did[some])
        best.zero_grad()
        loss.backward()
        best.step()
        falling.step()
    return net, float(loss.detach())


if __name__ == "__main__":  # this file is also loaded by the workers, for the class
    saw, did = demonstrate()
    net, loss = train(saw, did)
    torch.save(net.state_dict(), "network.pt")
    print(f"trained on {len(saw)} actions; the last loss is {loss:.4f}")

    use = {"use": f"{Path(__file__).resolve()}:Network", "weights": str(Path("network.pt").resolve())}
    done = foretell.run({"name": "torch", "tasks": ["lift"], "policies": {"network": use}, "scenarios": {"count": 20}})
    table(foretell.show(done.path))
