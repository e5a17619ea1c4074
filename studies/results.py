"""A page of tables and learning curves from saved run logs.

A folder of logs holds what `evaluate --json`, `clone` and `train` wrote, under any names, and notes
(as results/notes.md), the words that follow the tables.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from dynenvs.agents.evaluation.options import spoken
from dynenvs.agents.files import SUFFIX
from dynenvs.agents.learn.starts import FILE_KIND
from dynenvs.files import written_whole
from dynenvs.memory.layout import Floats
from dynenvs.registration import ENVIRONMENTS
from studies.aggregate import middle

Logs = list[dict[str, Any]]

COLUMNS = (
    "agent",
    "seeds",
    "score",
    "return",
    "worst episode",
    "falls of 100",
    "speed error, m/s",
    "effort",
    "slip, m",
    "torque change",
)
RUN_COLUMNS = ("agent", "steps", "minutes", "in the simulator", "run on")  # a table of their own
HEAD = """\
# Results

Written by `python -m studies.results` from the logs in `results/`; `dynenvs evaluate`, `clone` and
`train` make them.

The score is (R - R_standing) / (R_expert - R_standing), of mean returns over 100 episodes of fixed
seeds that no training begins with: 0 for standing still (the pendulum: for hanging), 1
for the expert.  Policies act deterministically.  A return is a mean, with its standard deviation
over the episodes; of several seeds the means over seeds stand here, and the least and the greatest
score in brackets; so are the lines and bands of the plots.  "Effort" is the mean square of the
actions, "slip" how far standing feet slide in an episode, "torque change" the 99th percentile from
one control step to the next, of the limits, "minutes" the wall-clock time with evaluations, "in the
simulator" the simulator's share of it, "run on" the day: what is older than today's code compares
with the expert of its own day. A row "as it ships" is an evaluation of the package's own file,
whose digest is in the log. How logs are made: [lab notes on learning](lab/learning.md).
"""
TOGETHER = """\
## All environments

The interquartile mean is that of the middle half of all runs' scores, in the environments with
their standard options; its interval (95 %) is of a bootstrap that draws seeds anew within each
environment (Agarwal et al. 2021), and is missing where one of them has a single run.

| agent | environments | runs | interquartile mean | interval |
| --- | ---: | ---: | ---: | ---: |
"""
MACHINES = """\
Each log in `results/` names its machine, its date and the load before it began.

| machine | runs | evaluations of what ships | when | load before |
| --- | ---: | ---: | --- | --- |
"""
NAMES = {
    "clone": "cloned",
    "dagger": "DAgger",
    "ppo": "PPO",
    "sac": "SAC",
}
REFERENCES = {"random": 0, "standing": 1, "expert": 2}  # and their places in a table
PANEL = (9.6, 3.6)  # [inches]


def write_page(folder: Path, page: Path) -> int:
    """Write the page and its plots; returns how many runs are in it.

    Args:
        folder: of the logs.
        page: Markdown file to write.

    Raises:
        FileNotFoundError: no folder, or no log in it.
        ValueError: a file that is no log.
        OSError: the page cannot be written.
    """
    logs = [read_log(path) for path in sorted(folder.glob("*.json"))]
    if not logs:
        raise FileNotFoundError(f"there is no log (*.json) in {str(folder)!r}")
    text = [HEAD, _together(logs)]
    places = sorted({_place(log) for log in logs}, key=lambda place: (_number(place), place))
    for place in places:
        own = [log for log in logs if _place(log) == place]
        text += [f"## {place}\n", _table(own)]
        curves = [log for log in own if log.get("curve")]
        if curves:
            stem = "-".join(re.findall(r"\w+", place.removeprefix("dynenvs/").replace("-v0", "")))
            picture = page.with_name(f"results_{stem}.png")
            _plot(picture, place, curves)
            text.append(f"![Learning curves]({picture.name})\n")
    text.append("## Machines\n")
    text.append(_machines(logs))
    notes = folder / "notes.md"
    if notes.is_file():
        text.append(notes.read_text(encoding="utf-8"))
    with written_whole(page) as draft:
        draft.write_text("\n".join(text), encoding="utf-8")
    return sum("kind" in log for log in logs)


def read_log(path: Path) -> dict[str, Any]:
    """A run's log, or an evaluation's.

    Raises:
        ValueError: the file is neither.
    """
    try:
        log: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if "agents" not in log and "final" not in log:
            raise KeyError("final")
        log["env"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is no finished run's log: {error!r}") from None
    return log


def _place(log: dict[str, Any]) -> str:
    """Where a log is from: the environment, and its options."""
    options = spoken(log.get("options") or {})
    return f"{log['env']}, {options}" if options else str(log["env"])


def _number(place: str) -> int:
    """The environment's place on the page."""
    known = list(ENVIRONMENTS)
    env_id = place.partition(",")[0]
    return known.index(env_id) if env_id in known else len(known)


