"""The Gymnasium environments: registered, checked by Gymnasium's own checkers, and equal to what a study runs."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy_world
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, check_returned_data_not_reused, data_equivalence
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from foretell.bridges.gymnasium import TaskEnv, TaskVectorEnv
from foretell.bridges.register import IDS, OLD, OWN, register
from foretell.errors import UsageError
from foretell.policies.expert import Expert
from foretell.registry import resolve
from foretell.rollout import Job, run_sync
from foretell.scenario import Scenario
from foretell.sim import MujocoWorld
from foretell.sim.bench import Bench
from foretell.tasks.task import Task

LIFT = "foretell/Lift-v2"
SEEDS = [0, 1, 2, 3, 4]
STILL = np.zeros(7)


def make(name: str = LIFT, **kwargs: Any) -> gymnasium.Env:
    return gymnasium.make(name, **kwargs)


def make_vec(num_envs: int, **kwargs: Any) -> Any:
    return gymnasium.make_vec(LIFT, num_envs=num_envs, **kwargs)


def expert(task: Task, action: Any) -> Expert:
    policy = Expert()
    policy.bind(task, action)
    return policy


def same(a: Any, b: Any) -> bool:
    return data_equivalence(a, b, exact=True)


# -- registration ---------------------------------------------------------------------------------------------------


def test_registered_with_the_time_limit_and_version_of_the_task():
    for name, task in IDS.items():
        kind, spec = resolve("tasks", task), gymnasium.spec(name)
        assert spec.max_episode_steps == kind.time_limit * kind.action_rate
        assert spec.version == kind.version  # one number everywhere


def test_registering_again_changes_nothing():
    before = {name: gymnasium.registry[name] for name in IDS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register()
    assert all(gymnasium.registry[name] is spec for name, spec in before.items())


def test_old_numbers_still_make_the_same_task_and_warn():
    for name, task in OLD.items():
        with pytest.warns(DeprecationWarning, match="out of date"):
            env = make(name)
        assert env.unwrapped.task.name == task


def test_id_with_module_needs_no_import_and_no_gl():
    code = (
        "import gymnasium\n"
        "envs = gymnasium.make_vec('foretell.bridges.gymnasium:foretell/Lift-v2', num_envs=2)\n"
        "envs.reset(seed=0); envs.step(envs.action_space.sample()); envs.close()\n"
        "from foretell.sim import render; assert render._shared is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_make_vec_is_native_unless_told_otherwise():
    for mode in (None, "vector_entry_point"):
        envs = make_vec(2, vectorization_mode=mode)
        assert isinstance(envs, TaskVectorEnv)
        assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        assert envs.metadata["render_fps"] == 20
        assert envs.action_space.shape == (2, 7)
        assert envs.world.slots == 2


# -- Gymnasium's checkers --------------------------------------------------------------------------------------------


REPEATED = [
    name
    for name, task in IDS.items()
    if (task.endswith("drawer") and "apple" not in task) or task.endswith(("_can", "_v0", "_v1"))
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.daily if name in REPEATED else ()) for name in IDS]
)
def test_check_env(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # true: nothing bounds where an object may roll
        warnings.filterwarnings("ignore", ".*A Box observation space (minimum|maximum) value is -?infinity.*")
        # true of SIMPLER's actions, which are metres and radians
        warnings.filterwarnings("ignore", ".*we recommend using a symmetric and normalized space.*")
        check_env(make(name).unwrapped, skip_render_check=True)


def test_checkers_on_a_vector_of_one():
    # Gymnasium has no checker for vector environments; those below hold for one of a single environment
    native, looped = make_vec(1, max_episode_steps=4), make_vec(1, max_episode_steps=4, vectorization_mode="sync")
    check_returned_data_not_reused(native)
    check_environments_match(native, looped, num_steps=10)
    assert native.reset()[0] in native.observation_space


def test_native_vector_equals_gymnasiums_own_over_many_episodes():
    native, looped = (make_vec(3, max_episode_steps=4, vectorization_mode=mode) for mode in (None, "sync"))
    assert native.single_observation_space == looped.single_observation_space
    assert native.observation_space == looped.observation_space
    assert native.action_space == looped.action_space
    rng = np.random.default_rng(0)
    assert same(native.reset(seed=7), looped.reset(seed=7))
    for step in range(1, 18):
        actions = rng.uniform(-1, 1, (3, 7))
        if step == 7:  # in the middle of an episode: from here on they are out of step with each other
            mask = np.array([True, False, True])
            a, b = (envs.reset(seed=[5, None, None], options={"reset_mask": mask.copy()}) for envs in (native, looped))
        else:
            a, b = native.step(actions), looped.step(actions)
        assert same(a, b), step


def test_vector_wrapper_counts_episodes():
    envs = RecordEpisodeStatistics(make_vec(2, max_episode_steps=3))
    envs.reset(seed=0)
    lengths = []
    for _ in range(8):  # 3 steps and the one that resets, twice
        *_, truncated, info = envs.step(envs.action_space.sample())
        if truncated.any():
            lengths.append(info["episode"]["l"].tolist())
    assert lengths == [[3, 3], [3, 3]]


# -- the same as the rest of foretell --------------------------------------------------------------------------------


def through_single(policy: Expert, **kwargs: Any) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    env, slot = make(**kwargs), np.zeros(1, dtype=np.int32)
    for seed in SEEDS:
        obs, info = env.reset(seed=seed)
        assert info["is_success"] is False
        policy.reset(slot, [""], [0])
        step, terminated, truncated = 0, False, False
        while not (terminated or truncated):
            action = policy.act(slot, {name: value[None] for name, value in obs.items()})[0]
            obs, reward, terminated, truncated, info = env.step(action)
            assert reward == float(terminated) == float(info["is_success"])
            step += 1
        assert terminated and not truncated
        yield step, obs


def through_vector(policy: Expert, **kwargs: Any) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    envs, slots = make_vec(len(SEEDS), **kwargs), np.arange(len(SEEDS), dtype=np.int32)
    obs, _ = envs.reset(seed=SEEDS[0])
    policy.reset(slots, [""] * len(SEEDS), SEEDS)
    ends: dict[int, Any] = {}
    for step in range(1, 401):
        obs, rewards, terminated, truncated, info = envs.step(policy.act(slots, obs))
        assert (rewards == terminated).all() and (info["is_success"] == terminated).all() and not truncated.any()
        for i in np.flatnonzero(terminated).tolist():
            ends.setdefault(i, (step, {name: value[i] for name, value in obs.items()}))
        if len(ends) == len(SEEDS):
            return iter([ends[i] for i in range(len(SEEDS))])
    raise AssertionError(f"only {sorted(ends)} were solved")


def through_study(policy: Expert, world: MujocoWorld) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    jobs = iter([Job(policy="expert", scenario=world.task.scenario(seed)) for seed in SEEDS])
    slot = np.zeros(1, dtype=np.int32)
    for _, outcome in run_sync(world, {"expert": policy}, lambda: next(jobs, None)):
        assert outcome.success and outcome.end == "success"
        seen = world.observe(slot, dict(policy.spec.reads))
        yield outcome.steps, {name: seen[name][0] for name in policy.spec.reads}


@pytest.mark.parametrize("name", ["mujoco", "standin"])
def test_expert_gets_the_same_episodes_as_in_a_study(name: str):
    world = MujocoWorld(resolve("tasks", "lift")(), name, slots=1)
    policy = expert(world.task, world.action)
    kwargs = {"world": name, "streams": list(policy.spec.reads)}
    for study, single, vector in zip(
        through_study(policy, world),
        through_single(expert(world.task, world.action), **kwargs),
        through_vector(expert(world.task, world.action), **kwargs),
        strict=True,
    ):
        assert study[0] == single[0] == vector[0]
        for stream, value in study[1].items():
            assert value.tobytes() == single[1][stream].tobytes() == vector[1][stream].tobytes(), stream


# -- seeds and scenarios ---------------------------------------------------------------------------------------------


def test_equally_seeded_environments_stay_equal():
    a, b, c = make(), make(), make()
    first = a.reset(seed=11), b.reset(seed=11), c.reset(seed=12)
    assert same(first[0], first[1]) and not same(first[0], first[2])
    assert first[0][1]["scenario"] == a.unwrapped.task.scenario(11).id
    for _ in range(3):  # unseeded resets go on from the seed
        assert same(a.reset(), b.reset())
        action = np.random.default_rng(0).uniform(-1, 1, 7)
        assert same(a.step(action), b.step(action))


def test_scenario_by_option():
    task = resolve("tasks", "lift")()
    env, envs = make(), make_vec(2)
    obs, info = env.reset(options={"scenario": task.scenario(5)})
    assert info["scenario"] == task.scenario(5).id
    assert same(obs, make().reset(seed=5)[0])
    _, info = envs.reset(options={"scenario": [task.scenario(8), task.scenario(9)]})
    assert info["scenario"].tolist() == [task.scenario(8).id, task.scenario(9).id]


def test_a_published_layout_by_its_number():
    name = "widowx_stack_cube"
    env, envs = TaskEnv(name), TaskVectorEnv(name, num_envs=2)
    published = [layout.id for layout in env.task.layouts()]
    assert env.reset(options={"layout": 7})[1]["scenario"] == published[7]
    assert envs.reset(options={"layout": [0, 23]})[1]["scenario"].tolist() == [published[0], published[23]]
    assert envs.reset(options={"layout": np.int64(5)})[1]["scenario"].tolist() == [published[5]] * 2
    for bad in (24, -1, 1.0, True, "0", None):
        with pytest.raises(UsageError, match=r"'widowx_stack_cube' has no layout .*; its layouts are 0 to 23"):
            env.reset(options={"layout": bad})
    with pytest.raises(UsageError, match="not both"):
        env.reset(options={"layout": 0, "scenario": env.task.layouts()[0]})
    with pytest.raises(UsageError, match="task 'lift' publishes no layouts; give a seed"):
        make().reset(options={"layout": 0})


def test_cycle_through_a_list():
    task = resolve("tasks", "lift")()
    listed = [task.scenario(seed) for seed in (30, 31, 32)]
    env = TaskEnv("lift", scenarios=listed)
    ran = [env.reset()[1]["scenario"] for _ in range(4)]
    assert ran == [listed[i].id for i in (0, 1, 2, 0)]
    assert env.reset(seed=5)[1]["scenario"] == listed[2].id
    envs = TaskVectorEnv("lift", num_envs=2, scenarios=listed)
    ran = [envs.reset()[1]["scenario"].tolist() for _ in range(3)]
    assert ran == [[listed[i].id for i in pair] for pair in ((0, 1), (2, 0), (1, 2))]


# -- tasks of one's own, and rewards ---------------------------------------------------------------------------------


@pytest.fixture
def my_task(tmp_path: Path) -> str:
    text = "from foretell.tasks.lift import Lift\n\nclass Brief(Lift):\n    name = 'brief'\n    time_limit = 0.2\n"
    (tmp_path / "my_task.py").write_text(text)
    return f"{tmp_path / 'my_task.py'}:Brief"


def test_a_task_of_ones_own(my_task: str):
    env = gymnasium.make(OWN, task=my_task)
    assert env.unwrapped.task.name == "brief"
    env.reset(seed=3)
    assert [env.step(STILL)[3] for _ in range(4)] == [False, False, False, True]  # 0.2 s at 20 actions per second
    envs = gymnasium.make_vec(OWN, num_envs=2, task=my_task)
    assert isinstance(envs, TaskVectorEnv)
    envs.reset(seed=3)
    ends = [envs.step(np.zeros((2, 7)))[3].tolist() for _ in range(4)]
    assert ends == [[False] * 2] * 3 + [[True] * 2]
    free = gymnasium.make(OWN, task=my_task, time_limit=False)
    free.reset(seed=3)
    assert not any(free.step(STILL)[3] for _ in range(6))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'task'"):
        gymnasium.make(OWN)
    with pytest.raises(UsageError, match="did you mean 'lift'"):
        gymnasium.make(OWN, task="lft")


def test_rewards_of_stages_add_up_to_the_score_of_a_study():
    scores = {}
    for seed in (0, 1):
        env = make(reward="stages")
        policy = expert(env.unwrapped.task, env.unwrapped.world.action)
        obs, _ = env.reset(seed=seed)
        policy.reset(np.zeros(1, dtype=np.int32), [""], [0])
        rewards, done = [], False
        while not done and len(rewards) < (400 if seed == 0 else 20):
            action = policy.act(np.zeros(1, dtype=np.int32), {k: v[None] for k, v in obs.items()})[0]
            obs, reward, done, _, _ = env.step(np.asarray(action).reshape(-1, 7)[0])
            rewards.append(reward)
        verdict = env.unwrapped.world.verdict(np.zeros(1, dtype=np.int32))[0]
        assert sum(rewards) == pytest.approx(verdict.score) and min(rewards) >= 0.0
        scores[seed] = sum(rewards)
    assert scores[0] == pytest.approx(1.0) and scores[1] == pytest.approx(1 / 3)  # cut short, it has only reached


def test_rewards_of_a_vector_are_those_of_single_ones():
    native, looped = (make_vec(2, reward="stages", vectorization_mode=mode) for mode in (None, "sync"))
    policies = [expert(resolve("tasks", "lift")(), native.world.action) for _ in range(2)]
    slots = np.arange(2, dtype=np.int32)
    seen = [envs.reset(seed=5)[0] for envs in (native, looped)]
    for policy in policies:
        policy.reset(slots, [""] * 2, [0] * 2)
    total = 0.0
    for _ in range(25):
        actions = [
            np.asarray(policy.act(slots, one)).reshape(2, -1, 7)[:, 0]
            for policy, one in zip(policies, seen, strict=True)
        ]
        steps = [envs.step(action) for envs, action in zip((native, looped), actions, strict=True)]
        assert same(steps[0][1], steps[1][1])
        total += steps[0][1].sum()
        seen = [step[0] for step in steps]
    assert total > 0.0


# -- actions, limits and faults --------------------------------------------------------------------------------------


def test_out_of_range_actions_are_clipped():
    a, b = make(), make()
    a.reset(seed=0)
    b.reset(seed=0)
    assert same(a.step(np.full(7, 3.0)), b.step(np.ones(7, dtype=np.float32)))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.full(7, np.nan), "environment 0: dimension 0 is nan"),
        (np.array([0, 0, np.inf, 0, 0, 0, 0]), "dimension 2 is inf"),
        (np.zeros(6), r"shape \(7,\), got \(6,\)"),
    ],
)
def test_bad_actions(action: np.ndarray, message: str):
    env = make()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.step(action)


def test_bad_actions_in_a_vector():
    envs = make_vec(3)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(3, 7\), got \(7,\)"):
        envs.step(STILL)
    actions = np.zeros((3, 7))
    actions[1, 4] = np.nan
    with pytest.raises(ValueError, match="environment 1: dimension 4 is nan"):
        envs.step(actions)


def test_both_are_truncated_at_the_same_step():
    env, envs = make(max_episode_steps=3), make_vec(2, max_episode_steps=3)
    env.reset(seed=0)
    envs.reset(seed=0)
    ends = [(env.step(STILL)[3], envs.step(np.zeros((2, 7)))[3].tolist()) for _ in range(3)]
    assert ends == [(False, [False] * 2), (False, [False] * 2), (True, [True] * 2)]


def diverge(world: MujocoWorld, slot: int) -> None:
    Bench.on(world, slot).layout.qvel[slot] = 1e12


def test_diverged_physics_truncates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log where it stands
    env, envs = make(), make_vec(2)
    obs, _ = env.reset(seed=0)
    diverge(env.unwrapped.world, 0)
    after, reward, terminated, truncated, info = env.step(STILL)
    assert (reward, terminated, truncated, info["is_success"]) == (0.0, False, True, False)
    assert "diverged" in info["error"]
    assert same(obs, after)  # what the simulator left behind is nothing to learn from

    obs, _ = envs.reset(seed=0)
    diverge(envs.world, 1)
    after, _, terminated, truncated, info = envs.step(np.zeros((2, 7)))
    assert truncated.tolist() == [False, True] and not terminated.any()
    assert info["_error"].tolist() == [False, True] and "diverged" in info["error"][1]
    assert all(same(obs[name][1], after[name][1]) for name in obs)
    after, _, _, truncated, info = envs.step(np.zeros((2, 7)))
    assert "error" not in info and not truncated.any() and info["_scenario"].tolist() == [False, True]


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"world": "mujocco"}, "'mujocco' is not known; did you mean 'mujoco'"),
        ({"controller": "joints"}, "did you mean 'joint'"),
        ({"streams": ["panda/joint_poss"]}, "did you mean 'panda/joint_pos'"),
        ({"streams": "panda/joint_pos"}, "expected a list of names"),
        ({"streams": {"front/rgb": (64, 64)}}, r"must be \(height, width, 3\)"),
        ({"streams": {"cube/pos": (4,)}}, r"cube/pos: shape is \(4,\), it must be \(3,\)"),
        ({"scenarios": []}, "the list is empty"),
        ({"scenarios": [3]}, "expected a foretell.scenario.Scenario, got int"),
        ({"reward": "stage"}, "reward: 'stage' is not known; did you mean 'stages'"),
        ({"render_mode": "ascii"}, "None or 'rgb_array'"),
    ],
)
def test_bad_arguments(kwargs: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        TaskEnv("lift", **kwargs)


def test_bad_options():
    env, envs = make(), make_vec(2)
    other = Scenario(task="can", seed=0, placements={})
    for bad, message in (
        ({"scenario": 3}, "got int"),
        ({"scenario": None}, "got NoneType"),
        ({"scenario": other}, "of task 'can', this is 'lift'"),
        ({"scenarios": other}, "did you mean 'scenario'"),
    ):
        with pytest.raises(UsageError, match=message):
            env.reset(options=bad)
        with pytest.raises(UsageError, match=message):
            envs.reset(options=bad)
    envs.reset(seed=0)
    for mask in ([True, False], np.ones(3, dtype=bool), np.ones(2), np.zeros(2, dtype=bool)):
        with pytest.raises(UsageError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    with pytest.raises(ValueError, match="3 seeds for 2"):
        envs.reset(seed=[1, 2, 3])


def test_order():
    env, envs = TaskEnv("lift"), TaskVectorEnv("lift", num_envs=2)
    with pytest.raises(ResetNeeded):
        env.step(STILL)
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    env.reset()
    env.close()
    env.close()
    with pytest.raises(ResetNeeded):
        env.step(STILL)


def test_joint_controller_and_chosen_streams():
    env = make(controller="joint", streams=["panda/joint_pos"])
    assert env.action_space.shape == (8,) and env.action_space.high[0] > 2
    obs, _ = env.reset(seed=0)
    assert list(obs) == ["panda/joint_pos"]
    after, *_ = env.step(np.append(obs["panda/joint_pos"], -1.0))
    assert np.abs(after["panda/joint_pos"] - obs["panda/joint_pos"]).max() < 1e-2


# -- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.gl
def test_cameras():
    streams = {
        "front/rgb": (48, 64, 3),
        "front/depth": (48, 64, 1),
        "panda/wrist/segmentation": (24, 32, 1),
        "cube/pos": None,
    }
    kwargs: dict[str, Any] = {"streams": streams, "render_mode": "rgb_array"}
    env, envs = make(**kwargs), make_vec(2, **kwargs)
    assert env.observation_space["front/depth"] == gymnasium.spaces.Box(0, np.inf, (48, 64, 1), np.float32)
    legend = env.unwrapped._slots.world.legend
    parts = env.observation_space["panda/wrist/segmentation"]
    assert parts == gymnasium.spaces.Box(-1, max(legend.values()), (24, 32, 1), np.int32)
    assert env.observation_space["front/rgb"] == gymnasium.spaces.Box(0, 255, (48, 64, 3), np.uint8)
    one, _ = env.reset(seed=1)
    two, _ = envs.reset(seed=0)
    assert one in env.observation_space and two in envs.observation_space
    assert one["front/rgb"].std() > 5  # there is something to see
    assert (one["front/rgb"] == two["front/rgb"][1]).all()
    frames = envs.render()
    assert len(frames) == 2 and frames[1].shape == (480, 640, 3)
    assert (env.render() == frames[1]).all()


@pytest.mark.gl
def test_check_env_renders():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*A Box observation space (minimum|maximum) value is -?infinity.*")
        check_env(make(render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ("more.py:Restless", "'restless' cannot wait between two actions"),
        ("more.py:Attended", "'attended' cannot set the table by itself"),
        ("judged.py:Judged", "'judged' asks a person at the terminal"),
    ],
)
def test_a_world_that_cannot_be_an_environment_is_refused(tmp_path, monkeypatch, world: str, message: str):
    numpy_world.enter(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match=message):
        gymnasium.make("foretell/Task-v1", task="puck.py:Reach", world=world)


def test_a_world_of_ones_own(tmp_path, monkeypatch):
    """Any world that a study may name: a name that is not built in used to become MuJoCo's."""
    numpy_world.enter(tmp_path, monkeypatch)
    given = {"task": "puck.py:Reach", "world": "slow.yaml"}
    env = gymnasium.make("foretell/Task-v1", render_mode="rgb_array", **given)
    check_env(env.unwrapped, skip_render_check=True)
    assert type(env.unwrapped.world).__name__ == "Puck" and env.unwrapped.world.name == "slow"
    assert set(env.observation_space) == {"puck/pos", "mark/pos"}
    many = gymnasium.make_vec("foretell/Task-v1", num_envs=3, **given)
    seen, _ = env.reset(seed=1)
    every, _ = many.reset(seed=0)
    for _ in range(60):
        action = np.clip(4 * (seen["mark/pos"] - seen["puck/pos"]), -1, 1)
        assert np.array_equal(seen["puck/pos"], every["puck/pos"][1])
        seen, reward, done, over, info = env.step(action)
        every, *_ = many.step(np.tile(action, (3, 1)))
        if done or over:
            break
    assert reward == 1.0 and info["is_success"]
    assert env.render().shape == (480, 640, 3)
    env.close()
    many.close()
    with pytest.raises(UsageError, match="'restless' cannot wait between two actions"):
        gymnasium.make("foretell/Task-v1", task="puck.py:Reach", world="more.py:Restless")
    blind = gymnasium.make("foretell/Task-v1", task="puck.py:Reach", world="more.py:Blind", render_mode="rgb_array")
    blind.reset(seed=0)
    with pytest.raises(UsageError, match="world 'blind' has no camera to draw"):
        blind.render()


