r"""Starts without demonstrations: the humanoid in the middle of a walk that is only sketched.

Each foot goes along a line on the ground and back above it, the legs follow by their lengths alone,
and no body need be able to move so.  docs/lab/learning.md says what is learned from it.

    python examples/starts_from_a_sketch.py sketch.npz
    dynenvs train ppo humanoid --starts sketch.npz:0 --curriculum starts_share=0.7 \
        --option 'reward_weights={"rhythm": 1}'
"""

import sys
from pathlib import Path

import gymnasium as gym
import numpy as np

import dynenvs  # noqa: F401  (registers the environments)
from dynenvs.envs.robots.humanoid import ANKLE, SHANK, THIGH

HALF, LIFT = 0.5, 0.06  # time that a foot stands, and that it swings [s]; lift in mid-swing [m]
SWAY, LOWER = 0.2, 0.02  # of the pelvis: to the side between steps [m/s], than standing [m]
TURN = 1e-4  # of the gait's clock, over which joint speeds are differences: a second a turn
LEFT, RIGHT, PITCHES = 7, 13, slice(2, 5)  # legs in q; hip, knee and ankle within one


def pitches(clock: np.ndarray, speed: np.ndarray, hip: np.ndarray) -> np.ndarray:
    """Hip, knee and ankle of a leg whose foot touches down at clock 0 [rad], shape (n, 3)."""
    clock, swing = clock % 1.0, np.clip(2.0 * (clock % 1.0) - 1.0, 0.0, 1.0)
    ahead = HALF * speed * np.where(clock < 0.5, 0.5 - 2.0 * clock, swing - 0.5)
    below = hip - ANKLE - LIFT * np.sin(np.pi * swing)
    reach = np.hypot(ahead, below)
    bend = (THIGH**2 + SHANK**2 - reach**2) / (2.0 * THIGH * SHANK)  # law of cosines
    inner = (THIGH**2 + reach**2 - SHANK**2) / (2.0 * THIGH * reach)
    thigh = -np.arctan2(ahead, below) - np.arccos(np.clip(inner, -1.0, 1.0))
    knee = np.pi - np.arccos(np.clip(bend, -1.0, 1.0))
    return np.stack([thigh, knee, -thigh - knee], axis=1)  # the sole stays level


def main(path: str = "sketch.npz", count: int = 2000, seed: int = 0) -> Path:
    """Write so many starts, of drawn commands and moments of the gait's clock."""
    envs = gym.make_vec("dynenvs/Humanoid-v0", num_envs=count)
    envs.reset(seed=seed)
    states = envs.get_state()
    q, v, task = states["world"]["q"], states["world"]["v"], states["task"]
    task["phase"] = np.random.default_rng(seed).uniform(size=count)
    q[:, 2] -= LOWER
    for leg, late in ((LEFT, 0.0), (RIGHT, 0.5)):
        clock, joints = task["phase"] + late, np.arange(leg, leg + 6)[PITCHES]
        q[:, joints] = now = pitches(clock, task["forward"], q[:, 2])
        v[:, joints - 1] = (pitches(clock + TURN, task["forward"], q[:, 2]) - now) / TURN
    v[:, 0], v[:, 5] = task["forward"], task["turning"]
    v[:, 1] = task["sideways"] + SWAY * np.cos(2.0 * np.pi * task["phase"])
    envs.set_state(states)
    envs.save_starts(path)
    return Path(path)


if __name__ == "__main__":
    print(f"wrote {main(*sys.argv[1:2])}")
