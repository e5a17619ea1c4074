"""Every part of numba and llvmlite that is not public: no other file names one.

A name is imported from here like any other, and looked up in numba then: nothing here needs numba
before something is compiled, and where numba compiles in its own way (`plain.py`) it need not have
what the accelerator uses.  `tests/test_private_numba.py` finds all of them in the numba that is
installed, and refuses such imports elsewhere.  To try a new version: run it, raise KNOWN, and run
`tests/test_pipeline.py` and `tests/test_library.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

KNOWN = (0, 68)  # the version of numba that the accelerator's names below are known to work with

# LLVM code of our own (`lowering.py`, `handles_lowered.py`, `compiler.py`)
ALWAYS = {
    "ir": "llvmlite.ir",  # LLVM's types, constants and instructions
    "llvm": "llvmlite.binding",  # cells by their names, target machines, visibility of symbols
    "ExecutionEngine": "llvmlite.binding",  # calls Python when it has made machine code
    "cgutils": "numba.core.cgutils",  # structs, loops and declarations in LLVM code
    "Conversion": "numba.core.typeconv",  # what a handle can stand for
    "AttributeTemplate": "numba.core.typing.templates",  # types of a handle's fields
    "make_intrinsic_template": "numba.core.typing.templates",  # the type of a unit as it is called
}
# Numba's compiler with other habits (`pipeline.py`, `linking.py`, `shared.py`)
ACCELERATOR = {
    "CPUDispatcher": "numba.core.registry",  # a function and its machine code by argument types
    "CompilerBase": "numba.core.compiler",  # the list of passes
    "DefaultPassBuilder": "numba.core.compiler",  # numba's own passes
    "Flags": "numba.core.compiler",  # options of a compilation, compared at every call
    "NativeLowering": "numba.core.typed_passes",  # the pass that makes LLVM code
    "register_pass": "numba.core.compiler_machinery",  # for the passes that replace it
    "sigutils": "numba.core.sigutils",  # reads signatures
    "JITCodeLibrary": "numba.core.codegen",  # LLVM code of a function, linked and optimised
    "lookup_environment": "numba.core.environment",  # objects that machine code may name
    "arrayobj": "numba.np.arrayobj",  # what an index becomes (`trust.py`)
    # What is put in place of numba's own (`frugal.py`)
    "Inst": "numba.core.ir",  # an instruction, and which variables it uses
    "Var": "numba.core.ir",  # a variable
    "BaseContext": "numba.core.base",  # a target: sizes of types, registries
    "BaseFunction": "numba.core.types.functions",  # the type of a function as it is called
    "NopythonRewrites": "numba.core.typed_passes",  # the pass of rewrites after types are known
    "PostProcessor": "numba.core.postproc",  # where variables end
    "RewriteRegistry": "numba.core.rewrites.registry",  # a list of rewrites
    "rewrites": "numba.core.rewrites",  # numba's own list
    "InlineClosureLikes": "numba.core.untyped_passes",  # the pass for functions within functions
}
# Its cache of machine code, in our folders (`kernel_cache.py`)
CACHE = {
    "FunctionCache": "numba.core.caching",  # of one function
    "CompileResultCacheImpl": "numba.core.caching",  # what of it is kept
    "IndexDataCacheFile": "numba.core.caching",  # its files
    "_CacheLocator": "numba.core.caching",  # where they are
}
PARTS = ALWAYS | ACCELERATOR | CACHE


def __getattr__(name: str) -> Any:
    """The part of that name: a module itself, or what a module has under that name."""
    if name not in PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(PARTS[name])
    is_whole = name in ("ir", "llvm", "cgutils", "sigutils", "arrayobj", "rewrites")
    return module if is_whole else getattr(module, name)
