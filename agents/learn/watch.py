"""What goes on beside a training run: evaluations, checkpoints, the log, and when to stop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from dynenvs.agents.evaluation.evaluate import WATCHED_SEED, evaluate, references, summary
from dynenvs.agents.files import write_json
from dynenvs.agents.learn.checkpoint import save_checkpoint, set_generators
from dynenvs.agents.learn.curriculum import curriculum_of
from dynenvs.agents.learn.network import Moments, set_moments
from dynenvs.agents.learn.rewards import Rewards, power_at
from dynenvs.agents.learn.stop import Stop
from dynenvs.agents.policy_file import save_model

EVALUATIONS = 20  # of a run, evenly spaced
EPISODES = 50  # of each evaluation
CLOCK = 60.0  # between two checkpoints, at most [s]
WRITING = 0.05  # share of the time that writing them may take: replay buffers are large


class Beside(NamedTuple):
    """What a run goes on with beside its model."""

    moments: Moments | None  # of the observations; None if they stay as the policy has them
    generators: dict[str, Any] | None = None  # of all random numbers, where a run is resumed


class End(NamedTuple):
    """What ends a run before its time."""

    minutes: float | None  # that it may take; None for as many as it needs
    stop: Stop  # Ctrl-C


class Watch(BaseCallback):
    """Scales observations, evaluates, writes checkpoints and the log, and stops in time.

    The first checkpoint stands before the first step, so that from there on every run can be
    resumed; others follow by the clock, and with each evaluation.  All of it happens between two
    rollouts, where a run's state is whole.  Networks act on one thread: they are small.
    """

    def __init__(
        self,
        env_id: str,
        folder: Path,
        log: dict[str, Any],
        beside: Beside,
        *,
        end: End,
        threads: int | None,
        report: Any,
    ) -> None:
        super().__init__()
        self.env_id, self.folder, self.log = env_id, folder, log
        self.end, self.report = end, report
        self.moments, self.generators = beside
        self.threads, self.over = threads, False
        steps = log["settings"]["n_timesteps"]
        self.due = [round(steps * (k + 1) / EVALUATIONS) for k in range(EVALUATIONS)]
        self.before = 60.0 * log["minutes"]  # of a run that is resumed [s]
        self.begin = time.perf_counter()
        self.learners = torch.get_num_threads()
        self.updates_since: float | None = None  # when the last rollout ended
        self.saved = -1  # steps that the last checkpoint has
        self.next_save = np.inf  # [s], of `elapsed`

    def _on_step(self) -> bool:
        if self.moments is not None:
            self.moments.add(self.locals["new_obs"])
        return not self.over

    def _on_rollout_start(self) -> None:
        torch.set_num_threads(1)
        if self.updates_since is not None:
            self.log["learning"] += (time.perf_counter() - self.updates_since) / 60.0
        settings, envs = self.log["settings"], self.training_env
        assert isinstance(envs, Rewards)
        envs.power = power_at(
            self.num_timesteps / settings["n_timesteps"], settings["reward_power"]
        )
        if self.moments is not None:
            set_moments(self.model.policy, self.moments.mean, self.moments.scale)
        if self.next_save == np.inf:
            self._begin()
        curve, minutes = self.log["curve"], self.end.minutes
        done = curve[-1]["steps"] if curve else 0
        # One that is stopped ends here, as a whole; the step that is begun then is not kept
        self.over = minutes is not None and self.elapsed >= 60.0 * minutes
        if self.over or any(done < step <= self.num_timesteps for step in self.due):
            self.look()
        self.over |= self.end.stop.asked
        if self.saved < self.num_timesteps and (self.over or self.elapsed >= self.next_save):
            self.save()
        self.report(self.num_timesteps, self.log)
        self._draw_noise()

    def _begin(self) -> None:
        """The first checkpoint, with what has been changed in a resumed run; then other files."""
        if self.generators is not None:
            set_generators(self.generators)
        self.save()
        self.model.set_logger(configure(str(self.folder / "tensorboard"), _formats()))

    def _on_rollout_end(self) -> None:
        torch.set_num_threads(self.learners)
        self.updates_since = time.perf_counter()

    def _draw_noise(self) -> None:
        """gSDE's first noise was drawn before a checkpoint could be written: draw it after."""
        if self.generators is not None:
            set_generators(self.generators)
            self.generators = None
        self._reset_noise()

    def _reset_noise(self) -> None:
        """Draw gSDE's noise."""
        if self.model.use_sde:
            policy: Any = self.model.policy
            policy.reset_noise(self.training_env.num_envs)

    def _on_training_end(self) -> None:
        curve = self.log["curve"]
        if not self.over and (not curve or curve[-1]["steps"] < self.num_timesteps):
            self._reset_noise()  # as the next rollout would: an extended run is to be the same
            self.look()

    @property
    def elapsed(self) -> float:
        """Time spent on the run, evaluations included [s]."""
        return float(self.before + time.perf_counter() - self.begin)

    def look(self) -> None:
        """Evaluate; write `last.zip`, the log and, where it is better, `best.zip`."""
        log, begin = self.log, time.perf_counter()
        options: Any = {"threads": self.threads, "first_seed": WATCHED_SEED, **log["options"]}
        result = evaluate(self.env_id, self.model, EPISODES, **options)
        between = references(self.env_id, EPISODES, **options)
        score = between.score(result.mean_return)
        self.logger.record("eval/score", score)
        self.logger.record("eval/mean_reward", result.mean_return)
        self.logger.record("eval/mean_ep_length", float(np.mean(result.lengths)))
        self.logger.dump(self.num_timesteps)
        curriculum = curriculum_of(self.training_env)
        best = max((point["score"] for point in log["curve"]), default=-np.inf)
        log["curve"].append(
            {
                "steps": self.num_timesteps,
                "minutes": self.elapsed / 60.0,
                "score": score,
                **({"level": curriculum.level} if curriculum else {}),
                **{k: v for k, v in summary(result).items() if v == v},
            }
        )
        if score > best:
            save_model(self.model, self.folder / "best.zip", self.env_id, self._note())
        log["evaluating"] += (time.perf_counter() - begin) / 60.0
        self.save()
        self.report(self.num_timesteps, log)

    def save(self) -> None:
        """Write `last.zip` and the log."""
        log, envs = self.log, self.training_env
        assert isinstance(envs, Rewards)
        begin = time.perf_counter()
        log["simulating"] += envs.seconds / 60.0
        envs.seconds = 0.0
        log["minutes"] = self.elapsed / 60.0
        whole, run = {**self._note(), "log": log}, {"moments": self.moments}
        save_checkpoint(self.model, self.folder / "last.zip", self.env_id, whole, run)
        write_json(self.folder / "log.json", log)
        took = time.perf_counter() - begin
        self.saved = self.num_timesteps
        self.next_save = self.elapsed + max(CLOCK, took / WRITING)

    def _note(self) -> dict[str, Any]:
        """For people: what a zip was made with, and its last score, if there is one yet."""
        log = self.log
        scores = {"score": log["curve"][-1]["score"]} if log["curve"] else {}
        return {"seed": log["seed"], **scores, "options": log["options"]}


def _formats() -> list[str]:
    """TensorBoard where it is installed."""
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        return ["csv"]
    return ["tensorboard"]
