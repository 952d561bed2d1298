"""Every declared feature is observed as it is declared; what noise it has follows from the declaration alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.registry import load
from foretell.scenario import Scenario
from foretell.sim.bench import SLOT, Bench
from foretell.sim.world import MujocoWorld
from foretell.spec import IMAGES, Feature, Kind, Stream
from foretell.study.plan import make_task

EXAMPLES = Path(__file__).parents[2] / "examples"
TASKS = ["lift", "can", "square", "09_drawer.py:Drawer", "10_two_arms.py:HandOver", "11_head.py:LiftSeen"]


def task_of(name: str) -> Any:
    return load(f"{EXAMPLES}/{name}")() if ":" in name else make_task(name)


@pytest.mark.parametrize("name", TASKS)
def test_features_are_observed_as_declared(name: str) -> None:
    bench = Bench(task_of(name))
    features = bench.world.features
    seen = bench.see()
    for stream, feature in features.items():
        assert feature.kind in get_args(Kind)
        assert feature.image == (feature.kind in IMAGES)
        if feature.image:
            assert feature.optional and feature.frame in bench.world.cameras
            continue
        assert seen[stream].shape == feature.shape and str(seen[stream].dtype) == feature.dtype, stream
        if feature.kind == "orientation":
            assert np.linalg.norm(seen[stream]) == pytest.approx(1)
        if feature.low is not None and feature.high is not None:
            assert np.shape(np.broadcast_to(feature.low, feature.shape)) == feature.shape
            assert np.all(seen[stream] >= np.subtract(feature.low, 1e-9)), stream
            assert np.all(seen[stream] <= np.add(feature.high, 1e-9)), stream
    assert {n for n, f in features.items() if f.optional and not f.image} == {
        f"{o}/size" for o in bench.world.scene.placed
    }


def test_the_fixture_declares_its_joint_and_its_handle() -> None:
    features = Bench(task_of("09_drawer.py:Drawer")).world.features
    drawer = features["cabinet/drawer"]
    assert (drawer.kind, drawer.unit, drawer.low, drawer.high, drawer.noise) == ("joint", "m", 0.0, 0.18, "joint")
    assert features["cabinet/handle/pos"].noise == "position" and features["cabinet/handle/pos"].frame == "task"
    assert features["cabinet/handle/quat"].kind == "orientation"


@pytest.mark.gl
def test_images_are_observed_as_declared() -> None:
    bench = Bench("lift")
    images = {name: feature for name, feature in bench.world.features.items() if feature.image}
    assert {feature.kind for feature in images.values()} == set(IMAGES)
    for name, feature in images.items():
        channels, dtype = IMAGES[feature.kind]
        assert (feature.shape[2], feature.dtype) == (channels, dtype)
        seen = bench.world.observe(SLOT, {name: Stream((24, 32, channels))})[name]
        assert seen.shape == (1, 24, 32, channels) and str(seen.dtype) == feature.dtype, name
        if feature.kind == "segmentation":
            assert seen.min() >= -1 and seen.max() < len(feature.legend), name


@pytest.mark.parametrize(
    ("theta", "noise"),
    [({"joint_noise": 0.01}, "joint"), ({"pose_noise": 0.01}, "position"), ({"turn_noise": 0.05}, "orientation")],
)
def test_noise_reaches_its_own_class_and_no_other(theta: dict[str, float], noise: str) -> None:
    task = task_of("09_drawer.py:Drawer")
    clean, noisy = Bench(task).see(), Bench(task, world={"name": "noisy", "theta": theta}).see()
    changed = {name for name in clean if not np.array_equal(clean[name], noisy[name])}
    features = Bench(task).world.features
    assert changed == {n for n, f in features.items() if f.noise == noise} != set()


def test_a_feature_says_which_shapes_it_accepts() -> None:
    joint, image = Feature(kind="joint", shape=(7,)), Feature(kind="depth", shape=(224, 224, 1), dtype="float32")
    assert joint.accepts(None) and joint.accepts((7,)) and not joint.accepts((6,))
    assert image.accepts((96, 128, 1)) and not image.accepts((96, 128, 3)) and not image.accepts(None)


def test_ranges_are_those_in_which_a_scenario_may_start() -> None:
    """At the limits it may start, beyond them not."""
    task = task_of("11_head.py:LiftSeen")
    world = MujocoWorld(task, slots=1)
    scenario: Scenario = task.scenario(0)
    feature = world.features["panda/head/joint_pos"]
    assert isinstance(feature.low, tuple) and isinstance(feature.high, tuple)
    limits, beyond = (feature.high[0], feature.low[1]), (9.0, -9.0)
    starts = [scenario.model_copy(update={"start": {**scenario.start, "panda/head": at}}) for at in (limits, beyond)]
    with pytest.raises(UsageError, match=r"joint 'panda/pan' cannot start at 9 rad: its range is -2\.5 to 2\.5 rad"):
        world.reset(SLOT, starts[1:], [0])
    world.reset(SLOT, starts[:1], [0])
    seen = world.observe(SLOT, {"panda/head/joint_pos": Stream()})["panda/head/joint_pos"][0]
    assert seen == pytest.approx(limits)
