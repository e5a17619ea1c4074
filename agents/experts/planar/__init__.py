"""Experts of the walkers in the plane, and the plans of their gaits."""
