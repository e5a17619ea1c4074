"""`load`: a model from MJCF, URDF or a file that `save` has written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dynenvs.files import refuse_endless
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.importing.bodies import Attached, add_bodies
from dynenvs.model.importing.compiled import Source, compile_xml, disabled
from dynenvs.model.importing.loops import add_loops
from dynenvs.model.importing.losses import Losses
from dynenvs.model.importing.motors import add_keyframes, add_motors, carried_by_joints, driven
from dynenvs.model.importing.saved import FORMAT, read
from dynenvs.model.importing.seen import add_eyes, add_visuals
from dynenvs.model.importing.shapes import add_shapes
from dynenvs.model.importing.tendons import add_tendons, joint_limits
from dynenvs.model.mobility import check_plane
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError

ELLIPTIC = 1  # mjtCone
OUT_OF_PLANE = 1e-12  # what a plane's normal may have across the x-z plane


def load(
    source: str | os.PathLike[str],
    *,
    strict: bool = False,
    floating: bool = False,
    directions: int | None = None,
    moments: bool = True,
) -> Model:
    """A model from a file, or from XML text.

    MJCF and URDF are compiled by the mujoco package (`pip install 'dynenvs[mjcf]'`) and read from
    the compiled arrays, so that defaults, includes and units are resolved as there.  q, v and M are
    MuJoCo's, entry by entry.  docs/robots.md lists what is carried over.

    Args:
        source: path of an MJCF, URDF or JSON file (of `save`), or XML itself (it begins with "<").
        strict: raise an error where something cannot be carried over, instead of a warning.
        floating: give bodies at the top that have no joint a free one (a URDF has none).
        directions: of friction, see `ModelBuilder`.  None: 2 where all moves in the x-z plane, else
            8.
        moments: whether torsional and rolling friction (condim 4 and 6) are carried over. Models
            that have them cannot be given to `inverse_dynamics`.

    Returns:
        The model; with `sites`, `keyframes` ("qpos0" is the pose of the file) and `actuators`
        (`dynenvs.actuator_forces`).

    Raises:
        ModelError: the file is missing, broken, or describes what cannot be; one line.
        ImportError: MJCF or URDF without the mujoco package.

    Warns:
        NotCarriedOver: once, with all that is left out and what that changes.
    """
    text, losses = os.fspath(source), Losses()
    if text.lstrip().startswith("<"):
        found = compile_xml(text, None, floating, losses)
    else:
        path = Path(text)
        if _is_saved(path):
            if floating or directions is not None or not moments:
                raise ModelError(
                    f"{path}: floating, directions and moments are for MJCF and URDF alone"
                )
            return read(path)
        found = compile_xml(None, path, floating, losses)
    try:
        model = model_of(found, directions, moments, losses)
    except ModelError as error:
        raise ModelError(f"{found.label}: {error}") from None
    losses.tell(found.label, strict)
    return model


def _is_saved(path: Path) -> bool:
    """Whether a file is one that `save` has written, by how it begins."""
    try:
        refuse_endless(path)
        with path.open("rb") as file:
            begin = file.read(4096).lstrip()
    except OSError as error:
        raise ModelError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except ValueError as error:  # a name that no file can have
        raise ModelError(f"cannot read {str(path)!r}: {error}") from None
    if begin.startswith(b"{"):
        return True
    if not begin.removeprefix(b"\xef\xbb\xbf").startswith(b"<"):
        raise ModelError(f"{path}: neither XML (MJCF, URDF) nor a {FORMAT} file (JSON)")
    return False


def model_of(source: Source, directions: int | None, moments: bool, losses: Losses) -> Model:
    """The model of a compiled file; arguments as of `load`."""
    m = source.m
    gravity = np.zeros(3) if disabled(m, "gravity") else np.array(m.opt.gravity)
    options: dict[str, Any] = {
        "gravity": gravity,
        "cone": "exact" if m.opt.cone == ELLIPTIC else "pyramid",
        "friction": "maximum",
        "timestep": float(m.opt.timestep),
    }
    builder = ModelBuilder(**options, directions=directions or 8)
    _fill(builder, source, moments, losses)
    if directions is None and _is_planar(builder, m):
        builder = ModelBuilder(**options, directions=2)
        _fill(builder, source, moments, Losses())
    return builder.build()


def _fill(builder: ModelBuilder, source: Source, moments: bool, losses: Losses) -> None:
    """All parts of a compiled file into a builder."""
    m = source.m
    attached = Attached(driven(source), carried_by_joints(source), joint_limits(m))
    bodies = add_bodies(builder, source, attached, losses)
    shapes = add_shapes(builder, source, bodies, losses, moments)
    add_visuals(builder, source, bodies, shapes, source.looks)
    add_eyes(builder, source, bodies)
    add_loops(builder, source, bodies, losses)
    add_motors(builder, source, bodies, losses)
    add_tendons(builder, source, bodies, losses)
    add_keyframes(builder, source)
    fluid = [what for what in ("density", "viscosity") if getattr(m.opt, what) != 0.0]
    losses.add("fluid", fluid, "everything moves as in a vacuum")
    counts = {"flexes": m.nflex, "plugins": m.nplugin}
    losses.add("parts", [what for what, n in counts.items() if n], "they are not simulated")


def _is_planar(builder: ModelBuilder, mj_model: Any) -> bool:
    """Whether all moves in the x-z plane, and every ground's normal lies in it."""
    if mj_model.neq or any(body.joint.type == "free" for body in builder.description().bodies):
        return False
    bodies, geoms, _ = builder.sorted_parts()
    grounds = [geom for geom in geoms if geom.type == "half_space"]
    if any(abs(geom.rotation[1, 2]) > OUT_OF_PLANE for geom in grounds):
        return False
    solids = ("height_field", "box", "convex", "cylinder", "ellipsoid")
    if any(geom.type in solids for geom in geoms):
        return False
    try:
        check_plane(bodies)
    except ModelError:
        return False
    return True
