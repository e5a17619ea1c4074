"""Numbers that are finite but absurd are refused in words where they enter, and at once."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynenvs
from dynenvs import (
    Model,
    ModelBuilder,
    ModelError,
    SimulationError,
    World,
    Worlds,
    free,
    revolute,
)
from dynenvs.model.pairs import MOST_CROSSED, collect_contacts
from dynenvs.simulation.worlds import WorldsError

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
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == 7
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


@pytest.mark.parametrize("field", ["v", "wrench"])
@pytest.mark.parametrize("many", [False, True])
def test_what_would_go_absurdly_far_has_no_step(field: str, many: bool) -> None:
    """Boxes over hills at 1e16 m/s and rad/s, or pushed by 1e18 N: steps took minutes."""
    builder = ModelBuilder().height_field("hills", heights=np.zeros((4, 4)), half_size=(3.0, 3.0))
    for i in range(5):
        builder.body(f"a{i}", joint=free(position=(0.3 * i, 0.0, 0.1)), density=500.0)
        builder.box(f"a{i}", f"a{i}", half_size=(0.1, 0.1, 0.1))
    made = builder.build()
    worlds = Worlds(made, 2) if many else World(made)
    state = worlds.get_state()
    (state[1:] if many else state)[field] = {"v": 1e16, "wrench": 1e18}[field]
    worlds.set_state(state)
    with pytest.raises(SimulationError, match="more than 100000") as caught:
        worlds.step()
    assert len(str(caught.value).splitlines()) == 1
    if isinstance(caught.value, WorldsError):
        assert caught.value.worlds.tolist() == [1]


def test_what_is_only_fast_has_one() -> None:
    """A bullet by ten thousand metres in a step of a second."""
    world = World(model(), timestep=1.0)
    world.v[0] = 1e4
    world.step()
    assert world.q[0] == 1e4


def test_geoms_that_never_touch_take_no_memory() -> None:
    """4,000 balls of one body have 8 million pairs, which took 700 MB; 20,000 took all there is."""
    builder = ModelBuilder().body("a", joint=free(), density=1.0)
    for k in range(4000):
        builder.sphere(f"g{k}", "a", radius=0.1, position=(k, 0.0, 0.0))
    bodies, geoms, _ = builder.sorted_parts()
    tracemalloc.start()
    contacts = collect_contacts(bodies, geoms, {})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert contacts.at_once == 0
    assert most < 5e7


def test_more_pairs_than_there_is_memory_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynenvs.model.pairs.MOST_PAIRS", 5)
    builder = ModelBuilder()
    for name in "abc":
        builder.body(name, joint=free(), density=1.0).sphere(name, name, radius=1.0)
    assert builder.build().header.nf == 3
    builder.body("d", joint=free(), density=1.0).sphere("d", "d", radius=1.0)
    with pytest.raises(ModelError, match="more than 5 pairs of the 4 geoms could touch"):
        builder.build()


@pytest.mark.parametrize("bad", [0, 62, 63, 64, 149])
def test_all_parts_of_a_large_tree_are_looked_at(bad: int) -> None:
    """One link of 150 has no inertia about its joint's axis."""
    builder = ModelBuilder().body("base", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    for k in range(150):
        inertia = (1.0, 1.0, 0.0 if k == bad else 1.0)
        joint = revolute(axis=(0.0, 0.0, 1.0))
        builder.body(f"link {k}", parent="base", joint=joint, mass=1.0, inertia=inertia)
    with pytest.raises(ModelError, match=f"'link {bad}': its revolute joint allows a motion"):
        builder.build()
