"""Observation blocks: the docstrings' tables say what is declared, and observations hold it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.blocks import block, slices_of, space_of, symmetric
from dynenvs.envs.robots.chain import GRAVITY
from dynenvs.registration import ENVIRONMENTS

BALL: dict[str, Any] = {"shape": "sphere", "radius": 0.1, "mass": 1.0, "position": (2.0, 1.0)}
SEEN = {"objects": [BALL, {**BALL, "position": (-2.0, 1.0)}], "observe_objects": True}
FREE = {"free_pitch": True}
ROUGH = {"terrain": "rough"}
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ENVIRONMENTS),
    ("dynenvs/PlanarHumanoid-v0", FREE),
    ("dynenvs/PlanarQuadruped-v0", FREE),
    ("dynenvs/Quadruped-v0", ROUGH),
    ("dynenvs/Quadruped-v0", SEEN),
    ("dynenvs/Humanoid-v0", ROUGH),
    ("dynenvs/Humanoid-v0", SEEN),
]
# What the line before a table says, where the table belongs to an option
OPTIONAL = {"free_pitch": "`free_pitch`", "terrain": "On terrain", "objects": "`observe_objects`"}


class Row(NamedTuple):
    """A row of a table: entries first..last-1 of the observation."""

    first: int
    last: int
    low: str
    high: str
    unit: str
    noise: str


def section(env: DynEnv, title: str) -> str:
    """A section of an environment's docstring."""
    text = type(env).__doc__ or ""
    found = re.search(rf"## {title}\n(.*?)(?=\n    ## |\Z)", text, re.DOTALL)
    assert found is not None
    return found[1]


def tables(env: DynEnv) -> Iterator[tuple[str, list[list[str]]]]:
    """The tables of "Observation Space", each with the line before it."""
    before, rows = "", list[list[str]]()
    for line in [*section(env, "Observation Space").splitlines(), ""]:
        text = line.strip()
        if text.startswith("|"):
            rows.append([cell.strip() for cell in text.strip("|").split("|")])
        elif rows:
            yield before, rows[2:]  # without the head and the line below it
            rows = []
        if text and not rows:
            before = text


def table_rows(env: DynEnv, options: dict[str, Any]) -> list[Row]:
    """All rows that there are with these options; those of one object once for each."""
    found: list[Row] = []
    for before, rows in tables(env):
        optional = [name for name, words in OPTIONAL.items() if words in before]
        if any(name not in options for name in optional):
            continue
        for _ in range(len(options["objects"]) if "objects" in optional else 1):
            for number, _, low, high, unit, noise in rows:
                at = found[-1].last if found else 0
                if number.startswith("+"):
                    first, last = at, at + int(number)
                else:
                    first, _, end = number.partition("-")
                    first, last = int(first), int(end or first) + 1
                found.append(Row(first, last, low, high, unit, noise))
    return found


def agrees(cell: str, bounds: np.ndarray[Any, Any]) -> bool:
    """Whether the numbers of a cell are these bounds, to the digits that are printed."""
    numbers = cell.split()
    digits = [len(number.partition(".")[2]) for number in numbers]
    if len(numbers) not in (1, len(bounds)):
        return False
    return all(
        abs(float(number) - bound) <= 0.5000001 * 10.0**-digit
        for number, digit, bound in zip(
            numbers * len(bounds) if len(numbers) == 1 else numbers,
            digits * len(bounds) if len(numbers) == 1 else digits,
            bounds,
            strict=True,
        )
    )


def is_repeated(row: Row, start: int, low: Any, high: Any) -> bool:
    """Whether a row's bounds are those of the block's entries before it, again and again."""
    before = slice(start, row.first)
    times, rest = divmod(row.last - row.first, row.first - start)
    same = [np.tile(bounds[before], times) for bounds in (low, high)]
    here = slice(row.first, row.last)
    return rest == 0 and np.array_equal([low[here], high[here]], same)


def is_mirrored(row: Row, low: Any, high: Any) -> bool:
    """Whether a row's bounds are those of as many entries before it, some with the other sign."""
    size = row.last - row.first
    for k in range(row.first, row.last):
        one = low[k - size], high[k - size]
        if (low[k], high[k]) not in (one, (-one[1], -one[0])):
            return False
    return True


