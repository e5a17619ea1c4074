"""The trainers' settings: one YAML file in rl-zoo's format, and what the command line changes.

Under each algorithm an entry an environment, `default` for all others, and under `refine` the same
for runs that go on from a policy.  Names are those of stable-baselines3's constructors, beside
`n_envs`, `n_timesteps`, `reward_scale` and `reward_power`: the algorithm sees scale * reward **
power, where the power rises from its setting to 1 in the first half of the run.  "lin_3e-4" is a
rate, or a distance, that falls linearly to zero.  `learner_threads` is how many torch learns on: a
setting, for the last bits of the weights depend on it.  Of PPO alone: `desired_kl` (`ppo.py`).  Of
PPO and SAC, for walkers: `hold_pose`, a stiffness in (0, 1], or 0 for none (`holding.py`,
`off_policy.py`; exp(`log_std_init`) is then the greatest noise over torque limits, or the first one
over targets' reach), and `symmetric` (samples are mirrored, `mirror.py`).  Of PPO for walkers:
`equivariant` (the policy does in the mirror what it does in front of it, `equivariant.py`).
"""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

import yaml
from stable_baselines3.common.utils import LinearSchedule

from dynenvs.agents.learn.network import policy_options
from dynenvs.agents.policy_network import algorithm_class
from dynenvs.files import refuse_endless
from dynenvs.spelling import shortly

FILE = Path(__file__).with_name("settings.yml")
OWN = (
    "n_envs",
    "n_timesteps",
    "reward_scale",
    "reward_power",
    "least_spread",
    "policy",
    "policy_kwargs",
    "learner_threads",
)
WALKERS = ("hold_pose", "symmetric", "equivariant")  # of walkers
NUMBERS = {"reward_scale": 1.0, "reward_power": 1.0, "least_spread": 0.0}
MOST = 2**62  # of a whole number
FALLING = ("learning_rate", "clip_range", "desired_kl")  # may be "lin_..."


def load_settings(
    algorithm: str,
    env_id: str,
    changes: dict[str, Any] | None = None,
    file: Path | None = None,
    *,
    refine: bool = False,
) -> dict[str, Any]:
    """What to train with.

    Args:
        algorithm: "ppo" or "sac".
        env_id: which environment.
        changes: instead of the file's values; a key of policy_kwargs as "policy_kwargs.net_arch".
        file: another YAML file.
        refine: a policy that acts well already; `refine`'s entry stands over the environment's.

    Raises:
        ValueError: no such algorithm, an unknown or nonsensical setting, no entry.
        OSError: the file cannot be read.
    """
    cls = algorithm_class(algorithm)
    finer, entry = _entries(file or FILE, algorithm, env_id)
    settings: dict[str, Any] = {
        **NUMBERS,
        "policy": "MlpPolicy",
        "learner_threads": 1,
        **entry,
        **(finer if refine else {}),
    }
    own = settings.get("policy_kwargs") or {}
    if not isinstance(own, dict):
        raise ValueError(f"policy_kwargs must be names with values, got {shortly(own)}")
    settings["policy_kwargs"] = dict(own)
    for name, value in (changes or {}).items():
        head, _, tail = name.partition(".")
        if head == "policy_kwargs" and tail:
            settings["policy_kwargs"][tail] = value
        else:
            settings[name] = value
    known = {*OWN, *WALKERS, *_parameters(cls)}
    _check_names(settings, known, algorithm)
    _check_names(settings["policy_kwargs"], _policy_names(cls), f"the policy of {algorithm}")
    for name in ("n_envs", "n_timesteps", "learner_threads"):
        settings[name] = _whole(settings.get(name), name)
    for name, default in {**_parameters(cls), **NUMBERS}.items():
        if name in settings and isinstance(default, int | float) and not isinstance(default, bool):
            settings[name] = _like(default, settings[name], name)
    return settings


def chosen_settings(
    algorithm: str,
    env_id: str,
    texts: list[str],
    file: Path | None,
    *,
    steps: int | None,
    refine: bool,
    resume: bool,
) -> dict[str, Any]:
    """Settings from what the command line says.

    Args:
        algorithm, env_id, file, refine: as of `load_settings`.
        texts: changes, as "gamma=0.9".
        steps: n_timesteps; None if nothing is said of it.
        resume: of a run that goes on: the changes alone, for all else is the run's own.

    Raises:
        ValueError: as of `load_settings`; the steps given twice; a file for a run that goes on.
        OSError: the file cannot be read.
    """
    changes = dict(parse_change(text) for text in texts)
    if steps is not None:
        if "n_timesteps" in changes:
            raise ValueError("--steps and --set n_timesteps=... are the same: give one of them")
        changes["n_timesteps"] = steps
    if resume and file is not None:
        raise ValueError(
            "--config is for a new run: one that is resumed keeps its settings, and --set changes "
            "single ones"
        )
    settings = load_settings(algorithm, env_id, changes, file, refine=refine)
    if not resume:
        return settings
    heads = {name.partition(".")[0] for name in changes}
    return {name: value for name, value in settings.items() if name in heads}


