"""One contact in a primal-dual interior-point method: its own variables, eliminated.

Of the LCP of `friction_lcp.py` a contact has a normal impulse, one impulse for each friction
direction and the slip bound sigma, each with its w.  With the products' targets c, and the sums
over the directions k weighted by beta_k / w_k,

    dp_t = e - S du_t - s dsigma,   (w_s + sigma s_0) dsigma = c_s - sigma (mu dp_n - e_0 + s.du_t),

so that a contact's dp is an affine function of its du.  A dry joint has two variables, how far its
impulse is from either bound, z = p + b and z = b - p, and u is the difference of their w.
`central_path.py` joins that with the bodies' equations of motion.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.solvers.modes import strongest
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records

# Rows of the scratch vectors, one entry for each variable of the LCP: z, w, their changes, and the
# product of those; for friction directions z / w, dp's part e, and what w misses
Z, W, DZ, DW, SECOND, WEIGHT, ALONE, DEFECT = range(8)


@inlined
def variables_of(polygon: Records, block: Any) -> int:
    """Number of a block's LCP variables: the normal impulse, those along directions, sigma."""
    if block.dry != 0:
        return 2
    return int(2 + polygon[0].directions) if block.tangents > 0 else 1


@inlined
def second(tangents: int, vector: Floats, tangent: int) -> float:
    """Entry of a contact's second tangent, if it has one; its first is at `tangent`."""
    return float(vector[tangent + 1]) if tangents == 2 else 0.0


@inlined
def start_block(
    polygon: Records,
    block: Any,
    scale: float,
    vectors: Floats,
    v: int,
    impulses: Floats,
    velocities: Floats,
) -> None:
    """A contact's variables, from v on, as they suit its impulse and its velocity."""
    directions = polygon[0].directions
    r, t = block.row, block.row + 1
    z, w = vectors[Z], vectors[W]
    # A dry joint starts in the middle between its bounds
    if block.dry != 0:
        impulses[r] = 0.0
        z[v] = z[v + 1] = block.compression
        w[v], w[v + 1] = scale + max(velocities[r], 0.0), scale + max(-velocities[r], 0.0)
        return
    # Both of a pair at least at the scale: no product starts at zero
    z[v], w[v] = impulses[r] if impulses[r] > 0.0 else scale, max(velocities[r], scale)
    if block.tangents > 0:
        x, y = velocities[t], second(block.tangents, velocities, t)
        # Above the largest slip, so that w starts positive along all directions
        sigma = scale + strongest(polygon, x, y)
        for k in range(directions):
            z[v + 1 + k] = 0.5 * block.friction * z[v] / directions
            slip = polygon[0].cosines[k] * x + polygon[0].sines[k] * y
            w[v + 1 + k] = slip + sigma
        z[v + 1 + directions] = sigma
        # What half of the friction leaves of its bound
        w[v + 1 + directions] = block.friction * (0.5 * z[v] + block.compression)


@inlined
def sum_directions(
    polygon: Records, vectors: Floats, v: int, eliminated: Any
) -> tuple[float, float, float]:
    """Sums over a contact's directions into `eliminated`; returns S - slope s s^T.

    v: its first variable
    """
    directions = polygon[0].directions
    eliminated.x = eliminated.y = eliminated.total = 0.0
    xx = xy = yy = 0.0
    # A direction gives way as z / w, like a spring in parallel with the others
    for k in range(directions):
        x, y = polygon[0].cosines[k], polygon[0].sines[k]
        weight = vectors[Z, v + 1 + k] / vectors[W, v + 1 + k]
        vectors[WEIGHT, v + 1 + k] = weight
        eliminated.total += weight
        eliminated.x += weight * x
        eliminated.y += weight * y
        xx += weight * x * x
        xy += weight * x * y
        yy += weight * y * y
    last = v + 1 + directions
    # sigma is eliminated as well: a term of rank one
    eliminated.slope = vectors[Z, last] / (vectors[W, last] + vectors[Z, last] * eliminated.total)
    xx -= eliminated.slope * eliminated.x * eliminated.x
    xy -= eliminated.slope * eliminated.x * eliminated.y
    yy -= eliminated.slope * eliminated.y * eliminated.y
    return xx, xy, yy


