"""`dynenvs train`: stable-baselines3's PPO, SAC and TD3 on batched worlds.

A run's folder holds `last.zip` (everything: `resume` goes on from it), `best.zip` (the policy with
the best score so far), `log.json` (the learning curve) and TensorBoard's files.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from dynenvs.agents.evaluate import WATCHED_SEED, evaluate, references, summary
from dynenvs.agents.files import write_json
from dynenvs.agents.learn.checkpoint import restore_checkpoint, save_checkpoint
from dynenvs.agents.learn.clone import Settings, lacks_value, learn_value
from dynenvs.agents.learn.machine import machine
from dynenvs.agents.learn.network import Moments, set_moments
from dynenvs.agents.learn.policy_file import (
    algorithm_class,
    load_model,
    read_note,
    save_model,
)
from dynenvs.agents.learn.settings import constructor_options
from dynenvs.agents.options import check_options
from dynenvs.agents.rollout import make_batch, run_all
from dynenvs.agents.sb3 import make_sb3_vec_env

EVALUATIONS = 20  # of a run, evenly spaced
EPISODES = 50  # of each evaluation
NARROW = 0.5  # of a run, after which rewards are as they are
FIRST_LOOK = 64  # episodes of random actions that the observations' scale is taken from


class Rewards(VecEnvWrapper):
    """Shapes rewards for the learner, and measures the time that the simulator takes.

    Rewards are bells around the command, and lie in [0, 1].  A power below 1 widens the bells: who
    stands still then sees in which way to go.  No score counts it.

    Args:
        venv: whose rewards.
        scale: a factor on them.
    """

    def __init__(self, venv: VecEnv, scale: float) -> None:
        super().__init__(venv)
        self.scale, self.power, self.seconds = scale, 1.0, 0.0

    def reset(self) -> Any:
        """First observations."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """A step, its rewards shaped."""
        begin = time.perf_counter()
        observations, rewards, dones, infos = self.venv.step_wait()
        self.seconds += time.perf_counter() - begin
        bent = np.copysign(np.abs(rewards) ** np.float32(self.power), rewards)
        shaped = np.float32(self.scale) * bent
        return observations, shaped, dones, infos


def power_at(share: float, first: float) -> float:
    """The rewards' power after a share of the run: rises from `first` to 1, and stays there."""
    return first + (1.0 - first) * min(share / NARROW, 1.0)


class Watch(BaseCallback):
    """Scales observations, evaluates, writes checkpoints and the log, and stops in time.

    All of it between two rollouts, where a run's state is whole.
    """

    def __init__(
        self,
        env_id: str,
        folder: Path,
        log: dict[str, Any],
        *,
        moments: Moments | None,
        minutes: float | None,
        threads: int | None,
        report: Any,
    ) -> None:
        super().__init__()
        self.env_id, self.folder, self.log = env_id, folder, log
        self.moments, self.minutes, self.report = moments, minutes, report
        self.threads, self.over = threads, False
        steps = log["settings"]["n_timesteps"]
        self.due = [round(steps * (k + 1) / EVALUATIONS) for k in range(EVALUATIONS)]
        self.before = 60.0 * log["minutes"]  # of a run that is resumed [s]
        self.begin = time.perf_counter()

    def _on_step(self) -> bool:
        if self.moments is not None:
            self.moments.add(self.locals["new_obs"])
        return not self.over

    def _on_rollout_start(self) -> None:
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