def test_instructions_stand_in_info_and_done_brings_the_next():
    name = "google_robot_place_apple_in_closed_top_drawer"
    env = TaskEnv(name)
    first = env.reset(options={"scenario": env.task.layouts()[0]})[1]["instruction"]
    assert first == "open top drawer"
    still = np.zeros(env.action_space.shape)
    assert env.step(still)[4]["instruction"] == first
    assert not env.finish()
    assert env.step(still)[4]["instruction"] == "place apple into top drawer"
    assert env.finish()
    envs = TaskVectorEnv(name, num_envs=2)
    _, info = envs.reset(options={"scenario": env.task.layouts()[0]})
    assert info["instruction"].tolist() == [first, first]
    assert envs.finish(np.array([False, True])).tolist() == [False, False]
    *_, info = envs.step(np.stack([still, still]))
    assert info["instruction"].tolist() == [first, "place apple into top drawer"]
    with pytest.raises(UsageError, match="mask: expected a bool array"):
        envs.finish(np.array([1, 0]))


def test_spaces_have_the_types_of_features_and_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numpy_world.enter(tmp_path, monkeypatch)
    given = {"task": numpy_world.TASK, "world": "more.py:Rich"}
    env = make("foretell/Task-v1", **given)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    types = {name: str(space.dtype) for name, space in env.observation_space.spaces.items()}  # type: ignore[attr-defined]
    poses = {"puck/pos": "float64", "mark/pos": "float64"}
    assert types == poses | {"scan": "float32", "speed": "float32", "heading": "float32", "count": "int64"}
    with pytest.raises(UsageError, match="streams: 'voice' is text, and environments give numbers and pictures"):
        make("foretell/Task-v1", streams=["puck/pos", "voice"], **given)
