"""A URDF's text as MuJoCo's parser takes it: what moves nothing is put right, and said."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from dynenvs.model.importing.impossible import limits, refuse_impossible_urdf
from dynenvs.model.importing.losses import Losses

SIZES = {  # attributes of shapes that must be positive
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "box": ("size",),
}


def repaired(text: str, losses: Losses) -> str:
    """The same text, or one without what other readers of URDF pass over.

    A shape has one material: the first counts.  A shape of size zero is left out.  A text that is
    no XML stays as it is: MuJoCo says what is wrong with it.

    Args:
        text: of a URDF.
        losses: that learns what was left out.

    Raises:
        ValueError: the text says what no robot has.
    """
    try:
        robot = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return text
    refuse_impossible_urdf(robot)
    shut = [joint.get("name", "") for joint in robot.findall("joint") if _is_shut(joint)]
    losses.add("limits whose ends are the same", shut, "nothing stops these joints")
    # Link by link, what is left out and why
    empty, twice = [], []
    for link in robot.iter("link"):
        name = link.get("name", "a link without a name")
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            if _is_empty(shape):
                link.remove(shape)
                empty.append(name)
            for extra in shape.findall("material")[1:]:
                shape.remove(extra)
                twice.append(name)
    losses.add("shapes of size zero", list(dict.fromkeys(empty)), "they are not there")
    losses.add("repeated materials", list(dict.fromkeys(twice)), "the first one counts")
    changed = bool(empty or twice)
    return ElementTree.tostring(robot, encoding="unicode") if changed else text


def _is_empty(shape: Element) -> bool:
    """Whether a visual or collision shape has no volume."""
    for kind, attributes in SIZES.items():
        for found in shape.findall(f"geometry/{kind}"):
            sizes = " ".join(found.get(attribute, "") for attribute in attributes).split()
            if any(_is_zero(size) for size in sizes):
                return True
    return False


def _is_shut(joint: Element) -> bool:
    """Whether a joint's lower and upper limit are given, and the same: MuJoCo has none there."""
    ends, limit = limits(joint), joint.find("limit")
    if ends is None or limit is None:
        return False
    return ends[0] == ends[1] and ("lower" in limit.attrib or "upper" in limit.attrib)


def _is_zero(size: str) -> bool:
    try:
        return float(size) == 0.0
    except ValueError:
        return False
