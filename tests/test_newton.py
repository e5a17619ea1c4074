"""Newton's method on contact modes, against the LCP that it solves and Lemke's answers to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from contact_views import empty_answer, scratch, stated
from polygons import friction_polygon
from trees import Array

from dynenvs.contact.solvers.interior_point import follow_rows
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK
from dynenvs.contact.solvers.newton import converge, newton
from dynenvs.contact.solvers.relax import relax
from dynenvs.lcp import LcpStatus, solve_lcp
from dynenvs.memory.records import BLOCK, LEMKE
from dynenvs.simulation.world import World

FLOOR = 0.05  # g dt [m/s]


class Problem(NamedTuple):
    """Rows of some contacts and limits."""

    directions: int
    blocks: Array  # BLOCK
    G: Array
    bias: Array


class Answer(NamedTuple):
    """What `newton` found."""

    p: Array
    u: Array
    residual: float
    modes: Array


def random_problem(
    rng: np.random.Generator, directions: int, *, friction: float, redundant: bool
) -> Problem:
    """Some contacts and limits of a body of some freedoms; `redundant` ones repeat each other."""
    tangents = 0 if friction == 0.0 else (1 if directions == 2 else 2)
    contacts, limits = int(rng.integers(1, 5)), int(rng.integers(0, 4))
    rows = contacts * (1 + tangents) + limits
    J = rng.normal(size=(rows, rows + 3))
    v = rng.normal(size=rows + 3)
    blocks = np.zeros(contacts + limits, BLOCK)
    for i in range(contacts + limits):
        inside = i < contacts
        blocks[i]["row"] = min(i, contacts) * (1 + tangents) + max(0, i - contacts)
        blocks[i]["tangents"] = tangents if inside else 0
        blocks[i]["friction"] = friction if inside else 0.0
    if redundant and contacts > 1:
        size = 1 + tangents
        J[size : 2 * size] = J[:size]
    return Problem(directions, blocks, J @ J.T, J @ v)


def run(problem: Problem, modes: Array | None = None, *, mixed: bool = False) -> Answer:
    """Newton's method, from all open or from `modes`; from Gauss-Seidel if `mixed`."""
    polygon = friction_polygon(problem.directions)
    rows = len(problem.bias)
    blocks = problem.blocks.copy()
    blocks["mode"] = OPEN if modes is None else modes
    p, u = np.zeros(rows), np.zeros(rows)
    given = stated(blocks, problem.G, problem.bias, polygon, FLOOR)
    residual, _ = newton(given, empty_answer(p, u), scratch(given), mixed)
    return Answer(p, u, residual, blocks["mode"].copy())


def run_inside(problem: Problem) -> tuple[Answer, Array]:
    """The central path's end, made exact; also the impulses and velocities at that end."""
    polygon = friction_polygon(problem.directions)
    rows = len(problem.bias)
    blocks = problem.blocks.copy()
    p, u = np.zeros(rows), np.zeros(rows)
    given = stated(blocks, problem.G, problem.bias, polygon, FLOOR)
    answer, memory = empty_answer(p, u), scratch(given)
    follow_rows(given, answer, memory)
    end = np.array([p, u])
    residual, _ = converge(given, answer, memory, 4, True)
    return Answer(p, u, residual, blocks["mode"].copy()), end


def lcp(problem: Problem) -> tuple[Array, Array, Array]:
    """(A, b, columns) of the LCP written out; columns: rows' impulses of its variables."""
    nd = problem.directions
    rows = len(problem.bias)
    columns, kinds = [], []
    for i, block in enumerate(problem.blocks):
        r, t = int(block["row"]), int(block["tangents"])
        columns.append(np.eye(rows)[r])
        kinds.append((i, "normal"))
        for k in range(nd if t else 0):
            angle = 2 * np.pi * k / nd
            column = np.zeros(rows)
            column[r + 1] = np.cos(angle)
            if t == 2:
                column[r + 2] = np.sin(angle)
            columns.append(column)
            kinds.append((i, "direction"))
        if t:
            columns.append(np.zeros(rows))
            kinds.append((i, "slack"))
    C = np.array(columns).T
    A, b = C.T @ problem.G @ C, C.T @ problem.bias
    for x, (i, kind) in enumerate(kinds):
        if kind == "slack":
            A[x, :] = A[:, x] = b[x] = 0.0
            for y, (j, other) in enumerate(kinds):
                if i == j and other == "direction":
                    A[x, y], A[y, x] = -1.0, 1.0
                elif i == j and other == "normal":
                    A[x, y] = problem.blocks[i]["friction"]
    return A, b, C


