"""Colours (r, g, b): a calm, hazy day; a light robot; warm colours only for what matters."""

from __future__ import annotations

Color = tuple[int, int, int]

SKY_TOP: Color = (126, 172, 217)
SKY_LOW: Color = (245, 241, 232)
WALL_TOP: Color = (196, 213, 230)  # the backdrop where there is no floor
WALL_LOW: Color = (247, 245, 240)
HILLS: tuple[Color, ...] = ((196, 214, 227), (167, 194, 204))
GROUND_FAR: Color = (209, 210, 200)
GROUND_NEAR: Color = (158, 165, 163)
GROUND: Color = (168, 176, 176)  # tiles of the ground in perspective, by turns
TILE: Color = (188, 194, 191)
STONE: Color = (186, 183, 174)  # steps and blocks on it
TRACK: Color = (233, 230, 220)
MARK: Color = (118, 128, 138)
SHADOW: Color = (44, 54, 72)
WALL: Color = (196, 199, 197)  # other half spaces and fixed blocks

TRUNK: Color = (58, 110, 190)
LIMB: Color = (233, 237, 242)
LEAF: Color = (74, 84, 101)  # feet, hands, whatever ends a chain
JOINT: Color = (66, 75, 91)
ACCENT: Color = (255, 176, 59)
FORCE: Color = (232, 73, 66)

# Things of one body, by turns
THINGS: tuple[Color, ...] = (
    (233, 237, 242),
    (94, 140, 200),
    (232, 150, 92),
    (110, 172, 150),
    (222, 196, 120),
    (196, 116, 122),
)

FAR: Color = (112, 130, 156)  # limbs on the far side fade towards this
OUTLINE: Color = (38, 46, 60)

TEXT: Color = (38, 48, 63)
MUTED: Color = (112, 124, 140)
PANEL: Color = (255, 255, 255)
GAUGE: Color = (46, 160, 120)


def mix(a: Color, b: Color, share: float) -> Color:
    """The colour a fraction `share` of the way from `a` to `b`."""
    r, g, b_ = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return (r, g, b_)
