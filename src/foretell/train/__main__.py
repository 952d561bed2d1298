"""`python -m foretell.train`: make policies of the zoo, measure them, write what was measured on their cards.

NAME --task TASK   one policy            all             every policy of every task
cards RUN...       success, from runs of studies/zoo.yaml, zoo_vision.yaml, zoo_part.yaml and zoo_simpler*.yaml
latency            inference time of every policy, on this machine, left alone meanwhile
page               the table in docs/zoo.md, from the cards
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from foretell.errors import UsageError, suggest
from foretell.zoo.card import MODELS


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m foretell.train", description=__doc__, formatter_class=_Plain)
    parser.add_argument("what", help="a policy's name, or one of all, cards, latency, page")
    parser.add_argument("runs", nargs="*", type=Path, help="run folders, for cards")
    parser.add_argument("--task", help="only this task")
    parser.add_argument("--seed", type=int, help="of demonstrations and training; the recipe's where not given")
    parser.add_argument("--out", type=Path, default=MODELS, help="where models and cards go (the package itself)")
    parser.add_argument("--data", type=Path, default=Path("runs/zoo-data"), help="where demonstrations are kept")
    parser.add_argument("--calls", type=int, default=200, help="inferences to time, for latency")
    options = parser.parse_args(arguments)
    if options.what in ("cards", "latency", "page"):
        from foretell.train import measured

        if options.what == "cards":
            measured.write_success(options.runs, options.out)
        elif options.what == "latency":
            measured.write_latency(options.out, options.calls, options.task)
        else:
            measured.write_page(options.out)
        return
    if importlib.util.find_spec("torch") is None:
        raise UsageError("training needs torch: pip install 'foretell[train]'")
    from foretell.train.driving_make import DRIVING, TASK, make_driving
    from foretell.train.make import make
    from foretell.train.recipes import RECIPES
    from foretell.train.sight_make import make_sight
    from foretell.train.sight_recipes import SIGHT

    driving = {(name, TASK): recipe for name, recipe in DRIVING.items()}
    seeds = {key: recipe.seed for key, recipe in (RECIPES | SIGHT | driving).items()}
    names = {name for name, _ in seeds}
    if options.what != "all" and options.what not in names:
        raise UsageError(f"train: {options.what!r} is not known; {suggest(options.what, [*names, 'all'])}")
    chosen = [(n, t) for n, t in seeds if options.what in ("all", n) and options.task in (None, t)]
    if not chosen:
        tasks = [t for n, t in seeds if n == options.what]
        raise UsageError(f"train: {options.what!r} has no recipe for task {options.task!r}; it has {', '.join(tasks)}")
    for name, task in chosen:
        if options.task is None and (name, task) in SIGHT and task != SIGHT[name, task].tasks[0]:
            continue  # it shares the file of another task
        print(f"{name} on {task}", flush=True)
        seed = seeds[name, task] if options.seed is None else options.seed
        key = name, task
        maker = make_driving if key in driving else make_sight if key in SIGHT else make
        card = maker(name, task, seed, options.out, options.data)
        print(f"  {card.bytes / 1000:.0f} kB in {card.minutes} minutes", flush=True)


class _Plain(argparse.RawDescriptionHelpFormatter):
    pass


if __name__ == "__main__":
    try:
        main()
    except UsageError as error:
        sys.exit(f"foretell.train: {error}")
