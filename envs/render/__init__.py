"""Drawing of robots with pygame: scene (what there is) -> camera (where) -> paint (how).

Imported only when something is drawn; works without a display in mode "rgb_array".
"""

from dynenvs.envs.render.scene import Frame
from dynenvs.envs.render.window import MODES, Renderer

__all__ = ["MODES", "Frame", "Renderer"]
