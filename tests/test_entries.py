"""Entries: what Python calls is checked, packed into words, and comes back as it was declared."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from dynenvs.envs.robots import planar_humanoid
from dynenvs.jit import build
from dynenvs.jit.compiled import entry, inlined, units
from dynenvs.jit.kinds import Record, kinds_of
from dynenvs.memory.layout import Floats, Ints, Matrices, Matrix, ModelView, open_model

POINT = np.dtype([("x", "f8"), ("n", "i8")])


class Parts(NamedTuple):
    """Two arrays and a number."""

    grid: Matrix
    marks: Ints
    share: float


@entry
def _gather(
    w: ModelView,
    parts: Parts,
    cube: Matrices,
    points: Annotated[NDArray[Any], POINT],
    one: Annotated[Any, Record(POINT)],
    flag: bool,
    factor: float,
    count: int,
) -> tuple[float, int, bool]:
    """Something of everything, and some of it changed."""
    parts.grid[1, 0] = 7.0
    points[1].n += 5
    one.x = cube[1, 0, 1]
    total = parts.grid[0, 1] + parts.marks[1] + parts.share + factor + points[0].x
    return total, w.header[0].nv + count, not flag


@entry
@inlined
def _double(x: Floats) -> None:
    for i in range(x.shape[0]):
        x[i] *= 2.0


def arguments() -> tuple[Any, ...]:
    grid, cube = np.array([[1.0, 2.0], [3.0, 4.0]]), np.arange(8.0).reshape(2, 2, 2)
    points = np.zeros(2, POINT)
    points["x"] = 0.5
    parts = Parts(grid, np.array([10, 20]), 0.25)
    model = open_model(planar_humanoid.build().packed)
    return model, parts, cube, points, np.zeros(1, POINT)[0], True, 100.0, 3


def test_every_kind_of_argument_and_result() -> None:
    given = arguments()
    assert _gather(*given) == (2.0 + 20 + 0.25 + 100.0 + 0.5, 8 + 3, False)
    assert given[1].grid[1, 0] == 7.0
    assert given[3]["n"].tolist() == [0, 5]
    assert given[4]["x"] == given[2][1, 0, 1]


def test_a_call_can_be_repeated_and_named() -> None:
    x = np.ones(3)
    call = _double.bind(x)
    for _ in range(3):
        assert call() is None
    assert x.tolist() == [8.0, 8.0, 8.0]
    _double(x=x)
    assert x.tolist() == [16.0, 16.0, 16.0]


WRONG = {
    "a number": 1.0,
    "another type": np.ones(3, np.float32),
    "too many dimensions": np.ones((3, 1)),
    "every other entry": np.ones(6)[::2],
}


@pytest.mark.parametrize("what", WRONG)
def test_what_an_entry_does_not_take_is_told(what: str) -> None:
    """Nothing is indexed with it."""
    pattern = r"_double: a contiguous array of float64 of 1 dimension is wanted, not "
    with pytest.raises(TypeError, match=pattern):
        _double(WRONG[what])


def test_wrong_handles_counts_and_numbers_are_told() -> None:
    given = list(arguments())
    with pytest.raises(TypeError, match="takes 8 arguments, not 7"):
        _gather(*given[:-1])
    with pytest.raises(TypeError, match="a ModelView is wanted, not ndarray"):
        _gather(given[1].grid, *given[1:])
    with pytest.raises(TypeError, match="one record of"):
        _gather(*given[:4], 3.0, *given[5:])
    with pytest.raises(TypeError, match=r"_gather: a whole number is wanted, not 1\.5"):
        _gather(*given[:7], 1.5)


def test_what_cannot_be_declared_is_told() -> None:
    def takes_text(name: str) -> int:
        return 0

    def returns_array(x: Floats) -> list[float]:
        return []

    for function in (takes_text, returns_array):
        with pytest.raises(TypeError, match="take handles, int, float"):
            kinds_of(function)


def test_all_kernels_of_the_package_declare_what_they_take() -> None:
    """So the library can hold all of them."""
    build.import_all()
    ours = {name: unit for name, unit in units.items() if unit.is_ours}
    assert len(ours) > 100
    for unit in ours.values():
        assert unit.kinds is not None
        assert unit.result is None or unit.result.format
