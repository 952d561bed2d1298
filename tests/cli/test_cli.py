"""The command line as a person or a script meets it: exit codes, what goes to which stream, and in what form."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from studies import Lab, cli, command, environment, refused

import foretell
from foretell.cli import main
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.registry import BUILTIN
from foretell.study import progress
from foretell.study.progress import Bar
from foretell.study.status import Progress

KEYS = ["world", "task", "policy", "clock", "arm", "n", "successes", "rate", "low", "high", "alpha"]
KEYS += ["errors", "events", "method", "running", "retired", "finished", "planned", "until", "stopped"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A folder with a finished run of two policies on two scenarios."""
    lab = Lab(tmp_path_factory.mktemp("lab"))
    policies = {"faulty": "policy.py:Faulty", "[bold]a rather long name for a policy[/bold] :smile:": "random"}
    lab.study("done", "Blink", 2, policies=policies)
    lab.faults(**dict.fromkeys(lab.seeds("Blink", 1), "raise"))
    foretell.run(lab.folder / "done.yaml", out=lab.folder / "runs" / "done", workers=0)
    lab.calm()
    return lab


def test_run_tells_what_it_did_and_again_what_was_there(lab: Lab) -> None:
    lab.study("told", "Blink", 3)
    first = cli("run", "told.yaml", "--workers", 1, "--limit", 2, cwd=lab.folder)
    assert first.stdout.endswith("2 episodes run, 1 left by --limit; everything is in runs/told\n")
    assert all(" of 3 episodes, " in line for line in first.stderr.splitlines())  # where it takes two seconds
    second = cli("run", "told.yaml", "--workers", 1, cwd=lab.folder)
    assert second.stdout.endswith("1 episode run, 2 were there already; everything is in runs/told\n")
    assert "blink  faulty       0%  3" in second.stdout
    third = json.loads(cli("run", "told.yaml", "--workers", 0, "--json", cwd=lab.folder).stdout)
    told = {
        "path": "runs/told",
        "planned": 3,
        "ran": 0,
        "skipped": 3,
        "left": 0,
        "spared": 0,
        "until": False,
        "pulled": False,
        "notes": [],
        "failing": [],
    }
    assert third == told


def test_a_dry_run_writes_nothing(lab: Lab) -> None:
    lab.study("dry", "Blink", 5, trials=3)
    said = json.loads(cli("run", "dry.yaml", "--dry-run", "--json", cwd=lab.folder).stdout)
    assert said["episodes"] == 15
    assert said["seconds"] > 0 and said["bytes"] > 0
    assert set(said) == {"episodes", "seconds", "bytes", "per_task", "until", "early", "films", "unfilmed"}
    paired = cli("run", "dry.yaml", "--dry-run", "--pair-with", "runs/done", cwd=lab.folder)
    assert paired.stdout.startswith("6 episodes, at most ")
    assert not (lab.folder / "runs" / "dry").exists()


def test_a_dry_run_says_that_nothing_will_be_filmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    (tmp_path / "lab.yaml").write_text("looks: menagerie\n")
    (tmp_path / "s.yaml").write_text(
        "world: lab.yaml\ntasks: [widowx_stack_cube]\npolicies: [random]\nscenarios: {layouts: [0]}\n"
        "record: {video: 1}\n"
    )
    said = cli("run", "s.yaml", "--dry-run", cwd=tmp_path).stdout
    assert "note: nothing will be filmed: looks: menagerie: MENAGERIE_ROOT is " in said and "with up to" not in said


@pytest.mark.parametrize("kind", ["presets", "factors", "adapters"])
def test_a_list_cuts_no_sentence(kind: str) -> None:
    for entry in foretell.catalogue(kind):
        assert entry["about"].endswith("."), entry["name"]


def test_wrong_arguments_of_identify_stand_alone(tmp_path: Path) -> None:
    assert refused("identify", "none.npz", "--robot", "widowx", cwd=tmp_path).count("\n") == 1


def test_pair_with_runs_exactly_those_scenarios(lab: Lab) -> None:
    lab.study("pair", "Blink", scenarios={"count": 1, "seed": 99}, policies=["random"], world="standin")
    cli("run", "pair.yaml", "--pair-with", "runs/done", "--out", "runs/paired", "--workers", 0, cwd=lab.folder)
    first, second = lab.folder / "runs" / "done", lab.folder / "runs" / "paired"
    assert [s.id for s in read_scenarios(second)] == [s.id for s in read_scenarios(first)]
    assert sorted(read(second)["scenario"].to_pylist()) == sorted(set(read(first)["scenario"].to_pylist()))
    message = refused("run", "pair.yaml", "--pair-with", "runs/nope", cwd=lab.folder)
    assert "scenarios: like: runs/nope is not a run folder" in message
    lab.study("unlike", tasks=["can"], policies=["random"])
    message = refused("run", "unlike.yaml", "--pair-with", "runs/done", cwd=lab.folder)
    assert "runs/done has none of task 'can'; it has ['blink']" in message


