"""Numbers that are finite but absurd are refused in words where they enter, and at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynenvs
from dynenvs import Model, ModelBuilder, ModelError, World, Worlds, free, revolute
from dynenvs.model.pairs import MOST_CROSSED

HUGE, TINY = 1e300, 1e-300


def over(field: str, span: float, half: float, radius: float = 0.1) -> Model:
    """A capsule that reaches half a length either way, over ground of 3 x 3 heights."""
    builder = ModelBuilder()
    getattr(builder, field)("ground", heights=np.zeros((3, 3)), half_size=(span, span))
    builder.body("a", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.capsule("a", "a", start=(-half, 0.0, 0.0), end=(half, 0.0, 0.0), radius=radius)
    return builder.build()


def body(**options: Any) -> Callable[[], Any]:
    """A body with these options."""
    given = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "joint": free(), **options}
    return lambda: ModelBuilder().body("a", **given).build()


def geom(shape: str, **options: Any) -> Callable[[], Any]:
    """A shape with these options."""
    return lambda: getattr(ModelBuilder().body("a"), shape)("g", "a", **options)


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "a capsule of 1e12 m over blocks": (
        lambda: over("block_field", 1.5, 5e11),
        r"'a' can reach \d+ blocks of 'ground' side by side",
    ),
    "a capsule of 400 m over blocks": (
        lambda: over("block_field", 1.5, 200.0),
        rf"402 blocks.*more than {MOST_CROSSED}",
    ),
    "a capsule of 4000 m over heights": (
        lambda: over("height_field", 1.5, 2000.0),
        "'a' is 2668 times as long as the heights of 'ground'",
    ),
    "heights as close as atoms": (
        lambda: over("height_field", 1e-15, 1.0, 1e-3),
        "make the grid coarser",
    ),
    "ground of no size": (lambda: over("height_field", TINY, 1.0), "half_size must be at least"),
    "contacts": (lambda: ModelBuilder(max_contacts=10**30), "max_contacts must be at most"),
    "directions": (lambda: ModelBuilder(directions=10**30), "directions must be"),
    "gravity": (lambda: ModelBuilder(gravity=(0.0, 0.0, -HUGE)), "gravity must be at most 1e"),
    "timestep": (lambda: ModelBuilder(timestep=TINY), "timestep.*must be at least 1e-15"),
    "mass": (body(mass=HUGE), "mass.*must be at most 1e"),
    "little mass": (body(mass=TINY), "mass must be zero or from 1e-15 to 1e"),
    "mass with too many digits": (body(mass=10**400), "mass of 'a' must be a number"),
    "inertia": (body(inertia=(HUGE, HUGE, HUGE)), "inertia must be at most 1e"),
    "com": (body(com=(HUGE, 0.0, 0.0)), "com of 'a' must be at most"),
    "damping": (body(joint=revolute(damping=HUGE)), "damping must be at most"),
    "limits": (body(joint=revolute(limits=(-HUGE, 0.0))), "each of limits must be at most"),
    "effort": (body(joint=revolute(effort=HUGE)), "effort limit must be at most"),
    "reference": (body(joint=revolute(reference=HUGE)), "reference must be at most"),
    "radius": (geom("sphere", radius=HUGE), "radius must be at most"),
    "a tiny radius": (geom("sphere", radius=TINY), "radius must be at least"),
    "friction": (geom("sphere", radius=1.0, friction=HUGE), "friction must be at most"),
    "collide": (geom("sphere", radius=1.0, collide=1), "collide must be True or False"),
    "points": (geom("convex", points=np.vstack([np.eye(3), -np.eye(3)]) * HUGE), "points must be"),
    "points with too many digits": (geom("convex", points=[[10**400] * 3]), "points must be"),
    "heights": (
        lambda: ModelBuilder().height_field("h", heights=np.full((3, 3), HUGE), half_size=(1, 1)),
        "heights must be at most",
    ),
    "keyframe": (lambda: ModelBuilder().keyframe("k", [10**400]), "must be a list of finite"),
    "gears": (
        lambda: ModelBuilder().actuator("m", {"j": HUGE}),
        "gear of 'j' must be at most",
    ),
    "coupling": (
        lambda: ModelBuilder().body("a", joint=revolute()).couple("c", "a", coefficients=[HUGE]),
        "coefficients must be at most",
    ),
    "coupling with too many digits": (
        lambda: ModelBuilder().body("a", joint=revolute()).couple("c", "a", coefficients=[10**400]),
        "coefficients must be one to",
    ),
    "color": (
        lambda: ModelBuilder().visual(
            "v", "world", points=np.eye(3), triangles=[[0, 1, 2]], color=[np.inf] * 3
        ),
        "color must be three numbers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_model_is_refused_in_words(case: str) -> None:
    make, words = CASES[case]
    with pytest.raises(ModelError, match=words):
        make()


def test_a_long_capsule_that_is_allowed_steps() -> None:
    """Of 100 m over blocks of 1 m: 10,000 blocks are looked at."""
    world = World(over("block_field", 1.5, 50.0))
    world.q[2] = 0.1
    world.step()
    assert world.diagnostics.failed == 0


def model() -> Model:
    """A ball."""
    builder = ModelBuilder().body("a", joint=free(), density=1.0)
    return builder.sphere("a", "a", radius=1.0).build()


def test_counts_of_worlds_are_refused() -> None:
    """Before memory is asked for that there cannot be."""
    made = model()
    with pytest.raises(ValueError, match="count must be at most 2147483647"):
        Worlds(made, 10**18)
    with pytest.raises(ValueError, match=r"2000000000 worlds of this model need .* GB, more than"):
        Worlds(made, 2 * 10**9)
    with pytest.raises(ValueError, match="budget"):
        World(made, budget=10**30)
    with pytest.raises(ValueError, match="steps must be at most"):
        Worlds(made, 1).step(steps=10**30)


# Saved models

BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "deep": (lambda text: text.replace('"gravity": [', '"gravity": ' + "[" * 10**5), "deep|JSON"),
    "deep and whole": (
        lambda text: (
            '{"format": "dynenvs model", "version": 4, "options": %s}' % ("[" * 10**5 + "]" * 10**5)
        ),
        "nested too deeply",
    ),
    "digits": (lambda text: text.replace("-9.81", "-" + "9" * 400), "options|gravity"),
    "mass": (lambda text: text.replace('"mass": 0.0', '"mass": ' + "9" * 400), "mass"),
    "size": (lambda text: text.replace('"size": [1.0, 0.0, 0.0]', '"size": []'), "size must be"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_saved_model_is_refused_in_words(case: str, tmp_path: Path) -> None:
    change, words = BROKEN[case]
    file = tmp_path / "model.json"
    dynenvs.save(model(), file)
    text = file.read_text(encoding="utf-8")
    assert change(text) != text
    file.write_text(change(text), encoding="utf-8")
    with pytest.raises(ModelError, match=words) as caught:
        dynenvs.load(file)
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    """The limits are no narrower there."""
    file = tmp_path / "model.json"
    dynenvs.save(model(), file)
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == 5
    assert dynenvs.load(file).packed.tobytes() == model().packed.tobytes()


def test_a_step_without_a_solution_says_so_in_one_line() -> None:
    builder = ModelBuilder().half_space("floor")
    for name in "abc":
        builder.body(name, joint=free(), density=1.0).sphere(name, name, radius=1.0)
    world = World(builder.build())
    world.v[:] = 1e300
    with pytest.raises(dynenvs.SimulationError) as caught:
        world.step(steps=50)
    assert "\n" not in str(caught.value)
