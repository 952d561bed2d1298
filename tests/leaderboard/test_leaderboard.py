"""The leaderboard: who is first and why, what is not charged, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from studies import Lab, cli, refused

import foretell
from foretell.episode import Episode
from foretell.errors import UsageError
from foretell.leaderboard.ground import factor_of
from foretell.stats import clopper_pearson
from foretell.stats.paired import paired_difference
from foretell.study.scenario_file import read_scenario_file
from foretell.study.store import Store
from foretell.testset.certificate import certificate, write_testset

ARMS = ("MO_Size", "Light_Color")
Rates = dict[str, float]
"""Arm -> share of scenarios solved, the first ones; "" is any other arm."""


def make_set(path: Path, tasks: Any = ("lift",), unsolvable: Any = (), certify: bool = True, **options: Any) -> Path:
    """A test set, certified as if the expert had failed in these cells only."""
    options = {"arms": ARMS, "episodes": 20, **options}
    header = foretell.testset("build", tasks, out=path, certify=False, **options).header
    lines = list(read_scenario_file(path).lines)
    if not certify:
        return path
    found = []
    for task, arm in dict.fromkeys((s.task, arm) for arm, s in lines):
        n = options["episodes"]
        found.append(certificate(task, arm, n // 2 if {(task, arm), arm} & set(unsolvable) else n, n, 0.9))
    protocol = header.protocol.model_copy(update={"required": 0.9})
    write_testset(path, header.model_copy(update={"certificates": tuple(found), "protocol": protocol}), lines)
    return path


def make_run(path: Path, testset: Path, policies: dict[str, Rates], *, keep: bool = True, **columns: Any) -> Path:
    """A run folder with one row for every policy and line of a test set."""
    file = read_scenario_file(testset)
    template = Episode(
        episode="",
        study="s",
        world="mujoco",
        world_params="{}",
        world_hash="w",
        robot="panda",
        controller="ee_delta",
        task="",
        task_version=1,
        policy="",
        policy_hash="",
        scenario="",
        base="",
        trial=0,
        arm="",
        clock=json.dumps({"kind": "sync"}),
    )
    rows, place = [], {}
    for policy, rates in policies.items():
        place.clear()
        for arm, scenario in file.lines:
            at = place[scenario.task, arm] = place.get((scenario.task, arm), -1) + 1
            total = sum(1 for a, s in file.lines if (s.task, a) == (scenario.task, arm))
            rate = rates.get(f"{scenario.task} {arm}", rates.get(arm, rates.get("", 0.0)))
            row = {
                "episode": f"{path.name}/{policy}/{arm}/{scenario.id}",
                "policy": policy,
                "policy_hash": policy,
                "task": scenario.task,
                "task_version": file.header.tasks[scenario.task],
                "arm": arm,
                "scenario": scenario.id,
                "base": scenario.base,
                "success": at < round(rate * total),
                "wall_started": 1.0,
            }
            rows.append(replace(template, **{**row, **columns}))
    with Store(path) as store:
        store.write_study("name: s\n")
        store.write_scenarios(file.scenarios)
        if keep:
            store.write_testset(testset.read_bytes())
        store.append(rows)
    return path


def entries(board: Any) -> dict[str, Any]:
    return {entry["policy"]: entry for entry in board.entries}


def test_loss_alone_does_not_rank(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl")
    never, strong, weak = {"": 0.0}, {"none": 0.9, "": 0.7}, {"none": 0.3, "": 0.25}
    run = make_run(tmp_path / "run", file, {"never": never, "weak": weak, "strong": strong})
    board = foretell.leaderboard(run)
    assert [(e["rank"], e["policy"]) for e in board.entries] == [(1, "strong"), (2, "weak"), (3, "never")]
    found = entries(board)
    assert found["strong"]["score"]["estimate"] == pytest.approx(0.7)
    assert found["weak"]["score"]["estimate"] == pytest.approx(0.25)
    assert found["never"]["score"] | {"high": 0} == {
        "estimate": 0.0, "low": 0.0, "high": 0, "n": 20, "method": "clopper_pearson", "guarantee": "finite-sample",
    }  # fmt: skip
    # what THE COLOSSEUM ranks by would put the weak one first, and has nothing to say of the one that never succeeds
    percents = {policy: found[policy]["percent_change_mean"] for policy in found}
    assert percents == {"strong": pytest.approx(-100 * 2 / 9), "weak": pytest.approx(-100 / 6), "never": None}
    assert all(row["percent_change"] is None for row in found["never"]["arms"] if row["arm"] != "none")
    assert found["strong"]["rank_range"] == [1, 1] and found["never"]["rank_range"][1] == 3
    assert "undefined" in board.text() and "20 episodes in each of 3 cells" in board.text()


def test_ranks_and_compare_never_contradict_each_other(tmp_path: Path) -> None:
    """62 % against 100 % was "not shown to be worse" by bets, beside p = 0.0039 by McNemar's test."""
    pytest.importorskip("altair")
    from foretell.report.leaderboard import section

    file = make_set(tmp_path / "set.jsonl", arms=("MO_Size",), episodes=24)
    rates = {"best": 1.0, "weak": 0.625, "weaker": 0.5}
    run = make_run(tmp_path / "run", file, {policy: {"": rate} for policy, rate in rates.items()})
    board, compared = foretell.leaderboard(run), foretell.compare(run, arm="MO_Size")
    mine = {(p["a"], p["b"]): (p["verdict"], p["p_adjusted"], p["n"]) for p in board.pairs}
    assert mine == {(p.a, p.b): (p.verdict, pytest.approx(p.p_adjusted), 24) for p in compared.pairs}
    assert mine["best", "weak"][0] == "better" and compared.pairs[0].p_value == pytest.approx(0.00390625)
    ranks = {p["policy"]: p["rank"] for p in compared.policies}
    assert {e["policy"]: e["rank_range"] for e in board.entries} == ranks
    assert section(board).says == "best leads with a score of 100%, ahead of all others."
    assert "with Holm's adjustment over all 3 pairs of policies" in board.text()
    two = foretell.leaderboard(make_run(tmp_path / "two", file, {"best": {"": 1.0}, "near": {"": 0.875}}))
    assert section(two).says == "best leads with a score of 100%; near is not shown to be worse."
    assert foretell.compare(tmp_path / "two", arm="MO_Size").pairs[0].verdict == two.pairs[0]["verdict"]


