"""What `dynenvs list` shows: a table by hand, since making an environment would take seconds.

`tests/test_cli.py` compares each line with the environment itself.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from dynenvs.agents.names import short_name


class Listed(NamedTuple):
    """An environment as it is made without options."""

    observations: int  # numbers in an observation
    actions: int
    period: float  # of control [ms]
    summary: str = ""  # first line of the class's docstring
    expert: str = ""  # how it acts; nothing if there is none


OWN = {
    "dynenvs/DoublePendulum-v0": Listed(
        6,
        2,
        20.0,
        "A double pendulum swings itself up and stays there, with torques too weak to lift it.",
        "energy shaping, LQR",
    ),
    "dynenvs/ChainPendulum-v0": Listed(
        17,
        5,
        10.0,
        "A chain of balls brings its tip to a spot on the floor or the wall and presses it there.",
        "arcs, inverse dynamics",
    ),
    "dynenvs/PlanarHumanoid-v0": Listed(
        20,
        6,
        10.0,
        "A humanoid of 1.70 m and 70 kg walks in the plane at a commanded speed.",
        "gait, inverse dynamics",
    ),
    "dynenvs/PlanarQuadruped-v0": Listed(
        34,
        12,
        10.0,
        "A four-legged robot of 12.7 kg trots in the plane at a commanded speed.",
        "gait, inverse dynamics",
    ),
    "dynenvs/Quadruped-v0": Listed(
        43,
        12,
        15.0,
        "A four-legged robot of 12.7 kg with a free trunk trots as commanded.",
        "trot, inverse dynamics",
    ),
    "dynenvs/Humanoid-v0": Listed(
        59,
        21,
        15.0,
        "A humanoid of 1.70 m and 70 kg with a free pelvis walks as commanded.",
        "footsteps, inverse dynamics",
    ),
}
OF_GYMNASIUM = {
    "dynenvs/MujocoAnt-v5": Listed(105, 8, 50.0),
    "dynenvs/MujocoHalfCheetah-v5": Listed(17, 6, 50.0),
    "dynenvs/MujocoHopper-v5": Listed(11, 3, 8.0),
    "dynenvs/MujocoHumanoid-v5": Listed(348, 17, 15.0),
    "dynenvs/MujocoHumanoidStandup-v5": Listed(348, 17, 15.0),
    "dynenvs/MujocoInvertedDoublePendulum-v5": Listed(9, 1, 50.0),
    "dynenvs/MujocoInvertedPendulum-v5": Listed(4, 1, 40.0),
    "dynenvs/MujocoPusher-v5": Listed(23, 7, 50.0),
    "dynenvs/MujocoReacher-v5": Listed(10, 2, 20.0),
    "dynenvs/MujocoWalker2d-v5": Listed(17, 6, 8.0),
}
NOTE = (
    "mujoco-...: Gymnasium's MuJoCo tasks on hard contact, without experts.\n"
    "Any robot's file is an environment, too: dynenvs demo go2.xml"
)


def show(console: Console) -> None:
    """Print what environments there are."""
    table = Table("environment and id; its expert", "obs", "act", "period", show_lines=True)
    widest = max(map(len, map(short_name, OWN)))
    for env_id, one in OWN.items():
        names = f"[bold]{short_name(env_id):{widest}}[/bold]  {env_id}"
        _add(table, f"{names}\n{one.summary}\nexpert: {one.expert}", one)
    for env_id, one in OF_GYMNASIUM.items():
        _add(table, f"[bold]{short_name(env_id)}[/bold]  {env_id}", one)
    console.print(table)
    console.print(NOTE, highlight=False)


def _add(table: Table, words: str, one: Listed) -> None:
    table.add_row(words, str(one.observations), str(one.actions), f"{one.period:.0f} ms")
