"""Soles as wholes: impulses of least norm that hold them, and rows that imply the others."""

from __future__ import annotations

import numpy as np
import pytest
from contact_views import empty_answer, scratch, stated
from polygons import friction_polygon
from scenes import block
from scipy.spatial.transform import Rotation
from trees import Array

from dynenvs.contact.assembly.implied import leave_out_implied
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK
from dynenvs.contact.solvers.patches import find_soles, hold_soles
from dynenvs.memory.records import BLOCK, CONTACT, HALF_SPACE, LEMKE, SPHERE

SEEDS = range(20)
EXACT = 1e-13
POLYGON = friction_polygon(8)


def rigid_rows(points: Array, t1: Array, t2: Array) -> Array:
    """Velocities along n, t1 and t2 at each point by a twist (omega; v), shape (3 points, 6)."""
    normal = np.cross(t1, t2)
    rows = []
    for point in points:
        for direction in (normal, t1, t2):
            rows.append(np.concatenate([np.cross(point, direction), direction]))
    return np.array(rows)


def scene(rng: np.random.Generator, groups: list[Array]) -> tuple[Array, Array]:
    """(contacts, rows by the twists of all bodies) of bodies with points on a plane."""
    t1, t2, _ = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
    count = sum(len(points) for points in groups)
    contacts = np.zeros(count, CONTACT)
    rows = np.zeros((3 * count, 6 * len(groups)))
    i = 0
    for group, points in enumerate(groups):
        placed = rng.normal(size=3) + points @ np.array([t1, t2])
        rows[3 * i : 3 * (i + len(points)), 6 * group : 6 * group + 6] = rigid_rows(placed, t1, t2)
        for point in placed:
            contact = contacts[i]
            contact["kind"], contact["group"] = HALF_SPACE, group
            contact["candidate"], contact["row"], contact["tangents"] = i, 3 * i, 2
            contact["point"], contact["normal"] = point, np.cross(t1, t2)
            contact["t1"], contact["t2"] = t1, t2
            i += 1
    return contacts, rows


def blocks_of(contacts: Array) -> Array:
    """Blocks that all stick, their soles found, where others had been before."""
    blocks = np.zeros(len(contacts), BLOCK)
    blocks["corners"] = 7
    blocks["row"], blocks["tangents"] = contacts["row"], 2
    blocks["mode"] = STICK
    find_soles(contacts, len(contacts), blocks)
    return blocks


def hold(blocks: Array, G: Array, bias: Array) -> tuple[bool, Array, Array]:
    p, u = np.full(len(bias), np.nan), np.full(len(bias), np.nan)
    problem = stated(blocks, G, bias, POLYGON, 1.0)
    memory = scratch(problem)._replace(K=np.zeros((2 * len(bias), 2 * len(bias))))
    held = hold_soles(problem, empty_answer(p, u), memory, EXACT)
    return held, p, u


def sole(rng: np.random.Generator) -> Array:
    """Three to five corners around a long oval."""
    count = int(rng.integers(3, 6))
    angles = 2 * np.pi * (np.arange(count) + rng.uniform(-0.2, 0.2, count)) / count
    return np.array([0.13 * np.cos(angles), 0.05 * np.sin(angles)]).T + rng.normal(size=2)


def mobility(rng: np.random.Generator, size: int) -> Array:
    root = rng.normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


@pytest.mark.parametrize("seed", SEEDS)
def test_impulses_hold_soles_and_are_the_least_that_do(seed: int) -> None:
    """G p + b = 0, and p is the pseudo-inverse's: two soles, a point and a limit, all coupled."""
    rng = np.random.default_rng(seed)
    corners = [sole(rng) for _ in range(2)]
    contacts, J = scene(rng, [*corners, rng.normal(size=(1, 2))])
    J = np.vstack([np.pad(J, ((0, 0), (0, 1))), np.eye(1, 19, 18)])  # a limit's row besides
    G, bias = J @ mobility(rng, 19) @ J.T, J @ rng.normal(size=19)
    limit = np.zeros(1, BLOCK)
    limit["row"], limit["mode"] = len(J) - 1, STICK
    blocks = np.concatenate([blocks_of(contacts), limit])
    assert list(blocks["corners"][[0, len(corners[0])]]) == [len(c) for c in corners]
    held, p, u = hold(blocks, G, bias)
    assert held
    np.testing.assert_allclose(u, 0.0, atol=1e-11)
    np.testing.assert_allclose(G @ p + bias, u, atol=1e-11)
    # Impulses that push along J's rows only: nothing in p squeezes
    least = np.linalg.pinv(J.T) @ (J.T @ p)
    np.testing.assert_allclose(p, least, atol=1e-9 * np.abs(p).max())


