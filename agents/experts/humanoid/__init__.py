"""The humanoid's expert."""
