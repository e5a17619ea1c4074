"""One kernel out of what a task declares: terms of its reward, parts of its observation, endings.

Each of these is a free function with a line in a tuple of the task.  Here a tuple becomes a chain
of kernels, each with its function inlined, which compiled code calls as one; nothing is listed a
second time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynenvs.envs.core.codes import RUNNING
from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.core.records import Ending, Part, RewardTerm
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats


def reward_of(measure: Callable[[TaskWorld], Any], terms: Sequence[RewardTerm]) -> Any:
    """The kernel `reward(w)`: works out the terms that have a weight; returns their sum.

    Args:
        measure: what the terms are made of, worked out once, a NamedTuple with a field `gate`, by
            which every term is multiplied.
        terms: their functions get the world and what was measured.
    """
    chain: Any = _sum
    for k in reversed(range(len(terms))):
        chain = _term(k, terms[k], chain)

    @inlined
    def reward(w: TaskWorld) -> float:
        return float(chain(w, measure(w), 0.0, 0.0))

    return reward


def _term(k: int, term: RewardTerm, others: Any) -> Any:
    """Number k of the terms, then the others.  What counts only if asked for is summed apart."""
    quality, is_asked, is_gated = term.quality, term.weight == 0.0, term.is_gated

    @inlined
    def link(w: TaskWorld, measured: Any, total: float, asked: float) -> float:
        earned = 0.0
        if w.weights[k] != 0.0:
            gate = measured.gate if is_gated else 1.0
            earned = w.weights[k] * gate * quality(w, measured)
        w.rewards[k] = earned
        if is_asked:
            return float(others(w, measured, total, asked + earned))
        return float(others(w, measured, total + earned, asked))

    return link


@inlined
def _sum(w: TaskWorld, measured: Any, total: float, asked: float) -> float:
    return total + asked


def observation_of(parts: Sequence[Part]) -> Any:
    """The kernel `observe(w, observation)`: writes the parts, one after the other."""
    chain: Any = _whole
    for part in reversed(parts):
        chain = _part(part.write, chain)

    @inlined
    def observe(w: TaskWorld, observation: Floats) -> int:
        return int(chain(w, observation, 0))

    return observe


def _part(write: Any, others: Any) -> Any:
    @inlined
    def link(w: TaskWorld, observation: Floats, at: int) -> int:
        return int(others(w, observation, write(w, observation, at)))

    return link


@inlined
def _whole(w: TaskWorld, observation: Floats, at: int) -> int:
    return at


def end_of(endings: Sequence[Ending]) -> Any:
    """The kernel `end(w)`: the reason of the first ending that has come, or RUNNING."""
    chain: Any = _goes_on
    for ending in reversed(endings):
        chain = _ending(ending.reason, ending.has_come, chain)
    return chain


def _ending(reason: int, has_come: Any, others: Any) -> Any:
    @inlined
    def link(w: TaskWorld) -> int:
        if has_come(w):
            return reason
        return int(others(w))

    return link


@inlined
def _goes_on(w: TaskWorld) -> int:
    return RUNNING


@inlined
def whole(w: TaskWorld, measured: Any) -> float:
    """The quality of a term that is nothing but the gate."""
    return 1.0


@inlined
def nothing(w: TaskWorld) -> None:
    """Where a task has nothing to do."""
