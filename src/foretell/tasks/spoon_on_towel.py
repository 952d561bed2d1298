"""Put the spoon on the towel. SIMPLER's widowx_spoon_on_towel: same layouts, rules and limit."""

from __future__ import annotations

from foretell.objects.spoon import INERTIA as SPOON
from foretell.objects.towel import INERTIA as TOWEL
from foretell.tasks.bridge import BridgeTask, Thing, stages


class SpoonOnTowel(BridgeTask):
    """Pick the spoon up and put it on the towel."""

    name = "widowx_spoon_on_towel"
    instruction = "put the spoon on the towel"
    paraphrases = (
        "place the spoon on the towel",
        "pick up the spoon and lay it on the cloth",
        "move the spoon onto the folded towel",
        "the spoon belongs on the towel, put it there",
    )
    roles = {"spoon": "MO", "towel": "RO"}
    stages = stages("spoon", "towel")
    source = Thing(
        name="spoon",
        asset="bridge-spoon",
        size=(0.14, 0.0346, 0.026042),
        com=SPOON.com,
        rest=(
            ((-0.000450, -0.000175, 0.010406), (0.999741, 0.006244, -0.021839, -0.001148)),
            ((0.000187, -0.000457, 0.010406), (0.707309, 0.019858, -0.011022, 0.706539)),
        ),
    )
    target = Thing(
        name="towel",
        asset="bridge-towel",
        size=(0.1, 0.1, 0.01),
        com=TOWEL.com,
        rest=(((0.0, -0.000007, 0.004882), (1.0, 0.000698, 0.0, 0.0)),),
    )
    alone = False
    apart = 0.13
    grasp = (0.015, 0.012)
    release = (0.10, 0.030)
