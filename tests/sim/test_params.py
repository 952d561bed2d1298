"""World files that came from real data name the scenarios they saw; all others are what they were."""

from pathlib import Path
from typing import Any

import pytest

import foretell
from foretell.errors import UsageError
from foretell.robots import Panda, Robot, RobotPhysics, Steps
from foretell.robots.google_robot import GoogleRobot
from foretell.robots.widowx import WidowX
from foretell.sim.params import load_world


def test_worlds_without_the_list_keep_their_hash() -> None:
    assert (load_world("mujoco").hash, load_world("standin").hash) == ("f1a073fff215961a", "339626a6cb5485d8")
    assert load_world({"name": "x", "fitted_to": []}).hash == load_world("mujoco").hash


def test_the_list_names_a_world_whatever_its_order(tmp_path: Path) -> None:
    one = load_world({"name": "x", "fitted_to": ["b", "a", " a "]})
    assert one.fitted_to == ("a", "b") and one.hash != load_world("mujoco").hash
    assert one.hash == load_world({"name": "y", "fitted_to": ["a", "b"]}).hash
    (tmp_path / "seen.txt").write_text("# tuned on Monday\na\n\nb\n")
    (tmp_path / "tuned.yaml").write_text("fitted_to: seen.txt\n")
    assert load_world(tmp_path / "tuned.yaml").hash == one.hash


def test_a_bad_list_is_refused_by_its_field(tmp_path: Path) -> None:
    (tmp_path / "tuned.yaml").write_text("fitted_to: none.txt\n")
    with pytest.raises(UsageError, match=r"tuned.yaml: fitted_to: cannot read the list of scenarios in .*none.txt"):
        load_world(tmp_path / "tuned.yaml")
    with pytest.raises(UsageError, match="fitted_to: every entry should be the id of a scenario"):
        load_world({"name": "x", "fitted_to": ["a", " "]})
    with pytest.raises(UsageError, match=r"fitted_to.1: Input should be a valid string \(given: 7\)"):
        load_world({"name": "x", "fitted_to": ["a", 7]})


def test_what_is_left_to_the_robots_is_not_what_is_stated() -> None:
    """A file that states the usual step is another world: robots may have a step of their own."""
    plain = load_world("mujoco")
    stated = load_world({"name": "mujoco", "physics": {"timestep": 0.002}})
    euler = load_world({"name": "mujoco", "physics": {"integrator": "implicitfast"}})
    assert len({plain.hash, stated.hash, euler.hash}) == 3
    assert plain.params["physics"]["timestep"] == 0.002
    assert plain.params["physics"]["integrator"] == "implicitfast"
    assert plain.steps([Panda]) == Steps(0.002, "implicitfast")
    assert plain.steps([GoogleRobot]) == Steps(1 / 513, "euler", sleep=True)
    assert plain.steps([GoogleRobot, Panda]) == Steps(1 / 513, "implicitfast")
    assert stated.steps([GoogleRobot]) == Steps(0.002, "euler", sleep=True)


def test_looks_are_part_of_a_world() -> None:
    plain, dressed = load_world("mujoco"), load_world({"name": "mujoco", "looks": "menagerie"})
    assert plain.hash != dressed.hash
    assert "looks" not in plain.params
    assert dressed.params["looks"] == "menagerie"
    with pytest.raises(UsageError, match="looks"):
        load_world({"name": "w", "looks": "menagery"})


def test_the_worse_gains_of_simpler_are_worlds() -> None:
    for name, stiffness in (("simpler_worse_1", 1542.4844516168355), ("simpler_worse_2", 2000.0)):
        robot = GoogleRobot(load_world(name).robot(GoogleRobot))
        assert robot.gains("joint_torso")[0] == pytest.approx(stiffness, rel=1e-5)


@pytest.mark.parametrize("step", [5e-324, 1e-9, 0.0, 0.5])
def test_a_step_that_nobody_can_mean_is_refused(step: float) -> None:
    with pytest.raises(UsageError, match=r"physics\.timestep: Input should be"):
        load_world({"name": "w", "physics": {"timestep": step}})


OTHER: dict[str, Any] = {
    **dict.fromkeys(("kp_scale", "kv_scale", "damping_scale", "pad_friction", "finger_force"), 0.5),
    "joint_friction": 1.0,
    "backlash": 0.01,
    "pads": "beads",
}
"""What a world may set of a robot -> another value than the robot's own."""


@pytest.mark.parametrize("kind", [Panda, GoogleRobot, WidowX])
def test_a_robot_ignores_what_it_says_and_nothing_else(kind: type[Robot]) -> None:
    def model(**change: Any) -> str:
        return str(kind(RobotPhysics(**change)).spec(visuals=False).to_xml())

    plain = model()
    assert {name for name, value in OTHER.items() if model(**{name: value}) == plain} == set(kind.ignores)


def test_whoever_sets_what_a_robot_ignores_is_told(tmp_path: Path) -> None:
    standin = load_world("standin")
    assert standin.without_effect([Panda]) == [] == load_world("mujoco").without_effect([WidowX])
    (sentence,) = standin.without_effect([WidowX, Panda, WidowX])
    assert sentence == "world 'standin' sets backlash and pads: robot 'widowx' ignores this"
    study = {"tasks": [{"use": "widowx_stack_cube", "time_limit": 0.4}], "policies": ["random"], "scenarios": 1}
    done = foretell.run({**study, "world": "standin"}, out=tmp_path / "run", workers=0)
    assert done.notes == (sentence,)
    own = load_world({"name": "w", "theta": {"robots": {"widowx": {"damping_scale": 0.5}}}})
    with pytest.raises(UsageError, match=r"w: theta.robots.widowx.damping_scale: this robot ignores it: leave it out"):
        own.robot(WidowX)