@pytest.mark.parametrize(("name", "options"), CASES)
def test_tables_say_what_is_declared(name: str, options: dict[str, Any]) -> None:
    """Rows tile the observation; numbers and units are the declared blocks'."""
    env: Any = gym.make(name, **options).unwrapped
    space, blocks, slices = env.observation_space, env.observation_blocks, env.observation_slices
    assert list(slices) == [one.name for one in blocks]
    np.testing.assert_array_equal(space.low, np.concatenate([one.low for one in blocks]))
    np.testing.assert_array_equal(space.high, np.concatenate([one.high for one in blocks]))
    units = [unit for one in blocks for unit in one.units]
    noise = np.concatenate([one.noise for one in blocks])
    starts = [slices[one.name].start for one in blocks for _ in range(one.size)]
    rows = table_rows(env, options)
    assert [row.first for row in rows] == [0, *(row.last for row in rows[:-1])]
    assert rows[-1].last == space.shape[0]
    for row in rows:
        here = slice(row.first, row.last)
        assert set(units[here]) == {row.unit}, row
        assert set(noise[here]) == {0.0 if row.noise == "-" else float(row.noise)}, row
        if row.low.startswith("as "):
            assert row.high == row.low
            assert is_repeated(row, starts[row.first], space.low, space.high), row
        elif row.low == "mirrored":
            assert row.high == "mirrored"
            assert is_mirrored(row, space.low, space.high), row
        else:
            assert agrees(row.low, space.low[here]), row
            assert agrees(row.high, space.high[here]), row
    if "objects" not in options:
        shapes = re.findall(r"`Box\(\((\d+),\), float64\)`", section(env, "Observation Space"))
        assert str(space.shape[0]) in shapes


def test_the_check_sees_wrong_tables() -> None:
    """Numbers within the last printed digit pass, others do not."""
    assert agrees("-2.818", np.array([-2.8180001]))
    assert agrees("-.7 -.45 -2", np.array([-0.7, -0.45, -2.0]))
    assert not agrees("-2.81", np.array([-2.818]))
    assert not agrees("-.7 -.45", np.array([-0.7, -0.45, -2.0]))
    row = Row(2, 4, "mirrored", "mirrored", "rad", "-")
    assert is_mirrored(row, [-1.0, -2.0, -3.0, -2.0], [3.0, 2.0, 1.0, 2.0])
    assert not is_mirrored(row, [-1.0, -2.0, -3.0, -2.0], [3.0, 2.0, 1.0, 2.5])
    assert is_repeated(row, 0, np.array([1, 2, 1, 2]), np.array([3, 4, 3, 4]))
    assert not is_repeated(row, 0, np.array([1, 2, 1, 2]), np.array([3, 4, 3, 5]))


