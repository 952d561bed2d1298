"""Training in the small: what it makes can be run, and comes out the same again. Most of it needs torch."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.objects.block import HALF
from foretell.registry import resolve
from foretell.rollout import Job
from foretell.rotation import from_yaw, multiply, yaw
from foretell.scenario import Scenario
from foretell.study.session import Session
from foretell.train.demos import FIRST_SEED, Demos, record
from foretell.train.guided import TURN, Guide, guide, widened
from foretell.train.views import HEIGHT, VIEWS, WIDTH

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed: pip install 'foretell[train]'")


@pytest.fixture(scope="module")
def demos() -> Demos:
    return record("lift", 4, seed=9, slots=4)


def test_demonstrations_hold_disturbances_and_the_experts_answers(demos: Demos) -> None:
    assert demos.count == 4
    assert demos.states.shape == (len(demos.episode), 15) and demos.actions.shape == (len(demos.episode), 7)
    assert 0.6 < demos.calm.mean() < 1.0
    assert set(np.unique(demos.actions[:, 6])) == {-1.0, 1.0}
    # an episode ends when the cube is up: its last states are higher than its first
    for episode in range(4):
        heights = demos.states[demos.episode == episode, 10]
        assert heights[-1] > heights[0] + 0.005


def test_demonstrations_are_the_same_again_in_other_slots(demos: Demos) -> None:
    again = record("lift", 4, seed=9, slots=2)
    assert np.array_equal(again.states, demos.states) and np.array_equal(again.calm, demos.calm)


@pytest.mark.gl
@pytest.mark.slow
def test_demonstrations_of_simplers_tasks_show_pictures_and_recoveries() -> None:
    demos = guide("widowx_stack_cube", 2, seed=9, pushes=0.2, slots=2)
    assert demos.count == 2 and demos.pictures is not None
    assert demos.pictures.shape == (len(demos.episode), 1, HEIGHT, WIDTH, 3) and demos.pictures.std() > 10
    assert 0.5 < demos.calm.mean() < 1.0
    # shares of the view's scale, +1 shuts: the last action opens, and the green block is on the yellow one
    assert np.abs(demos.actions).max() < 1.3
    last = demos.states[np.flatnonzero(np.diff(demos.episode, append=9))]
    assert (demos.actions[np.flatnonzero(np.diff(demos.episode, append=9)), 6] < 0).all()
    assert last[:, 10] - last[:, 17] == pytest.approx(2 * HALF, abs=0.003)
    right = demos.beginning(lambda state: bool(state[9] < 0))
    assert right.count == sum(demos.states[demos.episode == e][0, 9] < 0 for e in range(2))


def turned(task: str, scenario: Scenario, degrees: float) -> np.ndarray:
    """The rotation, rad, that the demonstrating expert first asks for where the object is turned by so much."""
    guide = Guide(0.0)
    name = VIEWS[task].things[0]
    placement = scenario.placements[name]
    w, i, j, k = multiply(from_yaw(math.radians(degrees)), np.array(placement.quat)).tolist()
    scenario = scenario.model_copy(
        update={"placements": {**scenario.placements, name: placement.model_copy(update={"quat": (w, i, j, k)})}}
    )
    session = Session(task=task, controller=None, world="mujoco", policies={"it": guide}, slots=1, threads=1)
    jobs = iter([Job(policy="it", scenario=scenario)])
    list(session.run(lambda: next(jobs, None)))
    session.close()
    (steps,) = guide.steps.values()
    return np.array([step[1][3:6] for step in steps[:3]]).sum(0)


@pytest.mark.gl
@pytest.mark.slow
def test_the_expert_turns_to_one_side_about_a_published_layout() -> None:
    task = "widowx_spoon_on_towel"
    lies = resolve("tasks", task)().layouts()[1]  # turned by 90 degrees
    a, b = turned(task, lies, -8.0), turned(task, lies, 8.0)
    assert abs(a[2]) > 0.5 and a[2] * b[2] > 0


def test_demonstrated_cubes_lie_within_half_a_quarter_turn() -> None:
    task = resolve("tasks", "widowx_stack_cube")()
    for seed in range(40):
        scenario = widened(task.scenario(seed), np.array([0.16, 0.0]))
        for placement in scenario.placements.values():
            assert abs(float(yaw(np.array(placement.quat)))) <= math.pi / 4 + TURN + 1e-9


@needs_torch
@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("memory", [0, 8])
def test_a_tiny_seeing_student_acts_as_its_file_does(memory: int, tmp_path: Path) -> None:
    import onnxruntime

    from foretell.train.sight import Eye, Senses, spelled
    from foretell.train.sight_fit import fit_eye, fit_memory, fit_sight, seen
    from foretell.train.sight_make import export_sight
    from foretell.train.students import Shape

    task = "widowx_stack_cube"
    demos = guide(task, 1, seed=9, slots=1)
    assert demos.pictures is not None
    hashes = set()
    for _ in range(2):
        torch.manual_seed(1)
        senses = Senses(instruction=True, memory=memory)
        eye = fit_eye(Eye("widowx"), {task: demos}, seed=1, steps=3, batch=4)
        data, shape = {task: seen(eye, demos)}, Shape(head="point" if memory else "points")
        student = (fit_memory if memory else fit_sight)(eye, shape, senses, data, seed=1, steps=3, batch=8)
        export_sight(student, task, tmp_path / "it.onnx")
        hashes.add((tmp_path / "it.onnx").read_bytes())
    assert len(hashes) == 1, "the same seed gives the same file"
    feed = {
        "state": np.stack([demos.states[:4, :8], demos.states[1:5, :8]], axis=1),
        "third_view__rgb": demos.pictures[:4, 0],
        "instruction": spelled(["stack the green block on the yellow block"] * 4),
    }
    if memory:
        feed["memory"] = np.linspace(-1, 1, 4 * memory, dtype=np.float32).reshape(4, memory)
    found = onnxruntime.InferenceSession(str(tmp_path / "it.onnx")).run(None, feed)
    with torch.no_grad():
        wanted = student(*(torch.from_numpy(v) for v in feed.values()))
    for a, b in zip(found, wanted if memory else [wanted], strict=True):
        assert np.allclose(a, b.numpy(), atol=1e-5)
    assert np.abs(found[0][..., :3]).max() <= 0.05 and np.abs(found[0][..., 6]).max() <= 1  # m; +1 opens all the way


@needs_torch
def test_a_point_of_the_task_is_where_the_camera_shows_it() -> None:
    from foretell.train.sight_fit import camera, spots

    assert camera("google_robot_pick_coke_can").pos[2] > 0.3  # on the head, above the table
    for task, view in VIEWS.items():
        kind = resolve("tasks", task)()
        for scenario in kind.layouts():
            states = np.zeros((1, 22), dtype=np.float32)
            for at, name in zip((8, 15), view.things, strict=True):
                placement = scenario.placements[name]
                states[0, at : at + 7] = [*placement.pos, *placement.quat]
            assert np.abs(spots(task, states)[0, :2]).max() < 1, f"{task}: outside of what the eye looks at"


@needs_torch
def test_a_point_is_where_another_camera_shows_it() -> None:
    from foretell.train.sight_fit import camera, spots

    task, states = "widowx_stack_cube", np.zeros((1, 22), dtype=np.float32)
    states[0, [8, 9, 11, 15, 16, 18]] = 0.16, 0.02, 1.0, 0.2, -0.05, 1.0
    own = camera(task)
    assert np.array_equal(spots(task, states), spots(task, states, own))
    moved = replace(own, pos=(own.pos[0], own.pos[1], own.pos[2] + 0.02), quat=tuple(own.orientation.tolist()))
    assert (spots(task, states, moved)[0, :2, 1] > spots(task, states)[0, :2, 1] + 0.05).all()  # seen farther down


@pytest.mark.gl
def test_demonstrations_of_a_world_file_show_what_its_camera_sees(tmp_path: Path) -> None:
    lab = tmp_path / "lab.yaml"
    lab.write_text("transforms: [{use: colours, colours: {table/top: [0.2, 0.3, 0.9]}}]\n")
    ours, theirs = (guide("widowx_stack_cube", 1, seed=9, slots=1, world=world) for world in ("mujoco", str(lab)))
    assert ours.pictures is not None and theirs.pictures is not None
    assert np.array_equal(ours.states, theirs.states)  # looks are no physics
    assert (theirs.pictures.mean((0, 1, 2, 3)) - ours.pictures.mean((0, 1, 2, 3)))[2] > 30


def test_training_scenarios_are_no_studys() -> None:
    assert FIRST_SEED == 3_000_000_000  # studies count up from `scenarios: seed`, 0 or a little more


@needs_torch
@pytest.mark.parametrize("kind", ["bc", "bc-gaussian", "bc-gmm", "bc-vae", "bc-transformer", "dp"])
def test_a_tiny_run_gives_a_model_that_loads_and_comes_out_the_same_again(
    kind: str, demos: Demos, tmp_path: Path
) -> None:
    from foretell.policies.onnx import Onnx
    from foretell.train.export import export_state
    from foretell.train.fit import fit_state
    from foretell.train.recipes import SHAPES

    hashes = []
    for turn in range(2):
        student = fit_state("lift", SHAPES[kind].shape, demos, seed=3, steps=5, batch=16, say=False)
        path = tmp_path / f"{turn}.onnx"
        export_state("lift", student, path)
        hashes.append(Onnx(path).fingerprint())
    assert hashes[0] == hashes[1]


@needs_torch
def test_the_exported_graph_computes_what_the_student_does(demos: Demos, tmp_path: Path) -> None:
    import onnxruntime

    from foretell.train.export import export_state
    from foretell.train.fit import fit_state
    from foretell.train.recipes import SHAPES

    for kind in ("bc-gmm", "dp", "bc-transformer"):
        student = fit_state("lift", SHAPES[kind].shape, demos, seed=0, steps=5, batch=16, say=False)
        export_state("lift", student, tmp_path / "it.onnx")
        rng = np.random.default_rng(0)
        feed = {"state": demos.states[:16, None].repeat(student.shape.history, axis=1)}
        if student.head.noise is not None:
            feed["noise"] = rng.standard_normal((16, *student.head.noise)).astype(np.float32)
        if student.head.continues:
            feed["plan"] = rng.uniform(-1, 1, (16, student.head.chunk, 7)).astype(np.float32)
            feed["committed"] = np.arange(16, dtype=np.float32) % 5
        (found,) = onnxruntime.InferenceSession(str(tmp_path / "it.onnx")).run(None, feed)
        with torch.no_grad():
            wanted = student(*(torch.from_numpy(v) for v in feed.values())).numpy()
        assert np.allclose(found, wanted, atol=1e-4)
        for row, committed in enumerate(feed.get("committed", [])):
            done = int(committed)
            assert np.allclose(found[row, :done], feed["plan"][row, :done], atol=1e-4), "what has begun is kept"


@needs_torch
def test_chunks_hold_only_what_the_expert_did(demos: Demos) -> None:
    from foretell.train.fit import windows

    at, past, ahead = windows(demos, history=2, chunk=16)
    assert demos.calm[ahead].all() and len(at) < len(demos.episode)
    assert (demos.episode[past] == demos.episode[at][:, None]).all()
    assert (demos.episode[ahead] == demos.episode[at][:, None]).all()
