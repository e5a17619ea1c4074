"""Numba's compiler with other habits: a first start takes half as long, a step a seventh less.

* A function that compiled code calls becomes no machine code of its own (`linking.Part`).
* It is not compiled again for each literal number with which it is called.
* Functions of this package allocate nothing and index from the front (`trust.py`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from numba import types

from dynenvs.jit.cache import is_trusted
from dynenvs.jit.frugal import SmallRewrites, defines_functions, make_frugal
from dynenvs.jit.handles_lowered import as_declared
from dynenvs.jit.interrupts import interrupts_kept
from dynenvs.jit.kernel_cache import KernelCache
from dynenvs.jit.linking import Part, Unit
from dynenvs.jit.private import (
    CompilerBase,
    CPUDispatcher,
    DefaultPassBuilder,
    Flags,
    InlineClosureLikes,
    NativeLowering,
    NopythonRewrites,
    register_pass,
    sigutils,
)
from dynenvs.jit.trust import trust
from dynenvs.jit.turns import turn_to_compile

make_frugal()
called_functions: set[Any] = set()  # that are not to be copied into their callers


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToUnit(NativeLowering):
    """LLVM's intermediate code of a function that Python calls, and machine code of it."""

    _name = "lower_to_unit"

    def run_pass(self, state: Any) -> bool:
        """Lower."""
        state.library = Unit(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        trust(state)
        super().run_pass(state)
        state.library.set_environments()
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToPart(NativeLowering):
    """LLVM's intermediate code of a function that compiled code calls, and no more."""

    _name = "lower_to_part"

    def run_pass(self, state: Any) -> bool:
        """Lower."""
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        trust(state)
        state.library = Part(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        lowered, key = state["cr"], object()
        if state.func_id.func in called_functions:
            state.library.forbid_copies(lowered.fndesc.llvm_func_name)
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


class UnitCompiler(CompilerBase):
    """Compiles what Python calls."""

    lowering: type[NativeLowering] = LowerToUnit

    def define_pipelines(self) -> list[Any]:
        """Numba's own passes for compiled code, the last of them replaced.

        Functions of this package do without those that find nothing in them.
        """
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state, "nopython")
        others: dict[Any, Any] = {NativeLowering: self.lowering}
        if self.state.func_id.modname.startswith("dynenvs."):
            others[NopythonRewrites] = SmallRewrites
            if not defines_functions(self.state.func_id.func):
                others[InlineClosureLikes] = None
        found = [(others.get(kind, kind), why) for kind, why in passes.passes]
        passes.passes = [(kind, why) for kind, why in found if kind is not None]
        passes.finalize()
        return [passes]


class PartCompiler(UnitCompiler):
    """Compiles what compiled code calls."""

    lowering = LowerToPart


class _Flags(Flags):
    """Numba's flags, compared in one go: it compares them at every call that it types."""

    _DEFAULTS: ClassVar = {name: option.default for name, option in Flags.options.items()}
    _HASH: ClassVar = hash(Flags())  # of the options' names

    def values(self) -> dict[str, Any]:
        """All options and their values."""
        values: dict[str, Any] = self._DEFAULTS | self._values
        return values

    def __hash__(self) -> int:
        return self._HASH


class Parts(CPUDispatcher):
    """A function as compiled code sees it: one part for each combination of argument types."""

    def __init__(self, function: Any, locals: Any = None, options: Any = None) -> None:
        super().__init__(function, locals, options, PartCompiler)
        self._compiler._customize_flags = _Flags

    def get_call_template(self, arguments: Any, named: Any) -> Any:
        """How it is called with arguments of these types: with the handles that it declares."""
        signature, folded = self._compiler.fold_argument_types(arguments, named)
        narrowed = as_declared(self.py_func, tuple(folded))
        template, _, _, _ = super().get_call_template(narrowed, {})
        return template, signature, narrowed, {}

    def compile(self, signature: Any) -> Any:
        """Lower for argument types; a number's value is no part of its type."""
        return super().compile(tuple(types.unliteral(kind) for kind in signature))

    def add_overload(self, result: Any) -> None:
        """Keep it for callers; Python has nothing to call."""
        self.overloads[tuple(result.signature.args)] = result


class Kernel(CPUDispatcher):
    """A function as Python, or an address, calls it: machine code of its own.

    Numba pickles it as a function with `locals` (types of its variables; none here) and options.
    """

    def __init__(self, function: Any, locals: Any = None, options: Any = None) -> None:
        super().__init__(function, locals, options, UnitCompiler)
        self._compiler._customize_flags = _Flags

    def enable_caching(self) -> None:
        """Keep machine code on disk, where nobody else can have put any."""
        if is_trusted():
            self._cache = KernelCache(self.py_func)

    def is_compiled_for(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call with arguments of these types compiles nothing: at most it loads."""
        return arguments in self.overloads or (
            isinstance(self._cache, KernelCache) and self._cache.has(arguments, self.targetctx)
        )

    def compile(self, signature: Any) -> Any:
        """Compile for argument types, or load what this or another process has compiled."""
        arguments, _ = sigutils.normalize_signature(signature)
        if not isinstance(self._cache, KernelCache) or self.is_compiled_for(arguments):
            return self._compile_here(signature)
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        with turn_to_compile(name, lambda: self.is_compiled_for(arguments)):
            return self._compile_here(signature)

    def _compile_here(self, signature: Any) -> Any:
        with interrupts_kept():  # LLVM calls Python back when it has made machine code
            return super().compile(signature)
