"""`dynenvs train`: stable-baselines3's PPO and SAC on batched worlds.

Ctrl-C ends a run at its next checkpoint.  A run's folder holds `last.zip` (everything: `resume`
goes on from it), `best.zip` (the policy with the best score so far), `log.json` (the learning
curve) and TensorBoard's files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger

from dynenvs.agents.evaluation.evaluate import evaluate, references, summary
from dynenvs.agents.evaluation.options import check_options
from dynenvs.agents.evaluation.rollout import make_batch, run_all
from dynenvs.agents.files import write_json
from dynenvs.agents.learn.checkpoint import restore_checkpoint
from dynenvs.agents.learn.clone import Settings, lacks_value, learn_value, widen
from dynenvs.agents.learn.curriculum import Curriculum
from dynenvs.agents.learn.equivariant import (
    EquivariantHoldingPolicy,
    EquivariantPolicy,
    images,
)
from dynenvs.agents.learn.holding import HoldingPolicy, holding
from dynenvs.agents.learn.machine import learner_threads, machine
from dynenvs.agents.learn.network import Moments
from dynenvs.agents.learn.off_policy import Buffer, ReachingPolicy, reaching
from dynenvs.agents.learn.resume import changed_settings, check_same, read_log
from dynenvs.agents.learn.rewards import Rewards
from dynenvs.agents.learn.settings import constructor_options
from dynenvs.agents.learn.starts import kept_starts
from dynenvs.agents.learn.stop import stop_when_whole
from dynenvs.agents.learn.watch import Beside, End, Watch
from dynenvs.agents.policy_file import load_model, read_note
from dynenvs.agents.policy_network import algorithm_class
from dynenvs.agents.sb3 import make_sb3_vec_env
from dynenvs.envs.core.mirror import mirror_of
from dynenvs.files import folders_above

# What a policy to go on from brings along: settings do not count there
ZIPS_OWN = ("policy", "policy_kwargs", "use_sde", "replay_buffer_class", "replay_buffer_kwargs")
FIRST_LOOK = 64  # episodes of random actions that the observations' scale is taken from


def train(
    algorithm: str,
    env_id: str,
    settings: dict[str, Any],
    folder: Path,
    *,
    seed: int | None = None,
    begin_from: Path | None = None,
    starts: tuple[str, float] | None = None,
    curriculum: dict[str, Any] | None = None,
    resume: bool = False,
    minutes: float | None = None,
    threads: int | None = None,
    report: Any = lambda steps, log: None,
    **options: Any,
) -> dict[str, Any]:
    """Train, or go on training.

    Args:
        algorithm: "ppo" or "sac".
        env_id: which environment.
        settings: as `load_settings` gives them.  Of a run that is resumed its own hold; those
            given here change it where they differ, some or all (`resume.py`).
        folder: the run's.
        seed: of weights, worlds and noise; 0 if None.
        begin_from: zip of a policy to go on from, a cloned one, say.
        starts: a dataset, or a file of starts (.npz), in whose states episodes begin, and the share
            of them that do; of a run that is resumed its own.  The share falls to it where
            `curriculum` has `starts_share`.
        curriculum: options with the easy values that they begin with (`curriculum.py`); of a run
            that is resumed its own.
        resume: go on from the folder's `last.zip`.
        minutes: stop when the run has taken so many, between two rollouts.
        threads: of the simulator; no result depends on it.
        report: told the steps and the log.
        options: the environment's; of a run that is resumed, its own or none.

    Returns:
        The log.

    Raises:
        ValueError: a setting or file that does not fit.
        FileExistsError: the folder holds a run, which is not to be resumed.
        FileNotFoundError: nothing to resume or to begin from.
        OSError: the folder cannot be written.
        KeyboardInterrupt: Ctrl-C; the folder holds a checkpoint, or there is no folder.
    """
    if not resume and (folder / "last.zip").exists():
        raise FileExistsError(f"{str(folder)!r} holds a run: --resume it, or choose another --out")
    changed: dict[str, Any] = {}
    if resume:
        _refuse_beginnings(begin_from, starts, curriculum)
        log, changed = _told_anew(folder, algorithm, env_id, settings, seed, options)
    else:
        _check_starts(starts, curriculum)
        log = _new_log(algorithm, env_id, settings, seed or 0, begin_from, options)
        log["starts"] = starts and {"dataset": starts[0], "share": starts[1]}
        log["curriculum"] = curriculum
    settings, options = log["settings"], log["options"]
    check_options(env_id, options)
    with learner_threads(settings["learner_threads"]), kept_starts(folder, log) as more:
        _carry_out(log, folder, changed, begin_from, resume, minutes, threads, report, more)
    return log


def _carry_out(
    log: dict[str, Any],
    folder: Path,
    changed: dict[str, Any],
    begin_from: Path | None,
    resume: bool,
    minutes: float | None,
    threads: int | None,
    report: Any,
    starts: dict[str, Any],
) -> None:
    """The run of this log: its worlds, its model, its learning, its final score."""
    algorithm, env_id, settings, options = (
        log[name] for name in ("kind", "env", "settings", "options")
    )
    venv = make_sb3_vec_env(env_id, settings["n_envs"], num_threads=threads, **options, **starts)
    if log.get("curriculum"):
        venv = Curriculum(venv, env_id, log["curriculum"], options)
    env = Rewards(venv, settings["reward_scale"])
    if resume:
        computed = constructor_options(settings)
        changed = {name: value for name, value in computed.items() if name in changed}
        if "learning_rate" in changed:
            changed["rate"] = None  # what it has come to by `desired_kl` does not count then
        last = folder / "last.zip"
        model = load_model(last, env_id, env=env, force_reset=False, **changed)
        beside = Beside(**restore_checkpoint(model, last))
    else:
        model, moments = _new_model(
            algorithm, env_id, settings, env, log["seed"], begin_from, threads, options
        )
        beside = Beside(moments)
    _learn(model, log, folder, beside, minutes=minutes, threads=threads, report=report)
    log["final"] = finish(env_id, folder / "best.zip", **options)
    write_json(folder / "log.json", log)


def _learn(
    model: BaseAlgorithm,
    log: dict[str, Any],
    folder: Path,
    beside: Beside,
    *,
    minutes: float | None,
    threads: int | None,
    report: Any,
) -> None:
    """Let a model learn as many steps as are left.

    Raises:
        KeyboardInterrupt: Ctrl-C, after a checkpoint.
    """
    # stable-baselines3's own logger would make a folder before the run has one
    model.set_logger(Logger(None, []))
    left = log["settings"]["n_timesteps"] - model.num_timesteps
    with stop_when_whole() as stop, folders_above(folder / "last.zip"):
        end = End(minutes, stop)
        watch = Watch(log["env"], folder, log, beside, end=end, threads=threads, report=report)
        try:
            model.learn(left, watch, reset_num_timesteps=False, log_interval=4)
        finally:
            if model.env is not None:
                model.env.close()
    if stop.asked:
        raise KeyboardInterrupt


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
    options = constructor_options(settings)
    shape = _shape_ppo if algorithm == "ppo" else _shape_sac
    worlds: Any = env.unwrapped
    shape(options, settings, worlds.envs.task)
    if begin_from is None:
        model = algorithm_class(algorithm)(env=env, seed=seed, device="cpu", **options)
        return model, _first_moments(env_id, seed, env_options)
    asked = {name: options.pop(name, None) for name in ZIPS_OWN}
    model = load_model(begin_from, env_id, env=env, seed=seed, rate=None, **options)
    if type(model) is not algorithm_class(algorithm):
        raise ValueError(f"{str(begin_from)!r} is no policy of {algorithm}")
    _check_kept(repr(str(begin_from)), model, settings, asked)
    model.num_timesteps = 0
    if isinstance(model, PPO) and (
        widen(model.policy, settings["least_spread"]) or lacks_value(model)
    ):
        ahead = Settings(gamma=model.gamma, reward_scale=settings["reward_scale"])
        learn_value(model, env_id, ahead, seed, threads, **env_options)
    return model, None


def _check_kept(
    name: str, model: BaseAlgorithm, settings: dict[str, Any], asked: dict[str, Any]
) -> None:
    """Whether a policy to go on from is what the settings ask for: a law and images are its own.

    Args:
        name: its file's, in quotes.
        asked: `ZIPS_OWN`, as a new policy would have them.

    Raises:
        ValueError: it is not equivariant, holds no pose or another one, or its buffer no images.
    """
    if settings.get("equivariant") and not isinstance(model.policy, EquivariantPolicy):
        raise ValueError(f"{name} is not equivariant: leave that setting out")
    if share := settings.get("hold_pose"):
        law = getattr(model.policy, "law", None) or getattr(model.policy, "constants", None)
        if law is None:
            raise ValueError(
                f"{name} was trained without hold_pose, and --from keeps that: give --set "
                "hold_pose=0, too"
            )
        wanted = asked["policy_kwargs"]
        if not all(np.allclose(law[part], wanted[part]) for part in ("gains", "offset")):
            raise ValueError(
                f"{name} holds its pose by another law than hold_pose={share:g}: give --set "
                "hold_pose=0 with --from, which keeps the file's law"
            )
    mirrored = not isinstance(model, SAC) or model.replay_buffer_kwargs.get("mirror")
    if settings.get("symmetric") and not mirrored:
        raise ValueError(
            f"{name} was trained without mirror images, and its replay buffer keeps its form: give "
            "--set symmetric=false with --from"
        )


def _first_moments(env_id: str, seed: int, env_options: dict[str, Any]) -> Moments:
    """Mean and scale of observations under random actions."""
    envs = make_batch(env_id, FIRST_LOOK, **env_options)
    moments = Moments(envs.single_observation_space.shape[0])
    for run in run_all(envs, None, range(seed, seed + FIRST_LOOK)):
        moments.add(run.observations)
    return moments


def _shape_ppo(options: dict[str, Any], settings: dict[str, Any], task: Any) -> None:
    """Add to PPO's arguments what `hold_pose`, `symmetric`, `equivariant` say of a walker."""
    if settings.get("symmetric"):
        options["mirror"] = mirror_of(task)
    if share := settings.get("hold_pose"):
        most = float(np.exp(settings["policy_kwargs"].get("log_std_init", 0.0)))
        options["policy_kwargs"] |= holding(task, share, most)
        options["policy"] = HoldingPolicy
    if settings.get("equivariant"):
        options["policy_kwargs"] |= images(mirror_of(task))
        options["policy"] = EquivariantHoldingPolicy if share else EquivariantPolicy


