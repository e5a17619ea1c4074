"""Numba's compiler spared what it does again and again: the same code comes out, sooner.

`make_frugal` puts quicker functions, which give the same, in the place of some of numba's:

* the variables of an instruction, found by a table of types;
* sizes and alignments of LLVM's types, for which LLVM is asked once each;
* registries of implementations, which are searched for news only if there can be any;
* types of arithmetic and other built-in functions, found once for each combination of arguments.

And two of its passes become smaller: functions of this package define no functions and have no
array expressions (`SmallRewrites`, `defines_functions`).
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types

from dynenvs.jit.private import (
    BaseContext,
    BaseFunction,
    Inst,
    NopythonRewrites,
    PostProcessor,
    RewriteRegistry,
    Var,
    register_pass,
    rewrites,
)

_BUILT_IN = {
    id(function)
    for module in (operator, math, builtins)
    for function in vars(module).values()
    if callable(function)
}
_NEEDED = ("RewriteStringLiteralGetitems", "RewriteStringLiteralSetitems")  # record["field"]


@cache
def make_frugal() -> None:
    """Put the quicker functions in place, once a process."""
    Inst._rec_list_vars = _variables
    for name in ("get_abi_sizeof", "get_abi_alignment"):
        setattr(BaseContext, name, _once_a_type(getattr(BaseContext, name)))
    BaseContext.refresh = _refreshing_for_news(BaseContext.refresh)
    BaseFunction.get_call_type = _typing_once(BaseFunction.get_call_type)


# Variables of an instruction

_nothing: set[type] = set()  # types of what holds no variable


def _variables(self: Any, value: Any) -> list[Any]:
    """The variables that an instruction's part uses."""
    kind = type(value)
    if kind is Var:
        return [value]
    if kind in _nothing:
        return []
    found: list[Any] = []
    if kind is list or kind is tuple:
        for part in value:
            found += _variables(self, part)
    elif kind is dict:
        for part in value.values():
            found += _variables(self, part)
    elif isinstance(value, Var):
        found.append(value)
    elif isinstance(value, Inst):
        found += value.list_vars()
    elif isinstance(value, list | tuple):
        for part in value:
            found += _variables(self, part)
    elif isinstance(value, dict):
        for part in value.values():
            found += _variables(self, part)
    else:
        _nothing.add(kind)
    return found


# LLVM's types


def _once_a_type(ask: Callable[[Any, Any], int]) -> Callable[[Any, Any], int]:
    known: dict[Any, tuple[Any, int]] = {}  # the type is kept, so that no other gets its number

    def answer(self: Any, kind: Any) -> int:
        key = type(self), id(kind)
        if key not in known:
            known[key] = kind, ask(self, kind)
        return known[key][1]

    return answer


# Registries


def _refreshing_for_news(refresh: Callable[[Any], None]) -> Callable[[Any], None]:
    def refresh_for_news(self: Any) -> None:
        counts = _registered(self)
        if counts != getattr(self, "_registered_then", None):
            refresh(self)
            self._registered_then = _registered(self)

    return refresh_for_news


def _registered(context: Any) -> list[int]:
    """How much is registered with a target and with what finds types for it."""
    registries = [*context._registries, *context.typing_context._registries]
    return [
        len(entries)
        for registry in registries
        for entries in vars(registry).values()
        if isinstance(entries, list)
    ]


# Types of calls


def _typing_once(find: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or type(self) is not types.Function or id(self.typing_key) not in _BUILT_IN:
            return find(self, context, args, kws)
        if not all(isinstance(kind, types.Number | types.Boolean) for kind in args):
            return find(self, context, args, kws)
        key = self, args
        if key not in known:
            known[key] = find(self, context, args, kws)
        return known[key]

    return get_call_type


# Passes


def defines_functions(function: Any) -> bool:
    """Whether a function's code makes functions, or comprehensions of them."""
    return any(hasattr(constant, "co_code") for constant in function.__code__.co_consts)


@register_pass(mutates_CFG=True, analysis_only=False)
class SmallRewrites(NopythonRewrites):
    """Fields of records by their names, and nothing else: there are no array expressions."""

    _name = "small_rewrites"

    def run_pass(self, state: Any) -> bool:
        """Rewrite."""
        processor = PostProcessor(state.func_ir)
        processor.run(True)
        _small_registry().apply("after-inference", state)
        processor.remove_dels()
        return True


@cache
def _small_registry() -> Any:
    registry = RewriteRegistry()
    for kind in rewrites.rewrite_registry.rewrites["after-inference"]:
        if kind.__name__ in _NEEDED:
            registry.register("after-inference")(kind)
    return registry
