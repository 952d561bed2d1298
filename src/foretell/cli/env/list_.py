"""List the environments that foretell makes, and say which are there.

Examples:
    foretell env list
"""

from __future__ import annotations

import json

from foretell.cli._flags import Json

__all__ = ["main"]


def main(*, json_: Json = False) -> None:
    """List the environments that foretell makes. Each line says what it has, and where it is."""
    from foretell import env

    listed = env.list()
    text = "\n".join(entry.text() for entry in listed)
    print(json.dumps([entry.to_dict() for entry in listed], indent=2) if json_ else text)
