"""Names of studies: letters of any script, and no way out of the folder of runs."""

from __future__ import annotations

import pytest

from foretell.errors import UsageError
from foretell.study.config import load_study
from foretell.study.name import BYTES, clean_name

STUDY = {"tasks": ["lift"], "policies": ["random"]}


@pytest.mark.parametrize("name", ["Größe", "木の机", "हिन्दी", "a.b_c-d e", "7", "ö" * 100])
def test_letters_of_any_script_are_a_name(name: str) -> None:
    assert load_study({**STUDY, "name": name}).name == name == clean_name(name)
    assert load_study({**STUDY, "name": "Gro\u0308\u00dfe"}).name == "Größe", "however it is composed"


@pytest.mark.parametrize(
    "name", ["", "..", ".x", "-x", " x", "a/b", "a\\b", "a\0b", "a\nb", "\u202ea", "x" * 101, "木" * 99]
)
def test_what_means_something_in_a_path_is_none(name: str) -> None:
    with pytest.raises(UsageError, match="name: should be up to 100 letters"):
        load_study({**STUDY, "name": name})
    clean = clean_name(name)
    assert "/" not in clean and len(clean.encode()) <= BYTES and clean_name(clean) == clean
