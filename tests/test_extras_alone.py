"""Where one extra is installed and another one is not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dynenvs.agents.errors import install_hint

PROGRAM = """
import sys
sys.modules["stable_baselines3"] = None  # as if it were not there
try:
    {}
except ImportError as error:
    print(error)
"""


def test_says_what_to_install() -> None:
    """One line, with the command that installs it from where the package came from."""
    for statement in (
        "from dynenvs.agents import make_sb3_vec_env",
        "from dynenvs.agents.sb3 import make_sb3_vec_env",
    ):
        found = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(statement)],
            capture_output=True,
            text=True,
            check=True,
        )
        (line,) = found.stdout.splitlines()
        assert line.startswith("make_sb3_vec_env needs stable-baselines3 (")
        assert line.endswith(f": {install_hint('sb3')}")


def test_training_and_cloning_need_no_minari() -> None:
    """The extra `train` alone: what learns without a dataset is there."""
    pytest.importorskip("stable_baselines3")
    program = """
import sys
sys.modules["minari"] = sys.modules["h5py"] = None  # as if they were not there
from dynenvs.agents.learn import clone, export_policy, sweep, train
"""
    subprocess.run([sys.executable, "-c", program], check=True)
