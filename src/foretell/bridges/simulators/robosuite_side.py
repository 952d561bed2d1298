"""The side of robosuite that runs where robosuite is. numpy, MuJoCo and robosuite only.

Physics runs as in `env.step`, one tick at a time: the controllers take a new goal at the first tick of an action, and
keep it until the next one.
"""

from __future__ import annotations

from typing import Any

import mujoco  # type: ignore[import-not-found, unused-ignore]
import numpy as np

__all__ = ["RobosuiteSide"]

TIPS = 0.1034
"""From the hand to the point between the finger tips, m: the Panda's own number."""
OPEN = (0.04, -0.04)
"""Fingers wide open, m."""
OWN_LIMIT_S = 50.0
"""robosuite's own default: 1000 actions, 20 in a second."""
HALF_CUBE = 0.021
"""Half the side of the cube in Lift, m."""


class RobosuiteSide:
    """One environment of robosuite."""

    def __init__(self, options: dict[str, Any]):
        """options: env, robots, object (name, body, joint), origin; the last two are of foretell's tasks only."""
        import robosuite  # type: ignore[import-not-found, unused-ignore]
        from robosuite.utils.log_utils import (  # type: ignore[import-not-found, unused-ignore]
            ROBOSUITE_DEFAULT_LOGGER,
        )

        ROBOSUITE_DEFAULT_LOGGER.setLevel("ERROR")
        self.options: dict[str, Any] = options
        self.object: dict[str, Any] = options.get("object") or {}
        self.origin = np.asarray(options.get("origin", (0.0, 0.0, 0.0)))
        kinds = robosuite.ALL_ENVIRONMENTS
        if options["env"] not in kinds:
            raise KeyError(f"robosuite has no environment {options['env']!r}; it has {', '.join(sorted(kinds))}")
        robots = options.get("robots") or (["Panda", "Panda"] if options["env"].startswith("TwoArm") else ["Panda"])
        self.env = robosuite.make(
            options["env"],
            robots=robots,
            has_renderer=False,
            has_offscreen_renderer=False,
            use_camera_obs=False,
            control_freq=options["action_rate"],
            initialization_noise=None,
            ignore_done=True,
            seed=0,
        )
        self.env.reset()
        self.env.step(self._still())  # compiles what an action needs, which takes long the first time
        self.action, self.fresh, self.solved = self._still(), True, False

    def describe(self) -> dict[str, Any]:
        """What this environment is like."""
        low, high = self.env.action_spec
        numbers = [*self._ours()] if self.object else [*self._theirs()]
        shapes = {name: list(np.shape(value)) for name, value in self.observe(numbers).items()}
        return {
            "features": shapes,
            "low": np.asarray(low, dtype=float).tolist(),
            "high": np.asarray(high, dtype=float).tolist(),
            "tick": float(self.env.model_timestep),
            "limit": None if self.object else round(OWN_LIMIT_S / self.env.model_timestep),
            "cameras": list(self.env.sim.model.camera_names),
        }

    def reset(
        self, seed: int, placements: dict[str, Any], start: dict[str, Any], factors: dict[str, Any], **more: Any
    ) -> None:
        """Start an episode. What a scenario does not place is robosuite's to draw, from the seed."""
        self.env.rng = np.random.default_rng(seed)
        np.random.seed(seed & 0xFFFFFFFF)
        if "panda" in start:
            self.env.robot_configs[0]["initial_qpos"] = np.asarray(start["panda"], dtype=float)
        with self._sized(placements):
            self.env.reset()
        for name, value in factors.items():
            FACTORS[name](self, value)
        if self.object:
            mujoco.mj_setConst(self._model, self._data)  # after another mass
            self.env.sim.reset()
            self._place(placements)
        self.action, self.fresh, self.solved = self._still(), True, False
        if not self.object:
            self.solved = bool(self.env._check_success())

    def observe(self, names: list[str]) -> dict[str, Any]:
        """Numbers by name."""
        known = self._ours() if self.object else self._theirs()
        return {name: np.ascontiguousarray(known[name], dtype=np.float64) for name in names}

    def command(self, action: Any, ticks: int) -> None:
        """The action from now on."""
        self.action, self.fresh = np.asarray(action, dtype=float), True

    def advance(self, ticks: int) -> dict[str, Any]:
        """Let physics run. Returns how the episode stands."""
        env = self.env
        for _ in range(ticks):
            env.sim.step1()
            env._pre_action(self.action, self.fresh)
            env.sim.step2()
            self.fresh = False
        if not np.isfinite(self._data.qpos).all():
            return {"solved": False, "over": True, "fault": "physics diverged in robosuite"}
        self.solved = bool(env._check_success())
        return {"solved": self.solved, "over": False, **self._state()}

    def picture(self, camera: str, height: int, width: int) -> Any:
        """(height, width, 3) what a camera sees."""
        if self.env.sim._render_context_offscreen is None:
            from robosuite.utils.binding_utils import (  # type: ignore[import-not-found, unused-ignore]
                MjRenderContextOffscreen,
            )

            MjRenderContextOffscreen(self.env.sim, device_id=-1)
        frame = self.env.sim.render(camera_name=camera, height=height, width=width)
        return np.ascontiguousarray(np.asarray(frame)[::-1], dtype=np.uint8)

    def close(self) -> None:
        """Give the environment back."""
        self.env.close()

    # -- what is seen -----------------------------------------------------------------------------------------

    @property
    def _model(self) -> Any:
        return self.env.sim.model._model

    @property
    def _data(self) -> Any:
        return self.env.sim.data._data

    def _ours(self) -> dict[str, Any]:
        """By the names of foretell's own tasks, in the frame of the task."""
        robot, data, name = self.env.robots[0], self._data, self.object["name"]
        model = self.env.sim.model
        body, hand = model.body_name2id(self.object["body"]), model.body_name2id("robot0_right_hand")
        arm, fingers = robot._ref_joint_pos_indexes, robot._ref_gripper_joint_pos_indexes["right"]
        tips = data.xpos[hand] + data.xmat[hand].reshape(3, 3) @ np.array([0.0, 0.0, TIPS])
        return {
            "panda/joint_pos": data.qpos[arm],
            "panda/joint_vel": data.qvel[robot._ref_joint_vel_indexes],
            "panda/ee_pos": tips - self.origin,
            "panda/ee_quat": data.xquat[hand].copy(),
            "panda/gripper": np.array([data.qpos[fingers[0]] - data.qpos[fingers[1]]]),
            f"{name}/pos": data.xpos[body] - self.origin,
            f"{name}/quat": data.xquat[body].copy(),
            f"{name}/size": np.ones(1),
        }

    def _theirs(self) -> dict[str, Any]:
        """By robosuite's names."""
        seen = self.env._get_observations(force_update=True)
        return {f"env/{name}": np.atleast_1d(np.asarray(value, dtype=np.float64)) for name, value in seen.items()}

    def _state(self) -> dict[str, Any]:
        """What foretell's task judges its stages by."""
        if not self.object:
            return {}
        seen, name = self._ours(), self.object["name"]
        held = self.env._check_grasp(self.env.robots[0].gripper["right"], self._contact_geoms())
        return {
            "pos": seen[f"{name}/pos"],
            "quat": seen[f"{name}/quat"],
            "ee": seen["panda/ee_pos"],
            "held": bool(held),
        }

    # -- how an episode starts ----------------------------------------------------------------------------------

    def _still(self) -> Any:
        """The action before the first one: every hand stays where it is, and open."""
        action = np.zeros(len(self.env.action_spec[0]))
        for robot, (start, _) in zip(self.env.robots, self._spans(), strict=True):
            for arm in robot.arms:
                span = robot.composite_controller._action_split_indexes.get(f"{arm}_gripper")
                if span is not None:
                    action[start + span[0] : start + span[1]] = -1.0
        return action

    def _spans(self) -> list[tuple[int, int]]:
        ends = np.cumsum([robot.action_dim for robot in self.env.robots]).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    def _place(self, placements: dict[str, Any]) -> None:
        """Put the object where the scenario has it, and open the hand."""
        sim, robot = self.env.sim, self.env.robots[0]
        placed = placements[self.object["name"]]
        pose = np.concatenate([np.asarray(placed["pos"]) + self.origin, placed["quat"]])
        sim.data.set_joint_qpos(self.object["joint"], pose)
        robot.set_robot_joint_positions(robot.init_qpos)
        self._data.qpos[robot._ref_gripper_joint_pos_indexes["right"]] = OPEN
        robot.gripper["right"].current_action = np.array([1.0, -1.0])
        sim.forward()
        robot.composite_controller.update_state()
        robot.composite_controller.reset()

    def _sized(self, placements: dict[str, Any]) -> Any:
        """While the model is built: the cube has the scenario's size."""
        return _CubeOf(np.asarray(placements["cube"]["scale"]) * HALF_CUBE if "cube" in placements else None)

    # -- factors ------------------------------------------------------------------------------------------------

    def _geoms(self) -> list[int]:
        """Geoms of the object that is handled, seen ones too."""
        body = self.env.sim.model.body_name2id(self.object["body"])
        return [int(g) for g in np.flatnonzero(self._model.geom_bodyid == body)]

    def _contact_geoms(self) -> list[str]:
        return [
            self.env.sim.model.geom_id2name(g)
            for g in self._geoms()
            if self._model.geom_contype[g] and self.env.sim.model.geom_id2name(g)
        ]

    def _mass(self, ratio: float) -> None:
        body = self.env.sim.model.body_name2id(self.object["body"])
        self._model.body_mass[body] *= ratio
        self._model.body_inertia[body] *= ratio

    def _friction(self, ratio: float) -> None:
        pads = self.env.robots[0].gripper["right"].important_geoms
        names = [*pads["left_fingerpad"], *pads["right_fingerpad"]]
        geoms = [*self._geoms(), *(self.env.sim.model.geom_name2id(n) for n in names)]
        self._model.geom_friction[geoms, 0] *= ratio

    def _colour(self, value: dict[str, Any]) -> None:
        for geom in self._geoms():
            rgba = self._model.geom_rgba[geom]
            rgba[:3] += value["mix"] * (np.asarray(value["rgb"]) - rgba[:3])
            if value["mix"] > 0:
                self._model.geom_matid[geom] = -1

    def _light(self, gain: list[float]) -> None:
        head = self._model.vis.headlight
        for light in (self._model.light_diffuse, self._model.light_specular):
            light *= np.asarray(gain)
        head.diffuse[:] *= gain
        head.specular[:] *= gain

    def _camera(self, value: dict[str, Any]) -> None:
        moved = value["front"]  # foretell's camera on the far side of the table; here two are
        for name in ("frontview", "agentview"):
            camera = self.env.sim.model.camera_name2id(name)
            self._model.cam_pos[camera] += moved["pos"]
            turned, turn = np.zeros(4), np.asarray(moved["turn"], dtype=float)
            angle = float(np.linalg.norm(turn))
            if angle > 0:
                mujoco.mju_axisAngle2Quat(turned, turn / angle, angle)
                now = self._model.cam_quat[camera].copy()
                mujoco.mju_mulQuat(self._model.cam_quat[camera], now, turned)


FACTORS: dict[str, Any] = {
    "Object_Mass": RobosuiteSide._mass,
    "Object_Friction": RobosuiteSide._friction,
    "MO_Color": RobosuiteSide._colour,
    "Light_Color": RobosuiteSide._light,
    "Camera_Pose": RobosuiteSide._camera,
}


class _CubeOf:
    """While it is entered, Lift builds its cube with this half size (m); None: with one that it draws."""

    def __init__(self, half: Any):
        from robosuite.environments.manipulation import lift  # type: ignore[import-not-found, unused-ignore]

        self.module, self.made, self.half = lift, lift.BoxObject, half

    def __enter__(self) -> None:
        if self.half is not None:
            half = self.half.tolist()
            self.module.BoxObject = lambda **given: self.made(**{**given, "size_min": half, "size_max": half})

    def __exit__(self, *_: Any) -> None:
        self.module.BoxObject = self.made
