"""Contact problems as LCPs: the cascade of `dynenvs.lcp`, cold and warm, against QuantEcon's Lemke.

The problems are stacks of boxes, four corners to a joint of the stack, that are pushed at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numba
import numpy as np

from dynenvs.jit.compiled import entry
from dynenvs.jit.views import matrix, raw, vector
from dynenvs.lcp.solve import solve
from dynenvs.lcp.workspace import unpack_workspace, workspace_size
from dynenvs.memory.layout import Floats, Ints, Matrices, Matrix
from studies.bench.peers import peer
from studies.bench.race import Case, Maker, Race, Settings, System

CONTACTS = (1, 2, 4, 8, 16)
HEAVY = 1e4  # of the hard stacks
PROBLEMS = 50  # of each size
FRICTION, TIMESTEP, GRAVITY = 0.6, 0.005, 9.81  # -, [s], [m/s^2]
HALF = 0.1  # edge of a box [m]
PUSH = 0.3  # velocities before the contact, standard deviation [m/s, 2 rad/s a m/s]
LATER = 0.02  # by how much the next step's velocities differ, of PUSH
SOLVED = 1e-6  # natural residual of an answer that counts, relative to the largest entry


class Problems(NamedTuple):
    """Problems of one size: A, shape (count, n, n), and b, shape (count, n)."""

    A: Floats
    b: Floats


def cases(settings: Settings) -> list[Case]:
    """A race of all sizes, and one of stacks that are hard to solve."""
    notes = [
        f"{PROBLEMS} stacks of boxes a size, pyramids of four directions: six variables a contact. "
        "Both solvers run in compiled loops with their memory made beforehand. Solved: natural "
        f"residual up to {SOLVED:g} of the largest entry, checked afterwards for both alike; the "
        "time of an answer that is not right is in the figure. Warm starts are given the active "
        f"set of a problem whose velocities differ by {100 * LATER:g} %. Ratio: to QuantEcon on as "
        "many contacts. dynenvs scales each problem and certifies each answer to 1e-9 in natural "
        "scales, which weighs most where there are few contacts; what it solves is in the table of "
        "`python -m studies verify --scenes solvers`. Within a time step it is the reserve: "
        "Newton's method on contact modes comes first (see the whole steps)."
    ]
    sizes = CONTACTS[:3] if settings.quick else CONTACTS
    found: list[Case] = [_race("Contact LCPs", sizes, 1.0, notes)]
    if not settings.quick:
        word = f"The same, but the top box is about {HEAVY:,.0f} times heavier than the lowest."
        found.append(_race("Contact LCPs, heavy on light", CONTACTS[3:], HEAVY, [word]))
    return found


def _race(title: str, sizes: Sequence[int], heavy: float, notes: list[str]) -> Race:
    makers: list[tuple[str, Maker]] = []
    against: dict[str, str] = {}
    for contacts in sizes:
        word = f"{contacts} contact{'s' if contacts > 1 else ''}"
        theirs = f"{word}, QuantEcon's Lemke"
        makers += [
            (theirs, partial(_quantecon, contacts, heavy)),
            (f"{word}, dynenvs cold", partial(_ours, contacts, False, heavy)),
            (f"{word}, dynenvs warm", partial(_ours, contacts, True, heavy)),
        ]
        against |= {name: theirs for name, _ in makers[-3:]}
    x = ("contacts", "solver")
    return Race("lcp", title, "solve", makers, notes, unit="us", x=x, against=against)


def stacks(contacts: int, heavy: float = 1.0, later: float = 0.0) -> Problems:
    """Random stacks of boxes with so many contacts.

    Args:
        contacts: their number.
        heavy: about how many times the top box weighs as much as the lowest.
        later: disturbs the velocities, in units of PUSH.
    """
    rng, drift = np.random.default_rng(contacts), np.random.default_rng(1000 + contacts)
    boxes = -(-contacts // 4)
    n = 6 * contacts
    A, b = np.zeros((PROBLEMS, n, n)), np.zeros((PROBLEMS, n))
    J = _jacobian(contacts)
    for i in range(PROBLEMS):
        weights = rng.uniform(0.5, 2.0, boxes) * np.geomspace(1.0, heavy, boxes)
        mass = np.repeat(weights, 6)
        spread = np.tile([1.0, 1.0, 1.0, *[2 / 3 * HALF**2] * 3], boxes)
        v = PUSH * rng.normal(size=6 * boxes) * np.tile([1, 1, 1, 2, 2, 2], boxes)
        v += later * PUSH * drift.normal(size=6 * boxes)
        v[2::6] -= TIMESTEP * GRAVITY
        G = J @ (J / (mass * spread)).T
        A[i], b[i] = _lcp(G, J @ v, contacts)
    return Problems(A, b)


def _jacobian(contacts: int) -> Floats:
    """Rows (normal, two tangents) of each corner; velocities (linear; angular) of each box."""
    boxes = -(-contacts // 4)
    J = np.zeros((3 * contacts, 6 * boxes))
    corners = [(-1, -1), (1, 1), (1, -1), (-1, 1)]
    for c in range(contacts):
        box = c // 4
        x, y = HALF * np.array(corners[c % 4])
        for k, direction in enumerate(np.eye(3)[[2, 0, 1]]):
            for body, sign, z in ((box, 1.0, -HALF), (box - 1, -1.0, HALF)):
                if body >= 0:
                    at = 6 * body
                    J[3 * c + k, at : at + 3] = sign * direction
                    J[3 * c + k, at + 3 : at + 6] = sign * np.cross([x, y, z], direction)
    return J


def _lcp(G: Floats, u: Floats, contacts: int) -> tuple[Floats, Floats]:
    """Stewart and Trinkle's LCP: each contact a normal, four directions and a slip bound."""
    # Variables are sums of the rows' impulses, but for the slip bounds
    D = np.zeros((6, 3))
    D[0, 0] = D[1, 1] = D[3, 2] = 1.0
    D[2, 1] = D[4, 2] = -1.0
    own = np.zeros((6, 6))
    own[1:5, 5], own[5, 0], own[5, 1:5] = 1.0, FRICTION, -1.0
    rows = np.kron(np.eye(contacts), D)
    return rows @ G @ rows.T + np.kron(np.eye(contacts), own), rows @ u


