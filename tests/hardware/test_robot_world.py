"""A robot as a world, with a person who answers as the test says: real threads, real time, no policy process."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_robots import ARM, BASE, HOME, FakeArm, FakeBase

from foretell.episodes.begun import begun_words
from foretell.errors import UsageError
from foretell.hardware import live
from foretell.hardware.file import WatchdogEntry
from foretell.hardware.watchdog import Watchdog
from foretell.hardware.world import RobotWorld
from foretell.judging.confirm import confirms
from foretell.person import Judgement, SceneSkipped
from foretell.spec import Stream
from foretell.tasks.make import make_task
from foretell.world import EpisodeCut, World, misdeclared

SLOT = np.zeros(1, dtype=np.int32)
UP = np.array([[0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 1.0]])
AWAY = [0.2, 0.1, 0.2, 0.0, 1.2, 0.0]


class Scripted:
    """Answers questions; `say` is what `poll` returns next."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.warned: list[str] = []
        self.answers: list[bool] = []
        self.say: str | None = None
        self.silent_since: float | None = None
        self.skip, self.scenes, self.judged = False, 0, 0
        self.success: bool | None = True
        self.during: Callable[[], None] = lambda: None

    def set_scene(self, scene: Any) -> None:
        self.scenes, self.card = self.scenes + 1, scene
        if self.skip:
            raise SceneSkipped("the person could not set this scene: no carrot")

    def warn(self, text: str) -> None:
        self.warned.append(text)

    def ask(self, question: str) -> bool:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else True

    def poll(self) -> Any:
        self.during()
        word, self.say = self.say, None
        return word

    def judge(self, trial: Any) -> Judgement:
        self.judged += 1
        self.end = trial.end
        return Judgement(success=self.success, stages=("grasp",), events=("dropped",), note="slipped")

    def heard(self) -> float:
        return time.monotonic() if self.silent_since is None else self.silent_since

    def close(self) -> None:
        pass


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    made = Scripted()
    monkeypatch.setattr(live, "make_person", lambda run, overlay=None: made)
    return made


@pytest.fixture
def attended(tmp_path: Path, person: Scripted) -> Iterator[Callable[..., RobotWorld]]:
    made: list[RobotWorld] = []

    def make(
        contents: dict[str, Any] = ARM, task: str = "widowx_carrot_on_plate", driver: Any = None, **more: Any
    ) -> Any:
        world = RobotWorld(make_task(task), {**contents, **more})
        world.driver = driver if driver is not None else FakeArm()
        world.attend(tmp_path)
        made.append(world)
        return world

    yield make
    for world in made:
        world.close()


def begin(world: RobotWorld, seed: int = 0, scenario: Any = None) -> None:
    world.announce(SLOT, ["e0"])
    world.reset(SLOT, [scenario or world.task.scenario(seed)], [0])


def run(world: RobotWorld, seconds: float, action: np.ndarray | None = UP, every: float = 0.2) -> None:
    """Tick in real time, with an action now and then."""
    began, ticks = time.monotonic(), 0
    while ticks * world.tick < seconds:
        if action is not None and ticks % round(every / world.tick) == 0:
            world.command(SLOT, action, np.array([round(every / world.tick)]))
        ticks += 1
        time.sleep(max(0.0, began + ticks * world.tick - time.monotonic()))
        world.advance(SLOT, np.array([1]))


def test_it_keeps_the_contract_and_observes_what_it_declares(attended: Any) -> None:
    world = attended()
    assert isinstance(world, World) and world.real and not world.can and world.needs == {"terminal"}
    begin(world)
    streams = {name: Stream() for name, feature in world.features.items() if not feature.image}
    streams["third/rgb"] = Stream((24, 32, 3))
    seen = world.observe(SLOT, streams)
    assert misdeclared(seen, streams, world.features, 1) is None
    assert np.allclose(seen["widowx/joint_pos"][0], HOME, atol=0.01)
    assert seen["widowx/gripper"][0] == pytest.approx(0.074, abs=0.002)
    assert seen["instruction"] == ["put carrot on plate"]


def test_its_tool_is_where_the_simulation_has_it(attended: Any) -> None:
    from foretell.sim.world import MujocoWorld

    world, simulated = attended(), MujocoWorld(make_task("widowx_carrot_on_plate"), slots=1)
    begin(world)
    simulated.reset(SLOT, [world.task.scenario(0)], [0])
    streams = {name: Stream() for name in ("widowx/ee_pos", "widowx/ee_quat", "widowx/joint_pos")}
    real, made = world.observe(SLOT, streams), simulated.observe(SLOT, streams)
    for name in streams:
        assert np.allclose(real[name], made[name], atol=0.01), name


