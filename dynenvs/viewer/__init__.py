"""Episodes in the browser: one HTML file that needs no network, or a page that follows a robot.

Data flows one way: a model's shapes (`shapes.py`), moments of a world (`moment.py`) with footsteps
and readings, a recording of them (`recording.py`), the page (`page.py`).  `view.py` says what can
be shown, `episode.py` runs environments, `live.py` serves one that runs.  What the browser runs
stands in `assets/`.
"""
