"""Which episodes a collection has, and how this process runs them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dynenvs
from dynenvs.agents.data.origin import code_permalink
from dynenvs.agents.data.teaching import EVERY, shares, standard_noise
from dynenvs.agents.evaluation.actors import actor
from dynenvs.agents.evaluation.options import spoken
from dynenvs.agents.evaluation.rollout import Run, make_batch, rollout
from dynenvs.agents.files import shipped_file
from dynenvs.memory.origin import this

WORLDS = 250  # side by side: a round thousand takes whole batches
LONGEST_WORD = 40  # letters of an option's value in a dataset's name


class Plan(NamedTuple):
    """What decides the episodes of a collection."""

    env_id: str
    options: dict[str, Any]  # as JSON gives them back
    agent: str
    noise: float
    seed: int
    infos: bool

    def identity(self) -> dict[str, Any]:
        """What must be the same for a collection to go on."""
        agent = self.agent
        for path in (shipped_file(self.env_id, agent), Path(agent)):
            if path.is_file():
                agent = f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
                break
        made = this()
        return {**self._asdict(), "agent": agent, "version": made.version, "layout": made.layout}

    def name(self) -> str:
        """A dataset's name: "expert-v0", "expert-clean-terrain-rough-v0"."""
        words = [Path(self.agent).stem]
        if self.noise != standard_noise(self.env_id, self.agent):
            words.append(f"noise {self.noise}" if self.noise else "clean")
        words += [f"{name} {_short(value)}" for name, value in self.options.items()]
        return "-".join(re.findall(r"[^\W_]+", " ".join(words))) + "-v0"

    def metadata(self, count: int) -> dict[str, Any]:
        """What Minari wants to know."""
        agent, first = Path(self.agent).name, self.seed
        shaken = ""
        if self.noise:
            shaken = (
                f" with Gaussian noise of {self.noise} on its actions in all episodes but those "
                f"whose seed is {EVERY - 1} modulo {EVERY}"
            )
        where = f" ({spoken(self.options)})" if self.options else ""
        permalink = code_permalink()
        return {
            "algorithm_name": f"dynenvs {agent}{shaken}",
            **({"code_permalink": permalink} if permalink else {}),
            "description": (
                f"{count} episodes of the agent {agent!r}{shaken} in {self.env_id}{where}, seeds "
                f"{first} to {first + count - 1}.  Each episode's attributes hold the simulator's "
                "whole state at its start; `dynenvs replay` gives the same observations bit for "
                "bit."
            ),
            "requirements": [f"dynenvs=={dynenvs.__version__}"],
            "noise": self.noise,
        }


def _short(value: Any) -> str:
    """An option's value in a dataset's name, which is also a folder's: a long one by its digest."""
    text = str(value)
    return text if len(text) <= LONGEST_WORD else hashlib.sha256(text.encode()).hexdigest()[:8]


def episodes_here(plan: Plan, threads: int | None, numbers: list[int]) -> Iterator[list[Run]]:
    """Run episodes, some hundreds side by side; `Run.number` is the episode's own."""
    for batch in batched(numbers, WORLDS):
        envs = make_batch(plan.env_id, len(batch), threads, **plan.options)
        policy = actor(plan.agent, envs, plan.env_id)
        seeds = [plan.seed + i for i in batch]
        noise = shares(plan.noise, seeds)
        for ended in rollout(envs, policy, seeds, noise=noise, with_infos=plan.infos):
            yield [run._replace(number=batch[run.number]) for run in ended]


def batched(numbers: list[int], size: int) -> Iterator[list[int]]:
    """The numbers in lists of this size, the last one shorter."""
    for first in range(0, len(numbers), size):
        yield numbers[first : first + size]
