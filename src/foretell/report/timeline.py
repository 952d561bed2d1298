"""When an episode looked, thought, acted and waited: a trace for Perfetto, a picture, and the figures that sum it up.

A study keeps events with `record: {events: N}`, as Parquet under `events/` of its run folder. Times are simulated.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from statistics import mean, median
from typing import Any

from foretell.clock import label
from foretell.counting import counted
from foretell.errors import ForetellError, UsageError
from foretell.files import require_writable
from foretell.notebook import Displayed

__all__ = ["Timeline", "timeline"]

COLUMNS = ("kind", "sim_s", "until_s", "wall_s", "inference", "action", "value")
TRACKS = {
    "frame": "frames",
    "look": "observations",
    "think": "inference",
    "chunk": "actions",
    "action": "actions",
    "hold": "actions",
    "starve": "starvation",
    "seam": "seams",
}
"""Kind of event -> its track."""
MEANING = {"action": "age_of_observation_s", "chunk": "first_action_used", "seam": "jump", "frame": "camera"}
"""Kind of event -> what its value is."""
TOUCH = 1e-9
"""Intervals that overlap by less, in seconds, only touch."""
Event = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Timeline(Displayed):
    """The events of one episode, summed up; times in simulated seconds, None where there is nothing to sum up."""

    episode: str
    about: str
    """Task, policy, clock and outcome."""
    sim_s: float
    inferences: int
    """Those that ended; under `sync`, where thinking takes no time, observations."""
    latency_median_s: float | None
    latency_max_s: float | None
    actions: int
    observation_age_mean_s: float | None
    """Age of what an action answers to, when it begins."""
    observation_age_max_s: float | None
    starvation_s: float
    """Time without a fresh action."""
    starvation_share: float
    seams: int
    """How often a new plan took over."""
    seam_max: float | None
    """Largest jump from the action replaced, in action units."""
    holds: int
    """How often the last action was issued again."""
    frames: int
    frame_delay_median_s: float | None
    """From capture to delivery."""
    frame_delay_max_s: float | None
    out: Path | None = None
    events: list[Event] = field(default_factory=list, repr=False)
    """One per row of the file, in order of time."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, without the events."""
        return {**{k: v for k, v in vars(self).items() if k != "events"}, "out": str(self.out) if self.out else None}

    def text(self) -> str:
        """The answer as text."""
        lines = [f"episode {self.episode}: {self.about}, {self.sim_s:.2f} s"]
        lines.append(
            f"{self.inferences} inferences{_spread(': median {} ms', self.latency_median_s, self.latency_max_s)}"
        )
        age = _spread(" on observations {} ms old", self.observation_age_mean_s, self.observation_age_max_s)
        lines.append(f"{counted(self.actions, 'action')}{age}")
        lines.append(f"{self.starvation_share:.0%} of the time without a fresh action ({self.starvation_s:.2f} s)")
        largest = "" if self.seam_max is None else f", the largest a jump of {self.seam_max:.3g} in action units"
        lines.append(f"{self.seams} seams{largest}")
        if self.holds:
            lines.append(f"the last action was issued again {'once' if self.holds == 1 else f'{self.holds:,} times'}")
        if self.frames:
            delay = _spread(" delivered after {} ms", self.frame_delay_median_s, self.frame_delay_max_s)
            lines.append(f"{self.frames} frames{delay}")
        return "\n".join([*lines, *([f"written: {self.out}"] if self.out else [])])


def _spread(words: str, middle: float | None, most: float | None) -> str:
    """The usual time in words, and the longest; nothing where there is none."""
    if middle is None or most is None:
        return ""
    return f"{words.format(f'{1000 * middle:.3g}')}, at most {1000 * most:.3g} ms"


