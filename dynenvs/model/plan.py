"""How a model's mass matrix M and its contacts' Jacobians J are applied: choices, with reasons.

Decided once, when the model is built, so that the same state always gives the same bits; the
buffers have room for what was chosen.  `dynenvs.explain(model)` tells the choices.

=========== ===================================== ==============================================
choice      taken                                 else
=========== ===================================== ==============================================
recursion   M^-1 by articulated bodies, without M M = L^T D L, with the zeros of the tree
refinement  velocities are corrected by what the  velocities as the factors give them
            bodies' own equations miss
islands     J as blocks of one or two trees; what J as dense rows, one Delassus matrix for all
            touches is solved, the rest apart     contacts
planar      poses and forces in the x-z plane     in space
=========== ===================================== ==============================================

All four give the same motion, but for rounding: they differ in what a step costs, and in the digits
that deep trees lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dynenvs.kinematics.joints import JOINT_NV
from dynenvs.memory.layout import fill_places
from dynenvs.model.parts import JOINT_TYPES, Body

RECURSION = 22_000  # sum of squares of depths: a chain of 40
MOST_DENSE = 24  # contacts, above which the sparse solver is used in scenes of several trees
DEEP = 10  # coordinates on one way to the root, above which velocities are refined

# Counts of the header, and the words for what they count
UNKNOWN_TO_RECURSION = {
    "ne": "closed loops",
    "nkinematic": "kinematic bodies",
    "sprung": "springs at joints",
    "moments": "torsional or rolling friction",
    "nviscous": "viscous friction",
    "ndry": "dry friction at joints",
    "nservos": "servos",
    "ntendons": "tendons",
    "nlifted": "bodies that are lifted",
}
# ... whose forces stand in no single body's equations, or which are not written there
UNKNOWN_TO_REFINEMENT = {
    "ne": "closed loops",
    "ncarried": "joints on kinematic bodies",
    "sprung": "springs at joints",
    "nservos": "servos",
    "ntendons": "tendons",
    "nlifted": "bodies that are lifted",
    "moments": "torsional or rolling friction",
    "nviscous": "viscous friction",
    "ndry": "dry friction at joints",
    "nscrews": "screws",
}


class Choice(NamedTuple):
    """Whether a path is taken, and why."""

    taken: bool
    why: str


class Plan(NamedTuple):
    """The choices of a model; the table above says what each means."""

    recursion: Choice
    refinement: Choice
    islands: Choice


def choose(header: Any, trees: Sequence[Sequence[int]], most_in_joint: int) -> Plan:
    """The plan of a model.

    Args:
        header: with all counts but those of rows.
        trees: of each tree the depths of its coordinates (`list_trees`).
        most_in_joint: coordinates of the joint that has most.
    """
    recursion = _choose_recursion(header, trees)
    refinement = _choose_refinement(header, trees, most_in_joint, recursion.taken)
    return Plan(recursion, refinement, _choose_islands(header, len(trees), recursion, refinement))


def _choose_recursion(header: Any, trees: Sequence[Sequence[int]]) -> Choice:
    """What a tree's factors cost is about the sum of the squares of its depths.

    RECURSION is where they cost the step more than articulated bodies.  Measured on chains
    (`python -m studies bench --cases compliance`).  It pays for the costliest tree or for none.
    """
    cost = max((sum(depth**2 for depth in depths) for depths in trees), default=0)
    if cost < RECURSION:
        return Choice(
            False,
            f"recursion is quicker where the squares of a tree's depths sum to {RECURSION}, as of "
            f"a chain of 40 links; here they sum to {cost}",
        )
    unknown = _present(header, UNKNOWN_TO_RECURSION)
    if unknown:
        return Choice(False, f"trees are deep enough for recursion, but it knows no {unknown}")
    why = f"it is quicker where the squares of a tree's depths sum to {RECURSION}; here to {cost}"
    return Choice(True, why)


def _choose_refinement(
    header: Any, trees: Sequence[Sequence[int]], most_in_joint: int, recursive: bool
) -> Choice:
    """In deep trees of hinges and slides the factors lose digits (`dynenvs.dynamics.refine`)."""
    depth = max((max(depths, default=0) for depths in trees), default=0)
    if depth <= DEEP:
        return Choice(
            False,
            f"no more than {DEEP} coordinates, here {depth}, lead to a body: no digit is lost",
        )
    if recursive:
        return Choice(False, "recursion loses no digits")
    if most_in_joint > 1:
        return Choice(False, "only hinges and slides are refined, and there are others")
    unknown = _present(header, UNKNOWN_TO_REFINEMENT)
    if unknown:
        return Choice(False, f"trees are deep enough to lose digits, but it knows no {unknown}")
    return Choice(True, f"{depth} coordinates lead to a body: above {DEEP} factors lose digits")


def _choose_islands(header: Any, trees: int, recursion: Choice, refinement: Choice) -> Choice:
    """Many bodies touch few others each: that makes matrices with many zeros."""
    if trees < 2:
        return Choice(False, "all that moves is one tree: there is nothing to take apart")
    if header.ne:
        return Choice(False, "closed loops are taken out of one matrix for all trees")
    if header.nviscous:
        return Choice(False, "viscous friction is taken out of one matrix for all trees")
    if recursion.taken or refinement.taken:
        name = "recursion" if recursion.taken else "refinement"
        return Choice(False, f"{name} works on one matrix for all trees")
    return Choice(True, f"{trees} trees move apart from each other")


def _present(header: Any, features: dict[str, str]) -> str:
    """Words for those of the features that the model has."""
    return ", ".join(words for count, words in features.items() if header[count])


def list_trees(bodies: list[Body]) -> list[list[int]]:
    """Trees of bodies that move independently: the depths of their coordinates.

    Kinematic bodies belong to none.
    """
    trees: list[list[int]] = []
    place: dict[str, tuple[int, int]] = {}  # of each body that moves: its tree, and its depth
    for body in bodies:
        count = JOINT_NV[JOINT_TYPES[body.joint.type]]
        tree, depth = place.get(body.parent, (len(trees), 0))
        if tree == len(trees):
            if count == 0 or body.kinematic:  # stands still, or moves whatever happens
                continue
            trees.append([])
        trees[tree] += range(depth + 1, depth + count + 1)
        place[body.name] = tree, depth + count
    return trees


def size_rows(header: Any, contacts: int) -> None:
    """Make room for so many contacts at once: counts that follow from it, and all places."""
    header.nc = contacts
    header.nd = min(contacts, MOST_DENSE) if header.sparse else contacts
    header.nmoments = contacts if header.moments else 0
    planar = header.directions == 2
    header.nfilm = contacts * (1 if planar else 2) if header.nviscous else 0
    rows = 2 if planar else 3
    if header.moments:
        rows += 1 if planar else 3
    # Rounded up: loops along rows then have whole vector registers to work on
    header.nr = -(-(header.nd * rows + header.nlimited + header.ndry) // 4) * 4
    header.nl = header.nd * (2 + header.directions) + header.nlimited + 2 * header.ndry
    fill_places(header)
