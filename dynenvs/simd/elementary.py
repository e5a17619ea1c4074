"""Elementary functions in arithmetic of our own: the same bits on every machine.

The C library's differ from one host to the next, in the last bit and by the processor.  Kernels use
these instead of `math`; square roots, floors and absolute values are exact everywhere, and stay.
All are within two units in the last place (`tests/test_elementary.py`); polynomials are those of
fdlibm (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.simd.trigonometry import sine_cosine

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG2_E = 1.44269504088896338700
PI, PI_LOW = 3.141592653589793, 1.2246467991473532e-16
OVERFLOW, UNDERFLOW = 709.782712893384, -745.133219101941  # of exp

# fdlibm's polynomials, highest power first
ATAN_ODD = (
    1.62858201153657823623e-02, 4.97687799461593236017e-02, 6.66107313738753120669e-02,
    9.09088713343650656196e-02, 1.42857142725034663711e-01, 3.33333333333329318027e-01,
)  # fmt: skip
ATAN_EVEN = (
    -3.65315727442169155270e-02, -5.83357013379057348645e-02, -7.69187620504482999495e-02,
    -1.11111104054623557880e-01, -1.99999999998764832476e-01,
)  # fmt: skip
# Angles, each in two parts
HALF, HALF_LOW = 4.63647609000806093515e-01, 2.26987774529616870924e-17  # atan(1/2)
ONE, ONE_LOW = 7.85398163397448278999e-01, 3.06161699786838301793e-17  # atan(1)
MORE, MORE_LOW = 9.82793723247329054082e-01, 1.39033110312309984516e-17  # atan(3/2)
RIGHT, RIGHT_LOW = 1.57079632679489655800e00, 6.12323399573676603587e-17  # pi / 2
EXP = (
    4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05,
    -2.77777777770155933842e-03, 1.66666666666666019037e-01,
)  # fmt: skip
LOG_ODD = (1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01)
LOG_EVEN = (
    1.479819860511658591e-01, 1.818357216161805012e-01, 2.857142874366239149e-01,
    6.666666666666735130e-01,
)  # fmt: skip


@inlined
def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    """Horner's rule."""
    value = coefficients[0]
    for k in range(1, len(coefficients)):
        value = value * x + coefficients[k]
    return value


@inlined
def sin(x: float) -> float:
    """Sine of x [rad]."""
    return sine_cosine(x)[0]


@inlined
def cos(x: float) -> float:
    """Cosine of x [rad]."""
    return sine_cosine(x)[1]


@inlined
def tan(x: float) -> float:
    """Tangent of x [rad]."""
    s, c = sine_cosine(x)
    return s / c


@kernel
def atan(x: float) -> float:
    """The angle in [-pi/2, pi/2] [rad] whose tangent is x."""
    if math.isnan(x):
        return x
    # Odd: the sign comes last
    size = abs(x)
    # The tangent of the difference to the nearest of four angles, and that angle in two parts
    if size < 0.4375:
        t, high, low = size, 0.0, 0.0
    elif size < 0.6875:
        t, high, low = (2.0 * size - 1.0) / (2.0 + size), HALF, HALF_LOW
    elif size < 1.1875:
        t, high, low = (size - 1.0) / (size + 1.0), ONE, ONE_LOW
    elif size < 2.4375:
        t, high, low = (size - 1.5) / (1.0 + 1.5 * size), MORE, MORE_LOW
    else:
        t, high, low = -1.0 / size, RIGHT, RIGHT_LOW
    # An odd polynomial in two interleaved parts: two short chains instead of one long
    z = t * t
    w = z * z
    odd, even = _polynomial(ATAN_ODD, w), _polynomial(ATAN_EVEN, w)
    angle = high - ((t * (z * odd + w * even) - low) - t)
    return angle if x >= 0.0 else -angle


