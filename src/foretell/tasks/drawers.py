"""What SIMPLER's tasks with the drawers of a cabinet share: layouts, words, and an expert's ways.

A task asks for one drawer, or in each scenario for the one that its instruction names.

SIMPLER puts the robot at nine poses before the cabinet. Here the robot stands still, and the cabinet is put where the
robot of that layout has it: the same scene in the frame of the robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import mujoco
import numpy as np

from foretell.arrays import Floats, Ints
from foretell.camera import Camera
from foretell.errors import UsageError
from foretell.objects.cabinet import DRAWERS, HANDLE
from foretell.policy import Policy
from foretell.rotation import Quat, from_yaw, multiply, rotate
from foretell.scenario import Placement, Scenario
from foretell.seeding import generator
from foretell.tasks.by_name import ByName
from foretell.tasks.fractal import BASE, TABLE, FractalTask, room
from foretell.tasks.state import State
from foretell.tasks.task import Clutter, Mount
from foretell.tasks.waypoints import Leg, Shift, To, Waypoints, pointing

ROBOT, CABINET = "google_robot", "cabinet"
WHERE = {"top": "at the top", "middle": "in the middle", "bottom": "at the bottom"}
Stand = tuple[float, float, float]
NAMED = " that the instruction names"
STANDS: tuple[Stand, ...] = (
    (0.644, -0.179, -0.03),
    (0.765, -0.182, -0.02),
    (0.889, -0.203, -0.06),
    (0.652, 0.009, 0.0),
    (0.752, 0.009, 0.0),
    (0.851, 0.035, 0.0),
    (0.665, 0.224, 0.0),
    (0.765, 0.222, -0.025),
    (0.865, 0.222, -0.025),
)
"""Where the robot stands in SIMPLER's world, m, and its yaw besides half a turn, rad: a0 to c2."""
AT = (-0.295, 0.0, 0.017)
"""Where the cabinet stands in SIMPLER's world, m."""
FEET = (-0.65, 0.0)
"""Where the robot stands in the task frame, m."""
OPEN = 0.15
"""What counts as open, m."""
NEAR = 0.01
PARTED, CLAMP, LOOSE = 0.40, 0.06, -0.15
"""Actions of the fingers: half shut; gently on, for more force squeezes them off the edge of a panel; and off again."""
FRONT, EDGE = 0.3125 - HANDLE[0], 0.07 - HANDLE[2]
"""The face of a drawer's panel and its top edge, from the middle of its handle, m."""
# in the frame of a drawer, whose x points to the robot
HOOK = pointing((-0.74, 0.0, -0.67), (1.0, 0.0, 0.0))
"""How the expert's hand points to pull."""


def before(stand: Stand, asset: str, pos: Sequence[float], quat: Sequence[float] = (1.0, 0.0, 0.0, 0.0)) -> Placement:
    """A thing at a pose of SIMPLER's world, as the robot has it that stands there."""
    x, y, yaw = stand
    turn = from_yaw(-yaw - math.pi)
    ahead = rotate(turn, np.array([pos[0] - x, pos[1] - y, pos[2] - TABLE])) + [*FEET, 0.0]
    a, b, c = ahead.tolist()
    w, i, j, k = multiply(turn, np.asarray(quat)).tolist()
    return Placement(asset=asset, pos=(a, b, c), quat=(w, i, j, k))


def cabinet(stand: Stand) -> Placement:
    """The cabinet before the robot that stands somewhere in SIMPLER's world."""
    return before(stand, "station-cabinet", AT)


def named(instruction: str, drawers: Sequence[str]) -> str:
    """The drawer that an instruction names."""
    words = instruction.lower().split()
    drawer, *more = [drawer for drawer in drawers if drawer in words] or [""]
    if not drawer or more:
        one_of = " or ".join(drawers)
        raise UsageError(f"instruction: {instruction!r} must name one drawer, {one_of}, so that it can be judged")
    return drawer


