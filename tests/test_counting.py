"""One of a thing has no plural."""

from foretell.counting import counted


def test_a_number_and_its_noun() -> None:
    assert [counted(n, "trial") for n in (0, 1, 2, 1234)] == ["0 trials", "1 trial", "2 trials", "1,234 trials"]
    assert counted(1, "policy", "policies") == "1 policy" and counted(3, "line is", "lines are") == "3 lines are"