def test_a_trial_from_the_scene_to_the_verdict(attended: Any, person: Scripted, tmp_path: Path) -> None:
    driver = FakeArm()
    world = attended(driver=driver)
    begin(world)
    before = world.observe(SLOT, {"widowx/ee_pos": Stream()})["widowx/ee_pos"][0]
    run(world, 0.6)
    after = world.observe(SLOT, {"widowx/ee_pos": Stream()})["widowx/ee_pos"][0]
    assert np.allclose(after - before, [0, 0, 0.03], atol=0.006)  # three actions of 1 cm
    assert world.progress(SLOT) is None
    (verdict,) = world.verdict(SLOT)
    assert (verdict.success, verdict.judge, verdict.events) == (True, "person", {"dropped": 1.0})
    assert verdict.metrics["sends"] == pytest.approx(len(driver.sent) - 1, abs=3) and person.judged == 1
    count = len(driver.sent)
    time.sleep(0.1)
    assert len(driver.sent) == count
    trace = world.trace(0)
    assert trace["sent/shoulder"] == pytest.approx(trace["measured/shoulder"], abs=0.05)
    world.close()
    assert {path.name for path in (tmp_path / "frames").iterdir()} == {"e0-third.mp4", "e0-start-third.png"}


def test_the_approach_is_slow_and_asked_for(attended: Any, person: Scripted) -> None:
    driver = FakeArm(at=AWAY)
    world = attended(driver=driver, approach=0.4)
    person.answers = [False, True]  # not yet; now
    begin(world)
    assert person.scenes == 2 and "The arm moves to its start: up to 0.22 rad in 0.5 s" in person.asked[0]
    times, turns = [at for at, _ in driver.sent], np.radians([sent["waist.pos"] for _, sent in driver.sent])
    assert np.allclose(driver.q[:6], HOME, atol=0.05)
    speed = np.abs(np.diff(turns)) / np.maximum(np.diff(times), 0.02)
    assert 0.3 < times[-1] - times[0] < 3.0 and np.quantile(speed, 0.9) < 0.6


def test_nothing_is_sent_where_the_person_does_not_agree(attended: Any, person: Scripted) -> None:
    driver = FakeArm(at=AWAY)
    world = attended(driver=driver)
    person.answers = [False]
    person.ask = lambda question: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        begin(world)
    assert not driver.sent


@pytest.mark.parametrize("word", ["stop", "success"])
def test_a_word_of_the_person_stops_the_robot(attended: Any, person: Scripted, word: str) -> None:
    driver = FakeArm()
    world = attended(driver=driver)
    begin(world)
    run(world, 0.3)
    person.say, pressed = word, time.monotonic()
    with pytest.raises(EpisodeCut) as cut:
        run(world, 1.0)
    assert (cut.value.end, cut.value.blame) == ("stopped", None)
    assert driver.sent[-1][0] - pressed < 0.25
    count = len(driver.sent)
    time.sleep(0.1)
    assert len(driver.sent) == count
    world.verdict(SLOT)
    assert person.end == ("stopped" if word == "stop" else "success")


@pytest.mark.parametrize(
    ("who", "blame", "words"),
    [
        ("policy", "policy", r"no action for 0.3 s after the last one ended \(watchdog.policy\)"),
        ("terminal", "machine", r"the terminal was silent for 0.2 s \(watchdog.terminal\)"),
        ("link", "machine", r"the robot was silent for 0.2 s \(watchdog.link\)"),
    ],
)
def test_silence_stops_the_robot_and_the_right_one_is_to_blame(
    attended: Any, person: Scripted, who: str, blame: str, words: str
) -> None:
    driver = FakeArm()
    world = attended(driver=driver, watchdog={"policy": 0.3, "link": 0.2, "terminal": 0.2})
    begin(world)
    run(world, 0.4)
    silent = time.monotonic()
    if who == "terminal":
        person.silent_since = silent
    if who == "link":
        driver.hang_at, driver.hang_s = driver.looks + 1, 0.8
    with pytest.raises(EpisodeCut, match=words) as cut:
        run(world, 2.0, None if who == "policy" else UP)
    assert cut.value.blame == blame and cut.value.end == "error"
    assert (
        time.monotonic() - silent < {"policy": 0.3, "terminal": 0.2, "link": 0.2}[who] + 1.2
    )  # stop waits for the driver
    time.sleep(0.8)
    after = [at for at, _ in driver.sent if at > silent + (0.3 if who == "policy" else 0.2) + 0.2]
    assert not after
    count = len(driver.sent)
    time.sleep(0.1)
    assert len(driver.sent) == count


