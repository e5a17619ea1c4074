"""Machine code for the library: a kernel with all that it calls, without Python's wrappers."""

from __future__ import annotations

from typing import Any

from dynenvs.jit.linking import Unit
from dynenvs.jit.pipeline import UnitCompiler
from dynenvs.jit.plain import OPTIONS
from dynenvs.jit.private import CPUDispatcher, NativeLowering, llvm, register_pass
from dynenvs.jit.trust import trust

_made: list[Any] = []  # the last code that was lowered


class SharedCode(Unit):
    """A unit that stays LLVM's code: it is not run here."""

    def _finalize_specific(self) -> None:
        """Nothing is loaded into this process."""


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToSharedCode(NativeLowering):
    """LLVM's code of a function for the library."""

    _name = "lower_to_shared_code"

    def run_pass(self, state: Any) -> bool:
        """Lower."""
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        trust(state)
        state.library = SharedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        lowered, key = state["cr"], object()
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        state.library.finalize()  # numba's lock is held here
        _made[:] = [lowered.fndesc.llvm_func_name, state.library]
        return True


class SharedCompiler(UnitCompiler):
    """Compiles for the library."""

    lowering = LowerToSharedCode


def shared_code(function: Any, arguments: tuple[Any, ...], symbol: str) -> Any:
    """LLVM's module of a function with all that it calls; it alone can be seen from outside."""
    options = {"nopython": True, **OPTIONS}
    dispatcher = CPUDispatcher(function, None, options, SharedCompiler)
    dispatcher._compiler.compile(arguments, None)
    name, library = _made
    module = library._final_module
    for number, value in enumerate([*module.functions, *module.global_variables]):
        if not value.is_declaration and value.name != name:
            value.linkage = llvm.Linkage.internal
            value.name = f"own.{number}"  # numba's names count what was compiled before
    own = module.get_function(name)
    own.name, own.linkage = symbol, llvm.Linkage.external
    return module
