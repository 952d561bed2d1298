"""The checks pass what is sound, and each catches what it is there for."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

import foretell
from foretell.checks import Finding, Report, check_policy, check_task, check_world
from foretell.objects import CUBE
from foretell.policy import Chunk, Policy, PolicySpec
from foretell.registry import BUILTIN
from foretell.scenario import Placement
from foretell.sim.world import MujocoWorld
from foretell.spec import ActionSpec, DimSpec, Stream, ee_delta
from foretell.tasks.lift import Lift
from foretell.tasks.pointnav import PointNav
from foretell.tasks.task import Mount, Stage

READS = {"panda/ee_pos": Stream((3,)), "cube/pos": Stream((3,))}


class Good(Policy):
    """Goes to the cube; remembers its first look, per slot."""

    def __init__(self, **changes):
        self.spec = PolicySpec(reads=READS, **{"batch": 4, **changes})
        self.first = {}

    def reset(self, slots, instructions, seeds):
        for slot in slots.tolist():
            self.first.pop(slot, None)

    def act(self, slots, observations):
        actions = np.zeros((len(slots), 7))
        for row, slot in enumerate(slots.tolist()):
            goal = self.first.setdefault(slot, observations["cube/pos"][row].copy())
            actions[row, :3] = np.clip(5 * (goal - observations["panda/ee_pos"][row]), -1, 1)
        return actions


class Positional(Good):
    def act(self, slots, observations):
        return super().act(slots, observations) + 1e-9 * np.arange(len(slots))[:, None]


class Sociable(Good):
    """Centres what it sees on the batch, as batch normalisation left in training mode does."""

    def act(self, slots, observations):
        actions = super().act(slots, observations)
        return actions - 0.1 * actions.mean(axis=0)


class Filled(Good):
    """Notices when a batch is short, that is, when its last slots are repeated."""

    def act(self, slots, observations):
        short = len(set(slots.tolist())) in (2, 3)
        return super().act(slots, observations) * (0.5 if short else 1.0)


class Drawing(Good):
    """Draws for every row, so for padding too: what a slot draws depends on the fill."""

    def __init__(self):
        super().__init__(seeded=True)
        self.rngs = {}

    def reset(self, slots, instructions, seeds):
        super().reset(slots, instructions, seeds)
        self.rngs |= {slot: np.random.default_rng(seed) for slot, seed in zip(slots.tolist(), seeds, strict=True)}

    def act(self, slots, observations):
        noise = [self.rngs[slot].uniform(-0.1, 0.1, 7) for slot in slots.tolist()]
        return np.clip(super().act(slots, observations) + noise, -1, 1)


class Clinging(Good):
    """Its memory outlives the episode."""

    def reset(self, slots, instructions, seeds):
        pass


class Meddling(Good):
    def act(self, slots, observations):
        actions = super().act(slots, observations)
        observations["cube/pos"] -= observations["panda/ee_pos"]
        return actions


class Undefined(Good):
    def act(self, slots, observations):
        actions = super().act(slots, observations)
        actions[observations["time"] > 0.5, 2] = np.nan
        return actions


class Misshapen(Good):
    def act(self, slots, observations):
        return super().act(slots, observations)[:, :6]


class Raising(Good):
    def act(self, slots, observations):
        raise RuntimeError("no weights")


class Unseeded(Good):
    def act(self, slots, observations):
        return super().act(slots, observations) * np.random.default_rng().uniform(0.9, 1.0)


class Secretive(Good):
    """Draws from its seeds, but does not say so."""

    def reset(self, slots, instructions, seeds):
        super().reset(slots, instructions, seeds)
        self.gain = getattr(self, "gain", {}) | {
            s: np.random.default_rng(k).uniform(0.5, 1) for s, k in zip(slots.tolist(), seeds, strict=True)
        }

    def act(self, slots, observations):
        return super().act(slots, observations) * np.array([[self.gain[s]] for s in slots.tolist()])


class Loud(Good):
    def act(self, slots, observations):
        return 3 * super().act(slots, observations) + 0.5


def failed(report):
    return {f.name for f in report.findings if not f.passed}


def test_a_sound_policy_passes():
    report = check_policy(Good())
    assert report.ok, report.to_dict()
    names = "constructs binds spec action streams fingerprint act finite range seeding batch reset observations time"
    assert [f.name for f in report.findings] == names.split()


@pytest.mark.parametrize("name", ["expert", "noisy-expert", "random"])
def test_built_in_policies_pass(name):
    report = check_policy(name)
    assert report.ok, report.to_dict()


@pytest.mark.parametrize(
    ("policy", "caught", "says"),
    [
        (Positional(), {"batch"}, "depend on position"),
        (Sociable(), {"batch"}, "depend on neighbours"),
        (Filled(), {"batch"}, "depend on fill"),
        (Drawing(), {"batch"}, "differ, by up to 0."),
        (Clinging(), {"reset"}, "acts differently from a fresh one: 48 of 48 answers differ"),
        (Meddling(), {"observations"}, "modified its observations: cube/pos"),
        (Undefined(), {"finite"}, "have a value that is not finite"),
        (Misshapen(), {"act"}, "act returned actions of shape (4, 6), expected (4, 1, 7)"),
        (Raising(), {"act"}, "4 of 4 episodes: act raised RuntimeError: no weights"),
        (Unseeded(), {"seeding", "batch", "reset"}, "the same seeds gave other actions"),
        (Secretive(), {"seeding"}, "its spec does not declare it seeded"),
        (Good(seeded=True), {"seeding"}, "its spec declares it seeded, but other seeds gave the same 12 calls"),
        (Loud(), {"range"}, "are out of range and would be clipped; the largest magnitude is "),
        (Good(action=ee_delta("target")), {"action"}, "anchor is 'target'"),
        (Good(action=ActionSpec("x", (DimSpec(meaning="x", unit="m", size=7),))), {"action"}, "has dimensions"),
        (Good(execute=2), {"spec"}, "execute is 2, it must be between 1 and chunk (1)"),
        (Good(action_rate=1000.0), {"spec"}, "1000 actions per s (the world ticks 500 times)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Policy) else None,
)
def test_broken_policies_are_caught_by_name(policy, caught, says):
    report = check_policy(policy)
    assert failed(report) == caught, report.to_dict()
    assert says in next(f.detail for f in report.findings if not f.passed)


@pytest.mark.parametrize(
    ("reads", "says"),
    [
        ({"panda/ee_position": Stream((3,))}, "did you mean 'panda/ee_pos'?"),
        ({"cube/pos": Stream((4,))}, "shape is (4,), the world has (3,)"),
    ],
)
def test_streams_must_be_those_of_the_world(reads, says):
    policy = Good()
    policy.spec = dataclasses.replace(policy.spec, reads=reads)
    report = check_policy(policy)
    assert failed(report) == {"streams"}
    assert says in report["streams"].detail


def test_a_policy_that_cannot_be_made():
    assert failed(check_policy("expret")) == {"constructs"}
    assert "did you mean 'expert'?" in check_policy("expret")["constructs"].detail
    assert failed(check_policy("noisy-expert", options={"noise": -1})) == {"constructs"}
    assert failed(check_policy(object())) == {"binds"}


def test_chunks_and_terminations_are_compared():
    class Chunked(Good):
        def act(self, slots, observations):
            actions = np.repeat(super().act(slots, observations)[:, None], 8, axis=1)
            ends = np.zeros((len(slots), 8), dtype=bool)
            ends[1:, 7] = self.broken
            return Chunk(actions, ends)

    policy = Chunked(chunk=8, execute=4)
    policy.broken = False
    assert check_policy(policy).ok
    policy.broken = True
    assert "batch" in failed(check_policy(policy))


# -- tasks ----------------------------------------------------------------------------------------------------------


class Sunk(Lift):
    """The cube starts inside the table."""

    def place(self, rng):
        placed = super().place(rng)["cube"]
        return {"cube": placed.model_copy(update={"pos": (*placed.pos[:2], CUBE.rest - 0.005)})}


class Far(Lift):
    time_limit = 1.0  # the expert tries in vain

    def place(self, rng):
        placed = super().place(rng)["cube"]
        return {"cube": placed.model_copy(update={"pos": (0.39, 0.39, placed.pos[2])})}


class Overlapping(Lift):
    time_limit = 1.0

    def place(self, rng):
        cube = super().place(rng)["cube"]
        x, y, z = cube.pos
        return {"cube": cube, "other": Placement(asset="cube", pos=(x + 0.03, y, z), quat=cube.quat)}


class Drifting(Lift):
    """Draws from a generator of its own."""

    own = np.random.default_rng(0)

    def place(self, rng):
        return super().place(self.own)


class Fixed(Lift):
    """Every seed gives one layout."""

    start_noise = 0.0

    def place(self, rng):
        return super().place(np.random.default_rng(0))


class Varied(Lift):
    """Some scenarios have one object more."""

    def place(self, rng):
        placed = super().place(rng)
        if rng.uniform() < 0.5:
            placed["other"] = Placement(asset="cube", pos=(0.2, 0.2, CUBE.rest))
        return placed


class Easy(Lift):
    def solved(self, state):
        return state.pos("cube")[:, 2] > 0.0


class Unstaged(Lift):
    stages = (*Lift.stages, Stage("rest", "the cube lies still"))


class Overstaged(Lift):
    stages = Lift.stages[:2]


class Flat(Lift):
    """Looks at slot 0 for all."""

    def reached(self, state):
        now = super().reached(state)
        return now | {"reach": np.broadcast_to(now["reach"][:1], now["reach"].shape)}


class Reduced(Lift):
    def solved(self, state):
        return np.asarray(super().solved(state).any())


class Impossible(Lift):
    time_limit = 1.0


class Unscripted(Lift):
    time_limit = 0.5

    def expert(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("task", "caught", "says"),
    [
        (Sunk, "contacts", "20 of 20 scenarios start with things inside one another by over 2 mm"),
        (Overlapping, "contacts", "'cube/body' and 'other/body'"),
        (Far, "reach", "20 of 20 placements are out of reach"),
        (Drifting, "scenarios", "20 of 20 seeds gave another scenario the second time"),
        (Fixed, "scenarios", "20 seeds gave 1 different layouts"),
        (Varied, "layout", "20 scenarios compiled into 2 layouts"),
        (Easy, "start", "20 of 20 scenarios are solved before anything is done"),
        (Unstaged, "stages", "stage 'rest' is declared but not computed"),
        (Overstaged, "stages", "computed are ['reach', 'grasp', 'lift']"),
        (Reduced, "stages", "'solved()' is bool (), not bool (20,)"),
        (Flat, "slots", "'reach' of one slot alone is"),
        (Impossible, "expert", "solves 0 of 10"),
    ],
)
def test_broken_tasks_are_caught_by_name(task, caught, says):
    report = check_task(task())
    assert caught in failed(report), report.to_dict()
    assert says in report[caught].detail


def test_a_sound_task_passes():
    report = check_task("lift")
    assert report.ok, report.to_dict()
    names = "constructs identity scenarios json reach layout features contacts stages start expert slots"
    assert [f.name for f in report.findings] == names.split()


class Named(Lift):
    """Asks for the objects of the scene in its rule."""

    def reached(self, state):
        return super().reached(state) | {"reach": np.full(len(state.subtask), "cube" in state.objects)}


def test_a_rule_may_ask_which_objects_there_are():
    assert check_task(Named())["slots"].passed


def cheap(name):
    return name in ("can", "google_robot_open_bottom_drawer")


@pytest.mark.parametrize(
    "name",
    [name if cheap(name) else pytest.param(name, marks=pytest.mark.daily) for name in BUILTIN["tasks"]],
)
def test_every_task_of_our_own_passes(name):
    report = check_task(name)
    assert report.ok, report.to_dict()


def test_a_task_that_navigates_is_checked_in_its_world():
    report = check_task("pointnav")  # 2 s
    assert report.ok, report.to_dict()
    assert {"routes", "stages", "expert", "slots"} <= {finding.name for finding in report.findings}
    assert "world standin is not planar" in check_task("pointnav", world="standin")["constructs"].detail

    class Nearsighted(PointNav):
        def reached(self, state):
            return {**super().reached(state), "close": np.asarray(state.remaining < state.remaining.mean())}

    assert failed(check_task(Nearsighted)) == {"slots"}


def test_a_task_without_expert_passes_and_is_told():
    report = check_task(Unscripted())
    assert report.ok
    assert "no scripted expert" in report["expert"].detail


def test_a_task_that_cannot_be_made():
    assert failed(check_task("lfit")) == {"constructs"}

    class Nowhere(Lift):
        robots = {"panda": Mount("pnada", (0, 0, 0))}

    assert "did you mean 'panda'?" in check_task(Nowhere())["constructs"].detail


# -- worlds ---------------------------------------------------------------------------------------------------------


NAMES = "loads hash features repeats slots threads seam observe physics"


def test_the_native_world_passes():
    report = check_world("mujoco")
    assert report.ok, report.to_dict()
    assert [f.name for f in report.findings] == NAMES.split()
    assert "equal bit for bit" in report["seam"].detail


def test_a_world_that_cannot_be_made():
    assert failed(check_world("mujocco")) == {"loads"}


class Leaky(MujocoWorld):
    """What a slot did before leaves a trace."""

    def reset(self, slots, scenarios, trials):
        super().reset(slots, scenarios, trials)
        self.resets = getattr(self, "resets", 0) + 1

    def command(self, slots, actions, ticks):
        super().command(slots, actions + 1e-6 * self.resets, ticks)


class Crowded(MujocoWorld):
    def command(self, slots, actions, ticks):
        super().command(slots, actions + 1e-6 * self.slots, ticks)


class Threaded(MujocoWorld):
    def command(self, slots, actions, ticks):
        super().command(slots, actions + 1e-6 * self.threads, ticks)


class Jerky(MujocoWorld):
    """Takes every advance for a new command."""

    def command(self, slots, actions, ticks):
        self.last = actions
        super().command(slots, actions, ticks)

    def advance(self, slots, ticks):
        super().command(slots, self.last, ticks)
        super().advance(slots, ticks)


class Shaky(MujocoWorld):
    looks = 0

    def observe(self, slots, streams):
        seen = super().observe(slots, streams)
        self.looks += 1
        seen["cube/pos"] = seen["cube/pos"] + 1e-9 * (self.looks % 2)
        return seen


class Exploding(MujocoWorld):
    def faults(self, slots):
        return {int(slots[0]): "physics diverged: velocity became NaN or huge"}


class Renamed(MujocoWorld):
    count = 0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        Renamed.count += 1
        self.hash = f"{Renamed.count}"


@pytest.mark.parametrize(
    ("kind", "caught"),
    [
        (Leaky, "repeats"),
        (Crowded, "slots"),
        (Threaded, "threads"),
        (Jerky, "seam"),
        (Shaky, "observe"),
        (Exploding, "physics"),
        (Renamed, "hash"),
    ],
)
def test_broken_worlds_are_caught_by_name(monkeypatch, kind, caught):
    monkeypatch.setattr("foretell.checks.setting.make_world", lambda source, task, **how: kind(task, source, **how))
    monkeypatch.setattr("foretell.checks.world.ACTIONS", 6)
    report = check_world("mujoco")
    assert failed(report) == {caught}, report.to_dict()


# -- all of them ----------------------------------------------------------------------------------------------------


def test_check_is_a_function_whatever_was_imported_before():
    assert foretell.check("policy", "random").ok  # the package is long imported: see above
    with pytest.raises(foretell.UsageError, match="'polcy' cannot be checked; did you mean 'policy'"):
        foretell.check("polcy", "random")


def test_classes_are_made_and_named():
    assert foretell.check("policy", Good, options={"batch": 2}).subject == "policy Good"
    report = foretell.check("task", Impossible)
    assert report.subject == "task Impossible" and failed(report) == {"expert"}


# -- reports --------------------------------------------------------------------------------------------------------


def test_a_report_is_plain_data():
    report = Report("policy x", [Finding("a", True, "fine."), Finding("b", False, "not fine.")])
    assert not report.ok
    assert report["b"].detail == "not fine."
    assert json.loads(json.dumps(report.to_dict()))["findings"][1] == {
        "name": "b",
        "passed": False,
        "detail": "not fine.",
        "code": None,
    }
    assert not Report("nothing looked at").ok


def test_the_page_on_policies_is_true(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parent.parent / "docs" / "policies.md").read_text()
    first, *rest = re.findall(r"```python\n(.*?)```", page, re.S)
    monkeypatch.chdir(tmp_path)
    Path("follow.py").write_text(first)
    for block in rest:
        exec(compile(block, "docs/policies.md", "exec"), {})
    said = capsys.readouterr().out
    assert "FAIL" not in said
    quoted = re.search(r"```text\n(.*?)```", page, re.S)[1].splitlines()
    assert len(quoted) == 4
    assert [line in said for line in quoted if " time " not in line] == [True] * 3
