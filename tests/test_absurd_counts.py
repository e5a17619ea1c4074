"""Counts in a file that no scene has are refused in a line, before MuJoCo makes room for them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

import dynenvs
from dynenvs import ModelError
from dynenvs.model.importing.counts import MOST_COPIES

pytest.importorskip("mujoco")
BALL = '<body pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
FIELD = '<asset><hfield name="h" nrow="{0}" ncol="{1}" size="1 1 1 1"/></asset>'


def scene(asset: str = "", body: str = BALL) -> str:
    return f"<mujoco>{asset}<worldbody>{body}</worldbody></mujoco>"


CASES = {
    # 65536 times 65536 is 0 in 32 bits: MuJoCo ended the process
    "nrow": scene(FIELD.format(65536, 65536)),
    "ncol": scene(FIELD.format(3, 10**9)),
    "count": scene(body=f'<replicate count="1000000000" offset="1 0 0">{BALL}</replicate>'),
    "width": scene('<asset><texture name="t" builtin="flat" width="30000" height="9"/></asset>'),
    "nkey": scene('<size nkey="2000000000"/>'),
    "nuser_body": scene("<size nuser_body='2000000000'/>"),
    "nuserdata": scene('<size nuserdata="2e9"/>'),
    "size": scene('<custom><numeric name="n" size="2000000000"/></custom>'),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_a_line(name: str) -> None:
    with pytest.raises(ModelError, match=rf'{name}=".*" is more than {MOST_COPIES}') as raised:
        dynenvs.load(CASES[name])
    assert len(str(raised.value).splitlines()) == 1


def test_so_it_is_in_what_is_included(tmp_path: Path) -> None:
    """And a file that includes itself is no endless loop."""
    inner = f'<mujocoinclude>{FIELD.format(65536, 65536)}<include file="a.xml"/></mujocoinclude>'
    (tmp_path / "inner.xml").write_text(inner, encoding="utf-8")
    (tmp_path / "a.xml").write_text(scene('<include file="inner.xml"/>'), encoding="utf-8")
    with pytest.raises(ModelError, match='nrow="65536" is more'):
        dynenvs.load(tmp_path / "a.xml")
    (tmp_path / "a.xml").write_text(scene('<include file="a.xml"/>'), encoding="utf-8")
    with pytest.raises(ModelError, match="included"):
        dynenvs.load(tmp_path / "a.xml")


WRITTEN = {  # in ways that a look at the text alone does not see
    "count by a character's number": scene(
        body=f'<replicate count="&#50;00000000" offset="1 0 0">{BALL}</replicate>'
    ),
    "behind a sign in quotes": scene(
        '<custom><numeric name="a>b" size="2000000000"/></custom>',
    ),
    "each in each": scene(
        body='<replicate count="20000" offset="1 0 0"><replicate count="20000" offset="1 0 0">'
        f"{BALL}</replicate></replicate>"
    ),
    "cells": scene(FIELD.format(20000, 20000)),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_however_it_is_written(name: str) -> None:
    with pytest.raises(ModelError, match=r"more than 20000|is over 100000000"):
        dynenvs.load(WRITTEN[name])


def test_so_it_is_in_what_is_attached(tmp_path: Path) -> None:
    """By its name, by one with a character's number, and from within an included file."""
    copies = f'<replicate count="200000000" offset="1 0 0">{BALL}</replicate>'
    (tmp_path / "part.xml").write_text(scene(body=copies), encoding="utf-8")
    for given in (
        '<asset><model name="a" file="part.xml"/></asset>',
        '<include file="&#112;art.xml"/>',
    ):
        (tmp_path / "a.xml").write_text(f"<mujoco>{given}</mujoco>", encoding="utf-8")
        with pytest.raises(ModelError, match='count="200000000" is more'):
            dynenvs.load(tmp_path / "a.xml")


# MuJoCo's stack overflowed: the process ended
@pytest.mark.parametrize("given", ['name="a>b" file="a.xml"', 'name="x" file="&#97;.xml"'])
def test_a_file_that_attaches_itself_in_other_words_is_refused(given: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(scene(f"<asset><model {given}/></asset>"), encoding="utf-8")
    with pytest.raises(ModelError, match="attaches itself, by way of the model a"):
        dynenvs.load(tmp_path / "a.xml")


def test_files_that_are_nested_without_end_are_refused(tmp_path: Path) -> None:
    """MuJoCo's stack overflowed."""
    for i in range(150):
        (tmp_path / f"{i}.xml").write_text(
            scene(f'<include file="{i + 1}.xml"/>'), encoding="utf-8"
        )
    with pytest.raises(ModelError, match="nested more than 100 deep"):
        dynenvs.load(tmp_path / "0.xml")


def test_what_stands_in_comments_counts_nothing(tmp_path: Path) -> None:
    """Two names a file took twice the time for each file more."""
    for i in range(30):
        named = f'<model name="m" file="{i + 1}.xml"/>' * 2
        text = f"<mujoco><!-- {named} --><asset/><worldbody>{BALL}</worldbody></mujoco>"
        (tmp_path / f"{i}.xml").write_text(text, encoding="utf-8")
    own = scene('<!-- <model name="x" file="0.xml"/> <size nkey="2000000000"/> -->')
    (tmp_path / "30.xml").write_text(own, encoding="utf-8")
    assert dynenvs.load(tmp_path / "0.xml").nv == 6
    assert dynenvs.load(tmp_path / "30.xml").nv == 6


def test_what_mujoco_says_of_the_unexpected_is_a_model_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It raises RuntimeError where it runs out of memory."""

    def parsed(*_: object) -> None:
        raise RuntimeError("Caught an unknown exception!")

    monkeypatch.setattr("dynenvs.model.importing.compiled.parsed", parsed)
    with pytest.raises(ModelError, match="XML text: Caught an unknown exception!"):
        dynenvs.load(scene())


def test_usual_counts_are_carried_over() -> None:
    copies = f'<replicate count="3" offset="1 0 0">{BALL}</replicate>'
    assert dynenvs.load(scene(body=copies)).nv == 18
    assert len(dynenvs.load(scene('<size nkey="0" nuserdata="12"/>')).geoms) == 1


def test_many_geoms_of_one_body_take_little_memory() -> None:
    """All 8 million pairs were looked at at once, with 2 GB; those of 20,000 never were."""
    geoms = "".join(f'<geom size="0.1" pos="{k} 0 0"/>' for k in range(4000))
    tracemalloc.start()
    try:
        model = dynenvs.load(scene(body=f"<body><freejoint/>{geoms}</body>"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(model.geoms) == 4000
    assert model.header.nf == 0
    assert most < 2e8


def test_pairs_are_the_same_however_few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """With pairs that are asked for, left out, and told apart by bits."""
    bodies = "".join(
        f'<body name="b{k}" pos="{k} 0 0"><freejoint/><geom name="a{k}" size="0.1"/>'
        f'<geom name="c{k}" size="0.1" contype="{1 + k % 2}"/></body>'
        for k in range(6)
    )
    said = '<contact><pair geom1="a0" geom2="c0"/><exclude body1="b1" body2="b2"/></contact>'
    text = f"<mujoco><worldbody>{bodies}</worldbody>{said}</mujoco>"
    whole = dynenvs.load(text).packed.tobytes()
    monkeypatch.setattr("dynenvs.model.importing.shapes.PAIRS_AT_ONCE", 1)
    assert dynenvs.load(text).packed.tobytes() == whole


@pytest.mark.parametrize("between", [False, True])
def test_a_file_that_attaches_itself_is_refused(between: bool, tmp_path: Path) -> None:
    """Directly, or by way of another one: MuJoCo ended the process."""
    other = "other.xml" if between else "own.xml"
    body = '<attach model="m" prefix="x"/>'
    for name, file in (("own.xml", other), ("other.xml", "own.xml")):
        text = scene(f'<asset><model name="m" file="{file}"/></asset>', body)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match="attaches itself"):
        dynenvs.load(tmp_path / "own.xml")
