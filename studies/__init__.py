"""What compares and checks: speeds beside peers, known outcomes, the sources' experiments."""