def test_what_is_open_gets_nothing_and_slips_are_left_alone() -> None:
    rng = np.random.default_rng(1)
    square = np.array([[0.1, 0.05], [0.1, -0.05], [-0.1, 0.05], [-0.1, -0.05]])
    contacts, J = scene(rng, [square, square])
    G, bias = J @ mobility(rng, 12) @ J.T, J @ rng.normal(size=12)
    blocks = blocks_of(contacts)
    blocks["mode"][4:] = OPEN
    held, p, u = hold(blocks, G, bias)
    assert held
    assert not p[12:].any()
    np.testing.assert_allclose(u[:12], 0.0, atol=1e-11)
    np.testing.assert_allclose(u, G @ p + bias, atol=1e-12)
    blocks = blocks_of(contacts)
    blocks["mode"][5] = OPEN  # one corner lifts: that sole is no whole, the other still is
    held, p, u = hold(blocks, G, bias)
    assert held
    assert list(blocks["corners"]) == [4, 0, 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(u[:15], 0.0, atol=1e-11)
    blocks = blocks_of(contacts)
    blocks["mode"][5] = SLIP
    assert not hold(blocks, G, bias)[0]


@pytest.mark.parametrize(
    "points",
    [
        [[0.0, 0.0], [1.0, 0.0]],  # two
        [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]],  # on a line
    ],
)
def test_no_sole_without_three_corners_off_a_line(points: list[list[float]]) -> None:
    contacts, _ = scene(np.random.default_rng(0), [np.array(points)])
    assert not blocks_of(contacts)["corners"].any()


def test_round_geoms_are_no_soles() -> None:
    contacts, _ = scene(np.random.default_rng(0), [np.random.default_rng(1).random((4, 2))])
    contacts["kind"] = SPHERE
    assert not blocks_of(contacts)["corners"].any()
    marks = np.arange(12)
    assert leave_out_implied(contacts, 4, marks, 12) == 12


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_stay_imply_those_that_go(seed: int) -> None:
    """As many rows stay as are independent, and they span the same; limits' rows all stay."""
    rng = np.random.default_rng(seed)
    bodies = [rng.normal(size=(int(rng.integers(1, 6)), 2)) for _ in range(3)]
    if seed % 3 == 0:  # on a line
        bodies[0] = np.outer(rng.normal(size=4), rng.normal(size=2))
    contacts, J = scene(rng, bodies)
    J = np.vstack([np.pad(J, ((0, 0), (0, 2))), np.eye(2, 20, 18)])
    count = len(contacts)
    marked = []
    for i in range(count):
        kind = rng.integers(0, 4)
        marked += [[], [3 * i], [3 * i, 3 * i + 1, 3 * i + 2], [3 * i, 3 * i + 1, 3 * i + 2]][kind]
    marked += [3 * count, 3 * count + 1]
    marks = np.array(marked)
    kept = marks[: leave_out_implied(contacts, count, marks, len(marks))]
    assert set(kept) <= set(marked)
    assert {3 * count, 3 * count + 1} <= set(kept)
    rank = np.linalg.matrix_rank(J[marked], tol=1e-9)
    assert len(kept) == rank == np.linalg.matrix_rank(J[kept], tol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tilted_sole_lands_as_a_whole(seed: int) -> None:
    """All corners touch down in one step, and none slips, as on a lamina that is turned flat."""
    rng = np.random.default_rng(seed)
    half, dt = np.array([0.2, 0.15, 0.05]), 0.005
    world = block(tuple(half), friction=1.0, timestep=dt)
    tilt = Rotation.from_rotvec([*rng.uniform(-0.01, 0.01, 2), rng.uniform(-3, 3)])
    corners = tilt.apply(half * [[1, 1, -1], [1, -1, -1], [-1, -1, -1], [-1, 1, -1]])
    height = 1e-4 - corners[:, 2].min()
    world.q[2] = height
    world.q[3:] = np.roll(tilt.as_quat(), 1)
    world.v[:] = [0.05, 0.0, -1.2, *rng.normal(size=3) * 0.01]
    world.step()
    v, spin = world.v[:3], tilt.apply(world.v[3:])
    below = np.column_stack([corners[:, :2], np.full(4, -height)])
    slips = (v + np.cross(spin, below))[:, :2]
    np.testing.assert_allclose(slips, 0.0, atol=1e-12)
    assert len(world.contacts) == 4
    assert max(abs(contact.gap) for contact in world.contacts) < 1e-7
    status = world.get_state()["status"]
    assert status["called"][..., LEMKE] == status["degraded"] == 0