@inlined
def change_alone(
    polygon: Records,
    block: Any,
    eliminated: Any,
    vectors: Floats,
    v: int,
    target: float,
    velocities: Floats,
) -> tuple[float, float]:
    """What a contact's tangential impulse would change by at constant velocity and pressure."""
    directions = polygon[0].directions
    t = block.row + 1
    u1, u2 = velocities[t], second(block.tangents, velocities, t)
    last = v + 1 + directions
    sigma, rest = vectors[Z, last], vectors[W, last]
    x = y = total = 0.0
    for k in range(directions):
        at = v + 1 + k
        w, c, s = vectors[W, at], polygon[0].cosines[k], polygon[0].sines[k]
        defect = c * u1 + s * u2 + sigma - w
        # What the impulse would change by alone
        alone = (target - vectors[SECOND, at]) / w - vectors[Z, at] - vectors[WEIGHT, at] * defect
        vectors[ALONE, at], vectors[DEFECT, at] = alone, defect
        # sigma moves first; the changes along the directions follow from its
        total += alone
        x += alone * c
        y += alone * s
    # sigma's own equation, put into those of the directions
    wanted = target - sigma * rest - vectors[SECOND, last]
    eliminated.rate = (wanted + sigma * total) / (rest + sigma * eliminated.total)
    x -= eliminated.x * eliminated.rate
    y -= eliminated.y * eliminated.rate
    return x, y


@inlined
def spread(
    polygon: Records, block: Any, eliminated: Any, vectors: Floats, v: int, dp: Floats, du: Floats
) -> None:
    """Changes of a contact's impulses along the directions and of sigma."""
    directions = polygon[0].directions
    t = block.row + 1
    du1, du2 = du[t], second(block.tangents, du, t)
    pressed = block.friction * dp[block.row]
    change = eliminated.rate - eliminated.slope * (
        pressed + eliminated.x * du1 + eliminated.y * du2
    )
    total = 0.0
    for k in range(directions):
        at = v + 1 + k
        relative = polygon[0].cosines[k] * du1 + polygon[0].sines[k] * du2 + change
        dz = vectors[ALONE, at] - vectors[WEIGHT, at] * relative
        vectors[DZ, at], vectors[DW, at] = dz, relative + vectors[DEFECT, at]
        total += dz
    vectors[DZ, v + 1 + directions] = change
    vectors[DW, v + 1 + directions] = pressed - total


@inlined
def push_from_bounds(
    vectors: Floats, v: int, target: float, velocity: float
) -> tuple[float, float]:
    """Of a dry joint: (e, d) with dp = (e - du) / d; velocity: its velocity."""
    low, high = vectors[Z, v], vectors[Z, v + 1]
    e = (target - vectors[SECOND, v]) / low - (target - vectors[SECOND, v + 1]) / high - velocity
    return e, vectors[W, v] / low + vectors[W, v + 1] / high


@inlined
def spread_dry(vectors: Floats, v: int, target: float, change: float) -> None:
    """Changes of a dry joint's variables where its impulse changes by `change`."""
    for k in range(v, v + 2):
        z, w = vectors[Z, k], vectors[W, k]
        dz = change if k == v else -change
        vectors[DZ, k] = dz
        vectors[DW, k] = (target - vectors[SECOND, k] - w * dz) / z - w


@kernel
def longest(vectors: Floats, variables: int) -> float:
    """Part of the step, at most 1, that brings the first variable to zero."""
    length = 1.0
    for v in range(variables):
        if vectors[Z, v] + length * vectors[DZ, v] < 0.0:
            length = -vectors[Z, v] / vectors[DZ, v]
        if vectors[W, v] + length * vectors[DW, v] < 0.0:
            length = -vectors[W, v] / vectors[DW, v]
    return length


@inlined
def aim(vectors: Floats, variables: int, mean: float, length: float) -> float:
    """The products to aim at, from how far a step to zero would bring them (Mehrotra's rule).

    And what that step's changes multiply to: the second-order term of the next one.
    """
    left = 0.0
    for v in range(variables):
        z, w = vectors[Z, v], vectors[W, v]
        left += (z + length * vectors[DZ, v]) * (w + length * vectors[DW, v])
        vectors[SECOND, v] = vectors[DZ, v] * vectors[DW, v]
    share = left / (mean * variables)
    return float(mean * share * share * share)
