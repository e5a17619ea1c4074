"""Walkers in the plane: a biped and a quadruped follow a commanded speed."""
