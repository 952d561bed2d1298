"""The package as a whole: quick to import, nothing but numpy and scipy, every public name documented."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import foretell.stats as stats

PROBE = """
import sys, time
import numpy, foretell
start = time.process_time()
import foretell.stats
print(time.process_time() - start)
print(" ".join(sorted({name.split(".")[0] for name in sys.modules})))
"""


def test_import_is_quick_and_light():
    # On top of numpy and the bare package; benchmarks/bounds.py reports the whole.
    runs = [
        subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(3)
    ]
    assert min(float(lines[0]) for lines in runs) < 0.12
    assert not {"scipy", "pandas", "statsmodels", "matplotlib"} & set(runs[0][1].split())


def test_public_names_exist_and_say_what_they_take():
    for name in stats.__all__:
        thing = getattr(stats, name)
        if inspect.isfunction(thing):
            assert thing.__doc__, name
            assert "shape" in thing.__doc__ or "Scalars in" in thing.__doc__, name
        elif inspect.isclass(thing):
            assert thing.__doc__, name
    assert sorted(stats.__all__, key=str.lower) == sorted(set(stats.__all__), key=str.lower)


def test_interval_dictionary_and_width():
    full = stats.wilson(7, 10)
    assert full.width == full.high - full.low
    assert 0.7 in full
    assert 0.05 not in full
    assert "reason" not in full.to_dict()
    none = stats.Interval(
        estimate=0.5,
        low=None,
        high=None,
        alpha=0.05,
        method="m",
        guarantee="asymptotic",
        assumes=(),
        n=3,
        reason="too few",
    )
    assert none.width == float("inf")
    assert none.to_dict()["low"] is None
    assert none.to_dict()["reason"] == "too few"


def test_the_default_level_is_typed_once():
    # Every argument, field and option called alpha takes `ALPHA`, so that no table is of another level than the rest.
    typed = []
    for path in sorted(Path(stats.__file__).parents[1].rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.arguments():
                    names = [arg.arg for arg in (*node.posonlyargs, *node.args)]
                    given = dict(zip(names[::-1], node.defaults[::-1], strict=False))
                    given |= dict(zip((arg.arg for arg in node.kwonlyargs), node.kw_defaults, strict=True))
                    values = [given.get("alpha")]
                case ast.AnnAssign(target=ast.Name(id="alpha"), value=ast.expr() as value):
                    values = list(ast.walk(value))
                case ast.Call(args=[ast.Constant(value="--alpha"), *_], keywords=options):
                    values = [option.value for option in options]
                case _:
                    continue
            if any(isinstance(value, ast.Constant) and value.value == stats.ALPHA for value in values):
                typed.append(f"{path.name}: {ast.unparse(node)}")
    assert not typed
