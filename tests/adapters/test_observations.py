"""History and pictures as a policy was trained on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from spoken import WIDOWX, Spoken, ask, ready

from foretell.adapters import adapt
from foretell.adapters.resize import centre, padded, resize
from foretell.errors import UsageError
from foretell.spec import Feature, Stream

STILL = [[0.0] * 7] * 9


def test_a_policy_gets_a_stack_and_the_driver_keeps_it() -> None:
    inner = Spoken(STILL, {"widowx/third_view/rgb": Stream((2, 8, 8, 3)), "widowx/ee_pos": Stream((2, 3))})
    policy = ready(adapt(inner, {"history": 2}), WIDOWX)
    assert policy.spec.reads == {
        "widowx/third_view/rgb": Stream((8, 8, 3), None, 2),
        "widowx/ee_pos": Stream((3,), None, 2),
    }
    told: dict[str, Feature] = {}
    inner.inform = told.update  # type: ignore[method-assign]
    policy.inform({"widowx/third_view/rgb": Feature(kind="rgb", shape=(480, 640, 3), dtype="uint8")})
    feature = told["widowx/third_view/rgb"]
    assert feature.kind == "rgb" and feature.accepts((2, 8, 8, 3)) and not feature.accepts((8, 8, 3))


def test_samples_may_stand_side_by_side_and_padding_may_be_zero() -> None:
    inner = Spoken(STILL, {"widowx/ee_pos": Stream((9,))})
    policy = ready(adapt(inner, {"history": {"steps": 3, "stack": "last", "pad": "zero"}}), WIDOWX)
    samples = np.arange(1.0, 10.0).reshape(1, 3, 3)
    for step, zeros in ((0, 6), (1, 3), (2, 0), (5, 0)):
        ask(policy, step, **{"widowx/ee_pos": samples})
        assert inner.seen[-1]["widowx/ee_pos"].tolist() == [[0.0] * zeros + list(np.arange(1.0 + zeros, 10.0))]
    assert samples.min() == 1.0  # the driver's own array is left alone


@pytest.mark.parametrize(
    ("reads", "by", "words"),
    [
        ({"a/b": Stream((3,))}, {"history": 2}, r"stream 'a/b': shape is \(3,\), a stack of 2 has 2 first"),
        ({"a/b": Stream((2, 3), history=2)}, {"history": 2}, "stream 'a/b' has a history of 2 already"),
        ({"a/b": Stream((2, 3))}, {"history": {"streams": ["a/c"]}}, "does not read 'a/c'; did you mean 'a/b'"),
        ({"a/b": Stream((3,))}, "image", r"reads no picture of shape \(height, width, 3\); it reads a/b"),
        ({"a/b": Stream((3,))}, {"image": {"streams": ["a/b"]}}, r"stream 'a/b': shape is \(3,\), a picture's is"),
    ],
)
def test_streams_that_do_not_fit_are_refused(reads: Any, by: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        adapt(Spoken(STILL, reads), by).bind(None, WIDOWX)


def test_pictures_come_in_the_cameras_size_and_leave_in_the_policys() -> None:
    inner = Spoken(STILL, {"cam/rgb": Stream((2, 16, 16, 3))})
    policy = ready(adapt(inner, [{"history": 2}, {"image": {"source": [48, 64], "colour": "bgr"}}]), WIDOWX)
    assert policy.spec.reads == {"cam/rgb": Stream((48, 64, 3), None, 2)}
    red = np.zeros((1, 2, 48, 64, 3), dtype=np.uint8)
    red[..., 0] = 200
    ask(policy, 0, **{"cam/rgb": red})
    shown = inner.seen[-1]["cam/rgb"]
    assert shown.shape == (1, 2, 16, 16, 3) and shown.dtype == np.uint8
    assert np.all(shown[..., 2] == 200) and np.all(shown[..., :2] == 0)


def test_lanczos_keeps_what_is_even_and_smooths_what_is_fine() -> None:
    even = np.full((32, 48, 3), 77, dtype=np.uint8)
    assert np.all(resize(even, 12, 20, "lanczos3") == 77)
    stripes = np.zeros((64, 64, 3), dtype=np.uint8)
    stripes[:, ::2] = 255
    middle = resize(stripes, 16, 16, "lanczos3")[4:-4, 4:-4]
    assert np.ptp(middle) <= 2 and 126 <= middle.mean() <= 129
    assert set(np.unique(resize(stripes, 16, 16, "nearest"))) <= {0, 255}


def test_lanczos_agrees_with_pillow() -> None:
    pillow = pytest.importorskip("PIL.Image")
    picture = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    theirs = np.asarray(pillow.fromarray(picture).resize((20, 15), pillow.Resampling.LANCZOS))
    assert np.abs(resize(picture, 15, 20, "lanczos3").astype(int) - theirs).max() <= 1


def test_bilinear_halves_by_the_mean_of_four() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (4, 6, 3)).astype(np.uint8)
    four = picture.reshape(2, 2, 3, 2, 3).astype(float).mean(axis=(1, 3))
    assert np.array_equal(resize(picture, 2, 3, "bilinear"), np.rint(four))


def test_padding_keeps_the_shape_and_a_crop_keeps_the_middle() -> None:
    picture = np.full((48, 64, 3), 9, dtype=np.uint8)
    square = padded(picture, 32, 32, "bilinear")
    assert np.all(square[4:-4] == 9) and np.all(square[:4] == 0) and np.all(square[-4:] == 0)
    marked = np.arange(100, dtype=np.uint8).reshape(10, 10, 1).repeat(3, axis=2)
    assert centre(marked, 0.64).shape == (8, 8, 3) and centre(marked, 0.64)[0, 0, 0] == 11
