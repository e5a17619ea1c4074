"""What the planar walkers' experts make of an observation."""

from __future__ import annotations

import math

from dynenvs.compiled import inlined
from dynenvs.layout import Floats, ModelView, StateView


@inlined
def read_state(m: ModelView, s: StateView, observation: Floats) -> tuple[float, float]:
    """State (with x = 0: the ground is flat) into `s`; returns gait phase and command [m/s]."""
    nq, nv = m.header[0].nq, m.header[0].nv
    s.q[0] = 0.0
    for i in range(1, nq):
        s.q[i] = observation[i - 1]
    for i in range(nv):
        s.v[i] = observation[nq - 1 + i]
    for f in range(m.header[0].nf):
        s.memory[f].active = 0  # a cold start: the answer depends on the observation alone
    s.status[0].limits_active = 0
    turn = math.atan2(observation[nq + nv - 1], observation[nq + nv]) / (2.0 * math.pi)
    return turn - math.floor(turn), observation[nq + nv + 1]
