"""Forward dynamics by every method: one answer where it is well posed, known losses where not."""

from __future__ import annotations

import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trees import random_tree

from dynenvs.dynamics.aba import aba
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.rnea import rnea
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute
from dynenvs.reference.methods import METHODS, forward_dynamics, tree_of
from dynenvs.reference.methods.composite import mass_matrix
from dynenvs.reference.methods.dense import cholesky, householder, lu_solve
from dynenvs.reference.methods.newton_euler import bias_forces, mass_times
from dynenvs.reference.methods.scalars import DOUBLE
from studies.reproduce.accuracy_trees import last_bits, random_case
from studies.reproduce.counting import Operations, count_operations
from studies.reproduce.digits import reference, relative_error


def serial_chain(
    count: int, *, ratio: float = 1.0, coaxial: bool = False, gravity: float = 9.8, seed: int = 0
) -> Model:
    """Revolute links in general position; masses grow to `ratio` at the tip."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=3)
    common /= np.linalg.norm(common)
    builder = ModelBuilder(gravity=(0.0, 0.0, -gravity))
    for i in range(count):
        mass = ratio ** (i / (count - 1))
        builder.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=revolute(
                axis=common if coaxial else rng.normal(size=3),
                position=common * rng.normal() if coaxial else rng.normal(size=3),
            ),
            mass=mass,
            com=rng.normal(size=3) * 0.3,
            inertia=np.array([0.1, 0.12, 0.15]) * mass,
        )
    return builder.build()


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_all_methods_agree(seed: int) -> None:
    """1e-12 of the largest acceleration, all joint types, armature, damping, massless links.

    Well-conditioned means cond(M) below 1e3, which three of four of these trees have.  None is
    left out: beyond that the bound grows as the condition number does.
    """
    tree = random_tree(seed)
    q, v = tree.state()
    tau = tree.rng.normal(size=tree.model.nv)
    bound = 1e-12 * max(1.0, np.linalg.cond(crba(tree.model, q)) / 1e3)
    expected = aba(tree.model, q, v, tau)
    for method in METHODS:
        found = forward_dynamics(tree.model, q, v, tau, method=method)
        assert np.abs(found - expected).max() <= bound * np.abs(expected).max(), method


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_body_frames_tell_what_world_frames_tell(seed: int) -> None:
    """M, h and M y of this layer are the core's, which works in world axes."""
    tree = random_tree(seed)
    q, v = tree.state()
    y = tree.rng.normal(size=tree.model.nv)
    here = tree_of(tree.model, q, v, np.zeros(tree.model.nv))
    M = crba(tree.model, q)
    scale = np.abs(M).max()
    np.testing.assert_allclose(mass_matrix(here), M, atol=1e-12 * scale)
    np.testing.assert_allclose(mass_times(here, y), M @ y, atol=1e-11 * scale)
    h = rnea(tree.model, q, v, np.zeros(tree.model.nv))
    np.testing.assert_allclose(bias_forces(here), h, atol=1e-11 * max(1.0, np.abs(h).max()))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_doubles_come_near_the_fifty_digit_answer(seed: int) -> None:
    """The reference runs the same passes in other numbers: well-conditioned trees show no error."""
    pytest.importorskip("mpmath")
    tree = random_tree(seed, bodies=3)
    q, v = tree.state()
    tau = tree.rng.normal(size=tree.model.nv)
    assume(np.linalg.cond(crba(tree.model, q)) < 1e4)
    exact = reference(tree.model, q, v, tau)
    assert relative_error(aba(tree.model, q, v, tau), exact) < 1e-11
    # What it leaves of the equation of motion is beyond doubles
    residual = mass_times(tree_of(tree.model, q, v, tau), np.array([float(x) for x in exact]))
    right = tau - tree.model.damping * v - rnea(tree.model, q, v, np.zeros(tree.model.nv))
    assert np.abs(residual - right).max() <= 1e-11 * max(1.0, np.abs(right).max())


@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e12])
def test_only_the_qr_form_bears_any_mass_ratio(ratio: float) -> None:
    """Coaxial joints off coordinate axes, light proximal links (docs/theory.md, Lost digits)."""
    pytest.importorskip("mpmath")
    errors: dict[str, list[float]] = {m: [] for m in ("qr", "crb_cholesky", "abm", "abm_modified")}
    for seed in range(6):
        count = 2 + seed % 4
        model = serial_chain(count, ratio=ratio, coaxial=True, gravity=0.0, seed=seed)
        rng = np.random.default_rng(seed)
        state = rng.normal(size=count), np.zeros(count), rng.normal(size=count)
        exact = reference(model, *state)
        for method, found in errors.items():
            found.append(relative_error(forward_dynamics(model, *state, method=method), exact))
    assert np.median(errors["qr"]) < 2e-15
    assert max(errors["qr"]) < 3e-14
    for method in ("crb_cholesky", "abm", "abm_modified"):  # no gain by the modified form
        assert 1e-3 * ratio * 1e-16 < np.median(errors[method]) < 1e3 * ratio * 1e-16, method


