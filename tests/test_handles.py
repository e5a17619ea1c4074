"""Handles: every array declared once, the same in Python and in compiled code."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba import TypingError

from dynenvs.envs.robots import humanoid
from dynenvs.jit import compiler, handles_lowered, plain
from dynenvs.jit.compiled import kernel, unit
from dynenvs.jit.handles import ALIGNMENT, Array, Expression, arrays_of
from dynenvs.memory import layout
from dynenvs.memory.layout import (
    Floats,
    ModelView,
    StateView,
    WorkView,
    WorldView,
    open_model,
    open_state,
    open_work,
    open_world,
)

MODEL = humanoid.build()


def opened() -> WorldView:
    return open_world(MODEL.packed, MODEL.at_rest.copy(), MODEL.workspace())


def test_compiled_code_and_python_see_the_same_arrays() -> None:
    w = opened()
    assert _fill(w, 3.0) == 3.0 + 1 + 30.0 + 2 + 3.0
    np.testing.assert_array_equal(w.v_new, 3.0 + np.arange(MODEL.nv))
    np.testing.assert_array_equal(w.J[1, : MODEL.nv], 30.0 + np.arange(MODEL.nv))
    assert w.q[0] == 3.0
    assert (w.J[0] == 0.0).all()


@kernel
def _fill(w: WorldView, value: float) -> float:
    model, state, work = open_model(w), open_state(w, w), open_work(w, w)
    for j in range(model.header[0].nv):
        work.v_new[j] = value + j
        w.J[1, j] = 10.0 * value + j
    state.q[0] = value
    return work.v_new[1] + w.J[1, 2] + w.q[0]


def test_arrays_lie_one_after_the_other_and_none_overlaps() -> None:
    """In all three buffers, within their sizes, each at a multiple of 64 bytes."""
    h = MODEL.header
    for buffer, size in (
        ("model", h.model_bytes), ("state", h.state_bytes), ("work", h.workspace_bytes)
    ):  # fmt: skip
        end = 0
        for entry in arrays_of(layout._KINDS, buffer):
            start = int(h.places[entry.number])
            assert start % ALIGNMENT == 0
            assert start >= end
            end = start + entry.size(h)
        assert end <= size


def test_a_wrong_name_is_an_error_that_says_which_there_are() -> None:
    with pytest.raises(AttributeError, match=r"WorldView has no 'masses'; it has A, .*v_new"):
        opened().masses  # noqa: B018
    with pytest.raises(AttributeError, match=r"WorldView has no 'masses'; it has A, .*v_new"):
        opened().masses = np.zeros(3)
    with pytest.raises(AttributeError, match=r"q is an array: write its entries"):
        opened().q = np.zeros(3)

    @numba.njit
    def wrong(w: Any) -> float:
        return float(w.masses[0])

    with pytest.raises(TypingError, match="WorldView has no 'masses'; it has A, "):
        wrong(opened())


def test_a_handle_says_what_a_kernel_needs() -> None:
    """A model's has no state, a state's no workspace; the whole has all of them."""
    model, state = open_model(MODEL.packed), open_state(MODEL.packed, MODEL.at_rest)
    assert len(model.dofs) == MODEL.nv
    for handle, name in ((model, "q"), (state, "J"), (open_work(opened(), opened()), "q")):
        with pytest.raises(AttributeError, match=f"has no '{name}'"):
            getattr(handle, name)
    names = {entry.name for entry in WorldView.arrays()}
    for kind in (ModelView, StateView, WorkView):
        assert {entry.name for entry in kind.arrays()} <= names


@unit("test_handles")
def _separately(w: ModelView, x: Floats) -> int:
    """Reached by its address: of a whole world it gets the model alone."""
    x[0] = w.header[0].nv
    return 7


@kernel
def _calls_it(w: WorldView, x: Floats) -> int:
    return int(_separately(w, x))


def test_a_unit_gets_what_it_needs() -> None:
    x = np.zeros(1)
    assert _calls_it(opened(), x) == 7
    assert x[0] == MODEL.nv


@kernel
def _velocities(w: ModelView) -> int:
    return int(w.header[0].nv)


@kernel
def _of_all_handles(w: WorldView) -> int:
    return _velocities(w) + _velocities(open_work(w, w)) + _velocities(open_model(w))


def test_a_kernel_is_compiled_once_for_all_handles_that_have_what_it_declares() -> None:
    """Whatever its callers hold, it gets the handle of its annotation."""
    assert _of_all_handles(opened()) == 3 * MODEL.nv
    if not plain.is_plain():
        (only,) = compiler._helper_of(_velocities).overloads
        assert only[0] == handles_lowered.handle_type(ModelView)


def test_what_a_unit_cannot_take_is_told() -> None:
    def takes_text(w: ModelView, name: str) -> int:
        return 0

    with pytest.raises(TypeError, match=r"takes_text\(name\): .*take handles, int, float"):
        unit()(takes_text)


def test_shapes_are_expressions_of_counts() -> None:
    counts = {"a": 3, "b": 5}
    for text, value in (
        ("a", 3), ("2 * b + 1", 11), ("max(a, b)", 5), ("min(a * a, b - 1)", 4), ("-1", -1),
    ):  # fmt: skip
        assert Expression(text)(counts.__getitem__) == value


def test_every_array_says_what_it_is() -> None:
    for kind in layout._KINDS:
        for entry in vars(kind).values():
            if isinstance(entry, Array):
                assert entry.what, entry.name
                assert entry.kind.itemsize % 8 == 0 or entry.kind.itemsize == 1
