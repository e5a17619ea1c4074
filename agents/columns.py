"""What the numbers of an observation and an action are, as tables for the cards of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynenvs.envs.core.task import Task


def observation_columns(task: Task) -> list[dict[str, Any]]:
    """The blocks of a task's observation: name, place, size, unit, bounds, meaning."""
    slices = task.observation_slices
    return [
        {
            "name": block.name,
            "from": slices[block.name].start,
            "size": block.size,
            "unit": block.unit,
            "low": block.low.tolist(),
            "high": block.high.tolist(),
            "meaning": block.meaning,
        }
        for block in task.observation_blocks
    ]


def action_meaning(task: Task) -> str:
    """What an action is."""
    if task.motors is not None:
        return "targets of PD motors, as scale times the action from the standing pose"
    return "torques over effort limits, in [-1, 1]"


def joints_of(task: Task) -> tuple[list[str], list[float]]:
    """Names of the joints that act, in the order of the actions, and their limits."""
    robot = task.robot
    return list(robot.joint_names[-robot.nu :]), robot.effort_limit[robot.actuated].tolist()


def observation_lines(columns: Sequence[dict[str, Any]]) -> list[str]:
    """The blocks as a Markdown table."""
    lines = [
        "| entries | name | unit | least | most | meaning |",
        "| --- | --- | --- | ---: | ---: | --- |",
    ]
    for block in columns:
        first, last = block["from"], block["from"] + block["size"] - 1
        span = f"{first}" if first == last else f"{first} to {last}"
        low, high = min(block["low"]), max(block["high"])
        cells = (span, block["name"], block["unit"], f"{low:g}", f"{high:g}", block["meaning"])
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def joint_lines(joints: Sequence[str], limits: Sequence[float]) -> list[str]:
    """The joints as a Markdown table."""
    head = ["| entry | joint | greatest torque [N m or N] |", "| ---: | --- | ---: |"]
    return head + [f"| {i} | {joints[i]} | {limits[i]:g} |" for i in range(len(joints))]
