"""Put the eggplant into the basket of the sink. SIMPLER's widowx_put_eggplant_in_basket: same layouts, rules, limit."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from foretell.camera import Camera
from foretell.objects import arena
from foretell.objects.eggplant import INERTIA as EGGPLANT
from foretell.objects.sink import add_sink
from foretell.scenario import Placement, Scenario
from foretell.tasks.bridge import TURNED, BridgeTask, Thing, lying, on_base, stages
from foretell.tasks.task import Mount

HEIGHT = 0.85
"""Of the table under the sink in SIMPLER's world, m: z = 0 of the task frame."""
BASE = (-0.127, -0.06, 0.0)
SINK = (0.16, -0.13, 0.88 - HEIGHT)
BASKET = (0.148187, -0.022418, 0.085884)
"""The middle of its floor: SIMPLER's invisible plane, where it comes to rest in the mean of the published layouts."""
START = (-0.26005989, -0.12875618, 0.04461369, -0.00652761, 1.70334148, -0.26983038)
"""The arm's joints at the start, rad."""
NEAR = 0.005
"""How far from a published layout the eggplant may lie where it is drawn, m: half the step of the published grid."""
LAYOUTS = (
    (0.11932, -0.19395, 0.08854, 0.99021, -0.07953, -0.11305, 0.01934),
    (0.11949, -0.19008, 0.08872, 0.90877, -0.02745, -0.11698, 0.39963),
    (0.09174, -0.22919, 0.08684, 0.32260, -0.91915, 0.20350, -0.09843),
    (0.12399, -0.24683, 0.08655, 0.27399, -0.95022, -0.14495, 0.03158),
    (0.11934, -0.19954, 0.08831, 0.90371, -0.02262, -0.11878, 0.41070),
    (0.11671, -0.20613, 0.08806, 0.91805, -0.10954, -0.09124, -0.36994),
    (0.11940, -0.21313, 0.08785, 0.99187, -0.05581, -0.11395, 0.00966),
    (0.11966, -0.20970, 0.08798, 0.91268, -0.01663, -0.12405, 0.38905),
    (0.11675, -0.21554, 0.08784, 0.92139, -0.09635, -0.08335, -0.36718),
    (0.11943, -0.22315, 0.08787, 0.99188, -0.05597, -0.11386, 0.00830),
    (0.11960, -0.21936, 0.08786, 0.91290, -0.00655, -0.12753, 0.38769),
    (0.11654, -0.22562, 0.08786, 0.92013, -0.09664, -0.08302, -0.37031),
    (0.10465, -0.18043, 0.08910, 0.84335, -0.00708, -0.11391, 0.52510),
    (0.09952, -0.19013, 0.08861, 0.90980, -0.02782, -0.11701, 0.39724),
    (0.08999, -0.20661, 0.08851, 0.84655, -0.41229, -0.02120, -0.33603),
    (0.12930, -0.22177, 0.08700, 0.52570, -0.74779, -0.36221, 0.18233),
    (0.09924, -0.19922, 0.08828, 0.89898, -0.01515, -0.12241, 0.42026),
    (0.09664, -0.20650, 0.08808, 0.91978, -0.11573, -0.09417, -0.36296),
    (0.11032, -0.21051, 0.08785, 0.98914, -0.05410, -0.11805, 0.06881),
    (0.09966, -0.20996, 0.08797, 0.91378, -0.02206, -0.12198, 0.38684),
    (0.09661, -0.21555, 0.08776, 0.92123, -0.09638, -0.08331, -0.36758),
    (0.11108, -0.21932, 0.08783, 0.98834, -0.04679, -0.11800, 0.08415),
    (0.09961, -0.21936, 0.08778, 0.91213, -0.00629, -0.12755, 0.38949),
    (0.09654, -0.22560, 0.08779, 0.92009, -0.09665, -0.08301, -0.37040),
)
"""Where the eggplant comes to rest in the published layouts: position in the task frame, orientation in SIMPLER's
world. 8 spots of a grid, each with 3 yaws; on the uneven floor of the sink it rolls."""


class EggplantInBasket(BridgeTask):
    """Pick the eggplant up and put it into the yellow basket."""

    name = "widowx_put_eggplant_in_basket"
    instruction = "put eggplant into yellow basket"
    paraphrases = (
        "place the eggplant in the yellow basket",
        "pick up the eggplant and drop it into the basket",
        "move the eggplant from the sink to the yellow rack",
        "the eggplant belongs in the basket, put it there",
    )
    robots = {"widowx": Mount("widowx", BASE)}
    cameras = {"third_view": on_base("sink_view", BASE)}
    time_limit = 24.0
    roles = {"eggplant": "MO", "basket": "RO"}
    table = "sink"
    fixed = {
        "RO_Size": "the basket hangs in the smaller basin of the sink, which fits no other",
        "Distractor": "the basin of the sink has no room for things beside the eggplant",
    }
    clutter = None
    film = Camera(pos=(0.66, -0.62, 0.58), target=(0.10, -0.10, 0.12), fovy=45.0)
    stages = stages("eggplant", "basket")
    source = Thing(
        name="eggplant",
        asset="bridge-eggplant",
        size=(0.0783, 0.0374, 0.038),
        com=EGGPLANT.com,
    )
    target = Thing(name="basket", asset="sink-basket", size=(0.127283, 0.083084, -0.014147))
    """Its box is that of SIMPLER's plane, which lies at a slant, turned as SIMPLER does."""
    slack = 0.06
    alone = False
    grasp = (-0.008, 0.014)
    wide = -0.6  # the fingers would hit the walls of the sink
    release = (0.13, 0.055)

    def _rests(self, index: int, shift: tuple[float, float] = (0.0, 0.0)) -> dict[str, Placement]:
        x, y, z, *quat = LAYOUTS[index]
        return {
            "eggplant": lying(self.source, (x + shift[0], y + shift[1], z), quat),
            "basket": lying(self.target, BASKET, (1.0, 0.0, 0.0, 0.0)),
        }

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        """Near a published layout: only there is it known how the eggplant lies."""
        x, y = rng.uniform(-NEAR, NEAR, 2).tolist()
        return self._rests(int(rng.integers(len(LAYOUTS))), (x, y))

    def start(self, rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
        return {"widowx": START}

    def layouts(self) -> Sequence[Scenario]:
        return [self.layout(index, self._rests(index)) for index in range(len(LAYOUTS))]

    def build(self, spec: mujoco.MjSpec) -> None:
        arena.room(spec, near=False)
        body = spec.worldbody.add_body(name="table", pos=[0.20, -0.13, 0.0])
        arena.box(body, "table/top", (0.0, 0.0, -0.02), (0.21, 0.45, 0.02), (0.78, 0.58, 0.34, 1.0), **arena.SURFACE)
        arena.legs(body, 0.16, 0.40, -0.04)
        add_sink(spec, SINK, TURNED)
