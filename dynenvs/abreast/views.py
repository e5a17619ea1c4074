"""Room for four worlds in lanes: part of a workspace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynenvs.compiled import inlined
from dynenvs.layout import Bytes, Floats, ModelView
from dynenvs.records import POSE_WORDS, WORK_WORDS
from dynenvs.simd import WIDTH
from dynenvs.views import matrix


class AbreastView(NamedTuple):
    """What `StateView` and `WorkspaceView` hold of one world: flat entries, shapes (n, WIDTH)."""

    poses: Floats  # nb times POSE_WORDS entries
    works: Floats  # nb times WORK_WORDS
    M: Floats  # mass matrix, then its factors, nv times nv
    S: Floats  # nv times 6
    v: Floats  # nv, as are the next two
    x: Floats  # velocity without contacts
    bias: Floats
    wrench: Floats  # nb times 6
    scale: Floats  # of the bodies' masses, nb
    q: Floats  # nq


@inlined
def open_abreast(m: ModelView, buffer: Bytes) -> AbreastView:
    """The view of a workspace's `lanes`; their size is `layout.lanes_bytes`."""
    h = m.header[0]
    nb, nv, entry = h.nb, h.nv, 8 * WIDTH
    poses = h.lanes_at
    works = poses + entry * POSE_WORDS * nb
    M = works + entry * WORK_WORDS * nb
    S = M + entry * nv * nv
    v = S + entry * 6 * nv
    wrench = v + entry * 3 * nv
    scale = wrench + entry * 6 * nb
    return AbreastView(
        matrix(buffer, poses, POSE_WORDS * nb, WIDTH, np.float64),
        matrix(buffer, works, WORK_WORDS * nb, WIDTH, np.float64),
        matrix(buffer, M, nv * nv, WIDTH, np.float64),
        matrix(buffer, S, 6 * nv, WIDTH, np.float64),
        matrix(buffer, v, nv, WIDTH, np.float64),
        matrix(buffer, v + entry * nv, nv, WIDTH, np.float64),
        matrix(buffer, v + 2 * entry * nv, nv, WIDTH, np.float64),
        matrix(buffer, wrench, 6 * nb, WIDTH, np.float64),
        matrix(buffer, scale, nb, WIDTH, np.float64),
        matrix(buffer, scale + entry * nb, h.nq, WIDTH, np.float64),
    )
