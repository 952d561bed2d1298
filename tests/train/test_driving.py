"""Students that navigate: a tiny one learns, is exported, and comes out the same again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from foretell.policies.onnx import Onnx
from foretell.tasks.pointnav import PointNav

torch = pytest.importorskip("torch", reason="no torch here: pip install 'foretell[train]'")

from dataclasses import replace  # noqa: E402

from foretell.train import driving_make  # noqa: E402
from foretell.train.course import FIRST_APARTMENT, Course, routes  # noqa: E402
from foretell.train.driving import DrivingShape, DrivingStudent, imitate  # noqa: E402

LIDAR = DrivingShape(stream="locobot/lidar", width=16)


def test_routes_are_no_studys() -> None:
    drawn = routes(8, seed=0)
    rooms = {scenario.placements["room"].asset for scenario in drawn}
    assert rooms == {f"apartment:{FIRST_APARTMENT}", f"apartment:{FIRST_APARTMENT + 1}"}
    assert drawn == routes(8, seed=0)


def test_the_experts_advice_leads_to_the_goal() -> None:
    course, arrived, ended = Course({}, routes(6, seed=0), 6, "locobot/lidar"), 0, 0
    before = course.left()
    for step in range(70):
        over, solved = course.step(course.advice())
        arrived, ended = arrived + int(solved.sum()), ended + int(over.sum())
        if step == 0:
            assert (course.left() <= before + 1e-6).all(), "it turns or comes closer"
    assert ended >= 5 and arrived == ended


@pytest.mark.parametrize(("memory", "steps"), [(0, 400), (8, 15)])
def test_imitation_is_the_same_again(memory: int, steps: int) -> None:
    shape = replace(LIDAR, memory=memory)
    students = [imitate(shape, seed=0, rounds=1, length=16, steps=steps, slots=4) for _ in range(2)]
    weights = [np.concatenate([p.detach().numpy().ravel() for p in student.parameters()]) for student in students]
    assert (weights[0] == weights[1]).all()
    if memory:
        return
    course = Course({}, routes(4, seed=0), 4, shape.stream)
    hidden, _ = students[0].think(torch.from_numpy(course.look()))
    likely = torch.softmax(students[0].choice(hidden), dim=1).detach().numpy()
    assert likely[np.arange(4), course.advice()].mean() > 0.3, "a quarter is chance"


@pytest.mark.parametrize("memory", [0, 8])
def test_an_exported_student_acts_as_it_does(tmp_path: Path, memory: int) -> None:
    torch.manual_seed(0)
    student = DrivingStudent(replace(LIDAR, memory=memory))
    driving_make._export(student, tmp_path / "student.onnx")
    policy = Onnx(tmp_path / "student.onnx", batch=4)
    course = Course({}, routes(4, seed=0), 4, LIDAR.stream)
    policy.bind(PointNav(), course.world.action)
    policy.inform(course.world.features)
    policy.reset(course.slots, [""] * 4, [0, 1, 2, 3])
    actions = policy.act(course.slots, course.world.observe(course.slots, policy.spec.reads)).actions
    assert actions.shape == (4, 1, 4) and np.allclose(actions.sum(axis=2), 1, atol=1e-5)
    seen, draws, rest = course.look(), torch.randn(4, 4), student.rest(4)
    parts = dict(zip(["locobot/lidar", "goal/polar", "locobot/bump"], np.split(seen, [72, 74], axis=1), strict=True))
    given = {**parts, "noise": draws.numpy(), **({"memory": rest.numpy()} if memory else {})}
    file = onnxruntime.InferenceSession(tmp_path / "student.onnx", providers=["CPUExecutionProvider"])
    for own, exported in zip(student(torch.from_numpy(seen), draws, rest), file.run(None, given), strict=False):
        assert np.allclose(own.detach().numpy(), exported, atol=1e-5)


def test_noise_draws_actions_by_their_chances() -> None:
    torch.manual_seed(0)
    student = DrivingStudent(LIDAR)
    seen = torch.rand(1, 75).repeat(4000, 1)
    hidden, _ = student.think(seen[:1])
    wanted = torch.softmax(student.choice(hidden), dim=1)[0].detach().numpy()
    actions, _ = student(seen, torch.randn(4000, 4))
    share = np.bincount(actions[:, 0].argmax(dim=1).numpy(), minlength=4) / 4000
    assert np.abs(share - wanted).max() < 0.03
