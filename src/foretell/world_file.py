"""A world file: which kind of world, with which parameters θ. Each kind has a θ of its own, and its own class of file.

class PuckFile(WorldFile):
    theta: PuckTheta = PuckTheta()

class Puck:
    File = PuckFile  # so that checks and lists can read its files

    def __init__(self, task, world, *, slots, threads, controller):
        self.file = PuckFile.load(world)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from foretell.digest import digest
from foretell.document import load_yaml, parse_yaml
from foretell.errors import ForetellError, UsageError, raised, suggest
from foretell.files import read_file
from foretell.fingerprint.fingerprint import fingerprint_of
from foretell.fingerprint.loaded import loading, remember
from foretell.fingerprint.source import own_classes
from foretell.registry import names, resolve
from foretell.scenario import Scenario
from foretell.world import World

if TYPE_CHECKING:
    from foretell.tasks.task import Task

__all__ = [
    "FITTED",
    "WorldFile",
    "asks_person",
    "attended",
    "controllers_of",
    "explain",
    "file_of",
    "films_itself",
    "is_real",
    "kind_of",
    "make_world",
    "opening_of",
    "params_of",
    "resets",
    "slots_of",
    "world_class",
    "world_hash",
]

SHOWN = 8
"""Problems that an error lists."""
SHIPPED = (
    "mujoco",
    "standin",
    "simpler_worse_1",
    "simpler_worse_2",
    "planar",
    "planar_challenge",
    "planar_standin",
)
"""World files that come with foretell."""
FITTED = ("fitted_to", "fitted_episodes")
"""Fields that name real trials, and decide no outcome."""


class WorldFile(BaseModel):
    """What every world file may say. Subclasses add θ, and whatever else decides outcomes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: str = "mujoco"
    """The world's class: a name in the registry, "package.module:Class" or "file.py:Class". A file's path is relative
    to the world file."""
    about: str = ""
    fitted_to: tuple[str, ...] = ()
    """Scenarios whose real trials θ or physics were fitted to: ids, or of a child its parent's. No answer judges this
    world by these trials. In a file, also the name of a text file beside it with one id a line."""
    fitted_episodes: tuple[str, ...] = ()
    """The real episodes themselves: ids. No answer judges this world by them, whatever their scenarios are called. In a
    file, also the name of a text file."""

    @field_validator("fitted_to", "fitted_episodes")
    @classmethod
    def _once(cls, ids: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not all(name.strip() for name in ids):
            of = "a scenario" if info.field_name == "fitted_to" else "an episode"
            raise ValueError(f"every entry should be the id of {of}, and one is blank")
        return tuple(sorted({name.strip() for name in ids}))

    @property
    def hash(self) -> str:
        """Names all that decides outcomes, and what they may be used for; the file's name and description do not."""
        return digest([*self.decides(), *(list(ids) for ids in (self.fitted_to, self.fitted_episodes) if ids)])

    def decides(self) -> list[Any]:
        """All that decides outcomes. JSON-able."""
        whole = self.model_dump(mode="json", exclude={"name", "about", *FITTED})
        # a folder may move; what is in a file of one's own is in `world_hash`
        where, colon, name = self.kind.rpartition(":")
        return [{**whole, "kind": f"{Path(where).name}:{name}"} if colon else whole]

    @property
    def params(self) -> dict[str, Any]:
        """θ and the like, as they stand in an episode's row; and what they were fitted to, if anything."""
        params = self.model_dump(mode="json", exclude={"name", "kind", "about", *FITTED})
        return params | {name: list(ids) for name in FITTED if (ids := getattr(self, name))}

    @classmethod
    def load(cls, source: str | Path | Mapping[str, Any] | WorldFile) -> Self:
        """A world by the name of a file that comes with foretell, by path, or as its contents."""
        if isinstance(source, cls):
            return source
        contents, where, folder = _contents(source)
        try:
            return cls.model_validate(contents, context={"folder": folder})
        except ValidationError as error:
            raise UsageError(explain(error, where, cls)) from None


def kind_of(source: str | Path | Mapping[str, Any] | WorldFile) -> str:
    """The kind of a world: that of its file, or the name itself."""
    if isinstance(source, WorldFile):
        return source.kind
    if isinstance(source, Mapping) or str(source).endswith((".yaml", ".yml")):
        contents, _, _ = _contents(source)
        kind = str(contents.get("kind", "mujoco"))
        where, _, name = kind.rpartition(":")
        if where.endswith(".py") and not isinstance(source, Mapping):
            return f"{Path(source).parent / where}:{name}"  # an absolute path stays as it is
        return kind
    return str(source)


def world_class(source: str | Path | Mapping[str, Any] | WorldFile) -> Any:
    """The class of a world."""
    kind = kind_of(source)
    if kind not in names("worlds") and ":" not in kind:
        raise UsageError(
            f"world: {kind!r:.200} is not known; {suggest(kind, names('worlds'))} (a world is a name, a .yaml file or "
            '"file.py:Class")'
        )
    return resolve("worlds", kind)


def asks_person(source: str | Path | Mapping[str, Any] | WorldFile) -> bool:
    """Whether a world talks to a person on the terminal, as its class declares it. No world is made to find out."""
    needs = getattr(world_class(source), "needs", ())
    return isinstance(needs, Collection) and "terminal" in needs  # a property: the session finds out


def is_real(source: str | Path | Mapping[str, Any] | WorldFile) -> bool:
    """Whether a world is reality, as its class declares it."""
    return getattr(world_class(source), "real", False) is True


def resets(source: str | Path | Mapping[str, Any] | WorldFile) -> bool:
    """Whether a world sets the table by itself, as its class declares it."""
    can = getattr(world_class(source), "can", ())
    return not isinstance(can, Collection) or "reset" in can  # a property: the session finds out


def attended(source: str | Path | Mapping[str, Any] | WorldFile) -> bool:
    """Whether there is one table, and somebody attends to it: reality, or a world that asks a person or cannot reset.
    Its episodes run one at a time, none runs twice, and nothing is tried on it."""
    return is_real(source) or asks_person(source) or not resets(source)


def films_itself(source: str | Path | Mapping[str, Any] | WorldFile) -> bool:
    """Whether a world keeps films of every trial by itself, as its class declares it. It cannot draw others."""
    return getattr(world_class(source), "films", False) is True


def slots_of(source: str | Path | Mapping[str, Any] | WorldFile, asked: int) -> int:
    """How many episodes a world holds side by side, where so many are asked for: some hold one (`one_slot`)."""
    return 1 if getattr(world_class(source), "one_slot", False) is True else asked


def opening_of(source: str | Path | Mapping[str, Any] | WorldFile) -> float:
    """Wall seconds that a world may take to be made, where its file says so (`opening`)."""
    return float(getattr(file_of(source), "opening", 0.0))


def file_of(source: str | Path | Mapping[str, Any] | WorldFile) -> WorldFile | None:
    """The file of a world, read by its class's own `File`; None where it has none."""
    reader = getattr(world_class(source), "File", None)
    file: WorldFile | None = reader.load(source) if reader is not None else None
    return file


def make_world(
    source: str | Path | Mapping[str, Any] | WorldFile,
    task: Task,
    *,
    slots: int,
    threads: int,
    controller: str | None = None,
) -> Any:
    """A world from a study's entry: a name (`mujoco`, a plug-in's), a world file, whose `kind` names its class, or
    "package.module:Class". The class is called with (task, source, slots=, threads=, controller=)."""
    cls = world_class(source)
    with loading() as opened:
        try:
            world = cls(task, source, slots=slots, threads=threads, controller=controller)
        except ForetellError:
            raise
        except Exception as error:
            if not own_classes(cls if isinstance(cls, type) else type(cls)):
                raise
            raise UsageError(f"world: {kind_of(source)} could not be made: {raised(error)}") from error
    if isinstance(source, (str, Path)):
        opened.discard(Path(source).absolute())  # what it says is in the world's own hash
    remember(world, opened)
    _check_world(world, kind_of(source))
    _check_declared(world, source)
    return world


def _check_declared(world: World, source: str | Path | Mapping[str, Any] | WorldFile) -> None:
    """Raises UsageError where a world needs a person and its class does not say so. A study is planned by the class."""
    for what, needed, declared in (
        ("real = True", world.real, is_real(source)),
        ('needs = frozenset({"terminal"})', "terminal" in world.needs, asks_person(source)),
    ):
        if needed and not declared:
            raise UsageError(
                f"world: {kind_of(source)} has `{what}` only once it is made, and a study is planned before that: "
                f"write `{what}` in the body of the class"
            )


def _check_world(world: Any, kind: str) -> None:
    """Raises UsageError where a part of the contract is missing."""
    parts = [name for name in dir(World) if not name.startswith("_")] + list(World.__annotations__)
    missing = sorted(name for name in set(parts) if not hasattr(world, name))
    if missing:
        raise UsageError(f"world: {kind} has no {', '.join(map(repr, missing))}; see foretell.world.World")


def world_hash(world: World) -> str:
    """Names a world for the key of its episodes: its own `hash`, and the source of a class of one's own, with the
    modules of yours that it imports and the files that it loads. An edited world is another world."""
    classes = own_classes(type(world))
    if not classes:
        return world.hash
    fingerprint = fingerprint_of(world, classes)
    return digest([world.hash, fingerprint.sources, fingerprint.more])


def controllers_of(world: World) -> list[object]:
    """What turns actions into motion, where a world has objects for it (`controllers`: name -> object)."""
    moving = getattr(world, "controllers", None)
    return list(moving.values()) if isinstance(moving, Mapping) else []


def params_of(params: dict[str, Any], scenario: Scenario) -> dict[str, Any]:
    """A world's parameters as they stand in a row. Of the scenarios that the world was fitted to, the row says whether
    its own is one and how many there are. The lists may be long: they are in the run's provenance."""
    short = {name: {"count": len(params[name]), "digest": digest(params[name])} for name in FITTED if name in params}
    if "fitted_to" in short:
        seen = not {scenario.id, scenario.parent}.isdisjoint(params["fitted_to"])
        short["fitted_to"] = {"seen": seen, **short["fitted_to"]}
    return params | short


def _contents(source: str | Path | Mapping[str, Any] | WorldFile) -> tuple[dict[str, Any], str, Path]:
    """What a world file holds, how errors call it, and the folder in which its paths begin."""
    contents: Any
    folder = Path()
    if isinstance(source, WorldFile):
        contents, where = source.model_dump(), source.name
    elif isinstance(source, Mapping):
        contents, where = dict(source), "world"
        folder = Path(str(contents.pop("folder", ".")))  # a study file says where it is
    elif str(source) in SHIPPED:
        text = (files("foretell") / "worlds" / f"{source}.yaml").read_text()
        contents, where = parse_yaml(text, f"world {source}"), str(source)
    elif Path(source).suffix in (".yaml", ".yml"):
        path, where = Path(source), str(source)
        folder = path.parent
        try:
            contents = load_yaml(path)
        except UsageError as error:
            raise UsageError(f"world: {error}") from None
        if isinstance(contents, dict):
            contents.setdefault("name", path.stem)
            for field in FITTED:
                if isinstance(seen := contents.get(field), str):
                    contents[field] = _listed(path.parent / seen, where, field)
    elif str(source) in names("worlds"):  # a package's
        contents, where = {"name": str(source), "kind": str(source)}, str(source)
    elif ":" in str(source):  # a class of one's own, with nothing to say
        contents, where = {"name": str(source).rpartition(":")[2].lower(), "kind": str(source)}, str(source)
    else:
        raise UsageError(
            f"world: {str(source)!r} is not known; {suggest(str(source), names('worlds'))} (a world is a name, "
            'a .yaml file or "file.py:Class")'
        )
    if not isinstance(contents, dict):
        raise UsageError(f"world: {where} should be a mapping with name, theta and physics")
    return contents, where, folder


def _listed(path: Path, where: str, field: str) -> list[str]:
    """Ids in a text file, one a line."""
    try:
        lines = read_file(path, follow=True).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        of = "scenarios" if field == "fitted_to" else "episodes"
        raise UsageError(f"{where}: {field}: cannot read the list of {of} in {path}: {why}") from None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def explain(error: ValidationError, where: str, model: type[BaseModel]) -> str:
    """A validation error as one line per problem: the field, what was expected, what was given."""
    lines = []
    problems = error.errors(include_url=False)
    for problem in problems[:SHOWN]:
        path = ".".join(_short(str(part), repr=str) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            known = _fields(model, problem["loc"][:-1])
            lines.append(f"{where}: {path} is not a field; {suggest(str(problem['loc'][-1]), known)}")
        else:
            # what was given is the whole file
            whole = not path or (problem["type"] == "missing" and len(problem["loc"]) == 1)
            reason = _short(problem["msg"].removeprefix("Value error, "), 300, repr=str)
            named = "(given: " in reason  # by a part that was checked on its own
            value = "" if whole or named else f" (given: {_short(problem.get('input'))})"
            lines.append(f"{where}: {f'{path}: ' if path else ''}{reason}{value}")
    return "\n".join([*lines, f"and {len(problems) - SHOWN} problems more"] if len(problems) > SHOWN else lines)


def _short(value: Any, most: int = 120, repr: Callable[[Any], str] = repr) -> str:
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def _fields(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """Names of the fields at a path into nested models, lists and mappings of models."""
    kind: Any = model
    for step in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            info = kind.model_fields.get(str(step))
            kind = info.annotation if info is not None else None
            if type(None) in get_args(kind):  # a model, or nothing
                kind = get_args(kind)[0]
        else:  # an item of a list or mapping: its type is the last argument
            kind = get_args(kind)[-1] if get_args(kind) else None
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []
