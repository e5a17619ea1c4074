"""ModelBuilder: from bodies, joints, geoms and contact points by name to a frozen Model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dynenvs.model.annotations import AnnotationBuilder, Keyframe
from dynenvs.model.closures import Closures, LoopBuilder
from dynenvs.model.contact_options import contact_options, friction_rule
from dynenvs.model.description import Description, Rule, checked, extended
from dynenvs.model.geoms import GeomBuilder
from dynenvs.model.grains import check_grain, two_coefficients
from dynenvs.model.inertia import weighed
from dynenvs.model.mobility import check_inertia, check_kinematic, check_plane
from dynenvs.model.model import Model
from dynenvs.model.pairs import Contacts, PairRule, collect_contacts, self_contacts
from dynenvs.model.parts import (
    JOINT_TYPES,
    WORLD,
    Body,
    Geom,
    Joint,
    ModelError,
    Vector,
    bounded,
    check_mass,
    check_name,
    coefficient,
    fixed,
    inertia_matrix,
    number,
    positive,
    rotation3,
    truth,
    vector3,
    whole,
)
from dynenvs.model.visuals import VisualBuilder

SHOWN = 8  # names of bodies in a `repr`


class ModelBuilder(GeomBuilder, AnnotationBuilder, LoopBuilder, VisualBuilder):
    """Collects the parts of a model in any order; `build()` checks them and makes the Model.

    All numbers are in SI units and at most 1e12 in size (limits may be infinite); sizes, masses and
    times that are above zero are at least 1e-15.

    Args:
        gravity: acceleration [m/s^2], world axes, z up.
        directions: friction directions of each contact's pyramid: 2 for models that move in the
            x-z plane, any even number from 4 to 64 in three dimensions.  Each world may choose
            fewer.
        cone: of friction: "pyramid", or "exact" for the quadratic cone (the pyramid is solved first
            all the same), unless a world chooses otherwise.  In the plane they are one.
        restitution: "newton" (of velocities) or "poisson" (of impulses): the law by which parts
            bounce whose `restitution` is not zero (if less than 0.5 m apart at the start of the
            step).
        impacts: where several parts meet, "simultaneous", or "sequential", fastest pair first.
        integrator: "euler" (semi-implicit, first order), or "midpoint" (second order, keeps energy
            and momentum far better, costs a little more, knows no restitution).
            A `World` may choose another.
        friction: how the coefficients of two geoms become that of their contact: "geometric" mean
            (the square root of their product), "arithmetic" mean, "minimum", or "maximum"
            (MuJoCo's rule for geoms of equal priority).  `pair` gives a pair its own.
        timestep: that worlds of the model take unless they are given another one [s].
        max_contacts: a limit to simultaneous contacts; a `World.step` that needs more fails and
            says so.  Without one (None), worlds begin with room for a few and make more when they
            need it.
        sparse_loops: False computes with all zeros of the closed loops' matrices (to compare).

    Example::

        builder = ModelBuilder()
        builder.half_space("floor")
        builder.body("ball", joint=free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
        builder.sphere("skin", "ball", radius=0.5)
        model = builder.build()
    """

    def __init__(
        self,
        *,
        gravity: Vector = (0.0, 0.0, -9.81),
        directions: int = 8,
        cone: str = "pyramid",
        restitution: str = "newton",
        impacts: str = "simultaneous",
        integrator: str = "euler",
        timestep: float = 0.005,
        friction: str = "geometric",
        max_contacts: int | None = None,
        sparse_loops: bool = True,
    ) -> None:
        GeomBuilder.__init__(self)
        AnnotationBuilder.__init__(self)
        LoopBuilder.__init__(self)
        VisualBuilder.__init__(self)
        self.gravity = vector3(gravity, "gravity")
        if max_contacts is not None and whole(max_contacts, "max_contacts") < 1:
            raise ModelError(f"max_contacts must be at least 1, got {max_contacts}")
        self.contact_options = contact_options(directions, cone, restitution, impacts, integrator)
        self.friction = friction_rule(friction)
        self.timestep = positive(timestep, "timestep [s]")
        self.max_contacts = max_contacts
        self.sparse_loops = truth(sparse_loops, "sparse_loops")
        # As they were given: a description repeats them
        self._options: dict[str, Any] = {
            "gravity": tuple(self.gravity.tolist()),
            "directions": self.contact_options.directions,
            "cone": cone,
            "restitution": restitution,
            "impacts": impacts,
            "integrator": integrator,
            "timestep": self.timestep,
            "friction": friction,
            "max_contacts": max_contacts,
            "sparse_loops": sparse_loops,
        }
        self._bodies: dict[str, Body] = {}
        self._rules: dict[frozenset[str], PairRule] = {}
        self._selves: list[tuple[str, ...]] = []
        self._held = 0, 0  # how many bodies and actuators a model had that it began with
        self._held_keyframes: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        some = ", ".join(list(self._bodies)[:SHOWN])
        more = ", ..." if len(self._bodies) > SHOWN else ""
        counts = f"{len(self._bodies)} bodies ({some}{more}), {len(self._geoms)} geoms"
        return f"<ModelBuilder of {counts}; build() makes the Model>"

    @classmethod
    def of(cls, described: Description) -> ModelBuilder:
        """A builder that holds all that a model was built from (`model.description`).

        More can be added to it: ground under a loaded robot, or things beside it.  In the
        keyframes of the model, these are at zero.

        Raises:
            ModelError: a part cannot be.
        """
        builder = cls(**described.options)
        for body in described.bodies:
            builder._add_body(_checked(body))
        for geom in described.geoms:
            builder._add_geom(geom)
        for loop in described.loops:
            builder._add_loop(loop)
        for rule in described.rules:
            builder._rule(rule.geom_a, rule.geom_b, rule.rule)
        for group in described.self_contacts:
            builder.self_contact(*group)
        # Bodies first: all else refers to them by name
        builder._add_annotations(
            described.sites,
            described.keyframes,
            described.actuators,
            described.tendons,
            described.eyes,
        )
        for visual in described.visuals:
            builder.visual(**vars(visual))
        # What is added later is at zero in these keyframes
        builder._held = len(described.bodies), len(described.actuators)
        builder._held_keyframes = frozenset(builder._keyframes)
        return builder

    # Bodies and joints

    def body(
        self,
        name: str,
        *,
        parent: str = WORLD,
        joint: Joint | None = None,
        mass: float | None = None,
        com: Vector | None = None,
        inertia: Any = None,
        density: float | None = None,
        kinematic: bool = False,
        lift: float = 0.0,
    ) -> ModelBuilder:
        """Add a body.

        What it weighs is said in one of two ways: by `mass`, `com` and `inertia`, or by its geoms,
        each with a `mass` or `density` of its own or of the body's `density`.  Then `build()`
        computes mass, centre of mass and inertia from all geoms of the body, drawn or touchable or
        not, as `dynenvs.model.inertia` says; a geom without any of these adds nothing.  A body of
        which nothing is said is a purely kinematic link without mass.

        Args:
            name: unique among bodies.
            parent: the body that carries it; may be added later.
            joint: how it moves in its parent (fixed if None); its frame is the body's frame.
            mass: [kg]; zero if None.
            com: centre of mass in the body frame [m], shape (3,); its origin if None.
            inertia: about the centre of mass, body axes [kg m^2]: principal moments, shape (3,),
                or the matrix, shape (3, 3); zero if None.
            density: of its geoms with a volume that have neither mass nor density of their own
                [kg/m^3]; water has 1000.
            kinematic: whether its motion is prescribed, whatever touches it: lifts, shaking
                tables, pushers.  `World.v` of its joint is what it is set to, `World.q` follows,
                and no force changes either: it carries what stands on it and pushes what is in its
                way, as a body of infinite mass.  It needs no mass, has no motor, and stands in the
                world or on another kinematic body; others may hang from it by joints.
            lift: share of its weight that something carries, a counterweight or a spring that
                balances an arm: 1 in balance, more pulls it up.

        Raises:
            ModelError: the name is taken, or the mass distribution cannot be; from `build()` if
                both the body and its geoms say what it weighs.

        Example::

            builder.body("hammer", joint=free(), density=700.0)  # wood
            builder.capsule("handle", "hammer", start=(0, 0, 0), end=(0, 0, 0.3), radius=0.015)
            builder.box(
                "head", "hammer", half_size=(0.06, 0.02, 0.02), position=(0, 0, 0.3), density=7800.0
            )
        """
        if not isinstance(joint, Joint | None):
            choices = ", ".join(f"{kind}()" for kind in JOINT_TYPES)
            raise ModelError(
                f"body {name!r}: joint must be one of {choices} from dynenvs, got {joint!r}"
            )
        return self._add_body(
            replace(
                self._part(name, parent, joint or fixed(), mass, com, inertia, density),
                kinematic=truth(kinematic, f"body {name!r}: kinematic"),
                lift=bounded(lift, f"body {name!r}: lift"),
            )
        )

    @staticmethod
    def _part(
        name: str,
        parent: str,
        joint: Joint,
        mass: float | None,
        com: Vector | None,
        inertia: Any,
        density: float | None,
    ) -> Body:
        """A body as described, its numbers checked."""
        if density is not None:
            density = positive(density, f"body {name!r}: density")
        return Body(
            name,
            parent,
            joint,
            0.0 if mass is None else number(mass, f"mass of {name!r}"),
            np.zeros(3) if com is None else vector3(com, f"com of {name!r}"),
            np.zeros((3, 3)) if inertia is None else inertia_matrix(inertia, name),
            density=density,
            explicit=not (mass is None and com is None and inertia is None),
        )

    def dh_link(
        self,
        name: str,
        *,
        parent: str = WORLD,
        a: float = 0.0,
        alpha: float = 0.0,
        d: float = 0.0,
        theta: float = 0.0,
        joint: Joint,
        mass: float | None = None,
        com: Vector | None = None,
        inertia: Any = None,
        density: float | None = None,
    ) -> ModelBuilder:
        """Add a link by its Denavit-Hartenberg row Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha).

        The joint's coordinate adds to `theta` (revolute) or to `d` (prismatic); its own axis and
        placement are ignored.  Children attach to the link's far frame, in which `com` [m] and
        `inertia` [kg m^2] are given too; geoms lie in the near one, the joint's.  `density` as in
        `body`.  See docs/theory.md, Denavit-Hartenberg links.
        """
        kind = joint.type if isinstance(joint, Joint) else joint
        if kind not in ("revolute", "prismatic") or not isinstance(joint, Joint):
            raise ModelError(
                f"link {name!r}: a DH joint is revolute() or prismatic(), not {kind!r}"
            )
        for what, value in (("a", a), ("alpha", alpha), ("d", d), ("theta", theta)):
            if not math.isfinite(number(value, f"{what} of link {name!r}")):
                raise ModelError(f"link {name!r}: {what} must be finite, got {value}")
        c, s = math.cos(alpha), math.sin(alpha)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        ct, st = math.cos(theta), math.sin(theta)
        zero = np.array([[ct, -st, 0.0], [st, ct, 0.0], [0.0, 0.0, 1.0]])
        sliding = joint.type == "prismatic"
        tip = np.array([a, 0.0, 0.0 if sliding else d])
        start = (0.0, 0.0, d) if sliding else (0.0, 0.0, 0.0)
        options = {**vars(joint), "axis": (0.0, 0.0, 1.0), "position": start, "rotation": zero}
        part = self._part(name, parent, Joint(**options), mass, com, inertia, density)
        part = replace(
            part,
            com=turn @ part.com + tip,
            inertia=turn @ part.inertia @ turn.T,
            tip_rotation=turn,
            tip_position=tip,
        )
        return self._add_body(part)

    def _add_body(self, part: Body) -> ModelBuilder:
        check_name(part.name, "body")
        if part.joint.name is not None:
            check_name(part.joint.name, "joint")
        if part.name == WORLD or part.name in self._bodies:
            raise ModelError(f"body {part.name!r} exists already; body names must be unique")
        check_mass(part.name, part.mass, part.inertia)
        part.joint.check(part.name)
        self._bodies[part.name] = part
        return self

    # Pairs

    def pair(
        self,
        geom_a: str,
        geom_b: str,
        *,
        friction: float | tuple[float, float] | None = None,
        restitution: float | None = None,
        torsional_friction: float | None = None,
        rolling_friction: float | None = None,
        direction: Vector | None = None,
        frame: str | None = None,
        viscous: float | None = None,
    ) -> ModelBuilder:
        """Let two geoms touch (also of one robot), with their own coefficients if given.

        Torsional and rolling friction are lengths [m], see `sphere`.

        Viscous friction [N s/m] is a film of oil beside Coulomb's friction: a force of up to
        `friction` times that along the normal, and `viscous` times the slip, shared by the points
        in which the geoms touch.  The film resists as long as they touch, whether they press or
        not, from the step on that begins with a gap below 1e-6 m; a pair without `viscous` has
        none.

        Friction may have two coefficients, (along, across): along a direction of a surface and
        across it, bounded by an ellipse (or by a pyramid in it).  The direction is given in the
        axes of a frame, "world" or one of the geoms, which stands for the body that carries it:
        wood has a grain, a skate its length.  Where it is too near to a contact's normal (within 8
        degrees; in "world" within 60, as in MuJoCo), the frame's next axis takes its place, z that
        of y.  A world's `friction` is the first coefficient; their ratio stays.

        Example::

            builder.pair("skate", "ice", friction=(0.01, 0.9), direction=(1, 0, 0), frame="skate")
            builder.pair("slide", "bed", friction=0.05, viscous=40.0)

        Raises:
            ModelError: a coefficient, a direction or a frame is wrong.
        """
        what = f"pair {geom_a!r}, {geom_b!r}"
        along, grain = two_coefficients(friction, direction, frame, (geom_a, geom_b), what)
        rule = PairRule(
            True, along, restitution, torsional_friction, rolling_friction, grain, viscous
        )
        return self._rule(geom_a, geom_b, rule)

    def _rule(self, geom_a: str, geom_b: str, rule: PairRule) -> ModelBuilder:
        pair = _two(geom_a, geom_b)
        said = {
            "friction": rule.friction,
            "restitution": rule.restitution,
            "torsional_friction": rule.torsional,
            "rolling_friction": rule.rolling,
            "viscous": rule.viscous,
        }
        for what, value in said.items():
            if value is not None:
                coefficient(value, f"pair {geom_a!r}, {geom_b!r}: {what}")
        if rule.grain is not None:
            names = (geom_a, geom_b)
            check_grain(rule.friction, rule.grain, names, f"pair {geom_a!r}, {geom_b!r}")
        self._rules[pair] = rule
        return self

    def self_contact(self, *geoms: str) -> ModelBuilder:
        """Let these geoms of one robot touch each other, unless their bodies are adjacent.

        Adjacent is a body to the nearest one above it that carries a geom, whatever joints are in
        between: their shapes overlap at the joint.  `pair` and `exclude` prevail.

        Raises:
            ModelError: no names, or (by `build`) one that no geom has.
        """
        if not geoms or not all(isinstance(name, str) for name in geoms):
            raise ModelError(f"self_contact needs names of geoms, got {geoms!r}")
        self._selves.append(geoms)
        return self

    def exclude(self, geom_a: str, geom_b: str) -> ModelBuilder:
        """Let two geoms pass through each other."""
        return self._rule(geom_a, geom_b, PairRule(False))

    # Building

    def build(self) -> Model:
        """The frozen Model; raises a ModelError that names what is wrong."""
        bodies, geoms, contacts = self.sorted_parts()
        check_inertia(bodies)
        if self.contact_options.directions == 2 and contacts.at_once and not self._loops:
            check_plane(bodies)  # loops may hold what joints leave free
        return Model(
            bodies,
            geoms,
            contacts,
            gravity=self.gravity,
            options=self.contact_options,
            max_contacts=self.max_contacts,
            closures=Closures(tuple(self._loops.values()), self.sparse_loops),
            description=self.description(),
        )

    def description(self) -> Description:
        """All that was said so far; a ModelError names what does not fit together."""
        return checked(
            Description(
                dict(self._options),
                tuple(self._bodies.values()),
                tuple(self._geoms.values()),
                tuple(self._loops.values()),
                tuple(Rule(min(pair), max(pair), rule) for pair, rule in self._rules.items()),
                tuple(self._selves),
                tuple(self._sites.values()),
                self._all_keyframes(),
                tuple(self._actuators.values()),
                tuple(self._visuals.values()),
                tuple(self._tendons.values()),
                tuple(self._eyes.values()),
            )
        )

    def _all_keyframes(self) -> tuple[Keyframe, ...]:
        """Those of a model that this builder began with know of what has been added, too."""
        bodies = list(self._bodies.values())[self._held[0] :]
        motors = len(self._actuators) - self._held[1]
        return tuple(
            extended(frame, bodies, motors) if name in self._held_keyframes else frame
            for name, frame in self._keyframes.items()
        )

    def sorted_parts(self) -> tuple[list[Body], list[Geom], Contacts]:
        """Bodies (parents first), geoms and contact features, checked: what a Model is made of."""
        bodies = self._sorted_bodies()
        for geom in self._geoms.values():
            if geom.body != WORLD and geom.body not in self._bodies:
                raise ModelError(f"geom {geom.name!r}: unknown body {geom.body!r}; {self._known()}")
        geoms = list(self._geoms.values())
        bodies = [weighed(body, [g for g in geoms if g.body == body.name]) for body in bodies]
        check_kinematic(bodies)
        self._check_moving_masses(bodies)
        rules = {**self_contacts(bodies, geoms, self._selves), **self._rules}
        return bodies, geoms, collect_contacts(bodies, geoms, rules, self.friction)

    def _known(self) -> str:
        return "known bodies: " + ", ".join([WORLD, *self._bodies])

    def _sorted_bodies(self) -> list[Body]:
        """Parents before children, otherwise in the order in which they were added."""
        placed: dict[str, Body] = {}
        for part in self._bodies.values():
            chain: list[Body] = []
            while part.name not in placed:
                if part in chain:
                    loop = " -> ".join([*(b.name for b in chain), part.name])
                    raise ModelError(f"the bodies' parents form a cycle: {loop}")
                chain.append(part)
                if part.parent == WORLD:
                    break
                if part.parent not in self._bodies:
                    raise ModelError(
                        f"body {part.name!r}: unknown parent {part.parent!r}; {self._known()}"
                    )
                part = self._bodies[part.parent]
            for link in reversed(chain):
                placed[link.name] = link
        names = [b.joint.name or b.name for b in placed.values() if b.joint.type != "fixed"]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ModelError(f"joint {twice.pop()!r} exists twice; joint names must be unique")
        return list(placed.values())

    @staticmethod
    def _check_moving_masses(bodies: list[Body]) -> None:
        """A joint must move some mass or rotor inertia, or the mass matrix is singular."""
        carried = {body.name: body.mass for body in bodies}
        for body in reversed(bodies):
            if body.parent != WORLD:
                carried[body.parent] += carried[body.name]
        for body in bodies:
            if body.joint.type == "fixed" or body.kinematic:
                continue
            if carried[body.name] + body.joint.armature <= 0.0:
                raise ModelError(
                    f"joint of body {body.name!r} moves no mass: give the body, or one that it "
                    "carries, a mass or a density, or the joint an armature"
                )


def _checked(body: Body) -> Body:
    """A body whose numbers have the right shapes, or a ModelError."""
    name = body.name
    return replace(
        body,
        com=vector3(body.com, f"com of {name!r}"),
        inertia=inertia_matrix(body.inertia, name),
        tip_rotation=rotation3(body.tip_rotation, f"tip_rotation of {name!r}"),
        tip_position=vector3(body.tip_position, f"tip_position of {name!r}"),
        density=None if body.density is None else positive(body.density, f"body {name!r}: density"),
        lift=bounded(body.lift, f"body {name!r}: lift"),
    )


def _two(geom_a: str, geom_b: str) -> frozenset[str]:
    """The names of a pair's geoms."""
    if geom_a == geom_b:
        raise ModelError(f"geom {geom_a!r} cannot touch itself: a pair is of two geoms")
    return frozenset((geom_a, geom_b))
