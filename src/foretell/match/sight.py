"""What a camera of a world sees of one object, wherever that stands."""

from __future__ import annotations

from copy import copy
from typing import Any, Literal

import mujoco
import numpy as np

from foretell.arrays import Bools, Bytes, Floats, Ints
from foretell.errors import UsageError, suggest
from foretell.reality.nominal import nominal
from foretell.rotation import from_yaw, multiply
from foretell.scenario import Scenario
from foretell.sim.bench import Bench
from foretell.sim.render import View, shared_renderer
from foretell.sim.scene import lens_of
from foretell.tasks.task import Task

__all__ = ["Sight", "layout_of", "open_bench", "require_movable", "require_shape", "view_of"]

GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)
SLACK = 0.02
"""m by which what is under an object may be lower than under the scenario's place of it."""


def layout_of(task: Task, number: int | None) -> Scenario:
    """A published layout of a task, or the middle of where it puts its objects."""
    if number is None:
        return nominal(task)
    layouts = task.layouts()
    if not 0 <= number < len(layouts):
        raise UsageError(f"layout: {number}; task {task.name!r} has {len(layouts)} layouts, counted from 0")
    return layouts[number]


def open_bench(task: Task, world: Any, camera: str, scenario: Scenario) -> Bench:
    """A scenario of a task, under one's hands. Raises UsageError where the world has no such camera."""
    bench = Bench(task, scenario=scenario, world=world)
    if camera not in bench.world.cameras:
        raise UsageError(f"camera: {camera!r:.100} is not in this world; {suggest(camera, bench.world.cameras)}")
    return bench


def require_shape(bench: Bench, camera: str, size: tuple[int, int], what: str) -> None:
    """Raises UsageError where a picture of a size (height, width) has another shape than those of the camera."""
    model, eye = bench.drawn, bench.drawn.camera(camera).id
    height, width = size
    across, up = model.cam_resolution[eye].tolist()
    if model.cam_sensorsize[eye][1] > 0 and abs(width * up / (height * across) - 1) > 0.01:
        raise UsageError(
            f"{what} has {width}x{height} pixels, and camera {camera!r} takes {across}x{up}: another shape, so it is "
            "not a picture of this camera, or it was cut"
        )


def view_of(
    bench: Bench, camera: str, size: tuple[int, int], model: mujoco.MjModel | None = None, shadows: bool = False
) -> Bytes:
    """(height, width, 3) what a camera shows of the scene, without transforms of the finished picture; or of another
    model of it. `shadows`: with cast shadows, whatever the world's θ says."""
    view = View(name=camera, height=size[0], width=size[1], fine=shadows)
    return shared_renderer().render(bench.drawn if model is None else model, bench.layout.qpos[bench.slot], view)


def require_movable(bench: Bench, part: str) -> None:
    """Raises UsageError where a scenario has no such object, or one that stands still."""
    placed = bench.scenario.placements
    if part not in placed:
        raise UsageError(f"object: {part!r:.100} is not in task {bench.task.name!r}; {suggest(part, placed)}")
    if part not in bench.layout.free:
        raise UsageError(f"object: {part!r} stands still: it is furniture, whose place the task gives")