def test_show_has_exactly_these_keys(lab: Lab) -> None:
    said = json.loads(cli("show", "runs/done", "--json", cwd=lab.folder).stdout)
    assert [list(row) for row in said] == [KEYS, KEYS]
    by_policy = {row["policy"]: row for row in said}
    faulty = by_policy["faulty"]
    assert (faulty["world"], faulty["task"], faulty["clock"], faulty["arm"]) == ("mujoco", "blink", "sync", "none")
    assert (faulty["n"], faulty["successes"], faulty["rate"], faulty["alpha"]) == (2, 0, 0.0, 0.05)
    assert faulty["errors"] == {"policy": 1}
    assert faulty["low"] == 0.0 and faulty["high"] == pytest.approx(0.8419, abs=1e-4)  # Clopper-Pearson
    wide = json.loads(cli("show", "runs/done", "--alpha", 0.01, "--json", cwd=lab.folder).stdout)
    assert wide[0]["high"] > said[0]["high"] and wide[0]["alpha"] == 0.01


@pytest.mark.parametrize("columns", ["20", "200"])
def test_the_table_keeps_names_whole_on_any_terminal(lab: Lab, columns: str) -> None:
    said = cli("show", "runs/done", cwd=lab.folder, COLUMNS=columns).stdout
    assert "[bold]a rather long name for a policy[/bold] :smile:" in said
    assert "1 policy" in said
    assert "\x1b" not in said


def test_show_of_what_is_no_run(lab: Lab) -> None:
    assert "nope is not a run folder: there is no such folder" in refused("show", "nope", cwd=lab.folder)
    assert "it has no study.yaml, journal/ or episodes/" in refused("show", ".", cwd=lab.folder)
    refused("show", "runs/done", "--alpha", 2, cwd=lab.folder)


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("tasks", {"lift", "can", "square"}),
        ("policies", {"expert", "noisy-expert", "random", "onnx"}),
        ("worlds", {"mujoco", "standin"}),
        ("robots", {"panda"}),
    ],
)
def test_list(tmp_path: Path, what: str, names: set[str]) -> None:
    said = json.loads(cli("list", what, "--json", cwd=tmp_path).stdout)
    assert {entry["name"] for entry in said} >= names
    assert all(entry["about"] for entry in said)
    if what == "tasks":
        plain = cli("list", what, cwd=tmp_path).stdout.splitlines()
        assert [line.split()[0] for line in plain] == [entry["name"] for entry in said]


def test_list_alone_lists_the_kinds(tmp_path: Path) -> None:
    """Each line begins with the command that lists more."""
    lines = cli("list", cwd=tmp_path).stdout.splitlines()
    kinds = {line.split()[2]: int(line.split()[3]) for line in lines}
    assert all(line.startswith("foretell list ") for line in lines) and set(kinds) == set(BUILTIN)
    assert kinds == {kind: len(foretell.catalogue(kind)) for kind in kinds}
    overview = json.loads(cli("list", "--json", cwd=tmp_path).stdout)
    assert overview == foretell.catalogue() and [kind["name"] for kind in overview] == list(kinds)


def test_a_verb_that_is_not_there(tmp_path: Path) -> None:
    assert refused("shw", cwd=tmp_path) == "foretell: there is no verb 'shw'; did you mean 'show'?\n"
    assert "known: " in refused("qqqqqq", cwd=tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [("run",), ("run", "s.yaml", "--workers", "many"), ("run", "s.yaml", "--sluts", "3"), ("check",), ("show",)],
)
def test_a_wrong_option_is_told_on_standard_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments, cwd=tmp_path, code=2)
    assert done.stdout == ""
    assert f"foretell {arguments[0]} --help" in done.stderr


@pytest.mark.parametrize("option", [("--limit", 0), ("--slots", 0), ("--workers", -1)])
def test_a_number_that_makes_no_sense(lab: Lab, option: tuple[str, int]) -> None:
    message = refused("run", "done.yaml", *option, cwd=lab.folder)
    assert f"{option[0][2:]} ({option[1]})" in message