@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e12])
@pytest.mark.thorough
def test_the_qr_form_and_the_augmented_system_lose_last_bits_only(ratio: float) -> None:
    """Joints anywhere, masses spread at random: at rest the error is 1e-15 or so, and where it is
    more, the answer itself changes by as much when the data move by their last bits."""
    pytest.importorskip("mpmath")
    errors = []
    for seed in range(6):
        case = random_case(seed, ratio)
        unavoidable = last_bits(seed, ratio, case)
        for method in ("qr", "kkt"):
            found = forward_dynamics(case.model, *case.state, method=method)
            errors.append(relative_error(found, case.exact))
            assert errors[-1] <= 2e-15 + 10 * unavoidable, method
    assert np.median(errors) < 2e-15
    assert max(errors) < 5e-14


def test_projecting_before_adding_saves_digits_along_coordinate_axes() -> None:
    """Cloutier 1995, figure 5.7: the good articulated-body form is exact, the bad one is not."""
    pytest.importorskip("mpmath")
    model = ModelBuilder(gravity=(0.0, -9.8, 0.0))
    for i, size in enumerate((1.0, 1e5)):
        model.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=revolute(position=(float(i), 0, 0)),
            mass=size,
            com=(size / 2, 0, 0),
            inertia=(0.0, *[size * (size**2 + 1) / 12] * 2),
        )
    robot = model.build()
    errors = {}
    for method in ("abm", "abm_bad", "crb_cholesky"):
        found = []
        for angle in np.linspace(0.1, 6.0, 20):
            state = np.array([0.0, angle]), np.zeros(2), np.zeros(2)
            exact = reference(robot, *state)
            found.append(relative_error(forward_dynamics(robot, *state, method=method), exact))
        errors[method] = np.median(found)
    assert errors["abm"] < 1e-14
    assert errors["abm_bad"] > 1e-9
    assert errors["crb_cholesky"] > 1e-9


def _counts(method: str, sizes: range) -> list[Operations]:
    found = []
    for count in sizes:
        rng = np.random.default_rng(7)
        state = (rng.normal(size=count) for _ in range(3))
        found.append(count_operations(METHODS[method], serial_chain(count), *state))
    return found


def test_operations_of_the_articulated_body_method_are_linear() -> None:
    """Counted on chains of 3 to 7 links: equal differences."""
    counts = [c.multiplications for c in _counts("abm", range(3, 8))]
    assert len({b - a for a, b in pairwise(counts)}) == 1


def test_operations_of_the_composite_method_are_cubic() -> None:
    """Third differences of a Cholesky solve are n^3 / 6's, that is one (Cloutier 1995, 3.4)."""
    counts = [c.multiplications for c in _counts("crb_cholesky", range(3, 9))]
    assert set(np.diff(counts, 3)) == {1}


def test_operations_are_counted_as_defined() -> None:
    """Known numbers are free; a zero, a one and a sign are no operation."""
    from studies.reproduce.counting import Counted, Tally

    tally = Tally()
    x = Counted(2.0, False, tally)
    zero, one, two = (Counted(k, True, tally) for k in (0.0, 1.0, 2.0))
    assert float(x * zero + x * one - zero) == 2.0
    assert float(two * two + one) == 5.0
    assert tally.operations() == Operations(0, 0, 0, 0)
    assert float((x * two + x) / x - x) == 1.0
    assert tally.operations() == Operations(1, 2, 1, 0)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_cost_digits_and_source(method: str) -> None:
    """In its module's docstring: its equation's source, what it costs, where it loses digits."""
    text = sys.modules[METHODS[method].__module__].__doc__ or ""
    assert "\nCost: " in text
    assert "\nDigits: " in text
    assert re.search(r"Pai, Ascher and Kry 2000|Cloutier 1995|docs/theory\.md", text)


def test_errors_say_what_would_be_right() -> None:
    model = serial_chain(2)
    zero = np.zeros(2)
    with pytest.raises(ValueError, match="unknown method 'magic'; choose from: kkt, crb_chol"):
        forward_dynamics(model, zero, zero, zero, method="magic")
    with pytest.raises(ValueError, match=r"tau must have shape \(2,\)"):
        forward_dynamics(model, zero, zero, np.zeros(3))
    with pytest.raises(ValueError, match="v must be finite"):
        forward_dynamics(model, zero, np.array([0.0, np.nan]), zero)


def test_matrices_without_an_answer_are_reported() -> None:
    """Where roundoff has taken definiteness or rank, methods say so."""
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ArithmeticError, match="not positive definite: pivot 1 is -3"):
        cholesky(bad, DOUBLE)
    with pytest.raises(ArithmeticError, match="no pivot in column 1"):
        lu_solve(np.ones((2, 2)), np.ones(2))
    with pytest.raises(ArithmeticError, match="column 0 depends on the others"):
        householder(np.zeros((3, 1)), DOUBLE)
