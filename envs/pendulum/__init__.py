"""Pendulums that swing up: the double pendulum, and chains with one motor."""