def residual_of(problem: Problem, answer: Answer) -> float:
    """Natural residual of the rows' impulses and velocities, by the laws of contact themselves."""
    worst = 0.0
    for block in problem.blocks:
        r, t = int(block["row"]), int(block["tangents"])
        worst = max(worst, abs(min(answer.p[r], answer.u[r])))
        if t == 0:
            continue
        angles = 2 * np.pi * np.arange(problem.directions) / problem.directions
        d = np.array([np.cos(angles), np.sin(angles)])[:t]
        bound = block["friction"] * answer.p[r]
        force, slip = answer.p[r + 1 : r + 1 + t], answer.u[r + 1 : r + 1 + t]
        # Within the polygon (whose sides face half-way between directions), and of greatest
        # dissipation on it
        half = np.pi / problem.directions * (t == 2)
        sides = np.array([np.cos(angles + half), np.sin(angles + half)])[:t]
        worst = max(worst, float(np.max(sides.T @ force)) / np.cos(half) - bound)
        worst = max(worst, float(force @ slip + bound * np.max(-(d.T @ slip))))
    return worst


CASES = [(nd, mu, redundant) for nd in (2, 8) for mu in (0.0, 0.2) for redundant in (False, True)]


@pytest.mark.parametrize(("directions", "friction", "redundant"), CASES)
def test_answers_are_lemkes(directions: int, friction: float, redundant: bool) -> None:
    """300 random problems: the velocities of Lemke's method; what is left over, under 5 %."""
    rng = np.random.default_rng(7)
    left = 0
    for _ in range(300):
        problem = random_problem(rng, directions, friction=friction, redundant=redundant)
        answer = run(problem)
        if not answer.residual <= 1e-12:
            left += 1
            continue
        A, b, C = lcp(problem)
        other = solve_lcp(A, b, scale=FLOOR)
        assert other.status == LcpStatus.CERTIFIED
        scale = max(np.abs(problem.bias).max(), FLOOR)
        np.testing.assert_allclose(
            answer.u / scale, (problem.G @ C @ other.z + problem.bias) / scale, atol=1e-9
        )
        assert residual_of(problem, answer) < 1e-9 * scale
    assert left <= 15


@pytest.mark.parametrize(("directions", "friction", "redundant"), CASES)
def test_the_start_does_not_change_the_velocity(
    directions: int, friction: float, redundant: bool
) -> None:
    """From any modes, right or wrong, the same velocities to 1e-10."""
    rng = np.random.default_rng(11)
    for _ in range(100):
        problem = random_problem(rng, directions, friction=friction, redundant=redundant)
        cold = run(problem)
        if not cold.residual <= 1e-12:
            continue
        top = SLIP + directions * (1 if directions == 2 else 2)
        wrong = np.where(
            problem.blocks["tangents"] > 0,
            rng.integers(0, top, len(problem.blocks)),
            rng.integers(0, STICK + 1, len(problem.blocks)),
        )
        for modes in (cold.modes, np.full(len(problem.blocks), STICK), wrong):
            warm = run(problem, modes)
            if warm.residual <= 1e-12:
                np.testing.assert_allclose(warm.u, cold.u, atol=1e-10)
        assert np.array_equal(run(problem, cold.modes).modes, cold.modes)


def test_redundant_contacts_share_evenly() -> None:
    """Two contacts at one place carry half each: the answer of least norm."""
    J = np.array([[1.0, 0.0], [0.0, 1.0]] * 2)
    blocks = np.zeros(2, BLOCK)
    blocks["row"], blocks["tangents"], blocks["friction"] = [0, 2], 1, 0.8
    answer = run(Problem(2, blocks, J @ J.T, J @ np.array([-1.0, 0.3])))
    np.testing.assert_allclose(answer.p, [0.5, -0.15, 0.5, -0.15], atol=1e-7)
    np.testing.assert_allclose(answer.u, 0.0, atol=1e-14)
    assert (answer.modes == STICK).all()


