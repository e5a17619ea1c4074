"""Errors that the user of the command line can put right, told in one line."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import gymnasium

Result = TypeVar("Result")

EXTRAS = {
    "minari": "data",
    "h5py": "data",
    "stable_baselines3": "train",
    "torch": "train",
    "yaml": "train",
    "matplotlib": "bench",
}


class UserError(Exception):
    """Something that the user can put right."""

    def format_message(self) -> str:
        """What to say, as typer's own errors do."""
        return str(self)


def told_plainly(command: Callable[..., Result]) -> Callable[..., Result]:
    """A command whose foreseen errors become `UserError`; a missing extra is named."""

    @wraps(command)
    def run(*arguments: object, **options: object) -> Result:
        try:
            return command(*arguments, **options)
        except ImportError as error:
            extra = EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None and "jax" not in str(error) and "minari[" not in str(error):
                raise
            wanted = extra or "data"
            raise UserError(f'{error}: pip install "dynenvs[{wanted}]" brings it') from error
        except (ValueError, OSError, RuntimeError, gymnasium.error.Error) as error:
            raise UserError(str(error)) from error

    return run
