"""Solvers of one contact problem in rows, and the laws that certify their answers."""
