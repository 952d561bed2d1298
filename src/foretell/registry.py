"""Names for tasks, suites, robots, controllers, factors, worlds, transforms, engines, policies and their adapters:
built-in, from an entry point, or "package.module:Class".

A plug-in package advertises, for example, `[project.entry-points."foretell.tasks"] stack = "mine.stack:Stack"`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from foretell.errors import ForetellError, UsageError, suggest
from foretell.fingerprint.loaded import loading, of_module
from foretell.fingerprint.source import MODULES, imports, installed

__all__ = ["BUILTIN", "load", "names", "resolve"]

BUILTIN: dict[str, dict[str, str]] = {
    "tasks": {
        "lift": "foretell.tasks.lift:Lift",
        "can": "foretell.tasks.can:Can",
        "square": "foretell.tasks.square:Square",
        "google_robot_pick_coke_can": "foretell.tasks.pick_coke_can:PickCokeCan",
        "google_robot_pick_horizontal_coke_can": "foretell.tasks.pick_coke_can:PickHorizontalCokeCan",
        "google_robot_pick_vertical_coke_can": "foretell.tasks.pick_coke_can:PickVerticalCokeCan",
        "google_robot_pick_standing_coke_can": "foretell.tasks.pick_coke_can:PickStandingCokeCan",
        "google_robot_pick_object": "foretell.tasks.pick_object:PickObject",
        "google_robot_move_near": "foretell.tasks.move_near:MoveNear",
        "google_robot_move_near_v0": "foretell.tasks.move_near:MoveNearV0",
        "google_robot_move_near_v1": "foretell.tasks.move_near:MoveNearV1",
        "google_robot_open_drawer": "foretell.tasks.open_drawer:OpenDrawer",
        "google_robot_open_top_drawer": "foretell.tasks.open_drawer:OpenTopDrawer",
        "google_robot_open_middle_drawer": "foretell.tasks.open_drawer:OpenMiddleDrawer",
        "google_robot_open_bottom_drawer": "foretell.tasks.open_drawer:OpenBottomDrawer",
        "google_robot_close_drawer": "foretell.tasks.close_drawer:CloseDrawer",
        "google_robot_close_top_drawer": "foretell.tasks.close_drawer:CloseTopDrawer",
        "google_robot_close_middle_drawer": "foretell.tasks.close_drawer:CloseMiddleDrawer",
        "google_robot_close_bottom_drawer": "foretell.tasks.close_drawer:CloseBottomDrawer",
        "google_robot_place_in_closed_drawer": "foretell.tasks.place_in_drawer:PlaceInDrawer",
        "google_robot_place_in_closed_top_drawer": "foretell.tasks.place_in_drawer:PlaceInTopDrawer",
        "google_robot_place_in_closed_middle_drawer": "foretell.tasks.place_in_drawer:PlaceInMiddleDrawer",
        "google_robot_place_in_closed_bottom_drawer": "foretell.tasks.place_in_drawer:PlaceInBottomDrawer",
        "google_robot_place_apple_in_closed_top_drawer": "foretell.tasks.place_in_drawer:PlaceAppleInTopDrawer",
        "widowx_spoon_on_towel": "foretell.tasks.spoon_on_towel:SpoonOnTowel",
        "widowx_carrot_on_plate": "foretell.tasks.carrot_on_plate:CarrotOnPlate",
        "widowx_stack_cube": "foretell.tasks.stack_cube:StackCube",
        "widowx_put_eggplant_in_basket": "foretell.tasks.eggplant_in_basket:EggplantInBasket",
        "pointnav": "foretell.tasks.pointnav:PointNav",
    },
    "suites": {
        "simpler-google": "foretell.tasks.suites:SIMPLER_GOOGLE",
        "simpler-widowx": "foretell.tasks.suites:SIMPLER_WIDOWX",
    },
    # in the order in which they are applied: a texture lies on a colour
    "factors": {
        "MO_Color": "foretell.factors.colour:MOColor",
        "MO_Texture": "foretell.factors.texture:MOTexture",
        "MO_Size": "foretell.factors.size:MOSize",
        "RO_Color": "foretell.factors.colour:ROColor",
        "RO_Texture": "foretell.factors.texture:ROTexture",
        "RO_Size": "foretell.factors.size:ROSize",
        "Light_Color": "foretell.factors.light:LightColor",
        "Table_Color": "foretell.factors.colour:TableColor",
        "Table_Texture": "foretell.factors.texture:TableTexture",
        "Distractor": "foretell.factors.distractor:Distractor",
        "Background_Texture": "foretell.factors.texture:BackgroundTexture",
        "Camera_Pose": "foretell.factors.camera:CameraPose",
        "Object_Friction": "foretell.factors.physics:ObjectFriction",
        "Object_Mass": "foretell.factors.physics:ObjectMass",
        "Object_Pose": "foretell.factors.start:ObjectPose",
        "Robot_Texture": "foretell.factors.texture:RobotTexture",
        "Camera_FOV": "foretell.factors.camera:CameraFOV",
        "Lighting_Position": "foretell.factors.light:LightingPosition",
        "Sensor_Noise": "foretell.factors.noise:SensorNoise",
        "Action_Noise": "foretell.factors.noise:ActionNoise",
        "Instruction": "foretell.factors.instruction:Instruction",
        "Robot_Init": "foretell.factors.start:RobotInit",
        "Head_Tilt": "foretell.factors.start:HeadTilt",
        "Fewer_Objects": "foretell.factors.distractor:FewerObjects",
        "Joint_Friction": "foretell.factors.physics:JointFriction",
    },
    "robots": {
        "panda": "foretell.robots.panda:Panda",
        "google_robot": "foretell.robots.google_robot:GoogleRobot",
        "widowx": "foretell.robots.widowx:WidowX",
        "locobot": "foretell.robots.locobot:LoCoBot",
    },
    "rooms": {
        "lab_easy": "foretell.rooms.lab:lab_easy",
        "lab_medium": "foretell.rooms.lab:lab_medium",
        "lab_hard": "foretell.rooms.lab:lab_hard",
        "apartment": "foretell.rooms.apartment:apartment",
    },
    "controllers": {
        "ee_delta": "foretell.robots.controller:EndEffectorDelta",
        "ee_delta_target": "foretell.robots.controller:EndEffectorTarget",
        "joint": "foretell.robots.controller:JointPosition",
        "grip": "foretell.robots.controller:Grip",
        "ee_profile": "foretell.robots.simpler:PoseProfile",
        "ee_profile_paper": "foretell.robots.simpler:PoseProfilePaper",
        "grip_profile": "foretell.robots.simpler:FingerProfile",
        "grip_profile_paper": "foretell.robots.simpler:FingerProfilePaper",
        "ee_step": "foretell.robots.simpler:PoseStep",
        "ee_step_paper": "foretell.robots.simpler:PoseStepPaper",
        "grip_step": "foretell.robots.simpler:FingerStep",
        "steps": "foretell.robots.base:StepsOf30",
        "steps_10": "foretell.robots.base:StepsOf10",
        "velocity": "foretell.robots.base:Velocity",
    },
    "policies": {
        "expert": "foretell.policies.expert:Expert",
        "noisy-expert": "foretell.policies.expert:NoisyExpert",
        "random": "foretell.policies.random:Random",
        "onnx": "foretell.policies.onnx:Onnx",
        "goal-follower": "foretell.policies.navigation:GoalFollower",
        "bumper": "foretell.policies.navigation:Bumper",
        "bug": "foretell.policies.navigation:Bug",
        "lidar-planner": "foretell.policies.navigation:LidarPlanner",
        "depth-planner": "foretell.policies.mapping:DepthPlanner",
        "oracle": "foretell.policies.navigation:Oracle",
        "zoo": "foretell.zoo.policy:Zoo",
        "ws": "foretell.bridges.websocket:Websocket",
        "vla-eval": "foretell.bridges.vla_eval:VlaEval",
        "lerobot": "foretell.bridges.environments:LeRobot",
        "python": "foretell.bridges.environments:OwnPython",
        "torchscript": "foretell.bridges.environments:TorchScript",
    },
    "adapters": {
        "unnormalise": "foretell.adapters.unnormalise:Unnormalise",
        "ensemble": "foretell.adapters.ensemble:Ensemble",
        "rotation": "foretell.adapters.rotation:Rotation",
        "gripper": "foretell.adapters.gripper:Gripper",
        "sticky_gripper": "foretell.adapters.sticky_gripper:StickyGripper",
        "history": "foretell.adapters.history:History",
        "image": "foretell.adapters.image:Image",
    },
    "presets": {
        "bridge": "foretell.adapters.presets:bridge",
        "fractal": "foretell.adapters.presets:fractal",
    },
    "engines": {
        "here": "foretell.study.here:Here",
        "processes": "foretell.study.pool:Pool",
    },
    "transforms": {
        "background": "foretell.sim.transforms:Background",
        "asset_pack": "foretell.sim.asset_pack:AssetPack",
        "painted": "foretell.sim.looks:Painted",
        "colours": "foretell.sim.looks:Colours",
        "light": "foretell.sim.looks:Light",
        "camera": "foretell.sim.matched_camera:MatchedCamera",
    },
    "worlds": {
        "mujoco": "foretell.sim.world:MujocoWorld",
        "standin": "foretell.sim.world:MujocoWorld",
        "simpler_worse_1": "foretell.sim.world:MujocoWorld",
        "simpler_worse_2": "foretell.sim.world:MujocoWorld",
        "planar": "foretell.planar.world:PlanarWorld",
        "planar_challenge": "foretell.planar.world:PlanarWorld",
        "planar_standin": "foretell.planar.world:PlanarWorld",
        "robot": "foretell.hardware.world:RobotWorld",
        "gymnasium": "foretell.bridges.simulators.gymnasium:GymnasiumWorld",
        "robosuite": "foretell.bridges.simulators.robosuite:RobosuiteWorld",
    },
}
NAMED = {
    "tasks": {"own": "foretell.bridges.simulators.own:named"},
    "worlds": {"gymnasium": "foretell.bridges.simulators.gymnasium:named"},
}
"""Group -> kind -> what is called with the rest of a name such as own:FetchPush-v4, and gives its class."""


_LOADED: dict[Path, bytes] = {}
"""Neighbour of a loaded file -> its text when it was imported."""
_READY: dict[str, Any] = {}
"""Modules of foretell that were imported: robots and factors are asked for with every scenario that is drawn."""


_ADOPTED: dict[str, dict[str, str]] = {}
"""Group -> name -> target of what studies of this process bring along themselves."""


def adopted(group: str) -> dict[str, str]:
    """Name -> target of what studies of this process bring along themselves. It is not among the
    `names` of the group, so that what `each` and `all` mean does not depend on what ran before."""
    return _ADOPTED.setdefault(group, {})


def names(group: str) -> list[str]:
    """Every name known in a group: built-in ones first, then those of installed plug-ins."""
    return list(dict.fromkeys([*BUILTIN[group], *_plugins(group)]))


def resolve(group: str, name: str) -> Any:
    """The object behind a name in a group. `name` may also be "package.module:Class" or "file.py:Class"."""
    kind, colon, rest = name.partition(":")
    if kind in (named := NAMED.get(group, {})) and (colon or kind not in BUILTIN[group]):
        return load(named[kind], field=group)(rest)
    if colon and kind not in BUILTIN[group]:
        return load(name, field=group)
    target = BUILTIN[group].get(name) or _plugins(group).get(name) or adopted(group).get(name)
    if target is None and group == "tasks" and name in names("suites"):
        each = ", ".join(resolve("suites", name).tasks)
        raise UsageError(f"tasks: {name!r} is a suite; one task is needed here, such as: {each}")
    if target is None:
        known = [*names(group), *(names("suites") if group == "tasks" else [])]  # a study lists either
        raise UsageError(f"{group}: {name!r:.200} is not known; {suggest(name, known)}")
    return load(target, field=group)


def _plugins(group: str) -> dict[str, str]:
    """Name -> target of the installed plug-ins, the first of a name."""
    return _advertised(group, tuple(sys.path))


@cache
def _advertised(group: str, path: tuple[str, ...]) -> dict[str, str]:
    """As `_plugins`; kept, for to look takes 10 ms and more where many packages are installed."""
    return {e.name: e.value for e in reversed(tuple(entry_points(group=f"foretell.{group}")))}


def load(target: str, field: str = "use") -> Any:
    """Import "package.module:Class" or "path/to/file.py:Class"."""
    where, _, attribute = target.rpartition(":")
    if not where or not attribute:
        raise UsageError(f'{field}: {target!r:.200} should look like "package.module:Class" or "file.py:Class"')
    try:
        if (module := _READY.get(where)) is None or sys.modules.get(where) is not module:
            with loading() as opened:
                module = _load_file(Path(where), field) if where.endswith(".py") else _import(where)
            of_module(module.__name__, opened)
            if where.startswith("foretell."):
                _READY[where] = module
    except ForetellError:
        raise
    except ModuleNotFoundError as error:
        raise UsageError(f"{field}: {target!r:.200}: {error}; is it installed or on the path?") from error
    except Exception as error:  # a user's file may do anything when it is imported
        raise UsageError(
            f"{field}: {target!r:.200} cannot be imported: {type(error).__name__}: {error}{_at(error)}"
        ) from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        public = [n for n in vars(module) if not n.startswith("_")]
        raise UsageError(f"{field}: {where} has no {attribute!r}; {suggest(attribute, public)}") from None


def _import(name: str) -> Any:
    _find_in(os.getcwd())
    return importlib.import_module(name)


def _find_in(folder: str) -> None:
    """Modules of this folder can be imported from now on."""
    if folder not in sys.path:
        sys.path.append(folder)  # at the end: a file there must not hide one of Python's own


def _at(error: Exception) -> str:
    """Where an import failed."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "" if isinstance(error, SyntaxError) else f" ({last.filename}, line {last.lineno})"


