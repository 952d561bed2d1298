"""θ fitted to recorded motion: a hidden robot is found again, and what cannot be told is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import foretell
from foretell.cli import main
from foretell.errors import UsageError
from foretell.identify import Identified, identify, read_recordings
from foretell.identify.fit import WAYS
from foretell.identify.motion import Motions
from foretell.identify.parameter import space
from foretell.identify.recording import Recording
from foretell.identify.replay import free_space
from foretell.identify.rows import jump
from foretell.identify.search import split
from foretell.report.identified import write_fit
from foretell.robots.widowx import WidowX
from foretell.sim.params import load_world

HOME = np.concatenate([group.home for group in WidowX.groups.values()])
HIDDEN = {"kv_waist": 0.6, "kv_shoulder": 1.5, "kv_elbow": 0.8}


def recorded(path: Path, world: dict, count: int = 5, length: int = 10, noise: float = 0.0) -> Path:
    """A file of what the WidowX does in a world under random actions."""
    rng, task = np.random.default_rng(3), free_space("widowx", WidowX)
    plans = []
    for number in range(count):
        actions = np.zeros((length, 7))
        actions[:, :6] = rng.uniform(-1, 1, (length, 6)) * ([0.02] * 3 + [0.05] * 3)
        actions[:, 6] = 1.0
        plans.append(Recording(name=f"walk{number}", actions=actions, q=np.tile(HOME, (length + 1, 1))))
    (motions,) = Motions(plans, task, most_delay=0.1).run([load_world(world)])
    fields = {}
    for plan, motion in zip(plans, motions, strict=True):
        fields[f"{plan.name}/actions"] = plan.actions
        fields[f"{plan.name}/qpos"] = motion.q + noise * rng.standard_normal(motion.q.shape) * ([1.0] * 6 + [0.0] * 2)
        fields[f"{plan.name}/ee_base"] = np.concatenate([motion.pos, motion.quat], axis=1)
    np.savez(path, **fields)
    return path


def world(**more: object) -> dict:
    return {"name": "hidden", "theta": {"robots": {"widowx": HIDDEN}, **more}}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("hidden") / "walks.npz", world(), noise=2e-4)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("short") / "walks.npz", world(), count=2, length=5)


@pytest.fixture(scope="module")
def identified(file: Path) -> Identified:
    return identify(file, "widowx", vary=("kv",), to=("joints",), evaluations=60, out=file.with_name("found.yaml"))


def test_a_hidden_robot_is_found(identified: Identified) -> None:
    fitted = identified.fitted
    assert fitted is not None
    values = {p.name: p for p in fitted.parameters}
    for name, value in HIDDEN.items():
        assert values[name].identified
        assert values[name].value == pytest.approx(value, rel=0.03)
        assert values[name].low < values[name].value < values[name].high
    assert len(fitted.held_out) == 1
    before, after = (fitted.mean(fitted.held_out, "translation", when) for when in (False, True))
    assert before is not None and after is not None
    assert before > 5 * after


def test_the_world_file_names_what_it_was_fitted_to(identified: Identified, file: Path) -> None:
    out = file.with_name("found.yaml")
    loaded = load_world(out)
    assert loaded.theta.robots["widowx"]["kv_waist"] == pytest.approx(0.6, rel=0.03)
    assert loaded.fitted_to == tuple(f"walks.npz/walk{i}" for i in range(5))
    assert "kv of widowx" in yaml.safe_load(out.read_text())["about"]
    assert loaded.hash == identified.fitted.world.hash  # type: ignore[union-attr]
    (walk, *_) = identify(file, "widowx", world=out, fit=False).sequences
    assert walk.joint_rms == pytest.approx(identified.refined[0].joint_rms, rel=1e-6)


def test_unfitted_and_fitted_stand_side_by_side(identified: Identified) -> None:
    text = identified.text()
    for words in ("unfitted:", "fitted:", "held out", "kv_waist", "95% interval"):
        assert words in text
    whole = json.loads(json.dumps(identified.to_dict(), allow_nan=False))
    assert whole["unfitted"][0]["joint_rms"] > whole["fitted"][0]["joint_rms"]
    assert whole["held_out"]


@pytest.mark.parametrize("way", sorted(set(WAYS) - {"least-squares"}))
def test_other_ways_come_closer_too(short: Path, way: str) -> None:
    fitted = identify(short, "widowx", vary=("kv",), way=way, evaluations=40).fitted
    assert fitted is not None
    before, after = (fitted.mean(fitted.training, "sysid", when) for when in (False, True))
    assert before is not None and after is not None
    assert after < before
    again = identify(short, "widowx", vary=("kv",), way=way, evaluations=40).fitted
    assert again is not None
    assert again.world == fitted.world


def test_the_tool_alone_tells_the_gains(short: Path, tmp_path: Path) -> None:
    with np.load(short) as arrays:
        np.savez(tmp_path / "tool.npz", **{name: arrays[name] for name in arrays.files if "qpos" not in name})
    identified = identify(tmp_path / "tool.npz", "widowx", vary=("kv",), evaluations=60)
    fitted = identified.fitted
    assert fitted is not None
    before, after = (fitted.mean(fitted.held_out, "translation", when) for when in (False, True))
    assert before is not None and after is not None
    assert before > 5 * after
    assert fitted.mean(fitted.held_out, "joints", True) is None
    page = write_fit(identified, tmp_path / "tool.html").read_text()
    assert "which was followed worst" in page
    assert "joints, mrad, before" not in page
    assert "nearest to home" in page


def test_a_missing_row_is_named_in_a_world_with_other_gains(file: Path) -> None:
    """Each recording without one of its rows, in the middle; and none that is whole."""
    whole = read_recordings(file, WidowX, 7, WidowX.controller)
    gone = [(r, k) for r in whole for k in range(2, 9)]
    less = [replace(r, actions=np.delete(r.actions, k, 0), q=np.delete(r.q, k + 1, 0), ee=None) for r, k in gone]
    (motions,) = Motions([*less, *whole], free_space("widowx", WidowX), most_delay=0.1).run([load_world("mujoco")])
    rows = [jump((motion.q - r.q)[:, :6]) for r, motion in zip([*less, *whole], motions, strict=True)]
    named = [row is not None and abs(row - k) <= 1 for row, (_, k) in zip(rows, gone, strict=False)]
    assert np.mean(named) > 0.75
    assert rows[len(less) :] == [None] * len(whole)


@pytest.mark.parametrize(("away", "words"), [(1, "one action later than"), (-1, "one action earlier than")])
def test_rows_that_are_shifted_are_noticed(file: Path, tmp_path: Path, away: int, words: str) -> None:
    """States of the row before, or after, as one records them by mistake."""
    with np.load(file) as arrays:
        first = {"actions": slice(1, None) if away == 1 else slice(None, -1)}
        other = slice(None, -1) if away == 1 else slice(1, None)
        shifted = {name: arrays[name][first.get(name.partition("/")[2], other)] for name in arrays.files}
    np.savez(tmp_path / "shifted.npz", **shifted)
    assert words in identify(tmp_path / "shifted.npz", "widowx", fit=False).notes[-1]
    assert not any("one action" in note for note in identify(file, "widowx", fit=False).notes)


def test_a_delay_is_found_although_worlds_know_whole_ticks(tmp_path: Path) -> None:
    late = recorded(tmp_path / "late.npz", {"name": "late", "theta": {"actuation_delay": 0.03}}, count=3)
    fitted = identify(late, "widowx", vary=("delay",), to=("joints",), evaluations=30).fitted
    assert fitted is not None
    assert fitted.world.theta.actuation_delay == pytest.approx(0.03, abs=0.002)


def test_a_long_delay_replays_the_same_motion(short: Path) -> None:
    late = {"name": "late", "theta": {"actuation_delay": 0.2}}
    fitted = identify(short, "widowx", world=late, vary=("armature",), evaluations=5).fitted
    (plain, *_) = identify(short, "widowx", world=late, fit=False).sequences
    assert fitted is not None
    assert fitted.before[plain.sequence]["joints"] == pytest.approx(plain.joint_rms, rel=1e-9)


def test_a_world_with_pictures_of_its_own_is_fitted_beside_them(short: Path, tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (8, 8)).save(tmp_path / "back.png")
    world = tmp_path / "lab.yaml"
    world.write_text(yaml.safe_dump({"transforms": [{"use": "background", "image": "back.png"}]}))
    out = tmp_path / "fitted.yaml"
    identify(short, "widowx", world=world, vary=("delay",), evaluations=5, out=out)
    assert load_world(out).transforms
    with pytest.raises(UsageError, match="should be in the folder of the world"):
        identify(short, "widowx", world=world, vary=("delay",), evaluations=5, out=tmp_path.parent / "fitted.yaml")


@pytest.mark.daily
def test_only_the_ratio_of_stiffness_and_damping_is_known(file: Path) -> None:
    fitted = identify(file, "widowx", vary=("gains",), to=("joints",), evaluations=80).fitted
    assert fitted is not None
    ratios = {r.names: r for r in fitted.ratios}
    waist = ratios["kp_waist", "kv_waist"]
    assert waist.value == pytest.approx(1 / 0.6, rel=0.1)
    assert "how it relates to kv_waist" in next(p.why for p in fitted.parameters if p.name == "kp_waist")


def test_a_parameter_without_effect_is_named(file: Path) -> None:
    fitted = identify(file, "widowx", vary=("kv", "gripper"), evaluations=24).fitted  # the fingers never move
    assert fitted is not None
    finger = next(p for p in fitted.parameters if p.name == "kp_left_finger")
    assert not finger.identified
    assert finger.why == "no recorded motion depends on it"
    assert finger.value == 1.0
    assert any("kp_left_finger has no effect" in note for note in fitted.notes)


def test_what_is_held_out_does_not_depend_on_order() -> None:
    walks = [Recording(name=f"w{i}", actions=np.zeros((1, 7)), q=np.zeros((2, 8))) for i in range(8)]
    (_, away), (_, other) = split(walks, 0.25), split(walks[::-1], 0.25)
    assert {r.name for r in away} == {r.name for r in other}
    assert len(away) == 2
    assert split(walks[:1], 0.5) == (walks[:1], [])


def test_every_robot_has_gains_to_fit() -> None:
    for name in ("panda", "widowx", "google_robot"):
        kind = foretell.registry.resolve("robots", name)
        found = space(load_world("mujoco"), kind, ("gains", "gripper", "friction", "armature", "delay"), 5.0, 0.002)
        assert len(found.parameters) > 2 * len(kind.groups["arm"].joints)
        assert found.at(found.start).hash == found.at(found.start + 0.0).hash


@pytest.mark.parametrize(("arguments", "words"), [
    ({"vary": ("gain",)}, "vary: 'gain' is not known; did you mean 'gains'"),
    ({"vary": ()}, "vary names nothing"),
    ({"way": "cmaes"}, "way 'cmaes' is not known"),
    ({"to": ("tools",)}, "to: 'tools' is not known"),
    ({"width": 1.0}, "width should be above 1"),
    ({"held_out": 1.0}, "held_out should be at least 0 and below 1"),
    ({"evaluations": 0}, "evaluations should be at least 1"),
])  # fmt: skip
def test_wrong_arguments_are_named(file: Path, arguments: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        identify(file, "widowx", **arguments)


def test_the_command_writes_world_and_page(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert", reason="the page needs the extra `report`")
    out = tmp_path / "fitted.yaml"
    main(["identify", str(file), "--robot", "widowx", "--vary", "kv", "--evaluations", "20", "-o", str(out)])
    assert "which a study can name" in capsys.readouterr().out
    page = out.with_suffix(".html").read_text()
    for words in ("How closely the world follows", "What was fitted", "What no parameter explains"):
        assert words in page


def test_the_page_draws_its_charts(identified: Identified, tmp_path: Path, browser: Any) -> None:
    pytest.importorskip("vl_convert", reason="the page needs the extra `report`")
    page = browser.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(write_fit(identified, tmp_path / "fit.html").as_uri())
    page.locator("#motion").scroll_into_view_if_needed()
    page.wait_for_selector("#motion svg.marks, #motion canvas.marks")
    assert not faults
