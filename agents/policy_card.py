"""Policies as safetensors files with a card: opening one runs no code.

The tensors are what the policy needs to act, by the names of stable-baselines3's `state_dict`;
critics and optimizers are left out.  The card, JSON in the file's metadata under `dynenvs`, says
what network they are of: algorithm, network, spaces, environment and its options, how it was made.
Everything in the file is looked at before it is used, so a stranger's may be opened.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import check_for_correct_spaces

from dynenvs.agents.policy_network import (
    LAW,
    POLICIES,
    Place,
    Tensors,
    Words,
    algorithm_class,
    chosen,
    class_named,
    law_shapes,
    network_of,
    policy_options,
    space_of,
    space_words,
)
from dynenvs.files import written_whole
from dynenvs.spelling import shortly

CARD, FORMAT = "dynenvs", 1


def write_policy(model: BaseAlgorithm, path: Path, note: Words) -> None:
    """Write what a model needs to act, whole or not at all.

    Args:
        model: PPO or SAC, with a policy of `POLICIES` that takes one array.
        path: the file.
        note: `env_id`, `algorithm` and whatever else is to be told of it, as JSON takes it.

    Raises:
        ValueError: a network that a card cannot name.
        OSError: it cannot be written.
    """
    tensors, network = network_of(model, note["algorithm"])
    state = model.policy.state_dict()
    # Copies: features that actor and critic share have two names, and safetensors share nothing
    tensors |= {name: value.cpu().clone() for name, value in state.items() if _acts(name)}
    words = {
        **note,
        "format": FORMAT,
        "network": network,
        "observation_space": space_words(model.observation_space),
        "action_space": space_words(model.action_space),
    }
    # As bytes first: the file appears by ways that know what to do when the disk is full
    content = safetensors.torch.save(tensors, {CARD: json.dumps(words)})
    with written_whole(path) as draft:
        draft.write_bytes(content)


def read_card(path: Path) -> Words:
    """The card of a policy's file: whole, of a known format and algorithm.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no safetensors file, a broken one, or none of dynenvs.
    """
    return _read(path)[0]


def load_card(path: Path, env: Any = None, device: str = "cpu", **options: Any) -> BaseAlgorithm:
    """stable-baselines3's model of a file: PPO with a value function of zeros, or SAC.

    Args:
        path: the file.
        env: on which to train; PPO alone.
        device: torch's.
        options: attributes of the model that are to be others than its class's defaults.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a policy's file, or a damaged one; the line says what is wrong where.
    """
    card, tensors = _read(path)
    try:
        if env is not None and card["algorithm"] != "ppo":
            raise ValueError("it holds what acts, but no critics to train: continue from the zip")
        model, stays = _empty_model(card, tensors, env, device, options)
        _fill(model.policy, stays)
    except ValueError as error:
        raise ValueError(f"{str(path)!r}: {error}") from None
    return model


def _read(path: Path) -> tuple[Words, Tensors]:
    """Card and tensors of a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: as of `read_card`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with safetensors.safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(CARD)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError, ValueError, TypeError, RuntimeError) as error:
        why = str(error).partition("\n")[0]
        raise ValueError(f"{str(path)!r} is no safetensors file, or a broken one: {why}") from None
    if text is None:
        raise ValueError(
            f"{str(path)!r} has no card of dynenvs in its metadata: it is no policy of dynenvs"
        )
    try:
        return _checked_card(json.loads(text)), tensors
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the card of {str(path)!r}: {error}") from None


def _checked_card(card: Any) -> Words:
    """A card whose entries are there, each of its kind; the network's are checked when it is made.

    Raises:
        ValueError: says which is not, and what would be right.
    """
    kinds = {"format": int, "algorithm": str, "env_id": str, "options": dict, "network": dict}
    kinds |= {"observation_space": dict, "action_space": dict, "steps": int}
    if not isinstance(card, dict):
        raise ValueError("it must be a JSON object")
    for name, kind in kinds.items():
        if not isinstance(card.get(name), kind):
            raise ValueError(
                f"{name} must be of type {kind.__name__}, got {shortly(card.get(name))}"
            )
    if card["format"] != FORMAT:
        raise ValueError(f"format {card['format']} is unknown: this version reads {FORMAT}")
    chosen(card["algorithm"], POLICIES, "algorithm")
    return card


