"""A compiled loop of one's own: which of a thousand random pushes throws the humanoid farthest?

The kernel here is compiled alone, in a second: it reaches the package's own by their addresses in
the compiled core that a wheel holds (`dynenvs doctor`).  It takes numba, the extra `jit`.
"""

import numpy as np

from dynenvs.envs.robots import humanoid
from dynenvs.jit.compiled import entry
from dynenvs.memory.layout import Floats, Matrix, WorldView, open_world
from dynenvs.simulation.timestep import DONE, step_unit

STEPS = 40  # of 5 ms


@entry
def throw(w: WorldView, start: Floats, pushes: Matrix, reached: Floats) -> int:
    """Let every push, a velocity of the pelvis [m/s], act from `start`; how far each leads [m]."""
    for k in range(pushes.shape[0]):
        w.status[0].touched = 0  # no contact is remembered from the push before
        for i in range(start.shape[0]):
            w.q[i] = start[i]
        for j in range(w.v.shape[0]):
            w.v[j] = pushes[k, j] if j < 3 else 0.0
        for _ in range(STEPS):
            if step_unit(w, w.tau, 0.005) != DONE:
                return k
        reached[k] = w.q[0]
    return pushes.shape[0]


def main() -> float:
    """Throw it a thousand times; the farthest it came [m]."""
    model = humanoid.build()
    state, workspace = model.states(1).view(np.uint8), model.workspace()
    start = model.neutral()
    start[2] = 1.0
    pushes = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, 3))
    reached = np.zeros(len(pushes))
    done = throw(open_world(model.packed, state, workspace), start, pushes, reached)
    best = int(reached[:done].argmax())
    print(f"{done} pushes; {pushes[best].round(2)} m/s leads {reached[best]:.2f} m forward")
    return float(reached[best])


if __name__ == "__main__":
    main()
