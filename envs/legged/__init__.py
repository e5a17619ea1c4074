"""Robots with a free base follow commanded speeds: the humanoid and the quadruped."""
