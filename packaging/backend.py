"""The build backend: setuptools, which compiles the core for a wheel and not for a checkout.

A wheel holds the compiled core (`python -m dynenvs.jit.build`): to build one takes numba, a linker
and what the package imports.  An editable install is a checkout, whose kernels are compiled when
they are needed: it takes nothing.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

_PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What compiling the core takes."""
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))
    own: list[str] = project["project"]["dependencies"]
    tools: list[str] = project["dependency-groups"]["core"]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *own, *tools]
