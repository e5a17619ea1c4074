"""Draws how each expert works: `python docs/_ext/diagrams.py` writes docs/experts/*.svg.

A diagram is a column of boxes from the observation to the action; beside each arrow stands what is
handed on, and on the right, where an expert has a memory, what comes back at the next call.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

WIDTH, BOX, GAP, LINE = 680, 560, 46, 21  # [px]; of the picture, of a box, between boxes, of text
EDGE, PAD = 14, 13
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


class Stage(NamedTuple):
    """A box: its name, what it does in lines of about 70 letters, and what it hands on."""

    name: str
    words: tuple[str, ...]
    hands_on: str = ""


class Diagram(NamedTuple):
    """Stages from the top; `back`: what the last returns to the stage of that number."""

    stages: tuple[Stage, ...]
    back: tuple[str, int] | None = None


SEEN = Stage("Observation", ("what the sensors measure, noise included",), "")
ACTION = Stage("Action", ("torques over effort limits, within [-1, 1]",))
DIAGRAMS = {
    "humanoid": Diagram(
        (
            SEEN,
            Stage(
                "Estimate",
                (
                    "blends the observation with the last prediction (Kalman filter);",
                    "soles that carry lie or roll as planned, and do not slide",
                ),
                "state, which feet carry",
            ),
            Stage(
                "Plan: an inverted pendulum",
                (
                    "the next foothold follows from the point the robot would fall to;",
                    "the ground pushes under the soles, where that keeps the balance",
                ),
                "foothold, centre of pressure",
            ),
            Stage(
                "Desired accelerations",
                (
                    "well damped springs pull pelvis, torso and arms to their posture;",
                    "the swinging foot follows a smooth curve down to its foothold",
                ),
                "accelerations a",
            ),
            Stage(
                "Inverse dynamics",
                (
                    "six rows of the free base give the ground forces;",
                    "each foot takes its share, motors do the rest",
                ),
                "torques",
            ),
            ACTION,
        ),
        ("state: what the next observation should be", 1),
    ),
    "quadruped": Diagram(
        (
            SEEN,
            Stage(
                "Which feet stand",
                ("two diagonal pairs by turns: the gait clock and the contact flags say",),
                "load shares, passed on smoothly",
            ),
            Stage(
                "Estimate",
                (
                    "feet that stand put height, tilt and joint velocities right;",
                    "predictions distinguish noise from motion, and show late motors",
                ),
                "state",
            ),
            Stage(
                "Plan: a pendulum about the line between the feet",
                (
                    "footholds by what the pendulum would miss at the end of the step;",
                    "on terrain by the height scan, away from edges",
                ),
                "desired accelerations, footholds",
            ),
            Stage(
                "Forces with slack",
                (
                    "two feet cannot give the trunk every acceleration: a convex problem",
                    "of six unknowns finds the nearest one within the friction cones",
                ),
                "forces f of the ground",
            ),
            Stage(
                "Inverse dynamics", ("torques = M a + h - J' f, legs reordered to the robot's",), ""
            ),
            ACTION,
        ),
        ("state: predicted velocities", 2),
    ),
    "planar": Diagram(
        (
            SEEN,
            Stage(
                "Which feet stand",
                ("the gait clock and the contact flags say; no gap is compared",),
                "load shares",
            ),
            Stage(
                "Estimate",
                ("standing legs tell the height; the last call's forecast is blended in",),
                "state",
            ),
            Stage(
                "Goals",
                (
                    "the trunk keeps speed, height and pitch by springs of low bandwidth;",
                    "swinging feet go a stride forward and rise once; where the humanoid's",
                    "trunk pitches, they go to where it would fall: the capture point",
                ),
                "accelerations a",
            ),
            Stage(
                "Ground forces",
                (
                    "the root's rows of the equations of motion say what is needed;",
                    "standing feet share it as the clock says, within their friction cones;",
                    "for balance they push under the soles where the capture point is",
                ),
                "forces f",
            ),
            Stage("Inverse dynamics", ("torques = M a + h - J' f",), ""),
            ACTION,
        ),
        ("state: the forecast", 2),
    ),
    "double-pendulum": Diagram(
        (
            SEEN,
            Stage(
                "Near the top?",
                (
                    "where the cost-to-go is below a level that simulation certified,",
                    "a linear quadratic regulator holds it upright",
                ),
                "else",
            ),
            Stage(
                "Swing up, both motors",
                ("energy shaping, turned into torques by inverse dynamics",),
                "with one motor",
            ),
            Stage(
                "Swing up, one motor",
                (
                    "a plan made offline, with a feedback gain at each instant:",
                    "near it that acts; far from it energy is taken out first",
                ),
                "torques",
            ),
            ACTION,
        )
    ),
    "chain-pendulum": Diagram(
        (
            SEEN,
            Stage(
                "Where the tip goes",
                (
                    "far from its spot: round the pivot, clear of floor and wall;",
                    "near it: to a point above the spot, then down",
                ),
                "where the tip shall go next",
            ),
            Stage(
                "The pose for it",
                (
                    "all hinges but the first turn by the same angle: the links lie on an arc",
                    "whose last one points at the surface",
                ),
                "joint accelerations, critically damped",
            ),
            Stage(
                "Inverse dynamics",
                (
                    "torques for these accelerations, contacts left out:",
                    "they do not jump where the tip touches",
                ),
                "torques",
            ),
            Stage(
                "Press, close to the spot",
                ("adds J' f along the surface's normal: control of position and force",),
                "torques",
            ),
            ACTION,
        )
    ),
}


def svg(name: str, diagram: Diagram) -> str:
    """The picture of an expert."""
    left = (WIDTH - BOX) / 2
    heights = [2 * PAD + LINE * (1 + len(stage.words)) for stage in diagram.stages]
    tops = [EDGE + sum(heights[:i]) + GAP * i for i in range(len(heights))]
    total = tops[-1] + heights[-1] + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" '
        f'width="{WIDTH}" height="{total}" role="img" font-family="{FONT}">',
        f"<title>How the expert of the {escape(name)} works</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#5b6b80"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{total}" fill="#ffffff"/>',
    ]
    for i, (stage, top, height) in enumerate(zip(diagram.stages, tops, heights, strict=True)):
        end = i in (0, len(tops) - 1)
        fill, line = ("#eef1f5", "#9aa7b8") if end else ("#e4eefb", "#1f5fa8")
        parts.append(
            f'<rect x="{left:g}" y="{top}" width="{BOX}" height="{height}" rx="9" fill="{fill}" '
            f'stroke="{line}" stroke-width="1.5"/>'
        )
        parts.append(_text(WIDTH / 2, top + PAD + 15, stage.name, 17, "#12263f", "600"))
        for k, words in enumerate(stage.words, 1):
            parts.append(_text(WIDTH / 2, top + PAD + 15 + LINE * k, words, 15, "#3a4a5e"))
        if i + 1 < len(tops):
            y = top + height
            parts.append(_arrow(f"M{WIDTH / 2:g} {y + 2}V{y + GAP - 3}"))
            parts.append(
                _text(WIDTH / 2 + 14, y + GAP / 2 + 5, stage.hands_on, 14, "#1f5fa8", at="start")
            )
    if diagram.back is not None:
        words, to = diagram.back
        x, low, high = left + BOX, tops[-2] + heights[-2] / 2, tops[to] + heights[to] / 2
        parts.append(_arrow(f"M{x:g} {low:g}h26V{high:g}h-23"))
        middle = (low + high) / 2
        parts.append(
            f'<text transform="translate({x + 44:g} {middle:g}) rotate(90)" text-anchor="middle" '
            f'font-size="14" fill="#1f5fa8">{escape(words)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _text(
    x: float, y: float, words: str, size: int, color: str, weight: str = "400", at: str = "middle"
) -> str:
    if not words:
        return ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{color}" '
        f'text-anchor="{at}">{escape(words)}</text>'
    )


def _arrow(path: str) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="#5b6b80" stroke-width="1.6" marker-end="url(#tip)"/>'
    )


def main() -> None:
    """Write all pictures."""
    folder = Path(__file__).parent.parent / "experts"
    folder.mkdir(exist_ok=True)
    for name, diagram in DIAGRAMS.items():
        text = "\n".join(line for line in svg(name, diagram).splitlines() if line)
        (folder / f"{name}.svg").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
