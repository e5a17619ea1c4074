"""What a URDF needs before MuJoCo compiles it: mesh paths of ROS, and possible inertias."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.importing.losses import Losses

SCHEMES = ("package://", "model://", "file://")
UNREAD = (".dae",)  # formats of meshes that MuJoCo does not read
LEAST = 1e-6  # principal moment, relative to the largest, to which smaller ones are raised
TINY = 1e-12  # ... and at least [kg m^2]
INSIDE = 1e-9  # relative: by how much the triangle inequality then holds


def prepare(spec: Any, path: Path | None, losses: Losses) -> None:
    """Mend a parsed URDF in place.

    Args:
        spec: mujoco.MjSpec of a URDF.
        path: of the file, from which packages are looked for; None: of XML text.
        losses: that learns what was changed.
    """
    _find_meshes(spec, path)
    _drop_unread(spec, losses)
    _mend_inertias(spec, losses)
    _weigh_by_inertials_alone(spec)


def _find_meshes(spec: Any, path: Path | None) -> None:
    """Replace "package://name/file" by the file, where there is one."""
    for mesh in spec.meshes:
        for scheme in SCHEMES:
            if mesh.file.startswith(scheme):
                rest = mesh.file.removeprefix(scheme)
                found = next((at for at in _candidates(rest, path) if at.is_file()), None)
                if found is not None:
                    mesh.file = str(found)


def _candidates(rest: str, path: Path | None) -> Iterator[Path]:
    """Where "name/file" of a package may be: near the URDF, or where ROS keeps its packages."""
    rest = rest.lstrip("/")  # some have three slashes
    yield Path("/") / rest  # of file://
    package, _, inside = rest.partition("/")
    above = path.absolute().parents if path else ()
    for folder in above:
        yield folder / rest
        if folder.name == package:
            yield folder / inside
    for variable, below in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for listed in os.environ.get(variable, "").split(os.pathsep):
            if listed:
                yield Path(listed) / below / rest
    for folder in above:  # the package's folder may have another name: of a version, of a branch
        yield folder / inside


def _drop_unread(spec: Any, losses: Losses) -> None:
    """Take out the meshes that MuJoCo cannot read, and the geoms that are made of them."""
    unread = [mesh for mesh in spec.meshes if Path(mesh.file).suffix.lower() in UNREAD]
    files = [Path(mesh.file).name for mesh in unread]
    _delete(spec, unread)
    losses.add("meshes that are no STL or OBJ", files, "they touch nothing")


def drop_missing(spec: Any) -> None:
    """Take out the meshes whose package was not found, and the geoms that are made of them."""
    missing = [mesh for mesh in spec.meshes if mesh.file.startswith(SCHEMES)]
    _delete(spec, missing)


def _delete(spec: Any, meshes: list[Any]) -> None:
    """Take out meshes and the geoms that are made of them."""
    names = {mesh.name for mesh in meshes}
    for geom in list(spec.geoms):
        if geom.meshname in names:
            spec.delete(geom)
    for mesh in meshes:
        spec.delete(mesh)


def _weigh_by_inertials_alone(spec: Any) -> None:
    """A link without <inertial> has no mass, whatever its shapes: MuJoCo would make it of water."""
    for body in spec.bodies:
        if not body.explicitinertial:
            for geom in body.geoms:
                geom.mass = 0.0


def _mend_inertias(spec: Any, losses: Losses) -> None:
    """Replace inertias that no rigid body has by near ones: MuJoCo takes no others."""
    mended = []
    for body in spec.bodies:
        xx, yy, zz, xy, xz, yz = body.fullinertia
        if not np.isfinite(xx):  # not given
            continue
        given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        near = _possible(given)
        if near is not given:
            body.fullinertia = near[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            mended.append(body.name)
    losses.add(
        "inertias that no rigid body has (principal moments that are not positive, or one that is "
        "larger than the sum of the others)",
        mended,
        "possible ones near them are taken",
    )


def _possible(given: Floats) -> Floats:
    """The same matrix if its principal moments are those of a rigid body, or a near one."""
    moments, axes = np.linalg.eigh(given)
    least = max(LEAST * float(moments[2]), TINY)
    if moments[0] > 0.0 and moments[0] + moments[1] >= moments[2]:
        return given
    moments = np.maximum(moments, least)
    moments[2] = min(moments[2], (1.0 - INSIDE) * (moments[0] + moments[1]))
    return np.asarray(axes @ np.diag(moments) @ axes.T)
