"""Stack the green block on the yellow one. SIMPLER's widowx_stack_cube: same layouts, rules and limit."""

from __future__ import annotations

from foretell.objects.block import HALF
from foretell.tasks.bridge import BridgeTask, Thing, stages

SIDE = 2 * HALF
REST = (((0.0, 0.0, HALF), (1.0, 0.0, 0.0, 0.0)),)


class StackCube(BridgeTask):
    """Pick the green block up and put it on the yellow one."""

    name = "widowx_stack_cube"
    instruction = "stack the green block on the yellow block"
    paraphrases = (
        "put the green cube on top of the yellow cube",
        "pick up the green block and set it on the yellow one",
        "build a tower with the green block above the yellow block",
        "the green cube goes onto the yellow cube",
    )
    roles = {"green": "MO", "yellow": "RO"}
    touch = (("green", "*"), ("green", "yellow"), ("green", "widowx"))
    stages = stages("green block", "yellow block")
    source = Thing(name="green", asset="green-block", size=(SIDE, SIDE, SIDE), rest=REST)
    target = Thing(name="yellow", asset="yellow-block", size=(SIDE, SIDE, SIDE), rest=REST)
    squares = (0.05, 0.10)
    apart = 0.07
    release = (0.09, 0.034)
