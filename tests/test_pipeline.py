"""Compiled code keeps every store: the same numbers come out as from plain Python."""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest

from dynenvs.envs.robots import planar_humanoid
from dynenvs.jit.compiled import kernel, unit
from dynenvs.jit.views import unowned
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.memory.layout import Bytes, Floats, Ints, open_work
from dynenvs.simd.extremes import farthest
from dynenvs.simd.trigonometry import sines_cosines
from dynenvs.simd.vectors import WIDTH, add_multiple, add_outer
from dynenvs.simulation.inverse import inverse_dynamics
from dynenvs.simulation.progress import has_left, new_progress
from dynenvs.simulation.world import World


@kernel
def _store(packed: Bytes, buffer: Bytes) -> None:
    """A store to a view that this function opened itself and does not read again."""
    w = open_work(packed, buffer)
    for j in range(w.bias.shape[0]):
        w.bias[j] += 1.0 + j


def test_stores_to_opened_views_stay() -> None:
    """Numba's own dead code removal would drop them."""
    model = planar_humanoid.build()
    buffer = model.workspace()
    _store(model.packed, buffer)
    bias = open_work(model.packed, buffer).bias
    np.testing.assert_array_equal(bias, 1.0 + np.arange(model.nv))


@numba.njit
def _store_and_sum(packed: Bytes, buffer: Bytes) -> float:
    _store(packed, buffer)
    return open_work(packed, buffer).bias.sum()  # type: ignore[no-any-return]


def test_a_function_that_numba_compiles_in_its_own_way_may_call_kernels() -> None:
    """It links what the kernel needs, too."""
    model = planar_humanoid.build()
    total = _store_and_sum(model.packed, model.workspace())
    assert total == model.nv * (model.nv + 1) / 2


@numba.njit
def _store_beside_overloads(packed: Bytes, buffer: Bytes, progress: Ints) -> float:
    """Stores that nothing here reads again, beside one call of each overload of the package."""
    w = open_work(packed, buffer)
    for j in range(w.bias.shape[0]):
        w.bias[j] = 1.0 + j
    add_multiple(w.M, 0, w.M, 1, 0, WIDTH, 2.0)
    add_outer(w.L, 0, w.L, 0, 0, WIDTH, 0.0)
    if has_left(progress, 0) or farthest(w.bias[:6], 1.0, 1.0, 1.0) < 0:
        return 0.0
    return sines_cosines(0.0, 0.0, 0.0, 0.0)[7]


def test_plain_numba_keeps_stores_beside_overloads() -> None:
    """Numba removes "dead" code wherever it writes an overload into its caller's lines."""
    model = planar_humanoid.build()
    buffer = model.workspace()
    w = open_work(model.packed, buffer)
    w.M[1, :WIDTH] = 3.0
    assert _store_beside_overloads(model.packed, buffer, new_progress(1)) == 1.0
    np.testing.assert_array_equal(w.bias, 1.0 + np.arange(model.nv))
    np.testing.assert_array_equal(w.M[0, :WIDTH], 6.0)


def test_inverse_dynamics_with_lookahead_meets_two_steps() -> None:
    """In flight, torques for a control period of two steps give the wanted velocities."""
    model = planar_humanoid.build()
    rng = np.random.default_rng(0)
    q = np.array([0.0, 1.5, -0.3, 0.6, -0.2, 0.2, 0.9, -0.1])
    for _ in range(5):
        v = np.array([1.0, 0.0, *rng.normal(size=6) * 3.0])
        wanted = v[2:] + 0.3 * rng.normal(size=6)
        answer = inverse_dynamics(model, q, v, wanted, 0.01, lookahead=0.0025)
        world = World(model, timestep=0.005)
        world.q[:], world.v[:] = q, v
        world.step(answer.tau)
        world.step(answer.tau)
        np.testing.assert_allclose(world.v[2:], wanted, atol=4e-3)


@unit()
def _impossible(x: Floats) -> int:
    return x.no_such_attribute  # type: ignore[attr-defined, no-any-return]


@kernel
def _call_impossible(x: Floats) -> int:
    return int(_impossible(x))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_kernel_that_cannot_be_compiled_gives_no_answer() -> None:
    """Interrupted, too: -1 is no solver's status, so callers take it for a failure."""
    assert _call_impossible(np.zeros(3)) == -1
    assert -1 not in (CERTIFIED, DEGRADED, FAILED)


@kernel
def _sum_unowned(given: tuple[Floats, tuple[Ints, int]], alone: Floats) -> float:
    given, alone = unowned(given), unowned(alone)
    numbers, (count, last) = given
    alone[0] = 7.0
    return numbers.sum() + count.sum() + last + unowned(last)


def test_arrays_without_owners_are_the_same_arrays() -> None:
    """In tuples, too; and what owns them counts as many references after the call as before."""
    numbers, count, alone = np.arange(3.0), np.arange(4), np.zeros(2)
    before = [sys.getrefcount(array) for array in (numbers, count, alone)]
    assert _sum_unowned((numbers, (count, 5)), alone) == 3.0 + 6.0 + 10.0
    assert alone[0] == 7.0
    assert [sys.getrefcount(array) for array in (numbers, count, alone)] == before
