"""A clone in the making: how far it has come, and what there is of it on disk before it is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO

from dynenvs.agents.learn.clone import Examples, set_spread
from dynenvs.agents.learn.stop import Stop
from dynenvs.agents.policy_file import save_model

CLOCK = 60.0  # between two drafts [s]
SMOOTHING = 0.01  # weight of the newest loss in the reported loss


class Draft:
    """Counts gradient steps, tells of them, and writes the policy as it is every minute.

    The draft lies beside the policy's own place, so that a finished policy that is there stays
    until another one is finished.

    Args:
        path: of the finished policy.
        env_id: where it acts.
        words: how it is made, for the note in the zip.
        total: gradient steps, those of the value function included.
        report: called with the gradient steps so far, how many there will be, the smoothed loss.
    """

    def __init__(
        self,
        path: Path,
        env_id: str,
        words: dict[str, Any],
        total: int,
        report: Callable[[int, int, float], None],
    ) -> None:
        self.path = path.with_name(f"{path.stem}.unfinished{path.suffix}")
        self.env_id, self.words, self.total, self.report = env_id, words, total, report
        self.done, self.written = 0, 0  # gradient steps, and how many of them the draft has
        self.loss = float("nan")
        self.stop = Stop()
        self.examples: Examples  # of the lesson
        self.due = time.perf_counter() + CLOCK

    def each_step(self, model: PPO, examples: Examples, loss: float) -> None:
        """A gradient step of the policy has been made.

        Raises:
            KeyboardInterrupt: somebody has asked for an end; the draft is written.
        """
        self.examples = examples
        self._note(loss)
        if self.stop.asked or time.perf_counter() >= self.due:
            self.write(model)
        if self.stop.asked:
            raise KeyboardInterrupt

    def value_step(self, loss: float) -> None:
        """A gradient step of the value function has been made.

        Raises:
            KeyboardInterrupt: somebody has asked for an end.
        """
        self._note(loss)
        if self.stop.asked:
            raise KeyboardInterrupt

    def write(self, model: PPO) -> None:
        """Write the policy as it is; its value function is not learned yet, and zero.

        The random numbers that finding the spread takes are given back: a policy does not depend
        on when its drafts were written.
        """
        with torch.random.fork_rng(devices=[]):
            set_spread(model.policy, self.examples)
        note = {**self.words, "unfinished": f"{self.done} of {self.total} gradient steps"}
        save_model(model, self.path, self.env_id, note)
        self.written = self.done
        self.due = time.perf_counter() + CLOCK

    def remove(self) -> None:
        """The policy is finished."""
        self.path.unlink(missing_ok=True)

    def spoken(self) -> str:
        """What there is, for somebody who has stopped the work."""
        if not self.written:
            return "nothing was written"
        return (
            f"{self.path} holds the policy after {self.written:,} of {self.total:,} gradient steps"
        )

    def _note(self, loss: float) -> None:
        self.done += 1
        known = self.loss == self.loss
        self.loss = self.loss + SMOOTHING * (loss - self.loss) if known else loss
        self.report(self.done, self.total, self.loss)
