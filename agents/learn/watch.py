"""What goes on beside a training run: evaluations, checkpoints, the log, and when to stop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from dynenvs.agents.evaluate import WATCHED_SEED, evaluate, references, summary
from dynenvs.agents.files import write_json
from dynenvs.agents.learn.checkpoint import save_checkpoint, set_generators
from dynenvs.agents.learn.network import Moments, set_moments
from dynenvs.agents.learn.policy_file import save_model
from dynenvs.agents.learn.rewards import Rewards, power_at

EVALUATIONS = 20  # of a run, evenly spaced
EPISODES = 50  # of each evaluation


class Beside(NamedTuple):
    """What a run goes on with beside its model."""

    moments: Moments | None  # of the observations; None if they stay as the policy has them
    generators: dict[str, Any] | None = None  # of all random numbers, where a run is resumed


class Watch(BaseCallback):
    """Scales observations, evaluates, writes checkpoints and the log, and stops in time.

    All of it between two rollouts, where a run's state is whole.  Networks act on one thread: the
    others that torch learns on spin for a while after each call, on cores that the worlds want.
    """

    def __init__(
        self,
        env_id: str,
        folder: Path,
        log: dict[str, Any],
        beside: Beside,
        *,
        minutes: float | None,
        threads: int | None,
        report: Any,
    ) -> None:
        super().__init__()
        self.env_id, self.folder, self.log = env_id, folder, log
        self.minutes, self.report = minutes, report
        self.moments, self.generators = beside
        self.threads, self.over = threads, False
        steps = log["settings"]["n_timesteps"]
        self.due = [round(steps * (k + 1) / EVALUATIONS) for k in range(EVALUATIONS)]
        self.before = 60.0 * log["minutes"]  # of a run that is resumed [s]
        self.begin = time.perf_counter()
        self.learners = torch.get_num_threads()

    def _on_step(self) -> bool:
        if self.moments is not None:
            self.moments.add(self.locals["new_obs"])
        return not self.over

    def _on_rollout_start(self) -> None:
        torch.set_num_threads(1)
        settings, envs = self.log["settings"], self.training_env
        assert isinstance(envs, Rewards)
        envs.power = power_at(
            self.num_timesteps / settings["n_timesteps"], settings["reward_power"]
        )
        if self.moments is not None:
            set_moments(self.model.policy, self.moments.mean, self.moments.scale)
        curve = self.log["curve"]
        done = curve[-1]["steps"] if curve else 0
        # One that is stopped ends here, as a whole; the step that is begun then is not kept
        self.over = self.minutes is not None and self.elapsed >= 60.0 * self.minutes
        if self.over or any(done < step <= self.num_timesteps for step in self.due):
            self.look()
        self.report(self.num_timesteps, self.log)
        self._draw_noise()

    def _on_rollout_end(self) -> None:
        torch.set_num_threads(self.learners)

    def _draw_noise(self) -> None:
        """gSDE's first noise was drawn before a checkpoint could be written: draw it after."""
        if self.generators is not None:
            set_generators(self.generators)
            self.generators = None
        if self.model.use_sde:
            policy: Any = self.model.policy
            policy.reset_noise(self.training_env.num_envs)

    def _on_training_end(self) -> None:
        curve = self.log["curve"]
        if not self.over and (not curve or curve[-1]["steps"] < self.num_timesteps):
            self.look()

    @property
    def elapsed(self) -> float:
        """Time spent on the run, evaluations included [s]."""
        return float(self.before + time.perf_counter() - self.begin)

    def look(self) -> None:
        """Evaluate; write `last.zip`, the log and, where it is better, `best.zip`."""
        log, envs = self.log, self.training_env
        assert isinstance(envs, Rewards)
        options: Any = {"threads": self.threads, "first_seed": WATCHED_SEED, **log["options"]}
        result = evaluate(self.env_id, self.model, EPISODES, **options)
        between = references(self.env_id, EPISODES, **options)
        score = between.score(result.mean_return)
        self.logger.record("eval/score", score)
        self.logger.record("eval/mean_reward", result.mean_return)
        self.logger.record("eval/mean_ep_length", float(np.mean(result.lengths)))
        self.logger.dump(self.num_timesteps)
        best = max((point["score"] for point in log["curve"]), default=-np.inf)
        log["simulating"] += envs.seconds / 60.0
        envs.seconds = 0.0
        log["minutes"] = self.elapsed / 60.0
        log["curve"].append(
            {
                "steps": self.num_timesteps,
                "minutes": log["minutes"],
                "score": score,
                **{k: v for k, v in summary(result).items() if v == v},
            }
        )
        note = {"seed": log["seed"], "score": score, "options": log["options"]}
        if score > best:
            save_model(self.model, self.folder / "best.zip", self.env_id, note)
        whole = {**note, "log": log}
        run = {"moments": self.moments}
        save_checkpoint(self.model, self.folder / "last.zip", self.env_id, whole, run)
        write_json(self.folder / "log.json", log)
        self.report(self.num_timesteps, log)
