"""The study of what collecting on a cluster costs: its reckoning, its page, a run in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.scaling import Piece, main, write_page

# 64 cores of 1,000 steps a second need 1e9 / 64,000 s = 4.34 h, the driver 1e9 / 100,000 s = 2.78 h
WORKERS_SLOW = Piece("ant", 1_000.0, (900.0, 1_800.0), 100_000.0, 500.0, 600.0)
DRIVER_SLOW = Piece("bee", 50_000.0, (45_000.0, 90_000.0), 100_000.0, 500.0, 600.0)


def test_the_slower_of_workers_and_driver_sets_the_pace(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "scaling.md"
    write_page(page, [WORKERS_SLOW, DRIVER_SLOW], 400, 0.5, "python -m study")
    text = page.read_text()
    assert "Written by `python -m study`" in text
    assert "| ant | 4.34 h | 2.78 h | 4.34 h | 32 MB/s | 500 GB | 600 GB |" in text
    assert "| bee | 0.09 h | 2.78 h | 2.78 h | 50 MB/s | 500 GB | 600 GB |" in text
    assert "ant 100, bee 2." in text
    assert (tmp_path / "scaling" / "workers.png").stat().st_size > 5000


@pytest.mark.slow
def test_it_measures_a_cluster_and_says_its_command(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("ray")
    page = tmp_path / "scaling.md"
    told = [str(page), "--envs", "planar-humanoid", "--episodes", "25", "--workers", "1"]
    main(told)
    text = page.read_text()
    assert " ".join(told) in text
    assert "| planar-humanoid |" in text


def test_an_unknown_environment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    page = tmp_path / "scaling.md"
    with pytest.raises(SystemExit):
        main([str(page), "--envs", "unicorn"])
    assert "unicorn" in capsys.readouterr().err
    assert not page.exists()
