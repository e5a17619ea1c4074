"""What the planar walkers' experts make of an observation."""

from __future__ import annotations

import math

from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, ModelView, StateView


@inlined
def read_state(m: ModelView, s: StateView, root: int, observation: Floats) -> tuple[float, float]:
    """State (with x = 0: the ground is flat) into `s`; returns gait phase and command [m/s]."""
    nq, nv = m.header[0].nq, m.header[0].nv
    s.q[0], s.q[1] = 0.0, observation[0]
    at = 1 - root
    for i in range(root, nq):
        s.q[i] = observation[at + i]
    at += nq
    for i in range(ROOT):
        s.v[i] = observation[at + i]
    at += ROOT - root
    for i in range(root, nv):
        s.v[i] = observation[at + i]
    at += nv
    if root > ROOT:
        s.q[ROOT], s.v[ROOT] = observation[at + 3], observation[at + 4]
    for f in range(m.header[0].nk):
        s.memory[f].mode = 0  # a cold start: the answer depends on the observation alone
    s.status[0].limits_active = 0
    turn = math.atan2(observation[at], observation[at + 1]) / (2.0 * math.pi)
    return turn - math.floor(turn), observation[at + 2]
