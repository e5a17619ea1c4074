"""Forward and inverse dynamics of kinematic trees, one algorithm a file."""