def test_a_lost_link_is_the_machines_and_the_person_is_asked_to_mend_it(
    attended: Any, person: Scripted, tmp_path: Path
) -> None:
    driver = FakeArm()
    world = attended(driver=driver)
    begin(world)
    run(world, 0.2)
    driver.raise_at = driver.looks + 2
    with pytest.raises(
        EpisodeCut, match="the link to the robot is lost: get_observation raised ConnectionError"
    ) as cut:
        run(world, 1.0)
    assert cut.value.blame == "machine"
    world.filmed(0)
    assert person.warned[-1].startswith("This trial does not count: the link to the robot is lost")
    assert begun_words(next(tmp_path.rglob("trials.jsonl")).parent) == [
        "The machine or the link failed in 1 trial after the robot began to move."
    ]
    driver.raise_at = driver.looks + 1
    person.asked.clear()
    begin(world)  # the first try fails, the second does not
    assert person.asked[0].startswith("No trial can begin: get_observation raised ConnectionError") and world.trace(0)


def test_a_scene_that_cannot_be_set_is_the_worlds(attended: Any, person: Scripted) -> None:
    person.skip = True
    with pytest.raises(EpisodeCut, match="no carrot") as cut:
        begin(attended())
    assert (cut.value.end, cut.value.blame) == ("error", "world")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_stops_the_robot_first(
    attended: Any, person: Scripted, number: signal.Signals, request: pytest.FixtureRequest
) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:  # as in a job of the background
        request.addfinalizer(lambda: signal.signal(number, signal.SIG_IGN))
        signal.signal(number, signal.SIG_DFL)
    driver = FakeArm()
    world = attended(driver=driver)
    begin(world)
    before = signal.getsignal(number)
    began = time.monotonic()

    def raise_it() -> None:
        if time.monotonic() - began > 0.3:
            signal.raise_signal(number)

    person.during = raise_it
    with pytest.raises(KeyboardInterrupt):
        run(world, 2.0)
    count = len(driver.sent)
    assert driver.sent[-1][0] - began < 0.6
    time.sleep(0.1)
    assert len(driver.sent) == count
    world.close()
    assert signal.getsignal(number) != before


def test_what_was_clipped_is_in_the_row_and_in_the_steps(attended: Any) -> None:
    world = attended(limits={"velocity": 0.05})
    begin(world)
    run(world, 0.6, 3 * UP)
    assert world.trace(0)["clipped/velocity"] > 5
    (verdict,) = world.verdict(SLOT)
    assert verdict.metrics["clipped_velocity"] > 5


