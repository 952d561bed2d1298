"""Cards as a page to print: of each scenario a drawing from above, where to put what, and boxes to tick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.person.drawing import STYLE, Box, bounds, close_up, overview
from foretell.reality.cards import frames
from foretell.scenario import Scenario
from foretell.tasks.frame import describe

__all__ = ["write_page"]

CSS = """
@page{size:A4;margin:12mm}
*{box-sizing:border-box}
body{font:12px/1.4 system-ui,-apple-system,"Segoe UI",sans-serif;color:#222}
body{max-width:186mm;margin:8mm auto;padding:0 2mm}
h1{font-size:18px;margin:0 0 2mm}
.about{margin:0 0 1.5mm}
.card{border:1px solid #999;border-radius:2mm;padding:3mm 4mm;margin:0 0 3mm;break-inside:avoid}
.card header{display:flex;gap:4mm;align-items:baseline}
.card header{border-bottom:1px solid #ddd;padding-bottom:1mm;margin-bottom:2mm}
.card header b{font-size:15px}.card header code{margin-left:auto;color:#555;font-size:11px}
.pictures{display:flex;gap:6mm;align-items:center;justify-content:space-around}
table{border-collapse:collapse;width:100%;margin:0 0 1mm;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.6mm 1.5mm;border-bottom:1px solid #e3e3e3;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
th{font-weight:600;color:#555;font-size:10.5px}
td.base{color:#0b5394;font-weight:600}
ul{margin:0 0 2mm;padding-left:4.5mm}
.form{display:flex;gap:5mm;align-items:flex-end;margin-top:1mm;color:#555}
.form .line{border-bottom:1px solid #888;display:inline-block;height:5mm;vertical-align:bottom}
.box{display:inline-block;width:3.6mm;height:3.6mm;border:1px solid #555;vertical-align:-.6mm;margin:0 1mm 0 2mm}
@media print{body{margin:0;max-width:none;padding:0}.screen{display:none}}
"""


def write_page(path: str | Path, run: str | Path, cards: Iterable[Mapping[str, Any]]) -> None:
    """Write the cards that `cards` found as one HTML page that prints on A4. It needs no other file."""
    try:
        Path(path).write_text(page(run, list(cards)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"html: cannot write {path}: {error.strerror}") from None


def page(run: str | Path, cards: list[Mapping[str, Any]]) -> str:
    """The page as text. Names come from files, so they are escaped."""
    known = {s.id: s for s in read_scenarios(run)}
    about = frames(run)
    tasks = list(dict.fromkeys(card["task"] for card in cards))
    shown = {t: bounds([known[c["id"]] for c in cards if c["task"] == t], about[t]) for t in tasks if t in about}
    title = f"Cards of {Path(run).name}"
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [_about(t, about[t], many=len(tasks) > 1) for t in tasks if t in about]
    drawn = cards and cards[0]["design"] == "iid"
    order = "These scenarios were drawn at random: try them in this order and leave none out." if drawn else ""
    blue = (
        "Blue numbers are from the robot's base, black ones in the task frame. Drawings show the table from above, the "
        "robot at the bottom. Turned is anticlockwise; the line from an object's middle shows it."
        if shown
        else ""
    )
    parts.append(f'<p class="about">{order} {blue}</p>')
    for number, card in enumerate(cards, start=1):
        scenario, task = known[card["id"]], card["task"]
        parts.append(_card(number, len(cards), card, scenario, about.get(task), shown.get(task)))
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{CSS}{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _about(task: str, frame: Mapping[str, Any], many: bool) -> str:
    place = describe(frame)
    text = f"<b>{escape(task)}.</b> {escape(place)}" if many else escape(place)
    return f'<p class="about">{text}</p>' if place else ""


def _card(
    number: int,
    count: int,
    card: Mapping[str, Any],
    scenario: Scenario,
    frame: Mapping[str, Any] | None,
    inside: Box | None,
) -> str:
    head = f"<b>{number} of {count}</b> {escape(scenario.task)}: {escape(scenario.instruction or scenario.task)}"
    parts = [f"<header><span>{head}</span><code>{escape(card['id'])}</code></header>"]
    body = [_table(card["objects"]), _more(card, scenario)]
    if frame is not None and inside is not None:
        drawn = overview(scenario, frame, inside) + close_up(scenario, frame, inside)
        body.append(f'<div class="pictures">{drawn}</div>')
    parts += body
    boxes = "".join(f'<span class="box"></span>{word}' for word in ("success", "failure"))
    lines = [f'<span>policy <span class="line" style="width:38mm"></span></span><span>{boxes}</span>']
    lines.append('<span>why <span class="line" style="width:62mm"></span></span>')
    parts.append(f'<div class="form">{"".join(lines)}</div>')
    return f'<section class="card">{"".join(parts)}</section>'


def _table(objects: Iterable[Mapping[str, Any]]) -> str:
    listed = list(objects)
    based = any(thing["ahead"] is not None for thing in listed)
    columns = ["object", *(["ahead of base", "to its left"] if based else []), "x", "y", "turned", "size"]
    lines = ["".join(f"<th>{name}</th>" for name in columns)]
    for thing in listed:
        cells = [f"<td>{escape(thing['object'])}</td>"]
        if based:
            cells += [f'<td class="base">{_metres(thing[name])}</td>' for name in ("ahead", "left")]
        cells += [f"<td>{_metres(thing[name])}</td>" for name in ("x", "y")]
        cells += [f"<td>{_signed(round(thing['yaw']))}°</td>", f"<td>{_size(thing['scale'])}</td>"]
        lines.append("".join(cells))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _more(card: Mapping[str, Any], scenario: Scenario) -> str:
    """What else to do: factors, and what to print."""
    first = len(scenario.placements) + 1
    lines = [line.strip() for line in scenario.card().splitlines()[first:]]
    lines += [line.strip() for line in str(card["card"]).splitlines() if line.strip().startswith("print ")]
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def _metres(value: float | None) -> str:
    return "–" if value is None else f"{_signed(value, '.3f')} m"


def _signed(value: float, form: str = "d") -> str:
    text = format(value, "+" + form)
    return (text[1:] if float(text) == 0 else text).replace("-", "−")


def _size(scale: Iterable[float]) -> str:
    each = list(scale)
    if len({round(s, 4) for s in each}) == 1:
        return f"{each[0]:.1%}" if round(each[0], 4) != 1 else "100%"
    return " × ".join(f"{100 * s:.1f}" for s in each) + "%"
