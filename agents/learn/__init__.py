"""Policies that learn: cloning and training; imports torch."""
