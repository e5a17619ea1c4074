"""Contact problems of many bodies: islands, and a method in velocity space whose work is sparse.

The dense Delassus matrix of `dynenvs.contact.assembly.rows` grows with the square of the contacts,
and its factors with the cube.  Here each contact knows only the one or two trees of bodies that it
joins.
"""
