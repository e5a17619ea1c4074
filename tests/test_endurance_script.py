"""The script of long runs (`python -m studies.endurance`) runs, for a moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROBOT = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 0.5"><freejoint/>
<geom type="box" size="0.2 0.1 0.05"/></body></worldbody></mujoco>"""


@pytest.mark.thorough
def test_a_line_a_case(tmp_path: Path) -> None:
    """An environment, a robot from a file, heaps, chains; a file that is missing is told."""
    file = tmp_path / "box.xml"
    file.write_text(ROBOT, encoding="utf-8")
    cases = ["--envs", "dynenvs/DoublePendulum-v0", "--robots", str(file), "nowhere.xml"]
    arguments = ["--steps", "800", "--worlds", "2", *cases, "--scenes"]
    run = subprocess.run(
        [sys.executable, "-m", "studies.endurance", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    env, box, missing, heaps, chains = run.stdout.splitlines()
    counted = "MB; degraded 0, failed 0, overflow 0, sunk 0, coarse 0, beyond 0, refused 0"
    for line in (env, box, heaps, chains):
        assert counted in line
    assert missing.startswith("nowhere.xml: not run: cannot read")
