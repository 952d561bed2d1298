"""Every label that a table prints is accepted where a clock, an arm or a policy is asked for."""

import json

import pytest

from foretell.answers.bound import bound
from foretell.answers.clocks import clocks
from foretell.answers.compare import compare
from foretell.clock import Realtime, Sync, Virtual, label, parse
from foretell.episode import Episode
from foretell.episodes.journal import to_table
from foretell.episodes.tally import Tally

SYNC, FAST, SLOW = (clock.to_dict() for clock in (Sync(), Virtual(latency=0.05), Virtual(latency=0.2)))


def rows(policy, clock, successes, of=30, **more):
    made = []
    for i in range(of):
        key = f"{policy}-{json.dumps(clock)}-{i}-{sorted(more.items())}"
        given = {"world": "mujoco", "world_hash": "w", "robot": "panda", "controller": "ee_delta", "task_version": 1}
        given |= {"task": "can", "policy_hash": "p", "arm": "none", "study": "s", "world_params": "{}", **more}
        scenario = {"scenario": f"s{i}", "base": f"s{i}", "trial": 0}
        episode = Episode(
            episode=key, policy=policy, clock=json.dumps(clock), success=i < successes, **scenario, **given
        )
        made.append(episode.to_dict())
    return made


def _figures(table):
    tally = Tally()
    for row in table.to_pylist():
        tally.add(row)
    return tally.figures()


def printed(table, column):
    return list(dict.fromkeys(row[column] for row in _figures(table)))


@pytest.fixture
def three():
    return to_table([*rows("bc", SYNC, 27), *rows("bc", FAST, 24), *rows("bc", SLOW, 9)])


def test_the_clock_that_show_prints(three):
    assert printed(three, "clock") == ["sync", "virtual 50 ms", "virtual 200 ms"]
    rates = [bound(three, clock=name, stand_in=True).intervals[0].estimate for name in printed(three, "clock")]
    assert rates == pytest.approx([0.9, 0.8, 0.3])


def test_the_kind_of_a_clock_where_there_is_one_of_it(three, refused):
    assert "choose one: virtual 50 ms, virtual 200 ms" in refused(bound, three, clock="virtual", stand_in=True)
    two = to_table([*rows("bc", SYNC, 27), *rows("bc", SLOW, 9)])
    assert bound(two, clock="virtual", stand_in=True).intervals[0].estimate == pytest.approx(0.3)
    assert bound(two, clock=json.dumps(SLOW), stand_in=True).intervals[0].estimate == pytest.approx(0.3)
    assert "did you mean 'virtual 200 ms'?" in refused(bound, two, clock="virtual 20 ms", stand_in=True)


def test_two_clocks_of_one_label_are_told_apart():
    traces = [Virtual(latency={"kind": "trace", "values": v, "name": "measured"}).to_dict() for v in ([0.1], [0.2])]
    table = to_table([*rows("bc", traces[0], 27), *rows("bc", traces[1], 9)])
    names = printed(table, "clock")
    assert len(names) == 2 and all(name.startswith("virtual measured#") for name in names)
    found = {bound(table, clock=name, stand_in=True).intervals[0].estimate for name in names}
    assert found == {0.9, 0.3}


def test_a_measured_clock_is_one_for_all_policies():
    traces = [Virtual(latency={"kind": "trace", "values": v, "name": "measured"}).to_dict() for v in ([0.1], [0.2])]
    table = to_table([*rows("bc", traces[0], 27), *rows("dp", traces[1], 9)])
    assert compare(table, clock="virtual measured").pairs[0].verdict == compare(table).pairs[0].verdict == "better"


def test_the_policy_with_its_version(refused):
    old, new = rows("bc", SYNC, 9, policy_hash="old"), rows("bc", SYNC, 27, policy_hash="new")
    both = to_table([*old, *new, *rows("dp", SYNC, 15)])
    names = printed(both, "policy")
    rates = {name: bound(both, policy=name, stand_in=True).intervals[0].estimate for name in names}
    assert sorted(rates.values()) == pytest.approx([0.3, 0.5, 0.9]) and sum("#" in name for name in names) == 2
    assert "choose one: bc#" in refused(bound, both, policy="bc", stand_in=True)
    best = max(rates, key=rates.__getitem__)
    alone = to_table([*new, *rows("dp", SYNC, 15)])  # one version: the table prints no hash, and both words mean it
    assert bound(alone, policy=best, stand_in=True).intervals[0].estimate == pytest.approx(0.9)
    assert bound(alone, policy="bc", stand_in=True).intervals[0].estimate == pytest.approx(0.9)
    worst = min(rates, key=rates.__getitem__)
    assert "is not in" in refused(bound, alone, policy=worst, stand_in=True)
    assert {compare(alone, policy=[best, "dp"]).pairs[0].a} == {"bc"}


def test_clocks_takes_the_policy_with_its_version(refused):
    mine = [*rows("bc", SYNC, 27, policy_hash="new"), *rows("bc", SLOW, 9, policy_hash="new")]
    others = [*rows("dp", SYNC, 9), *rows("dp", SLOW, 9)]
    all_of_them = [*mine, *others, *rows("bc", SYNC, 8, policy_hash="old")]
    tally = {row["policy"]: row["successes"] for row in _figures(to_table(all_of_them)) if row["clock"] == "sync"}
    new, old = (next(name for name, count in tally.items() if count == wanted) for wanted in (27, 8))
    assert [cell["policy"] for cell in clocks(to_table([*mine, *others]), policy=[new]).cells] == ["bc"]
    assert "is not in" in refused(clocks, to_table([*mine, *others]), policy=[old])


def test_clean_is_the_arm_none():
    table = to_table([*rows("bc", SYNC, 27), *rows("bc", SYNC, 9, arm="MO_Color")])
    assert bound(table, arm="clean", stand_in=True).intervals[0].estimate == pytest.approx(0.9)


def test_real_trials_leave_the_simulated_clock_and_version_open(three):
    real = to_table(rows("bc", SYNC, 21, world="real", world_hash="r", judge="person", policy_hash=""))
    found = bound(real, three, clock="virtual 200 ms")
    assert any("clock: 'sync' in real, 'virtual 200 ms' in sim" in note for note in found.notes)
    both = to_table([*rows("bc", SYNC, 27, policy_hash="new"), *rows("bc", SYNC, 9, policy_hash="old")])
    for name in printed(both, "policy"):
        assert bound(real, both, policy=name).intervals[0].n == 30


@pytest.mark.parametrize(
    "clock",
    [Sync(), Virtual(latency=0.2), Virtual(latency=0.035, speed=2.0), Virtual(latency="measured"), Realtime()]
    + [Virtual(latency=0.1, chunks="rtc", hold="repeat", computers="unlimited"), Realtime(speed=0.5, hold="zero")],
)
def test_a_study_takes_a_clock_by_its_label(clock):
    assert parse(clock.label) == clock
    assert label(json.dumps(parse(clock.label).to_dict())) == clock.label
