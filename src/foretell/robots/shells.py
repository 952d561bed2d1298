"""Outer shells of robots, generated from signed distances: smooth looks without mesh files.

A shape is a `Field`: points (n, 3) in metres -> signed distance (n,), negative inside. Fields combine with
`blend` and `cut`; `skin` turns one into a closed triangle mesh of a few hundred faces (naive surface nets,
vertices then pulled onto the true surface, normals from the field's gradient). `loft` joins outlines.
Rims sharper than the grid come out ragged: give fields wide edges and put a cylinder over the rim.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np
import numpy.typing as npt

from foretell.arrays import Floats

__all__ = ["Field", "Shell", "Skin", "add_skin", "blend", "cut", "dress_panda", "loft", "rod", "skin", "slab"]

Point = Sequence[float]
Field = Callable[[Floats], Floats]


def rod(a: Point, b: Point, radius: float, radius_b: float | None = None, edge: float = 0.004) -> Field:
    """Solid of revolution from `a` to `b` with flat ends whose rim is rounded by `edge` metres.

    `radius_b` tapers it linearly (the distance is then approximate, which `skin` mends).
    """
    start, end = np.asarray(a, float), np.asarray(b, float)
    half = float(np.linalg.norm(end - start)) / 2
    axis = (end - start) / (2 * half)
    slope = ((radius if radius_b is None else radius_b) - radius) / (2 * half)

    def field(p: Floats) -> Floats:
        along = (p - start) @ axis
        across = np.linalg.norm(p - start - along[:, None] * axis, axis=1)
        out = np.stack([across - radius - slope * along, np.abs(along - half) - half], axis=1) + edge
        distance: Floats = np.linalg.norm(np.maximum(out, 0), axis=1) + np.minimum(out.max(axis=1), 0) - edge
        return distance

    return field


def slab(center: Point, half: Point, edge: float = 0.004) -> Field:
    """Box with rounded edges; `half` includes the rounding."""
    mid, inner = np.asarray(center, float), np.asarray(half, float) - edge

    def field(p: Floats) -> Floats:
        out = np.abs(p - mid) - inner
        distance: Floats = np.linalg.norm(np.maximum(out, 0), axis=1) + np.minimum(out.max(axis=1), 0) - edge
        return distance

    return field


def blend(width: float, *fields: Field) -> Field:
    """Union whose creases are filled over about `width` metres, like a moulded shell."""

    def field(p: Floats) -> Floats:
        total = fields[0](p)
        for other in fields[1:]:
            value = other(p)
            fill = np.maximum(width - np.abs(total - value), 0) / width
            total = np.minimum(total, value) - fill**2 * width / 4
        return total

    return field


def cut(field: Field, point: Point, normal: Point) -> Field:
    """Keeps what lies behind the plane through `point` with outward unit `normal`."""
    origin, outward = np.asarray(point, float), np.asarray(normal, float)
    return lambda p: np.maximum(field(p), (p - origin) @ outward)


@dataclass(frozen=True)
class Skin:
    vertices: npt.NDArray[np.float32]
    """(n, 3), metres."""
    normals: npt.NDArray[np.float32] | None
    """(n, 3), unit, outward; None leaves them to MuJoCo, which keeps edges crisp."""
    faces: npt.NDArray[np.int32]
    """(m, 3), counter-clockwise seen from outside."""


def _gradient(field: Field, p: Floats) -> Floats:
    step = 1e-4 * np.eye(3)
    return np.stack([field(p + s) - field(p - s) for s in step], axis=1) / 2e-4


def skin(field: Field, low: Point, high: Point, pitch: float) -> Skin:
    """Meshes the zero level of `field` inside the box `low`..`high` on a grid of `pitch` metres."""
    lows, highs = np.asarray(low, float) - pitch, np.asarray(high, float) + pitch
    shape = np.ceil((highs - lows) / pitch).astype(int) + 1
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), axis=-1).reshape(-1, 3)
    value = field(lows + grid * pitch).reshape(shape)
    inside = value < 0

    # One vertex per cell that the surface crosses: the mean of the crossings on the cell's twelve edges.
    cells = tuple(shape - 1)
    total, count = np.zeros((*cells, 3)), np.zeros(cells)
    corner = np.stack(np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"), axis=-1)
    for axis in range(3):
        others = [k for k in range(3) if k != axis]
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            offset = np.zeros(3, int)
            offset[others] = i, j
            tail = tuple(slice(o, o + n) for o, n in zip(offset, cells, strict=True))
            head = tuple(
                slice(o + (k == axis), o + (k == axis) + n) for k, (o, n) in enumerate(zip(offset, cells, strict=True))
            )
            crossed = inside[tail] != inside[head]
            share = np.where(crossed, value[tail] / np.where(crossed, value[tail] - value[head], 1), 0)
            step = share[..., None] * np.eye(3)[axis]
            total += crossed[..., None] * (corner + offset + step)
            count += crossed
    used = count > 0
    index = np.full(cells, -1)
    index[used] = np.arange(used.sum())
    vertices = lows + pitch * total[used] / count[used][:, None]
    for _ in range(4):  # Newton steps along the gradient; clipped, as a kink's gradient may be short
        slope = _gradient(field, vertices)
        size = np.maximum((slope**2).sum(axis=1), 0.25)
        vertices = vertices - np.clip(field(vertices) / size, -pitch, pitch)[:, None] * slope
    normals = _gradient(field, vertices)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)

    # One quad per crossed grid edge, between the four cells around that edge.
    faces = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        before, after = np.moveaxis(inside, axis, 0)[:-1], np.moveaxis(inside, axis, 0)[1:]
        for rising in (True, False):
            edge = np.argwhere((before & ~after) if rising else (~before & after))
            rest = [k for k in range(3) if k != axis]
            at = np.empty_like(edge)
            at[:, [axis, *rest]] = edge
            ring = []
            for du, dv in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
                cell = at.copy()
                cell[:, u] += du
                cell[:, v] += dv
                ring.append(index[tuple(cell.T)])
            a, b, c, d = ring if rising else ring[::-1]
            faces += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    return Skin(vertices.astype(np.float32), normals.astype(np.float32), np.concatenate(faces).astype(np.int32))


def loft(sections: Sequence[Sequence[float]], points: int = 24) -> Skin:
    """Joins superellipses along z, rows of (z, centre x, half x, half y, power), and caps the ends."""
    angle = np.arange(points) * 2 * np.pi / points
    c, s = np.cos(angle), np.sin(angle)
    rings = []
    for z, x, half_x, half_y, power in sections:
        u, v = (np.sign(w) * np.abs(w) ** (2 / power) for w in (c, s))
        rings.append(np.stack([x + half_x * u, half_y * v, np.full(points, z)], axis=1))
    vertices = np.concatenate([*rings, rings[0].mean(axis=0)[None], rings[-1].mean(axis=0)[None]])
    here = np.arange(points)
    there = (here + 1) % points
    top, middle = (len(rings) - 1) * points, len(rings) * points
    faces = [
        np.stack([here, there, np.full(points, middle)], axis=1)[:, ::-1],
        np.stack([top + here, top + there, np.full(points, middle + 1)], axis=1),
    ]
    for low in range(0, top, points):
        high = low + points
        faces += [
            np.stack([low + here, low + there, high + there], axis=1),
            np.stack([low + here, high + there, high + here], axis=1),
        ]
    return Skin(vertices.astype(np.float32), None, np.concatenate(faces).astype(np.int32))


def add_skin(spec: mujoco.MjSpec, name: str, shape: Skin) -> None:
    """Adds `shape` to the spec's meshes under `name`."""
    mesh = spec.add_mesh(name=name, uservert=shape.vertices.ravel(), userface=shape.faces.ravel())
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # cheapest; visual geoms have no mass
    if shape.normals is not None:
        mesh.usernormal = shape.normals.ravel()
        mesh.userfacenormal = shape.faces.ravel()


