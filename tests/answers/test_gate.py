"""The gate: decisions on runs, tables and policies of one run; tasks; what must not pass."""

import made
import numpy as np
import pytest

import foretell
from foretell.answers.gate import gate

N = 200
draw = np.random.default_rng(8)
LUCK = draw.random(N)


def table(rate, *, n=N, task=None, policy=None, luck=LUCK, **more):
    success = (luck[:n] < rate).astype(int)
    columns = {"scenario": [f"s{i}" for i in range(n)], "success": success, **more}
    columns |= {"task": [task] * n} if task else {}
    return columns | ({"policy": [policy] * n} if policy else {})


def stack(*tables):
    return {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}


def test_three_decisions():
    base = table(0.8, policy="old")
    good, bad = gate(base, table(0.81, policy="new")), gate(base, table(0.6, policy="new"))
    few = gate(base, table(0.78, n=30, policy="new"))
    assert [g.decision for g in (good, bad, few)] == ["pass", "fail", "undecided"]
    assert [g.exit_code for g in (good, bad, few)] == [0, 1, 2] and good.passed and not few.passed
    assert good.text().startswith("PASS: new is not worse than old by more than 5 points.")
    assert bad.text().startswith("FAIL: new is worse than old by more than 5 points.")
    assert few.more["if_equal"] > 0 and "more scenarios for each policy will pass with a chance of 80%" in few.text()
    assert good.more is None and "at most 2.5%" in good.text()
    assert foretell.gate is gate


def test_the_interval_decides_and_margin_moves_it():
    base, mine = table(0.8), table(0.7)
    interval = gate(base, mine).overall.difference
    assert gate(base, mine, margin=-interval.low + 0.001).decision == "pass"
    assert gate(base, mine, margin=-interval.low - 0.001).decision == "undecided"
    assert gate(base, mine, margin=-interval.high - 0.001).decision == "fail"


def test_scenarios_are_paired_where_both_have_them():
    other = draw.random(N)
    answer = gate(table(0.8), table(0.8))
    assert answer.tasks[0].paired and answer.overall.difference.width < 0.04
    loose = gate(table(0.8), table(0.8, luck=other), unpaired=True)
    assert not loose.tasks[0].paired and loose.overall.difference.width > 0.12
    part = gate(table(0.8), table(0.8, n=60))
    assert any("140 scenarios of the base and 0 of the candidate are left out" in note for note in part.notes)


def test_a_task_that_gets_much_worse_fails_the_gate():
    base = stack(*(table(0.8, task=t) for t in ("lift", "can", "square")))
    mine = stack(table(0.95, task="lift"), table(0.95, task="can"), table(0.5, task="square"))
    answer = gate(base, mine, margin=0.1)
    assert answer.overall.decision == "pass" and answer.decision == "fail"
    assert [t.decision for t in answer.tasks] == ["pass", "pass", "fail"]
    assert "by more than 10 points on square" in answer.text() and "0.05/3" in answer.text()
    assert gate(base, mine, margin=0.1, task=["lift", "can"]).decision == "pass"


def test_every_task_may_be_asked_to_pass():
    base = stack(table(0.8, task="lift"), table(0.8, n=20, task="can"))
    mine = stack(table(0.85, task="lift"), table(0.8, n=20, task="can"))
    assert gate(base, mine, margin=0.15).decision == "pass"
    answer = gate(base, mine, margin=0.15, every_task=True)
    assert answer.decision == "undecided" and answer.more["if_equal"] > 0
    assert [t.decision for t in answer.tasks] == ["pass", "undecided"]


def test_a_task_fails_at_the_adjusted_level_only():
    """Between the levels alpha and alpha / tasks."""
    half = 0.5 * np.ones(60)
    base = table(1.0, n=60, luck=half, task="x")
    for worse in range(1, 30):
        mine = table(1.0, n=60, luck=np.where(np.arange(60) < worse, 2.0, 0.5), task="x")
        alone = gate(base, mine, margin=0.05)
        ten = gate(stack(*({**base, "task": [f"t{i}"] * 60} for i in range(10))),
                   stack({**mine, "task": ["t0"] * 60},
                         *({**base, "task": [f"t{i}"] * 60} for i in range(1, 10))), margin=0.05)  # fmt: skip
        if alone.decision == "fail":
            break
    assert ten.tasks[0].decision == "undecided" and ten.tasks[0].difference.high < -0.05


