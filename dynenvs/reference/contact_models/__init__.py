"""Other models of contact, to be compared with the LCP (Cloutier 1995, chapter 6).

Springs and dampers (`penalty.py`), impulses integrated through an impact (`impulse.py`), and
contact as a sequence of small impacts (`microcollisions.py`): docs/theory.md, Springs and impulses.
`docs/reproduction.md` runs them beside `dynenvs.World` and shows why hard contact by an LCP is the
default.
"""

from __future__ import annotations

from dynenvs.reference.contact_models.impulse import Impact, collide
from dynenvs.reference.contact_models.microcollisions import simulate_microcollisions
from dynenvs.reference.contact_models.penalty import LAWS, Penalty
from dynenvs.reference.contact_models.touch import Touch, touching

__all__ = [
    "LAWS",
    "Impact",
    "Penalty",
    "Touch",
    "collide",
    "simulate_microcollisions",
    "touching",
]
