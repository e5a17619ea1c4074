"""The contact problem put together: rows, Delassus matrix, loops, what is remembered."""
