"""Whether actuators measure their joints as the groups of a robot declare it."""

from __future__ import annotations

import mujoco
import numpy as np

from foretell.errors import UsageError
from foretell.robots.robot import Robot

__all__ = ["check_transmission"]


def check_transmission(robot: Robot) -> None:
    """Raise UsageError where a target that equals the declared position of a group would move it: its joints would not
    hold their start. A position servo must measure its joint, or the mean of all joints of the group."""
    model = robot.spec(visuals=False).compile()
    data = mujoco.MjData(model)
    for name, group in robot.groups.items():
        where = f"robot {robot.name!r}: group {name!r}"
        if group.width not in (1, len(group.joints)):
            raise UsageError(
                f"{where} has {group.width} actuators for {len(group.joints)} joints; it needs one for each joint or "
                "one for all: split the group"
            )
        servos = [motor for motor in group.motors if model.actuator(motor).biasprm[1] < 0]
        for share in (0.25, 0.75) if len(servos) == group.width else ():
            # joints that one actuator moves stand at different places, so that its weight of each shows
            shares = np.linspace(share, 1 - share, len(group.joints))
            joints = np.add(group.low, shares * np.subtract(group.high, group.low))
            data.qpos[[model.joint(joint).qposadr[0] for joint in group.joints]] = joints
            mujoco.mj_fwdPosition(model, data)
            measured = group.measured(joints[None])[0]
            for motor, declared in zip(group.motors, measured.tolist(), strict=True):
                length = float(data.actuator_length[model.actuator(motor).id])
                if not np.isclose(length, declared, rtol=1e-6, atol=1e-9):
                    what = "its joint" if group.width == len(group.joints) else "the mean of its joints"
                    raise UsageError(
                        f"{where}: actuator {motor!r} measures {length:.4g} where {what} is {declared:.4g}, so the "
                        "group would not hold its start: set its gear to 1, and the coefficients of its tendon to 1 "
                        "over the number of joints"
                    )
