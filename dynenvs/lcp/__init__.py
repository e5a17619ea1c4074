"""Linear complementarity problems: w = A z + b >= 0, z >= 0, w'z = 0.  Mathematics, no physics.

solve.py         `solve_lcp` for people, `solve` for kernels: the cascade, every answer judged
scaling.py       natural scales, the certificate, equilibration
lemke.py         Lemke's method: lexicographic, refactoring at every pivot
active_set.py    one linear solve for a guessed set of positive variables (warm start, polish)
gauss_seidel.py  block Gauss-Seidel, the last rung
dense.py         LU factorisation, refinement, sums in twice the working precision
workspace.py     the scratch arrays of all of them

Kernels and people import the solvers from these files: `from dynenvs.lcp.solve import solve`.
"""

from dynenvs.lcp.solve import LcpResult, LcpRung, LcpStatus, solve_lcp

__all__ = ["LcpResult", "LcpRung", "LcpStatus", "solve_lcp"]
