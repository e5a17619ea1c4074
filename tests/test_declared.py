"""What a task declares is all that there is of it: terms of its reward, what it sees, endings.

A copy of the double pendulum's file is edited as a person would, and run in plain Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs
from dynenvs.envs.objects import box
from dynenvs.registration import ENVIRONMENTS

SOURCE = Path(dynenvs.__file__).parent / "envs" / "pendulum" / "double_pendulum.py"
EASE = '    RewardTerm("ease", 0.1, "upright, and without effort", effortless),\n'
RUN = """
import json, math
from edited import DoublePendulumEnv
env = DoublePendulumEnv()
env.reset(seed=4)
rows = []
for k in range(5):
    observation, reward, terminated, _, info = env.step([0.5, -0.5])
    terms = {key: float(info[key]) for key in info if key.startswith("reward_")}
    speed = float(env.worlds.states["v"][0, 0])
    rows.append([observation.tolist(), float(reward), terminated, terms, speed])
    if terminated:
        break
print(json.dumps([list(env.observation_slices), rows, info.get("end")]))
"""


def steps(folder: Path, *edits: tuple[str, str]) -> Any:
    """Some steps of the edited task: blocks' names, what each step gave, why the episode ended."""
    text = SOURCE.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "edited.py").write_text(text, encoding="utf-8")
    paths = [str(folder), str(Path(dynenvs.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_term_of_the_reward_is_its_function_and_its_line(tmp_path: Path) -> None:
    """Added, it is in `info` and in the sum, and the others stay; taken away, all is as before."""
    _, before, _ = steps(tmp_path)
    function = (
        "TERMS = (\n",
        "@inlined\ndef _slow(w: TaskWorld, measured: Measured) -> float:\n"
        "    return closeness(w.world.v[0], 1.0)\n\n\nTERMS = (\n",
    )
    line = (EASE, EASE + '    RewardTerm("slow", 0.5, "the shoulder hardly turns", _slow),\n')
    _, with_it, _ = steps(tmp_path, function, line)
    for (_, reward, _, terms, speed), (_, more, _, its, again) in zip(before, with_it, strict=True):
        slow = its.pop("reward_slow")
        assert its == terms
        assert again == speed
        gate = terms["reward_upright"] / 0.7
        assert slow == pytest.approx(0.5 * gate * np.exp(-(speed**2)), rel=1e-12)
        assert more == pytest.approx(reward + slow, rel=1e-12)
    assert steps(tmp_path)[1] == before


def test_a_part_of_the_observation_is_its_function_and_its_line(tmp_path: Path) -> None:
    """Added in front, it comes first, under its name; the others follow as they were."""
    names, before, _ = steps(tmp_path)
    line = ("PARTS = (", "PARTS = (Part(_energy, _write_energy), ")
    functions = (
        "PARTS = (",
        'def _energy(task: Any) -> list[Block]:\n    return [symmetric("speed", 9, "-", "x")]\n\n\n'
        "@inlined\ndef _write_energy(w: TaskWorld, out: Floats, at: int) -> int:\n"
        "    out[at] = w.world.v[0]\n    return at + 1\n\n\nPARTS = (",
    )
    more, with_it, _ = steps(tmp_path, line, functions)
    assert more == ["speed", *names]
    for (seen, _, _, _, speed), (also, *_) in zip(before, with_it, strict=True):
        assert also == [speed, *seen]


def test_an_ending_is_its_function_and_its_line(tmp_path: Path) -> None:
    """A fall where the shoulder turns at all: in the first step."""
    _, before, _ = steps(tmp_path)
    assert not any(row[2] for row in before)
    edits = (
        ("import TOO_FAST\n", "import FELL, TOO_FAST\n"),
        (
            "ENDINGS = (Ending(TOO_FAST, _is_too_fast),)",
            "@inlined\ndef _turns(w: TaskWorld) -> bool:\n"
            "    return bool(w.world.v[0] != 0.0)\n\n\n"
            "ENDINGS = (Ending(TOO_FAST, _is_too_fast), Ending(FELL, _turns))",
        ),
    )
    _, ended, why = steps(tmp_path, *edits)
    assert ended[0][2]
    assert why == "fall"


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_parts_fill_the_observation(name: str) -> None:
    """As many entries are written as are declared: no more, which would be the next world's."""
    options: list[dict[str, Any]] = [{}]
    if name in ("dynenvs/Quadruped-v0", "dynenvs/Humanoid-v0"):
        loose = {"objects": [box(half_size=0.1)], "observe_objects": True}
        options += [{"terrain": "stairs"}, loose]
    if "Planar" in name:
        options.append({"free_pitch": True})
    for chosen in options:
        envs: Any = gym.make_vec(name, num_envs=3, **chosen).unwrapped
        worlds = envs.worlds
        worlds._rows.observations[:] = np.nan
        envs.reset(seed=0)
        assert np.isfinite(worlds.observations).all()
        mask = np.array([False, True, False])
        worlds._rows.observations[:] = np.nan
        envs.reset(options={"reset_mask": mask})
        assert np.isfinite(worlds.observations[1]).all()
        assert np.isnan(worlds.observations[[0, 2]]).all()