def test_a_task_must_not_be_left_out(refused):
    base = stack(table(0.8, task="lift"), table(0.8, task="can"))
    assert "has no episodes of task 'can', which the base has" in refused(gate, base, table(0.8, task="lift"))
    more = gate(table(0.8, task="lift"), base)
    assert more.decision == "pass" and any("'can' is left out: only the candidate has it" in n for n in more.notes)
    assert "did you mean 'can'" in refused(gate, base, base, task="cn")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    scenarios, rows = made.rows({"old": 0.8, "new": 0.5}, 60)
    made.run(folder / "both", scenarios, rows)
    changed = [made.row("new", s, True, success_rule="held") for s in scenarios]
    made.run(folder / "rule", scenarios, changed)
    made.run(folder / "world", scenarios, [made.row("new", s, True, world="standin") for s in scenarios])
    return folder


def test_policies_of_a_run(runs, refused):
    both = runs / "both"
    assert gate(f"{both}:old", f"{both}:new").decision == "fail"
    assert gate(f"{both}:new", f"{both}:old").decision == "pass"
    same = gate(f"{both}:old", f"{both}:old")
    assert "base and candidate are the same policy with the same weights" in same.notes
    assert "has several policies (new, old): choose one" in refused(gate, both, f"{both}:new")
    assert "did you mean 'new'" in refused(gate, f"{both}:old", f"{both}:nw")
    assert "cannot read" in refused(gate, f"{runs}/none:old", f"{both}:new")


def test_another_rule_or_world_is_no_comparison(runs, refused):
    old = f"{runs / 'both'}:old"
    assert "task's rule of success is not the same" in refused(gate, old, runs / "rule")
    assert "the world is not the same for base and candidate" in refused(gate, old, runs / "world")


def test_looking_after_every_trial():
    """Rows as run; each look may decide, and a bad candidate does not pass at any of them."""
    base, mine = table(0.9), table(0.5)
    decisions = [
        gate({k: v[:n] for k, v in base.items()}, {k: v[:n] for k, v in mine.items()}, horizon=N).decision
        for n in (10, 30, 60, 120)
    ]
    assert decisions[0] == "undecided" and decisions[-1] == "fail" and "pass" not in decisions
    assert "at every look" in gate(base, mine, horizon=N).text()


def test_simulation_as_control(refused):
    real = [table(rate, n=40, policy=name) for rate, name in ((0.8, "old"), (0.5, "new"))]
    sim = [table(rate, policy=name) for rate, name in ((0.8, "old"), (0.5, "new"))]
    answer = gate(*real, sim=stack(*sim), margin=0.1)
    assert answer.overall.difference.n_extra == 160 and answer.to_dict()["difference"]["n_extra"] == 160
    assert gate(*real, sim=sim, margin=0.1).overall.difference == answer.overall.difference
    assert "leave sim or horizon out" in refused(gate, *real, sim=sim, horizon=40)
    nameless = [{k: v for k, v in t.items() if k != "policy"} for t in real]
    assert "give two sources" in refused(gate, *nameless, sim=sim[0])
    assert "without a real trial; there are none" in refused(gate, *real, sim=real)


def test_nonsense_is_refused(refused):
    assert "margin is 5, it should be from 0 to below 1" in refused(gate, table(0.8), table(0.8), margin=5)
    assert "alpha and power must lie between 0 and 1" in refused(gate, table(0.8), table(0.8), alpha=0)
    assert "at least 2 are needed" in refused(gate, table(0.8), table(0.8, n=1))
    assert "horizon must be a whole number" in refused(gate, table(0.8), table(0.8), horizon=0)
