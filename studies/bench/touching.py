"""All places where a world's bodies are near each other: what another's contact solver is given."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.contact.detection.detect import measure_own_gaps, place
from dynenvs.jit.compiled import entry
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, Ints, Records, WorldView, open_model
from dynenvs.memory.records import CONTACT
from dynenvs.simulation.world import World


class Touching(NamedTuple):
    """Places that are near each other, each array over them."""

    keys: list[tuple[int, int]]  # feature and slot: the same place has the same in the next step
    first: NDArray[Any]  # body A
    second: NDArray[Any]  # body B
    point: Floats  # world [m], shape (n, 3)
    normal: Floats  # unit, from B to A, shape (n, 3)
    gap: Floats  # [m], negative inside
    friction: Floats


class Detector:
    """Finds what is near in a world, as its own step would, for a step that is not its own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._make_room(64)

    def near(self, reach: float) -> Touching:
        """Places with a gap below `reach` [m] at the world's `q`, in the order of their numbers."""
        self._measure()
        world = self._world
        count = gather(world._handle, reach, self._keys, self._found)
        while count > len(self._found):
            self._make_room(2 * count)
            count = gather(world._handle, reach, self._keys, self._found)
        keys, found = self._keys[:count], self._found[:count]
        features = world.model.features[keys[:, 0]]
        return Touching(
            list(map(tuple, keys.tolist())),
            features["body_a"],
            features["body_b"],
            found["point"].copy(),
            found["normal"].copy(),
            found["gap"].copy(),
            found["friction"].copy(),
        )

    def _measure(self) -> None:
        """Gaps of all candidates, in a world with room for those that there are."""
        world = self._world
        while True:
            w = world._handle
            update_poses(open_model(w), world.q, w.pose)
            measure_own_gaps(w)
            if w.answer[0]["blocks"] <= w.header[0]["nblocks"]:
                return
            w.answer[0]["wanted"] = 0
            world._make_room()

    def _make_room(self, count: int) -> None:
        self._found = np.zeros(count, CONTACT).view(np.recarray)
        self._keys = np.zeros((count, 2), np.int64)


@entry
def gather(
    w: WorldView, reach: float, keys: Annotated[Ints, 2], found: Annotated[Records, CONTACT]
) -> int:
    """Candidates nearer than `reach` [m] after `measure_own_gaps`, as far as there is room.

    keys: (feature, slot) of each, shape (n, 2)
    found: CONTACT records, of which point, normal, gap and friction are filled, shape (n,)

    Returns how many there are.
    """
    points = w.header[0].npoints
    n = 0
    for f in range(points):
        if w.gaps[f] < reach and w.coefficients[f].excluded == 0:
            if n < len(found):
                keys[n, 0], keys[n, 1] = f, 0
                place(w.features, w.spots, w.pose, f, -1, found[n])
                found[n].gap, found[n].friction = w.gaps[f], w.coefficients[f].friction
            n += 1
    for i in range(w.answer[0].near):
        f, first = points + w.near[i].pair, w.near[i].first
        for slot in range(w.near[i].slots):
            gap = w.gaps[points + first + slot]
            if gap < reach and w.coefficients[f].excluded == 0:
                if n < len(found):
                    keys[n, 0], keys[n, 1] = f, slot
                    place(w.features, w.spots, w.pose, f, first + slot, found[n])
                    found[n].gap, found[n].friction = gap, w.coefficients[f].friction
                n += 1
    return n
