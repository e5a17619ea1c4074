"""A model as one plain file: JSON with all that the model was built from, read back bit for bit.

The file holds a `Description`, field by field, under the names of its dataclasses; numbers are
written with as many digits as they need, infinity as "inf".  It says its format and its version,
and needs no other package to be read.  On reading everything is checked: each field is there, has
the right type, and no number is NaN; then the model is built, with all checks of `ModelBuilder`.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from dynenvs.files import written_whole
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.description import Description
from dynenvs.model.importing.fields import decoded, encoded
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError
from dynenvs.spelling import shortly

FORMAT = "dynenvs model"
VERSION = 7  # goes up by one whenever a field of a description is added, removed or means another


def save(model: Model, file: str | os.PathLike[str]) -> None:
    """Write a model to a file that `load` reads; whole or not at all.

    The model that `load` makes of it moves bit for bit as this one does.

    Args:
        model: made by `ModelBuilder` or `load`.
        file: path, overwritten if it is there.

    Raises:
        ModelError: the model was not made by a `ModelBuilder`, so that nobody knows its parts.
        OSError: the file cannot be written; the words name it.
    """
    described = model.description
    if not described.options:
        raise ModelError(f"{model!r} was not made by ModelBuilder.build(): it cannot be saved")
    options = {**described.options, "integrator": model.integrator}
    described = dataclasses.replace(described, options=options)
    with written_whole(Path(file)) as draft:
        draft.write_text(_text(described), encoding="utf-8")


def _text(described: Description) -> str:
    """The file: one line for each part."""
    lines = [f'"format": {json.dumps(FORMAT)}', f'"version": {VERSION}']
    for field in dataclasses.fields(described):
        value = encoded(getattr(described, field.name))
        if isinstance(value, list):
            parts = ",\n  ".join(json.dumps(part, allow_nan=False) for part in value)
            text = f"[\n  {parts}\n ]" if parts else "[]"
        else:
            text = json.dumps(value, allow_nan=False)
        lines.append(f"{json.dumps(field.name)}: {text}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def read(path: Path) -> Model:
    """The model of a file that `save` has written.

    Raises:
        ModelError: one line that says what is wrong, and where in the file.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_each_once)
    except OSError as error:
        raise ModelError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise ModelError(f"{path}: broken JSON: {error}") from None
    except RecursionError:
        raise ModelError(f"{path}: no {FORMAT}: its lists are nested too deeply") from None
    try:
        return ModelBuilder.of(_description(content)).build()
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except RecursionError:
        raise ModelError(f"{path}: no {FORMAT}: its lists are nested too deeply") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which no name may stand twice: which value is meant?"""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{shortly(name)} stands there twice")
        found[name] = value
    return found


def _description(content: Any) -> Description:
    """The description that a file holds, every field checked for its type."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelError(f'no {FORMAT}: "format" must be {FORMAT!r}')
    version = content.get("version")
    if version != VERSION:
        raise ModelError(
            f"version {version!r} of the format is unknown; this dynenvs reads {VERSION}: save the "
            "model again, or use the dynenvs that wrote it"
        )
    parts = {name: value for name, value in content.items() if name not in ("format", "version")}
    described = decoded(Description, parts, "")
    assert isinstance(described, Description)
    return dataclasses.replace(described, options=_options(described.options))


def _options(given: Any) -> dict[str, Any]:
    """The builder's options, none missing and none unknown."""
    known = ModelBuilder().description().options
    for name in known.keys() - given.keys():
        raise ModelError(f"options: {name!r} is missing")
    for name in given.keys() - known.keys():
        raise ModelError(f"options: {name!r} is unknown; known: {', '.join(known)}")
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
