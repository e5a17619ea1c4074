"""The scores on an environment's page: of each policy that ships, and of the runs on record.

What ships has the figures of an evaluation of that very file: results/ENV_evaluation.json keeps
the digest of each policy, and a page is not made for another file.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from folds import folded
from safetensors import safe_open

from dynenvs.agents.evaluation.actors import digest
from dynenvs.agents.evaluation.options import spoken
from dynenvs.agents.files import shipped, shipped_file
from dynenvs.agents.names import short_name
from studies.results import NAMES, read_log, run_name

Log = dict[str, Any]


def scores(env_id: str, results: Path) -> str:
    """The section of an environment's page, from the logs in a folder.

    Raises:
        ValueError: a policy ships of which there is no evaluation.
    """
    stem = env_id.removeprefix("dynenvs/").rsplit("-v", 1)[0]
    evaluation = results / f"{stem}_evaluation.json"
    logs = [read_log(path) for path in sorted(results.glob("*.json"))]
    runs = [log for log in logs if log["env"] == env_id and "final" in log]
    standard = [log for log in runs if not log.get("options")]
    return "\n\n".join(
        ("## Agents", ships(env_id, evaluation), on_record(short_name(env_id), standard))
    )


def ships(env_id: str, evaluation: Path) -> str:
    """The policies of the package, from the evaluation of their files."""
    measured = json.loads(evaluation.read_text(encoding="utf-8"))
    words = f"dynenvs evaluate {short_name(env_id)}"
    command = f"{words} --json results/{evaluation.name}"
    rows = [
        f"What ships, by `{words}`, {measured['machine']['date'][:10]}, in 100 episodes that chose "
        "no policy. Score 0 is standing still, 1 is the expert ([all figures](../results.md)):",
        "",
        "| agent | score | falls of 100 | what it is |",
        "| --- | ---: | ---: | --- |",
    ]
    for name in ("expert", *shipped(env_id)):
        found = measured["agents"].get(name, {})
        what = "the environment's expert"
        if name != "expert":
            file = shipped_file(env_id, name)
            if found.get("sha256") != digest(file):
                raise ValueError(f"{evaluation.name} is not about {file.name}: run `{command}`")
            what = origin(file)
        rows.append(f"| `{name}` | {found['score']:.2f} | {found['falls']} | {what} |")
    return "\n".join(rows)


def origin(file: Path) -> str:
    """How a policy was made, as its file says."""
    with safe_open(file, "np") as opened:
        note = json.loads(opened.metadata()["dynenvs"])
    words = [NAMES[note.get("kind", note["algorithm"])], f"seed {note['seed']}"]
    if note["steps"]:
        words.append(f"{note['steps']:,} steps")
    if note["options"]:
        words.append(f"with {spoken(note['options'])}")
    return ", ".join(words)


def on_record(name: str, runs: list[Log]) -> str:
    """The runs of the standard environment, those of one kind in a row."""
    kinds: dict[tuple[int, str, str], list[Log]] = defaultdict(list)
    for log in runs:
        place = list(NAMES).index(log["kind"])
        kinds[place, run_name(log), made_by(log, name)].append(log)
    dates = sorted(log["machine"]["date"][:10] for log in runs)
    summary = f"Runs on record, of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}"
    rows = [
        "By the commands beside them with the settings in their logs; of several seeds the mean,",
        "the least and the greatest. Runs with other options are among the results.",
        "",
        "| agent | seeds | score | falls of 100 | made by |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for (_, kind, command), group in sorted(kinds.items()):
        values = [log["final"]["score"] for log in group]
        falls = sum(log["final"]["falls"] for log in group) / len(group)
        score = f"{sum(values) / len(values):.2f}"
        if len(values) > 1:
            score += f" ({min(values):.2f} to {max(values):.2f})"
        seeds = ", ".join(str(seed) for seed in sorted(log["seed"] for log in group))
        rows.append(f"| {kind} | {seeds} | {score} | {falls:.0f} | `{command}` |")
    return folded(summary, "\n".join(rows))


def made_by(log: Log, name: str) -> str:
    """The command of a run, but for its seed and settings."""
    if log["kind"] in ("clone", "dagger"):
        words = ["dynenvs clone", name]
        words += ["--dataset", log["dataset"]] if log.get("dataset") else []
        words += ["--relabel"] if log.get("relabelled") else []
        return " ".join(words)
    words = ["dynenvs train", log["kind"], name]
    words += ["--from", f"{log['from']}.zip"] if log["from"] else []
    if starts := log.get("starts"):
        words += ["--starts", f"{starts['dataset']}:{starts['share']:g}"]
    for option, begin in (log.get("curriculum") or {}).items():
        words += ["--curriculum", f"{option}={begin}"]
    return " ".join(words)
