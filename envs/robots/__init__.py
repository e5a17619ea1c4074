"""Robot descriptions as data: every number with its unit and where it comes from."""
