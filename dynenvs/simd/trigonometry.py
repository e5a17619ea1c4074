"""Sines and cosines: one angle, and four at a time in one vector register.

A step needs those of all joints four times over, and the C library's take longer than the rotations
that are made of them.
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined, kernel

Eight = tuple[float, float, float, float, float, float, float, float]

REACH = 1e5  # quarter turns up to which the reduction of the argument is exact enough
TURNS = 0.6366197723675814  # 2 / pi
HIGH, LOW = 1.57079632673412561417, 6.07710050650619224932e-11  # pi / 2 in two parts
FAR = 2.0**53  # beyond, neighbouring numbers are more than 1 apart [rad]
QUARTER, REST = 1.5707963267948966, 6.123233995736766e-17  # pi / 2 in two parts of 53 bits
UPPER = 1.5707963407039642  # the upper half of QUARTER's bits
SPLIT = 134217729.0  # 2^27 + 1
SINE = (  # fdlibm's __kernel_sin, highest power first
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
    -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
)  # fmt: skip
COSINE = (  # fdlibm's __kernel_cos
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
    2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
)  # fmt: skip


@inlined
def within_reach(x: float) -> bool:
    """Whether the angle x [rad] is a number near enough to be reduced here."""
    return -REACH < x * TURNS < REACH


@inlined
def sine_cosine(x: float) -> tuple[float, float]:
    """(sin x, cos x), to 2e-16 (far out 4e-16), the same bits on every machine; x in rad.

    Argument reduction to [-pi/4, pi/4] by Cody and Waite, in two parts, then the polynomials of
    fdlibm's `__kernel_sin` and `__kernel_cos`.  Beyond 2^53 rad, where a number no longer says
    where it points, of some other angle.
    """
    if not within_reach(x):
        return _far_sine_cosine(x)
    k = math.floor(x * TURNS + 0.5)
    return _on_quarter((x - k * HIGH) - k * LOW, k)


@kernel
def _far_sine_cosine(x: float) -> tuple[float, float]:
    """The same of a large angle: the product of quarter turns is taken with all its bits."""
    if math.isnan(x) or math.isinf(x):
        return math.nan, math.nan
    while abs(x) > FAR:
        x *= 0.5
    k = math.floor(x * TURNS + 0.5)
    # Dekker's product: both halves of k and of pi / 2
    product = k * QUARTER
    upper = k * SPLIT - (k * SPLIT - k)
    lower = k - upper
    error = upper * UPPER - product  # in this order, none of the sums is rounded
    error += upper * (QUARTER - UPPER)
    error += lower * UPPER
    error += lower * (QUARTER - UPPER)
    r = ((x - product) - error) - k * REST
    more = math.floor(r * TURNS + 0.5)  # the count of quarter turns was rounded
    return _on_quarter((r - more * HIGH) - more * LOW, k + more)


@inlined
def _on_quarter(r: float, k: int) -> tuple[float, float]:
    """Sine and cosine of r + k pi / 2, r in [-pi / 4, pi / 4]."""
    # Two polynomials side by side
    z = r * r
    s, c = SINE[0], COSINE[0]
    for i in range(1, 6):
        s, c = s * z + SINE[i], c * z + COSINE[i]
    s = r + r * z * s
    # 1 - z/2 with the rounding put back: cosines near one keep their last digit
    half = 0.5 * z
    w = 1.0 - half
    c = w + (((1.0 - w) - half) + z * z * c)
    # Quarter turns exchange sine and cosine, half turns change both signs
    if k & 1:
        s, c = c, -s
    if k & 2:
        s, c = -s, -c
    return s, c


def sines_cosines(x0: float, x1: float, x2: float, x3: float) -> Eight:
    """Sines, then cosines, of four angles within reach [rad]: the same bits as one by one."""
    found = [sine_cosine(x) for x in (x0, x1, x2, x3)]
    (s0, c0), (s1, c1), (s2, c2), (s3, c3) = found
    return s0, s1, s2, s3, c0, c1, c2, c3