def right(problems: Problems, z: Floats) -> int:
    """How many of the answers, shape (count, n), solve their problems."""
    w = np.einsum("pij,pj->pi", problems.A, z) + problems.b
    off = np.abs(np.minimum(z, w)).max(axis=1)
    scale = np.maximum(1.0, np.maximum(np.abs(z), np.abs(problems.b)).max(axis=1))
    return int(np.sum(np.isfinite(z).all(axis=1) & (off <= SOLVED * scale)))


def _facts(contacts: int, solver: str, solved: int) -> dict[str, Any]:
    return {
        "contacts": contacts,
        "variables": 6 * contacts,
        "solver": solver,
        "solved": f"{solved} of {PROBLEMS}",
    }


@entry
def _run_cascade(
    A: Matrices,
    b: Matrix,
    guesses: Annotated[Ints, 2],
    warm: bool,
    block: Ints,
    z: Matrix,
    active: Annotated[Ints, 2],
    memory: Floats,
    count: int,
) -> None:
    """Solve problem after problem, in windows on the arrays as those that a step opens."""
    problems, n = b.shape
    matrices, vectors = raw(A, 8 * problems * n * n), raw(b, 8 * problems * n)
    answers, bases = raw(z, 8 * problems * n), raw(active, 8 * problems * n)
    labels = vector(raw(block, 8 * n), 0, n, np.int64)
    size = memory.shape[0]
    work = unpack_workspace(vector(raw(memory, 8 * size), 0, size, np.float64), n)
    for k in range(count):
        i = k % problems
        at = 8 * i * n
        for j in range(n):
            active[i, j] = guesses[i, j]
        solve(
            matrix(matrices, at * n, n, n, np.float64),
            vector(vectors, at, n, np.float64),
            n,
            TIMESTEP * GRAVITY,
            vector(bases, at, n, np.int64),
            warm,
            labels,
            vector(answers, at, n, np.float64),
            work,
        )


def _ours(contacts: int, warm: bool, heavy: float = 1.0) -> System:
    problems = stacks(contacts, heavy)
    n = 6 * contacts
    block, memory = np.repeat(np.arange(contacts), 6), np.zeros(workspace_size(n))
    z, guesses = np.zeros((PROBLEMS, n)), np.zeros((PROBLEMS, n), np.int64)

    def solve_all(given: Problems, has_guess: bool, count: int) -> Ints:
        active = np.zeros((PROBLEMS, n), np.int64)
        _run_cascade(*given, guesses, has_guess, block, z, active, memory, count)
        return active

    if warm:
        guesses = solve_all(stacks(contacts, heavy, LATER), False, PROBLEMS)

    def run(count: int) -> None:
        solve_all(problems, warm, count * PROBLEMS)

    run(1)
    solver = f"dynenvs {'warm' if warm else 'cold'}"
    return System(run, PROBLEMS, facts=_facts(contacts, solver, right(problems, z)))


def _quantecon(contacts: int, heavy: float = 1.0) -> System:
    lemke = peer("quantecon.optimize").lcp_lemke
    problems = stacks(contacts, heavy)
    n = 6 * contacts
    memory = (np.empty((n, 2 * n + 2)), np.empty(n, np.int64), np.zeros((PROBLEMS, n)))

    @numba.njit(nogil=True)
    def solve_all(A: Any, b: Any, tableau: Any, basis: Any, z: Any, count: int) -> None:
        for k in range(count):
            i = k % len(b)
            lemke(A[i], b[i], tableau=tableau, basis=basis, z=z[i])

    def run(count: int) -> None:
        solve_all(*problems, *memory, count * PROBLEMS)

    run(1)
    return System(
        run, PROBLEMS, facts=_facts(contacts, "QuantEcon's Lemke", right(problems, memory[2]))
    )