def timeline(
    run: str | Path,
    episode: str,
    out: str | Path | None = None,
    *,
    start: float = 0.0,
    stop: float | None = None,
) -> Timeline:
    """Read the events of an episode of a run folder. `episode` is its key, or the first characters of its key.

    `out`: FILE.json is a trace for https://ui.perfetto.dev or chrome://tracing, FILE.svg a picture. `start` and `stop`,
    in simulated seconds, choose a part of the episode for the picture.
    """
    from foretell.study.replay import find_episode

    if start < 0 or (stop is not None and stop <= start):
        raise UsageError(f"start is {start:g} and stop is {stop}: start must be 0 or more, and stop above it")
    path = None if out is None else _checked(Path(out))
    row = find_episode(Path(run), episode)
    events = _read(Path(run), row["episode"])
    length = max([float(row["sim_s"] or 0.0), *(e["until_s"] or e["sim_s"] for e in events)])
    if start >= length:
        raise UsageError(f"start is {start:g}, but episode {row['episode']} lasts {length:g} s")
    outcome = {True: "success", False: "failure", None: "not judged"}[row["success"]]
    about = f"{row['task']}, {row['policy']}, {label(row['clock'])}, {outcome}"
    summary = _summary(row["episode"], about, length, events, path)
    if path is not None:
        require_writable(path, "out")
        draw = path.suffix.lower() == ".svg"
        text = _picture(summary, start, stop or length) if draw else json.dumps(_trace(summary), allow_nan=False)
        path.write_text(text, encoding="utf-8")
    return summary