def test_help_is_instant(tmp_path: Path) -> None:
    """By what it loads rather than by the clock, which on a busy machine says little."""
    code = """
import sys
from foretell.cli import commands, main
heavy = {"mujoco", "pyarrow", "scipy", "onnxruntime", "duckdb", "gymnasium"}
main(["--help"])
assert "tyro" not in sys.modules, "the list of verbs needs no parser"
main(["--version"])
for verb in commands():
    try:
        main([*verb.split(), "--help"])
    except SystemExit as end:
        assert not end.code
    print(verb, sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert "usage: foretell VERB" in done.stdout
    assert f"foretell {foretell.__version__}" in done.stdout
    told = done.stderr.splitlines()
    assert {line.split()[0] for line in told} >= {"demo", "run", "show", "list", "check", "doctor", "import", "replay"}
    assert all(line.endswith(" []") for line in told), told


def test_every_verb_says_what_it_does(tmp_path: Path) -> None:
    said = cli(cwd=tmp_path).stdout
    verbs = [line for line in said.splitlines() if line.startswith("  ")]
    assert len(verbs) >= 8
    assert all(len(line.split(maxsplit=1)) == 2 for line in verbs)
    assert cli("help", cwd=tmp_path).stdout == said


def test_as_a_module_and_as_a_script(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "foretell", "--version"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"foretell {foretell.__version__}\n")


@pytest.mark.parametrize(
    "arguments", [("list", "tasks"), ("list", "tasks", "--json"), ("--help",), ("show", "runs/done")]
)
def test_a_reader_that_goes_away_is_no_error(lab: Lab, arguments: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)  # gone before the first word: the worst case of `| head -1`
    done = subprocess.run(command(*arguments), cwd=lab.folder, env=environment(), stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert done.stderr == b""
    assert done.returncode in (0, 1)


def test_progress_off_a_terminal_is_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Bar() as bar:
        bar.update(Progress(planned=100, done=10, ran=0))
        for second in range(1, 31):
            now[0] = float(second)
            bar.update(Progress(planned=100, done=10 + 2 * second, ran=2 * second))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "30 of 100 episodes, 2.0/s, about 35 s left",
        "50 of 100 episodes, 2.0/s, about 25 s left",
        "70 of 100 episodes, 2.0/s, about 15 s left",
    ]


def test_progress_on_a_terminal_is_a_bar_on_standard_error(lab: Lab) -> None:
    lab.study("bar", "Blink", 3)
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        command("run", "bar.yaml", "--workers", "0", "--json"),
        cwd=lab.folder,
        env=environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    said, _ = done.communicate(timeout=30)
    assert done.returncode == 0
    assert json.loads(said)["ran"] == 3
    assert b"3/3" in shown


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("scenarios: soon", "scenarios: should be a number, or such as {count: 20, seed: 0}"),
        ("scenarios: 1\nworld: {name: w, theta: {kp_scale: .inf}}", "world: theta.kp_scale: Input should be a finite"),
        ("scenarios: 1\npolicies: {r: rndom}", "policies: 'rndom' is not known; did you mean 'random'"),
    ],
)
def test_an_error_in_a_study_names_its_file_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, told: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"tasks: [lift]\n{'' if 'policies' in given else 'policies: [random]'}\n{given}\n")
    for more in ([], ["--dry-run"]):
        with pytest.raises(SystemExit) as left:
            main(["run", str(path), "-o", str(tmp_path / "run"), *more])
        assert left.value.code == 2 and capsys.readouterr().err.startswith(f"foretell: {path}: {told}")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(SystemExit):
        main(["run", str(tmp_path / "pipe.yaml")])
    assert "pipe.yaml: it is no regular file" in capsys.readouterr().err


def test_a_verb_that_only_reads_loads_neither_pandas_nor_a_simulator(lab: Lab) -> None:
    code = (
        "import sys; from foretell.cli import main; sys.argv = ['foretell', 'show', sys.argv[1]]; main()\n"
        "print([name for name in ('pandas', 'mujoco') if name in sys.modules])\n"
        "import pandas; print(pandas.DataFrame({'a': [1]}).a.sum())"  # who asks for it gets it
    )
    run = [sys.executable, "-c", code, str(lab.folder / "runs" / "done")]
    done = subprocess.run(run, capture_output=True, text=True, env=environment())
    assert done.stdout.splitlines()[-2:] == ["[]", "1"], done.stderr