def played(name: str, steps: int = 5, **options: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """An environment, what its blocks hold after a few random steps, and what `info` says."""
    env: Any = gym.make(name, **options).unwrapped
    env.action_space.seed(1)
    env.reset(seed=1)
    for _ in range(steps):
        observation, *_, info = env.step(env.action_space.sample())
    slices = env.observation_slices
    return env, {one: observation[where] for one, where in slices.items()}, info


@pytest.mark.parametrize("name", ["dynenvs/Quadruped-v0", "dynenvs/Humanoid-v0"])
def test_blocks_of_robots_in_space_hold_what_their_names_say(name: str) -> None:
    env, seen, info = played(name, steps=20, push_impulse=5.0, push_interval=0.03)
    nu, row, task = env.model.nu, env.worlds.states[0], env.worlds.task_states[0]
    w, x, y, z = row["q"][3:7]  # the base's rotation matrix, written out
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    phase = 2 * np.pi * task["phase"]
    low, high = env.model.lower[6:], env.model.upper[6:]
    expected = {
        "height": row["q"][2:3],
        "upward direction": rotation[2],
        "joint angles": np.clip(row["q"][7 : 7 + nu], low, high),
        "velocity": rotation.T @ row["v"][:3],
        "angular velocity": row["v"][3:6],
        "joint velocities": row["v"][6 : 6 + nu],
        "gait phase": [np.sin(phase), np.cos(phase)],
        "command": info["command"],
    }
    for name_of, values in expected.items():
        np.testing.assert_allclose(seen[name_of], values, atol=1e-12, err_msg=name_of)
    loaded = seen["foot contacts"] == 1.0
    assert set(seen["foot contacts"]) <= {0.0, 1.0}
    assert (info["contact_forces"][loaded, 2] > 0.0).all()
    assert set(seen) == {*expected, "foot contacts"}


@pytest.mark.thorough
def test_blocks_of_ground_and_objects_hold_what_their_names_say() -> None:
    env, seen, _ = played("dynenvs/Quadruped-v0", **ROUGH)
    assert seen["height scan"].shape == (17 * 11,)
    # In the middle of the grid: the ground right below the trunk's centre
    assert seen["height scan"][93] == pytest.approx(-seen["height"][0])
    env, seen, info = played("dynenvs/Quadruped-v0", **SEEN)
    for k in range(2):
        far = np.linalg.norm(info["objects"][k, :3] - env.worlds.states["q"][0, :3])
        assert np.linalg.norm(seen[f"object {k} place"]) == pytest.approx(far)
        axes = seen[f"object {k} axes"].reshape(2, 3)
        np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
        assert seen[f"object {k} velocity"].shape == (3,)
        assert seen[f"object {k} angular velocity"].shape == (3,)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("name", ["dynenvs/PlanarQuadruped-v0", "dynenvs/PlanarHumanoid-v0"])
def test_blocks_of_planar_walkers_hold_what_their_names_say(name: str, free: bool) -> None:
    env, seen, info = played(name, free_pitch=free)
    row, root = env.worlds.states[0], 3 if free else 2
    phase = 2 * np.pi * env.worlds.task_states[0]["phase"]
    low, high = env.model.lower[root:], env.model.upper[root:]
    expected = {
        "height": row["q"][1:2],
        "joint angles": np.clip(row["q"][root:], low, high),
        "velocity": row["v"][:2],
        "joint velocities": row["v"][root:],
        "gait phase": [np.sin(phase), np.cos(phase)],
        "command": [info["command"]],
    }
    if free:
        expected |= {"pitch": row["q"][2:3], "pitch rate": row["v"][2:3]}
    loads, feet = row["memory"]["impulse"][:, 2], env.task.foot_of_feature
    expected["foot contacts"] = [(loads[feet == leg] > 0).any() for leg in range(max(feet) + 1)]
    assert set(seen) == set(expected)
    for name_of, values in expected.items():
        np.testing.assert_allclose(seen[name_of], values, atol=1e-12, err_msg=name_of)


def test_blocks_of_pendulums_hold_what_their_names_say() -> None:
    env, seen, info = played("dynenvs/DoublePendulum-v0")
    q, v = env.worlds.states["q"][0], env.worlds.states["v"][0]
    for joint, angle in zip(("shoulder", "elbow"), q, strict=True):
        np.testing.assert_allclose(seen[f"{joint} direction"], [np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(seen["joint velocities"], v)
    env, seen, info = played("dynenvs/ChainPendulum-v0", steps=60)
    np.testing.assert_allclose(seen["hinge angles"], env.worlds.states["q"][0])
    np.testing.assert_allclose(seen["hinge velocities"], env.worlds.states["v"][0])
    np.testing.assert_allclose(seen["tip"], info["tip"])
    np.testing.assert_allclose(seen["target"], info["target"])
    # The sum over links, each with its own angle from hanging and its own rate
    angles, rates = np.cumsum(seen["hinge angles"]), np.cumsum(seen["hinge velocities"])
    velocity = 0.2 * np.array([rates @ np.cos(angles), rates @ np.sin(angles)])
    np.testing.assert_allclose(seen["tip velocity"], velocity, atol=1e-12)
    assert seen["pressure"][0] == pytest.approx(info["pressure"] / (3.0 * GRAVITY))


def test_a_batch_says_the_same() -> None:
    envs: Any = gym.make_vec("dynenvs/PlanarQuadruped-v0", num_envs=3)
    observations, infos = envs.reset(seed=0)
    where = envs.unwrapped.observation_slices["command"]
    np.testing.assert_array_equal(observations[:, where][:, 0], infos["command"])
    single: Any = gym.make("dynenvs/PlanarQuadruped-v0").unwrapped
    assert envs.unwrapped.observation_slices == single.observation_slices
    single.observation_slices.clear()  # a copy
    assert single.observation_slices


def test_blocks_refuse_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="3 entries, but 2 units"):
        block("x", 0, 1, "m, s", "", 3)
    with pytest.raises(ValueError, match="lower bound is above"):
        block("x", [0, 2], [1, 1], "m", "")
    with pytest.raises(ValueError, match="broadcast"):
        block("x", [0, 0, 0], 1, "m", "", 2)
    with pytest.raises(ValueError, match="two blocks are called 'x'"):
        slices_of([symmetric("x", 1, "m", ""), symmetric("x", 1, "m", "")])
    blocks = [symmetric("x", 2.0, "m, s", "", 2), block("y", 0, [1, 2, 3], "-", "")]
    assert slices_of(blocks) == {"x": slice(0, 2), "y": slice(2, 5)}
    assert space_of(blocks).high.tolist() == [2.0, 2.0, 1.0, 2.0, 3.0]
    assert blocks[0].units == ("m", "s")
    assert block("x", 0, 1, "m", "", 2, noise=0.5).noise.tolist() == [0.5, 0.5]