def _load_file(path: Path, field: str) -> Any:
    path = Path(os.path.expanduser(path))
    if not os.path.isfile(path):
        raise UsageError(f"{field}: there is no file {str(path)[:300]}")
    path = path.resolve()
    beside = _neighbours(path)
    # by content too: a file edited since it was loaded, or one that it imports, makes another module
    texts = {source: source.read_bytes() for source in (path, *beside)}
    contents = hashlib.sha256(
        str(path).encode("utf-8", "surrogateescape") + b"\0" + b"\0".join(texts.values())
    ).hexdigest()
    name = f"foretell_user_{path.stem}_{contents[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    # one was edited since it was imported, and others may have taken names from it
    if any(_LOADED.get(source, texts[source]) != texts[source] for source in beside):
        for other, module in list(sys.modules.items()):
            if (file := getattr(module, "__file__", None)) and Path(file) in beside:
                del sys.modules[other]
    _LOADED.update({source: texts[source] for source in beside})
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look their module up by name
    _find_in(str(path.parent))
    try:
        with _uncompiled():
            spec.loader.exec_module(module)
        _check_neighbours(path, name, field)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Leave no compiled modules on disk: Python would run one in place of a file that was edited within a second, if
    its length stayed the same."""
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes


def _neighbours(path: Path) -> list[Path]:
    """Files beside a file that it imports, directly or not."""
    neighbours, todo = list[Path](), [path]
    while todo and len(neighbours) < MODULES:
        importer = todo.pop()
        for name in imports(importer, importer.stat().st_mtime_ns, ""):
            where = path.parent.joinpath(*name.split("."))
            for file in (where.with_name(f"{where.name}.py"), where / "__init__.py"):
                if file.is_file() and file != path and file not in neighbours:
                    neighbours.append(file)
                    todo.append(file)
    return sorted(neighbours)


def _check_neighbours(path: Path, module: str, field: str) -> None:
    """A file imports the modules beside it. Of two folders with a module of one name, Python keeps the first, and the
    file from the second folder would silently get code that is not its own."""
    for name in imports(path, path.stat().st_mtime_ns, module):
        beside = [path.with_name(f"{name}.py"), path.parent / name / "__init__.py"]
        file = getattr(sys.modules.get(name), "__file__", None)
        if "." in name or file is None or installed(loaded := Path(file).resolve()):
            continue
        if mine := [neighbour for neighbour in beside if neighbour.is_file() and neighbour.resolve() != loaded]:
            raise UsageError(
                f"{field}: {path} imports {name!r}, which is {loaded} here and not {mine[0]} beside it: "
                f"rename one of them"
            )
