"""The trot on terrain: the ground as the height scan shows it, and how feet step on it.

The frame's origin lies in the plane that fits the scanned ground best, below the base.  That plane
gives the base its height, its tilt and its climb; the scan itself gives the ground below each foot,
footholds away from edges, and swings over what lies in between.  Whether a foot stands, its contact
flag tells: the scan is too coarse for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.common.scan import Scan, ground_height
from dynenvs.agents.experts.quadruped.records import MOVES, PAIRS, Clock, Edges, Leg, Swing
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, ModelView

UNSEEN = 0.004  # least height of a foot that does not touch: the scan may err so much [m]
STEP = 0.03  # by which a foothold may be moved, and twice that, in x and y [m]
ALONG = 4  # parts of a swing's way at which the ground is looked at
MOST = 120.0  # acceleration of a swinging foot [m/s^2]
APEX = 0.4  # fraction of a swing after which a foot is as high as it gets
CLEAR = 0.015  # ground this much higher than the foothold is in the way of coming down [m]


@kernel
def estimate_terrain(w: ModelView, g: Scan, o: Floats, base: float, one: Leg) -> None:
    """Ground below a foot: its normal, and how far the foot is from it.

    `one.point` holds the foot's centre and becomes the point that touches.
    """
    x, y = one.point[0], one.point[1]
    reach = 0.5 * g.scan_spacing
    ground = ground_height(g, o, x, y)
    dx = (ground_height(g, o, x + reach, y) - ground_height(g, o, x - reach, y)) / (2.0 * reach)
    dy = (ground_height(g, o, x, y + reach) - ground_height(g, o, x, y - reach)) / (2.0 * reach)
    if dx * dx + dy * dy > 0.25:  # an edge: feet stand on the tread
        dx = dy = 0.0
    length = math.sqrt(1.0 + dx * dx + dy * dy)
    n = one.normal
    n[0], n[1], n[2] = -dx / length, -dy / length, 1.0 / length
    feature = w.features[one.feature]
    gap = (one.point[2] - base - ground) * n[2] - feature.radius
    one.gap = 0.0 if one.touches else max(gap, UNSEEN)
    for k in range(3):
        one.point[k] -= feature.radius * n[k]


@inlined
def _range(g: Scan, o: Floats, x: float, y: float) -> float:
    """Range of the scanned heights about (x, y) [m]."""
    i = int(min(max(x / g.scan_spacing + 0.5 * g.scan_x, 1.0), g.scan_x - 2.0))
    j = int(min(max(y / g.scan_spacing + 0.5 * g.scan_y, 1.0), g.scan_y - 2.0))
    low, high = math.inf, -math.inf
    for a in range(i - 1, i + 2):
        for b in range(j - 1, j + 2):
            z = o[g.at_height_scan + a * g.scan_y + b]
            low, high = min(low, z), max(high, z)
    return high - low


@kernel
def choose_footholds(g: Edges, o: Floats, legs: Sequence[Leg], costs: Floats) -> None:
    """Move the places of the feet that swing away from edges, both of a pair together.

    Their line must stay where balance wants it: what one foot moves it by the other takes back.
    costs: scratch, shape (2 MOVES^2,).
    """
    for pair in range(PAIRS):
        a, b = legs[g.first[pair]], legs[g.second[pair]]
        if a.stands or b.stands:
            continue
        x, y = a.place[0] - b.place[0], a.place[1] - b.place[1]
        length = max(math.sqrt(x * x + y * y), 1e-6)
        x, y = 0.5 * x / length, 0.5 * y / length  # either foot moves the middle by half
        for side in range(2):
            one = a if side == 0 else b
            for k in range(MOVES * MOVES):
                dx, dy = STEP * (k // MOVES - MOVES // 2), STEP * (k % MOVES - MOVES // 2)
                x1, y1 = one.place[0] + dx, one.place[1] + dy
                rough = g.edge * _range(g, o, x1, y1)
                costs[side * MOVES * MOVES + k] = rough * rough + dx * dx + dy * dy
        best, first, second = math.inf, 0, 0
        for k in range(MOVES * MOVES):
            one_side = x * (k % MOVES - MOVES // 2) - y * (k // MOVES - MOVES // 2)
            for l in range(MOVES * MOVES):
                other = x * (l % MOVES - MOVES // 2) - y * (l // MOVES - MOVES // 2)
                aside = g.aside * STEP * (one_side + other)
                cost = costs[k] + costs[MOVES * MOVES + l] + aside * aside
                if cost < best:
                    best, first, second = cost, k, l
        a.place[0] += STEP * (first // MOVES - MOVES // 2)
        a.place[1] += STEP * (first % MOVES - MOVES // 2)
        b.place[0] += STEP * (second // MOVES - MOVES // 2)
        b.place[1] += STEP * (second % MOVES - MOVES // 2)


@inlined
def _toward(way: float, speed: float, last: float, time: float) -> float:
    """Acceleration now of the cubic that goes `way` from `speed` to speed `last` in `time`."""
    a = (6.0 * way / time - 4.0 * speed - 2.0 * last) / time
    return min(max(a, -MOST), MOST)


@kernel
def swing_over(g: Swing, o: Floats, clock: Clock, base: float, one: Leg) -> None:
    """Goal of a swinging foot: up, over what is in the way, and down to its place.

    From wherever it is now: the least acceleration that gets it there in the time left.
    """
    h = g.period
    swing = (1.0 - clock.duty) / clock.frequency
    left = (1.0 - one.phase) / clock.frequency
    done = 1.0 - left / swing
    x, y, z = one.point[0], one.point[1], one.point[2]
    x1, y1 = one.place[0], one.place[1]
    down = base + ground_height(g, o, x1, y1)
    top = down
    for k in range(ALONG):
        part = k / ALONG
        top = max(top, base + ground_height(g, o, x + part * (x1 - x), y + part * (y1 - y)))
    time = max(left - g.arrival / clock.frequency, 3.0 * h)
    start = smooth_step(4.0 * done)
    one.goal[0] = one.velocity[0] + h * start * _toward(x1 - x, one.velocity[0], 0.0, time)
    one.goal[1] = one.velocity[1] + h * start * _toward(y1 - y, one.velocity[1], 0.0, time)
    speed = one.velocity[2]
    if done < APEX:
        up = _toward(top + g.clearance - z, speed, 0.0, max((APEX - done) * swing, 2.0 * h))
    elif top > down + CLEAR and done < 0.85:
        rate = g.swing_rate
        up = rate * rate * (top + 0.5 * g.clearance - z) - 2.0 * rate * speed
    else:
        time = max(left - g.landing / clock.frequency, 2.0 * h)
        up = _toward(down - z, speed, -g.touchdown, time)
    one.goal[2] = speed + h * min(max(up, -MOST), MOST)
