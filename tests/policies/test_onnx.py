"""The onnx policy, on small real models that really run on `lift`."""

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from foretell.checks import check_policy
from foretell.errors import PolicyError, UsageError
from foretell.policies.annotate import annotate
from foretell.policies.make import bind, make_policy
from foretell.policies.onnx import Onnx
from foretell.registry import resolve
from foretell.rollout import Job, run_sync
from foretell.sim.world import MujocoWorld
from foretell.spec import Feature, Stream

F = TensorProto.FLOAT
READS = {"panda/ee_pos": 3, "panda/ee_quat": 4, "cube/pos": 3}


def save(path: Path, nodes, inputs, outputs, weights=(), /, **meta) -> Path:
    """A model file; inputs and outputs are name -> shape, or name -> (type, shape)."""

    def info(values):
        pairs = ((n, v if isinstance(v, tuple) else (F, v)) for n, v in values.items())
        return [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in pairs]

    arrays = [numpy_helper.from_array(np.asarray(v), n) for n, v in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", info(inputs), info(outputs), arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    props = {f"foretell.{k}": v if isinstance(v, str) else json.dumps(v) for k, v in meta.items()}
    helper.set_model_props(model, props)
    onnx.save(model, str(path))
    return path


def weights(*shape, seed=0, scale=0.5):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def mlp(path: Path, batch="n", out=7, names=READS, **meta) -> Path:
    """Streams, concatenated, through 32 hidden units to one action in [-1, 1]."""
    nodes = [
        helper.make_node("Concat", list(names), ["all"], axis=1),
        helper.make_node("Gemm", ["all", "w1"], ["h0"]),
        helper.make_node("Tanh", ["h0"], ["h"]),
        helper.make_node("Gemm", ["h", "w2"], ["a0"]),
        helper.make_node("Tanh", ["a0"], ["action"]),
    ]
    size = sum(names.values())
    inputs = {name: [batch, k] for name, k in names.items()}
    w = {"w1": weights(size, 32), "w2": weights(32, out, seed=1)}
    return save(path, nodes, inputs, {"action": [batch, out]}, w, **meta)


def recurrent(path: Path) -> Path:
    """h' = tanh(x w + h u), action = tanh(h' v): what was seen earlier stays."""
    nodes = [
        helper.make_node("Gemm", ["panda/ee_pos", "w"], ["xw"]),
        helper.make_node("Gemm", ["h", "u", "xw"], ["s"]),
        helper.make_node("Tanh", ["s"], ["h_next"]),
        helper.make_node("Gemm", ["h_next", "v"], ["a"]),
        helper.make_node("Tanh", ["a"], ["action"]),
    ]
    w = {"w": weights(3, 8), "u": weights(8, 8, seed=1), "v": weights(8, 7, seed=2)}
    inputs = {"panda/ee_pos": ["n", 3], "h": ["n", 8]}
    return save(path, nodes, inputs, {"action": ["n", 7], "h_next": ["n", 8]}, w, recurrent={"h": "h_next"})


def chunked(path: Path, **meta) -> Path:
    """`state` and noise in, four actions out, like a diffusion policy's last step."""
    nodes = [
        helper.make_node("Gemm", ["state", "w"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["plan"]),
        helper.make_node("Mul", ["noise", "small"], ["shake"]),
        helper.make_node("Add", ["plan", "shake"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["actions"]),
    ]
    w = {"w": weights(4, 28), "shape": np.array([-1, 4, 7]), "small": np.float32(0.1)}
    said = {"state": ["panda/ee_pos", "panda/gripper"], "noise": "noise", "execute": 2, "action": "ee_delta"} | meta
    return save(path, nodes, {"state": ["n", 4], "noise": ["n", 4, 7]}, {"actions": ["n", 4, 7]}, w, **said)


def lift(slots=1):
    task = resolve("tasks", "lift")()
    task.time_limit = 1.0
    return MujocoWorld(task, slots=slots)


def bound(path, **options):
    policy = Onnx(path, **options)
    world = lift()
    policy.bind(world.task, world.action)
    policy.inform({name: world.features[name] for name in policy.spec.reads if name in world.features})
    return policy


def rows(path, slots, count=16):
    """What 16 episodes come to, without what does not reproduce."""
    world = lift(slots)
    policy = bind(make_policy(f"onnx:{path}"), world, "p")
    jobs = iter([Job(policy="p", scenario=world.task.scenario(seed)) for seed in range(count)])
    ended = {job.scenario.seed: outcome for job, outcome in run_sync(world, {"p": policy}, lambda: next(jobs, None))}
    last = {}
    for seed, o in ended.items():
        last[seed] = (o.success, o.score, o.stages, o.metrics, o.steps, o.sim_s, o.end, o.error)
    return last


@pytest.fixture(params=[mlp, recurrent, chunked])
def model(request, tmp_path):
    return request.param(tmp_path / f"{request.param.__name__}.onnx")


def test_models_pass_the_check(model):
    report = check_policy(f"onnx:{model}")
    assert report.ok, report.to_dict()


def test_rows_are_the_same_at_any_number_of_slots(model):
    class Traced(Onnx):
        def act(self, slots, observations):
            chunk = super().act(slots, observations)
            for row in np.unique(slots, return_index=True)[1].tolist():
                trace.setdefault(self._seed[int(slots[row])], []).append(chunk.actions[row].tobytes())
            return chunk

    traces = []
    for slots in (1, 5, 16):
        trace = {}
        world = lift(slots)
        policy = bind(Traced(model), world, "p")
        jobs = iter([Job(policy="p", scenario=world.task.scenario(seed)) for seed in range(16)])
        ended = {j.scenario.seed: o for j, o in run_sync(world, {"p": policy}, lambda w=jobs: next(w, None))}
        assert all(o.error is None and o.steps for o in ended.values())
        traces.append((trace, {s: (o.success, o.stages, o.steps, o.end) for s, o in ended.items()}))
    assert len(traces[0][0]) == 16
    assert traces[0] == traces[1] == traces[2]


def test_the_mlp_computes_what_numpy_computes(tmp_path):
    policy = bound(mlp(tmp_path / "m.onnx"))
    rng = np.random.default_rng(3)
    seen = {name: rng.standard_normal((16, k)) for name, k in READS.items()}
    slots = np.arange(16)
    policy.reset(slots, [""] * 16, [0] * 16)
    x = np.concatenate(list(seen.values()), axis=1)
    expected = np.tanh(np.tanh(x @ weights(10, 32)) @ weights(32, 7, seed=1))
    np.testing.assert_allclose(policy.act(slots, seen).actions[:, 0], expected, atol=1e-5)


def test_spec_follows_the_file(tmp_path):
    spec = bound(chunked(tmp_path / "c.onnx", action_rate=10)).spec
    assert (spec.chunk, spec.execute, spec.batch, spec.seeded, spec.action_rate) == (4, 2, 16, True, 10.0)
    assert list(spec.reads) == ["panda/ee_pos", "panda/gripper"]
    assert bound(tmp_path / "c.onnx", execute=3, batch=8).spec.execute == 3
    assert bound(tmp_path / "c.onnx", batch=8).spec.batch == 8
    spec = bound(mlp(tmp_path / "m.onnx", batch=4), batch=9).spec
    assert spec.batch == 4, "a fixed batch dictates"
    assert spec.reads["cube/pos"] == Stream((3,))
    assert (spec.chunk, spec.seeded, spec.action_rate) == (1, False, 20.0)
    assert spec.action.dims[0].anchor == "achieved"
    assert bound(mlp(tmp_path / "t.onnx", action="ee_delta_target")).spec.action.dims[0].anchor == "target"


def test_an_action_the_controller_does_not_take_is_refused(tmp_path):
    path = mlp(tmp_path / "m.onnx", action="ee_delta_target")
    report = check_policy(f"onnx:{path}")
    assert not report["action"].passed
    assert "anchor" in report["action"].detail
    assert check_policy(f"onnx:{path}", controller="ee_delta_target").ok


@pytest.mark.parametrize("name", ["panda/ee_pos", "panda.ee_pos", "panda__ee_pos"])
def test_names_of_inputs(tmp_path, name):
    assert list(bound(mlp(tmp_path / "m.onnx", names={name: 3})).spec.reads) == ["panda/ee_pos"]


def test_inputs_may_be_named_in_the_metadata(tmp_path):
    path = mlp(tmp_path / "m.onnx", names={"x1": 3, "state": 4}, inputs={"x1": "cube/pos", "state": "cube/quat"})
    assert list(bound(path).spec.reads) == ["cube/pos", "cube/quat"]
    assert check_policy(f"onnx:{path}").ok


def test_recurrent_state_belongs_to_the_slot_and_ends_with_the_episode(tmp_path):
    policy = bound(recurrent(tmp_path / "r.onnx"), batch=2)
    seen = {"panda/ee_pos": np.ones((2, 3))}
    slots = np.array([3, 8])
    policy.reset(slots, ["", ""], [0, 0])
    first = policy.act(slots, seen).actions
    second = policy.act(slots, seen).actions
    assert not np.array_equal(first, second)
    policy.reset(slots[:1], [""], [0])
    third = policy.act(slots, seen).actions
    assert np.array_equal(third[0], first[0])
    assert not np.array_equal(third[1], second[1])


def test_padding_neither_draws_nor_steps_twice(tmp_path):
    for path in (recurrent(tmp_path / "r.onnx"), chunked(tmp_path / "c.onnx")):
        policy = bound(path, batch=3)
        names = policy.spec.reads
        seen = {n: np.full((3, 1 if n.endswith("gripper") else 3), 0.3) for n in names}
        policy.reset(np.array([0, 1, 2]), [""] * 3, [5, 5, 5])
        full = [policy.act(np.array([0, 1, 2]), seen).actions[0] for _ in range(3)]
        policy.reset(np.array([0]), [""], [5])
        padded = [policy.act(np.array([0, 0, 0]), seen).actions[0] for _ in range(3)]
        assert np.array_equal(full, padded)


def test_a_call_that_fails_leaves_no_trace(tmp_path):
    policy = bound(recurrent(tmp_path / "r.onnx"), batch=1)
    slot, seen = np.array([0]), {"panda/ee_pos": np.ones((1, 3))}
    policy.reset(slot, [""], [0])
    first = policy.act(slot, seen).actions
    policy.reset(slot, [""], [0])
    with pytest.raises(PolicyError, match=r"input 'panda/ee_pos' takes \(3\), it was given panda/ee_pos \(2,\)"):
        policy.act(slot, {"panda/ee_pos": np.ones((1, 2))})
    assert np.array_equal(policy.act(slot, seen).actions, first)


def test_noise_follows_the_seed(tmp_path):
    policy = bound(chunked(tmp_path / "c.onnx"), batch=2)
    seen = {"panda/ee_pos": np.ones((2, 3)), "panda/gripper": np.ones((2, 1))}
    slots = np.array([0, 1])
    policy.reset(slots, ["", ""], [7, 2**62])
    one, two = policy.act(slots, seen).actions, policy.act(slots, seen).actions
    assert not np.array_equal(one[0], one[1])
    assert not np.array_equal(one[0], two[0])
    policy.reset(slots, ["", ""], [2**62, 7])
    assert np.array_equal(policy.act(slots, seen).actions, one[::-1])


def test_the_instruction_comes_as_bytes(tmp_path):
    nodes = [
        helper.make_node("Cast", ["instruction"], ["letters"], to=F),
        helper.make_node("Slice", ["letters", "begin", "end", "axis"], ["action"]),
    ]
    ints = {"begin": np.array([0]), "end": np.array([7]), "axis": np.array([1])}
    inputs = {"instruction": (TensorProto.UINT8, ["n", 12])}
    policy = bound(save(tmp_path / "t.onnx", nodes, inputs, {"action": ["n", 7]}, ints), batch=2)
    slots = np.array([0, 1])
    policy.reset(slots, ["", ""], [0, 1])
    letters = policy.act(slots, {"instruction": ["lift", "öffne"]}).actions[:, 0]
    assert bytes(letters[0].astype(np.uint8)) == b"lift\0\0\0"
    assert bytes(letters[1].astype(np.uint8)) == "öffne\0".encode()
    with pytest.raises(PolicyError, match="reads 12 bytes of an instruction, 'pick the cube up' has 16"):
        policy.act(slots, {"instruction": ["lift", "pick the cube up"]})


@pytest.mark.parametrize("kind", [TensorProto.INT64, F])
def test_depth_and_ids_of_parts_come_as_they_are(tmp_path, kind):
    """The action is the mean of the first plus that of the second: in metres and in ids, whatever the input's type."""
    nodes = []
    for stream in ("front/depth", "front/segmentation"):
        nodes += [
            helper.make_node("Cast", [stream], [f"x{stream}"], to=F),
            helper.make_node("ReduceMean", [f"x{stream}"], [f"m{stream}"], axes=[1, 2, 3], keepdims=0),
        ]
    nodes += [
        helper.make_node("Add", ["mfront/depth", "mfront/segmentation"], ["m"]),
        helper.make_node("Unsqueeze", ["m", "axis"], ["c"]),
        helper.make_node("Tile", ["c", "seven"], ["action"]),
    ]
    w = {"axis": np.array([1]), "seven": np.array([1, 7])}
    inputs = {"front/depth": (F, ["n", 4, 6, 1]), "front/segmentation": (kind, ["n", 4, 6, 1])}
    policy = bound(save(tmp_path / "p.onnx", nodes, inputs, {"action": ["n", 7]}, w))
    assert {name: stream.shape for name, stream in policy.spec.reads.items()} == dict.fromkeys(inputs, (4, 6, 1))
    policy.reset(np.array([0]), [""], [0])
    seen = {"front/depth": np.full((1, 4, 6, 1), 0.7, "f4"), "front/segmentation": np.full((1, 4, 6, 1), 3, "i4")}
    np.testing.assert_allclose(policy.act(np.array([0]), seen).actions, 3.7, rtol=1e-6)


@pytest.mark.parametrize("kind", [TensorProto.UINT8, F])
def test_pictures_come_as_the_input_wants_them(tmp_path, kind):
    """The action is the mean of the picture: 0..255 for bytes, 0..1 for floats."""
    nodes = [
        helper.make_node("Cast", ["front/rgb"], ["x"], to=F),
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["m", "axis"], ["c"]),
        helper.make_node("Tile", ["c", "seven"], ["action"]),
    ]
    w = {"axis": np.array([1]), "seven": np.array([1, 7])}
    inputs = {"front/rgb": (kind, ["n", 4, 6, 3])}
    policy = bound(save(tmp_path / "p.onnx", nodes, inputs, {"action": ["n", 7]}, w))
    assert policy.spec.reads["front/rgb"].shape == (4, 6, 3)
    policy.reset(np.array([0]), [""], [0])
    picture = np.full((1, 4, 6, 3), 51, dtype=np.uint8)
    expected = 51.0 if kind == TensorProto.UINT8 else 0.2
    np.testing.assert_allclose(policy.act(np.array([0]), {"front/rgb": picture}).actions, expected, rtol=1e-6)


def test_bytes_that_are_no_picture_stay_as_they_are(tmp_path):
    """Whether a stream is a picture is declared by the world, not read off its type."""
    nodes = [helper.make_node("MatMul", ["panel/button", "w"], ["action"])]
    w = {"w": np.ones((1, 7), "f4")}
    policy = bound(save(tmp_path / "p.onnx", nodes, {"panel/button": ["n", 1]}, {"action": ["n", 7]}, w))
    policy.inform({"panel/button": Feature(kind="scalar", shape=(1,), dtype="uint8")})
    policy.reset(np.array([0]), [""], [0])
    pressed = {"panel/button": np.full((1, 1), 51, dtype=np.uint8)}
    np.testing.assert_allclose(policy.act(np.array([0]), pressed).actions, 51.0)


def test_history_has_an_axis_of_its_own(tmp_path):
    nodes = [helper.make_node("Flatten", ["panda/ee_pos"], ["x"]), helper.make_node("Gemm", ["x", "w"], ["action"])]
    reads = {"panda/ee_pos": Stream(history=2, rate=40.0)}
    path = save(tmp_path / "h.onnx", nodes, {"panda/ee_pos": ["n", 2, 3]}, {"action": ["n", 7]}, {"w": weights(6, 7)})
    annotate(path, reads=reads)
    assert bound(path).spec.reads == {"panda/ee_pos": Stream((3,), 40.0, 2)}
    assert check_policy(f"onnx:{path}").ok
    path = save(tmp_path / "s.onnx", [nodes[0], nodes[1]], {"panda/ee_pos": ["n", 3, 3]}, {"action": ["n", 7]},
                {"w": weights(9, 7)})  # fmt: skip
    with pytest.raises(UsageError, match="its history is 2"):
        annotate(path, reads=reads)


@pytest.mark.parametrize(("axes", "size"), [([], 8), ([2], 4)])
def test_state_with_history(tmp_path, axes, size):
    """(n, 8): each stream's history in turn; (n, 2, 4): one row per moment."""
    nodes = [helper.make_node("Flatten", ["state"], ["x"]), helper.make_node("Gemm", ["x", "w"], ["action"])]
    path = save(
        tmp_path / "s.onnx",
        nodes,
        {"state": ["n", *axes, size]},
        {"action": ["n", 7]},
        {"w": np.eye(8, 7, dtype=np.float32)},
    )
    annotate(
        path,
        state=["panda/ee_pos", "panda/gripper"],
        reads={n: {"history": 2} for n in ("panda/ee_pos", "panda/gripper")},
    )
    policy = bound(path, batch=1)
    policy.reset(np.array([0]), [""], [0])
    seen = {"panda/ee_pos": np.arange(6.0).reshape(1, 2, 3), "panda/gripper": np.array([[[10.0], [11.0]]])}
    expected = [0, 1, 2, 10, 3, 4, 5] if axes else [0, 1, 2, 3, 4, 5, 10]
    assert policy.act(np.array([0]), seen).actions[0, 0].tolist() == expected


def test_terminate_ends_the_episode(tmp_path):
    """Done when the hand is above z = 0, which it always is."""
    nodes = [
        helper.make_node("Gemm", ["panda/ee_pos", "w"], ["action"]),
        helper.make_node("Slice", ["panda/ee_pos", "two", "three", "one"], ["z"]),
        helper.make_node("Greater", ["z", "zero"], ["terminate"]),
    ]
    w = {"w": weights(3, 7), "two": np.array([2]), "three": np.array([3]), "one": np.array([1]), "zero": np.float32(0)}
    outputs = {"action": ["n", 7], "terminate": (TensorProto.BOOL, ["n", 1])}
    ended = rows(save(tmp_path / "t.onnx", nodes, {"panda/ee_pos": ["n", 3]}, outputs, w), slots=2, count=2)
    assert {o[-2] for o in ended.values()} == {"terminated"}
    assert {o[4] for o in ended.values()} == {1}


def test_fingerprint_is_the_hash_of_the_file_and_of_weights_beside_it(tmp_path):
    path = mlp(tmp_path / "m.onnx")
    assert Onnx(path).fingerprint() == hashlib.sha256(path.read_bytes()).hexdigest()
    model = onnx.load(str(path))
    apart = tmp_path / "apart.onnx"
    onnx.save(model, str(apart), save_as_external_data=True, location="apart.data", size_threshold=0)
    data = tmp_path / "apart.data"
    both = hashlib.sha256(apart.read_bytes() + data.read_bytes()).hexdigest()
    assert Onnx(apart).fingerprint() == both
    changed = bytearray(data.read_bytes())
    changed[0] ^= 1
    data.write_bytes(changed)
    assert Onnx(apart).fingerprint() != both, "other weights are another policy, though the .onnx file is the same"
    annotate(apart, action="ee_delta")
    assert data.read_bytes() == bytes(changed)
    bound(apart)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: p, "there is no file"),
        (lambda p: p.write_text("hello") and p, "ONNX Runtime cannot load it"),
        (lambda p: mlp(p, names={"elbow": 3}), "input 'elbow' is not a stream; name it after one"),
        (lambda p: mlp(p, names={"state": 3}), "input 'state' needs metadata 'foretell.state'"),
        (lambda p: mlp(p, state=["cube/pos"]), "'foretell.state' is for 'state', which is not there"),
        (lambda p: chunked(p, reads={"panda/ee_pos": {"shape": [2]}, "panda/gripper": {"shape": [1]}}),
         "input 'state' takes 4 numbers, its streams give 3: panda/ee_pos 2, panda/gripper 1"),
        (lambda p: mlp(p, out=6), "output 'action' gives 6 numbers per action, the controller 'ee_delta' takes 7"),
        (lambda p: mlp(p, chunk=4), "output 'action' is ['n', 7], 'foretell.chunk' says 4"),
        (lambda p: mlp(p, batch=0), "batch is 0"),
        (lambda p: mlp(p, names={"front/rgb": 3}), "pictures come as (height, width, 3)"),
        (lambda p: mlp(p, reads={"can/pos": {}}), "'foretell.reads' names 'can/pos', but no input takes it"),
        (lambda p: mlp(p, reads={"cube/pos": {"shape": [4]}}), "'cube/pos' takes (3), 'foretell.reads' says (4,)"),
        (lambda p: mlp(p, reads={"cube/pos": {"hz": 4}}), "'cube/pos' has ['hz']; known: shape, rate, history"),
        (lambda p: mlp(p, reads="{"), "metadata 'foretell.reads' is not JSON"),
        (lambda p: mlp(p, chunk="[1]"), "metadata 'foretell.chunk' should be a whole number, it is [1]"),
        (lambda p: mlp(p, chunks=1), "metadata 'foretell.chunks' is not known; did you mean 'chunk'?"),
        (lambda p: mlp(p, recurrent={"h": "action"}), "'foretell.recurrent' is for 'h', which is not there"),
        (lambda p: mlp(p, noise="z"), "'foretell.noise' is for 'z', which is not there"),
        (lambda p: mlp(p, action="ee_delt"), "'ee_delt' is not known; did you mean 'ee_delta'?"),
        (lambda p: mlp(p, names={"instruction": 8}), "expected a tensor(uint8) of shape (batch, bytes)"),
        (lambda p: chunked(p, execute=9), "execute is 9, it must be between 1 and chunk (4)"),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_the_matter(tmp_path, make, says):
    path = make(tmp_path / "bad.onnx")
    with pytest.raises(UsageError) as error:
        bound(path)
    assert says in str(error.value)
    assert str(path) in str(error.value)


def test_batches_that_disagree(tmp_path):
    nodes = [helper.make_node("Gemm", ["cube/pos", "w", "panda/ee_pos"], ["action"])]
    inputs = {"cube/pos": [4, 3], "panda/ee_pos": [1, 7]}
    path = save(tmp_path / "b.onnx", nodes, inputs, {"action": [4, 7]}, {"w": weights(3, 7)})
    with pytest.raises(UsageError, match=r"batches of \[1, 4\]"):
        Onnx(path)


def test_a_stream_the_world_does_not_have(tmp_path):
    report = check_policy(f"onnx:{mlp(tmp_path / 'm.onnx', names={'panda/ee_position': 3})}")
    assert not report["streams"].passed
    assert "did you mean 'panda/ee_pos'?" in report["streams"].detail


def test_annotate(tmp_path):
    path = mlp(tmp_path / "m.onnx", names={"x": 3})
    before = path.read_bytes()
    for wrong, says in (({"inputs": {"y": "cube/pos"}}, "'y'"), ({"input": {}}, "did you mean 'inputs'?")):
        with pytest.raises(UsageError, match=says):
            annotate(path, **wrong)
        assert path.read_bytes() == before, "left as it was"
    annotate(path, inputs={"x": "cube/pos"}, action="ee_delta", action_rate=10.0)
    assert bound(path).spec.action_rate == 10.0
    annotate(path, action_rate=None)
    assert bound(path).spec.action_rate == 20.0, "the task's"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(UsageError, match="there is no file"):
        annotate(tmp_path / "none.onnx", chunk=1)
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(UsageError, match="is not an ONNX model"):
        annotate(tmp_path / "text.onnx", chunk=1)
