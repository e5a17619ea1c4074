"""Which arrays of a world each kernel reads and writes, from the kernels' source.

A kernel gets handles (`w: WorldView`) and arrays.  Names in it stand for one of these, or for a
part of it (`answer = w.answer[0]`); what is assigned to such a part is written, all else is read;
what is handed to another kernel has that kernel's effects, worked out until nothing changes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dynenvs.jit.handles import Array, Handle, Nested
from dynenvs.memory import layout, sparse_view

ROOMS = "contact", "dynamics", "kinematics", "lcp", "memory", "simulation"
READ, WRITTEN = "r", "w"
HANDLES = {
    name: kind
    for module in (layout, sparse_view)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Handle)
}
Origin = tuple[str, str]  # ("handle", class), ("array", name) or ("argument", name)
Note = Callable[[Origin | None, set[str]], None]


@dataclass
class Kernel:
    """A function of the core, and what it does to arrays."""

    module: str
    node: ast.FunctionDef
    imports: dict[str, tuple[str, str]]
    arrays: dict[str, set[str]] = field(default_factory=dict)  # of its handles: READ, WRITTEN
    arguments: dict[str, set[str]] = field(default_factory=dict)  # the same of other arguments

    @property
    def names(self) -> list[str]:
        """Of its arguments."""
        return [argument.arg for argument in self.node.args.args]

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        text = (ast.get_docstring(self.node) or "").split("\n\n")[0].replace("\n", " ")
        return text.split(".  ")[0].rstrip(".")

    def origins(self) -> dict[str, Origin]:
        """What its arguments stand for."""
        found: dict[str, Origin] = {}
        for argument in self.node.args.args:
            kind = ast.unparse(argument.annotation) if argument.annotation else ""
            found[argument.arg] = (
                ("handle", kind) if kind in HANDLES else ("argument", argument.arg)
            )
        return found


def read_kernels(package: Path) -> dict[tuple[str, str], Kernel]:
    """All functions of the core by module and name, with their effects."""
    kernels: dict[tuple[str, str], Kernel] = {}
    for room in ROOMS:
        for path in sorted((package / room).rglob("*.py")):
            module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
            tree = ast.parse(path.read_text(encoding="utf-8"))
            imports = {
                alias.asname or alias.name: (node.module or "", alias.name)
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    kernels[module, node.name] = Kernel(module, node, imports)
    grown = True
    while grown:
        grown = sum(_look(kernel, kernels) for kernel in kernels.values()) > 0
    return kernels


def called(kernel: Kernel, kernels: dict[tuple[str, str], Kernel]) -> list[Kernel]:
    """The functions of the core that it calls, in the order in which they stand, each once."""
    calls = (node for node in ast.walk(kernel.node) if isinstance(node, ast.Call))
    ordered = sorted(calls, key=lambda node: (node.lineno, node.col_offset))
    found = [_callee(node, kernel, kernels) for node in ordered]
    return list({id(one): one for one in found if one is not None}.values())


def _callee(
    node: ast.Call, kernel: Kernel, kernels: dict[tuple[str, str], Kernel]
) -> Kernel | None:
    if not isinstance(node.func, ast.Name):
        return None
    name = node.func.id
    return kernels.get(kernel.imports.get(name, (kernel.module, name)))


def _look(kernel: Kernel, kernels: dict[tuple[str, str], Kernel]) -> bool:
    """Work out a kernel's effects anew; whether they have grown."""
    origins, grown = kernel.origins(), False

    def note(origin: Origin | None, effects: set[str]) -> None:
        nonlocal grown
        if origin is not None and origin[0] != "handle":
            kept = kernel.arrays if origin[0] == "array" else kernel.arguments
            before = kept.setdefault(origin[1], set())
            grown = grown or not effects <= before
            before |= effects

    for node in _in_order(kernel.node):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                origin = _origin(value, origins)
                if isinstance(target, ast.Name) and origin is not None:
                    origins[target.id] = origin
                elif not isinstance(target, ast.Name):
                    note(_origin(target, origins), {WRITTEN})
        elif isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
            note(_origin(node.target, origins), {READ, WRITTEN})
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Load):
            note(_origin(node, origins), {READ} if isinstance(node, ast.Subscript) else set())
        elif isinstance(node, ast.Call):
            callee = _callee(node, kernel, kernels)
            if callee is not None:
                _take_over(node, callee, origins, note)
    return grown


def _take_over(node: ast.Call, callee: Kernel, origins: dict[str, Origin], note: Note) -> None:
    """Effects of a call: on the arrays of handles, and on what is given as other arguments."""
    given = dict(zip(callee.names, (_origin(a, origins) for a in node.args), strict=False))
    for name, effects in callee.arrays.items():
        note(("array", name), effects)
    for name, effects in callee.arguments.items():
        note(given.get(name), effects)


def _origin(node: ast.expr, origins: dict[str, Origin]) -> Origin | None:
    """What an expression is a part of."""
    if isinstance(node, ast.Name):
        return origins.get(node.id)
    if isinstance(node, ast.Subscript):
        return _origin(node.value, origins)
    if isinstance(node, ast.Attribute):
        origin = _origin(node.value, origins)
        if origin is None or origin[0] != "handle":
            return origin
        entry = getattr(HANDLES[origin[1]], node.attr, None)
        if isinstance(entry, Nested):
            return "handle", entry.kind.__name__
        return ("array", _full_name(entry)) if isinstance(entry, Array) else None
    return None


def _full_name(entry: Array) -> str:
    """An array's name from `w` on."""
    for name, nested in vars(layout.WorkView).items():
        if isinstance(nested, Nested) and entry in vars(nested.kind).values():
            return f"{name}.{entry.name}"
    return entry.name


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and values of an assignment, one by one where both are tuples."""
    for target in node.targets:
        value = node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts, strict=False)
        elif isinstance(target, ast.Tuple):
            yield from ((part, ast.Constant(None)) for part in target.elts)
        else:
            yield target, value


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Everything within, as it stands."""
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _in_order(child)
