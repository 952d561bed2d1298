"""Policies by name, and policies bound to the task they are to run."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.adapters import Adapter, adapt, chain, unwrapped
from foretell.errors import ConventionError, ForetellError, UsageError, raised, suggest
from foretell.fingerprint.fingerprint import Fingerprint, fingerprint_of
from foretell.fingerprint.loaded import loading, named, remember
from foretell.fingerprint.source import own_classes, source_hash
from foretell.policy import PolicySpec, fingerprint, observed
from foretell.registry import names, resolve
from foretell.spec import compare
from foretell.world import World

__all__ = ["BoundPolicy", "bind", "construct", "covers", "make_policy"]

_BEFORE: dict[tuple[Any, str], set[Path]] = {}
"""Class and options -> files it has opened: a loader may keep what it has read, and not open it a second time."""


def make_policy(use: str, options: Mapping[str, Any] | None = None, *, alone: bool = False) -> Any:
    """The policy of a name (`expert`), of a name with a path (`onnx:model.onnx`), or of "package.module:Class".

    `alone`: it will drive one robot, so one that takes a `batch` is given 1, unless options say otherwise. The option
    `adapt` puts it inside adapters (see `foretell.adapters`)."""
    options = dict(options or {})
    if (by := options.pop("adapt", None)) is not None:
        return adapt(make_policy(use, options, alone=alone), by)
    kind, _, path = use.partition(":")
    if use.endswith(".onnx") and not path:
        raise UsageError(f"policies: {use!r:.200} is a file: write onnx:{use[:200]}")
    known_kind = bool(path) and kind in names("policies")
    cls, arguments = resolve("policies", kind if known_kind else use), (path,) if known_kind else ()
    try:
        signature = inspect.signature(cls)
        if alone and "batch" in signature.parameters:
            options.setdefault("batch", 1)
        signature.bind(*arguments, **options)
    except TypeError as error:
        taken = list(signature.parameters)[: len(arguments)]  # the path, which stands in the name
        own = [p for p in signature.parameters if p not in ("args", "kwargs", *taken)]
        known = dict.fromkeys([*own, "execute", "adapt"])
        wrong = next((o for o in options if o not in known), "")
        raise UsageError(f"policies: {use}: {error}; {suggest(wrong, known)}") from None
    except ValueError:  # a class without a signature, such as one written in C
        pass
    try:
        return construct(cls, arguments, options)
    except ForetellError:
        raise
    except Exception as error:
        raise UsageError(f"policies: {use} could not be made: {raised(error)}") from error


def construct(cls: Any, arguments: Sequence[Any] = (), options: Mapping[str, Any] | None = None) -> Any:
    """Call a policy's class, and remember which files it opens: they are part of what it is known by."""
    options = dict(options or {})
    with loading() as opened:
        policy = cls(*arguments, **options)
    before = _BEFORE.setdefault((cls, repr((arguments, sorted(options.items())))), set())
    before |= opened | named([*arguments, options])
    remember(policy, before)
    return policy


class BoundPolicy:
    """A policy made ready for one world: its spec is checked, its hash and options are known."""

    def __init__(self, policy: Any, spec: PolicySpec, hash: str, options: dict[str, Any]):
        self.policy, self.spec, self.hash, self.options = policy, spec, hash, options

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        own = getattr(self.policy, "reset", None)
        if own is not None:
            own(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Any:
        return self.policy.act(slots, observations)


def bind(policy: Any, world: World, who: str, execute: int | None = None, options: Any = None) -> BoundPolicy:
    """Bind a policy to a world and check, before the first episode, that the two understand each other."""
    who = f"policy {who!r}"
    if not callable(getattr(policy, "act", None)):
        raise UsageError(f"{who}: {type(policy).__name__} has no method `act`; see docs/policies.md")
    spec = _bound_spec(policy, world, who)
    if execute is not None:
        spec = dataclasses.replace(spec, execute=execute)
    spec.validate(who)
    compare(spec.action, world.action, who)
    _check_reads(policy, spec, world, who)
    chosen = dict(options or {}) | ({"execute": execute} if execute is not None else {})
    if adapters := [{Path(adapter.entry or adapter.name).name: adapter.options} for adapter in chain(policy)]:
        chosen["adapt"] = adapters[::-1]
    return BoundPolicy(policy, spec, _hash(policy), chosen)


def _bound_spec(policy: Any, world: World, who: str) -> PolicySpec:
    """The spec of a policy, after its own `bind`."""
    own = getattr(policy, "bind", None)
    try:
        if own is not None:
            with loading() as opened:
                own(world.task, world.action)
            remember(unwrapped(policy), opened)
        spec = getattr(policy, "spec", None)
    except ForetellError:
        raise
    except Exception as error:
        raise UsageError(f"{who}: bind raised {raised(error)}") from error
    if not isinstance(spec, PolicySpec):
        raise UsageError(f"{who}: `spec` is {type(spec).__name__}, it should be a foretell.PolicySpec")
    return spec


def _check_reads(policy: Any, spec: PolicySpec, world: World, who: str) -> None:
    """Inform the policy of the streams that it reads. Raises UsageError where the world does not have one, or not in
    that shape."""
    reads, known = observed(spec.reads), world.features
    for name in reads:
        if name not in known:
            # a near name helps only where it is of the same robot or object: a can is no misspelt cube
            owner = name.rpartition("/")[0]
            same = [k for k in known if k.rpartition("/")[0] == owner]
            hint = suggest(name, same) if same else "it has " + ", ".join(sorted(known))
            raise ConventionError(
                f"{who}: it reads {name!r}, which task {world.task.name!r} does not have; {hint}", "stream"
            )
    if (inform := getattr(policy, "inform", None)) is not None:
        try:
            inform({name: known[name] for name in reads})
        except ForetellError:
            raise
        except Exception as error:
            raise UsageError(f"{who}: inform raised {raised(error)}") from error
    for name, stream in reads.items():
        feature = known[name]
        if not feature.accepts(stream.shape):
            should = f"it should be {feature.expected}" if feature.image else f"the world has {feature.expected}"
            code = "image-size" if feature.image else "stream-shape"
            raise ConventionError(f"{who}: stream {name!r}: shape is {stream.shape}, {should}", code)


def covers(policy: Any) -> Fingerprint | None:
    """What a policy's hash covers besides its own `fingerprint`; None where that says it all, as foretell's own do."""
    policy = unwrapped(policy)
    heirs = _heirs(policy)
    return fingerprint_of(policy, heirs) if any(cls in own_classes(type(policy)) for cls in heirs) else None


def _heirs(policy: Any) -> list[type]:
    """Every class that inherited `fingerprint`: its author could not know what subclasses change."""
    return list(itertools.takewhile(lambda cls: "fingerprint" not in vars(cls), type(policy).__mro__[:-1]))


def _hash(policy: Any) -> str:
    """The policy's fingerprint, the source of the classes that inherited it, and what they import and load. That of an
    adapted policy is made of the policy's and its adapters'."""
    if isinstance(policy, Adapter):
        adapter = [fingerprint(policy), *map(source_hash, own_classes(type(policy)))]
        return hashlib.sha256("".join([*adapter, _hash(policy.policy)]).encode()).hexdigest()
    sources = [source_hash(cls) for cls in _heirs(policy)]
    if (covered := covers(policy)) is not None and covered.more:
        sources.append(covered.more)
    own = fingerprint(policy)
    return hashlib.sha256("".join([own, *sources]).encode()).hexdigest() if sources else own
