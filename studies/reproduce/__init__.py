"""The sources' tables and figures, remade: `python -m studies reproduce`."""
