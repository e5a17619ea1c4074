"""What the card of a policy's file says of networks: words, and the constructors that they name.

A card chooses among the classes that stand here, and gives numbers that are looked at: whatever it
says, no other code is run.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm

from dynenvs.spelling import shortly

# Classes, and the packages that they come from
ALGORITHMS = {
    "ppo": ("dynenvs.agents.learn.ppo", "PPO"),  # which loads stable-baselines3's zips, too
    "sac": ("stable_baselines3", "SAC"),
}
# What a card may name: classes that the file's own words choose among, and no others
POLICIES = {
    "ppo": {
        "ActorCriticPolicy": "stable_baselines3.common.policies",
        "HoldingPolicy": "dynenvs.agents.learn.holding",
        "EquivariantPolicy": "dynenvs.agents.learn.equivariant",
        "EquivariantHoldingPolicy": "dynenvs.agents.learn.equivariant",
    },
    "sac": {
        "SACPolicy": "stable_baselines3.sac.policies",
        "ReachingPolicy": "dynenvs.agents.learn.off_policy",
    },
}
EXTRACTORS = {
    "FlattenExtractor": "stable_baselines3.common.torch_layers",
    "Standardize": "dynenvs.agents.learn.network",
}
ACTIVATIONS = ("ELU", "GELU", "LeakyReLU", "Mish", "ReLU", "SiLU", "Softplus", "Tanh")
LAWS = {
    "HoldingPolicy": ("gains", "offset", "noise"),
    "ReachingPolicy": ("gains", "offset", "reach"),
    "EquivariantPolicy": ("seen", "done"),
    "EquivariantHoldingPolicy": ("gains", "offset", "noise", "seen", "done"),
}
LAW = "law."  # before the names of a law's tensors, which are the constructor's arguments
# Arguments of networks that are words or numbers, and what they must be
PLAIN: dict[str, type] = {
    "clip_mean": float,
    "full_std": bool,
    "log_std_init": float,
    "normalize_images": bool,
    "ortho_init": bool,
    "share_features_extractor": bool,
    "squash_output": bool,
    "use_expln": bool,
}
DTYPES = ("float32", "float64")
MOST_ENTRIES, MOST_WIDTH, MOST_LAYERS = 100_000, 4096, 8

Words = dict[str, Any]
Tensors = dict[str, torch.Tensor]
Place = tuple[tuple[int, ...], tuple[torch.dtype, ...]]  # a tensor's shape, the types it may be of


def algorithm_class(name: str) -> type[BaseAlgorithm]:
    """stable-baselines3's class, or one of our own.

    Raises:
        ValueError: neither of the two.
    """
    if name not in ALGORITHMS:
        raise ValueError(f"unknown algorithm {name!r}; choose from: {', '.join(ALGORITHMS)}")
    found: type[BaseAlgorithm] = class_named(*ALGORITHMS[name])
    return found


def class_named(package: str, name: str) -> Any:
    return getattr(importlib.import_module(package), name)


def chosen(name: Any, known: Any, what: str) -> str:
    """A name that is among the known ones.

    Raises:
        ValueError: it is not.
    """
    if not (isinstance(name, str) and name in known):
        raise ValueError(f"{what} {shortly(name)} is not known; choose from: {', '.join(known)}")
    return name


def network_of(model: BaseAlgorithm, algorithm: str) -> tuple[Tensors, Words]:
    """The tensors and the words by which a policy's constructor is called again.

    Raises:
        ValueError: it cannot be called by words alone.
    """
    kind = chosen(model.policy_class.__name__, POLICIES[algorithm], "policy class")
    if type(model.policy) is not class_named(POLICIES[algorithm][kind], kind):
        raise ValueError(f"policy class {kind} is not that of {POLICIES[algorithm][kind]}")
    left = {name: value for name, value in model.policy_kwargs.items() if value is not None}
    # Of no use to who acts, or told below
    for name in ("optimizer_class", "optimizer_kwargs", "n_critics", "use_sde"):
        left.pop(name, None)
    laws = LAWS.get(kind, ())
    tensors = {LAW + name: torch.as_tensor(np.asarray(left.pop(name))) for name in laws}
    extractor = left.pop("features_extractor_class", None)
    activation = left.pop("activation_fn", type(_activation(model.policy)))
    arch = left.pop("net_arch", None)
    words = {
        "policy": kind,
        "features_extractor": chosen(
            extractor.__name__ if extractor else "FlattenExtractor", EXTRACTORS, "extractor"
        ),
        "activation": chosen(activation.__name__, ACTIVATIONS, "activation"),
        "net_arch": _checked_arch(model.policy.net_arch if arch is None else arch, kind),
        "use_sde": bool(getattr(model, "use_sde", False)),
        "sde_sample_freq": int(getattr(model, "sde_sample_freq", -1)),
    }
    for name, value in left.items():
        words[chosen(name, PLAIN, "a policy's argument")] = value
    return tensors, words


def _activation(policy: Any) -> Any:
    """The activation of a policy that took its class's default one."""
    return (getattr(policy, "activation_fn", None) or torch.nn.ReLU)()


