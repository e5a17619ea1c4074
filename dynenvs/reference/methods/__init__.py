"""Forward dynamics by every method of the sources (docs/theory.md, References), chosen by name.

All solve one linear system, the augmented one of `kkt.py`, by different eliminations (Pai, Ascher
and Kry 2000): they agree where it is well conditioned, and differ in cost and in lost digits where
it is not (docs/theory.md, Lost digits).
Written for clarity, in NumPy; `dynenvs.aba` and `dynenvs.crba` are the compiled ones.
"""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike

from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.model.validation import refuse_kinematic
from dynenvs.reference.methods.angeles_ma import angeles_ma
from dynenvs.reference.methods.angeles_ma_direct import angeles_ma_direct
from dynenvs.reference.methods.articulated import articulated
from dynenvs.reference.methods.articulated_bad import articulated_bad
from dynenvs.reference.methods.articulated_modified import articulated_modified
from dynenvs.reference.methods.composite import crb_cholesky, crb_ltdl, crb_lu, crb_svd
from dynenvs.reference.methods.conjugate_gradients import conjugate_gradients
from dynenvs.reference.methods.kkt import kkt
from dynenvs.reference.methods.qr_form import qr_form
from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.tree import Tree, tree_of

METHODS: dict[str, Callable[[Tree], Array]] = {
    "kkt": kkt,
    "crb_cholesky": crb_cholesky,
    "crb_ltdl": crb_ltdl,
    "crb_lu": crb_lu,
    "crb_svd": crb_svd,
    "abm": articulated,
    "abm_bad": articulated_bad,
    "abm_modified": articulated_modified,
    "qr": qr_form,
    "cg": conjugate_gradients,
    "angeles_ma": angeles_ma,
    "angeles_ma_direct": angeles_ma_direct,
}


def forward_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, method: str = "abm"
) -> Floats:
    """Accelerations of (M + armature) a + h + damping v + springs = tau, shape (nv,), no contact.

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,).
        tau: generalized forces of all coordinates [N m, N], shape (nv,).
        method: one of `METHODS`; each module says what it costs and where it loses digits:
            kkt; crb_cholesky, crb_ltdl, crb_lu, crb_svd; abm, abm_bad, abm_modified; qr; cg;
            angeles_ma, angeles_ma_direct.

    Raises:
        ValueError: unknown method, wrong shape, or not finite; or the model has kinematic bodies.
        ArithmeticError: roundoff has made the system singular or indefinite for this method.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose from: {', '.join(METHODS)}")
    refuse_kinematic(model)
    return METHODS[method](tree_of(model, q, v, tau))


__all__ = ["METHODS", "forward_dynamics", "tree_of"]
