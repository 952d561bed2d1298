"""`rotation`: a policy's format of rotations, as the controller's."""

from __future__ import annotations

import dataclasses

import numpy as np

from foretell.adapters.adapter import PartAdapter
from foretell.adapters.formats import FORMATS
from foretell.arrays import Floats
from foretell.errors import PolicyError, UsageError, suggest
from foretell.spec import DimSpec

__all__ = ["Rotation"]

NORM = 0.1
"""How far from 1 the norm of a quaternion may be. Networks do not give 1 exactly; axis-angle gives anything."""


@dataclasses.dataclass(eq=False)
class Rotation(PartAdapter):
    """Translates a policy's rotations: axis-angle, Euler angles, quaternions or two columns of a matrix."""

    format: str = "euler_xyz"
    """What the policy returns: axis_angle, euler_xyz (roll, pitch, yaw about fixed axes), euler_zyx, quaternion
    (w, x, y, z), quaternion_xyzw or matrix_6d. Angles in rad."""

    name = "rotation"

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise UsageError(
                f"adapter {self.name!r}: format {self.format!r:.100} is not known; {suggest(str(self.format), FORMATS)}"
            )

    def part(self, dim: DimSpec) -> DimSpec | None:
        if dim.rotation is None:
            return None
        spoken = FORMATS[self.format]
        changes = {"size": spoken.size, "low": -spoken.most, "high": spoken.most, "unit": spoken.unit}
        return dataclasses.replace(dim, rotation=self.format, scale=1.0, **changes)  # type: ignore[arg-type]

    def convert(self, values: Floats, spoken: DimSpec, wanted: DimSpec) -> Floats:
        assert wanted.rotation is not None
        if self.format.startswith("quaternion"):
            norms = np.linalg.norm(values, axis=-1)
            if (far := np.abs(norms - 1.0) > NORM).any():
                raise PolicyError(
                    f"adapter {self.name!r}: the policy returned {np.round(values[far][0], 4).tolist()} for a "
                    f"{self.format}, whose norm is {norms[far][0]:.3g} and not 1; set `format` to what it returns"
                )
        quat = FORMATS[self.format].to_quat(values)
        converted: Floats = FORMATS[wanted.rotation].from_quat(quat) / wanted.scale
        return converted
