"""`foretell check` prints what was found, and its exit code says whether all is well."""

import json

import pytest

from foretell.cli import main


def test_a_sound_policy(capsys):
    main(["check", "policy", "random"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "policy random" and lines[-1].startswith("all ") and all("✓" in line for line in lines[1:-1])


def test_a_sound_world_as_json(capsys):
    main(["check", "world", "mujoco", "--json"])
    assert json.loads(capsys.readouterr().out)["ok"]


@pytest.mark.parametrize("what", ["policy", "task", "world"])
def test_what_is_not_there(capsys, what):
    with pytest.raises(SystemExit) as left:
        main(["check", what, "nonsense"])
    assert left.value.code == 1 and "✗" in capsys.readouterr().out
