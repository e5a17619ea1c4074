"""A first start is spared work, and compiles the same: numba's answers, and only what is needed."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import ir

from dynenvs.envs.core.task import Task
from dynenvs.envs.legged.humanoid import HumanoidTask
from dynenvs.envs.objects import box
from dynenvs.jit.compiled import called, inlined, kernel
from dynenvs.jit.compiler import type_of
from dynenvs.jit.frugal import defines_functions
from dynenvs.jit.plain import is_plain

accelerated = pytest.mark.skipif(
    is_plain() or numba.config.DISABLE_JIT, reason="numba compiles in its own way"
)


@called
def _curve(x: float) -> float:
    return x * x + math.sqrt(x)


@kernel
def _sum_of_three(x: float) -> float:
    return _curve(x) + _curve(x + 1.0) + _curve(x + 2.0)


@accelerated
def test_a_called_helper_has_one_copy() -> None:
    """However small it is, LLVM leaves it where it is."""
    assert _sum_of_three(1.0) == pytest.approx(14.0 + 1.0 + math.sqrt(2.0) + math.sqrt(3.0))
    dispatcher: Any = _sum_of_three._for_python  # type: ignore[attr-defined]
    (code,) = dispatcher.inspect_llvm().values()
    calls = [line for line in code.splitlines() if " call " in line and "_curve" in line]
    assert len(calls) == 3


@kernel
def _own(x: float) -> float:
    return 3.0 * x


@inlined
def _through(x: float) -> float:
    return _own(x)


@kernel
def _outermost(x: float) -> float:
    return _through(x)


@accelerated
def test_what_an_inlined_helper_calls_is_not_inlined_for_that() -> None:
    """Numba hands the option on to what it compiles first from there."""
    assert _outermost(2.0) == 6.0
    (part,) = type_of(_own).dispatcher.overloads.values()  # type: ignore[arg-type]
    assert "alwaysinline" not in part.library.get_llvm_str()


def _by_definition(value: Any) -> list[str]:
    """Names of the variables in an instruction's part, as numba's own lines find them."""
    if isinstance(value, ir.Var):
        return [value.name]
    if isinstance(value, ir.Inst):
        return _by_definition(vars(value) if isinstance(value, ir.Stmt) else value._kws)
    if isinstance(value, list | tuple):
        return [name for part in value for name in _by_definition(part)]
    if isinstance(value, dict):
        return [name for part in value.values() for name in _by_definition(part)]
    return []


def test_variables_of_instructions_are_those_that_numba_finds() -> None:
    """In calls with names, in tuples and in slices, in their order."""
    place = ir.Loc("here", 1)
    scope = ir.Scope(None, place)
    a, b, c, d = (ir.Var(scope, name, place) for name in "abcd")
    call = ir.Expr.call(a, (b, c), (("named", d),), place)
    instructions = [
        ir.Assign(call, a, place),
        ir.SetItem(a, b, c, place),
        ir.Return(d, place),
        ir.Assign(ir.Expr.build_tuple([a, b, a], place), c, place),
        ir.Assign(ir.Const(3, place), b, place),
        ir.Branch(c, 1, 2, place),
    ]
    for instruction in instructions:
        found = [variable.name for variable in instruction.list_vars()]
        assert found == _by_definition(instruction)


def _late(x: float) -> float:
    return 2.0 * x


@accelerated
def test_what_is_registered_late_is_found() -> None:
    """Registries are searched again when they have grown, though they were before."""
    assert _sum_of_three(1.0) > 0.0  # something has been compiled

    @numba.extending.overload(_late)
    def overloaded(x):  # type: ignore[no-untyped-def]
        return lambda x: 2.0 * x

    @numba.njit
    def twice(x: float) -> float:
        return _late(x)

    assert twice(4.0) == 8.0


def test_functions_within_functions_are_seen() -> None:
    """Those that have some go through numba's pass for them."""

    def plain(x: float) -> float:
        return x + 1.0

    def nested(x: float) -> float:
        return (lambda y: y + 1.0)(x)

    assert not defines_functions(plain)
    assert defines_functions(nested)


def _groups(task: Task) -> set[str]:
    return set(task.kernel_groups)


def test_a_humanoid_on_flat_ground_compiles_nothing_of_what_it_lacks() -> None:
    """Boxes, uneven ground, loose objects and tops have groups of their own."""
    lacking = {"boxes", "fields", "terrain", "objects", "spins", "inverse"}
    assert not _groups(HumanoidTask()) & lacking
    assert lacking & _groups(HumanoidTask(terrain="rough")) == {"fields", "terrain"}
    with_box = HumanoidTask(objects=[box(half_size=0.1, position=(2.0, 0.0))])
    assert {"boxes", "objects"} <= _groups(with_box)


def test_contacts_are_exchanged_word_by_word() -> None:
    """All of both, and one with itself."""
    from dynenvs.contact.assembly.working_set import swap_contacts
    from dynenvs.memory.records import CONTACT

    contacts: Any = np.zeros(3, CONTACT)
    contacts.view(np.uint8)[:] = np.arange(contacts.nbytes) % 251
    before = contacts.copy()
    swap_contacts(contacts, 0, 2)
    swap_contacts(contacts, 1, 1)
    np.testing.assert_array_equal(contacts.view(np.uint8), before[[2, 1, 0]].view(np.uint8))
