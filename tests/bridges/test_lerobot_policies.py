"""Policies that LeRobot wrote, run with LeRobot's own code in an environment of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.errors import ConventionError
from foretell.policies.make import bind, make_policy
from foretell.tasks.make import make_task
from foretell.world_file import make_world

LEROBOT = os.environ.get("FORETELL_LEROBOT", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LEROBOT, reason="FORETELL_LEROBOT names no Python with lerobot (docs/bridges.md)"),
]
SIDE = Path(__file__).parents[2] / "benchmarks" / "lerobot_side.py"
MAPPING: dict[str, Any] = {
    "observation.state": ["panda/ee_pos", "panda/ee_quat", "panda/gripper"],
    "observation.environment_state": ["cube/pos", "cube/quat"],
}
OPTIONS: dict[str, Any] = {"env": LEROBOT, "action": "ee_delta", "action_rate": 20, "observation": MAPPING}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lerobot")
    for kind in ("act", "diffusion"):
        subprocess.run([LEROBOT, SIDE, "random", kind, folder / kind], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def world() -> Any:
    world = make_world("mujoco", make_task("lift"), slots=2, threads=1)
    yield world
    world.close()


@pytest.mark.gl
def test_rows_do_not_depend_on_slots(made: Path, tmp_path: Path) -> None:
    """ACT plans ten actions at a time, diffusion draws numbers and remembers; both see a picture."""
    for name, slots in (("one", 1), ("three", 3)):
        study = {
            "name": "lerobot",
            "tasks": [{"use": "lift", "time_limit": 1.0}],
            "policies": {kind: {"use": f"lerobot:{made / kind}", **OPTIONS} for kind in ("act", "diffusion")},
            "scenarios": 3,
            "record": {"steps": "all"},
        }
        foretell.run(study, out=tmp_path / name, workers=0, slots=slots)
    same = [
        [{k: v for k, v in r.items() if "wall" not in k} for r in foretell.read(tmp_path / n).to_pylist()]
        for n in ("one", "three")
    ]
    assert sorted(same[0], key=str) == sorted(same[1], key=str)
    assert [row["blame"] for row in same[0]] == [None] * 6
    moved = [sorted(path.read_bytes() for path in (tmp_path / n / "steps").glob("*.parquet")) for n in ("one", "three")]
    assert len(set(moved[0])) == 6 and moved[0] == moved[1]


@pytest.mark.gl
def test_a_chunk_is_what_the_policy_would_do_one_by_one(made: Path, world: Any) -> None:
    """And the normalisation is that of the folder: its statistics are of numbers between -1 and 1."""
    seen = None
    plans = []
    for chunk in (None, 1):
        options = OPTIONS if chunk is None else {**OPTIONS, "chunk": chunk}
        bound = bind(make_policy(f"lerobot:{made / 'act'}", options), world, "act")
        assert bound.spec.chunk == (chunk or 10) and not bound.spec.seeded
        if seen is None:
            world.reset(np.array([0], np.int32), [make_task("lift").scenario(0)], [0])
            seen = world.observe(np.array([0], np.int32), dict(bound.spec.reads))
        bound.reset(np.array([0]), ["lift"], [0])
        plans.append(np.concatenate([bound.act(np.array([0]), seen)[0] for _ in range(10 // bound.spec.chunk)]))
    np.testing.assert_allclose(plans[0], plans[1], atol=1e-6)
    assert np.abs(plans[0]).max() < 5


def test_mismatches_are_said_before_the_first_episode(made: Path, world: Any) -> None:
    for more, words in (
        ({"observation": {}}, "'observation.state' is missing: say what"),
        ({"observation": {**MAPPING, "observation.stat": ["panda/ee_pos"]}}, "did you mean 'observation.state'"),
        ({"action": "joint"}, "its actions have 7 numbers, and `action` declares 8"),
        (
            {"observation": {**MAPPING, "observation.state": ["panda/ee_pos"]}},
            "its shape is (3,), the policy takes (8,)",
        ),
    ):
        with pytest.raises(foretell.UsageError) as error:
            bind(make_policy(f"lerobot:{made / 'act'}", {**OPTIONS, **more}), world, "act")
        assert words in str(error.value)
    assert isinstance(error.value, ConventionError) and error.value.code == "stream-shape"
    with pytest.raises(foretell.UsageError, match="remembers what it saw at each action"):
        bind(make_policy(f"lerobot:{made / 'diffusion'}", {**OPTIONS, "chunk": 4}), world, "dp")
    diffusion = bind(make_policy(f"lerobot:{made / 'diffusion'}", OPTIONS), world, "dp")
    assert diffusion.spec.seeded and diffusion.spec.chunk == 1


def test_weights_are_part_of_the_identity(made: Path, world: Any, tmp_path: Path) -> None:
    hashes = []
    folder = tmp_path / "copy"
    subprocess.run(["cp", "-r", made / "act", folder], check=True)
    for byte in (None, b"\x01", None):
        data = bytearray((folder / "model.safetensors").read_bytes())
        if byte is not None:
            data[-1:] = byte
            (folder / "model.safetensors").write_bytes(data)
        hashes.append(bind(make_policy(f"lerobot:{folder}", OPTIONS), world, "act").hash)
    assert hashes[0] != hashes[1] == hashes[2]


def test_an_environment_without_lerobot_is_said_to_be_one(made: Path, world: Any) -> None:
    with pytest.raises(foretell.UsageError, match="No module named 'lerobot'"):
        bind(make_policy(f"lerobot:{made / 'act'}", {**OPTIONS, "env": None}), world, "act")
