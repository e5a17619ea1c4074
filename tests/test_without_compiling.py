"""Everything runs as plain Python, too: `NUMBA_DISABLE_JIT=1` gives breakpoints in kernels."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ONE = """
import sys
import gymnasium as gym
import numpy as np
import dynenvs
from dynenvs.agents import reference_controller
from dynenvs.envs.objects import box

options = {"objects": [box(half_size=0.1)]} if "objects" in sys.argv else {}
env = gym.make(sys.argv[1], **options)
expert, state = reference_controller(env), None
observation, _ = env.reset(seed=0)
for _ in range(2):
    action, state = expert.predict(observation, state)
    observation, reward, *_ = env.step(action)
    assert np.isfinite(observation).all() and np.isfinite(reward)
"""
CASES = [
    ["dynenvs/DoublePendulum-v0"],
    ["dynenvs/ChainPendulum-v0"],
    ["dynenvs/PlanarHumanoid-v0"],
    ["dynenvs/PlanarQuadruped-v0"],
    ["dynenvs/Quadruped-v0", "objects"],
    ["dynenvs/Humanoid-v0", "objects"],
]


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_an_expert_acts_in_plain_python(case: list[str]) -> None:
    """Two steps of control, nothing compiled."""
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", ONE, *case]
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "compil" not in done.stderr
