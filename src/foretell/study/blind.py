"""Blind studies: codes are drawn before the first episode, and names come back when all episodes are in.

What readers see meanwhile is in `episodes.blind`. Here is what a run writes into its provenance: the codes, when the
study was closed, or who unblinded it before and after how many trials. Of a study in reality the provenance also has
the drawn order, the number of trials that is planned, and every sitting: a stretch in which somebody ran trials.
"""

from __future__ import annotations

import getpass
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foretell.episodes.blind import Mask, coded, salted
from foretell.episodes.planned import is_retired, plan_table
from foretell.episodes.provenance import read_provenance
from foretell.errors import ForetellError, UsageError, traced
from foretell.study.config import Study
from foretell.study.difference import identity
from foretell.study.order import Order, in_order
from foretell.study.plan import Planned
from foretell.study.status import Run
from foretell.study.store import Store
from foretell.world_file import is_real

__all__ = ["Conduct", "begin", "check_resumed", "close", "hides", "mask_for", "order_of", "standing", "unblind"]


def order_of(study: Study) -> Order:
    """The order of a study: as it says, else `random` in reality."""
    return study.order or Order(kind="random" if is_real(study.world) else "planned")


def hides(study: Study) -> bool:
    """Whether a study is blind: as it says, else in reality, where it has several policies."""
    return study.blind if study.blind is not None else is_real(study.world) and len(study.policies) > 1


def check_resumed(study: Study, run: Path, *, add: bool, retire: bool) -> None:
    """Raises UsageError where running this study would unblind the one in the folder without saying so."""
    state = read_provenance(run).get("blind")
    if not isinstance(state, dict) or not plan_table(run).num_rows:
        return
    if add or retire:
        raise UsageError(
            f"{run} holds a blind study, and nothing is put beside it or in its place: give this study another `name` "
            "or folder (--out)"
        )
    if not state.get("closed") and not state.get("unblinded") and not hides(study):
        raise UsageError(
            f"blind: the study in {run} is blind and not closed, and this one is not blind: give --unblind to see the "
            "names early, which is recorded"
        )