def _shape_sac(options: dict[str, Any], settings: dict[str, Any], task: Any) -> None:
    """Add to SAC's arguments what `hold_pose` and `symmetric` say of a walker or a chain.

    Raises:
        ValueError: `equivariant`, which is PPO's.
    """
    if settings.get("equivariant"):
        raise ValueError("equivariant is a setting of ppo: give sac symmetric=true instead")
    mirror = mirror_of(task) if settings.get("symmetric") else None
    share = settings.get("hold_pose")
    law = reaching(task, share) if share else None
    if law:
        options["policy_kwargs"] |= law
        options["policy"] = ReachingPolicy
    if law or mirror:
        options["replay_buffer_class"] = Buffer
        options["replay_buffer_kwargs"] = {"law": law, "mirror": mirror}


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
        # Of the minutes; the rest goes into actions, copies and checkpoints
        **dict.fromkeys(("simulating", "learning", "evaluating"), 0.0),
        "curve": [],
    }


def _check_starts(starts: tuple[str, float] | None, curriculum: dict[str, Any] | None) -> None:
    """Whether starts, and a curriculum of their share, make sense.

    Raises:
        ValueError: one of them without the other.
    """
    falls = "starts_share" in (curriculum or {})
    if falls and starts is None:
        raise ValueError("--curriculum starts_share needs --starts DATASET:SHARE to go to")
    if starts and starts[1] == 0.0 and not falls:
        raise ValueError(
            f"--starts {starts[0]}:0 lets no episode begin there: give a share above 0, or "
            "--curriculum starts_share=0.7, from which the share falls to 0"
        )


def _refuse_beginnings(
    begin_from: Path | None,
    starts: tuple[str, float] | None,
    curriculum: dict[str, Any] | None,
) -> None:
    """What is for new runs alone.

    Raises:
        ValueError: it is given.
    """
    for name, value in (
        ("--from", begin_from),
        ("--starts", starts),
        ("--curriculum", curriculum),
    ):
        if value:
            raise ValueError(f"{name} begins a run, and --resume continues one: choose one of them")


def _told_anew(
    folder: Path,
    algorithm: str,
    env_id: str,
    settings: dict[str, Any],
    seed: int | None,
    options: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The log of a run to go on with, what is told anew in it; and that alone.

    Raises:
        ValueError: something that cannot change within a run.
        FileNotFoundError: no run.
    """
    log = read_log(folder, algorithm, env_id)
    check_same(log, seed, options)
    changed = changed_settings(log, settings)
    steps = log.pop("steps")
    log["settings"] |= changed
    if changed:
        log.setdefault("changes", []).append({"steps": steps, **changed})
    return log, changed
