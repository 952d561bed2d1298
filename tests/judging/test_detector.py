"""Detectors: loaded from a file or a network, asked for a verdict, refused by name where they give none."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from foretell.errors import ForetellError, UsageError
from foretell.judging import confirms, load_detector
from foretell.judging.onnx import resized, spread

FRAMES = np.zeros((5, 48, 64, 3), dtype=np.uint8)
FRAMES[-1, :24] = 255


def network(path, shape, output=(1, 1), kind=TensorProto.FLOAT, **about):
    """The mean brightness of what it sees."""
    sees = "x"
    nodes = []
    if kind != TensorProto.FLOAT:
        nodes.append(helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT))
        sees = "f"
    nodes += [
        helper.make_node("ReduceMean", [sees], ["m"], keepdims=0),
        helper.make_node("Reshape", ["m", "shape"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
        [numpy_helper.from_array(np.array([1, 1], dtype=np.int64), "shape")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, about)
    save(model, path)
    return str(path)


def write(path, body, name="Judge"):
    path.write_text(f"class {name}:\n    def judge(self, frames, instruction):\n        {body}\n")
    return f"{path}:{name}"


def test_a_class_of_ones_own(tmp_path):
    mine = load_detector(write(tmp_path / "mine.py", "return float(frames[-1].mean() / 255) if instruction else False"))
    assert mine.name == "Judge" and mine.propose(FRAMES, "lift").score == pytest.approx(0.5)
    assert mine.propose(FRAMES, "").success is False
    other = load_detector(write(tmp_path / "mine.py", "return True"))
    assert other.version != mine.version and other.propose(FRAMES, "").score == 1.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 'yes'", "returned 'yes'; it should be True, False or a probability"),
        ("return 1.5", "returned 1.5"),
        ("return float('nan')", "returned nan"),
        ("raise KeyError('weights')", "raised KeyError: 'weights'"),
    ],
)
def test_what_is_no_verdict_is_named(tmp_path, body, words):
    with pytest.raises(ForetellError, match=words):
        load_detector(write(tmp_path / "mine.py", body)).propose(FRAMES, "lift")


def test_what_is_no_detector_is_refused(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Judge: pass\nclass Broken:\n    def __init__(self): raise OSError('gone')\n"
    )
    for use, words in (
        (f"{tmp_path}/mine.py:Judge", "has no method `judge`"),
        (f"{tmp_path}/mine.py:Broken", "could not be made: OSError: gone"),
        (f"{tmp_path}/mine.py:Jugde", "did you mean 'Judge'"),
        (f"{tmp_path}/none.onnx", "there is no file"),
    ):
        with pytest.raises(UsageError, match=words):
            load_detector(use)
    with pytest.raises(ValueError, match="uint8 of shape"):
        load_detector(write(tmp_path / "good.py", "return True")).propose(FRAMES.astype(float), "")


def test_a_network_sees_the_last_picture_or_several(tmp_path):
    last = load_detector(network(tmp_path / "last.onnx", (1, 3, 24, 32)))
    assert last.name == "last" and last.propose(FRAMES, "").score == pytest.approx(0.5, abs=0.02)
    all_ = load_detector(network(tmp_path / "all.onnx", (1, 5, 3, 24, 32)))
    assert all_.propose(FRAMES, "").score == pytest.approx(0.1, abs=0.01)
    logit = network(tmp_path / "logit.onnx", (1, 3, 24, 32), kind=TensorProto.UINT8, **{"foretell.output": "logit"})
    assert load_detector(logit).propose(FRAMES, "").score == pytest.approx(1.0)
    assert last.version != all_.version


def test_a_network_states_its_size(tmp_path):
    for shape, more, words in (
        ((1, 3, "h", "w"), {}, "with fixed t, h and w"),
        ((1, 24, 32, 3), {}, "should be \\(1, 3, h, w\\)"),
        ((1, 3, 24, 32), {"foretell.output": "score"}, "foretell.output is 'score'"),
    ):
        with pytest.raises(UsageError, match=words):
            load_detector(network(tmp_path / "odd.onnx", shape, **more))
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(UsageError, match="cannot load it"):
        load_detector(tmp_path / "text.onnx")


def test_the_coin_is_fair_and_the_same_every_time():
    units = [f"scenario {i}" for i in range(3000)]
    share = np.mean([confirms(unit, 0.2) for unit in units])
    assert 0.18 < share < 0.22
    assert [confirms(u, 0.2, 1) for u in units[:50]] != [confirms(u, 0.2) for u in units[:50]]
    assert all(confirms(u, 0.5) for u in units if confirms(u, 0.2))  # a larger share keeps the smaller one
    assert all(confirms(unit, 1.0) for unit in units[:20])
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        confirms("s", 0.0)


def test_pictures_are_spread_and_resized():
    assert spread(10, 4).tolist() == [0, 3, 6, 9] and spread(1, 3).tolist() == [0, 0, 0]
    assert resized(FRAMES[-1], (12, 16)).shape == (12, 16, 3) and resized(FRAMES[-1], (48, 64)) is not None