def soles(rng: np.random.Generator) -> Problem:
    """Two feet that move each other, four corners each: 24 rows of rank 12."""
    blocks = np.zeros(8, BLOCK)
    blocks["row"], blocks["tangents"], blocks["friction"] = 3 * np.arange(8), 2, 0.8
    J = np.zeros((24, 12))
    for i, (x, y) in enumerate([(a, b) for a in (-0.1, 0.1) for b in (-0.05, 0.05)] * 2):
        at = 6 * (i // 4)
        for k, direction in enumerate(np.eye(3)[[2, 0, 1]]):
            J[3 * i + k, at : at + 3] = direction
            J[3 * i + k, at + 3 : at + 6] = np.cross([x, y, -0.1], direction)
    factor = rng.normal(size=(12, 16)) * np.tile([1.0, 1.0, 1.0, 5.0, 5.0, 5.0], 2)[:, None]
    v = rng.normal(size=12) * np.tile([0.5, 0.5, 0.5, 2.0, 2.0, 2.0], 2)
    v[[2, 8]] -= 0.5
    return Problem(8, blocks, J @ factor @ factor.T @ J.T / 16, J @ v)


@pytest.mark.parametrize("mixed", [False, True])
def test_soles_are_settled(mixed: bool) -> None:
    """Redundant corners that stick, slip and lift: 98 of 100 problems, and by the laws."""
    rng = np.random.default_rng(5)
    settled = 0
    for _ in range(200):
        problem = soles(rng)
        answer = run(problem, mixed=mixed)
        if answer.residual <= 1e-12:
            settled += 1
            scale = max(np.abs(problem.bias).max(), FLOOR)
            assert residual_of(problem, answer) < 1e-9 * scale
    assert settled >= 196


@pytest.mark.thorough
@pytest.mark.parametrize(("directions", "friction", "redundant"), CASES)
def test_the_central_path_ends_at_an_answer(
    directions: int, friction: float, redundant: bool
) -> None:
    """Near to one at its end, exact after Newton: Lemke's velocities; 19 of 20 problems."""
    rng = np.random.default_rng(13)
    exact = 0
    for _ in range(100):
        problem = random_problem(rng, directions, friction=friction, redundant=redundant)
        answer, end = run_inside(problem)
        scale = max(np.abs(problem.bias).max(), FLOOR)
        if not answer.residual <= 1e-12:
            continue
        exact += 1
        A, b, C = lcp(problem)
        other = solve_lcp(A, b, scale=FLOOR)
        right = problem.G @ C @ other.z + problem.bias
        np.testing.assert_allclose(answer.u / scale, right / scale, atol=1e-9)
        np.testing.assert_allclose(end[1] / scale, right / scale, atol=1e-4)
    assert exact >= 95


def test_soles_that_just_hold_are_solved_from_inside() -> None:
    """What Newton's method leaves over of thrashing soles: most, and by the laws of contact."""
    rng = np.random.default_rng(17)
    left, solved = 0, 0
    for _ in range(1500):
        problem = soles(rng)
        if run(problem).residual <= 1e-12:
            continue
        left += 1
        answer, _ = run_inside(problem)
        if answer.residual <= 1e-12:
            solved += 1
            scale = max(np.abs(problem.bias).max(), FLOOR)
            assert residual_of(problem, answer) < 1e-9 * scale
    assert left >= 5
    assert solved >= 0.9 * left


@pytest.mark.parametrize("directions", [2, 8])
def test_relaxed_impulses_are_feasible_and_come_near(directions: int) -> None:
    """In their cones after any number of sweeps, and u = G p + bias; in the limit, the answer."""
    rng = np.random.default_rng(2)
    polygon = friction_polygon(directions)
    near = 0
    for _ in range(50):
        problem = random_problem(rng, directions, friction=0.2, redundant=True)
        blocks, rows = problem.blocks.copy(), len(problem.bias)
        p, u = np.zeros(rows), problem.bias.copy()
        given = stated(blocks, problem.G, problem.bias, polygon, FLOOR)
        for sweeps in (1, 4, 500):
            relax(given, empty_answer(p, u), sweeps)
            np.testing.assert_allclose(u, problem.G @ p + problem.bias, atol=1e-9)
            for block in blocks:
                r, t = int(block["row"]), int(block["tangents"])
                assert p[r] >= 0.0
                if t:
                    assert np.hypot(p[r + 1], p[r + t] * (t - 1)) <= 0.2 * p[r] * (1 + 1e-12)
                assert p[r : r + 1 + t].any() or block["mode"] == OPEN
        near += residual_of(problem, Answer(p, u, 0.0, blocks["mode"])) < 1e-8
    assert near >= 45


def test_nothing_moves_where_nothing_can() -> None:
    """A row that no coordinate moves carries nothing and breaks nothing."""
    blocks = np.zeros(1, BLOCK)
    answer = run(Problem(2, blocks, np.zeros((1, 1)), np.array([-1.0])))
    assert answer.residual == 0.0
    assert answer.p[0] == 0.0


def test_nan_is_never_certified() -> None:
    """A problem with NaN in it has no answer."""
    blocks = np.zeros(1, BLOCK)
    for G, bias in (([[np.nan]], [-1.0]), ([[1.0]], [np.nan])):
        answer = run(Problem(2, blocks, np.array(G), np.array(bias)))
        assert not answer.residual <= 1e-9 or answer.p[0] == 0.0


def test_lemkes_method_is_rarely_needed() -> None:
    """A humanoid's torques at random: 97 of 100 problems are solved without it."""
    from dynenvs.envs.robots import planar_humanoid

    rng = np.random.default_rng(3)
    model = planar_humanoid.build()
    world = World(model, timestep=0.005)
    world.q[1] = 0.9
    for _ in range(2000):
        world.step(rng.uniform(-1, 1, model.nu) * model.effort_limit[2:] * 0.5)
    status = world.get_state()["status"]
    assert status["called"][..., LEMKE].sum() < 0.05 * status["solves"]
    assert world.diagnostics.failed == world.diagnostics.degraded == 0
