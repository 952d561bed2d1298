"""Where a real camera stands, and its lens, from one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from foretell.camera import Intrinsics
from foretell.errors import UsageError, suggest
from foretell.match.board import board_points
from foretell.match.mounted import on_its_body
from foretell.match.opencv import opencv
from foretell.match.picture import read_picture, require_png, write_picture
from foretell.match.pinhole import Fit, Pinhole, Spread, fit_pinhole, project, unknowns
from foretell.match.points import NO_LINES, Lines, Point, read_lines, read_points
from foretell.match.world import add_transform, require_world

__all__ = ["MatchedView", "camera", "draw_residuals", "solve"]

WRONG = 3.0
"""A point is called out if the others agree so many times better without it."""


@dataclass(frozen=True, kw_only=True)
class MatchedView:
    """A camera that was matched to a picture."""

    camera: Pinhole
    points: tuple[Point, ...]
    lines: Lines
    fit: Fit
    spread: Spread | None
    doubted: str | None
    """A point that does not agree with the others."""
    out: Path | None = None
    world: Path | None = None
    shape: str | None = None
    """What to know where the camera of the task takes pictures of another shape."""

    @property
    def residuals(self) -> np.ndarray:
        """(n, 2) pixels: where the fitted camera shows each point, less where the picture does."""
        return np.asarray(project(self.camera, _xyz(self.points)) - _uv(self.points))

    @property
    def rms(self) -> float:
        """Root mean square distance of the points, pixels."""
        return float(np.sqrt(np.mean(np.sum(self.residuals**2, axis=1))))

    @property
    def notes(self) -> list[str]:
        notes = []
        if self.doubted is not None:
            notes.append(f"point {self.doubted!r} does not agree with the others: is it the right point?")
        if self.spread is None:
            notes.append("there are as many unknowns as coordinates, so nothing tells how certain this is: add points")
        elif self.spread.focal is not None and self.spread.focal > 0.05:
            notes.append(
                "the focal length is uncertain: give the lens (--lens), or points at other distances from the camera"
            )
        if self.rms > 5:
            notes.append(
                "the points are far off: are they the right ones, in metres, and is the lens without distortion?"
            )
        return [*notes, *([self.shape] if self.shape else [])]

    def transform(self, name: str) -> dict[str, Any]:
        """What a world file says of the camera of this name."""
        lens = self.camera.lens
        return {
            "use": "camera",
            "cameras": [name],
            "pos": [round(v, 6) for v in self.camera.pos.tolist()],
            "quat": [round(v, 8) for v in self.camera.quat.tolist()],
            **{key: round(float(getattr(lens, key)), 4) for key in ("fx", "fy", "cx", "cy")},
            "width": lens.width,
            "height": lens.height,
        }

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        spread = self.spread
        return {
            **{key: value for key, value in self.transform("").items() if key not in ("use", "cameras")},
            "fit": self.fit,
            "rms_px": self.rms,
            "position_95_m": None if spread is None else spread.position,
            "angle_95_deg": None if spread is None else float(np.degrees(spread.angle)),
            "focal_95_share": None if spread is None else spread.focal,
            "points": [
                {"name": point.name, "xyz": list(point.xyz), "uv": list(point.uv or ()), "residual": residual}
                for point, residual in zip(self.points, self.residuals.tolist(), strict=True)
            ],
            "lines": len(self.lines.axes),
            "notes": self.notes,
            "out": None if self.out is None else str(self.out),
            "world": None if self.world is None else str(self.world),
        }

    def text(self) -> str:
        lens, spread = self.camera.lens, self.spread
        x, y, z = self.camera.pos
        w, a, b, c = self.camera.quat
        lines = [
            f"position    {x:.4f} {y:.4f} {z:.4f} m" + (f", ± {1000 * spread.position:.1f} mm" if spread else ""),
            f"orientation {w:.5f} {a:.5f} {b:.5f} {c:.5f} (wxyz)"
            + (f", ± {np.degrees(spread.angle):.2f} degrees" if spread else ""),
            f"lens        fx {lens.fx:.1f}, fy {lens.fy:.1f}, cx {lens.cx:.1f}, cy {lens.cy:.1f} for {lens.width}x"
            f"{lens.height} pixels" + (f", focal ± {spread.focal:.1%}" if spread and spread.focal is not None else ""),
            f"residuals   {self.rms:.2f} pixels (root mean square of {len(self.points)} points"
            + (f", with {len(self.lines.axes)} lines)" if len(self.lines.axes) else ")"),
        ]
        lines += ["± is the largest semi-axis of the joint 95 % region, from the residuals"] * (spread is not None)
        wide = max(len(point.name) for point in self.points)
        for point, (du, dv) in zip(self.points, self.residuals.tolist(), strict=True):
            lines.append(f"  {point.name:<{wide}}  {du:+7.2f} {dv:+7.2f}")
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"residuals drawn: {self.out}"] * (self.out is not None)
        lines += [f"world: {self.world}, which a study can name"] * (self.world is not None)
        return "\n".join(lines)


def camera(
    image: str | Path,
    *,
    points: str | Path | None = None,
    board: str | None = None,
    at: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    lines: str | Path | None = None,
    lens: Sequence[float] = (),
    fit: str | None = None,
    out: str | Path | None = None,
    camera: str | None = None,
    world: str | Path | None = None,
    task: str | None = None,
) -> MatchedView:
    """Where the camera of a picture stands in the task frame, and its lens.

    It is known from `points` (a file of points in the task frame and in the picture), from a `board` that is found in
    the picture (see `foretell.match.board`; `at` is where it lies: x, y, z, yaw in m and rad), or from `lines` along
    the axes of the task frame with two points or more. `lens` (fx, fy, cx, cy) is a calibration; without it, the focal
    length is fitted. `fit` says what is fitted: `pose`, `focal` or `lens`. `out` is the picture to write, with the
    residuals. `camera` and `world` name a camera and a world file to write or extend. `task` is needed for a camera on
    a robot.
    """
    target = None if out is None else require_png(out, "out")
    if (camera is None) != (world is None):
        raise UsageError("camera and world: give both, or neither: the world file gets the pose of this camera")
    file = None if world is None else require_world(world)
    picture = read_picture(image, "image")
    match = solve(picture, *gathered(picture, points, board, at, lines), lens=lens, fit=fit)
    if target is not None:
        write_picture(target, draw_residuals(picture, match))
    shape = None
    if file is not None and camera is not None:
        transform, shape = on_its_body(match.transform(camera), file, task)
        add_transform(file, transform)
    return MatchedView(**{**vars(match), "out": target, "world": file, "shape": shape})


def gathered(
    picture: np.ndarray, points: str | Path | None, board: str | None, at: Sequence[float], lines: str | Path | None
) -> tuple[list[Point], Lines]:
    """All that ties a picture to the task frame."""
    if points is None and board is None and lines is None:
        raise UsageError("give points, a board or lines: something must tie the picture to the task frame")
    if len(at) != 4:
        raise UsageError(f"at: {len(at)} numbers; it should be x, y, z (m) and yaw (rad)")
    known = [] if points is None else read_points(points)
    if board is not None:
        known = board_points(picture, board, at, known)
    return known, NO_LINES if lines is None else read_lines(lines)


def solve(
    picture: np.ndarray,
    points: Sequence[Point],
    lines: Lines = NO_LINES,
    *,
    lens: Sequence[float] = (),
    fit: str | None = None,
) -> MatchedView:
    """The camera of a picture (height, width, 3) from points and lines."""
    height, width = picture.shape[:2]
    how = _fit(fit, lens)
    begin = _lens(lens, height, width)
    if missing := [point.name for point in points if point.uv is None]:
        raise UsageError(
            f"points: {', '.join(missing[:5])}: no u, v: click {'them' if len(missing) > 1 else 'it'} in a page "
            "(--click), or write them into the file"
        )
    for point in points:
        u, v = point.uv or (0, 0)
        if not (0 <= u <= width and 0 <= v <= height):
            raise UsageError(f"points: {point.name} is at {u:g}, {v:g}, outside the picture of {width}x{height} pixels")
    _require_enough(points, lines, how)
    xyz, uv = _xyz(points), _uv(points)
    fitted = fit_pinhole(xyz, uv, lines, begin, how)
    if fitted is None:
        raise UsageError(
            "no camera shows the points like this: are they all in one line, or is x, y, z of one wrong?"
            if not len(lines.axes)
            else "no camera shows the points and lines like this: do lines along two axes meet in the picture's plane?"
        )
    view, spread = fitted
    doubted = _doubted(view, points, lines, begin, how)
    return MatchedView(camera=view, points=tuple(points), lines=lines, fit=how, spread=spread, doubted=doubted)


def _fit(fit: str | None, lens: Sequence[float]) -> Fit:
    known = get_args(Fit)
    if fit is not None and fit not in known:
        raise UsageError(f"fit: {fit!r:.100} is not known; {suggest(fit, known)}")
    if fit == "pose" and not lens:
        raise UsageError("fit: pose needs a lens (--lens FX FY CX CY)")
    chosen: Fit = fit or ("pose" if lens else "focal")  # type: ignore[assignment] # it was checked
    return chosen


def _lens(lens: Sequence[float], height: int, width: int) -> Intrinsics:
    if not lens:
        return Intrinsics.of_fovy(45.0, height, width)
    if len(lens) != 4 or not min(lens) > 0 or not (lens[2] < width and lens[3] < height):
        raise UsageError(
            f"lens: {' '.join(f'{v:g}' for v in lens)} should be fx, fy, cx, cy in pixels, with cx, cy in the picture "
            f"of {width}x{height} pixels"
        )
    fx, fy, cx, cy = lens
    return Intrinsics(fx=fx, fy=fy, cx=cx, cy=cy, width=width, height=height)


def _require_enough(points: Sequence[Point], lines: Lines, fit: Fit) -> None:
    along = [axis for axis in range(3) if (lines.axes == axis).sum() >= 2]
    if len(along) >= 2 and len(points) >= 2:
        return
    if len(lines.axes) and len(points) < 4:
        raise UsageError(
            f"lines: {len(lines.axes)} lines and {len(points)} points; it takes two lines along each of two axes, and "
            "two points, which say how large things are"
        )
    least = max(4, -(-unknowns(fit) // 2))
    if len(points) < least:
        raise UsageError(f"points: {len(points)}; to fit {fit} takes {least} or more, better twice as many")


def _doubted(view: Pinhole, points: Sequence[Point], lines: Lines, lens: Intrinsics, fit: Fit) -> str | None:
    """The point without which the others agree much better."""
    worst = int(np.argmax(np.linalg.norm(project(view, _xyz(points)) - _uv(points), axis=1)))
    others = [point for i, point in enumerate(points) if i != worst]
    if 2 * len(others) + len(lines.axes) <= unknowns(fit) + 1 or len(others) < 4:
        return None
    without = fit_pinhole(_xyz(others), _uv(others), lines, lens, fit)
    if without is None:
        return None
    before = project(view, _xyz(points)) - _uv(points)
    after = project(without[0], _xyz(others)) - _uv(others)
    better = np.sqrt(np.mean(before**2)) > WRONG * max(np.sqrt(np.mean(after**2)), 0.05)
    return points[worst].name if better else None


def _xyz(points: Sequence[Point]) -> np.ndarray:
    return np.array([point.xyz for point in points], dtype=float).reshape(-1, 3)


def _uv(points: Sequence[Point]) -> np.ndarray:
    return np.array([point.uv for point in points], dtype=float).reshape(-1, 2)


COLOURS = (230, 40, 40), (40, 170, 40), (60, 90, 255)
"""Of the axes x, y and z."""


def draw_residuals(picture: np.ndarray, match: MatchedView) -> np.ndarray:
    """(height, width, 3): each point as it was given (a ring), where the fitted camera shows it (a cross), each line as
    it was given, and the axes of the task frame (x red, y green, z blue; 10 cm)."""
    cv2 = opencv()
    drawn = np.ascontiguousarray(picture).copy()
    size = max(1, round(picture.shape[1] / 640))
    axes = project(match.camera, np.vstack([np.zeros(3), 0.1 * np.eye(3)]))
    for axis, (begin, end) in zip(match.lines.axes.tolist(), match.lines.ends, strict=True):
        cv2.line(drawn, _pixel(begin), _pixel(end), COLOURS[axis], size, cv2.LINE_AA)
    if not np.isnan(axes).any() and np.abs(axes).max() < 1e4:
        for tip, colour in zip(axes[1:], COLOURS, strict=True):
            cv2.arrowedLine(drawn, _pixel(axes[0]), _pixel(tip), colour, 2 * size, cv2.LINE_AA)
    for given, shown in zip(_uv(match.points), project(match.camera, _xyz(match.points)), strict=True):
        cv2.line(drawn, _pixel(given), _pixel(shown), (255, 230, 0), size, cv2.LINE_AA)
        cv2.circle(drawn, _pixel(given), 5 * size, (255, 230, 0), size, cv2.LINE_AA)
        cv2.drawMarker(drawn, _pixel(shown), (255, 0, 200), cv2.MARKER_TILTED_CROSS, 7 * size, size, cv2.LINE_AA)
    return np.asarray(drawn)


def _pixel(at: np.ndarray) -> tuple[int, int]:
    """The pixel of a place; OpenCV counts from the middle of the first one."""
    u, v = np.clip(at, -1e4, 1e4)
    return round(float(u) - 0.5), round(float(v) - 0.5)
