"""MJCF and URDF compiled by the mujoco package: defaults, frames, angles and includes resolved."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.layout import Floats
from dynenvs.model.importing.counts import refuse_absurd_counts
from dynenvs.model.importing.impossible import refuse_impossible_spec, refuse_infinite
from dynenvs.model.importing.losses import Losses
from dynenvs.model.importing.repair import repaired
from dynenvs.model.importing.urdf import SCHEMES, drop_missing, prepare
from dynenvs.model.parts import ModelError

CONNECT, WELD, COUPLING = 0, 1, 2  # as in mjtEq
BODY, SITE = 1, 6  # as in mjtObj
OPENING = "Error opening"
ROBOT = re.compile(r"<robot\b[^>]*>")
WITH_VISUALS = '<mujoco><compiler discardvisual="false"/></mujoco>'
TOO_LARGE = re.compile(r"File size over 2GB is not supported\. File: '([^']*)'")
FUSED = "The static bodies of the spec were fused before this error, and remain so."


class Source(NamedTuple):
    """A compiled file."""

    m: Any  # mujoco.MjModel
    label: str  # by which messages call it
    urdf: bool
    looks: Any  # mujoco.MjModel with all that is seen; of a URDF another one


def mujoco_package() -> Any:
    """The mujoco package, or an ImportError that says how to get it."""
    try:
        import mujoco
    except ImportError as error:
        raise ImportError(
            "reading MJCF and URDF needs the mujoco package: pip install 'dynenvs[mjcf]'",
            name="mujoco",
        ) from error
    return mujoco


def compile_xml(text: str | None, path: Path | None, floating: bool, losses: Losses) -> Source:
    """Compile XML.

    Args:
        text: the XML, if it is given as such.
        path: of the file otherwise.
        floating: give bodies at the top that have no joint a free one.
        losses: that learns what was changed so that the file could be compiled.

    Raises:
        ModelError: it cannot be read or compiled; one line.
        ImportError: the mujoco package is missing.
    """
    label = str(path) if path else "XML text"
    content = path.read_text(encoding="utf-8", errors="replace") if path else text or ""
    urdf = "<robot" in content and "<mujoco>" not in content.split("<robot")[0]
    try:
        mended = repaired(content, losses) if urdf else content
        refuse_absurd_counts(content, path.absolute().parent if path else Path())
        given = mended if mended != content or not path else None
        spec = parsed(path, given, urdf, floating, losses)
        refuse_impossible_spec(spec)
        m = spec.compile()
        refuse_infinite(m, names)
    except (ValueError, TypeError, OSError, RuntimeError, MemoryError) as error:
        raise ModelError(f"{label}: {one_line(error)}{_advice(str(error))}") from None
    return Source(m, label, urdf, _looks(path, mended, floating) if urdf else m)


def parsed(
    path: Path | None, content: str | None, urdf: bool, floating: bool, losses: Losses
) -> Any:
    """mujoco.MjSpec of XML, mended if it is a URDF; raises what mujoco does.

    content: what to read instead of the file, as if it stood there; None: the file.
    """
    mujoco = mujoco_package()
    if path and content is None:
        spec = mujoco.MjSpec.from_file(os.fspath(path))
    else:
        spec = mujoco.MjSpec.from_string(content or "")
        if path:
            spec.modelfiledir = os.fspath(path.absolute().parent)
    if urdf:
        prepare(spec, path, losses)
    if floating:
        for body in spec.worldbody.bodies:
            if not body.joints:
                body.add_freejoint()
    return spec


def _looks(path: Path | None, content: str, floating: bool) -> Any:
    """A URDF compiled with its visuals, which MuJoCo leaves out; None if they cannot be read.

    They move nothing: what is missing or broken of them is no reason not to load the robot.
    """
    if "<mujoco" not in content:
        content = ROBOT.sub(lambda tag: tag.group() + WITH_VISUALS, content, count=1)
    try:
        spec = parsed(path, content, True, floating, Losses())
        drop_missing(spec)
        return spec.compile()
    except (ValueError, TypeError, OSError, RuntimeError, MemoryError):
        return None


def one_line(error: Exception) -> str:
    """The text of an error without its line breaks, and without what only mujoco's users know.

    It may hold names of a stranger's file: what would move a terminal's cursor is written out.
    """
    text = " ".join(str(error).split()).removeprefix("Error: ")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    large = TOO_LARGE.search(text)
    if large and Path(large[1]).is_dir():
        return f"{large[1]!r} is a folder: name a file in it"
    return text.removesuffix(FUSED).strip() or type(error).__name__


def _advice(text: str) -> str:
    """What would be right, where mujoco's message alone does not tell a newcomer."""
    if "mass and inertia of moving bodies" in text:
        return (
            ": give this link an <inertial> (URDF), or its body one or a geom with a density (MJCF)"
        )
    if any(scheme.replace("//", "/") in text for scheme in SCHEMES) and OPENING in text:
        return ": put its package in a folder above the file, or name it in ROS_PACKAGE_PATH"
    if OPENING in text or "opening file" in text:
        return ": put the file there, or correct its name or the compiler's meshdir"
    if "no decoder found for mesh file" in text:
        return ": meshes must be STL, OBJ or MSH"
    return ""


def names(mj_model: Any, kind: str, count: int) -> list[str]:
    """Names of all objects of a kind; those without one are called by kind and number.

    kind: as in mujoco's mjtObj, for example "geom"
    """
    mujoco = mujoco_package()
    code = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
    try:
        given = [mujoco.mj_id2name(mj_model, code, i) for i in range(count)]
    except UnicodeDecodeError:
        raise ModelError(f"names must be in UTF-8, and one of a {kind} is not") from None
    taken = {name for name in given if name}
    out = []
    for i, name in enumerate(given):
        own = name or f"{kind} {i}"
        while not name and own in taken:
            own += "'"
        out.append(own)
    return out


def rotation(quaternion: Any) -> Floats:
    """Rotation matrix of a unit quaternion (w, x, y, z), shape (3, 3)."""
    out = np.zeros(9)
    mujoco_package().mju_quat2Mat(out, np.asarray(quaternion, dtype=np.float64))
    return out.reshape(3, 3)


def disabled(mj_model: Any, what: str) -> bool:
    """Whether the file's <flag> switches something off: "limit", "contact", "gravity", ..."""
    bits = mujoco_package().mjtDisableBit
    wanted = int(getattr(bits, f"mjDSBL_{what.upper()}"))
    if what in ("equality", "frictionloss", "limit", "contact"):
        wanted |= int(bits.mjDSBL_CONSTRAINT)
    return bool(int(mj_model.opt.disableflags) & wanted)


def overrides(mj_model: Any) -> bool:
    """Whether all contacts have the parameters of the file's <option>, not those of their geoms."""
    return bool(int(mj_model.opt.enableflags) & int(mujoco_package().mjtEnableBit.mjENBL_OVERRIDE))


def any_of(values: Any) -> NDArray[np.bool_]:
    """Of an array of numbers for each of n objects: whose are not all zero, shape (n,)."""
    array = np.asarray(values)
    return np.asarray((array != 0).any(axis=tuple(range(1, array.ndim))))


def is_loop(mj_model: Any, equality: int) -> bool:
    """Whether constraint `equality` holds two bodies, sites or joints together, and is in force."""
    if disabled(mj_model, "equality") or not mj_model.eq_active0[equality]:
        return False
    if int(mj_model.eq_type[equality]) == COUPLING:
        return True
    return int(mj_model.eq_type[equality]) in (CONNECT, WELD) and int(
        mj_model.eq_objtype[equality]
    ) in (BODY, SITE)
