"""The step on Pinocchio's contact solvers: the same scenes, the same law, right answers."""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np
import pytest

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import prismatic
from dynenvs.simulation.world import World
from studies.bench.loose import OnPinocchio
from studies.bench.peers import MissingPeer
from studies.bench.pinocchio_step import (
    PinocchioStep,
    frames_of,
    on_cones,
    residual,
)
from studies.bench.scenes import scenes
from studies.bench.touching import Detector
from studies.verify import groove, impacts, piles, rolling, sliding
from studies.verify.clock import Clock
from studies.verify.in_pinocchio import InPinocchio
from studies.verify.ours import Ours
from studies.verify.pinched import pinched
from studies.verify.scene import Pin, Scene, ball, box

pin = pytest.importorskip("pinocchio")
if not hasattr(pin, "ADMMConstraintSolver"):
    pytest.skip("contact solvers came with pin 4", allow_module_level=True)

SOLVERS = ("ADMM", "PGS")
CUBE = (0.1, 0.1, 0.1)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.thorough
def test_sliding_and_rolling_are_exact(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed forms to the solver's tolerance; a wrong sign, frame or step would miss by far."""
    make = partial(InPinocchio, solver=solver)
    monkeypatch.setattr(groove, "STEPS", 50)
    found = list(sliding._distance(make, 22.5)) + list(islice(rolling.readings(make), 1))
    found += list(groove.readings(make))
    assert len(found) == 8
    for reading in found:
        assert reading.error < 1e-6, reading


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.thorough
def test_the_exact_cone_s_step_is_the_same(solver: str) -> None:
    """A hinged table turns under a block: with the same law, errors of first order are the same."""
    theirs = next(sliding._turntable(partial(InPinocchio, solver=solver), 1.05))
    ours = next(sliding._turntable(partial(Ours, cone="exact"), 1.05))
    assert theirs.measured == pytest.approx(ours.measured, abs=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_momentum_is_kept_in_empty_space(solver: str) -> None:
    for reading in impacts._collision(partial(InPinocchio, solver=solver)):
        assert reading.error < 1e-14, reading


def test_pgs_is_asked_again_until_its_residual_is_small() -> None:
    """Its own absolute test ends after one sweep, with the four spheres at 0.5, 0.25, 0.125."""
    (reading,) = impacts._row(partial(InPinocchio, solver="PGS"))
    assert reading.error < 1e-8


def test_places_are_those_of_the_world() -> None:
    """The same gaps, normals and points as the world's own contacts; slots keep their keys."""
    simulation = Ours(piles.pile(piles.BRICK, piles.wall(8)))
    simulation.step(3)
    world = simulation.world
    own = {(contact.feature, contact.slot): contact for contact in world.contacts}
    found = Detector(world).near(1e-6)
    assert set(found.keys) == set(own)
    for key, a, b, point, normal, gap in zip(*found[:6], strict=True):
        contact = own[key]
        assert contact.bodies == (world.model.body_names[a], world.model.body_names[b])
        np.testing.assert_array_equal(point, contact.position)
        np.testing.assert_array_equal(normal, contact.normal)
        assert gap == contact.gap
    np.testing.assert_allclose(found.friction, piles.FRICTION)


def test_the_detector_makes_room() -> None:
    """Of a model made for few contacts and blocks, all places are found, none is dropped."""
    world = Ours(piles.pile(piles.BRICK, piles.wall(40))).world
    blocks = world.model.header.nblocks
    first = Detector(world).near(1e-3)
    assert world.model.header.nblocks > blocks
    world.step()
    assert set(first.keys) == set(Detector(world).near(1e-3).keys)


def test_residual_of_answers_that_are_known() -> None:
    """One contact of mass 1: resting, sliding, open; and each a little off."""
    G, least = np.eye(3), 0.01
    mu = np.array([0.5])
    for g, p in (
        ((0.2, 0.0, -1.0), (-0.2, 0.0, 1.0)),  # sticks
        ((2.0, 0.0, -1.0), (-0.5, 0.0, 1.0)),  # slides
        ((2.0, 0.0, 1.0), (0.0, 0.0, 0.0)),  # parts
    ):
        exact = np.array([p])
        assert residual(G, np.array(g), exact, mu, least) < 1e-15
        assert residual(G, np.array(g), exact + np.array((1e-3, 0.0, 0.0)), mu, least) > 1e-4


def test_projection_on_cones() -> None:
    """Inside, on the polar cone, and between: on the nearest side."""
    p = np.array([[0.1, 0.0, 1.0], [0.1, 0.0, -1.0], [2.0, 0.0, 0.0]])
    np.testing.assert_allclose(
        on_cones(p, np.full(3, 0.5)), [[0.1, 0.0, 1.0], [0.0, 0.0, 0.0], [0.4, 0.0, 0.8]]
    )


def test_frames_have_the_normal_last() -> None:
    normals = np.array([[0.0, 0.0, 1.0], [0.6, 0.0, -0.8], [1.0, 0.0, 0.0]])
    for frame, normal in zip(frames_of(normals), normals, strict=True):
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-15)
        assert np.linalg.det(frame) == pytest.approx(1.0)
        np.testing.assert_array_equal(frame[:, 2], normal)


def test_what_it_cannot_run_is_said() -> None:
    """Restitution, loops, slides, and more velocities than its memory bears."""
    two = (box(1.0, CUBE, position=(0, 0, 1.0)), box(1.0, CUBE, position=(0, 0, 2.0)))
    for scene, reason in (
        (Scene(two, 1e-3, restitution=0.5), "no law of restitution"),
        (Scene(two, 1e-3, pins=(Pin(0, 1, (0, 0, 0.5), (0, 0, -0.5)),)), "no loops"),
        (Scene(two * 40, 1e-3), "480 are too many"),
    ):
        with pytest.raises(MissingPeer, match=reason):
            InPinocchio(scene, "ADMM")
    builder = ModelBuilder()
    builder.body("cart", joint=prismatic(axis=(1, 0, 0)), mass=1.0)
    with pytest.raises(MissingPeer, match="free bodies and hinges only"):
        PinocchioStep(World(builder.build()), "ADMM")


def test_its_time_is_pinocchio_s_own() -> None:
    """Less than the step takes here, where detection and Python's share come on top."""
    clock = Clock(partial(InPinocchio, solver="ADMM"))
    simulation = clock(Scene((ball(1.0, 0.1, position=(0, 0, 0.1)),), 1e-3))
    simulation.step(20)
    each = clock.take()
    assert each is not None
    assert 1e-6 < each < 0.01
    assert clock.take() is None


def test_the_capsule_is_pinched_by_what_is_said() -> None:
    """Four contacts, and on each side m g a / h = 19.62 N."""
    simulation = Ours(pinched(), cone="exact")
    simulation.step(3)
    contacts = simulation.world.contacts
    assert len(contacts) == 4
    wall = [c.impulse[0] for c in contacts if c.bodies[1] == "world"]
    assert sum(wall) / 2e-3 == pytest.approx(19.62, rel=1e-6)


@pytest.mark.thorough
def test_a_wall_of_fifty_does_not_kill_the_process() -> None:
    """Its 1,452 rows are a matrix of 17 MB, which the solver puts on the stack."""
    (wall,) = (scene for scene in scenes(quick=False) if scene.name == "wall of 50 bricks")
    stepper = OnPinocchio(wall, "ADMM")
    stepper.step(1)
    assert stepper.overlap() < 1e-3
