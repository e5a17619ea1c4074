"""The sources' tables and figures, remade: `dynenvs reproduce`."""
