"""Put the carrot on the plate. SIMPLER's widowx_carrot_on_plate: same layouts, rules and limit."""

from __future__ import annotations

from foretell.objects.carrot import INERTIA as CARROT
from foretell.objects.plate import INERTIA as PLATE
from foretell.tasks.bridge import BridgeTask, Thing, stages


class CarrotOnPlate(BridgeTask):
    """Pick the carrot up and put it on the plate."""

    name = "widowx_carrot_on_plate"
    instruction = "put carrot on plate"
    paraphrases = (
        "place the carrot on the plate",
        "pick up the carrot and lay it on the plate",
        "move the carrot onto the dish",
        "the carrot belongs on the plate, put it there",
    )
    roles = {"carrot": "MO", "plate": "RO"}
    touch = (("carrot", "*"), ("carrot", "plate"), ("carrot", "widowx"))
    stages = stages("carrot", "plate")
    source = Thing(
        name="carrot",
        asset="bridge-carrot",
        size=(0.115, 0.032, 0.038),
        com=CARROT.com,
        rest=(
            ((-0.001545, 0.000001, 0.017997), (-0.000034, -0.043222, -0.000001, 0.999065)),
            ((0.000009, -0.001527, 0.017997), (0.706131, 0.030577, 0.030549, -0.706761)),
        ),
    )
    target = Thing(name="plate", asset="bridge-plate", size=(0.11, 0.11, 0.006), com=PLATE.com)
    grasp = (0.005, 0.0)
    release = (0.10, 0.028)
