"""Rotations, joints, poses and velocities."""