def _checked(path: Path) -> Path:
    if path.suffix.lower() not in (".json", ".svg"):
        hint = "; a browser shows an SVG and can save it as PNG" if path.suffix.lower() == ".png" else ""
        raise UsageError(f"out: {path} should end in .json (a trace for Perfetto) or .svg (a picture){hint}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"out: cannot write {path}: {error.strerror}") from None
    return path


def _read(run: Path, episode: str) -> list[Event]:
    from foretell.episodes.parts import DamagedError, read_parquet

    path = run / "events" / f"{episode}.parquet"
    if path.parent != run / "events" or not os.path.exists(path):
        others = sorted(p.stem for p in path.parent.glob("*.parquet"))
        others_there = f"; there are events of {counted(len(others), 'other')}, such as {others[0]}" if others else ""
        how = "`record: {events: N}` in a study keeps those of its first N scenarios of each task and policy"
        raise UsageError(f"{run} has no events of episode {episode}{others_there}. {how}")
    try:
        table = read_parquet(path, list(COLUMNS)).select(list(COLUMNS))
    except (DamagedError, OSError, ValueError, KeyError) as error:
        raise ForetellError(f"{path} is damaged: {' '.join(str(error).split())[:200]}") from None
    events: list[Event] = [e for e in table.to_pylist() if e["sim_s"] is not None]
    if not events:
        raise UsageError(f"{path} has no events: the episode ended before anything happened")
    return sorted(events, key=lambda e: e["sim_s"])


def _summary(episode: str, about: str, length: float, events: list[Event], out: Path | None) -> Timeline:
    def of(kind: str) -> list[Event]:
        return [e for e in events if e["kind"] == kind]

    def lasted(kind: str) -> list[float]:
        return [e["until_s"] - e["sim_s"] for e in of(kind) if e["until_s"] is not None]

    def values(kind: str) -> list[float]:
        return [e["value"] for e in of(kind) if e["value"] is not None]

    arrived = {e["inference"] for e in of("chunk")}  # an inference that the end cut short says nothing of latency
    thought = [e for e in of("think") if e["until_s"] is not None]
    thought = [e for e in thought if e["until_s"] < length - TOUCH or e["inference"] in arrived]
    latency = [e["until_s"] - e["sim_s"] for e in thought]
    ages, jumps, delays, starved = values("action"), values("seam"), lasted("frame"), sum(lasted("starve"))
    return Timeline(
        episode=episode,
        about=about,
        sim_s=length,
        inferences=len(latency) if of("think") else len(of("look")),
        latency_median_s=median(latency) if latency else None,
        latency_max_s=max(latency, default=None),
        actions=len(of("action")),
        observation_age_mean_s=mean(ages) if ages else None,
        observation_age_max_s=max(ages, default=None),
        starvation_s=starved,
        starvation_share=starved / length if length else 0.0,
        seams=len(of("seam")),
        seam_max=max(jumps, default=None),
        holds=len(of("hold")),
        frames=len(of("frame")),
        frame_delay_median_s=median(delays) if delays else None,
        frame_delay_max_s=max(delays, default=None),
        out=out,
        events=events,
    )


def _lanes(events: Sequence[Event], length: float) -> list[list[Event]]:
    """Intervals put side by side so that none overlaps another in its lane; as few lanes as will do."""
    lanes: list[list[Event]] = []
    free: list[float] = []
    for event in events:
        end = length if event["until_s"] is None else event["until_s"]
        lane = next((i for i, at in enumerate(free) if event["sim_s"] >= at - TOUCH), len(lanes))
        if lane == len(lanes):
            lanes.append([])
            free.append(0.0)
        lanes[lane].append(event)
        free[lane] = end
    return lanes


def _tracks(timeline: Timeline) -> list[tuple[str, list[Event], list[Event]]]:
    """(name, intervals, instants) from top to bottom; a track whose intervals overlap is several."""
    made = []
    for name in dict.fromkeys(TRACKS.values()):
        mine = [e for e in timeline.events if TRACKS.get(e["kind"]) == name]
        spans = [e for e in mine if e["until_s"] is not None or e["kind"] == "think"]
        lanes = _lanes(spans, timeline.sim_s) or [[]]
        instants = [e for e in mine if e["until_s"] is None and e["kind"] != "think"]
        if not mine and name == "frames":
            continue  # no camera: no empty track for it
        for i, lane in enumerate(lanes):
            made.append((name if i == 0 else f"{name} {i + 1}", lane, instants if i == 0 else []))
    return made


def _title(event: Event) -> str:
    number = event["inference"]
    if event["kind"] == "action" and number is not None:
        return f"action {number}.{event['action']}"
    if event["kind"] == "frame" and event["value"] is not None:
        return f"frame of camera {event['value']:g}"
    return event["kind"] if number is None else f"{event['kind']} {number}"


PROCESS = 100
"""Its number in a trace; not that of a track, which would be shown as its main thread."""


def _trace(timeline: Timeline) -> dict[str, Any]:
    """Chrome's trace format, which Perfetto reads: microseconds, one thread per track."""
    rows: list[dict[str, Any]] = [_named("process_name", 0, name=f"{timeline.episode}: {timeline.about}")]
    for tid, (name, spans, instants) in enumerate(_tracks(timeline), start=1):
        rows += [_named("thread_name", tid, name=name), _named("thread_sort_index", tid, sort_index=tid)]
        marked = [(e, True) for e in spans] + [(e, False) for e in instants]
        for event, lasts in sorted(marked, key=lambda pair: pair[0]["sim_s"]):
            given = {k: event[k] for k in ("inference", "action", "wall_s")}
            given[MEANING.get(event["kind"], "value")] = event["value"]
            row = {
                "name": _title(event),
                "cat": event["kind"],
                "pid": PROCESS,
                "tid": tid,
                "ts": _micro(event["sim_s"]),
            }
            if lasts:
                end = timeline.sim_s if event["until_s"] is None else event["until_s"]
                row |= {"ph": "X", "dur": round(_micro(end) - row["ts"], 3)}
            else:
                row |= {"ph": "i", "s": "t"}
            rows.append({**row, "args": {k: v for k, v in given.items() if v is not None}})
    return {"traceEvents": rows, "displayTimeUnit": "ms", "otherData": timeline.to_dict()}


def _micro(seconds: float) -> float:
    return round(1e6 * seconds, 3)


def _named(what: str, tid: int, **args: Any) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": PROCESS, "tid": tid, "ts": 0, "args": args}


WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 1200, 110, 20, 64, 34, 20
"""Pixels of the picture."""
SHADES = ("#4c78a8", "#f2a23a", "#54a24b", "#b279a2", "#72b7b2", "#9d755d")
"""An inference and its actions have the same colour."""
FIXED = {"starve": "#d62728", "seam": "#d62728", "frame": "#999999"}


def _picture(timeline: Timeline, start: float, stop: float) -> str:
    """An SVG: tracks from top to bottom, time from left to right."""
    tracks = _tracks(timeline)
    height = TOP + ROW * len(tracks) + 36
    scale = (WIDTH - LEFT - RIGHT) / (stop - start)

    def x(seconds: float) -> float:
        return round(LEFT + (min(max(seconds, start), stop) - start) * scale, 2)

    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">']
    parts.append(f'<rect width="{WIDTH}" height="{height}" fill="white"/>')
    parts.append(f'<text x="12" y="22" font-size="15">{escape(timeline.about)}</text>')
    parts.append(f'<text x="12" y="42" fill="#555">{escape(_caption(timeline))}</text>')
    bottom = TOP + ROW * len(tracks)
    for at in _ticks(start, stop):
        parts.append(f'<line x1="{x(at)}" y1="{TOP}" x2="{x(at)}" y2="{bottom}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x(at)}" y="{bottom + 18}" text-anchor="middle" fill="#555">{at:g} s</text>')
    most = timeline.seam_max or 1.0
    for i, (name, spans, instants) in enumerate(tracks):
        y = TOP + ROW * i + (ROW - BAR) / 2
        parts.append(f'<text x="{LEFT - 10}" y="{y + BAR / 2 + 4}" text-anchor="end">{name}</text>')
        for event in spans:
            end = timeline.sim_s if event["until_s"] is None else event["until_s"]
            if end >= start and event["sim_s"] <= stop:
                wide = max(round(x(end) - x(event["sim_s"]) - 1.0, 2), 0.6)
                box = f'x="{x(event["sim_s"])}" y="{y}" width="{wide}" height="{BAR}"'
                parts.append(f'<rect {box} fill="{_colour(event)}">{_tip(event)}</rect>')
        for event in instants:
            if start <= event["sim_s"] <= stop:
                parts.append(_mark(event, x(event["sim_s"]), y, most))
    parts.append(f'<line x1="{LEFT}" y1="{bottom}" x2="{WIDTH - RIGHT}" y2="{bottom}" stroke="#888"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _caption(timeline: Timeline) -> str:
    parts = [f"episode {timeline.episode}", f"{timeline.inferences} inferences"]
    if timeline.latency_median_s is not None:
        parts.append(f"median {1000 * timeline.latency_median_s:.3g} ms")
    return ", ".join([*parts, f"{timeline.starvation_share:.0%} of the time without a fresh action"])


def _colour(event: Event) -> str:
    number = event["inference"]
    return FIXED.get(event["kind"]) or SHADES[(number or 0) % len(SHADES)]


def _tip(event: Event) -> str:
    """What a browser shows under the pointer."""
    text = f"{_title(event)}: {event['sim_s']:.3f} s"
    if event["until_s"] is not None:
        text += f" to {event['until_s']:.3f} s"
    if event["value"] is not None and event["kind"] in MEANING:
        text += f", {MEANING[event['kind']].replace('_', ' ')} {event['value']:.3g}"
    return f"<title>{escape(text)}</title>"


def _mark(event: Event, x: float, y: float, most: float) -> str:
    """An instant: a stroke; of a seam as tall as its jump, of a chunk a triangle that points to where it arrives."""
    top, bottom, colour = y, y + BAR, _colour(event)
    if event["kind"] == "chunk":
        points = f"{x},{top} {round(x - 3.5, 2)},{top - 6} {round(x + 3.5, 2)},{top - 6}"
        return f'<polygon points="{points}" fill="{colour}">{_tip(event)}</polygon>'
    if event["kind"] == "seam" and event["value"] is not None:
        top = round(bottom - max(BAR * event["value"] / most, 1.5), 2)
    if event["kind"] == "hold":
        top, bottom = bottom + 1, bottom + 5
    line = f'x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"'
    return f'<line {line} stroke="{colour}" stroke-width="1.6">{_tip(event)}</line>'


def _ticks(start: float, stop: float) -> list[float]:
    """About ten round numbers."""
    rough = (stop - start) / 10
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    first = -(-start // step)
    return [round((first + i) * step, 9) for i in range(int((stop - first * step) / step + TOUCH) + 1)]
