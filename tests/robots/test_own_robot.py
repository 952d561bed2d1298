"""Robots that are not like ours: bases, heads, coupled joints, several grippers."""

from __future__ import annotations

from typing import Any

import mujoco
import pytest

from foretell.robots import Group, Panda
from foretell.sim.bench import Bench
from foretell.tasks import Mount
from foretell.tasks.lift import Lift

HINGE, SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE


def lift(robot: str, **more: Any) -> Any:
    """Lift with a robot of this file."""
    mount = Mount(f"{__name__}:{robot}", (-0.56, 0.0, 0.112))
    return type(f"Lift{robot}", (Lift,), {"robots": {"panda": mount}, **more})()


class Rover(Panda):
    """A Panda on a base that rolls."""

    name = "rover"
    base: dict[str, Any] = {"home": (0, 0, 0), "low": (-0.5, -0.5, -1.5), "high": (0.5, 0.5, 1.5)}
    groups = {**Panda.groups, "base": Group(joints=("bx", "by", "bt"), speed=(0.3, 0.3, 0.5), **base)}

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = super().spec(visuals)
        foot = spec.worldbody.first_body()
        for name, kind, axis in (("bx", SLIDE, [1, 0, 0]), ("by", SLIDE, [0, 1, 0]), ("bt", HINGE, [0, 0, 1])):
            foot.add_joint(name=name, type=kind, axis=axis, armature=1, damping=[50, 0, 0])
            motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_position(kp=20000, kv=2000)
        return spec


@pytest.mark.parametrize("world", ["standin", {"name": "late", "theta": {"sensor_delay": 0.02}}])
def test_the_tool_of_an_arm_on_a_base_is_seen_where_it_is(world: Any) -> None:
    bench = Bench(lift("Rover"), world=world)
    bench.set(**{"panda/base": (0.3, 0.2, 0.5)})
    bench.run(0.2)
    seen = bench.see("panda/ee_pos", "panda/ee_quat")
    assert seen["panda/ee_pos"] == pytest.approx(bench.state.ee_pos("panda")[0], abs=0.005)
    hand = bench.state.quat("panda/ee")[0]
    assert abs(seen["panda/ee_quat"] @ hand) == pytest.approx(1, abs=1e-4)
