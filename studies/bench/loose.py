"""Scenes of equal loose boxes on a floor, the same in dynenvs, MuJoCo and Pinocchio's solvers."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.simulation.world import SimulationError, World
from studies.bench.peers import MissingPeer, peer
from studies.bench.pinocchio_step import PinocchioStep

TIMESTEP = 0.002  # [s]
DENSITY, FRICTION = 600.0, 0.6  # [kg/m^3], of boxes and floor alike
PATIENCE = 60.0  # with a solver of others, in its own time on a scene [s]
PUSH = (0.3, 0.0, 0.0, 0.0, 3.0, 0.0)  # of the first box where it is pushed [m/s, rad/s]


class Scene(NamedTuple):
    """Equal boxes on a floor, where they begin, and which steps are timed."""

    name: str
    half: tuple[float, float, float]  # half edges [m]
    places: Floats  # of centres [m], shape (n, 3)
    turned: Floats  # unit quaternions (w, x, y, z), shape (n, 4)
    before: int  # steps that are not timed
    steps: int  # steps that are
    since: int = 0  # the step, up to `before`, from which residual, motion and overlap count
    rests: bool = True  # whether nothing should move from that step on
    pushed: bool = False  # whether the first box starts at PUSH


class Simulation(Protocol):
    """A scene in one simulator."""

    def step(self, count: int) -> None:
        """Advance by so many steps."""

    def places(self) -> Floats:
        """A copy of the boxes' centres [m], shape (n, 3)."""

    def overlap(self) -> float:
        """How deep the deepest contact is now [m]."""

    def begin(self) -> None:
        """From here on the solver's facts count."""

    def facts(self) -> dict[str, Any]:
        """What the solver says of the steps since `begin`."""


class Ours:
    """A scene in a `World`.

    Args:
        scene: what to simulate.
        cone: of friction, "pyramid" or "exact".
    """

    def __init__(self, scene: Scene, cone: str = "pyramid") -> None:
        builder = ModelBuilder()
        builder.half_space("floor", friction=FRICTION)
        for i in range(len(scene.places)):
            builder.body(f"box{i}", joint=free(), density=DENSITY)
            builder.box(f"skin{i}", f"box{i}", half_size=scene.half, friction=FRICTION)
        self._world = World(builder.build(), timestep=TIMESTEP, cone=cone)
        self._world.q = np.hstack((scene.places, scene.turned)).ravel()
        if scene.pushed:
            self._world.v[:6] = PUSH

    def step(self, count: int) -> None:
        """Advance by so many steps."""
        self._world.step(steps=count)

    def places(self) -> Floats:
        """A copy of the boxes' centres [m]."""
        return self._world.q.reshape(-1, 7)[:, :3].copy()

    def overlap(self) -> float:
        """How deep the deepest contact is now [m]."""
        return max((-contact.gap for contact in self._world.contacts), default=0.0)

    def begin(self) -> None:
        """Clear the counters; they are part of the state, and nothing else in it changes."""
        state = self._world.get_state()
        for counter in ("residual", "degraded"):
            state["status"][counter] = 0
        self._world.set_state(state)

    def facts(self) -> dict[str, Any]:
        """The worst certificate, and how many answers were above its bar of 1e-9."""
        found = self._world.diagnostics
        return {"residual": f"{found.residual:.0e}", "degraded": found.degraded}


class OnPinocchio(Ours):
    """The same on one of Pinocchio's contact solvers, which is given the contacts that ours finds.

    Args:
        scene: what to simulate.
        solver: "ADMM" or "PGS".

    Raises:
        MissingPeer: Pinocchio is not there, or its solvers cannot run the scene.
    """

    def __init__(self, scene: Scene, solver: str) -> None:
        super().__init__(scene, cone="exact")
        self._stepper = PinocchioStep(self._world, solver)
        self._steps = 0

    def step(self, count: int) -> None:
        """Advance by so many steps.

        Raises:
            MissingPeer: they take longer than anybody waits.
        """
        for _ in range(count):
            if self.spent > PATIENCE:
                each = 1e3 * self.spent / self._steps
                raise MissingPeer(
                    f"stopped after {self._steps} steps of {each:.0f} ms each, "
                    f"{self._stepper.unfinished} solves of them above the tolerance"
                )
            self._stepper.step()
            self._steps += 1

    @property
    def spent(self) -> float:
        """Processor time in Pinocchio's own functions so far [s]."""
        return self._stepper.seconds

    def begin(self) -> None:
        """From here on the solver's facts count."""
        self._stepper.residual, self._stepper.unfinished = 0.0, 0

    def facts(self) -> dict[str, Any]:
        """The worst residual, and how many answers were above the tolerance of 1e-9."""
        stepper = self._stepper
        return {"residual": f"{stepper.residual:.0e}", "degraded": stepper.unfinished}


class Theirs:
    """The same in MuJoCo with its defaults: pyramidal cone, Newton's solver, Euler."""

    def __init__(self, scene: Scene) -> None:
        self._mujoco = peer("mujoco")
        size = " ".join(repr(x) for x in scene.half)
        box = f'<body><freejoint/><geom type="box" size="{size}" density="{DENSITY}"/></body>'
        self._model = self._mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{TIMESTEP}"/><size memory="256M"/>'
            f'<default><geom friction="{FRICTION} 0.005 0.0001"/></default><worldbody>'
            f'<geom type="plane" size="100 100 1"/>{box * len(scene.places)}</worldbody></mujoco>'
        )
        self._data = self._mujoco.MjData(self._model)
        self._data.qpos[:] = np.hstack((scene.places, scene.turned)).ravel()
        if scene.pushed:
            self._data.qvel[:6] = PUSH

    def step(self, count: int) -> None:
        """Advance by so many steps."""
        self._mujoco.mj_step(self._model, self._data, count)

    def places(self) -> Floats:
        """A copy of the boxes' centres [m]."""
        return np.array(self._data.qpos).reshape(-1, 7)[:, :3].copy()

    def overlap(self) -> float:
        """How deep the deepest contact is now [m].

        Raises:
            SimulationError: MuJoCo has warned, of numbers that grew too large or of memory.
        """
        if any(warning.number for warning in self._data.warning):
            raise SimulationError(f"a warning of MuJoCo's up to t = {self._data.time:.6g} s")
        return max((-float(gap) for gap in self._data.contact.dist), default=0.0)

    def begin(self) -> None:
        """It has no counters."""

    def facts(self) -> dict[str, Any]:
        """Its answers carry no certificate."""
        return {"residual": "", "degraded": ""}
