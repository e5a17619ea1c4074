"""Laws of constraints, one a file: bound, projection, derivative and certificate."""
