"""Episodes run, recorded, measured, scored and shown."""