# ---- Panda: shapes drawn for foretell after the real arm's outline; metres, in the frame of the named link.

_COLOURS = {
    "white": (0.90, 0.91, 0.92, 1.0),
    "offwhite": (0.78, 0.80, 0.82, 1.0),
    "dark": (0.16, 0.17, 0.18, 1.0),
    "black": (0.06, 0.06, 0.065, 1.0),
    "steel": (0.42, 0.43, 0.45, 1.0),
}
_R = 0.055  # radius of every joint housing from 1 to 5


@cache
def _panda_skins() -> dict[str, Skin]:
    """The moulded parts; `shoulder` serves links 1 and 2, `elbow` links 3 and 4, each turned about x."""
    base = (
        (0.004, -0.035, 0.104, 0.074, 3.2),
        (0.035, -0.034, 0.103, 0.073, 3.2),
        (0.062, -0.030, 0.097, 0.068, 2.9),
        (0.085, -0.018, 0.080, 0.063, 2.5),
        (0.105, -0.006, 0.064, 0.058, 2.1),
        (0.125, 0.0, _R, _R, 2.0),
    )
    hand = (
        (-0.008, 0.0, 0.022, 0.066, 3.5),
        (-0.002, 0.0, 0.029, 0.075, 3.5),
        (0.015, 0.0, 0.0315, 0.080, 4.0),
        (0.034, 0.0, 0.0315, 0.096, 5.0),
        (0.044, 0.0, 0.0315, 0.101, 5.0),
        (0.058, 0.0, 0.0315, 0.101, 5.0),
        (0.064, 0.0, 0.028, 0.098, 5.0),
    )
    shoulder = blend(
        0.045,
        rod((0, 0, -0.19), (0, 0, -0.082), _R, edge=0.02),
        cut(rod((0, -0.13, 0), (0, 0.08, 0), _R, edge=0.042), (0, -0.004, 0), (0, 1, 0)),
        rod((0, 0.005, -0.13), (0, -0.065, -0.01), 0.05, edge=0.04),
    )
    elbow = blend(
        0.035,
        rod((0, 0, -0.119), (0, 0, 0.006), _R, edge=0.03),
        cut(rod((0.0825, -0.05, 0), (0.0825, 0.078, 0), 0.0545, edge=0.012), (0, 0.004, 0), (0, -1, 0)),
        cut(rod((0, 0.02, -0.045), (0.0825, 0.035, 0), 0.045, edge=0.03), (0, 0.004, 0), (0, -1, 0)),
    )
    forearm = blend(
        0.05,
        rod((0, 0, -0.257), (0, 0, -0.185), _R, edge=0.02),
        rod((0, 0.008, -0.2), (0, 0.084, 0.0), 0.044, 0.034, edge=0.02),
        rod((0, 0.05, 0), (0, 0.12, 0), 0.047, edge=0.02),
    )
    wrist = blend(
        0.04,
        rod((0, 0, -0.048), (0, 0, 0.03), 0.047, edge=0.015),
        rod((0.088, -0.05, 0), (0.088, 0.078, 0), 0.0435, edge=0.015),
        rod((0.02, 0.005, 0), (0.088, 0.015, 0), 0.04, edge=0.02),
    )
    return {
        "base": loft(base),
        "hand": loft(hand),
        "shoulder": skin(shoulder, (-0.06, -0.13, -0.19), (0.06, 0.06, 0.06), 0.018),
        "elbow": skin(elbow, (-0.06, -0.06, -0.12), (0.14, 0.08, 0.06), 0.018),
        "forearm": skin(forearm, (-0.06, -0.06, -0.26), (0.06, 0.12, 0.05), 0.018),
        "wrist": skin(wrist, (-0.05, -0.055, -0.05), (0.135, 0.08, 0.05), 0.016),
    }


