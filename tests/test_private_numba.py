"""What numba keeps to itself is named in one file, and is there in the numba that is installed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dynenvs
from dynenvs.jit import plain, private

PACKAGE = Path(dynenvs.__file__).parent
PUBLIC = {
    "numba": {"TypingError", "carray", "config", "from_dtype", "njit", "types"},
    "numba.extending": {
        "NativeValue", "infer_getattr", "intrinsic", "lower_builtin", "lower_cast",
        "lower_getattr_generic",
        "models", "overload", "register_model", "type_callable", "typeof_impl", "unbox",
    },
}  # fmt: skip


def private_imports(source: str) -> list[str]:
    """What a module takes from numba or llvmlite that is not public."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            open_to_all = PUBLIC.get(module, set())
            names = [f"{module}.{a.name}" for a in node.names if a.name not in open_to_all]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
            public = {f"numba.{name}" for name in (*PUBLIC["numba"], "__version__")}
            names = [name for name in names if name not in public and name.count(".") == 1]
        found += [n for n in names if n.split(".")[0] in ("numba", "llvmlite") and n != "numba"]
    return found


def modules() -> dict[str, str]:
    """Sources of the package, with environments and agents."""
    paths = [path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts]
    paths += [p for name in ("envs", "agents") for p in (PACKAGE / name).resolve().rglob("*.py")]
    return {str(path): path.read_text() for path in paths}


@pytest.mark.parametrize(
    "line",
    [
        "import llvmlite", "import numba.core.config", "from llvmlite import ir",
        "from numba.core import cgutils", "from numba import core", "x = numba.core",
        "from numba.extending import utils", "from numba.np.arrayobj import make_array",
    ],
)  # fmt: skip
def test_a_private_import_is_found(line: str) -> None:
    """The check below sees each way to write one."""
    assert private_imports(line)


@pytest.mark.parametrize("line", ["import numba", "from numba.extending import intrinsic"])
def test_public_parts_are_let_through(line: str) -> None:
    assert private_imports(line) == []


def test_no_other_file_names_private_parts() -> None:
    found = {path: private_imports(source) for path, source in modules().items()}
    assert len(found) > 300
    assert {path: names for path, names in found.items() if names} == {}


def test_only_the_decorators_room_uses_them() -> None:
    """Kernels' rooms take helpers of `dynenvs.jit` (`lowering.py`, `handles_lowered.py`)."""
    users = {path for path, source in modules().items() if "dynenvs.jit.private" in source}
    assert len(users) > 5
    assert {str(Path(path).parent) for path in users} == {str(PACKAGE / "jit")}


@pytest.mark.parametrize("name", private.PARTS)
def test_the_installed_numba_has_them(name: str) -> None:
    """Where it is one that the accelerator knows; others need but a few of them."""
    if name not in private.ALWAYS and not plain.is_known():
        pytest.skip("the accelerator is made for another version of numba")
    assert getattr(private, name) is not None


def test_every_part_is_used() -> None:
    """The list is no longer than it must be."""
    users = [path.read_text() for path in (PACKAGE / "jit").glob("*.py") if path.stem != "private"]
    words = {word for source in users for word in re.findall(r"\w+", source)}
    assert set(private.PARTS) - words == set()
