"""Numba's compiler without the one pass that loses stores.

After inlining overloads (as `views.vector`), numba removes what it takes for dead code.  Its alias
analysis does not see that a field of a view that the function opened itself is memory of the
caller's: `w.bias[j] += x`, with no later use of `w.bias` in the same function, would be dropped
without a word.  LLVM, which knows better, removes what is really dead.
"""

from __future__ import annotations

from typing import Any

from numba.core import typed_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import InlineOverloads


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineViews(InlineOverloads):
    """`InlineOverloads`, but every store stays.  Numba compiles under a lock: nobody else sees."""

    _name = "inline_views"

    def run_pass(self, state: Any) -> bool:
        """Inline overloads."""
        removal = typed_passes.dead_code_elimination
        typed_passes.dead_code_elimination = _keep
        try:
            return bool(super().run_pass(state))
        finally:
            typed_passes.dead_code_elimination = removal


def _keep(*_: Any, **__: Any) -> None:
    """Remove nothing."""


class Compiler(CompilerBase):
    """What `compiled.kernel` and its kin use."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own passes for compiled code, with `InlineViews` for `InlineOverloads`."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state, "nopython")
        replaced = [(InlineViews if p is InlineOverloads else p, why) for p, why in passes.passes]
        assert replaced != passes.passes, "numba has no pass InlineOverloads any more"
        passes.passes = replaced
        passes.finalize()
        return [passes]
