"""A walker seen in a mirror: images of observations and actions, and physics that agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.envs.core.mirror import Image, mirror_of
from dynenvs.envs.objects import sphere
from dynenvs.memory.layout import Floats

SPACE = ("dynenvs/Humanoid-v0", "dynenvs/Quadruped-v0")
PLANE = ("dynenvs/PlanarHumanoid-v0", "dynenvs/PlanarQuadruped-v0")
STEPS = {SPACE[0]: 7, PLANE[0]: 15, PLANE[1]: 15}  # before legs meet, or robots have fallen


def mirror_state(state: dict[str, Any], joints: Image, planar: bool) -> None:
    """Make the second world's state the image of the first one's, both at a reset."""
    world, task = state["world"], state["task"]
    one, two = world[:1].copy(), world[1:]
    two[:] = one
    if planar:
        root = one["v"].shape[1] - len(joints.places)
        for name in ("q", "v"):
            two[name][:, root:] = joints.of(one[name][:, root:])
    else:
        two["q"][:, :7] = one["q"][:, :7] * (1, -1, 1, 1, -1, 1, -1)  # turns: about y alone stays
        two["v"][:, :6] = one["v"][:, :6] * (1, -1, 1, -1, 1, -1)
        two["q"][:, 7:] = joints.of(one["q"][:, 7:])
        two["v"][:, 6:] = joints.of(one["v"][:, 6:])
    for name in task.dtype.names:
        if name != "generator":
            task[name][1] = task[name][0]
    task["phase"][1] = (task["phase"][0] + 0.5) % 1.0
    if not planar:
        for name in ("sideways", "turning"):
            task[name][1] = -task[name][0]


@pytest.mark.parametrize("name", [SPACE[0], *PLANE])
def test_physics_is_the_same_in_the_mirror(name: str) -> None:
    """The image of what follows on an action is what follows on its image.

    The quadruped is left out: the centre of mass of the Go1's trunk is 2 mm to its left.  The
    humanoid is in the air: under the corners of its soles forces are many that do the same.
    """
    envs = make_batch(name, 2, 1, reset_noise=0.05)
    mirror = mirror_of(envs.task)
    envs.reset(seed=3)
    state = envs.get_state()
    state["world"]["q"][:, 2] += 1.0 if name in SPACE else 0.0
    mirror_state(state, mirror.action, name in PLANE)
    envs.set_state(state)
    generator = np.random.default_rng(0)
    far: list[float] = []
    rewards: Floats = np.zeros(2)
    seen: Floats = np.zeros((2, 1))
    for _ in range(STEPS[name]):
        action = generator.uniform(-0.05, 0.05, envs.task.model.nu)
        actions = np.stack([action, mirror.action.of(action)]).astype(np.float32)
        seen, rewards, *_ = envs.step(actions)
        far.append(float(np.abs(mirror.observation.of(seen[0]) - seen[1]).max()))
        assert rewards[0] == pytest.approx(rewards[1], abs=1e-9)
    assert max(far) < 1e-9
    # Not because nothing has happened: the two worlds are different, and far from their beginning
    assert np.abs(seen[0] - seen[1]).max() > 0.1


@pytest.mark.parametrize("name", [*SPACE, *PLANE])
def test_twice_in_the_mirror_is_as_before(name: str) -> None:
    """Of every entry, and no entry is its own image where left and right differ."""
    mirror = mirror_of(make_batch(name, 1, 1).task)
    for image in mirror:
        entries = np.arange(1.0, len(image.places) + 1.0)
        np.testing.assert_array_equal(image.of(image.of(entries)), entries)
    assert not (mirror.action.places == np.arange(len(mirror.action.places)))[:2].any()


def test_left_is_right() -> None:
    """By hand: a humanoid whose left hip turns outward, and that is told to go to its left."""
    task = make_batch(SPACE[0], 1, 1).task
    mirror = mirror_of(task)
    at = task.observation_slices
    seen = np.zeros(59)
    seen[at["joint angles"].start + 1] = 0.3  # left hip's roll
    seen[at["command"]] = (0.5, 0.1, 0.2)
    seen[at["gait phase"]] = (0.0, 1.0)
    seen[at["foot contacts"]] = (1.0, 0.0)
    wanted = np.zeros(59)
    wanted[at["joint angles"].start + 7] = -0.3
    wanted[at["command"]] = (0.5, -0.1, -0.2)
    wanted[at["gait phase"]] = (0.0, -1.0)
    wanted[at["foot contacts"]] = (0.0, 1.0)
    np.testing.assert_array_equal(mirror.observation.of(seen), wanted)


def test_what_has_no_image_is_refused() -> None:
    seen = make_batch(SPACE[1], 1, 1, objects=[sphere(radius=0.1)], observe_objects=True)
    with pytest.raises(ValueError, match="no mirror image is declared for 'object 0 place'"):
        mirror_of(seen.task)
    with pytest.raises(ValueError, match="no legs"):
        mirror_of(make_batch("dynenvs/DoublePendulum-v0", 1, 1).task)