def _groups(logs: Logs) -> dict[str, Logs]:
    """Runs of one kind together, whatever their seeds; the kinds in the page's order."""
    groups: dict[str, Logs] = defaultdict(list)
    for log in sorted(
        logs, key=lambda log: (bool(log.get("from")), list(NAMES).index(log["kind"]))
    ):
        groups[run_name(log)].append(log)
    return groups


def _table(logs: Logs) -> str:
    """What each agent reaches, runs of several seeds together, and how long its runs took."""
    reached: list[tuple[str, ...]] = []
    took: list[tuple[str, ...]] = []
    for log in logs:
        agents = log.get("agents", {})
        for name in sorted(agents, key=lambda name: REFERENCES.get(name, len(REFERENCES))):
            ships = "sha256" in agents[name] and not name.endswith((".zip", SUFFIX))
            title = f"`{name}`, as it ships" if ships else name
            reached.append(_reached(title, "", [agents[name]]))
    for name, runs in _groups([log for log in logs if "final" in log]).items():
        minutes = float(np.mean([run["minutes"] for run in runs]))
        last = [(run.get("curve") or run["losses"])[-1]["steps"] for run in runs]
        share = ""
        if "simulating" in runs[0]:
            parts = [run["simulating"] / run["minutes"] for run in runs]
            share = f"{100 * np.mean(parts):.0f} %"
        steps = f"{np.mean(last):,.0f}"
        dates = sorted({run["machine"]["date"][:10] for run in runs})
        when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
        finals = [run["final"] for run in runs]
        reached.append(_reached(name, str(len(runs)), finals))
        took.append((name, steps, f"{minutes:.1f}", share, when))
    tables = [_markdown(COLUMNS, reached)]
    if took:
        tables.append(_markdown(RUN_COLUMNS, took))
    return "\n".join(tables)


