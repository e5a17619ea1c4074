"""The line of readings, and the text in the picture."""

from __future__ import annotations

from collections.abc import Mapping

import pygame

from dynenvs.envs.render import palette

CACHED = 512  # rendered texts that are kept
SMALLEST = 0.55  # scale of text: below this no one can read it
NO_ROOM = 160  # pictures lower than this have no text [px]
FINER = 4  # text is set so much larger and then scaled down: even spacing at small sizes


class Hud:
    """Writes on a pygame surface, crisp at the picture's own resolution.

    Args:
        surface: written on in place.
        title: at the top right, may be empty.
    """

    def __init__(self, surface: pygame.Surface, title: str = "") -> None:
        self.surface, self.title = surface, title
        # Lengths below are in 1/540 of the height, in small pictures more
        self.unit = max(surface.get_height() / 540, SMALLEST)
        self._fonts: dict[float, pygame.font.Font] = {}
        self._texts: dict[tuple[str, float, palette.Color], pygame.Surface] = {}
        self._panels: dict[tuple[int, int], pygame.Surface] = {}

    def text(
        self, text: str, size: float, color: palette.Color, x: float, y: float, anchor: float = 0.0
    ) -> None:
        """Write at the middle height `y` [px]; anchor 0, 0.5, 1: x is the left, middle, right."""
        if self.surface.get_height() < NO_ROOM:
            return
        image = self._text(text, size, color)
        place = (round(x - anchor * image.get_width()), round(y - image.get_height() / 2))
        self.surface.blit(image, place)

    def readings(self, readings: Mapping[str, str], speed: tuple[float, float] | None) -> None:
        """The line of readings at the top left, a bar of speed against command under "speed"."""
        u = self.unit
        if self.title:
            x = self.surface.get_width() - 24 * u
            self.text(self.title, 15, palette.TEXT, x, 34 * u, anchor=1.0)
        if not readings or self.surface.get_height() < NO_ROOM:
            return
        pad, top, gap = 18 * u, 16 * u, 26 * u
        widths = [self._column(label, value) for label, value in readings.items()]
        height = 50 if speed is None else 58
        width = sum(widths) + gap * (len(widths) - 1) + 2 * pad
        panel = self._panel(round(width), round(height * u))
        self.surface.blit(panel, (round(16 * u), round(top)))
        x = 16 * u + pad
        for (label, value), width in zip(readings.items(), widths, strict=True):
            self.text(label.upper(), 10, palette.MUTED, x, top + 16 * u)
            self.text(value, 17, palette.TEXT, x, top + 33 * u)
            if label == "speed" and speed is not None:
                self._gauge(x, top + 48 * u, width, *speed)
            x += width + gap

    def _gauge(self, x: float, y: float, width: float, speed: float, command: float) -> None:
        """How much of the command is reached: a bar, with a tick where the command stands."""
        u = self.unit
        full = 1.35 * max(abs(command), 0.1)
        onward = speed if command > 0 else -speed if command < 0 else abs(speed)
        share = min(max(onward / full, 0.0), 1.0)  # empty when going the wrong way
        height = max(2, round(4 * u))
        back = pygame.Rect(round(x), round(y - height / 2), round(width), height)
        radius = height // 2
        pygame.draw.rect(self.surface, (214, 220, 226), back, border_radius=radius)
        close = abs(speed - command) <= 0.1 * max(abs(command), 0.1)
        color = palette.GAUGE if close else palette.ACCENT
        bar = back.copy()
        bar.width = round(width * share)
        if bar.width > radius:
            pygame.draw.rect(self.surface, color, bar, border_radius=radius)
        tick = pygame.Rect(0, 0, max(2, round(2 * u)), height + round(4 * u))
        tick.center = (round(x + width * abs(command) / full), back.centery)
        pygame.draw.rect(self.surface, palette.TEXT, tick)

    def _column(self, label: str, value: str) -> float:
        """Width of a reading, rounded up so that the line does not tremble with its digits."""
        wide = max(
            self._text(label.upper(), 10, palette.MUTED).get_width(),
            self._text(value, 17, palette.TEXT).get_width(),
        )
        step = 16 * self.unit
        return float(-(-wide // step) * step)

    def _text(self, text: str, size: float, color: palette.Color) -> pygame.Surface:
        key = (text, size, color)
        if key not in self._texts:
            if len(self._texts) >= CACHED:
                self._texts.clear()
            try:
                image = self._font(size).render(text, True, color)
            except pygame.error:  # someone called pygame.quit() since: fonts must be made anew
                self._fonts.clear()
                image = self._font(size).render(text, True, color)
            small = (max(1, image.get_width() // FINER), max(1, image.get_height() // FINER))
            self._texts[key] = pygame.transform.smoothscale(image, small)
        return self._texts[key]

    def _font(self, size: float) -> pygame.font.Font:
        pygame.font.init()
        if size not in self._fonts:
            points = max(6 * FINER, round(size * self.unit * FINER))
            self._fonts[size] = pygame.font.Font(None, points)
        return self._fonts[size]

    def _panel(self, width: int, height: int) -> pygame.Surface:
        """A white pane with round corners and a soft edge."""
        if (width, height) not in self._panels:
            big = pygame.Surface((4 * width, 4 * height), pygame.SRCALPHA)
            big.fill((*palette.PANEL, 0))
            round_ = round(56 * self.unit)
            pygame.draw.rect(big, (*palette.PANEL, 205), big.get_rect(), border_radius=round_)
            self._panels[width, height] = pygame.transform.smoothscale(big, (width, height))
        return self._panels[width, height]