def begin(study: Study, about: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    """What the provenance has of blinding; None where the study is not blind. about: the provenance so far; key: names
    the study."""
    if not hides(study):
        return None
    state, seed = about.get("blind"), order_of(study).seed
    if isinstance(state, dict) and (state.get("study"), state.get("seed")) == (key, seed):
        return {**state, "codes": coded(state["salt"], study.policies, state.get("codes"))}
    salt = secrets.token_hex(8)  # a pilot or a rehearsal of the same study must not tell its codes
    made = {"salt": salt, "codes": coded(salt, study.policies), "closed": None, "unblinded": None}
    return {**made, "study": key, "seed": seed}


def mask_for(study: Study, state: Mapping[str, Any] | None) -> Mask | None:
    """The mask under which a study runs; None where names may be shown."""
    if state is None or state["closed"] or state["unblinded"]:
        return None
    uses = {name: entry.use for name, entry in study.policies.items()}
    return Mask(salt=state["salt"], codes=state["codes"], uses=uses)


def standing(store: Store) -> tuple[int, int]:
    """Trials that are in, and those that are planned. One that is blamed on the machine is still to come."""
    plan = plan_table(store.path, masked=False)
    names = plan.filter(~is_retired(plan))["episode"].to_pylist()
    return sum(store.done.get(name, "machine") != "machine" for name in names), len(names)


def close(state: dict[str, Any], study: Study) -> list[str]:
    """Close a study: its names are shown from now on. Gives sentences on which code is which policy."""
    state["closed"], state["names"] = _now(), _names(state, study)
    return ["all trials are in, so the study is closed: " + _who_is_who(state)]


def unblind(study: Study, run: Path) -> Run:
    """Show the names before all trials are in, and write into the provenance who did so, when, and after how many
    trials. Runs nothing."""
    about = read_provenance(run)
    state = about.get("blind")
    if not isinstance(state, dict):
        raise UsageError(f"unblind: there is no blind study in {run}")
    if state.get("closed") or state.get("unblinded"):
        raise UsageError(f"unblind: the names in {run} are shown already")
    if state.get("codes", {}).keys() != coded(str(state.get("salt")), study.policies).keys():
        raise UsageError(f"unblind: the study in {run} has other policies: give the study file that it was run with")
    with Store(run) as store:
        trials, planned = standing(store)
        state["unblinded"] = {"who": _who(), "when": _now(), "trials": trials, "of": planned}
        state["names"] = _names(state, study)
        store.write_provenance({**about, "blind": state})
    note = f"unblinded after {trials} of {planned} trials, and every report will say so: {_who_is_who(state)}"
    return Run(path=run, planned=planned, ran=0, skipped=trials, left=planned - trials, notes=(note,))


class Conduct:
    """How the trials of a study are run: their order, under which codes, and in which sittings."""

    def __init__(self, study: Study, run: Path) -> None:
        self.study, self.key, self.order = study, identity(study), order_of(study)
        before = read_provenance(run)
        self.state = begin(study, before, self.key)
        self._draw = self.key if self.state is None else str(self.state["salt"])
        """What the order is drawn with: nobody can tell that of a blind study from another run of it."""
        self.mask = mask_for(study, self.state)
        self.hush = None if self.mask is None else os.devnull
        """Where policies print while they are looked at, before there is a run folder."""
        earlier = before.get("sittings")
        self._sittings: list[Any] = earlier if isinstance(earlier, list) else []
        self._began = _now()

    def in_order(self, episodes: Sequence[Planned]) -> list[Planned]:
        """The episodes in the order in which they start."""
        return in_order(episodes, self.study, self.order, self._draw)

    def prints(self, store: Store) -> str | None:
        """The file into which policies print in a blind study."""
        if self.mask is None:
            return None
        (store.path / "errors").mkdir(exist_ok=True)
        return str(store.path / "errors" / "prints.txt")

    @contextmanager
    def recorded(self, store: Store, about: Mapping[str, Any]) -> Iterator[list[str]]:
        """Keep in the provenance what is done while this is open; about: what else is in it. Closes a blind study when
        all trials are in, and adds sentences on that to the list. Errors do not name policies before."""
        notes: list[str] = []
        self._write(store, about)
        how = "error"
        try:
            yield notes
            trials, planned = standing(store)
            how = "complete" if trials == planned else "unfinished"
            if self.mask is not None and self.state is not None and trials == planned:
                notes += close(self.state, self.study)
        except KeyboardInterrupt:
            how = "stopped"
            raise
        except ForetellError as error:
            if self.mask is None:
                raise
            raise type(error)(self.mask.words(str(error))) from None
        except Exception as error:
            if self.mask is None:
                raise
            kept = store.write_error("error", traced(error))
            raise ForetellError(f"an error ended the study; to keep it blind, the traceback is in {kept}") from None
        finally:
            self._write(store, about, how)

    def _write(self, store: Store, about: Mapping[str, Any], how: str | None = None) -> None:
        """how: in a word, how the sitting ended; None where it begins. So a process that is killed leaves a sitting
        without an end."""
        more: dict[str, Any] = {}
        if self.order.kind != "planned":
            more["order"] = self.order.recorded(self._draw)
        if self.state is not None:
            more["blind"] = self.state
        if is_real(self.study.world):
            trials, planned = standing(store) if how else (None, None)
            ended = {"ended": how and _now(), "how": how, "trials": trials, "of": planned}
            more["sittings"] = [*self._sittings, {"began": self._began, **ended}]
            more["until"] = about.get("until")  # none: the number of trials is fixed
        if more or how is None:
            store.write_provenance({**about, **more})


def _names(state: Mapping[str, Any], study: Study) -> dict[str, str]:
    """Code -> name."""
    return dict(sorted((state["codes"][salted(state["salt"], name)], name) for name in study.policies))


def _who_is_who(state: Mapping[str, Any]) -> str:
    return ", ".join(f"{code} is {name}" for code, name in state["names"].items())


def _who() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in this container
        return "somebody"


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %z")
