"""Where two solids are nearest: one pair of shapes a file, plain closest-point mathematics.

Each function fills the slots (SPOT) of one pair.  A slot stands for one part of A against one part
of B (an end, a corner, an edge, a face): its gap is never less than the gap of the whole solids,
and the least of them is that gap.  So every slot is a valid constraint, slots keep their meaning
from step to step, and where solids touch along a line or a face several slots close together.
"""
