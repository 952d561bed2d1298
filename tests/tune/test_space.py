"""Search spaces, ways to search them, and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pucks import puck

import foretell
from foretell import UsageError
from foretell.tune.config import Tuning, Values
from foretell.tune.space import Point, SearchSpace
from foretell.tune.ways import search


def space(world: Any = "mujoco", **entries: Any) -> SearchSpace:
    made = {name.replace("__", "."): Values.model_validate(values) for name, values in entries.items()}
    return SearchSpace(world, made, ["lift"])


def test_values_are_ranges_or_choices() -> None:
    made = space(theta__kp_scale=[0.5, 2], theta__shadows=[0, 4], theta__samples=[0, 2, 8])
    assert [p.kind for p in made.parameters] == ["float", "int", "choice"]
    assert made.parameters[1].levels() == [0, 1, 2, 3, 4]
    ratio = space(kp_scale={"low": 0.25, "high": 4, "log": True, "steps": 3}).parameters[0]
    assert ratio.name == "theta.kp_scale" and ratio.levels() == [0.25, 1, 4] and ratio.share(1) == pytest.approx(0.5)


def test_the_papers_grid_has_22_cells() -> None:
    cells = space(theta__kp_scale=[0.1, 1.1], theta__samples={"choices": [0, 4]}).grid()
    assert len(cells) == 22 and cells[0] == {"theta.kp_scale": 0.1, "theta.samples": 0}


def test_a_point_makes_a_world() -> None:
    made = space(theta__robots__panda__kp_scale=[0.5, 2], theta__actuation_delay=[0, 0.1])
    world = made.contents({"theta.robots.panda.kp_scale": 0.7, "theta.actuation_delay": 0.0})
    assert world == {"name": "mujoco", "kind": "mujoco", "theta": {"robots": {"panda": {"kp_scale": 0.7}}}}
    assert made.world({"theta.actuation_delay": 0.0}).hash == made.file.hash


def test_transforms_are_searched_by_number(tmp_path: Path) -> None:
    light = "{use: light, ambient: [0.3, 0.3, 0.3], colour: [0.6, 0.6, 0.6], direction: [0, 0, -1]}"
    (tmp_path / "lit.yaml").write_text(f"transforms: [{light}]\n")
    made = space(str(tmp_path / "lit.yaml"), transforms__0__colour__0=[0.1, 0.9])
    (changed,) = made.contents({"transforms.0.colour.0": 0.2})["transforms"]
    assert made.parameters[0].start == 0.6 and changed["colour"] == [0.2, 0.6, 0.6]
    with pytest.raises(UsageError, match=r"there is no entry 1; the world has 1, from 0 on"):
        space(str(tmp_path / "lit.yaml"), transforms__1__ambient=[0.1, 0.9])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"theta__kp_scal": [0.5, 2]}, r"tune: space: .*theta.kp_scal is not a field; did you mean 'kp_scale'"),
        ({"theta__kp_scale": [-1, 2]}, r"theta.kp_scale: Input should be greater than 0 \(given: -1.0\)"),
        ({"theta__actuation_delay": [0, 1]}, r"theta.actuation_delay: Input should be less than or equal to 0.2"),
        ({"theta__robots__pandda__kp_scale": [0.5, 2]}, r"the study has no robot 'pandda'; did you mean 'panda'"),
        ({"physics__timestep": [0.001, 0.002]}, r"physics.timestep is no θ; name a field of theta, such as theta.kp_s"),
        ({"theta__shadows": [0.5, 2]}, r"theta.shadows is a whole number; its range is 0.5 to 2"),
        ({"kp_scale": [0.5, 2], "theta__kp_scale": [0.5, 2]}, r"theta.kp_scale is listed twice"),
    ],
)
def test_bad_spaces(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        space(**entries)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([2, 1], "`low` should be below `high`; they are 2.0 and 1.0"),
        ({"low": 0, "high": 1, "log": True}, "`log` needs `low` above 0; it is 0"),
        ({"low": 0, "high": 1, "choices": [1, 2]}, "give either `choices` or `low` and `high`"),
        ([1, 1, 2], "two or more different values"),
        (3, r"should be \[low, high\], a list of choices"),
        ({"low": 0, "high": float("inf")}, "finite"),
    ],
)
def test_bad_values(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Values.model_validate(values)


def test_reality_is_not_tuned(here: Path) -> None:
    with pytest.raises(UsageError, match="is reality, which has no θ"):
        SearchSpace("judged.py:Judged", {"theta.lag": Values(low=0.1, high=0.5)})


def bowl(point: Point) -> float:
    """Best at 1.5 and 0.05; the world as it is lies at 1 and 0."""
    x, y = point.get("theta.kp_scale", 1.0), point.get("theta.actuation_delay", 0.0)
    return -float((x - 1.5) ** 2 + (10 * (y - 0.05)) ** 2)


@pytest.mark.parametrize(
    ("way", "trials"), [("grid", 2), ("tpe", 40), pytest.param("gp", 15, marks=pytest.mark.daily), ("cma", 60)]
)
def test_ways_find_the_best_and_repeat(way: str, trials: int) -> None:
    if way == "gp":
        pytest.importorskip("torch")
    made = space(theta__kp_scale=[0.5, 2], theta__actuation_delay=[0, 0.1])
    asked: list[list[Point]] = [[], []]
    for run in asked:
        best = search(made, lambda point, run=run: run.append(point) or bowl(point), way=way, trials=trials, seed=3)  # type: ignore[misc]
        assert bowl(best) > -0.1 > bowl({})
    assert asked[0] == asked[1] and asked[0][0] == {}
    assert len(asked[0]) == (1 + 121 if way == "grid" else 1 + trials)


def test_a_tie_leaves_the_world_as_it_is() -> None:
    made = space(theta__kp_scale=[0.5, 2])
    assert search(made, lambda point: 0.0, way="grid", trials=2, seed=0) == {}
    assert search(made, lambda point: float("-inf"), way="tpe", trials=3, seed=0) == {}


def test_cma_needs_two_numbers() -> None:
    with pytest.raises(UsageError, match="cma needs two parameters"):
        search(space(theta__kp_scale=[0.5, 2]), bowl, way="cma", trials=5, seed=0)
    with pytest.raises(UsageError, match=r"theta.samples has choices; use way tpe"):
        search(space(theta__kp_scale=[0.5, 2], theta__samples=[0, 2, 4]), bowl, way="cma", trials=5, seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"real": "nowhere"}, "tune: real: nowhere is no run folder"),
        ({"real": None}, "tune: real: the run folder of the real episodes is missing"),
        ({"space": None}, "tune: space: the values of θ to try are missing"),
        ({"space": {}}, "tune: space: is empty; name fields of the world with the values to try"),
        ({"space": {"theta.lagg": [0.1, 0.5]}}, "theta.lagg is not a field; did you mean 'lag'"),
        ({"space": ["theta.lag"]}, "should be such as 'theta.kp_scale="),
        ({"metric": "persson"}, "metric: 'persson' is not known; did you mean 'pearson'"),
        ({"way": "annealing"}, "way: Input should be 'grid', 'tpe', 'gp' or 'cma'"),
        ({"of": "spl"}, "metric 'spl' is not in runs/real"),
        ({"stand_in": False}, "a simulated world, and real trials are expected"),
        ({"folds": {"policies": 2}, "hold_out": {"scenarios": 0.5}}, "^tune: give either `folds` or `hold_out`, not"),
        ({"hold_out": {}}, "holds out nothing"),
        ({"hold_out": {"policies": ["gain-7"]}}, "policy 'gain-7' is not tuned with"),
        ({"hold_out": {"policies": 0.01}}, "hold_out: 1 policy is held out, and pearson needs 3"),
        ({"hold_out": {"policies": ["gain-2"]}}, "hold_out: 1 policy is held out, and pearson needs 3"),
        ({"hold_out": {"scenarios": 0.99}}, "hold_out: scenarios: 0.99 of 16 in a task leaves none to fit to"),
        ({"way": "cma"}, "cma needs two parameters"),
        ({"alpha": 2.0}, "alpha: 2 should lie between 0 and 1"),
    ],
)
def test_bad_input(here: Path, changes: dict[str, Any], message: str) -> None:
    options = {"real": "runs/real", "space": {"theta.lag": [0.1, 0.5]}, "stand_in": True, "out": "runs/bad"}
    with pytest.raises(UsageError, match=message):
        foretell.tune(puck("puck.py:Puck"), workers=0, **{**options, **changes})
    assert not Path("runs/bad").exists()  # nothing ran before it was refused


def test_real_episodes_of_other_policies_are_refused(here: Path) -> None:
    options: dict[str, Any] = {"real": "runs/real", "space": {"theta.lag": [0.1, 0.5]}, "stand_in": True, "workers": 0}
    other = puck("puck.py:Puck")
    other["policies"]["mine"] = {"use": "puck.py:Seek", "gain": 5.0}
    with pytest.raises(UsageError, match=r"has no episodes of policy 'mine'; it has gain-1.2, gain-10"):
        foretell.tune(other, out="runs/other", **options)
    other = puck("puck.py:Puck")
    other["policies"]["gain-2"]["gain"] = 2.5
    with pytest.raises(UsageError, match="policy 'gain-2' in runs/real are of other weights or options"):
        foretell.tune(other, out="runs/version", **options)
    assert not Path("runs/version").exists()  # before the first episode
    with pytest.raises(UsageError, match="clocks: the study has 2"):
        foretell.tune(puck("puck.py:Puck", clocks=["sync", {"virtual": {"latency": 0.1}}]), out="runs/c", **options)
    with pytest.raises(UsageError, match="pearson needs 3 policies; the study has 2 policies"):
        foretell.tune(puck("puck.py:Puck", gains=(2.0, 3.0)), out="runs/d", **options)
    with pytest.raises(UsageError, match=r"has none of task|has no task"):
        foretell.tune({**puck("mujoco"), "tasks": ["lift"]}, out="runs/e", **{**options, "space": {"kp_scale": [1, 2]}})


def test_one_definition_for_all() -> None:
    assert Tuning.model_validate({"real": "r", "space": {"theta.x": [0, 1]}}).number("policies") == 4
