"""How good an agent is: episodes over fixed seeds, and its score from standing to the expert."""

from __future__ import annotations

import json
import math
import textwrap
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table

from dynenvs.agents.evaluation.actors import digest, policy_file
from dynenvs.agents.evaluation.evaluation import Evaluation
from dynenvs.agents.evaluation.here import evaluate_here
from dynenvs.agents.evaluation.options import plain_options, spoken
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.machine import describe
from dynenvs.registration import MUJOCO

FIRST_SEED = 1_000_000  # of the evaluation's episodes: no training begins there
WATCHED_SEED = 2_000_000  # of evaluations by which a run chooses its best policy

# Of the table: heading, entry of `summary`, form
COLUMNS = (
    ("score", "score", "{:.3f}"),
    ("return", "mean_return", "{:.1f}"),
    ("spread", "return_deviation", "{:.1f}"),
    ("worst", "worst_return", "{:.1f}"),
    ("steps", "mean_length", "{:.0f}"),
    ("falls", "falls", "{:.0f}"),
    ("speed\noff", "speed_error", "{:.3f}"),
    ("effort", "effort", "{:.4f}"),
    ("slip", "slip", "{:.3f}"),
    ("torque\nchange", "torque_change", "{:.2f}"),
)
NAME_WIDTH = 10  # of an agent in the table: what the figures leave of 80 columns
CAPTION = (
    "score: 0 is standing still, 1 the expert; spread: standard deviation of the return; speed "
    "off: from the command, m/s; slip: how far standing feet slide in an episode, m; torque "
    "change: 99th percentile from step to step, of the limit"
)


class References(NamedTuple):
    """Mean returns between which a score is measured."""

    standing: float = math.nan
    expert: float = math.nan

    def score(self, mean_return: float) -> float:
        """0 for one that merely stays, 1 for the expert; NaN where there is none of either."""
        return (mean_return - self.standing) / (self.expert - self.standing)


def evaluate(
    env_id: str,
    policy: Policy | str | None,
    episodes: int = 100,
    threads: int | None = None,
    *,
    first_seed: int = FIRST_SEED,
    cluster: str | None = None,
    **options: Any,
) -> Evaluation:
    """Run an agent over the seeds `first_seed`, `first_seed + 1`, ...

    Args:
        env_id: which environment.
        policy: what acts, deterministically, or its name (`actors.actor`); None acts at random.
        episodes: how many.
        threads: of the simulator.
        first_seed: of the episodes.
        cluster: address of a Ray cluster that runs them (`agents.cluster.cluster`), of an agent
            that is named; None runs them here.
        options: the environment's.

    Raises:
        ValueError: no such agent, or one of another environment; an option that there is not.
        FileNotFoundError: no such file.
    """
    seeds = range(first_seed, first_seed + episodes)
    if cluster is not None:
        from dynenvs.agents.evaluation.evaluate_on_ray import evaluate_on

        return evaluate_on(cluster, env_id, policy, seeds, options)
    return evaluate_here(env_id, policy, seeds, threads, options)


def references(
    env_id: str,
    episodes: int = 100,
    threads: int | None = None,
    *,
    first_seed: int = FIRST_SEED,
    **options: Any,
) -> References:
    """Mean returns of standing and of the expert, over the seeds of `evaluate`."""
    # Options may be lists and dictionaries, which a cache cannot look up
    plain = json.dumps(plain_options(options), sort_keys=True)
    return _references(env_id, episodes, threads, first_seed, plain)


@cache
def _references(
    env_id: str, episodes: int, threads: int | None, first_seed: int, plain: str
) -> References:
    """The same; the options as JSON."""
    options = json.loads(plain)
    standing, expert = (
        evaluate(env_id, who, episodes, threads, first_seed=first_seed, **options).mean_return
        for who in ("standing", "expert")
    )
    return References(standing, expert)


def reference_agents(env_id: str, **options: Any) -> tuple[str, ...]:
    """Which of "standing" and "expert" act in the environment with these options."""
    if env_id in MUJOCO:
        return ()
    envs = make_batch(env_id, 1, 1, **options)
    try:
        reference_controller(envs)
    except ValueError:
        return ("standing",)
    return "standing", "expert"


def as_json(
    env_id: str, results: dict[str, Evaluation], between: References, **options: Any
) -> dict[str, Any]:
    """Everything that `table` shows, and each episode's return and length; no NaN.

    Of an agent that is a file its digest, too (`actors.digest`): the figures are that file's.
    """
    files = {name: policy_file(env_id, name) for name in results}
    return {
        "env": env_id,
        **({"options": plain_options(options)} if options else {}),
        "episodes": len(next(iter(results.values())).returns),
        "first_seed": FIRST_SEED,
        "machine": describe(),
        "references": _numbers(between._asdict()),
        "agents": {
            name: {
                **({"sha256": digest(file)} if (file := files[name]) else {}),
                **_numbers({"score": between.score(result.mean_return), **summary(result)}),
                "returns": result.returns,
                "lengths": result.lengths,
            }
            for name, result in results.items()
        },
    }


def _numbers(means: dict[str, float]) -> dict[str, float]:
    """Without what is not known: JSON has no NaN."""
    return {name: value for name, value in means.items() if value == value}


def summary(result: Evaluation) -> dict[str, float]:
    """Means over the episodes, and the returns' spread."""
    return {
        "mean_return": result.mean_return,
        "return_deviation": float(np.std(result.returns)),
        "worst_return": min(result.returns),
        "mean_length": float(np.mean(result.lengths)),
        "falls": sum(result.falls),
        "speed_error": float(np.mean(result.speed_errors)),
        "effort": float(np.mean(result.efforts)),
        "slip": float(np.mean(result.slips)),
        "torque_change": float(np.mean(result.torque_changes)),
    }


def table(
    env_id: str, results: dict[str, Evaluation], between: References, **options: Any
) -> Table:
    """One row an agent, within 80 columns; a dash where there is nothing to say."""
    episodes = len(next(iter(results.values())).returns)
    shown = Table(box=box.SIMPLE, padding=0, title_justify="left", caption_justify="left")
    shown.title = ", ".join(filter(None, (env_id, spoken(options), f"{episodes} episodes")))
    shown.caption = CAPTION
    shown.add_column("agent", vertical="bottom", no_wrap=True)
    for name, _, _ in COLUMNS:
        shown.add_column(name, justify="right", vertical="bottom", no_wrap=True)
    for name, result in results.items():
        means = {"score": between.score(result.mean_return), **summary(result)}
        cells = [
            form.format(means[key]) if means[key] == means[key] else "-" for _, key, form in COLUMNS
        ]
        shown.add_row(_folded(name), *cells)
    return shown


def _folded(name: str) -> str:
    """A name in lines that fit the table's first column; a path breaks behind its slashes."""
    lines = textwrap.wrap(name.replace("/", "/ "), NAME_WIDTH)
    return escape("\n".join(line.replace("/ ", "/") for line in lines))
