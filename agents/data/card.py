"""The data card: a page beside a dataset that says what is in it, from what, and how to read it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

import dynenvs
from dynenvs.agents.columns import action_meaning, joint_lines, joints_of, observation_columns
from dynenvs.agents.columns import observation_lines as lines_of
from dynenvs.agents.data.teaching import EVERY
from dynenvs.agents.evaluation.rollout import ANSWER
from dynenvs.envs.core.task import Task

FILE = "README.md"


class Group(NamedTuple):
    """Episodes of one kind: those with noise, or those without."""

    returns: list[float]
    lengths: list[int]
    falls: list[bool]

    def row(self, name: str) -> str:
        """A line of the table of scores."""
        mean, spread, worst = np.mean(self.returns), np.std(self.returns), min(self.returns)
        cells = (name, str(len(self.returns)), f"{mean:.1f} ± {spread:.1f}", f"{worst:.1f}")
        steps = f"{np.mean(self.lengths):.0f}"
        return f"| {' | '.join((*cells, steps, str(sum(self.falls))))} |"


class Facts(NamedTuple):
    """What a card tells beside what the task knows of itself."""

    name: str  # the dataset's id
    env_id: str
    options: dict[str, Any]
    agent: str
    noise: float  # share of the torque limits
    infos: bool
    seeds: tuple[int, int]  # the first and the last
    scores: dict[str, Any]  # as Minari's metadata have them
    author: str


def card(task: Task, facts: Facts, shaken: Group, plain: Group) -> str:
    """The page, in Markdown.

    Args:
        task: of the environment.
        facts: of the collection.
        shaken, plain: its episodes with noise and without.
    """
    lines = [
        "---",
        "license: mit",
        "tags: [reinforcement-learning, imitation-learning, robotics, minari]",
        "---",
        f"# {facts.name}",
        "",
        *_origin(facts, len(shaken.returns) + len(plain.returns), task.dt),
        "",
        "## Scores",
        "",
        *_scores(facts, shaken, plain),
        "",
        "## Columns of an episode of T steps",
        "",
        *_columns(facts, task),
        "",
        "Observation:",
        "",
        *lines_of(observation_columns(task)),
        "",
        f"Action, {action_meaning(task)}:",
        "",
        *joint_lines(*joints_of(task)),
        "",
        "## Loading",
        "",
        *_loading(facts),
        "",
        "## Licence",
        "",
        f"MIT, as the package. Author: {facts.author}.",
        "",
    ]
    return "\n".join(lines)


def _origin(facts: Facts, count: int, period: float) -> list[str]:
    """Who acted where, with which noise, from which seeds."""
    where = f" with options `{json.dumps(facts.options)}`" if facts.options else ""
    first, last = facts.seeds
    lines = [
        f"{count} episodes of the agent `{facts.agent}` in `{facts.env_id}`{where}, seeds {first} "
        f"to {last}, recorded by dynenvs {dynenvs.__version__}; a step is {1e3 * period:g} ms.",
    ]
    if facts.noise:
        lines += [
            "",
            f"**Noise.** What acted is the agent's answer plus Gaussian noise, drawn anew for each "
            f"joint and step, of standard deviation {facts.noise:g} (share of the limit), "
            f"clipped to [-1, 1]. Episodes whose seed is {EVERY - 1} modulo {EVERY} go without. "
            f"What to imitate is the agent's own answer, `infos/{ANSWER}`.",
        ]
    return lines


def _scores(facts: Facts, shaken: Group, plain: Group) -> list[str]:
    """Returns of what acted, and those between which Minari measures."""
    lines = [
        "| episodes | number | return | worst | steps | falls |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    named = ((f"with noise of {facts.noise:g}", shaken), ("without noise", plain))
    lines += [group.row(name) for name, group in named if group.returns]
    known = (("random actions", "ref_min_score"), ("the expert", "ref_max_score"))
    means = [f"{who} {facts.scores[key]:.1f}" for who, key in known if key in facts.scores]
    count = facts.scores["num_episodes_average_score"]
    return [*lines, "", f"Mean return over {count} episodes without noise: {', '.join(means)}."]


def _columns(facts: Facts, task: Task) -> list[str]:
    """The arrays, with shapes and types."""
    size, nu = task.observation_space.shape[0], task.model.nu
    rows = [
        ("observations", f"(T + 1, {size})", "float64", "SI units; the table below"),
        ("actions", f"(T, {nu})", "float32", "what acted: replayed, they give every bit again"),
        ("rewards", "(T,)", "float64", "of each step"),
        ("terminations", "(T,)", "bool", "the episode ended by a fall or the like"),
        ("truncations", "(T,)", "bool", "it ended by its time limit"),
    ]
    if facts.noise:
        told = "the agent's own answer to each observation, before noise: what to imitate"
        rows.append((f"infos/{ANSWER}", f"(T + 1, {nu})", "float32", told))
    if facts.infos:
        rows.append(
            ("infos/...", "(T + 1, ...)", "", "what `info` said at the reset and each step")
        )
    return [
        "| array | shape | type | meaning |",
        "| --- | --- | --- | --- |",
        *(f"| `{name}` | {shape} | {kind} | {told} |" for name, shape, kind, told in rows),
        "",
        "Attributes of an episode: `seed`, `end` (why it ended), `state/...` (the simulator's "
        "whole state at its start, bytes).",
    ]


def _loading(facts: Facts) -> list[str]:
    """How to read, replay and clone it."""
    short = facts.name.removeprefix("dynenvs/")
    env = short.split("/")[0]
    wanted = f'episode.infos["{ANSWER}"][:-1]' if facts.noise else "episode.actions"
    return [
        "```python",
        "import minari",
        "",
        f'dataset = minari.load_dataset("{facts.name}")',
        "env = dataset.recover_environment()",
        "for episode in dataset:",
        f"    inputs, targets = episode.observations[:-1], {wanted}",
        "```",
        "",
        "```sh",
        f"dynenvs replay {short}                  # every bit again",
        f"dynenvs clone {env} --dataset {short}   # behaviour cloning",
        "```",
    ]
