"""The scenarios of a run, as they were stored."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from foretell.episodes.folder import check_run
from foretell.episodes.parts import DamagedError, read_table
from foretell.errors import UsageError
from foretell.scenario import Scenario

__all__ = ["SCENARIOS", "each_scenario", "read_scenarios", "scenario_table"]

_TEXT = pa.string()
SCENARIOS = pa.schema({"id": _TEXT, "base": _TEXT, "parent": _TEXT, "task": _TEXT, "seed": pa.int64(), "json": _TEXT})


def read_scenarios(run: Path | str, ids: Collection[str] | None = None) -> list[Scenario]:
    """The run's scenarios, or those of these ids, in the order in which they were stored."""
    return list(each_scenario(run, ids))


def each_scenario(run: Path | str, ids: Collection[str] | None = None) -> Iterator[Scenario]:
    """The scenarios of `read_scenarios`, one by one."""
    path = check_run(run) / "scenarios.parquet"
    try:
        table = scenario_table(path)
        if ids is not None:
            table = table.filter(pc.is_in(table["id"], pa.array(list(ids), pa.string())))
        for text in table["json"].to_pylist():
            scenario = Scenario.model_validate_json(text)
            _ = scenario.id  # what cannot be named cannot be used
            yield scenario
        return
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        damage = f"{where}: {first['msg']}"
    except (DamagedError, ValueError) as error:
        damage = str(error)
    except OSError as error:
        damage = str(error.strerror)
    raise UsageError(f"{path} is damaged ({damage[:200]}): run the study again")


def scenario_table(path: Path) -> pa.Table:
    table = read_table(path) if path.exists() else SCENARIOS.empty_table()
    if not table.schema.equals(SCENARIOS):
        raise DamagedError(f"its columns are {', '.join(table.column_names)}")
    return table
