"""Where machine code comes from: parts, lowered once, and units, which link and optimise them once.

Numba compiles each function to machine code of its own before another may call it: a helper is
optimised alone, then within its caller, then within the caller's caller, and all but the last are
never run.  Here a function that only compiled code calls is a `Part`: it stays LLVM's intermediate
code.  What Python or an address calls is a `Unit`: it links every part that it needs, directly or
not, and LLVM optimises the whole and makes machine code of it, once.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dynenvs.jit.private import JITCodeLibrary, llvm, lookup_environment


class Effort:
    """How long the compiler may take."""

    thorough: ClassVar[bool] = False  # for the library: as long as it makes the code quicker


class _Code(JITCodeLibrary):
    """LLVM's code of a function, made smaller one function at a time before it is linked."""

    def _optimize_functions(self, module: Any) -> None:
        """Take variables out of memory, and tidy up what that leaves.

        Numba optimises each function fully here, as is done for the library.  That takes long; it
        copies what stands in loops, which is inlined into each copy later; and the whole is
        optimised after it is linked.
        """
        if Effort.thorough:
            super()._optimize_functions(module)
            return
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class Part(_Code):
    """A function for units to link: no machine code, no wrappers."""

    _shared_module: Any

    def forbid_copies(self, name: str) -> None:
        """Have a function called wherever it is needed, but for the library."""
        if not Effort.thorough:
            self._final_module.get_function(name).add_function_attribute("noinline")

    def finalize(self) -> None:
        """Let units drop their copies of what they have inlined or do not need."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """It with all that it needs: for functions that numba compiles in its own way."""
        self._ensure_finalized()
        if self._shared_module is None:
            whole = self._final_module.clone()
            for library in _with_theirs(self._linking_libraries):
                whole.link_in(library._get_module_for_linking(), preserve=True)
            self._shared_module = whole
        return self._shared_module


class _Alone:
    """A part without what it needs, to be linked."""

    def __init__(self, part: Part) -> None:
        self._reload_init = part._reload_init
        self._get_module_for_linking = lambda: part._final_module


class Unit(_Code):
    """A function with all parts that it needs: machine code that can run."""

    _linking_libraries: list[Any]

    def finalize(self) -> None:
        """Link, optimise, and make machine code."""
        self._linking_libraries = _with_theirs(self._linking_libraries)
        super().finalize()

    def set_environments(self) -> None:
        """Tell the parts' code where the Python objects are that it may name."""
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self.codegen.set_env(variable.name, environment)


def _with_theirs(libraries: list[Any]) -> list[Any]:
    """These libraries, and those that the parts among them link in turn, each once and alone."""
    # Depth first, in the order in which they were linked: the same code every time
    found: dict[Any, None] = {}
    waiting = list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, Part):
                waiting += reversed(library._linking_libraries)
    return [_Alone(library) if isinstance(library, Part) else library for library in found]
