"""Experts of the pendulums, and the plan of the swing-up with one motor."""