@kernel
def atan2(y: float, x: float) -> float:
    """The angle in [-pi, pi] [rad] of the direction (x, y)."""
    if math.isnan(x) or math.isnan(y):
        return math.nan
    back = math.copysign(1.0, x) < 0.0
    # Axes and infinities by definition; the rest by one quotient
    if y == 0.0:
        angle = PI if back else 0.0
    elif math.isinf(x) and math.isinf(y):
        angle = 0.75 * PI if back else 0.25 * PI
    elif x == 0.0 or abs(y / x) > 1e18:
        angle = 0.5 * PI
    else:
        angle = atan(abs(y / x))
        if back:
            angle = PI - (angle - PI_LOW)
    return math.copysign(angle, y)


@inlined
def asin(x: float) -> float:
    """The angle in [-pi/2, pi/2] [rad] whose sine is x; not a number beyond [-1, 1]."""
    return atan2(x, math.sqrt((1.0 - x) * (1.0 + x)))


@inlined
def acos(x: float) -> float:
    """The angle in [0, pi] [rad] whose cosine is x; not a number beyond [-1, 1]."""
    return atan2(math.sqrt((1.0 - x) * (1.0 + x)), x)


@inlined
def hypot(x: float, y: float) -> float:
    """Length of (x, y), without overflow."""
    large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
    if large == 0.0 or math.isinf(large):
        return large
    ratio = small / large
    return large * math.sqrt(1.0 + ratio * ratio)


@kernel
def exp(x: float) -> float:
    """e to the power of x."""
    if math.isnan(x) or x > OVERFLOW:
        return x + math.inf
    if x < UNDERFLOW:
        return 0.0
    # x = k ln 2 + r, k ln 2 in two parts: the first product is exact
    k = math.floor(x * LOG2_E + 0.5)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    t = r * r
    # fdlibm's rational form of exp on a small r
    c = r - t * _polynomial(EXP, t)
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    # In two factors: 2^k alone may overflow or vanish where the product does not
    half = k // 2
    return y * power_of_two(half) * power_of_two(k - half)


@kernel
def power_of_two(k: int) -> float:
    """2 to the power of k, exact for k from -1022 to 1023."""
    base = 2.0 if k >= 0 else 0.5
    power, left = 1.0, abs(k)
    while left > 0:
        if left & 1:
            power *= base
        base *= base
        left >>= 1
    return power


@kernel
def log(x: float) -> float:
    """Natural logarithm; not a number below 0."""
    if math.isnan(x) or x < 0.0:
        return math.nan
    if x == 0.0:
        return -math.inf
    if math.isinf(x):
        return x
    # Powers of two are taken out in halving strides
    k, size = 0, 512
    while size > 0:  # x = 2^k m, m in [1, 2), by exact products
        while x >= power_of_two(size):
            x, k = x * power_of_two(-size), k + size
        while x < power_of_two(1 - size):
            x, k = x * power_of_two(size), k - size
        size //= 2
    # m around 1, so that the series is short
    if x > 1.4142135623730951:
        x, k = 0.5 * x, k + 1
    # log(1 + f) by s = f / (2 + f), odd in s
    f = x - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd, even = w * _polynomial(LOG_ODD, w), z * _polynomial(LOG_EVEN, w)
    rest = 0.5 * f * f
    return k * LN2_HIGH - ((rest - (s * (rest + odd + even) + k * LN2_LOW)) - f)


@kernel
def sinh(x: float) -> float:
    """Hyperbolic sine."""
    # A series where the difference of two exponentials would lose digits
    if abs(x) < 1.0:
        t, term = x * x, 1.0
        for n in range(9, 0, -1):
            term = 1.0 + term * t / (2.0 * n * (2.0 * n + 1.0))
        return x * term
    half = exp(0.5 * abs(x))  # in two factors, which do not overflow before the result
    value = 0.5 * half * half - 0.5 / half / half
    return math.copysign(value, x)


@kernel
def cosh(x: float) -> float:
    """Hyperbolic cosine."""
    half = exp(0.5 * abs(x))
    return 0.5 * half * half + 0.5 / half / half


@kernel
def tanh(x: float) -> float:
    """Hyperbolic tangent."""
    return math.copysign(1.0, x) if abs(x) > 22.0 else sinh(x) / cosh(x)
