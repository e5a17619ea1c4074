"""Linear complementarity problems: w = A z + b >= 0, z >= 0, w'z = 0.  Mathematics, no physics.

interface.py           `solve_lcp` for people: the cascade, or any method alone
solve.py               `solve` for kernels: the cascade, every answer certified
scaling.py             natural scales, the certificate, equilibration
proof.py               what the residual is at most in exact arithmetic
tableau.py             Lemke's method on an updated dictionary: fast
lemke.py               Lemke's method, refactoring at every pivot, in twice the working precision
principal_pivoting.py  the criss-cross method
gauss_seidel.py        block Gauss-Seidel, the last stage
semismooth_newton.py   Newton's method on the Fischer-Burmeister function
interior_point.py      Mehrotra's predictor and corrector
fallback.py            interior point and pivoting, which the cascade rarely calls, as a unit
active_set.py          one linear solve for a guessed set of positive variables (warm start, polish)
dense.py               LU factorisation, refinement, sums in twice the working precision
workspace.py           the scratch arrays of all of them

Kernels and people import the solvers from these files: `from dynenvs.lcp.solve import solve`.
"""

from dynenvs.lcp.interface import LcpResult, LcpStage, LcpStatus, solve_lcp

__all__ = ["LcpResult", "LcpStage", "LcpStatus", "solve_lcp"]