def train(
    algorithm: str,
    env_id: str,
    settings: dict[str, Any],
    folder: Path,
    *,
    seed: int = 0,
    begin_from: Path | None = None,
    resume: bool = False,
    minutes: float | None = None,
    threads: int | None = None,
    report: Any = lambda steps, log: None,
    **options: Any,
) -> dict[str, Any]:
    """Train, or go on training.

    Args:
        algorithm: "ppo", "sac" or "td3".
        env_id: which environment.
        settings: as `load_settings` gives them; of a run that is resumed, its own hold.
        folder: the run's.
        seed: of weights, worlds and noise.
        begin_from: zip of a policy to go on from, a cloned one, say.
        resume: go on from the folder's `last.zip`.
        minutes: stop then, between two rollouts.
        threads: of torch and of the simulator; on one, PPO resumes bitwise.
        report: told the steps and the log.
        options: the environment's; of a run that is resumed, its own hold.

    Returns:
        The log.

    Raises:
        ValueError: a setting or file that does not fit.
        FileExistsError: the folder holds a run, which is not to be resumed.
        FileNotFoundError: nothing to resume or to begin from.
        OSError: the folder cannot be written.
    """
    last = folder / "last.zip"
    if not resume and last.exists():
        raise FileExistsError(f"{str(folder)!r} holds a run: --resume it, or choose another --out")
    if threads is not None:
        torch.set_num_threads(threads)
    if resume:
        log = _log_of(last, algorithm)
    else:
        log = _new_log(algorithm, env_id, settings, seed, begin_from, options)
    settings, options = log["settings"], log["options"]
    check_options(env_id, options)
    venv = make_sb3_vec_env(env_id, settings["n_envs"], num_threads=threads, **options)
    env = Rewards(venv, settings["reward_scale"])
    moments: Moments | None
    if resume:
        model = load_model(last, env_id, env=env, force_reset=False)
        moments = restore_checkpoint(model, last)["moments"]
    else:
        model, moments = _new_model(
            algorithm, env_id, settings, env, seed, begin_from, threads, options
        )
    folder.mkdir(parents=True, exist_ok=True)
    model.set_logger(configure(str(folder / "tensorboard"), _formats()))
    watch = Watch(
        env_id, folder, log, moments=moments, minutes=minutes, threads=threads, report=report
    )
    left = settings["n_timesteps"] - model.num_timesteps
    model.learn(left, watch, reset_num_timesteps=False, log_interval=4)
    env.close()
    log["final"] = finish(env_id, folder / "best.zip", **options)
    write_json(folder / "log.json", log)
    return log


def finish(env_id: str, path: Path, **options: Any) -> dict[str, Any]:
    """How good a policy is over the seeds by which it was not chosen, with its references."""
    result = evaluate(env_id, str(path), **options)
    between = references(env_id, **options)
    means = {name: value for name, value in summary(result).items() if value == value}
    return {"score": between.score(result.mean_return), **means, **between._asdict()}


def _new_model(
    algorithm: str,
    env_id: str,
    settings: dict[str, Any],
    env: Rewards,
    seed: int,
    begin_from: Path | None,
    threads: int | None,
    env_options: dict[str, Any],
) -> tuple[BaseAlgorithm, Moments | None]:
    """A model, and the moments of its observations; those of a policy to go on from stay."""
    options = constructor_options(settings, int(np.prod(env.action_space.shape or ())))
    if begin_from is not None:
        del options["policy"], options["policy_kwargs"]
        model = load_model(begin_from, env_id, env=env, seed=seed, **options)
        if type(model) is not algorithm_class(algorithm):
            raise ValueError(f"{str(begin_from)!r} is no policy of {algorithm}")
        model.num_timesteps = 0
        if isinstance(model, PPO) and lacks_value(model):
            ahead = Settings(gamma=model.gamma, reward_scale=settings["reward_scale"])
            learn_value(model, env_id, ahead, seed, threads, **env_options)
        return model, None
    model = algorithm_class(algorithm)(env=env, seed=seed, device="cpu", **options)
    first = make_batch(env_id, FIRST_LOOK, **env_options)
    moments = Moments(first.single_observation_space.shape[0])
    for run in run_all(first, None, range(seed, seed + FIRST_LOOK)):
        moments.add(run.observations)
    return model, moments


def _new_log(
    algorithm: str,
    env_id: str,
    settings: dict[str, Any],
    seed: int,
    begin_from: Path | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    return {
        "kind": algorithm,
        "env": env_id,
        "options": options,
        "seed": seed,
        "from": None if begin_from is None else read_note(begin_from).get("kind", "a policy"),
        "settings": settings,
        "machine": machine(),
        "minutes": 0.0,
        "simulating": 0.0,  # of the minutes
        "curve": [],
    }


def _log_of(last: Path, algorithm: str) -> dict[str, Any]:
    """The log of a run to go on with."""
    note = read_note(last)
    if "log" not in note:
        raise ValueError(f"{str(last)!r} holds a policy, not a run: start with --from instead")
    if note["algorithm"] != algorithm:
        raise ValueError(f"{str(last)!r} is a run of {note['algorithm']}, not of {algorithm}")
    log: dict[str, Any] = note["log"]
    log.setdefault("options", {})  # of a run begun before there were any
    return log


def _formats() -> list[str]:
    """TensorBoard where it is installed."""
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        return ["csv"]
    return ["tensorboard"]
