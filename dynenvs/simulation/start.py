"""Where worlds begin: at a keyframe of their model, or at positions that are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.model.annotations import START
from dynenvs.model.model import Model


def start(
    model: Model, q: ArrayLike | str | None, v: ArrayLike | None
) -> tuple[ArrayLike, ArrayLike]:
    """Positions and velocities, of which a `reset` was given some, or none.

    Args:
        model: of the worlds.
        q: positions, or the name of a keyframe; None for the keyframe `START`, or, in a model
            without it, for the neutral configuration.
        v: velocities; None for the keyframe's, or, where there is none, for rest.

    Raises:
        ValueError: no such keyframe; the message names those that there are.
    """
    if q is None and START not in model.keyframes:
        q = model.states(1)["q"][0]  # kept there, where `Model.neutral` asks each body
    still: ArrayLike = np.zeros(model.nv)
    # A keyframe, or what was given
    if q is None or isinstance(q, str):
        name = START if q is None else str(q)
        if name not in model.keyframes:
            known = ", ".join(model.keyframes) or "none"
            raise ValueError(f"unknown keyframe {name!r}; the model's keyframes: {known}")
        q, still = model.keyframes[name].q, model.keyframes[name].v
    return q, still if v is None else v
