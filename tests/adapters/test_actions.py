"""Numbers, rotations and grippers of other conventions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from spoken import GOOGLE, WIDOWX, Spoken, ask, ready

from foretell.adapters import adapt
from foretell.adapters.formats import FORMATS
from foretell.errors import PolicyError, UsageError
from foretell.spec import EE_DELTA

ANGLES = np.array([0.3, -0.5, 0.9])


def spoken(format: str) -> list[float]:
    turn = Rotation.from_euler("xyz", ANGLES)
    written: dict[str, Any] = {
        "axis_angle": turn.as_rotvec(),
        "euler_xyz": ANGLES,
        "euler_zyx": turn.as_euler("zyx"),
        "quaternion": turn.as_quat()[[3, 0, 1, 2]],
        "quaternion_xyzw": -1.02 * turn.as_quat(),  # of a network: not quite unit, and either sign
        "matrix_6d": turn.as_matrix()[:, :2].T.ravel(),
    }
    return [float(value) for value in written[format]]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_reaches_the_robot_as_axis_angle(format: str) -> None:
    policy = ready(adapt(Spoken([[0.0] * 3 + spoken(format) + [1.0]]), {"rotation": format}), WIDOWX)
    assert ask(policy, 0)[0, 0, 3:6] == pytest.approx(Rotation.from_euler("xyz", ANGLES).as_rotvec(), abs=1e-12)


def test_a_controller_that_takes_shares_of_a_range_gets_shares() -> None:
    policy = ready(adapt(Spoken([[0.0] * 3 + [0.0, 0.0, 0.25] + [1.0]]), {"rotation": "euler_xyz"}), EE_DELTA)
    assert ask(policy, 0)[0, 0, 3:6] == pytest.approx([0.0, 0.0, 0.5])  # 0.5 rad at 1


def test_what_is_no_quaternion_is_refused_with_value_and_fix() -> None:
    policy = ready(adapt(Spoken([[0.0] * 3 + [0.1, 0.0, 0.2, 0.0] + [1.0]]), {"rotation": "quaternion"}), WIDOWX)
    with pytest.raises(PolicyError, match=r"returned \[0.1, 0.0, 0.2, 0.0\] for a quaternion, whose norm is 0.224"):
        ask(policy, 0)


@pytest.mark.parametrize(
    ("options", "action", "value", "reaches"),
    [
        ({}, WIDOWX, 1.0, 1.0),  # 1 opens
        ({}, WIDOWX, 0.25, -0.5),
        ({"binary": True}, WIDOWX, 0.51, 1.0),
        ({"binary": True}, WIDOWX, 0.5, -1.0),
        ({"open": -1, "closed": 1}, WIDOWX, 1.0, -1.0),
        ({"open": 1, "closed": -1}, EE_DELTA, 1.0, -1.0),  # there -1 opens
        ({}, EE_DELTA, 1.2, -1.0),  # a network overshoots
    ],
)
def test_open_is_open(options: dict[str, Any], action: Any, value: float, reaches: float) -> None:
    policy = ready(adapt(Spoken([[0.0] * 6 + [value]]), [{"gripper": options}]), action)
    assert ask(policy, 0)[0, 0, 6] == reaches


def test_a_gripper_of_another_range_is_refused_with_value_and_fix() -> None:
    policy = ready(adapt(Spoken([[0.0] * 6 + [-1.0]]), "gripper"), WIDOWX)
    with pytest.raises(PolicyError, match="returned -1, and its gripper is declared to be open at 1 and closed at 0"):
        ask(policy, 0)


def test_gripper_and_sticky_gripper_agree_on_what_opens() -> None:
    script = [[0.0] * 6 + [value] for value in (0.0, 1.0, 1.0)]
    by = [{"gripper": {"open": 0, "closed": 1}}, {"sticky_gripper": 1}]
    policy = ready(adapt(Spoken(script), by), GOOGLE)
    assert [ask(policy, step)[0, 0, 6] for step in range(3)] == [0.0, 1.0, 0.0]  # +1 closes


ROWS = {
    "mean": [1.0] * 7,
    "std": [2.0] * 7,
    "q01": [-1.0, -2, -3, -1, -1, -1, 0],
    "q99": [1.0, 2, 5, 1, 1, 1, 1],
    "mask": [True] * 6 + [False],
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.5, 1, 3, 0.5, 0.5, 0.5, 0.5]),
        ({"form": "quantiles"}, [0.5, 1, 3, 0.5, 0.5, 0.5, 0.5]),
        ({"form": "mean_std"}, [2, 2, 2, 2, 2, 2, 0.5]),
    ],
)
def test_statistics_undo_the_normalisation_but_for_the_gripper(options: dict[str, Any], expected: list[float]) -> None:
    policy = ready(adapt(Spoken([[0.5] * 7]), {"unnormalise": {"statistics": ROWS, **options}}), WIDOWX)
    assert ask(policy, 0)[0, 0].tolist() == expected
    unmasked = {name: row for name, row in ROWS.items() if name != "mask"}
    policy = ready(adapt(Spoken([[0.5] * 7]), {"unnormalise": {"statistics": unmasked, **options}}), WIDOWX)
    assert ask(policy, 0)[0, 0].tolist() == expected


def test_a_file_of_several_datasets_needs_a_key(tmp_path: Path) -> None:
    path = tmp_path / "dataset_statistics.json"
    path.write_text(json.dumps({"bridge_orig": {"action": ROWS}, "fractal": {"action": ROWS}}))
    with pytest.raises(UsageError, match="they have bridge_orig, fractal; name a dataset in `key`"):
        adapt(Spoken([[0.5] * 7]), {"unnormalise": str(path)})
    with pytest.raises(UsageError, match="there is no dataset 'bridge'; did you mean 'bridge_orig'"):
        adapt(Spoken([[0.5] * 7]), {"unnormalise": {"statistics": str(path), "key": "bridge"}})
    adapt(Spoken([[0.5] * 7]), {"unnormalise": {"statistics": str(path), "key": "fractal"}})


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"q01": [0.0] * 6, "q99": [1.0] * 6}, "q01 has 6 numbers, and the policy's action has 7"),
        ({"q01": [0.0] * 7, "q99": [1.0] * 6 + [-1]}, "dimension 6: q99 is -1, below q01, 0"),
        ({"mean": [0.0] * 7, "std": [-1.0] * 7}, "std is -1 in one dimension, it must be 0 or more"),
        ({"mean": [0.0] * 7, "std": ["a"] * 7}, "it should be a list of finite numbers"),
        ({**ROWS, "mask": [True, False] + [True] * 5}, r"the mask \[True, False, True\] splits .* 'translation'"),
    ],
)
def test_statistics_that_do_not_fit_are_refused(rows: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        adapt(Spoken([[0.0] * 7]), {"unnormalise": {"statistics": rows}}).bind(None, WIDOWX)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(UsageError, match=r"a\.json is no JSON file"):
        adapt(Spoken([[0.0] * 7]), {"unnormalise": str(tmp_path / "a.json")})
