"""The reference says what the fields of small classes are, as their comments do."""

from __future__ import annotations

import sys
from pathlib import Path

from dynenvs.contact.friction import FrictionStage
from dynenvs.envs import Outcome
from dynenvs.model.parts import Joint
from dynenvs.simulation.world import Contact

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "_ext"))

import fields


def test_comments_beside_and_above_are_found() -> None:
    """Of a named tuple, a data class and an enumeration; a field without one has no words."""
    assert list(fields.fields(Outcome)) == list(Outcome._fields)
    contact = fields.fields(Contact)
    assert contact["gap"] == "[m], negative inside"
    assert contact["moment"].startswith("The same of torsional and rolling friction")
    assert contact["feature"] == "index into ``model.features``"
    assert contact["bodies"] == ""
    assert fields.fields(Joint)["friction"].startswith("Dry: what holds each coordinate")
    assert fields.fields(FrictionStage)["KEPT"] == "the guess holds already"


def test_names_that_share_a_line_stay_together() -> None:
    """Sphinx would take "nq, nv," for the type of nu."""
    lines = [":ivar nq, nv, nu: numbers.", ":ivar plan: how."]
    fields.complete(None, "class", "Model", Joint, None, lines)
    assert lines == [":ivar nq,nv,nu: numbers.", ":ivar plan: how."]
