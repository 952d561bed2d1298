"""Help: verbs in the order of use, examples that really parse, and flags that are the same everywhere."""

from __future__ import annotations

import functools
import inspect
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from studies import cli, refused

from foretell.cli import JOURNEY, commands, examples, main, parse, verbs
from foretell.cli._confidence import alpha_of, check_once
from foretell.cli._defaults import with_defaults
from foretell.cli._spelling import check_flags, flags
from foretell.errors import UsageError

MODULES = {verb: import_module(module) for verb, module in commands().items()}


def test_every_verb_has_its_place_on_the_journey() -> None:
    assert sorted(verb for group in JOURNEY.values() for verb in group) == sorted(verbs())


def test_help_is_grouped_and_begins_with_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    said = capsys.readouterr().out
    at = [said.index(f"\n{title}\n") for title in JOURNEY]
    assert at == sorted(at) and said.index("  demo ") < said.index("  run ") < said.index("  bound ")


def test_help_of_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for arguments in (["help", "run"], ["run", "--help"]):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert not end.value.code
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] and "usage: foretell run" in said[0] and "foretell run study.yaml --dry-run" in said[0]


def test_help_of_a_verb_that_is_not_there(tmp_path: Path) -> None:
    assert "there is no verb 'rn'; did you mean 'run'?" in refused("help", "rn", cwd=tmp_path)


def test_help_of_a_verb_with_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["match"], ["match", "--help"], ["help", "match"]):
        main(arguments)
        shown = capsys.readouterr().out
        assert "usage: foretell match PART" in shown and "\n  background " in shown
        assert all(len(line) <= 80 for line in shown.splitlines())
    assert "match has no part 'backgrond'; did you mean 'background'?" in refused("match", "backgrond", cwd=tmp_path)


@pytest.mark.parametrize("verb", MODULES)
def test_examples_of_every_verb_parse(verb: str) -> None:
    found = examples(MODULES[verb].__doc__ or "")
    assert found, f"{verb} has no examples"
    parsed = []

    called = with_defaults(verb, MODULES[verb].main)

    @functools.wraps(called)
    def noted(*arguments: object, **options: object) -> None:
        parsed.append((arguments, options))

    for line in found:
        words = shlex.split(line, comments=True)
        own = ["foretell", *verb.split()]
        assert words[: len(own)] == own, line
        check_flags(verb, called, words[len(own) :])
        parse(verb, noted, words[len(own) :])
    assert len(parsed) == len(found)


@pytest.mark.parametrize("verb", [v for v, m in MODULES.items() if "out" in inspect.signature(m.main).parameters])
def test_o_is_short_for_out(verb: str) -> None:
    assert {"--out", "-o"} <= set(flags(MODULES[verb].main))


@pytest.mark.parametrize("verb", [v for v, m in MODULES.items() if "alpha" in inspect.signature(m.main).parameters])
def test_confidence_stands_beside_alpha(verb: str) -> None:
    assert "--confidence" in flags(MODULES[verb].main)


def test_confidence_in_percent() -> None:
    assert alpha_of(0.05, None) == 0.05 and alpha_of(0.1, None) == 0.1
    assert [alpha_of(0.05, c) for c in (95, 90, 99, 99.9)] == [0.05, 0.1, 0.01, 0.001]
    with pytest.raises(UsageError, match="give one of them"):
        check_once(["--alpha=0.05", "14/20", "--confidence", "95"])
    with pytest.raises(UsageError, match=r"confidence is 0\.95, it should be in percent: give --confidence 95"):
        alpha_of(0.05, 0.95)
    with pytest.raises(UsageError, match="confidence is 100, it should be in percent, above 1 and below 100"):
        alpha_of(0.05, 100)


def test_confidence_on_the_command_line(tmp_path: Path) -> None:
    by_alpha = cli("bound", "14/20", "--alpha", "0.1", "--json", cwd=tmp_path).stdout
    assert cli("bound", "14/20", "--confidence", "90", "--json", cwd=tmp_path).stdout == by_alpha
    assert "give one of them" in refused("bound", "14/20", "--confidence", "90", "--alpha", "0.1", cwd=tmp_path)
