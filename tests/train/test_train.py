"""Training in the small: what it makes can be run, and comes out the same again. Most of it needs torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foretell.objects.block import HALF
from foretell.train.demos import FIRST_SEED, Demos, record
from foretell.train.guided import guide
from foretell.train.views import HEIGHT, WIDTH

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


@needs_torch
@pytest.mark.gl
@pytest.mark.slow
def test_a_tiny_seeing_student_acts_as_its_file_does(tmp_path: Path) -> None:
    import onnxruntime

    from foretell.train.sight import Senses, fit_eye, fit_sight, spelled
    from foretell.train.sight_make import export_sight
    from foretell.train.students import Shape

    task = "widowx_stack_cube"
    demos = guide(task, 1, seed=9, slots=1)
    assert demos.pictures is not None
    hashes = set()
    for _ in range(2):
        senses = Senses(instruction=True)
        eye = fit_eye(senses, {task: demos}, seed=1, steps=3, batch=4)
        student = fit_sight(eye, Shape(head="points"), senses, {task: demos}, seed=1, steps=3, batch=8)
        export_sight(student, task, tmp_path / "it.onnx")
        hashes.add((tmp_path / "it.onnx").read_bytes())
    assert len(hashes) == 1, "the same seed gives the same file"
    feed = {
        "state": np.stack([demos.states[:4, :8], demos.states[1:5, :8]], axis=1),
        "third_view__rgb": demos.pictures[:4, 0],
        "instruction": spelled(["stack the green block on the yellow block"] * 4),
    }
    (found,) = onnxruntime.InferenceSession(str(tmp_path / "it.onnx")).run(None, feed)
    with torch.no_grad():
        wanted = student(*(torch.from_numpy(v) for v in feed.values())).numpy()
    assert np.allclose(found, wanted, atol=1e-5)
    assert np.abs(found[..., :3]).max() <= 0.05 and found[..., 6].max() <= 0.6 + 1e-6  # m; +1 would open all the way


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
