"""A double pendulum on a fixed pivot, with the numbers of a real rig.

Masses, lengths, centres of mass, inertias and rotors are those of the DFKI double pendulum,
design C.1, model 1.0 (dfki-ric-underactuated-lab/double_pendulum, data/system_identification/
identified_parameters/design_C.1/model_1.0/model_parameters.yml; inertias there are about the
joints).  Its dry friction is replaced by viscous damping of like size at swing-up speeds.

The torque limits are ours, below the rig's 6 N m, so that the arm cannot simply lift itself: held
still with both links horizontal it needs 3.82 N m at the shoulder and 1.57 N m at the elbow, and
no quasi-static path leads from hanging to upright with any choice of actuated joints.
"""

from __future__ import annotations

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute

GRAVITY = 9.81  # [m/s^2]
LENGTHS = (0.2, 0.3)  # [m]
MASSES = (0.52346, 0.62557)  # [kg]
COMS = (0.2, 0.25569)  # from the joint [m]
INERTIAS = (0.010949, 0.009971)  # about the centre of mass [kg m^2]
ARMATURE = 0.002263  # rotor 6.2872e-5 kg m^2 behind a gear of 6 [kg m^2]
DAMPING = 0.02  # [N m s/rad]
EFFORTS = (1.2, 0.8)  # [N m]
VELOCITY = 38.2  # no-load speed of the rig's AK80-6 drives [rad/s]

JOINTS = ("shoulder", "elbow")


def build(actuated: tuple[str, ...] = JOINTS) -> Model:
    """The model; both angles are zero hanging, the elbow's relative to the first link."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -GRAVITY), directions=2)
    parent = "world"
    for i, (name, link) in enumerate(zip(JOINTS, ("upper", "lower"), strict=True)):
        builder.body(
            link,
            parent=parent,
            joint=revolute(
                name,
                # Positive angles swing towards +x.
                axis=(0.0, -1.0, 0.0),
                position=(0.0, 0.0, 0.0 if i == 0 else -LENGTHS[0]),
                effort=EFFORTS[i],
                velocity=VELOCITY,
                damping=DAMPING,
                armature=ARMATURE,
                actuated=name in actuated,
            ),
            mass=MASSES[i],
            com=(0.0, 0.0, -COMS[i]),
            # Slender links: no moment about their own axis matters in the plane.
            inertia=(INERTIAS[i], INERTIAS[i], 1e-4),
        )
        builder.capsule(
            f"{link}_link",
            link,
            start=(0.0, 0.0, 0.0),
            end=(0.0, 0.0, -LENGTHS[i]),
            radius=0.018 - 0.004 * i,
            collide=False,
        )
        builder.sphere(
            f"{link}_weight", link, radius=0.03, position=(0.0, 0.0, -COMS[i]), collide=False
        )
        parent = link
    return builder.build()