def _markdown(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    rule = ("---", *["---:"] * (len(columns) - 1))
    return "".join(f"| {' | '.join(row)} |\n" for row in (columns, rule, *rows))


def _together(logs: Logs) -> str:
    """One row an agent, over all environments."""
    rows = []
    for name, runs in _groups([log for log in logs if "final" in log]).items():
        scores: dict[str, list[float]] = defaultdict(list)
        for run in runs:
            if not run.get("options"):
                scores[run["env"]].append(run["final"]["score"])
        if scores:
            found = middle([np.array(own) for own in scores.values()])
            known = found.low == found.low
            span = f"{found.low:.3f} to {found.high:.3f}" if known else ""
            count = sum(map(len, scores.values()))
            rows.append(f"| {name} | {len(scores)} | {count} | {found.mean:.3f} | {span} |\n")
    return TOGETHER + "".join(rows)


def run_name(log: dict[str, Any]) -> str:
    """What learned in a run, and how."""
    name = NAMES[log["kind"]]
    if log.get("relabelled"):
        name += ", the expert's answers"
    if log.get("from"):
        name = f"{NAMES.get(log['from'], log['from'])}, then {name}"
    if starts := log.get("starts"):
        own = starts["dataset"].endswith(FILE_KIND)
        name += " with own starts" if own else " with starts"
    if log.get("curriculum"):
        name += ", by a curriculum"
    return name


def _reached(name: str, seeds: str, finals: list[dict[str, Any]]) -> tuple[str, ...]:
    def mean(key: str) -> float:
        return float(np.mean([final.get(key, np.nan) for final in finals]))

    scores = [final["score"] for final in finals]
    span = f" ({min(scores):.3f} to {max(scores):.3f})" if len(scores) > 1 else ""
    error, slip, change = mean("speed_error"), mean("slip"), mean("torque_change")
    return (
        name,
        seeds,
        f"{mean('score'):.3f}{span}",
        f"{mean('mean_return'):.1f} ± {mean('return_deviation'):.1f}",
        f"{min(final['worst_return'] for final in finals):.1f}",
        f"{mean('falls'):.0f}",
        f"{error:.3f}" if np.isfinite(error) else "",
        f"{mean('effort'):.4f}",
        f"{slip:.3f}" if np.isfinite(slip) else "",
        f"{change:.2f}" if np.isfinite(change) else "",
    )


def _machines(logs: Logs) -> str:
    """Each machine: how much ran there, and when; every log says it of its own run."""
    found: dict[str, Logs] = defaultdict(list)
    for log in logs:
        if "machine" in log:
            m = log["machine"]
            versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
            what = f"{m['processor']}, {m['cores']} cores, {m['system']}; {versions}"
            found[what].append(log)
    rows = [MACHINES]
    for what, those in found.items():
        runs = sum("kind" in log for log in those)
        dates = sorted(log["machine"]["date"] for log in those)
        loads = [log["machine"]["load"] for log in those if log["machine"].get("load") is not None]
        ends = [f"{load:.1f}" for load in (min(loads), max(loads))] if loads else ["unknown"]
        when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
        load = " to ".join(dict.fromkeys(ends))
        rows.append(f"| {what} | {runs} | {len(those) - runs} | {when} | {load} |\n")
    return "".join(rows)


def _plot(path: Path, title: str, logs: Logs) -> None:
    """Score over environment steps and over time, runs of several seeds as mean and band."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=PANEL, layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for number, (name, runs) in enumerate(_groups(logs).items()):
        for panel, key in zip(panels, ("steps", "minutes"), strict=True):
            x, scores = _curves(runs, key)
            color = f"C{number}"
            panel.plot(x, np.nanmean(scores, axis=0), color=color, label=name, marker=".")
            low, high = np.nanmin(scores, axis=0), np.nanmax(scores, axis=0)
            panel.fill_between(x, low, high, color=color, alpha=0.2)
    for panel in panels:
        panel.axhline(1.0, color="0.3", linestyle="--", label="expert")
        panel.axhline(0.0, color="0.7", linestyle=":", label="standing")
        panel.grid(alpha=0.3)
    panels[0].xaxis.set_major_formatter(EngFormatter(sep=" "))
    panels[0].set_xlabel("environment steps")
    panels[1].set_xlabel("minutes of wall-clock, evaluations included")
    panels[0].set_ylabel("score")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize="small"
    )
    figure.suptitle(fill(title, 72), fontsize="medium")
    with written_whole(path) as draft:
        figure.savefig(draft, format="png", dpi=80)


def _curves(runs: Logs, key: str) -> tuple[Floats, Floats]:
    """Where scores are known, and each run's there, shape (runs, points).

    NaN before a run's first evaluation; after its last one the last score holds.
    """
    known = [np.transpose([(p[key], p["score"]) for p in run["curve"]]) for run in runs]
    x = np.unique(np.concatenate([places for places, _ in known]))
    scores = [np.interp(x, places, own, left=np.nan) for places, own in known]
    return x, np.array(scores)


def main(arguments: list[str] | None = None) -> None:
    """Remake the page of results from saved run logs."""
    parser = argparse.ArgumentParser(prog="python -m studies.results", description=main.__doc__)
    folder, page = Path("results"), Path("docs/results.md")
    parser.add_argument("logs", nargs="?", type=Path, default=folder, help="folder of run logs")
    parser.add_argument("--page", type=Path, default=page, help="page to write, plots beside it")
    options = parser.parse_args(arguments)
    try:
        print(f"{options.page}: {write_page(options.logs, options.page)} runs")
    except (ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
