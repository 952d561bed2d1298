"""A pinhole camera fitted to points and lines: OpenCV's PnP to begin with, then Levenberg-Marquardt on all of it.

Orientations here are OpenCV's: x right, y down, z ahead. `Pinhole.quat` is MuJoCo's, which looks along -z.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import optimize, stats

from foretell.arrays import Floats
from foretell.camera import Intrinsics
from foretell.match.opencv import opencv
from foretell.match.points import Lines
from foretell.rotation import from_matrix

__all__ = ["Fit", "Pinhole", "Spread", "fit_pinhole", "project", "unknowns"]

Fit = Literal["pose", "focal", "lens"]
"""What is fitted: the pose alone, one focal length too, or all of fx, fy, cx, cy too."""
EXTRA = {"pose": 0, "focal": 1, "lens": 4}
FOCAL = np.geomspace(0.4, 5.0, 28)
"""Focal lengths to begin with, in picture widths: from a wide-angle lens to a telephoto lens."""
FLIP = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Pinhole:
    """Where a camera stands and its lens."""

    turn: Floats
    """(3, 3) rotates the task frame into the camera's."""
    pos: Floats
    """(3,) m, in the task frame."""
    lens: Intrinsics

    @property
    def quat(self) -> Floats:
        """wxyz, of a camera that looks along its own -z."""
        return from_matrix(self.turn.T @ FLIP)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How certain a fit is. Each is the largest semi-axis of a joint 95 % region, as residuals give it."""

    position: float
    """m."""
    angle: float
    """rad."""
    focal: float | None
    """Relative; None where it was not fitted."""
    pixel: float
    """Standard deviation of a coordinate of a point, pixels."""


def unknowns(fit: Fit) -> int:
    return 6 + EXTRA[fit]


def project(camera: Pinhole, xyz: Floats) -> Floats:
    """(n, 2) pixels of points (n, 3). Those behind the camera are NaN."""
    x, y, z = ((xyz - camera.pos) @ camera.turn.T).T
    z = np.where(z > 1e-6, z, np.nan)
    lens = camera.lens
    return np.stack([lens.cx + lens.fx * x / z, lens.cy + lens.fy * y / z], axis=-1)


def fit_pinhole(
    xyz: Floats, uv: Floats, lines: Lines, lens: Intrinsics, fit: Fit
) -> tuple[Pinhole, Spread | None] | None:
    """The camera that shows points (n, 3) nearest to (n, 2) pixels, and lines along their axes, with its spread; None
    if no camera does. `lens` is the lens, or where the fit of it begins. The spread is None where there are as many
    unknowns as numbers."""
    solutions: list[tuple[float, Pinhole]] = []
    starts = sorted(_starts(xyz, uv, lines, lens, fit), key=lambda start: _cost(start, xyz, uv, lines))[:6]
    for start in starts:
        try:
            solved = optimize.least_squares(
                lambda p, start=start: _residuals(_moved(start, p, fit), xyz, uv, lines),
                np.zeros(unknowns(fit)),
                method="lm",
                x_scale=_scale(start, xyz, fit),
                max_nfev=4000,
            )
        except ValueError:  # not finite: it went through a point
            continue
        camera = _moved(start, solved.x, fit)
        if not np.isnan(project(camera, xyz)).any():
            solutions.append((float(solved.cost), camera))
    if not solutions:
        return None
    least = min(cost for cost, _ in solutions)
    # where points in one line leave open which way an axis runs, up is up in the picture
    alike = [solution for solution in solutions if solution[0] <= 1.001 * least + 1e-6]
    cost, camera = min(alike, key=lambda solution: solution[1].turn[1, 2])
    return camera, _spread(camera, xyz, uv, lines, fit, cost)


def _moved(camera: Pinhole, p: Floats, fit: Fit) -> Pinhole:
    """A camera turned by p[:3] rad about its own axes, moved by p[3:6] m, and with another lens."""
    angle = float(np.linalg.norm(p[:3]))
    turn = camera.turn if angle == 0 else _rodrigues(p[:3], angle) @ camera.turn
    lens, more = camera.lens, p[6:]
    if fit == "focal":
        lens = replace(lens, fx=lens.fx * np.exp(more[0]), fy=lens.fy * np.exp(more[0]))
    elif fit == "lens":
        fx, fy = lens.fx * np.exp(more[0]), lens.fy * np.exp(more[1])
        lens = replace(lens, fx=fx, fy=fy, cx=lens.cx + lens.fx * more[2], cy=lens.cy + lens.fy * more[3])
    return Pinhole(turn, camera.pos + p[3:6], lens)


def _rodrigues(rotation: Floats, angle: float) -> Floats:
    x, y, z = rotation / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def _scale(camera: Pinhole, xyz: Floats, fit: Fit) -> Floats:
    far = float(np.median(np.linalg.norm(xyz - camera.pos, axis=1))) if len(xyz) else 1.0
    return np.concatenate([np.full(3, 0.1), np.full(3, 0.1 * far), np.full(EXTRA[fit], 0.1)])


def _residuals(camera: Pinhole, xyz: Floats, uv: Floats, lines: Lines) -> Floats:
    """(2 n + m,) pixels."""
    shown = project(camera, xyz)
    apart = np.where(np.isnan(shown), 1e4, shown - uv)
    return np.concatenate([apart.ravel(), _strayed(camera, lines)])


def _strayed(camera: Pinhole, lines: Lines) -> Floats:
    """(m,) pixels from the end of each line to the line through its middle that runs along its axis."""
    if not len(lines.axes):
        return np.zeros(0)
    lens = camera.lens
    matrix = np.array([[lens.fx, 0, lens.cx], [0, lens.fy, lens.cy], [0, 0, 1]])
    vanishing = camera.turn[:, lines.axes].T @ matrix.T
    middle = np.column_stack([lines.ends.mean(axis=1), np.ones(len(lines.axes))])
    drawn = np.cross(middle, vanishing)
    end = np.column_stack([lines.ends[:, 0], np.ones(len(lines.axes))])
    return np.asarray((drawn * end).sum(axis=1) / np.maximum(np.hypot(drawn[:, 0], drawn[:, 1]), 1e-12))


def _cost(camera: Pinhole, xyz: Floats, uv: Floats, lines: Lines) -> float:
    return float(np.sum(_residuals(camera, xyz, uv, lines) ** 2))


def _spread(camera: Pinhole, xyz: Floats, uv: Floats, lines: Lines, fit: Fit, cost: float) -> Spread | None:
    """From the residuals: their size, and how they change with the camera."""
    free = 2 * len(xyz) + len(lines.axes) - unknowns(fit)
    if free <= 0:
        return None
    slope = optimize.approx_fprime(
        np.zeros(unknowns(fit)), lambda p: _residuals(_moved(camera, p, fit), xyz, uv, lines), 1e-7
    )
    variance = 2 * cost / free
    try:
        covariance = variance * np.linalg.inv(slope.T @ slope)
    except np.linalg.LinAlgError:
        return None
    radius = np.sqrt(3 * stats.f.ppf(0.95, 3, free))
    angle, position = (radius * np.sqrt(np.linalg.eigvalsh(covariance[i : i + 3, i : i + 3])[-1]) for i in (0, 3))
    focal = stats.t.ppf(0.975, free) * np.sqrt(covariance[6, 6]) if fit != "pose" else None
    return Spread(
        position=float(position),
        angle=float(angle),
        focal=None if focal is None else float(focal),
        pixel=float(np.sqrt(variance)),
    )


def _starts(xyz: Floats, uv: Floats, lines: Lines, lens: Intrinsics, fit: Fit) -> Iterator[Pinhole]:
    """Cameras to begin with: from the vanishing points of lines, and by PnP at many focal lengths."""
    yield from _from_lines(xyz, uv, lines, lens, fit)
    if len(xyz) < 4:
        return
    focals = [lens.fx] if fit == "pose" else [*(FOCAL * lens.width).tolist(), lens.fx]
    for focal in focals:
        tried = replace(lens, fx=focal, fy=focal * lens.fy / lens.fx)
        yield from _pnp(xyz, uv, tried)


def _pnp(xyz: Floats, uv: Floats, lens: Intrinsics) -> Iterator[Pinhole]:
    cv2 = opencv()
    matrix = np.array([[lens.fx, 0, lens.cx], [0, lens.fy, lens.cy], [0, 0, 1]])
    try:
        _, turns, shifts, _ = cv2.solvePnPGeneric(xyz, uv, matrix, None, flags=cv2.SOLVEPNP_SQPNP)
    except cv2.error:  # points in a line
        return
    for rotation, shift in zip(turns, shifts, strict=True):
        turn, _ = cv2.Rodrigues(rotation)
        yield Pinhole(turn, -turn.T @ shift.ravel(), lens)


def _from_lines(xyz: Floats, uv: Floats, lines: Lines, lens: Intrinsics, fit: Fit) -> Iterator[Pinhole]:
    """Rotation and focal length from two vanishing points, and the place from two points or more."""
    axes = [axis for axis in range(3) if (lines.axes == axis).sum() >= 2]
    centre = np.array([lens.cx, lens.cy])
    for a, b in itertools.combinations(axes, 2):
        first, second = (_vanishing(lines, axis, centre, lens.width) for axis in (a, b))
        focal = lens.fx
        if fit != "pose":
            square = -float(first[:2] @ second[:2]) / float(first[2] * second[2] or 1e-12)
            if not 0.1 * lens.width < np.sqrt(max(square, 0.0)) < 20 * lens.width:
                continue
            focal = float(np.sqrt(square))
        rays = [ray / np.linalg.norm(ray) for ray in (first / [focal, focal, 1], second / [focal, focal, 1])]
        for signs in itertools.product((1, -1), (1, -1)):
            columns = np.zeros((3, 3))
            columns[:, a], columns[:, b] = signs[0] * rays[0], signs[1] * rays[1]
            c = 3 - a - b
            columns[:, c] = np.cross(columns[:, (c + 1) % 3], columns[:, (c + 2) % 3])
            u, _, v = np.linalg.svd(columns)
            if np.linalg.det(u @ v) > 0 and len(xyz) >= 2:
                tried = replace(lens, fx=focal, fy=focal * lens.fy / lens.fx)
                yield Pinhole(u @ v, _placed(u @ v, xyz, uv, tried), tried)


def _vanishing(lines: Lines, axis: int, centre: Floats, width: int) -> Floats:
    """(3,) where the lines of an axis meet, from the centre of the picture, homogeneous."""
    ends = (lines.ends[lines.axes == axis] - centre) / width
    ones = np.ones((len(ends), 1))
    through = np.cross(np.hstack([ends[:, 0], ones]), np.hstack([ends[:, 1], ones]))
    through /= np.linalg.norm(through[:, :2], axis=1, keepdims=True)
    meet = np.linalg.svd(through)[2][-1]
    return np.asarray(meet * [width, width, 1])


def _placed(turn: Floats, xyz: Floats, uv: Floats, lens: Intrinsics) -> Floats:
    """(3,) the place from which points (n, 3) are seen at pixels (n, 2), by linear least squares."""
    rays = np.column_stack([(uv - [lens.cx, lens.cy]) / [lens.fx, lens.fy], np.ones(len(uv))])
    rays = (rays / np.linalg.norm(rays, axis=1, keepdims=True)) @ turn
    across = np.eye(3) - rays[:, :, None] * rays[:, None, :]
    place, *_ = np.linalg.lstsq(across.reshape(-1, 3), np.einsum("nij,nj->ni", across, xyz).ravel(), rcond=None)
    return np.asarray(place)