class Sight:
    """One object before one camera. A pose is (x, y, turn): m in the task frame, and rad about the vertical from the
    orientation that the scenario gives it; its height is the scenario's."""

    def __init__(self, bench: Bench, part: str, camera: str, size: tuple[int, int]):
        """`size`: height and width of the pictures."""
        height, width = size
        require_movable(bench, part)
        placed = bench.scenario.placements
        self.part, self.camera, self._bench = part, camera, bench
        self._view = View(name=camera, height=height, width=width)
        self._model, self._qpos = bench.drawn, bench.layout.qpos[bench.slot].copy()
        self._at = bench.layout.free[part]
        self._z = placed[part].pos[2]
        self._quat = np.asarray(placed[part].quat, dtype=float)
        model, data = self._model, mujoco.MjData(self._model)
        body = model.body(part).id
        self._own = model.body_rootid[model.geom_bodyid] == body
        data.qpos[:] = self._qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        eye = model.camera(camera).id
        self._eye = np.array(data.cam_xpos[eye])
        self._axes = np.array(data.cam_xmat[eye]).reshape(3, 3) * [1.0, -1.0, -1.0]
        """Columns: right, down and ahead in the picture."""
        self._last: tuple[bytes, Bools] = b"", np.zeros(0, dtype=bool)
        self.lens = lens_of(model, camera, height, width)
        shown = np.flatnonzero(self._own & (model.geom_group != 3))
        reach = np.linalg.norm(data.geom_xpos[shown] - data.xpos[body], axis=1) + model.geom_rbound[shown]
        self.radius = float(reach.max()) / 2
        """Half the distance to which the object reaches from its origin, m: what a turn moves its outline by."""

    def plain(self, grey: float = 0.502) -> mujoco.MjModel:
        """The world's model with the object in one grey and without gloss: its picture shows the light on it."""
        model = copy(self._model)
        model.geom_matid[self._own] = -1
        model.geom_rgba[self._own, :3] = grey
        model.light_specular[:] = model.vis.headlight.specular[:] = 0.0
        return model

    def halved(self) -> Sight:
        """The same at half the size: a quarter of the pixels."""
        height, width = self._view.height // 2, self._view.width // 2
        return Sight(self._bench, self.part, self.camera, (height, width))

    def placement(self, pose: Floats) -> tuple[Floats, Floats]:
        """Position (3,) and quaternion (4,) of the object."""
        return np.array([pose[0], pose[1], self._z]), multiply(from_yaw(np.asarray(pose[2])), self._quat)

    def _render(
        self, pose: Floats, kind: Literal["rgb", "depth", "segmentation"], model: mujoco.MjModel | None = None
    ) -> np.ndarray:
        qpos = self._qpos.copy()
        qpos[self._at : self._at + 7] = np.concatenate(self.placement(pose))
        view = View(name=self._view.name, height=self._view.height, width=self._view.width, kind=kind)
        return shared_renderer().render(self._model if model is None else model, qpos, view)

    def silhouette(self, pose: Floats) -> Bools:
        """(height, width) where the object is seen."""
        if self._last[0] != pose.tobytes():
            things = self._render(pose, "segmentation")
            self._last = pose.tobytes(), (things[..., 1] == GEOM) & self._own[things[..., 0]]
        return self._last[1]

    def look(self, pose: Floats) -> tuple[Bools, Floats]:
        """The silhouette and the depth (height, width) of all there is, m."""
        return self.silhouette(pose), self._render(pose, "depth").astype(np.float64)

    def picture(self, pose: Floats, model: mujoco.MjModel | None = None) -> Bytes:
        """(height, width, 3) as the world draws it, or another model of the same shapes."""
        return self._render(pose, "rgb", model)

    @property
    def eye(self) -> Floats:
        """(3,) where the camera is, in the task frame."""
        return self._eye

    def pixels(self, points: Floats) -> tuple[Floats, Floats]:
        """(n, 2) from the left and from the top, and (n,) depth, of points (n, 3) of the task frame."""
        seen = (points - self._eye) @ self._axes
        focal, centre = [self.lens.fx, self.lens.fy], [self.lens.cx, self.lens.cy]
        return seen[:, :2] / seen[:, 2:] * focal + centre, seen[:, 2]

    def points(self, rows: Ints, columns: Ints, depth: Floats) -> Floats:
        """(n, 3) in the task frame, of pixels at depths (n,)."""
        across = (columns + 0.5 - self.lens.cx) / self.lens.fx
        down = (rows + 0.5 - self.lens.cy) / self.lens.fy
        rays = np.stack([across, down, np.ones(len(depth))], axis=1)
        points: Floats = self._eye + (rays * depth[:, None]) @ self._axes.T
        return points

    def on_support(self, pixel: Floats) -> Floats | None:
        """(2,) x and y at which the ray of a pixel (from the left, from the top) is as high as the object's origin;
        None where it never is."""
        ray = self._axes @ [(pixel[0] - self.lens.cx) / self.lens.fx, (pixel[1] - self.lens.cy) / self.lens.fy, 1.0]
        way = (self._z - self._eye[2]) / ray[2] if abs(ray[2]) > 1e-6 else -1.0
        return (self._eye + way * ray)[:2] if 0 < way < 20 else None

    def supported(self, pose: Floats) -> bool:
        """Whether the object has something under it there, about as far below as where the scenario puts it."""
        data = mujoco.MjData(self._model)
        data.qpos[:] = self._qpos
        mujoco.mj_kinematics(self._model, data)
        geom, body = np.zeros(1, dtype=np.int32), self._model.body(self.part).id

        def below(x: float, y: float) -> float:
            """m down to what is there; infinite where nothing is."""
            start, down = np.array([x, y, self._z + SLACK / 2]), np.array([0.0, 0.0, -1.0])
            far = float(mujoco.mj_ray(self._model, data, start, down, None, 1, body, geom, None))
            return far if far >= 0 else np.inf

        x, y, _ = self._bench.scenario.placements[self.part].pos
        return below(float(pose[0]), float(pose[1])) < below(x, y) + SLACK

    def motion(self, points: Floats, pose: Floats) -> Floats:
        """(n, 2, 3) how points (n, 3) of the object move in the picture with the pose: pixels per m, m and rad."""
        moves = np.zeros((len(points), 3, 3))
        moves[:, 0, 0] = moves[:, 1, 1] = 1.0
        arm = points - [pose[0], pose[1], 0.0]
        moves[:, 0, 2], moves[:, 1, 2] = -arm[:, 1], arm[:, 0]
        seen = (points - self._eye) @ self._axes
        moves = np.einsum("ai,nij->naj", self._axes.T, moves)
        focal = np.array([self.lens.fx, self.lens.fy])
        ratio = seen[:, :2] / seen[:, 2:]
        pixels: Floats = focal[:, None] * (moves[:, :2] - ratio[:, :, None] * moves[:, 2:]) / seen[:, 2, None, None]
        return pixels