def _parameters(cls: Any) -> dict[str, Any]:
    """What a constructor takes and settings may say, with defaults; what it hands on, too."""
    own = inspect.signature(cls).parameters
    hands_on = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in own.values())
    known = _parameters(cls.__base__) if hands_on else {}
    known.update({name: one.default for name, one in own.items()})
    left_out = {"args", "options", "env", "_init_setup_model", "seed", "mirror"}
    left_out |= {"target_kl"} if hands_on else set()
    return {name: default for name, default in known.items() if name not in left_out}


def _policy_names(cls: Any) -> set[str]:
    """What `policy_kwargs` may hold: of stable-baselines3's policy, and of ours around it."""
    names: set[str] = set()
    for options in (cls.policy_aliases["MlpPolicy"], policy_options):
        names.update(inspect.signature(options).parameters)
    given = {"observation_space", "action_space", "lr_schedule", "more"}
    return names - given - {"activation_fn", "features_extractor_class"}


def _check_names(settings: Any, known: set[str], whose: str) -> None:
    """Make sure that every name is known.

    Raises:
        ValueError: one is not, or `settings` are none.
    """
    if not isinstance(settings, dict):
        raise ValueError(f"{whose}'s settings must be names with values, got {shortly(settings)}")
    for name in settings:
        if name not in known:
            raise ValueError(
                f"{whose} has no setting {name!r}; choose from: {', '.join(sorted(known))}"
            )


def clone_settings(env_id: str) -> dict[str, Any]:
    """What cloning in an environment changes of `clone.Settings`."""
    return dict(_entries(FILE, "clone", env_id)[1])


def _entries(path: Path, algorithm: str, env_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """An environment's entry under an algorithm's `refine`, and the one beside that."""
    none = f"{str(path)!r} has no settings of {algorithm} for {env_id}"
    try:
        refuse_endless(path)
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))[algorithm]
        finer = entries.get("refine") or {"default": {}}
        chosen = [own[env_id] if env_id in own else own["default"] for own in (finer, entries)]
    except (
        yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError
    ) as error:  # fmt: skip
        raise ValueError(none) from error
    if not all(isinstance(own, dict) for own in chosen):
        raise ValueError(f"{none}: they must be names with values")
    return chosen[0], chosen[1]


def parse_change(text: str) -> tuple[str, Any]:
    """A setting as people type it: "learning_rate=1e-3".

    Raises:
        ValueError: no "=", or no YAML after it.
    """
    name, sign, value = text.partition("=")
    try:
        if not (name and sign):
            raise ValueError(text)
        return name, _number(yaml.safe_load(value))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ValueError(f"a setting is name=value, got {shortly(text)}") from None


def constructor_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the algorithm's constructor, without `env`.

    Args:
        settings: as `load_settings` gives them.

    Raises:
        ValueError: a schedule that is none.
    """
    own = {*OWN, *WALKERS}
    options = {name: _number(value) for name, value in settings.items() if name not in own}
    for name in FALLING:
        if isinstance(options.get(name), str):
            options[name] = _falling(options[name], name)
    try:
        kwargs = policy_options(**settings["policy_kwargs"])
    except AttributeError as error:
        raise ValueError(f"policy_kwargs: {error}") from error
    return {"policy": settings["policy"], "policy_kwargs": kwargs, **options}


def _falling(text: str, name: str) -> LinearSchedule:
    """rl-zoo's "lin_3e-4"."""
    prefix, _, value = text.partition("_")
    try:
        if prefix != "lin":
            raise ValueError(text)
        return LinearSchedule(float(value), 0.0, 1.0)
    except ValueError:
        raise ValueError(f'{name} must be a number or as "lin_3e-4", got {text!r}') from None


def _number(value: Any) -> Any:
    """YAML takes 1e-3 for a word; rl-zoo's files are full of them."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _like(default: float, value: Any, name: str) -> Any:
    """A setting whose default is a number; rates may fall, frequencies may have a unit.

    Raises:
        ValueError: no number, or no whole one where the default is.
    """
    number, whole = _number(value), isinstance(default, int)
    if name in FALLING or isinstance(value, list | tuple):
        return value
    right = isinstance(number, int | float) and not isinstance(number, bool)
    if not (right and math.isfinite(number)) or (whole and number != int(number)):
        kind = "whole number" if whole else "number"
        raise ValueError(f"{name} must be a {kind}, got {shortly(value)}")
    return int(number) if whole else number


def _whole(value: Any, name: str) -> int:
    number = _number(value)
    if not isinstance(number, int | float) or not 1 <= number < MOST or number != int(number):
        raise ValueError(f"{name} must be a whole number from 1 on, got {shortly(value)}")
    return int(number)
