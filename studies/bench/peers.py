"""Other people's packages: imported where they are used, named where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

# Distribution on PyPI of each module, where the names differ
DISTRIBUTIONS = {"pinocchio": "pin"}


class MissingPeer(Exception):
    """A package that a system needs is not installed, or cannot run the case."""


def peer(module: str) -> Any:
    """The module of a peer, as `peer("quantecon.optimize")`.

    Raises:
        MissingPeer: it is not installed, or does not import here; says how to install it.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:  # a broken installation raises what it likes
        top = module.partition(".")[0]
        name = DISTRIBUTIONS.get(top, top)
        raise MissingPeer(f"`pip install {name}` first ({error})") from error
