"""A lab's spreadsheet becomes rows like any other, or is refused as a whole with every bad cell named."""

import csv
import json
import math

import made
import numpy as np
import pytest
import yaml

import foretell
from foretell.cli import main
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.reality.cards import cards, write_sheet
from foretell.reality.situation import REACH, nominal
from foretell.scenario import Placement
from foretell.study.config import load_study
from foretell.study.plan import make_task
from foretell.tasks import Task
from foretell.tasks.lift import Lift

GOOD = """Policy,Task,cube.x,cube.y,Cube.YAW,success,Failure Reason,duration,grip force,operator,date
bc,lift,0.01,0.02,30,yes,,8.5,3.5,ann,2026-03-01
bc,lift,0.02,-0.02,,no,slipped,20,2,bob,2026-03-01 14:30
expert,lift,0.01,0.02,30,1,,4,,ann,
"""


@pytest.fixture
def sheet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="lab.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def rows(run):
    return {(r["policy"], r["scenario"], r["trial"]): r for r in foretell.read(run).to_pylist()}


def files(run):
    return {str(p): p.read_bytes() for p in run.rglob("*") if p.is_file()}


def problems(path, **options):
    with pytest.raises(UsageError) as caught:
        foretell.import_(path, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A simulated run of three scenarios."""
    study = {"name": "sim", "tasks": ["lift"], "policies": ["random"], "scenarios": {"count": 3}}
    return foretell.run(study, out=tmp_path_factory.mktemp("like") / "sim", workers=0, limit=1).path


def test_a_line_becomes_a_row_and_its_placements_a_scenario(sheet):
    done = foretell.import_(sheet(GOOD))
    assert (done.added, done.skipped, done.scenarios) == (3, 0, 2)
    assert done.path.as_posix() == "runs/lab"
    first, second = read_scenarios(done.path)
    cube = first.placements["cube"]
    assert cube.pos[:2] == (0.01, 0.02) and cube.scale == pytest.approx((1, 1, 1))
    assert math.degrees(cube.yaw) == pytest.approx(30) and second.placements["cube"].yaw == 0
    assert len(first.start["panda"]) == 7 and first.instruction == "lift the cube"
    found = rows(done.path)
    failed = found["bc", second.id, 0]
    assert failed["judge"] == "person" and failed["world"] == "real" and failed["clock"] == '{"kind": "sync"}'
    assert failed["success"] is False and failed["failure_reason"] == "slipped" and failed["blame"] is None
    assert (
        failed["sim_s"] == 20
        and dict(failed["metrics"]) == {"grip force": 2.0, "cube.x": 0.02, "cube.y": -0.02}
        and failed["score"] is None
    )
    assert failed["wall_started"] == 1772375400.0
    assert found["expert", first.id, 0]["success"] is True
    assert any("'operator' is not kept" in note for note in done.notes)
    assert {r["rate"] for r in foretell.show(done.path)} == {0.5, 1.0}
    assert load_study(done.path / "study.yaml").world == "real"


def test_importing_again_changes_nothing_and_adds_only_new_lines(sheet):
    path = sheet(GOOD)
    run = foretell.import_(path).path
    before = files(run)
    again = foretell.import_(path)
    assert (again.added, again.skipped) == (0, 3) and files(run) == before
    done = foretell.import_(sheet(GOOD + "bc,lift,0.01,0.02,30,no,,,,,\n"))
    assert (done.added, done.skipped, done.scenarios) == (1, 3, 2)
    assert sorted(trial for policy, _, trial in rows(run) if policy == "bc") == [0, 0, 1]


def test_what_is_there_never_changes(sheet):
    run = foretell.import_(sheet(GOOD)).path
    before = files(run)
    said = problems(sheet(GOOD.replace("no,slipped", "yes,")))
    assert "line 3: success is True, it was False" in said and "--out" in said
    assert "lacks 1 trial that" in problems(sheet(GOOD.rpartition("expert")[0]))
    assert files(run) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda t: b"\xef\xbb\xbf" + t.encode(),
        lambda t: t.replace("\n", "\r\n").encode(),
        lambda t: t.replace(",", ";").replace("0.0", "0,0").replace("8.5", "8,5").replace("3.5", "3,5").encode(),
        lambda t: t.replace(",", "\t").encode(),
        lambda t: b"sep=;\r\n" + t.replace(",", ";").encode(),
        lambda t: t.replace("\nbc", "\n\n,,,\nbc", 1).encode(),
        lambda t: t.replace(",lift,", ", Lift ,").encode(),
    ],
)
def test_every_dialect_says_the_same(sheet, change):
    plain = foretell.read(foretell.import_(sheet(GOOD), out="plain").path)
    other = foretell.read(foretell.import_(sheet(change(GOOD)), out="other").path)
    assert other.equals(plain)


def test_every_bad_cell_is_named_at_once_and_nothing_is_written(sheet, tmp_path, capsys):
    bad = """policy,task,success,score,cube.x,cube.y,trial,clock,duration
,lift,1,,,,,,
bc,lift,maybe,,0.1,0.1,,,
bc,lift,,,0.1,0.1,,,
bc,lift,1,1.5,12.5,0.1,,,
bc,lift,1,,0.1,,,,
bc,lift,1,,0.1,nan,1.5,warp,-3
bc,can,1,,0.1,0.1,,,
bc,lift,1,,0.1,0.1,0,,,surplus
"""
    with pytest.raises(SystemExit) as left:
        main(["import", str(sheet(bad))])
    said = capsys.readouterr().err
    assert left.value.code == 2 and not (tmp_path / "runs").exists()
    for line, column, given in [
        (2, "policy", "nothing"),
        (3, "success", "'maybe'"),
        (5, "score", "'1.5'"),
        (6, "cube.y", "nothing"),
        (7, "cube.y", "'nan'"),
        (7, "trial", "'1.5'"),
        (7, "clock", "'warp'"),
        (7, "duration", "'-3'"),
        (8, "cube.x", "'cube'"),
        (9, "(none)", "'surplus'"),
    ]:
        at = [text for text in said.splitlines() if f"lab.csv, line {line}, column {column!r}" in text]
        assert len(at) == 1 and at[0].endswith(f"given: {given}"), (line, column, said)
    assert (
        "11 problems" in said and "line 4" not in said and "line 5, column 'cube.x': cube at 12.50 m is out of" in said
    )


@pytest.mark.parametrize(
    ("x", "y", "column", "value"),
    [("1", "2", "cube.y", "2.00"), ("1", "0.5", "cube.x", "1.00"), ("0.1", "-1", "cube.y", "-1.00")],
)
def test_centimetres_are_out_of_reach(sheet, tmp_path, x, y, column, value):
    said = problems(sheet(f"policy,task,success,cube.x,cube.y\nbc,lift,1,{x},{y}\n"))
    told = f"cube at {value} m is out of the robot's reach; metres are expected (were these centimetres?)"
    assert f"lab.csv, line 2, column {column!r}: {told}" in said and said.startswith("one problem")
    assert not (tmp_path / "runs").exists()


def test_heights_in_centimetres_are_refused(sheet):
    assert "column 'cube.z'" in problems(sheet("policy,task,success,cube.x,cube.y,cube.z\nbc,lift,1,0,0,2\n"))


def test_reach_is_from_the_mount_and_covers_every_task():
    for name in ("lift", "can", "square"):
        task = make_task(name)
        for seed in range(20):
            for placement in task.scenario(seed).placements.values():
                nearest = min(math.dist(mount.pos[:2], placement.pos[:2]) for mount in task.robots.values())
                assert nearest < REACH - 0.1


def test_measured_placements_of_planned_scenarios_must_be_in_reach_too(sheet, planned):
    text = f"policy,task,scenario,success,cube.x,cube.y\nbc,lift,{read_scenarios(planned)[0].id},1,2,1\n"
    assert "cube at 2.00 m is out of the robot's reach" in problems(sheet(text), like=planned)


def test_cards_are_filled_in_and_imported(sheet, planned, tmp_path, capsys):
    scenarios = read_scenarios(planned)
    found = cards(planned)
    assert found == cards(planned, "lift") and [(c["id"], c["task"]) for c in found] == [
        (s.id, "lift") for s in scenarios
    ]
    assert all(card["card"].startswith(s.card()) for card, s in zip(found, scenarios, strict=True))
    main(["cards", str(planned), "--json"])
    assert json.loads(capsys.readouterr().out) == found
    main(["cards", str(planned), "--task", "lift", "--csv", "cards.csv"])
    said = capsys.readouterr().out
    assert f"{scenarios[0].id}  {scenarios[0].card()}" in said and f"import cards.csv --like {planned}" in said
    blank = (tmp_path / "cards.csv").read_text()
    assert blank.splitlines()[:2] == [
        "policy,task,scenario,cube.x,cube.y,cube.yaw,success,failure_reason,design",
        f",lift,{scenarios[0].id},-0.006,-0.012,-138,,,random",
    ]
    assert "expected an outcome: no line is filled in yet" in problems("cards.csv", like=planned)
    filled = sheet(blank.replace("\n,lift", "\nbc,lift").replace(",,,random", ",no,slipped,random"), "filled.csv")
    done = foretell.import_(filled, like=planned)
    assert done.added == 3 and read_scenarios(done.path) == scenarios
    assert '"design": "iid"' in (done.path / "provenance.json").read_text()


def test_cards_that_cannot_be_had(planned, tmp_path):
    with pytest.raises(UsageError, match="has none of 'lft'; did you mean 'lift'"):
        cards(planned, "lft")
    with pytest.raises(UsageError, match="not a run folder"):
        cards(tmp_path / "nope")
    (tmp_path / "there.csv").write_text("a day's work")
    with pytest.raises(UsageError, match=r"there\.csv already exists"):
        write_sheet(tmp_path / "there.csv", cards(planned))
    assert (tmp_path / "there.csv").read_text() == "a day's work"
    with pytest.raises(UsageError, match=r"cannot write /proc/nope/a\.csv"):
        write_sheet("/proc/nope/a.csv", cards(planned))


def test_a_sheet_carries_out_nothing_and_keeps_its_names(tmp_path):
    """Names of a received folder may be formulas, in the head of the sheet too."""
    lift = Lift().scenario(0)
    scenario = lift.model_copy(update={"task": "=1+1", "placements": {'=HYPERLINK("x")': lift.placements["cube"]}})
    run = made.run(tmp_path / "run", [scenario], [made.row("a", scenario, task="=1+1")])
    write_sheet(tmp_path / "cards.csv", cards(run))
    with (tmp_path / "cards.csv").open(newline="") as file:
        head, line = csv.reader(file)
    assert head[3] == '\'=HYPERLINK("x").x' and line[1] == "'=1+1"
    assert not [cell for cell in (*head, line[1]) if cell.startswith("=")]
    filled = [*line[:-3], "yes", "", ""]
    with (tmp_path / "cards.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, ["bc", *filled[1:]]])
    done = foretell.import_(tmp_path / "cards.csv", like=run, out=tmp_path / "trials")
    assert read_scenarios(done.path) == [scenario] and foretell.read(done.path)["task"].to_pylist() == ["=1+1"]


def test_no_more_than_twenty_are_listed(sheet):
    said = problems(sheet("policy,task,success\n" + "bc,lift,maybe\n" * 30))
    assert said.startswith("30 problems") and said.endswith("and 10 more") and said.count("'maybe'") == 20


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "empty"),
        (b"PK\x03\x04...", "workbook"),
        (b"policy,task,success\nbc,lift,\xff\n", "line 2 is not UTF-8"),
        (b"policy,success\nbc,1\n", "column 'task'"),
        (b"policy,task\nbc,lift\n", "or 'score'"),
        (b"policy,task,success\n", "expected a trial"),
        (b"policy,task,success,Policy\nbc,lift,1,x\n", "named once"),
        (b'policy,task,success,notes\nbc,lift,0,"two\nlines"\nbc,lift,maybe,\n', "line 4, column 'success'"),
    ],
)
def test_sheets_that_are_none(sheet, text, says):
    assert says in problems(sheet(text))


def test_trials_are_numbered_in_order_and_twins_are_named_by_both_lines(sheet):
    head = "policy,task,scenario,success,trial\n"
    done = foretell.import_(sheet(head + "bc,lift,A,1,\nbc,lift,A,0,7\nbc,lift,A,0,0\nbc,lift,B,1,\nbc,lift,A,1,\n"))
    assert sorted(rows(done.path)) == [("bc", "A", 0), ("bc", "A", 1), ("bc", "A", 2), ("bc", "A", 7), ("bc", "B", 0)]
    said = problems(sheet(head + "bc,lift,A,1,3\nbc,lift,B,1,3\nbc,lift,A,0,3\n", "twins.csv"))
    assert "one problem" in said and "line 4, column 'trial'" in said and "line 2" in said


def test_a_score_alone_is_a_success_only_at_full_marks(sheet):
    done = foretell.import_(sheet("policy,task,score,scenario\nbc,lift,1,A\nbc,lift,0.99,B\n"))
    assert [(r["success"], r["score"]) for r in rows(done.path).values()] == [(True, 1.0), (False, 0.99)]
    assert any("taken from score" in note for note in done.notes) and done.scenarios == 0
    both = foretell.import_(sheet("policy,task,score,success\nbc,lift,0.4,yes\n", "both.csv"))
    assert [(r["success"], r["score"]) for r in rows(both.path).values()] == [(True, 0.4)]


def test_planned_scenarios_are_named_by_id_and_measured_ones_pair_with_them(sheet, planned):
    a, b, _ = read_scenarios(planned)
    x, y, _ = b.placements["cube"].pos
    text = f"policy,task,scenario,success,cube.x,cube.y\nbc,lift,{a.id},1,,\nbc,lift,{b.id[:6]},0,{x + 0.004},{y}\n"
    done = foretell.import_(sheet(text), like=planned)
    exact, measured = read_scenarios(done.path)
    assert exact == a
    assert measured.parent == b.id and measured.placements["cube"].pos[0] == x + 0.004
    assert measured.placements["cube"].quat == b.placements["cube"].quat and measured.start == b.start
    assert {r["scenario"]: r["parent"] for r in rows(done.path).values()} == {a.id: None, measured.id: b.id}
    assert '"design": "iid"' in (done.path / "provenance.json").read_text()


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ("bc,lift,3,1", "4 or more characters"),  # a lab's own number
        ("bc,lift,1.2E+15,1", "made a number of it"),
        ("bc,lift,,1", "given: nothing"),
        ("bc,can,zzzz,1", "a task of"),
    ],
)
def test_a_scenario_that_was_not_planned_is_refused(sheet, planned, cells, says):
    assert says in problems(sheet(f"policy,task,scenario,success\n{cells}\n"), like=planned)


def test_the_same_situations_can_be_simulated(sheet):
    real = foretell.import_(sheet(GOOD)).path
    study = {"name": "sim", "tasks": ["lift"], "policies": ["expert"]}
    sim = foretell.run(study, pair_with=real, workers=0).path
    assert {r["scenario"] for r in foretell.read(sim).to_pylist()} == {s.id for s in read_scenarios(real)}
    assert '"design": "chosen"' in (sim / "provenance.json").read_text()
    assert all(foretell.read(sim)["success"].to_pylist())


def test_the_folder_of_a_study_and_the_name_of_a_simulated_world_are_refused(sheet, planned):
    assert "was run, not imported" in problems(sheet(GOOD), out=planned)
    assert "should name a real world" in problems(sheet(GOOD), world="mujoco")
    assert "'a/b' should be letters" in problems(sheet(GOOD), name="a/b")


def test_hostile_strings_are_data(sheet, tmp_path):
    (tmp_path / "evil.py").write_text("raise SystemExit('a cell was run')")
    names = ["evil.py:Task", "os:system", "=cmd()", "[/bold]", "../../etc", "{{x}}", "a: [b", "\u202eevil"]
    lines = "".join(f'"{name}","{name}","{name}",0,"{name}","{name}"\n' for name in names)
    done = foretell.import_(sheet("policy,task,scenario,success,notes,video\n" + lines, "..-;rm -rf.csv"))
    found = foretell.read(done.path).to_pylist()
    assert sorted(r["policy"] for r in found) == sorted(r["task"] for r in found) == sorted(names)
    assert {r["failure_reason"] for r in found} == set(names)
    assert done.path.parent.name == "runs" and set(yaml.safe_load((done.path / "study.yaml").read_text())["policies"])
    assert len(foretell.show(done.path)) == len(names)


def test_the_middle_of_a_task_that_draws_until_it_fits():
    class Picky(Lift):
        def place(self, rng):
            while (x := rng.uniform(-1, 1)) < 0.5:
                pass
            y, turn, noise = rng.random(), rng.uniform(0, 2 * np.pi), rng.standard_normal(3)
            assert noise.shape == (3,)
            return {"cube": Placement(asset="cube", pos=(x, y, 0.02), quat=(np.cos(turn / 2), 0, 0, np.sin(turn / 2)))}

    assert nominal(Picky()).placements["cube"].pos[0] >= 0.5
    middle = nominal(Lift()).placements["cube"]
    assert middle.pos[:2] == (0, 0) and middle.quat == (1, 0, 0, 0)


def test_a_task_without_a_table_has_no_middle():
    class Drive(Task):
        name = "drive"

    with pytest.raises(UsageError, match="task 'drive' is not a TabletopTask"):
        nominal(Drive())


LABELLED = """policy,task,scenario,cube.x,cube.y,cube.yaw,success
"""


def spots(count, shift, policy, labelled=True):
    """Lines of one policy on `count` spots, each measured `shift` away from where the spot is."""
    places = [(0.02 * (i % 5) - 0.04, 0.02 * (i // 5) - 0.03) for i in range(count)]
    return "".join(
        f"{policy},lift,{f'S{i}' if labelled else ''},{x + shift * math.cos(i):.4f},{y + shift * math.sin(i):.4f},"
        f"{10 * i + 300 * shift:.1f},{i % 2}\n"
        for i, (x, y) in enumerate(places)
    )


def common(run, a="bc", b="dp"):
    (pair,) = foretell.compare(run, policy=[a, b]).pairs
    assert pair.paired
    return pair.n_a


def test_a_label_pairs_whatever_was_measured(sheet):
    text = LABELLED + spots(20, 0.0, "bc") + spots(20, 0.006, "dp")
    done = foretell.import_(sheet(text))
    assert done.added == 40 and done.scenarios == 20 and common(done.path) == 20
    assert any("20 of 40 trials were measured beside their spot" in note for note in done.notes)
    for row in foretell.read(done.path).to_pylist():
        measured = dict(row["metrics"])
        spot = next(s for s in read_scenarios(done.path) if s.id == row["scenario"]).placements["cube"].pos
        off = math.dist((measured["cube.x"], measured["cube.y"]), spot[:2])
        assert off == pytest.approx(0.006 if row["policy"] == "dp" else 0.0, abs=2e-4)
    again = foretell.import_(sheet(text + "ep,lift,S3,,,,1\nep,lift,S4,,,,0\n"))  # a label alone is enough
    assert (again.added, again.skipped) == (2, 40) and common(done.path, "bc", "ep") == 2


def test_positions_within_a_stated_tolerance_are_one_spot(sheet):
    text = LABELLED + spots(20, 0.0, "bc", labelled=False) + spots(20, 0.0015, "dp", labelled=False)
    done = foretell.import_(sheet(text))
    assert done.scenarios == 20 and common(done.path) == 20
    assert any("within 2 mm and 5° (--tolerance)" in note for note in done.notes)
    assert foretell.import_(sheet(text), out="exact", tolerance=0).scenarios == 40
    wide = LABELLED + spots(20, 0.0, "bc", labelled=False) + spots(20, 0.006, "dp", labelled=False)
    assert foretell.import_(sheet(wide), out="wide").scenarios == 40
    assert foretell.import_(sheet(wide), out="wider", tolerance=0.0065).scenarios == 20
    assert "should be metres" in problems(sheet(wide), out="none", tolerance=2)


def test_a_label_once_imported_without_a_position_stays_a_label(sheet):
    text = "policy,task,scenario,cube.x,cube.y,success\nbc,lift,S1,,,1\nbc,lift,S2,,,0\n"
    done = foretell.import_(sheet(text))
    again = foretell.import_(sheet(text + "dp,lift,S1,0.01,0.02,0\ndp,lift,S2,,,1\n"))
    assert (again.added, again.skipped, again.scenarios) == (2, 2, 0)
    assert {r["scenario"] for r in foretell.read(done.path).to_pylist()} == {"S1", "S2"} and common(done.path) == 2


def test_labels_of_one_sheet_are_those_of_another_like_it(sheet):
    first = foretell.import_(sheet(LABELLED + spots(4, 0.0, "bc"))).path
    other = foretell.import_(sheet(LABELLED + spots(4, 0.004, "dp"), "other.csv"), like=first).path
    (pair,) = foretell.compare(first, other).pairs
    assert pair.paired and pair.n_a == 4


def test_a_sheet_is_filled_in_bit_by_bit(sheet, planned, tmp_path):
    write_sheet(tmp_path / "cards.csv", cards(planned))
    head, one, two, three = (tmp_path / "cards.csv").read_text().splitlines()
    assert head.split(",")[:6] == ["policy", "task", "scenario", "cube.x", "cube.y", "cube.yaw"]

    def fill(line):
        return line.replace(",lift", "bc,lift", 1).replace(",,", ",yes,", 1)

    path = tmp_path / "cards.csv"
    path.write_text("\n".join([head, fill(one), two, three]) + "\n")
    done = foretell.import_(path, like=planned)
    assert (done.added, done.scenarios) == (1, 1) and any("2 lines are not filled in" in n for n in done.notes)
    assert read_scenarios(done.path) == read_scenarios(planned)[:1]  # coordinates as printed are no measurement
    assert not foretell.read(done.path)["metrics"].to_pylist()[0]
    path.write_text("\n".join([head, fill(one), two, fill(three)]) + "\n")
    done = foretell.import_(path, like=planned)
    assert (done.added, done.skipped) == (1, 1)
    assert any("line 3 lies before filled ones" in note for note in done.notes)
    path.write_text("\n".join([head, fill(one), fill(two), fill(three)]) + "\n")
    assert foretell.import_(path, like=planned).added == 1
    assert '"design": "iid"' in (done.path / "provenance.json").read_text()


@pytest.mark.parametrize(("said", "design"), [("random", "iid"), ("iid", "iid"), ("grid", "grid"), ("", "chosen")])
def test_a_sheet_may_say_how_its_scenarios_came_about(sheet, said, design):
    text = f"policy,task,cube.x,cube.y,success,design\nbc,lift,0.01,0,1,{said}\nbc,lift,0.02,0,0,{said}\n"
    done = foretell.import_(sheet(text))
    assert json.loads((done.path / "provenance.json").read_text())["design"] == design
    mixed = text + "bc,lift,0.03,0,0,\n"
    done = foretell.import_(sheet(mixed), out="mixed")
    assert json.loads((done.path / "provenance.json").read_text())["design"] == "chosen"
    unfair = "policy,task,cube.x,cube.y,success,design\nbc,lift,0.01,0,1,fair\n"
    assert "expected random, iid, grid, chosen; given: 'fair'" in problems(sheet(unfair), out="no")


@pytest.mark.parametrize(("said", "design"), [("", "iid"), ("random", "iid"), ("chosen", "chosen"), ("grid", "chosen")])
def test_a_sheet_of_planned_scenarios_may_say_so_too(sheet, planned, said, design):
    ids = [scenario.id for scenario in read_scenarios(planned)][:2]
    lines = [f"bc,lift,{i},1,{said}\n" for i in ids]
    done = foretell.import_(sheet("policy,task,scenario,success,design\n" + "".join(lines)), like=planned)
    assert json.loads((done.path / "provenance.json").read_text())["design"] == design
    wrong = f"policy,task,scenario,success,design\nbc,lift,{ids[0]},1,fair\n"
    assert "expected random, iid, grid, chosen; given: 'fair'" in problems(sheet(wrong), like=planned, out="no")
