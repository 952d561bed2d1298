"""A detector judges the films of a real run folder, from the run to the bound."""

import importlib.util
import json
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from studies import cli

import foretell
from foretell.errors import UsageError
from foretell.judging.film import read_frames
from foretell.judging.onnx import resized
from foretell.study.detect import to_confirm
from foretell.study.second import second_judge
from foretell.verdict_lines import append_verdict

pytestmark = [pytest.mark.gl, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[2] / "examples" / "13_detector.py"
SIZE = (24, 32)
COUNT = 3


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """Half of the episodes succeed."""
    study = {
        "name": "filmed",
        "tasks": [{"use": "lift", "time_limit": 3}],
        "policies": {"good": "expert", "bad": {"use": "noisy-expert", "noise": 0.6}},
        "scenarios": {"count": COUNT},
        "record": {"video": "all"},
    }
    return foretell.run(study, out=tmp_path_factory.mktemp("runs") / "filmed", workers=0).path


@pytest.fixture
def run(filmed, tmp_path):
    return Path(shutil.copytree(filmed, tmp_path / "run"))


def confirm(run, episodes):
    truth = {row["episode"]: row["success"] for row in foretell.read(run).to_pylist()}
    for episode in episodes:
        line = {"episode": episode, "judge": "ann", "kind": "person", "success": truth[episode], "score": None}
        append_verdict(run, "ann", {**line, "wall_time": time.time(), "note": None})


def test_from_films_to_the_bound(run):
    use = f"{EXAMPLE}:Lifted"
    answer = json.loads(cli("judge", run, "--detector", use, "--confirm", "0.4", "--json", cwd=run.parent).stdout)
    rows = foretell.read(run).to_pylist()
    assert {row["policy"]: row["success"] for row in rows} == {"good": True, "bad": False}
    assert answer["agreement"] == {"both": COUNT, "only_detector": 0, "only_row": 0, "neither": COUNT}
    assert (answer["episodes"], answer["judged"], answer["successes"]) == (2 * COUNT, 2 * COUNT, COUNT)
    lines = [json.loads(line) for line in (run / "verdicts" / "detector-lifted.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * COUNT
    assert {"episode", "judge", "kind", "success", "score", "wall_time", "note"} <= set(lines[0])
    chosen = [line["episode"] for line in lines if line["chosen"]]
    assert answer["missing"] == [row["episode"] for row in rows if row["episode"] in chosen] and answer["chosen"] >= 4
    confirm(run, answer["missing"])
    again = cli("judge", run, "--detector", use, "--confirm", "0.4", cwd=run.parent).stdout
    assert f"{2 * COUNT} of them before" in again and "foretell bound" in again
    text = cli("bound", run, "--detector", "lifted", "--policy", "good", cwd=run.parent).stdout
    assert "that a person confirmed" in text and "simulated: the bound is on success there" in text
    assert foretell.read(run).to_pylist() == rows  # proposals change no row


def test_coins_are_flipped_once_and_detectors_do_not_change(run, tmp_path):
    shutil.copyfile(EXAMPLE, tmp_path / "mine.py")
    foretell.judge(run, detector=f"{tmp_path}/mine.py:Lifted")
    with pytest.raises(UsageError, match="they are flipped once: give the same"):
        foretell.judge(run, detector=f"{tmp_path}/mine.py:Lifted", seed=1)
    text = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(text.replace("0.012", "0.5"))
    with pytest.raises(UsageError, match="has changed since: give the new one another `name`"):
        foretell.judge(run, detector=f"{tmp_path}/mine.py:Lifted")
    (tmp_path / "mine.py").write_text(text.replace("0.012", "0.5").replace('"lifted"', '"blind"'))
    assert foretell.judge(run, detector=f"{tmp_path}/mine.py:Lifted").successes == 0


def test_a_film_that_is_missing_is_refused(run):
    next((run / "videos").glob("*.mp4")).unlink()
    with pytest.raises(UsageError, match=r"1 of 6 episodes have no film.*must see them all"):
        foretell.judge(run, detector=f"{EXAMPLE}:Lifted")
    with pytest.raises(UsageError, match="a task judges steps: leave out task and out"):
        foretell.judge(run, detector=f"{EXAMPLE}:Lifted", task="lift")


class Leaves:
    """Sees a film, and goes."""

    counts = []

    def __init__(self, run):
        pass

    def review(self, card):
        self.counts.append(card.count)
        return "stop"

    def close(self):
        pass


def test_a_person_sees_the_films_that_were_drawn(run):
    made = foretell.judge(run, detector=f"{EXAMPLE}:Lifted", confirm=0.4)
    drawn = to_confirm(run, "lifted")
    assert drawn == set(made.missing) and 0 < len(drawn) < 2 * COUNT
    left = second_judge(run, "ann", person=Leaves, only=drawn)
    assert Leaves.counts == [len(drawn)] and left.left == len(drawn)
    confirm(run, drawn)
    assert not foretell.judge(run, detector=f"{EXAMPLE}:Lifted", confirm=0.4).missing
    with pytest.raises(UsageError, match="did you mean 'lifted'"):
        to_confirm(run, "liftd")


def test_films_of_a_robots_cameras(run, tmp_path):
    """They lie in `frames`, one for each camera."""
    (run / "frames").mkdir()
    for row in foretell.read(run).to_pylist():
        for camera in ("front", "wrist"):
            shutil.copyfile(run / row["video"], run / "frames" / f"{row['episode']}-{camera}.mp4")
    with pytest.raises(UsageError, match=r"several cameras filmed \(front, wrist\)"):
        foretell.judge(run, detector=f"{EXAMPLE}:Lifted")
    text = EXAMPLE.read_text().replace('name = "lifted"', 'name, camera = "lifted", "front"')
    (tmp_path / "mine.py").write_text(text)
    assert foretell.judge(run, detector=f"{tmp_path}/mine.py:Lifted").successes == COUNT


def seen(frames):
    """The last picture less the first, small, as one vector."""
    small = [resized(frames[i], SIZE).astype(float) / 255 for i in (0, -1)]
    return np.stack(small).transpose(0, 3, 1, 2).ravel()


def test_a_network_trained_on_our_own_films(filmed, run, tmp_path):
    """Logistic regression, run by the detector as it was trained here."""
    rows = foretell.read(filmed).to_pylist()
    x = np.stack([seen(read_frames(filmed / row["video"])) for row in rows])
    y = np.array([row["success"] for row in rows], dtype=float)
    taught = np.arange(len(rows)) % 2 == 0
    mean, weights, bias = x[taught].mean(axis=0), np.zeros(x.shape[1]), 0.0
    for _ in range(300):
        p = 1 / (1 + np.exp(-((x[taught] - mean) @ weights + bias)))
        weights -= 0.05 * (x[taught] - mean).T @ (p - y[taught])
        bias -= 0.05 * float((p - y[taught]).sum())
    arrays = {"w": weights[:, None], "b": np.array([[bias - mean @ weights]])}
    graph = helper.make_graph(
        [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("Gemm", ["flat", "w", "b"], ["y"])],
        "lifted",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2, 3, *SIZE))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1))],
        [numpy_helper.from_array(v.astype(np.float32), n) for n, v in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {"foretell.output": "logit"})
    save(model, tmp_path / "lifted.onnx")
    assert (tmp_path / "lifted.onnx").stat().st_size < 200_000
    made = foretell.judge(run, detector=str(tmp_path / "lifted.onnx"))
    lines = (run / "verdicts" / "detector-lifted.jsonl").read_text().splitlines()
    says = {line["episode"]: line["score"] for line in map(json.loads, lines)}
    scores = np.array([says[row["episode"]] for row in rows])
    assert made.detector == "lifted" and ((scores >= 0.5) == y)[taught].all()
    assert scores == pytest.approx(1 / (1 + np.exp(-((x - mean) @ weights + bias))), abs=1e-3)


def test_the_example_is_a_detector():
    spec = importlib.util.spec_from_file_location("example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    frames = np.zeros((2, 100, 100, 3), dtype=np.uint8)
    frames[0, 80:90, 40:50, 0] = frames[1, 60:70, 40:50, 0] = 200
    assert module.Lifted().judge(frames, "") and not module.Lifted().judge(frames[::-1], "")
    assert not module.Lifted().judge(np.zeros_like(frames), "")
