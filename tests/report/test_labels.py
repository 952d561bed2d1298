"""Where names are written: apart from each other, and near what they name."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import pytest

from foretell.report.labels import ALIKE, LETTER, LINE, NARROWEST, ChartLabel, apart, around, beside


def test_a_crowd_spreads_around_its_middle_and_who_stands_alone_stays() -> None:
    assert apart([0.1, 0.9], 0.05) == [0.1, 0.9]
    assert apart([0.2, 0.5, 0.5, 0.5, 0.9], 0.05) == pytest.approx([0.2, 0.45, 0.5, 0.55, 0.9])
    assert apart([0.883, 0.9, 0.933], 0.05) == pytest.approx([0.8553, 0.9053, 0.9553], abs=1e-4)
    assert apart([], 0.1) == [] and apart([0.3], 0.1) == [0.3]


@pytest.mark.parametrize("values", [[1.0] * 6, [0.0] * 6, [0.5, 0.5, 0.51, 0.99, 1.0], [0.5] * 60])
def test_names_stay_within_and_apart(values: list[float]) -> None:
    spread = apart(values, 0.05)
    assert all(b - a >= min(0.05, 1 / (len(values) - 1)) - 1e-9 for a, b in pairwise(spread))
    assert spread[0] >= 0.0 and spread[-1] <= 1.0 + 1e-9


def boxes(labels: list[ChartLabel], height: float, width: float) -> list[tuple[float, float, float, float]]:
    """Left, right, bottom and top of what is written, in pixels."""
    found = []
    for label in labels:
        x, wide = label.point[0] * width, len(label.text) * LETTER
        ends = (x - 10 - wide, x - 10) if label.left else (x + 10, x + 10 + wide)
        found.append((*ends, label.at * height - LINE / 2, label.at * height + LINE / 2))
    return found


@pytest.mark.parametrize("width", [NARROWEST, 900])
def test_names_of_near_points_do_not_cover_each_other(width: float) -> None:
    square = {"dp": (1.0, 0.933), "bc-gmm": (0.95, 0.9), "bc-transformer": (0.983, 0.883), "bc": (1.0, 0.7)}
    square |= {"bc-vae": (0.9, 0.683), "low": (0.02, 0.01), "lower": (0.04, 0.0)}
    labels = beside(list(square.items()), 420)
    assert sorted(label.text for label in labels) == sorted(square)
    for a, b in combinations(boxes(labels, 420, width), 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] + 1e-6 or b[3] <= a[2] + 1e-6
    for left, right, bottom, top in boxes(labels, 420, width):
        assert left >= 0 and right <= width and bottom >= -1e-6 and top <= 420 + 1e-6
    assert all(abs(label.at - label.point[1]) < 0.1 for label in labels)


def test_points_drawn_as_one_have_one_name() -> None:
    names = ["bc", "bc-gaussian", "bc-gmm", "dp"]
    (label,) = beside([(name, (1.0, 1.0 - 0.3 * ALIKE * i)) for i, name in enumerate(names)], 420)
    assert label.names == tuple(names) and label.text == "bc, bc-gaussian, +2"
    (label,) = beside([("a", (0.2, 0.2)), ("b", (0.2, 0.2))], 420)
    assert label.text == "a, b" and not label.left
    (label,) = beside([("x" * 200, (0.2, 0.2)), ("b", (0.2, 0.2))], 420)
    assert label.text == "x" * 15 + "…, +1"
    assert len(beside([("a", (0.2, 0.2)), ("b", (0.2, 0.25))], 420)) == 2


def test_names_around_a_circle_keep_their_side_and_order() -> None:
    angles = [math.pi * i / 10 for i in range(1, 10)]
    points = [(1.08 * math.sin(a), 1.08 * math.cos(a)) for a in angles]
    moved = around(points, 0.17)
    assert all(a[1] - b[1] >= 0.17 - 1e-9 for a, b in pairwise(moved))
    assert all(x >= 0.1 and abs(y - old[1]) < 0.17 for (x, y), old in zip(moved, points, strict=True))
    assert all(x < 0 for x, _ in around([(-x, y) for x, y in points], 0.17))
    assert around([], 0.17) == []
