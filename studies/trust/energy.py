"""Energy out of nothing."""

from __future__ import annotations

from dynenvs import ModelBuilder, World, revolute, spherical, totals
from studies.trust.case import Case


def fast_tree() -> str:
    """Two bodies that nothing drives, turned by 0.04 rad in a step."""
    builder = ModelBuilder()
    builder.body("a", joint=spherical(), mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.02, 0.03))
    builder.body("b", parent="a", joint=revolute(position=(0.6, 0, 0)), mass=1.0, com=(0.2, 0.1, 0))
    world = World(builder.build(), timestep=0.001, audit_every=1)
    world.reset(v=[12.0, 8.0, 40.0, 28.0])
    start = totals(world.model, world.q, world.v)
    most = 0.0
    for _ in range(1000):
        world.step()
        most = max(most, totals(world.model, world.q, world.v).energy - start.energy)
    found = world.diagnostics
    told = f"reported by audits in {found.coarse + found.beyond} of 1000 steps"
    return f"gains {most / start.kinetic:.0%}, {told}, {found.beyond} beyond its rule"


ENERGY = (
    Case("two bodies that nothing drives turn by 0.04 rad in a step",
         "gained 47 % in a second, unnoticed", r"gains [01]%.* 0 beyond its rule",
         ("test_whirl",), fast_tree),
)  # fmt: skip
