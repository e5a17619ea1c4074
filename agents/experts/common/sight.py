"""Where an observation has what: the places of its declared blocks, by their names.

An expert's record of constants has a field for each block that it reads, "at_joint_angles" for the
block "joint angles".  `BatchController` fills them in, and no kernel counts entries.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

PREFIX = "at_"
ABSENT = -1  # of a block that the task's options leave out


def see_blocks(constants: NDArray[Any], task: Any) -> None:
    """Fill in the fields "at_..." of a record for a task, ABSENT for blocks that it has not."""
    known = {_field(name): place.start for name, place in task.observation_slices.items()}
    for field in constants.dtype.names or ():
        if field.startswith(PREFIX):
            constants[field] = known.get(field, ABSENT)


def _field(name: str) -> str:
    return PREFIX + name.replace(" ", "_")