class Shell:
    """Adds visual geoms to the bodies of a spec. Positions and sizes in m, in the frame of the body."""

    def __init__(self, spec: mujoco.MjSpec) -> None:
        self.spec = spec

    def _add(self, body: str, material: str, kind: mujoco.mjtGeom, **shape: object) -> None:
        self.spec.body(body).add_geom(type=kind, material=material, group=2, contype=0, conaffinity=0, mass=0, **shape)

    def moulded(self, body: str, material: str, mesh: str, **pose: object) -> None:
        self._add(body, material, mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh, **pose)

    def disc(self, body: str, material: str, a: Point, b: Point, radius: float) -> None:
        self._add(body, material, mujoco.mjtGeom.mjGEOM_CYLINDER, fromto=[*a, *b], size=[radius, 0, 0])

    def dome(self, body: str, material: str, pos: Point, radii: Point, **pose: object) -> None:
        self._add(body, material, mujoco.mjtGeom.mjGEOM_ELLIPSOID, pos=pos, size=radii, **pose)

    def block(self, body: str, material: str, pos: Point, half: Point, **pose: object) -> None:
        self._add(body, material, mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=half, **pose)


def dress_panda(spec: mujoco.MjSpec) -> None:
    """Adds the visual geoms (group 2, no contacts, no mass) to the bodies of a Panda spec."""
    for name, rgba in _COLOURS.items():
        spec.add_material(name=name, rgba=rgba, specular=0.4, shininess=0.35)
    for name, shape in _panda_skins().items():
        add_skin(spec, name, shape)
    shell = Shell(spec)
    _dress_housings(shell)
    _dress_seams(shell)
    _dress_wrist(shell)
    _dress_hand(shell)