def test_figures_are_those_of_stats(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl", ["lift", "can"])
    run = make_run(tmp_path / "run", file, {"bc": {"none": 1.0, "MO_Size": 0.5, "can MO_Size": 0.25}})
    entry = foretell.leaderboard(run).entries[0]
    of = {row["arm"]: row for row in entry["arms"]}
    size = of["MO_Size"]
    assert size["tasks"] == ["lift", "can"]
    assert size["success"]["estimate"] == pytest.approx(0.375)
    assert size["success"]["low"] == clopper_pearson(15, 40).low
    assert size["change"]["low"] == paired_difference(15, 0, 25, 0).low
    assert size["change"]["method"] == "paired_difference"
    assert size["percent_change"]["estimate"] == pytest.approx(-62.5)
    assert entry["score"]["estimate"] == pytest.approx((0.375 + 0.0) / 2)
    cells = {(c["task"], c["arm"]): c for c in entry["cells"]}
    assert cells["can", "MO_Size"]["success"]["estimate"] == 0.25
    assert cells["can", "MO_Size"]["change"]["estimate"] == -0.75
    assert "change" not in cells["can", "none"]
    shifts = {row["factor"]: row["delta_success"] for row in entry["factors"]}
    assert shifts == {"MO_Size": pytest.approx(-0.625), "Light_Color": pytest.approx(-1.0)}


def test_what_the_expert_cannot_solve_is_not_charged(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl", ["lift", "can"], unsolvable=[("can", "MO_Size")])
    rates = {"": 1.0, "can MO_Size": 0.0}
    board = foretell.leaderboard(make_run(tmp_path / "run", file, {"bc": rates}))
    (entry,) = board.entries
    assert entry["score"]["estimate"] == 1.0
    of = {row["arm"]: row for row in entry["arms"]}
    assert of["MO_Size"]["tasks"] == ["lift"] and of["Light_Color"]["tasks"] == ["lift", "can"]
    cell = next(c for c in entry["cells"] if (c["task"], c["arm"]) == ("can", "MO_Size"))
    assert (cell["certified"], cell["expert"], cell["success"]["estimate"]) == (False, 0.5, 0.0)
    assert board.to_dict()["testset"]["not_certified"] == ["can MO_Size 50%"]
    assert "not certified, so not charged (expert's success): can MO_Size 50%" in board.text()
    nothing = make_set(tmp_path / "none.jsonl", unsolvable=["MO_Size", "Light_Color"])
    (entry,) = foretell.leaderboard(make_run(tmp_path / "hopeless", nothing, {"bc": rates})).entries
    assert (entry["rank"], entry["reason"]) == (None, "no cell with a single factor is certified")


def test_what_is_not_charged_is_shown_and_marked(tmp_path: Path) -> None:
    cells = [("can", "MO_Size"), ("lift", "MO_Size@0.5"), ("can", "MO_Size@0.5"), ("lift", "all"), ("can", "all")]
    options: dict[str, Any] = {"severity": [0.5, 1.0], "arms": ["MO_Size", "all"]}
    file = make_set(tmp_path / "set.jsonl", ["lift", "can"], unsolvable=cells, **options)
    rates = {"none": 1.0, "lift MO_Size": 0.9, "can MO_Size": 0.75, "MO_Size@0.5": 0.35, "all@0.5": 0.55, "all": 0.1}
    board = foretell.leaderboard(make_run(tmp_path / "run", file, {"bc": rates}))
    of = {row["arm"]: row for row in board.entries[0]["arms"]}
    assert of["MO_Size"]["success"]["estimate"] == 0.9 and of["MO_Size"]["not_charged"]["tasks"] == ["can"]
    assert of["MO_Size"]["not_charged"]["success"]["low"] == clopper_pearson(15, 20).low
    assert "success" not in of["all"] and of["all"]["not_charged"]["tasks"] == ["lift", "can"]
    assert "not_charged" not in of["none"]
    said = [" ".join(line.split()) for line in board.text().splitlines()]
    assert any(line.startswith("bc 1 ") and "10% (3 to 24), not charged" in line for line in said)  # beside the score
    lines = [line for line in said if line.startswith("MO_Size")]
    assert "MO_Size lift 90% (68 to 99)" in lines and "MO_Size can 75% (51 to 91), not charged" in lines
    assert "MO_Size@0.5 lift, can 35% (21 to 52), not charged" in lines
    assert not any(line.startswith("MO_Size@0.5 -") for line in lines)
    curve = next(line for line in lines if line.startswith("MO_Size can bc"))
    assert curve.endswith("100% (83 to 100) 35% (15 to 59), not charged 75% (51 to 91), not charged")
    assert "none lift, can 100% (91 to 100)" in said


def test_factors_weigh_the_same_with_one_task_or_two(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl", ["lift", "can"], arms=["MO_Size", "RO_Color"])
    run = make_run(tmp_path / "run", file, {"bc": {"": 1.0, "RO_Color": 0.0}})
    (entry,) = foretell.leaderboard(run).entries
    assert entry["score"]["estimate"] == pytest.approx(0.5)  # two cells of MO_Size, one of RO_Color


def test_two_test_sets_are_never_mixed(tmp_path: Path) -> None:
    one, two = make_set(tmp_path / "one.jsonl"), make_set(tmp_path / "two.jsonl", seed=1)
    a = make_run(tmp_path / "a", one, {"bc": {"": 1.0}})
    b = make_run(tmp_path / "b", two, {"dp": {"": 1.0}})
    with pytest.raises(UsageError, match="one test set only") as caught:
        foretell.leaderboard(a, b)
    for run, file in ((a, one), (b, two)):
        assert f"{run} is test set {file.stem!r}, id {read_scenario_file(file).header.id}" in str(caught.value)
    strict = make_set(tmp_path / "strict.jsonl", unsolvable=["MO_Size"])
    c = make_run(tmp_path / "c", strict, {"dp": {"": 1.0}})
    with pytest.raises(UsageError, match="certified differently: choose one with --testset"):
        foretell.leaderboard(a, c)
    both = foretell.leaderboard(a, c, testset=strict)
    assert [e["rank"] for e in both.entries] == [1, 1]
    assert both.not_certified == ["lift MO_Size 50%"]
    with pytest.raises(UsageError, match="one test set only"):
        foretell.leaderboard(a, testset=two)


def test_two_worlds_clocks_and_versions_are_never_mixed(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl")
    a = make_run(tmp_path / "a", file, {"bc": {"": 1.0}})
    b = make_run(tmp_path / "b", file, {"bc": {"": 1.0}}, world="standin", world_hash="v")
    with pytest.raises(
        UsageError, match=r"a has episodes of 'mujoco', .*b of 'standin': give the run of a second world with --real"
    ):
        foretell.leaderboard(a, b)
    slow = json.dumps({"kind": "virtual", "latency": 0.1})
    make_run(tmp_path / "c", file, {"bc": {"": 1.0}})
    c = make_run(tmp_path / "c", file, {"slow": {"": 0.5}}, clock=slow)
    with pytest.raises(UsageError, match="several clocks"):
        foretell.leaderboard(c)
    assert entries(foretell.leaderboard(c, clock="sync")).keys() == {"bc"}
    old = make_run(tmp_path / "old", file, {"bc": {"": 1.0}}, task_version=7)
    with pytest.raises(UsageError, match="version 7 of task 'lift', the test set is for version 2"):
        foretell.leaderboard(old)
    for wrong, said in (((), "no runs"), ((tmp_path / "nowhere",), "is not a run folder")):
        with pytest.raises(UsageError, match=said):
            foretell.leaderboard(*wrong)
    with pytest.raises(UsageError, match="alpha is 2"):
        foretell.leaderboard(a, alpha=2)


def test_a_run_without_the_file_stands_on_the_same_scenarios(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl")
    loose = make_run(tmp_path / "loose", file, {"bc": {"": 0.5}}, keep=False)
    board = foretell.leaderboard(loose)
    assert board.ground.id == read_scenario_file(file).header.id
    assert board.entries[0]["score"] is None and board.entries[0]["arms"][1]["success"]["estimate"] == 0.5
    assert "no score: it is unknown which cells can be solved" in board.notes[0]
    assert foretell.leaderboard(loose, testset=file).entries[0]["score"]["estimate"] == 0.5
    mixed = foretell.leaderboard(loose, make_run(tmp_path / "run", file, {"dp": {"": 1.0}}))
    assert [(e["rank"], e["policy"]) for e in mixed.entries] == [(1, "dp"), (2, "bc")]


def test_what_has_not_run_has_no_rank(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl")
    run = make_run(tmp_path / "run", file, {"bc": {"": 1.0}})
    part = make_set(tmp_path / "part.jsonl", episodes=5, certify=False)
    half = make_run(tmp_path / "half", part, {"dp": {"": 1.0}}, keep=False)
    with Store(half) as store:
        store.write_testset(file.read_bytes())
    found = entries(foretell.leaderboard(run, half))
    assert (found["dp"]["rank"], found["dp"]["reason"]) == (None, "45 of 60 episodes have not run")
    assert (found["bc"]["rank"], found["bc"]["missing"]) == (1, 0)


def test_errors_of_the_world_do_not_count_and_are_told(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl")
    run = make_run(tmp_path / "run", file, {"bc": {"": 1.0}})
    lost = next(s for arm, s in read_scenario_file(file).lines if arm == "MO_Size")
    row = next(r for r in foretell.read(run).to_pylist() if r["scenario"] == lost.id)
    again = Episode.from_dict({**row, "stages": {}, "metrics": {}, "success": None, "blame": "world", "end": "error"})
    other = make_run(tmp_path / "other", file, {})
    rows = [r for r in foretell.read(run).to_pylist() if r["scenario"] != lost.id]
    with Store(other) as store:
        store.append([Episode.from_dict({**r, "stages": {}, "metrics": {}}) for r in rows] + [again])
    board = foretell.leaderboard(other)
    (entry,) = board.entries
    assert (entry["rank"], entry["missing"], entry["left_out"]) == (1, 0, {"world": 1})
    assert (entry["score"]["n"], entry["score"]["estimate"]) == (19, 1.0)
    assert any("1 episode does not count (1 world)" in note for note in board.notes)
    assert any("19 of 20 scenarios" in note for note in board.notes)


def test_one_name_for_two_sets_of_weights_is_two_entries(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl")
    a = make_run(tmp_path / "a", file, {"bc": {"": 1.0}}, policy_hash="one")
    b = make_run(tmp_path / "b", file, {"bc": {"": 0.5}}, policy_hash="two")
    names = [e["policy"] for e in foretell.leaderboard(a, b).entries]
    assert len(set(names)) == 2 and all(name.startswith("bc#") for name in names)


def test_curves_over_severity(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl", severity=[0.25, 0.5, 1.0], arms=["MO_Size", "colosseum:all"])
    rates = {"none": 1.0, "MO_Size@0.25": 0.9, "MO_Size@0.5": 0.6, "MO_Size": 0.1, "": 0.0}
    board = foretell.leaderboard(make_run(tmp_path / "run", file, {"bc": rates}))
    size = [row for row in board.curves if row["factor"] == "MO_Size"]
    assert [(row["severity"], row["estimate"]) for row in size] == [(0.0, 1.0), (0.25, 0.9), (0.5, 0.6), (1.0, 0.1)]
    assert size[2]["low"] == clopper_pearson(12, 20).low and size[2]["n"] == 20
    assert [row["severity"] for row in board.curves if row["factor"] == "colosseum:all"] == [0.0, 0.25, 0.5, 1.0]
    (entry,) = board.entries
    assert entry["score"]["estimate"] == pytest.approx((0.9 + 0.6 + 0.1) / 3)  # one factor, three cells
    assert entry["factors"][0]["delta_success"] == pytest.approx((0.9 + 0.6 + 0.1) / 3 - 1.0)
    assert "success by severity" in board.text()


def test_two_worlds_side_by_side(tmp_path: Path) -> None:
    file = make_set(tmp_path / "set.jsonl")
    sim = {f"p{i}": {"none": 1.0, "MO_Size": i / 5, "Light_Color": 0.5} for i in range(5)}
    real = {f"p{i}": {"none": 0.9, "MO_Size": i / 10, "Light_Color": i / 5} for i in range(5)} | {"alone": {"": 1.0}}
    a = make_run(tmp_path / "a", file, sim)
    b = make_run(tmp_path / "b", file, real, world="standin", world_hash="v")
    board = foretell.leaderboard(a, real=b)
    assert (board.worlds["sim"], board.worlds["real"]) == ("mujoco", "standin")
    of = {row["arm"]: row for row in board.worlds["arms"]}
    size, light = of["MO_Size"]["r_squared"], of["Light_Color"]["r_squared"]
    assert size["value"] == pytest.approx(1.0) and size["points"] == 5 and size["low"] is not None
    assert light["value"] is None and light["reason"] == "success does not vary in one of the worlds"
    assert of["MO_Size"]["sim"]["estimate"] == pytest.approx(0.4)
    assert of["MO_Size"]["real"]["estimate"] == pytest.approx(0.2)
    assert {p["policy"] for p in of["MO_Size"]["points"]} == set(sim)
    assert "R squared" in board.text()
    json.dumps(board.to_dict(), allow_nan=False)
    with pytest.raises(UsageError, match="also has the world 'mujoco'"):
        foretell.leaderboard(a, real=make_run(tmp_path / "c", file, sim))
    other = make_run(tmp_path / "d", make_set(tmp_path / "x.jsonl", seed=3), real, world="standin", world_hash="v")
    with pytest.raises(UsageError, match="two worlds can be compared on one test set only"):
        foretell.leaderboard(a, real=other)


@pytest.mark.parametrize(("policies", "few"), [(1, "1 point is"), (2, "2 points are")])
def test_two_worlds_with_few_points_have_rates_and_no_r_squared(tmp_path: Path, policies: int, few: str) -> None:
    file = make_set(tmp_path / "set.jsonl")
    a = make_run(tmp_path / "a", file, {f"p{i}": {"": 0.5 + 0.3 * i} for i in range(policies)})
    rates = {f"p{i}": {"": 0.4 + 0.4 * i} for i in range(policies)}
    b = make_run(tmp_path / "b", file, rates, world="standin", world_hash="v")
    board = foretell.leaderboard(a, real=b)
    for row in board.worlds["arms"]:
        found = row["r_squared"]
        assert (found["value"], found["low"], found["points"]) == (None, None, policies)
        assert found["reason"] == f"{few} too few for R squared, 3 are needed: two always lie on a line"
    assert board.worlds["arms"][0]["sim"]["estimate"] == pytest.approx(0.5 if policies == 1 else 0.65)
    said = board.text()
    assert f"no R squared: {few} too few" in said
    assert any(line.split()[-3:] == ["-", "-", str(policies)] for line in said.splitlines())
    json.dumps(board.to_dict(), allow_nan=False)


def test_factor_of_an_arm() -> None:
    said = {arm: factor_of(arm) for arm in ("none", "MO_Size", "MO_Size@0.5", "MO_Size[0.9,1.1]", "MO_Size{1,2}")}
    assert said == {"none": None, **dict.fromkeys(list(said)[1:], "MO_Size")}
    assert [factor_of(arm) for arm in ("all", "all@0.5", "colosseum:all", "MO_Size+Light_Color")] == [None] * 4


def test_the_page_and_its_section(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    file = make_set(tmp_path / "set.jsonl", severity=[0.5, 1.0])
    policies = {"bc </script>": {"none": 1.0, "": 0.5}, "dp": {"": 0.2}}
    a = make_run(tmp_path / "a", file, policies)
    b = make_run(tmp_path / "b", file, policies, world="standin", world_hash="v")
    board = foretell.leaderboard(a, real=b)
    from foretell.report.leaderboard import leaderboard_page, section

    found = section(board)
    names = [block.name for block in found.blocks if block.kind != "words"]
    assert len(set(names)) == len(names)
    assert {"leaderboard", "success-by-factor", "change-by-factor", "robustness", "two-worlds", "alignment"} <= set(
        names
    )
    assert sum(name.startswith("severity-") for name in names) == 2
    sheet = next(block for block in found.blocks if block.kind == "sheet")
    assert sheet.columns[:3] == ["rank", "policy", "score"] and "Light_Color@0.5" in sheet.columns
    assert found.says.startswith("bc </script> leads with a score of 50%")
    named = {block.name: block for block in found.blocks if block.kind != "words"}
    assert "2 points are too few for R squared" in named["alignment"].about
    html = leaderboard_page(board)
    assert html.startswith("<!doctype html>") or html.lower().startswith("<!doctype html>")
    assert "bc </script>" not in html


def test_the_section_marks_what_is_not_charged(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    from foretell.report.leaderboard import section

    spared = make_set(tmp_path / "spared.jsonl", severity=[0.5, 1.0], unsolvable=["MO_Size@0.5"])
    run = make_run(tmp_path / "spared", spared, {"bc": {"": 0.5}})
    blocks = {b.name: b for b in section(foretell.leaderboard(run)).blocks if b.kind != "words"}
    mine = next(row for row in blocks["by-factor"].rows if row[1] == "MO_Size@0.5")
    assert mine == ["bc", "MO_Size@0.5", "lift", "50% (27 to 73), not charged", "-", "-"]
    curve = next(block for name, block in blocks.items() if name.startswith("severity-"))
    assert "Not certified, so not charged: MO_Size at 0.5." in curve.about
    marked = [(row["factor"], row["severity"]) for row in curve.rows if row["certified"] == "no, so not charged"]
    assert marked == [("MO_Size", 0.5)]


def test_a_real_test_set_on_the_command_line(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    name = f"{lab.folder / 'task.py'}:Brief"
    foretell.testset("build", [name], out=tmp_path / "set.jsonl", arms=["MO_Size"], episodes=2, workers=0)
    study = {"tasks": [name], "policies": {"expert": "expert", "wild": {"use": "noisy-expert", "noise": 1.0}}}
    study |= {"name": "s", "scenarios": {"file": str(tmp_path / "set.jsonl")}}
    foretell.run(study, out=tmp_path / "sim", workers=0)
    foretell.run({**study, "world": "standin"}, out=tmp_path / "real", workers=0)
    said = cli("leaderboard", "sim", "--real", "real", cwd=tmp_path).stdout
    assert "certified: 2 of 2 cells" in said and "world mujoco, clock sync" in said and "standin" in said
    found = json.loads(cli("leaderboard", "sim", "--json", cwd=tmp_path).stdout)
    assert [e["policy"] for e in found["entries"]] == ["expert", "wild"]
    assert found["entries"][0]["score"]["estimate"] == 1.0
    assert found["testset"]["episodes"] == 2
    assert "is not a run folder" in refused("leaderboard", "nothing", cwd=tmp_path)
    assert "html: cannot write no/x.html" in refused("leaderboard", "sim", "--html", "no/x.html", cwd=tmp_path)
