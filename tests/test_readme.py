"""The README and the guides: every Python block runs as it stands, the table is true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOW_TO = (
    "how-to",
    *(f"how-to-{word}" for word in ("compute", "disturb", "robots", "scenes", "see")),
)
GUIDES = (
    *HOW_TO,
    *("contact", "disturbances", "experts", "from-mujoco", "index", "mujoco-tasks"),
    *("own-pd", "own-task", "robots", "viewer"),
)


def blocks(name: str, page: str) -> dict[str, str]:
    """Python blocks by the page and the headings that they stand under."""
    found = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    titles = [re.findall(r"^#+ (.+)$", page[: page.index(b)], re.MULTILINE)[-1] for b in found]
    named = zip(titles, found, strict=True)
    return {f"{name}: {title} ({i})": block for i, (title, block) in enumerate(named)}


NEEDS = {  # words of a block, and the library that they are of
    "stable_baselines3": "stable_baselines3",
    ".xml": "mujoco",
    "Mujoco": "mujoco",
    "RecordVideo": "moviepy",
}
BLOCKS = blocks("README", README)
for guide in GUIDES:
    BLOCKS |= blocks(guide, (ROOT / f"docs/{guide}.md").read_text(encoding="utf-8"))
GO2 = Path(__file__).parent / "go2.xml"  # the file that a user has in docs/own-pd.md


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_python_block_runs_by_itself(block: str, tmp_path: Path) -> None:
    """In a fresh interpreter, in an empty folder, without a warning turned error."""
    for word, module in NEEDS.items():
        if word in block:
            pytest.importorskip(module)
    shutil.copy(GO2, tmp_path / "go2.xml")
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy"}
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_environment_table_is_true() -> None:
    """The sizes and periods in the table are those of the environments."""
    from dynenvs.agents.evaluation.episode import make
    from dynenvs.registration import ENVIRONMENTS

    for env_id in ENVIRONMENTS:
        env = make(env_id)
        shape, actions = env.observation_space.shape, env.action_space.shape
        assert shape is not None
        assert actions is not None
        row = rf"\| `{env_id}` \| .* \| {actions[0]} \| {shape[0]} \| {1e3 * env.dt:.0f} ms \|"
        assert re.search(row, README), row
