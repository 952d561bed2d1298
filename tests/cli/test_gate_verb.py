"""Exit codes of `foretell gate`: a decision has 0, 1 or 2, and nothing else does."""

import json
import subprocess
import sys

import pytest
from studies import environment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("gate")
    for name, solved, count in (("base", 80, 100), ("same", 80, 100), ("worse", 40, 100), ("few", 8, 10)):
        lines = [f"s{i},{int(i % 100 < solved)}" for i in range(count)]
        (path / f"{name}.csv").write_text("\n".join(["scenario,success", *lines]) + "\n")
    (path / "broken.csv").write_text("scenario,success\ns1,maybe\n")
    return path


def gate(folder, *arguments, **options):
    command = [sys.executable, "-m", "foretell", "gate", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("base.csv", "same.csv"), 0, "PASS: "),
        (("base.csv", "worse.csv"), 1, "FAIL: "),
        (("base.csv", "few.csv"), 2, "UNDECIDED: "),
        (("base.csv", "none.csv"), 64, "cannot read none.csv"),
        (("base.csv", "broken.csv"), 64, "broken.csv, line 2"),
        (("base.csv", "same.csv", "--margn", "0.1"), 64, "did you mean '--margin'?"),
        (("base.csv",), 64, "CANDIDATE"),
        (("base.csv", "same.csv", "--margin", "5"), 64, "margin is 5"),
    ],
)
def test_exit_codes(folder, arguments, code, words):
    done = gate(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert words in (done.stdout if code < 64 else done.stderr)
    assert not done.stdout or code < 64


def test_json_has_the_decision(folder):
    done = gate(folder, "base.csv", "few.csv", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == answer["exit_code"] == 2 and answer["decision"] == "undecided"
    assert answer["more"]["if_equal"] > 0 and answer["margin"] == 0.05


def test_a_crash_is_no_decision(folder):
    code = "import sys, foretell.answers.gate as g; from foretell.cli import main\n"
    code += "def crash(*a, **k): raise RuntimeError('broken')\ng.gate = crash\nmain(['gate', 'base.csv', 'same.csv'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 70 and "RuntimeError: broken" in done.stderr


def test_the_decision_stands_where_nobody_reads_it(folder):
    line = f"set -o pipefail; {sys.executable} -m foretell gate base.csv worse.csv | true"
    assert subprocess.run(["bash", "-c", line], cwd=folder, env=environment(), capture_output=True).returncode == 1
