"""`solve_lcp`: every solver behind one call, its answer certified in the same way."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.jit.compiled import prepare
from dynenvs.lcp import solve as kernels
from dynenvs.lcp.proof import careful_w, proven_residual
from dynenvs.lcp.workspace import workspace

CASCADE = "cascade"
# Each with its greatest number of pivots, sweeps or iterations: so many, and more a variable
METHODS = {
    "lemke": (kernels.BY_LEMKE, 100, 10),
    "careful_lemke": (kernels.BY_CAREFUL_LEMKE, 100, 10),
    "principal_pivoting": (kernels.BY_PRINCIPAL_PIVOTING, 100, 50),
    "gauss_seidel": (kernels.BY_GAUSS_SEIDEL, 1000, 0),
    "semismooth_newton": (kernels.BY_SEMISMOOTH_NEWTON, 200, 0),
    "interior_point": (kernels.BY_INTERIOR_POINT, 100, 0),
}


class LcpStatus(IntEnum):
    """What the certificate says of an answer."""

    CERTIFIED = kernels.CERTIFIED
    DEGRADED = kernels.DEGRADED
    FAILED = kernels.FAILED


class LcpStage(IntEnum):
    """Which step of the cascade found an answer."""

    WARM_START = kernels.WARM_START
    LEMKE = kernels.LEMKE
    CAREFUL_LEMKE = kernels.CAREFUL_LEMKE
    INTERIOR_POINT = kernels.INTERIOR_POINT
    PRINCIPAL_PIVOTING = kernels.PRINCIPAL_PIVOTING
    REGULARISED = kernels.REGULARISED
    GAUSS_SEIDEL = kernels.GAUSS_SEIDEL


class LcpResult(NamedTuple):
    """Answer of `solve_lcp`.

    Attributes:
        z, w: shape (n,), w = A z + b, summed as if in twice the working precision.
        status: certified or why not.
        residual: natural residual in natural scales (`scaling.certificate`); of a certified
            answer its bound in exact arithmetic (`proof.proven_residual`).
        iterations: pivots (the cascade: of all Lemke runs together), sweeps or iterations.
        active: bool, shape (n,), the basic z's: the `guess` for the next, similar problem.
        stage: which one gave the answer, None of other methods than the cascade.
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    status: LcpStatus
    residual: float
    iterations: int
    active: NDArray[np.bool_]
    stage: LcpStage | None

    @property
    def certified(self) -> bool:
        """Whether z solves the problem: its residual is 1e-9 at most, all rounding included."""
        return self.status is LcpStatus.CERTIFIED


def solve_lcp(
    A: ArrayLike,
    b: ArrayLike,
    *,
    method: str = CASCADE,
    guess: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    scale: float = 0.0,
    limit: int | None = None,
) -> LcpResult:
    """Find z >= 0 with w = A z + b >= 0 and w'z = 0, and say how good the answer is.

    (Cottle, Pang, Stone, The Linear Complementarity Problem; docs/theory.md, Solvers.)

    Args:
        A: shape (n, n), any units.
        b: shape (n,).
        method: "cascade" (the default: one method after the other until an answer is certified),
            or one of them alone: "lemke", "careful_lemke", "principal_pivoting", "gauss_seidel",
            "semismooth_newton", "interior_point".
        guess: bool, shape (n,), which z's are thought positive: tried first, never trusted; for
            the cascade only.
        blocks: integers >= 0, shape (n,), a label for each variable's contact; used by
            Gauss-Seidel, whose blocks are single variables otherwise.
        scale: least velocity scale of the certificate, in the unit of b (g dt for contacts).
        limit: greatest number of pivots, sweeps or iterations of a method alone; its own if None.

    Returns:
        The answer; look at its `status` or `certified` before using z.

    Raises:
        ValueError: wrong shapes, labels, methods or limits, or entries that are not finite.
    """
    # Arguments that do not go with the method are errors, not ignored
    if method != CASCADE and method not in METHODS:
        choice = ", ".join([CASCADE, *METHODS])
        raise ValueError(f"unknown method {method!r}; choose from: {choice}")
    for name, value in (("guess", guess), ("limit", limit)):
        if value is not None and (method == CASCADE) != (name == "guess"):
            owner = "the cascade" if name == "guess" else "a method alone"
            raise ValueError(f"{name} is for {owner}, method is {method!r}")
    matrix, vector = _problem(A, b)
    n = len(vector)
    if not 0.0 <= scale < math.inf:
        raise ValueError(f"scale is {scale}; expected a finite velocity scale >= 0")
    active = np.zeros(n, dtype=np.int64)
    if guess is not None:
        active[:] = _vector(guess, "guess", n, "true where z is positive").astype(np.bool_)
    block, z, work, stage = _labels(blocks, n), np.zeros(n), workspace(n), None
    # Compiled before it is called: a message says how long that takes
    if method == CASCADE:
        cascade = matrix, vector, n, float(scale), active, guess is not None, block, z, work
        prepare("the solvers of complementarity problems", [kernels.solve], ())
        status, residual, used, found = kernels.solve(*cascade)
        stage = max(known for known in LcpStage if known <= found)
    else:
        code, most, each = METHODS[method]
        most = most + each * n if limit is None else _limit(limit)
        alone = matrix, vector, float(scale), code, most, active, block, z, work
        prepare("the solvers of complementarity problems", [kernels.solve_by], ())
        status, residual, used = kernels.solve_by(*alone)
    # What is certified is so with all rounding counted
    if status == kernels.CERTIFIED:
        residual = proven_residual(matrix, vector, n, z, kernels.CERTIFIED_RESIDUAL, False, work)
    w = np.zeros(n)
    careful_w(matrix, vector, n, z, w)
    return LcpResult(z, w, LcpStatus(status), residual, used, active.astype(np.bool_), stage)


def _problem(A: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A and b as arrays of their own; raises ValueError for wrong shapes or entries."""
    matrix = _numbers(A, "A")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A has shape {matrix.shape}; expected a square matrix (n, n)")
    n = matrix.shape[0]
    vector = _vector(_numbers(b, "b"), "b", n, "one entry for each row of A")
    for name, array in (("A", matrix), ("b", vector)):
        if not np.isfinite(array).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            place = ", ".join(map(str, index))
            raise ValueError(f"{name}[{place}] is {array[index]}; every entry must be finite")
    return matrix, vector


def _numbers(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """A copy of `value` as float64; raises ValueError naming it if it is none of real numbers."""
    try:
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):  # a whole number beyond all floats, too
        raise ValueError(f"{name} must be an array of real numbers") from None


def _vector(value: ArrayLike, name: str, size: int, why: str) -> NDArray[Any]:
    """`value` as an array of shape (size,); raises ValueError naming it otherwise."""
    array = np.asarray(value)
    if array.shape != (size,):
        raise ValueError(f"{name} has shape {array.shape}; expected ({size},), {why}")
    return array


def _labels(blocks: ArrayLike | None, size: int) -> NDArray[np.int64]:
    """Labels 0, 1, ... of the variables' blocks."""
    if blocks is None:
        return np.arange(size, dtype=np.int64)
    labels = _vector(blocks, "blocks", size, "a label for each variable")
    if labels.dtype.kind not in "iu" or (size > 0 and labels.min() < 0):
        raise ValueError("blocks holds something else than integers >= 0")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _limit(limit: int) -> int:
    if isinstance(limit, bool) or int(limit) != limit or limit < 1:
        raise ValueError(f"limit is {limit!r}; expected a whole number of 1 or more")
    return int(limit)
