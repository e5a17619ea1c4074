"""One smooth body slides on another without friction, in five contact coordinates.

`Plane`, `Sphere`, `Torus` and `Bezier` are the surfaces; `SlidingContact` has the equations of
motion; `slide` integrates them until time is up or they end: the contact breaks, a chart's edge
is reached, or the surfaces lie flat on each other; `hand_over` then gives the motion to a `World`.
Source: Pai, Ascher and Kry 2000, section 6 (docs/theory.md, Contact coordinates).
"""

from __future__ import annotations

from dynenvs.reference.surfaces.contact import SlidingContact
from dynenvs.reference.surfaces.parametric import Bezier, Plane, Sphere, Surface, Torus
from dynenvs.reference.surfaces.slide import Slide, hand_over, slide

__all__ = [
    "Bezier",
    "Plane",
    "Slide",
    "SlidingContact",
    "Sphere",
    "Surface",
    "Torus",
    "hand_over",
    "slide",
]
