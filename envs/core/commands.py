"""A command that changes in mid-episode, for one world or for a batch of them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from dynenvs.envs.core.worlds import TaskWorlds


def give_command(worlds: TaskWorlds, fields: dict[str, Any]) -> None:
    """Let the worlds follow other commands, until their episodes end.

    Args:
        worlds: one world or a batch.
        fields: of the worlds' records, one value for all or an array with one a world.

    Raises:
        gymnasium.error.ResetNeeded: a world has not begun: `reset` would draw its command.
    """
    if not worlds.started.all():
        raise gym.error.ResetNeeded("call reset() before set_command()")
    worlds.remember(fields)
