"""The quadruped's expert."""