def _dress_housings(shell: Shell) -> None:
    quarter = np.sqrt(0.5)
    shell.moulded("link0", "white", "base")
    shell.moulded("link1", "white", "shoulder")
    shell.moulded("link2", "white", "shoulder", quat=[quarter, -quarter, 0, 0])
    shell.moulded("link3", "white", "elbow")
    shell.moulded("link4", "white", "elbow", pos=[-0.0825, 0, 0], quat=[quarter, quarter, 0, 0])
    shell.moulded("link5", "white", "forearm")
    shell.moulded("link6", "white", "wrist")
    shell.moulded("hand", "offwhite", "hand")

    shell.block("link0", "offwhite", (-0.082, 0, 0.007), (0.07, 0.09, 0.007))
    shell.disc("link0", "offwhite", (0, 0, 0), (0, 0, 0.014), 0.072)
    for side in (1, -1):
        shell.block("link0", "steel", (-0.075, side * 0.0725, 0.035), (0.032, 0.002, 0.014))


def _dress_seams(shell: Shell) -> None:
    """A crisp white end on each housing, and the dark seam where it turns against the next."""
    for body, axis, white, seam in (
        ("link0", 2, (0.12, 0.1385), (0.1385, 0.1415)),
        ("link1", 2, (-0.1915, -0.165), (-0.02, -0.02)),
        ("link2", 1, (-0.194, -0.165), (-0.1965, -0.1935)),
        ("link3", 2, (-0.1195, -0.09), (-0.02, -0.02)),
        ("link4", 1, (0.09, 0.1235), (0.1235, 0.1265)),
        ("link5", 2, (-0.2575, -0.23), (-0.02, -0.02)),
    ):
        off = np.array([-0.0825 if body == "link4" else 0.0, 0, 0])
        for colour, (low, high) in (("white", white), ("dark", seam)):
            if high > low:
                at = np.eye(3)[axis]
                shell.disc(body, colour, tuple(off + low * at), tuple(off + high * at), _R)
    shell.disc("link1", "white", (0, -0.03, 0), (0, -0.0015, 0), _R)
    shell.disc("link2", "white", (0, 0, 0.03), (0, 0, 0.0015), _R)
    shell.disc("link2", "dark", (0, 0, -0.0015), (0, 0, 0.0015), 0.0535)
    shell.disc("link4", "dark", (0, 0, -0.0015), (0, 0, 0.0015), 0.0535)


