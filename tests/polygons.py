"""Friction polygons for tests of the contact solvers' parts."""

from __future__ import annotations

from functools import cache

from trees import Array

from dynenvs.memory.layout import open_model
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import revolute


@cache
def friction_polygon(directions: int) -> Array:
    """The base of pyramids of so many directions."""
    builder = ModelBuilder(directions=directions)
    builder.body("arm", joint=revolute(), mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    found: Array = open_model(model.packed).polygons[-1:]
    assert found["directions"][0] == directions
    return found
