"""What stands on the table in SIMPLER's Google Robot tasks: names, boxes, how it comes to rest, where to take it."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.objects.bottle import INERTIA as BOTTLE
from foretell.objects.fruit import APPLE_INERTIA, ORANGE_INERTIA
from foretell.objects.soda import COKE_INERTIA, PEPSI_INERTIA, REDBULL_INERTIA, SEVEN_UP_INERTIA, SODA_BOX
from foretell.objects.sponge import INERTIA as SPONGE
from foretell.tasks.bridge import Thing
from foretell.tasks.fractal import INCLINED, Across
from foretell.tasks.waypoints import Vector

__all__ = ["GROCERIES", "Grocery"]

SODA: Vector = (0.066, 0.123, 0.066)
"""The box that SIMPLER lists for a can, m."""
TILTED: Vector = (0.52, 0.15, -0.84)
"""Where the hand points to take what is tall: the higher it is, the less can the wrist point down."""


@dataclass(frozen=True, kw_only=True)
class Grocery(Thing):
    """A thing of these tasks. `name` is what instructions call it."""

    middle: Vector
    half: Vector
    """Middle and half sides of the box that it fills, in its own frame, m."""
    depth: float = 0.036
    """How far below its top the expert's finger tips go, m."""
    approach: Vector = INCLINED
    """Where the expert's hand points."""

    def taken(self, part: str) -> Across:
        """To where a hand can take it, as a part of a scene."""
        return Across(
            part=part, middle=self.middle, half=self.half, depth=self.depth, axis=None, approach=self.approach
        )


GROCERIES = {
    thing.asset: thing
    for thing in (
        Grocery(
            name="blue plastic bottle",
            asset="blue-bottle",
            size=(0.0601, 0.203, 0.0605),
            com=BOTTLE.com,
            rest=(((-0.001904, 0.004847, 0.087128), (0.519615, 0.480745, 0.507759, 0.490984)),),
            middle=(0.0012, 0.0142, 0.0030),
            half=(0.0314, 0.1015, 0.0314),
            depth=0.085,
            approach=TILTED,
        ),
        Grocery(
            name="pepsi can",
            asset="pepsi-can",
            size=SODA,
            com=PEPSI_INERTIA.com,
            rest=(((0.0, 0.0, 0.064288), (0.707107, 0.707107, 0.0, 0.0)),),
            middle=(0.0002, -0.0022, 0.0003),
            half=(0.0333, 0.0621, 0.0333),
            approach=TILTED,
        ),
        Grocery(
            name="orange",
            asset="toy-orange",
            size=(0.07, 0.07, 0.068),
            com=ORANGE_INERTIA.com,
            rest=(((0.000141, 0.000271, 0.035877), (0.707167, -0.001261, 0.004065, 0.707034)),),
            middle=(0.0, 0.0, -0.0015),
            half=(0.0352, 0.0352, 0.0343),
        ),
        Grocery(
            name="7up can",
            asset="7up-can",
            size=SODA,
            com=SEVEN_UP_INERTIA.com,
            rest=(((0.000436, -0.000207, 0.062956), (0.707107, 0.707106, -0.000377, 0.000059)),),
            middle=(0.0001, -0.0020, -0.0004),
            half=(0.0330, 0.0610, 0.0330),
            approach=TILTED,
        ),
        Grocery(
            name="apple",
            asset="toy-apple",
            size=(0.08, 0.08, 0.08),
            com=APPLE_INERTIA.com,
            rest=(((0.000230, 0.000899, 0.035875), (0.999907, -0.013270, 0.001763, -0.002458)),),
            middle=(-0.0004, 0.0, 0.0),
            half=(0.0400, 0.0400, 0.0360),
        ),
        Grocery(
            name="sponge",
            asset="kitchen-sponge",
            size=(0.07, 0.10, 0.036),
            com=SPONGE.com,
            rest=(((-0.000030, 0.000029, 0.018549), (0.707107, -0.001143, -0.000039, 0.707106)),),
            middle=(0.0, 0.0036, 0.0),
            half=(0.0505, 0.0356, 0.0186),
        ),
        Grocery(
            name="coke can",
            asset="coke-can",
            size=SODA,
            com=COKE_INERTIA.com,
            rest=(((-0.000348, -0.000295, 0.068941), (0.705632, 0.708574, -0.001850, 0.001749)),),
            middle=SODA_BOX[0],
            half=SODA_BOX[1],
            approach=TILTED,
        ),
        Grocery(
            name="redbull can",
            asset="redbull-can",
            size=(0.0585, 0.172, 0.0585),
            com=REDBULL_INERTIA.com,
            rest=(((-0.000108, 0.000247, 0.065065), (0.708440, 0.705771, -0.000573, 0.000600)),),
            middle=(0.0, 0.0005, 0.0),
            half=(0.0289, 0.0655, 0.0289),
            approach=TILTED,
        ),
    )
}
"""Asset -> the thing."""
