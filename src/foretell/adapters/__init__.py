"""Adapters: wrappers that translate between a policy's conventions and those of a robot.

    adapt(MyPolicy(), "bridge")
    adapt(MyPolicy(), [{"unnormalise": "statistics.json"}, {"rotation": "euler_xyz"}, {"sticky_gripper": 15}])

The list goes from the policy outwards: an action passes it from the first to the last, an observation from the last to
the first. See docs/adapters.md.
"""

from __future__ import annotations

from foretell.adapters.adapt import adapt, chain, entries, unwrapped
from foretell.adapters.adapter import Adapter, PartAdapter

__all__ = ["Adapter", "PartAdapter", "adapt", "chain", "entries", "unwrapped"]
