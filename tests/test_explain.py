"""`dynenvs.explain`: the paths that models take, with reasons that are those of the model."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import dynenvs
from dynenvs.envs.robots import humanoid
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, revolute

ROD: dict[str, Any] = {"mass": 1.0, "com": (0, 0, -0.2), "inertia": (0.02, 0.02, 0.001)}


def chain(links: int, **options: Any) -> ModelBuilder:
    """Rods that hang from each other on hinges about y."""
    builder = ModelBuilder(directions=2)
    parent = "world"
    for i in range(links):
        joint = revolute(position=(0, 0, -0.4 if i else 0.0), axis=(0, 1, 0), **options)
        builder.body(f"link {i}", parent=parent, joint=joint, **ROD)
        parent = f"link {i}"
    return builder


def wall() -> Model:
    """Three bricks on a floor."""
    builder = ModelBuilder()
    builder.half_space("floor")
    for k in range(3):
        builder.body(f"brick {k}", joint=free(), density=900.0)
        builder.box(f"brick {k}", f"brick {k}", half_size=(0.1, 0.05, 0.05))
    return builder.build()


def looped() -> Model:
    """Two rods, each a tree of its own, pinned together."""
    builder = chain(1)
    builder.body("other", joint=revolute(axis=(0, 1, 0), position=(0.2, 0, 0)), **ROD)
    builder.close("pin", "link 0", "other", joint="spherical", position_a=(0.2, 0, -0.2),
                  position_b=(0, 0, -0.2))  # fmt: skip
    return builder.build()


def rolling() -> Model:
    """Two balls with rolling friction."""
    builder = ModelBuilder(cone="exact")
    builder.half_space("floor", rolling_friction=0.01)
    for k in range(2):
        builder.body(f"ball {k}", joint=free(), density=900.0)
        builder.sphere(f"ball {k}", f"ball {k}", radius=0.1, rolling_friction=0.01)
    return builder.build()


# Of each model which choices are taken (recursion, refinement, islands, planar), and words that
# its reasons hold
CASES: dict[str, tuple[Callable[[], Model], str, tuple[str, ...]]] = {
    "pendulum": (chain(1).build, "...p", ("here they sum to 1", "all that moves is one tree")),
    "humanoid": (humanoid.build, "....", ("only hinges and slides", "'pelvis' moves it out of")),
    "wall": (wall, "..i.", ("3 trees move apart",)),
    "chain of 11": (chain(11).build, ".r.p", ("11 coordinates lead to a body",)),
    "chain of 60": (chain(60).build, "R..p", ("here to 73810", "recursion loses no digits")),
    "loop": (looped, "...p", ("closed loops are taken out of one matrix",)),
    "dry joints": (chain(60, friction=0.1).build, "...p", ("knows no dry friction at joints",)),
    "moments": (rolling, "..i.", ("2 trees move apart", "exact cones")),
}


@pytest.mark.parametrize("name", CASES)
def test_each_model_is_explained_as_it_is_stepped(name: str) -> None:
    """The choices are those in the header, which kernels read; by hand which these are."""
    build, letters, words = CASES[name]
    model = build()
    told, h = dynenvs.explain(model), model.header
    found = told.recursion, told.refinement, told.islands, told.planar
    assert [choice.taken for choice in found] == [letter != "." for letter in letters]
    assert [bool(x) for x in (h.recursive, h.refined, h.sparse, h.planar)] == [
        choice.taken for choice in found
    ]
    for part in words:
        assert part in str(told)


def test_a_copy_and_another_integrator_are_explained_too() -> None:
    model = pickle.loads(pickle.dumps(chain(60).build()))
    assert dynenvs.explain(model).recursion.taken
    assert "uses factors all the same" in dynenvs.explain(model.with_integrator("midpoint")).laws


def test_nothing_but_a_model_is_explained() -> None:
    for other in (None, ModelBuilder()):
        with pytest.raises(TypeError, match="model must be a Model, as ModelBuilder"):
            dynenvs.explain(other)  # type: ignore[arg-type]