def _acts(name: str) -> bool:
    """Whether acting needs a tensor; critics keep their scaling of observations."""
    return "running_" in name or not ("value_net" in name or "critic" in name)


def _empty_model(
    card: Words, tensors: Tensors, env: Any, device: str, options: Words
) -> tuple[BaseAlgorithm, Tensors]:
    """A model of the card's network, and the tensors that go into it.

    torch's random numbers go on as if no network had been made.

    Raises:
        ValueError: a card of no network.
    """
    network, known = card["network"], POLICIES[card["algorithm"]]
    policy = chosen(network.get("policy"), known, "policy")
    sde, every = network.get("use_sde"), network.get("sde_sample_freq")
    if not (isinstance(sde, bool) and type(every) is int and -1 <= every < 2**31):
        raise ValueError(
            f"use_sde and sde_sample_freq must be such as false, -1, got {sde!r}, {every!r}"
        )
    spaces = [space_of(card[name], name) for name in ("observation_space", "action_space")]
    arguments = policy_options(network)
    shapes = law_shapes(policy, spaces)
    _check_all({name: value for name, value in tensors.items() if name.startswith(LAW)}, shapes)
    arguments |= {name.removeprefix(LAW): tensors[name].numpy() for name in shapes}
    stays = {name: value for name, value in tensors.items() if name not in shapes}
    kind: Any = algorithm_class(card["algorithm"])
    if env is not None:
        env = kind._wrap_env(env, 0)
        check_for_correct_spaces(env, *spaces)
    model = kind(class_named(known[policy], policy), env, device=device, _init_setup_model=False)
    model.observation_space, model.action_space = spaces
    model.policy_kwargs, model.use_sde, model.sde_sample_freq = arguments, sde, every
    model.num_timesteps = card["steps"]
    if card["algorithm"] == "sac":
        arguments["use_sde"] = sde
    if env is None:
        model.n_envs = 1
        if card["algorithm"] == "sac":  # no place for samples that nobody will gather
            model.buffer_size, model.target_entropy = 1, -float(np.prod(spaces[1].shape))
    model.__dict__.update(options)
    with torch.random.fork_rng(devices=[]):
        try:
            model._setup_model()
        except (
            AssertionError,
            AttributeError,
            OverflowError,  # a number that float32 does not hold
            RuntimeError,
            TypeError,
        ) as error:
            raise ValueError(f"no network can be made as its card says: {error}") from None
    if model.seed is not None:
        model.set_random_seed(model.seed)
    return model, stays


def _fill(policy: Any, tensors: Tensors) -> None:
    """Give a network its tensors; a value function becomes zero, critics of SAC stay as they are.

    Raises:
        ValueError: one that is missing, too many, of another shape or type, or not finite.
    """
    own = policy.state_dict()
    _check_all(
        tensors, {name: (tuple(v.shape), (v.dtype,)) for name, v in own.items() if _acts(name)}
    )
    rest = {name: torch.zeros_like(value) for name, value in own.items() if "value_net" in name}
    policy.load_state_dict({**own, **rest, **tensors})
    if getattr(policy, "use_sde", False):
        with torch.random.fork_rng(devices=[]):
            policy.reset_noise()


def _check_all(tensors: Tensors, places: dict[str, Place]) -> None:
    """Whether tensors fit their places.

    Raises:
        ValueError: says of one what it is, and what would be right.
    """
    for name in sorted(tensors.keys() - places.keys()):
        raise ValueError(f"tensor {shortly(name)} has no place in the network of the card")
    for name, (shape, dtypes) in places.items():
        if name not in tensors:
            raise ValueError(f"tensor {name!r} is missing; it would be of shape {shape}")
        value = tensors[name]
        if tuple(value.shape) != shape:
            found = shortly(tuple(value.shape))
            raise ValueError(f"tensor {name!r} has shape {found}, {shape} would be right")
        if value.dtype not in dtypes:
            right = " or ".join(map(str, dtypes))
            raise ValueError(f"tensor {name!r} is of {value.dtype}, {right} would be right")
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"tensor {name!r} has entries that are not finite")
