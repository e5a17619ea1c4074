"""Which of the core's paths a model's steps take, in words."""

from __future__ import annotations

from typing import NamedTuple

from dynenvs.memory.records import CONE, MIDPOINT
from dynenvs.model.joint_constants import first_out_of_plane
from dynenvs.model.model import Model
from dynenvs.model.plan import MOST_DENSE, Choice

CONTACTS = {
    True: "island by island, sparse (where velocities are prescribed, dense: up to "
    f"{MOST_DENSE} contacts)",
    False: "all in one dense problem",
}
INDENT = 13  # of reasons, under what they give the reason of


class Explanation(NamedTuple):
    """What `explain` returns: each choice is (taken, why); `str()` of it is a few lines to read.

    Attributes:
        model: what is explained, with its numbers of coordinates and trees.
        recursion: M^-1 by articulated bodies, not by factors of M.
        refinement: velocities corrected by each body's own equations.
        islands: contacts solved island by island with sparse matrices, not in dense rows.
        planar: poses and forces worked out in the x-z plane.
        laws: cone of friction and integrator, as far as they choose how a step is computed.
    """

    model: str
    recursion: Choice
    refinement: Choice
    islands: Choice
    planar: Choice
    laws: str

    def __str__(self) -> str:
        lines = (
            ("mass matrix", "recursion" if self.recursion.taken else "factors", self.recursion),
            ("velocities", "refined" if self.refinement.taken else "as they come", self.refinement),
            ("contacts", CONTACTS[self.islands.taken], self.islands),
            ("poses", "in the x-z plane" if self.planar.taken else "in space", self.planar),
        )
        words = [
            f"{name + ':':<{INDENT}}{what}\n{'':{INDENT}}because {choice.why}"
            for name, what, choice in lines
        ]
        return "\n".join([self.model, *words, f"{'laws:':<{INDENT}}{self.laws}"])


def explain(model: Model) -> Explanation:
    """How a model's mass matrix and contacts are computed with, and the reason for each choice.

    The choices follow from the model alone, when it is built.  They change what a step costs and
    the last digits, never the law: `print(dynenvs.explain(model))`.

    Args:
        model: any model.

    Returns:
        The choices, each as (taken, why); its `str()` is a text of a few lines.

    Raises:
        TypeError: no model.
    """
    if not isinstance(model, Model):
        raise TypeError(f"model must be a Model, as ModelBuilder.build() makes, got {model!r:.200}")
    h, plan = model.header, model.plan
    trees = f"{int(h.ntrees)} {'tree' if h.ntrees == 1 else 'trees'}"
    words = f"{len(model.body_names) - 1} bodies, {model.nv} velocities in {trees}"
    return Explanation(
        words, plan.recursion, plan.refinement, plan.islands, _planar(model), _laws(model)
    )


def _planar(model: Model) -> Choice:
    """Whether poses are worked out in the plane, and if not, whose joint prevents it."""
    i = first_out_of_plane(model.bodies)
    if i == 0:
        return Choice(True, "every joint turns about y, or slides across it")
    return Choice(False, f"the joint of {model.body_names[i]!r} moves it out of the x-z plane")


def _laws(model: Model) -> str:
    """The cone and the integrator, and what these change of the plan."""
    cone = f"pyramids of {int(model.header.directions)} directions"
    if model.header.cone == CONE:
        cone = "exact cones"
    if model.header.nviscous:
        cone += ", viscous beside it"
    rule = f"friction on {cone}, integrator {model.integrator!r}"
    if model.plan.recursion.taken and model.header.integrator == MIDPOINT:
        rule += " (which uses factors all the same)"
    return rule