def space_words(space: Any) -> Words:
    """A box as JSON; null is no bound.

    Raises:
        ValueError: it is none of one dimension.
    """
    if not (isinstance(space, gym.spaces.Box) and len(space.shape) == 1):
        raise ValueError(f"spaces must be boxes of one dimension, got {space}")

    def bounds(values: NDArray[Any]) -> list[float | None]:
        return [float(value) if np.isfinite(value) else None for value in values]

    return {"dtype": str(space.dtype), "low": bounds(space.low), "high": bounds(space.high)}


def space_of(words: Words, what: str) -> gym.spaces.Box:
    """The box that `_space_words` told of.

    Raises:
        ValueError: those are no such words.
    """
    dtype = chosen(words.get("dtype"), DTYPES, f"{what}'s dtype")
    sides = []
    for side, none in (("low", -np.inf), ("high", np.inf)):
        values = words.get(side)
        if not (isinstance(values, list) and 0 < len(values) <= MOST_ENTRIES):
            raise ValueError(f"{what}'s {side} must be a list of bounds, got {shortly(values)}")
        if not all(value is None or _finite(value) for value in values):
            raise ValueError(f"{what}'s {side} must hold only finite numbers and null")
        sides.append(np.array([none if v is None else v for v in values], dtype))
    low, high = sides
    if low.shape != high.shape or not (low <= high).all():
        raise ValueError(f"{what}'s low and high must be equally long, no low above its high")
    return gym.spaces.Box(low, high, dtype=getattr(np, dtype))


def _finite(value: Any) -> bool:
    """Whether a JSON value is a number that float64 holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _checked_arch(arch: Any, policy: str) -> Any:
    """Widths of hidden layers, as stable-baselines3 takes them for a class of policies.

    Raises:
        ValueError: they are not.
    """
    parts = list(arch.values()) if isinstance(arch, dict) else [arch]
    other = "vf" if policy in POLICIES["ppo"] else "qf"
    named = not isinstance(arch, dict) or ("pi" in arch and set(arch) <= {"pi", other})
    if named and all(isinstance(part, list | tuple) and len(part) <= MOST_LAYERS for part in parts):
        widths = [width for part in parts for width in part]
        if all(type(width) is int and 0 < width <= MOST_WIDTH for width in widths):
            return arch
    raise ValueError(
        f"net_arch must be at most {MOST_LAYERS} widths from 1 to {MOST_WIDTH} as [64, 64], or "
        f'such of "pi" and "{other}", got {shortly(arch)}'
    )


def policy_options(network: Words) -> Words:
    """A policy's arguments, but for the arrays of a law.

    Raises:
        ValueError: a card's words that are no such arguments.
    """
    extractor = chosen(network.get("features_extractor"), EXTRACTORS, "features_extractor")
    found: Words = {
        "features_extractor_class": class_named(EXTRACTORS[extractor], extractor),
        "activation_fn": getattr(
            torch.nn, chosen(network.get("activation"), ACTIVATIONS, "activation")
        ),
        "net_arch": _checked_arch(network.get("net_arch"), network["policy"]),
    }
    own = {"policy", "features_extractor", "activation", "net_arch", "use_sde", "sde_sample_freq"}
    for name in network.keys() - own:
        kind, value = PLAIN[chosen(name, PLAIN, "a policy's argument")], network[name]
        right = isinstance(value, bool) if kind is bool else _finite(value)
        if not right:
            raise ValueError(f"{name} must be a {kind.__name__}, got {shortly(value)}")
        found[name] = value
    return found


def law_shapes(policy: str, spaces: list[gym.spaces.Box]) -> dict[str, Place]:
    """The places of the tensors that a policy's constructor takes."""
    seen, acted = (space.shape[0] for space in spaces)
    shapes = {"gains": (acted, seen), "seen": (seen,)}
    return {
        LAW + name: (shapes.get(name, (acted,)), (torch.float32, torch.float64))
        for name in LAWS.get(policy, ())
    }