def test_a_base_navigates_and_the_task_judges_it(attended: Any, person: Scripted) -> None:
    task = make_task("pointnav")
    scenario = task.layouts()[0]
    start = scenario.start["locobot"]
    driver = FakeBase(at=list(start))
    world = attended(BASE, "pointnav", driver)
    begin(world, scenario=scenario)
    forward, stop = np.array([[0.0, 1.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    run(world, 1.0, forward, every=1.0)
    seen = world.observe(SLOT, {name: Stream() for name in ("locobot/gps", "goal/polar")})
    assert seen["locobot/gps"][0] == pytest.approx([0.25, 0.0], abs=0.03)
    assert not world.progress(SLOT)[0] and not world.over(SLOT)[0]
    world.command(SLOT, stop, np.array([50]))
    assert world.over(SLOT)[0]
    (verdict,) = world.verdict(SLOT)
    assert verdict.judge == "task" and verdict.success is False and person.judged == 0
    assert verdict.metrics["path_length"] == pytest.approx(0.25, abs=0.03)
    assert driver.sent[-1][1] == {"x.vel": 0.0, "theta.vel": 0.0, "y.vel": 0.0}


def test_a_base_that_is_not_at_its_start_is_asked_about(attended: Any, person: Scripted) -> None:
    scenario = make_task("pointnav").layouts()[0]
    x, y, turn = scenario.start["locobot"]
    world = attended(BASE, "pointnav", FakeBase(at=[x + 0.3, y, turn]))
    person.answers = [False, True]
    begin(world, scenario=scenario)
    assert person.scenes == 2 and "0.30 m and 0 degrees from its start" in person.asked[0]


def test_a_pose_that_counts_from_the_start(attended: Any) -> None:
    scenario = make_task("pointnav").layouts()[0]
    world = attended({**BASE, "base": {**BASE["base"], "frame": "start"}}, "pointnav", FakeBase(at=[5.0, 5.0, 1.0]))
    begin(world, scenario=scenario)
    seen = world.observe(SLOT, {"locobot/pose": Stream()})
    assert np.allclose(seen["locobot/pose"][0], scenario.start["locobot"], atol=1e-6)


def test_steps_of_a_base_are_judged_again_without_a_robot(attended: Any) -> None:
    scenario = make_task("pointnav").layouts()[0]
    goal = scenario.placements["goal"].pos
    world = attended(BASE, "pointnav", FakeBase(at=list(scenario.start["locobot"])))
    begin(world, scenario=scenario)
    recorded = world.state(0)
    again = RobotWorld(make_task("pointnav"), BASE, slots=2)
    again.reset(np.arange(2), [scenario, scenario], [0, 1])
    near = recorded.copy()
    near[:2], near[5] = [goal[0], goal[1]], 1.0
    again.restore(0, recorded, 50)
    again.restore(1, near, 50)
    assert again.progress(np.arange(2)).tolist() == [False, True]
    assert [verdict.success for verdict in again.verdict(np.arange(2))] == [False, True]


@pytest.mark.parametrize(
    ("contents", "task", "more", "words"),
    [
        (ARM, "lift", {}, "robot: is 'widowx', and task 'lift' is for 'panda'"),
        (ARM, "widowx_carrot_on_plate", {"judge": "task"}, "a task cannot see what an arm does to objects"),
        (BASE, "widowx_carrot_on_plate", {}, "does not navigate"),
        (
            ARM,
            "widowx_carrot_on_plate",
            {"joints": {"arm": ARM["joints"]["arm"]}},
            "moves group 'gripper', which is not",
        ),
        ("robot", "lift", {}, "needs a world file that says which robot"),
    ],
)
def test_a_robot_that_does_not_fit_its_task(contents: Any, task: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        RobotWorld(make_task(task), contents if isinstance(contents, str) else {**contents, **more})


def test_a_key_stops_the_approach_too_and_the_scene_is_shown_again(attended: Any, person: Scripted) -> None:
    driver = FakeArm(at=AWAY)
    world = attended(driver=driver, approach=0.2)
    began, stopped = time.monotonic(), list[tuple[float, int]]()

    def stop_early() -> None:
        if not stopped and driver.sent and time.monotonic() - began > 0.3:
            stopped.append((time.monotonic(), len(driver.sent)))
            person.say = "stop"

    def look(scene: Any) -> None:
        person.scenes += 1
        if person.scenes == 2:
            time.sleep(0.1)
            assert len(driver.sent) <= stopped[0][1] + 2 and driver.sent[-1][0] - stopped[0][0] < 0.25
            assert np.abs(driver.q[:6] - HOME).max() > 0.1  # it is still on its way
            person.say = None

    person.during, person.set_scene = stop_early, look  # type: ignore[method-assign]
    begin(world)
    assert person.scenes == 2 and np.allclose(driver.q[:6], HOME, atol=0.05)


def test_a_terminal_that_falls_silent_stops_the_approach(attended: Any, person: Scripted) -> None:
    driver = FakeArm(at=AWAY)
    world = attended(driver=driver, approach=0.2, watchdog={"terminal": 0.2})

    def fall_silent() -> None:
        if driver.sent and person.silent_since is None:
            person.silent_since = time.monotonic()

    person.during, person.answers = fall_silent, [True, False]
    with pytest.raises(KeyboardInterrupt):
        begin(world)
    assert "No trial can begin: the terminal was silent for 0.2 s" in person.asked[1]
    assert person.silent_since is not None and driver.sent[-1][0] - person.silent_since < 0.45
    assert np.abs(driver.q[:6] - HOME).max() > 0.1


def test_an_arm_that_does_not_get_to_its_start_is_asked_about(attended: Any, person: Scripted) -> None:
    class Weak(FakeArm):
        def _go(self, seconds: float) -> None:
            super()._go(seconds)
            self.q[1] = AWAY[1]  # something is in its way

    world = attended(driver=Weak(at=AWAY), approach=2.0)
    person.answers = [True, False]
    with pytest.raises(KeyboardInterrupt):
        begin(world)
    assert "The arm did not reach its start: 'shoulder' is 0.06 away. Try again?" in person.asked[1]


DETECTOR = """
class Bright:
    def judge(self, frames, instruction):
        assert instruction == "put carrot on plate" and frames.shape[1:] == (48, 64, 3)
        if len(frames) > 40:
            raise ValueError("too long")
        return 0.9
"""


def test_a_detector_judges_what_the_coin_does_not_give_to_a_person(
    attended: Any, person: Scripted, tmp_path: Path
) -> None:
    (tmp_path / "bright.py").write_text(DETECTOR)
    world = attended(judge=f"{tmp_path}/bright.py:Bright", confirm=0.5)
    scenarios = [world.task.scenario(seed) for seed in range(8)]
    alone = next(s for s in scenarios if not confirms(s.id, 0.5))
    shown = next(s for s in scenarios if confirms(s.id, 0.5))
    person.success = False
    begin(world, scenario=alone)
    run(world, 0.3)
    (verdict,) = world.verdict(SLOT)
    assert (verdict.success, verdict.judge, person.judged) == (True, "detector", 0)
    assert world.filmed(0) == "frames/e0-third.mp4"
    begin(world, scenario=shown)
    run(world, 0.3)
    (verdict,) = world.verdict(SLOT)
    assert (verdict.success, verdict.judge, person.judged) == (False, "person", 1)
    lines = [json.loads(line) for line in (tmp_path / "verdicts/detector-Bright.jsonl").read_text().splitlines()]
    assert [(line["success"], line["score"], line["chosen"]) for line in lines] == [
        (True, 0.9, False),
        (True, 0.9, True),
    ]


def test_a_detector_that_fails_costs_no_trial(attended: Any, person: Scripted, tmp_path: Path) -> None:
    (tmp_path / "bright.py").write_text(DETECTOR.replace("> 40", "> 0"))
    world = attended(judge=f"{tmp_path}/bright.py:Bright", confirm=0.01)
    begin(world)
    run(world, 0.2)
    with pytest.warns(UserWarning, match="raised ValueError: too long.*the person judges this trial"):
        (verdict,) = world.verdict(SLOT)
    assert verdict.judge == "person" and person.judged == 1


def test_a_trial_that_the_machine_ends_leaves_no_robot_moving(attended: Any) -> None:
    """There is no verdict then, and the driver asks for the film alone."""
    driver = FakeArm()
    world = attended(driver=driver, watchdog={"link": 1.0})
    begin(world)
    run(world, 0.3)
    world.filmed(0)
    count = len(driver.sent)
    time.sleep(0.3)
    assert len(driver.sent) == count


def test_a_trial_that_was_dropped_is_told(attended: Any, tmp_path: Path) -> None:
    world = attended()
    begin(world)
    run(world, 0.1)
    folder = next(tmp_path.rglob("trials.jsonl")).parent
    assert begun_words(folder) == ["1 trial began and ended without a verdict, because the study was stopped."]
    world.verdict(SLOT)
    world.filmed(0)
    assert begun_words(folder) == []


def test_silence_before_a_trial_does_not_count() -> None:
    """Who answers on the page leaves the terminal silent for as long as it takes to set a scene."""
    dog = Watchdog(WatchdogEntry(terminal=5.0))
    dog.start(100.0)
    assert dog.silent(101.0, robot=101.0, person=40.0, policy=False) is None
    assert dog.silent(105.1, robot=105.1, person=40.0, policy=False) is not None


def test_a_page_is_served_while_a_lost_link_opens_again(
    attended: Any, person: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(attended())
    assert person.card.live("third") is not None
    monkeypatch.setattr(live.Link, "newest", None)
    assert person.card.live("third") is None


def test_a_stop_without_an_answer_is_told(attended: Any, person: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    world = attended()
    begin(world)
    run(world, 0.1)
    with monkeypatch.context() as patched:
        patched.setattr(live.Link, "stop", lambda self, patience=0.0: False)
        world.verdict(SLOT)
    assert person.warned == ["THE ROBOT DOES NOT ANSWER THE STOP. USE ITS EMERGENCY STOP."]