def _dress_wrist(shell: Shell) -> None:
    """Elbow and wrist caps: a dark drum, domed, with a white disc in it."""
    for body, axis, x in (("link3", 1, 0.0825), ("link4", 2, 0.0)):
        at, off = np.eye(3)[axis], np.array([x, 0, 0])
        shell.disc(body, "white", tuple(off + 0.0015 * at), tuple(off + 0.07 * at), _R)
        shell.disc(body, "dark", tuple(off + 0.07 * at), tuple(off + 0.094 * at), 0.056)
        shell.dome(body, "dark", tuple(off + 0.094 * at), tuple(0.056 - 0.041 * at))
        shell.disc(body, "white", tuple(off + 0.1 * at), tuple(off + 0.1085 * at), 0.034)
        shell.dome(body, "white", tuple(off + 0.1085 * at), tuple(0.034 - 0.03 * at))
    shell.disc("link6", "dark", (0, 0, 0.012), (0, 0, 0.044), 0.049)
    shell.dome("link6", "dark", (0, 0, 0.044), (0.049, 0.049, 0.01))
    shell.disc("link6", "white", (0, 0, 0.048), (0, 0, 0.0535), 0.03)
    shell.dome("link6", "white", (0, 0, 0.0535), (0.03, 0.03, 0.003))
    shell.disc("link6", "white", (0.088, -0.0495, 0), (0.088, -0.025, 0), 0.044)
    shell.disc("link6", "white", (0.088, 0.05, 0), (0.088, 0.077, 0), 0.044)
    shell.dome("link6", "dark", (0.088, 0.077, 0), (0.039, 0.007, 0.039))  # pilot buttons on top of the wrist
    # Dark cover along the outer side of the forearm, widest at the wrist.
    shell.disc("link5", "dark", (0, 0.098, 0), (0, 0.118, 0), 0.048)
    shell.dome("link5", "dark", (0, 0.118, 0), (0.048, 0.011, 0.048))
    shell.dome("link5", "dark", (0, 0.097, -0.068), (0.037, 0.022, 0.122), quat=[np.cos(0.13), -np.sin(0.13), 0, 0])


def _dress_hand(shell: Shell) -> None:
    shell.disc("link7", "dark", (0, 0, 0.0495), (0, 0, 0.0525), 0.0435)
    shell.disc("link7", "white", (0, 0, 0.0525), (0, 0, 0.093), 0.044)
    shell.disc("link7", "dark", (0, 0, 0.093), (0, 0, 0.107), 0.0315)  # tool flange, ISO 9409-1-50: 63 mm
    turned = [np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)]  # guiding grip, along the hand's y
    shell.dome("link7", "white", (0.042, 0.042, 0.077), (0.048, 0.026, 0.0145), quat=turned)
    shell.dome("link7", "dark", (0.068, 0.068, 0.077), (0.0135, 0.016, 0.011), quat=turned)

    shell.block("hand", "dark", (0, 0, 0.0635), (0.016, 0.09, 0.0025))  # rail
    eye = shell.spec.camera("wrist")  # its housing ends 1 mm behind the lens: 42 x 42 x 23 mm
    back = np.zeros(3)
    mujoco.mju_rotVecQuat(back, np.array([0, 0, 0.0125]), eye.quat)
    shell.block("hand", "steel", tuple(eye.pos + back), (0.021, 0.021, 0.0115), quat=eye.quat)
    shell.block("hand", "dark", (0.04, 0, 0.02), (0.012, 0.012, 0.002))  # bracket
    lean = [np.cos(0.12), np.sin(0.12), 0, 0]
    for finger in ("finger1", "finger2"):
        shell.block(finger, "dark", (0, 0.0145, 0.0115), (0.0105, 0.0115, 0.007))
        shell.block(finger, "dark", (0, 0.0135, 0.028), (0.0085, 0.004, 0.015), quat=lean)
        shell.block(finger, "black", (0, 0.0055, 0.045), (0.0095, 0.0055, 0.0092))
