"""Drawing of robots with pygame: scene (what there is) -> camera (where) -> paint (how).

From the side: `side`, `backdrop`, `paint`, `raster`.  In perspective: `perspective` casts rays to
solids (`cast`), draws terrain (`terrain`), and gives colour and light (`develop`, `shadow`).

Imported only when something is drawn; works without a display in mode "rgb_array".
"""

from dynenvs.envs.render.controls import Hooks
from dynenvs.envs.render.scene import Frame
from dynenvs.envs.render.window import MODES, Renderer

__all__ = ["MODES", "Frame", "Hooks", "Renderer"]
