"""A window for one's own loop: `dynenvs.Viewer`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pygame
import pytest
from pictures import RED, SIZE, ball_world, middle, where

import dynenvs
from dynenvs.envs.render.viewer import FPS
from dynenvs.envs.render.window import PAUSED_RATE
from dynenvs.simulation.world import World


@pytest.fixture
def falling() -> World:
    return ball_world((0, 0, 1), ground="half_space")


def press(*keys: int) -> None:
    for key in keys:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key))


def test_a_loop_of_one_s_own_shows_the_world_until_the_window_is_closed(falling: World) -> None:
    with dynenvs.Viewer(falling, speed=10.0, **SIZE) as viewer:
        rounds = 0
        while viewer.is_open:
            falling.step()
            viewer.draw()
            rounds += 1
            if rounds == 1:
                shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
            if rounds == 100:
                press(pygame.K_ESCAPE)
        assert rounds > 99
        viewer.draw()  # shows nothing
    assert not viewer.is_open
    assert not pygame.display.get_init()
    assert where(shown, RED).sum() > 50
    viewer.close()


def test_time_passes_at_the_asked_speed_and_no_picture_is_drawn_in_vain(
    falling: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dynenvs.Viewer(falling, speed=0.5, **SIZE) as viewer:
        viewer.draw()
        drawn: list[float] = []
        plain = viewer._renderer.draw
        monkeypatch.setattr(viewer._renderer, "draw", lambda f: (drawn.append(0.0), plain(f))[1])
        waits: list[float] = []
        clock = SimpleNamespace(tick=lambda fps: waits.append(1.0 / fps))
        monkeypatch.setattr(viewer._renderer, "_clock", clock)
        for _ in range(40):
            falling.step()  # 5 ms, in the window 10
            viewer.draw()
    assert sum(waits) == pytest.approx(0.4)
    assert len(drawn) == len(waits)
    assert 10 <= len(drawn) <= 0.4 * FPS + 1


def test_a_world_that_stands_still_or_begins_again_is_drawn_all_the_same(falling: World) -> None:
    with dynenvs.Viewer(falling, **SIZE) as viewer:
        viewer.draw()
        falling.step(steps=400)
        falling.reset()
        for _ in range(3):
            press(pygame.K_RIGHT)
            azimuth = viewer._renderer.camera.azimuth  # type: ignore[union-attr]
            viewer.draw()
            assert viewer._renderer.camera.azimuth > azimuth  # type: ignore[union-attr]


def test_space_pauses_and_h_tells_the_keys(falling: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    def tick(fps: float) -> None:
        rates.append(fps)
        if len(rates) == 6:
            press(pygame.K_SPACE)  # goes on

    with dynenvs.Viewer(falling, **SIZE) as viewer:
        monkeypatch.setattr(viewer._renderer, "_clock", SimpleNamespace(tick=tick))
        press(pygame.K_SPACE, pygame.K_h)
        viewer.draw()
        assert rates == [PAUSED_RATE] * 6 + [FPS]
        assert viewer.is_open
        keys = viewer._renderer._controls.help
    assert "zoom" in keys
    assert "push" not in keys  # there is no robot of ours to push


def test_the_camera_goes_with_a_body() -> None:
    world = ball_world((0, 0, 1), (0, 3, 1))
    with dynenvs.Viewer(world, look_at="ball 0", distance=4.0, **SIZE) as viewer:
        world.q[:3] = (30, 0, 0)
        viewer.draw()
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    np.testing.assert_allclose(middle(where(shown, RED)), 0.0, atol=2.0)


def test_without_a_display_it_says_what_to_do(
    falling: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "nonsense")
    pygame.display.quit()
    with pytest.raises(RuntimeError, match=r"needs a display.*dynenvs\.render.*SDL_VIDEODRIVER"):
        dynenvs.Viewer(falling)


def test_speed_must_be_positive(falling: World) -> None:
    with pytest.raises(ValueError, match=r"speed must be a number in"):
        dynenvs.Viewer(falling, speed=0.0)
