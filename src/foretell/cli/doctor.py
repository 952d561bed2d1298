"""Say what works on this machine, and what to install.

Examples:
    foretell doctor
"""

from __future__ import annotations

import json
from typing import Annotated

import tyro

__all__ = ["main"]


def main(json_: Annotated[bool, tyro.conf.arg(name="json")] = False) -> None:
    """Try everything foretell may want of this machine. Exit code 1 if something it cannot do without is broken,
    or nothing can be written in this folder.

    Args:
        json_: Print what was found as JSON.
    """
    from foretell import doctor

    found = doctor()
    if json_:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        wide = max(len(line.name) for line in found.lines)
        first = max(7, *(len(line.status) for line in found.lines))
        for line in found.lines:
            print(f"{line.status:<{first}}  {line.name:<{wide}}  {line.detail}")
            if line.fix and line.status != "ok":
                print(f"{'':<{first}}  {'':<{wide}}  -> {line.fix}")
        print(found.verdict)
    if not found.ok:
        raise SystemExit(1)
