"""The page about other libraries: each Python block runs by itself where its library is there."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
NAMES = ("with-other-libraries", "with-cleanrl-torchrl", "with-tianshou-d3rlpy-rllib")
TEXT = "\n".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in NAMES)
SECTIONS = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
BLOCKS = [
    (title, block)
    for title, section in SECTIONS
    for block in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
]
MODULES = {  # what a section's blocks need
    "stable-baselines3": ("stable_baselines3",),
    "skrl": ("skrl", "torch"),
    "rsl_rl": ("rsl_rl", "tensordict"),
    "CleanRL": ("torch",),
    "TorchRL": ("torchrl", "minari"),
    "tianshou": ("tianshou",),
    "d3rlpy": ("d3rlpy", "minari"),
    "RLlib": ("ray.rllib", "pyarrow", "tree"),
}


def missing(module: str) -> bool:
    """Whether a module is not installed."""
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:  # of a package that is not there
        return True


def test_every_library_has_a_block() -> None:
    """Sections and blocks are found at all, and each one's library is known here."""
    assert {title for title, _ in BLOCKS} == set(MODULES)
    assert len(BLOCKS) == len(MODULES) + 1  # two of TorchRL


@pytest.mark.parametrize(("title", "block"), BLOCKS, ids=[title for title, _ in BLOCKS])
@pytest.mark.thorough
def test_block_runs_by_itself(title: str, block: str, tmp_path: Path) -> None:
    """In a fresh interpreter and an empty folder; skipped where the library is not installed."""
    for module in MODULES[title]:
        if missing(module):
            pytest.skip(f"{module} is not installed")
    here = {"MINARI_DATASETS_PATH": str(tmp_path / "datasets"), "SDL_VIDEODRIVER": "dummy"}
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env={**os.environ, **here},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()  # each shows something


def test_linked_files_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (DOCS / target).exists(), target
