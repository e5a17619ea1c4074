"""Errors that the user of the command line can put right, told in one line."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import gymnasium

import dynenvs

Result = TypeVar("Result")

EXTRAS = {
    "minari": "data",
    "h5py": "data",
    "safetensors": "train",
    "stable_baselines3": "train",
    "torch": "train",
    "yaml": "train",
    "matplotlib": "bench",
    "mujoco": "mjcf",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "ray": "ray",
}


class UserError(Exception):
    """Something that the user can put right."""

    def format_message(self) -> str:
        """What to say, as typer's own errors do."""
        return str(self)


def install_hint(extra: str) -> str:
    """The command that installs an extra of this package from where the user got the package.

    The project is on no index that we know of, so `pip install "dynenvs[train]"` would fail, or
    install a stranger's package, for whoever has a checkout, a wheel or a git address.

    Args:
        extra: as pyproject.toml names it, "train" for example.

    Returns:
        A command to paste, as `pip install -e ".[train]"` in a checkout.
    """
    source = Path(dynenvs.__file__).resolve().parents[1]
    if (source / "pyproject.toml").is_file():  # a checkout, installed as editable or on the path
        return f'pip install -e "{_from_here(source)}[{extra}]"'
    try:
        words = importlib.metadata.distribution("dynenvs").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        words = None
    origin = json.loads(words) if words else {}
    url = origin.get("url", "")
    if "dir_info" in origin:
        folder = Path(url2pathname(urlsplit(url).path))
        return f'pip install "{_from_here(folder)}[{extra}]"'
    if "vcs_info" in origin:
        return f'pip install "dynenvs[{extra}] @ {origin["vcs_info"]["vcs"]}+{url}"'
    return f'pip install "dynenvs[{extra}] @ {url}"' if url else f'pip install "dynenvs[{extra}]"'


def _from_here(folder: Path) -> str:
    """A folder as pip takes it: "." where the user stands in it, else its whole path."""
    return "." if folder.resolve() == Path.cwd() else str(folder)


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
            raise UserError(f"{error}: `{install_hint(wanted)}` brings it") from error
        except MemoryError as error:
            raise UserError(
                f"there is not enough memory: {str(error) or 'none is left'}"
            ) from error
        except (ValueError, OSError, RuntimeError, gymnasium.error.Error) as error:
            raise UserError(str(error)) from error

    return run