class DrawerTask(FractalTask):
    """Base of the drawer tasks. Subclasses say which drawers, and what is to be done with them."""

    version = 3  # 3: things sleep, as in every FractalTask; light and colours are closer to the original's
    drawers: tuple[str, ...] = tuple(DRAWERS)
    """Those that scenarios ask for. Where there are several, the instruction names the one."""
    words: tuple[str, ...]
    """The instruction, then paraphrases: `{drawer}` is its name, `{where}` says where it is."""
    begins = 0.0
    """How far the drawer is open at the start, m."""
    stands = STANDS
    """Where the robot stands in the published layouts."""
    robots = {ROBOT: Mount(ROBOT, (*FEET, BASE), stand=False)}
    time_limit = 113 / 3
    variants = "drawers"
    roles: Mapping[str, str] = {CABINET: "RO"}
    table = CABINET
    clutter: Clutter | None = None
    film = Camera(pos=(-0.35, -1.35, 0.45), target=(0.0, -0.1, -0.15), fovy=50.0)

    def __init_subclass__(cls) -> None:
        """Derive from `drawers` and `words` what a task is asked."""
        super().__init_subclass__()
        cls.lowest = AT[2] + min(DRAWERS[drawer] for drawer in cls.drawers) - TABLE
        cls.fixed = {"RO_Size": "the drawers fit no cabinet of another size"}
        if len(cls.drawers) == 1:
            cls.instruction, *others = [cls.phrase(text, cls.drawers[0]) for text in cls.words]
            cls.paraphrases = tuple(others)
        else:
            cls.fixed |= {"Instruction": "each scenario asks for a drawer of its own, and paraphrases belong to a task"}

    @staticmethod
    def phrase(text: str, drawer: str) -> str:
        """One of `words` for a drawer."""
        return text.format(drawer=drawer, where=WHERE[drawer])

    # -- scenarios --------------------------------------------------------------------------------------------

    def stand(self, rng: np.random.Generator) -> Stand:
        """Near a published robot pose: by NEAR metres and radians at most."""
        stand = np.array(self.stands[int(rng.integers(len(self.stands)))])
        x, y, yaw = (stand + rng.uniform(-NEAR, NEAR, 3)).tolist()
        return x, y, yaw

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        return {CABINET: cabinet(self.stand(rng))}

    def scenario(self, seed: int) -> Scenario:
        choice = generator(f"{self.name}/{seed}", 0, "drawer").integers(len(self.drawers))
        return self.asking(super().scenario(seed), self.drawers[int(choice)])

    def asking(self, scenario: Scenario, drawer: str) -> Scenario:
        """A scenario with the words and the start that belong to a drawer."""
        openings = tuple(self.begins if name == drawer else 0.0 for name in DRAWERS)
        start = {**scenario.start, CABINET: openings}
        return scenario.model_copy(update={"instruction": self.phrase(self.words[0], drawer), "start": start})

    def spots(self) -> list[dict[str, Placement]]:
        """The placements of the published layouts of one drawer, in their order: robot poses a0, a1, a2, b0, ... c2."""
        return [{CABINET: cabinet(stand)} for stand in self.stands]

    def layouts(self) -> Sequence[Scenario]:
        """The published layouts of each drawer in turn."""
        every = [(drawer, placements) for drawer in self.drawers for placements in self.spots()]
        return [self.asking(self.layout(index, spot), drawer) for index, (drawer, spot) in enumerate(every)]

    def build(self, spec: mujoco.MjSpec) -> None:
        room(spec, (0.0, 0.0, -0.3))
        # the original's light comes from everywhere: the fronts of its drawers are nearly as bright as its top
        spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.78] * 3, [0.16] * 3
        for light in spec.lights:
            light.diffuse = [0.16] * 3

    # -- rules ------------------------------------------------------------------------------------------------

    def asked(self, state: State) -> Ints:
        """(n,) which of `drawers` each slot is asked for."""
        if len(self.drawers) == 1:
            return np.zeros(len(state.subtask), dtype=np.int64)
        return np.array([self.drawers.index(named(text, self.drawers)) for text in state.instruction], dtype=np.int64)

    def of_drawer(self, state: State, values: Mapping[str, Floats]) -> Floats:
        """(n,) of the values (n,) of each drawer those of the drawer that is asked for."""
        every = np.column_stack([values[drawer] for drawer in self.drawers])
        asked: Floats = every[np.arange(len(every)), self.asked(state)]
        return asked

    def opening(self, state: State) -> Floats:
        """(n,) how far the drawer is open, m."""
        return self.of_drawer(state, {drawer: state.joint(f"{CABINET}/{drawer}") for drawer in self.drawers})

    # -- expert -----------------------------------------------------------------------------------------------

    def legs(self, drawer: str) -> tuple[Leg, ...]:
        """How the expert does it with a drawer."""
        raise NotImplementedError

    def expert(self) -> Policy:
        if len(self.drawers) == 1:
            return Waypoints({ROBOT: self.legs(self.drawers[0])})
        return ByName({drawer: Waypoints({ROBOT: self.legs(drawer)}) for drawer in self.drawers})


Kind = TypeVar("Kind", bound=DrawerTask)


def only(kind: type[Kind], drawer: str, called: str) -> type[Kind]:
    """A task that always asks for the same drawer, as a class of a module's own."""
    asked = {
        "__module__": kind.__module__,
        "__qualname__": called,
        "__doc__": (kind.__doc__ or "").replace("the drawer", f"the {drawer} drawer", 1).replace(NAMED, ""),
        "name": kind.name.replace("drawer", f"{drawer}_drawer"),
        "drawers": (drawer,),
    }
    return type(called, (kind,), asked)


def panel(drawer: str, ahead: float, up: float, facing: Quat | None = None) -> To:
    """To a point before the panel of a drawer, above the middle of its top edge, m."""
    return To(f"{CABINET}/{drawer}_handle", (FRONT + ahead, 0.0, EDGE + up), facing)


def pull(drawer: str) -> tuple[Leg, ...]:
    """With the fingers half open over the edge of the panel, shut, back, and off."""
    over = panel(drawer, -0.031, -0.056, HOOK)
    risen, turned = (0.08, 0.5) if drawer == "bottom" else (0.03, 0.4)  # so low the arm can hardly rise
    return (
        Leg(name="part", way=Shift(), grip=PARTED, within=0.1, turned=1.0),
        Leg(name="before", way=panel(drawer, 0.058, 0.024, HOOK), grip=0, within=0.02, turned=0.12),
        Leg(name="over", way=over, grip=0, within=0.008, turned=0.12, speed=0.3),
        Leg(name="shut", way=Shift(), within=0.05, hold=4, grip=CLAMP, turned=0.4),
        Leg(name="pull", way=Shift((-0.28, 0.0, 0.0)), within=0.03, speed=0.3, grip=0, turned=0.4),
        Leg(name="loose", way=Shift(), within=0.1, grip=LOOSE, turned=1.0),
        Leg(name="off", way=Shift((0.0, 0.0, 0.12)), within=risen, grip=0, turned=turned, speed=0.3),
    )
