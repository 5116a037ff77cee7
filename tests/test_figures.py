"""Every registered figure: drawn twice it is the same bytes, its numbers are finite, its words are there."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dpnotes import figures
from dpnotes.figures import FigureSpec, _style

HASHES = Path(__file__).parent / "data" / "figure_hashes.json"
FIGURES = list(figures.all_figures().values())
every_figure = pytest.mark.parametrize("spec", FIGURES, ids=lambda spec: spec.name)


def _bytes(figure: matplotlib.figure.Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    _style.save(figure, buffer, kind)
    return buffer.getvalue()


def test_there_are_figures() -> None:
    assert FIGURES


def _hash(svg: bytes) -> str:
    return hashlib.sha256(svg).hexdigest()[:16]


def test_there_is_a_hash_for_every_figure() -> None:
    """At the pinned matplotlib. After a change that is meant: DPNOTES_STORE_HASHES=1 pytest tests/test_figures.py"""
    if os.environ.get("DPNOTES_STORE_HASHES"):
        now = {spec.name: _hash(_bytes(spec.draw(theme="paper"), "svg")) for spec in FIGURES}
        HASHES.parent.mkdir(exist_ok=True)
        HASHES.write_text(json.dumps({"matplotlib": matplotlib.__version__, "svg": now}, indent=1, sort_keys=True) + "\n")
    assert set(json.loads(HASHES.read_text())["svg"]) == {spec.name for spec in FIGURES}


@every_figure
def test_two_draws_give_the_same_bytes_and_the_svg_of_before(spec: FigureSpec) -> None:
    drawn = spec.draw(theme="paper"), spec.draw(theme="paper")
    first, again = ({kind: _bytes(figure, kind) for kind in ("svg", "png", "pdf")} for figure in drawn)
    assert first == again
    stored = json.loads(HASHES.read_text())
    if stored["matplotlib"] != matplotlib.__version__:
        pytest.skip(f"the hashes are of matplotlib {stored['matplotlib']}")
    assert _hash(first["svg"]) == stored["svg"][spec.name]


@every_figure
def test_numbers_are_finite_and_as_drawn(spec: FigureSpec) -> None:
    data = spec.data()
    assert data
    for series, columns in data.items():
        assert len(columns["x"]) == len(columns["y"]) > 0, series
        shown = ~np.isnan(columns["x"]) & ~np.isnan(columns["y"])  # NaN is a gap in a line
        assert shown.any(), series
        assert np.isfinite(np.array([columns["x"], columns["y"]])[:, shown]).all(), series
    drawn = spec.draw()
    lines = [line for axes in drawn.axes for line in axes.lines]
    told = [tuple(map(tuple, (columns["x"], columns["y"]))) for columns in data.values()]
    for line in lines:
        x, y = (tuple(np.asarray(values, dtype=float).tolist()) for values in line.get_data())
        assert any(np.array_equal((x, y), one, equal_nan=True) for one in told)


@every_figure
def test_words(spec: FigureSpec) -> None:
    assert 20 <= len(spec.caption) <= 300
    assert 40 <= len(spec.alt) <= 600
    assert spec.alt != spec.caption
    assert not any(word in spec.alt.lower() for word in ("image of", "picture of", "figure of"))
    assert "$" not in spec.caption + spec.alt, "captions and alt texts are plain text"
    assert "!" not in spec.caption + spec.alt
    assert spec.source


@every_figure
def test_ends_and_middles_of_sliders_draw_in_silence(spec: FigureSpec) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, slider in spec.sliders.items():
            readouts = set()
            for value in slider.grid(5, spec.defaults[name]):
                figure, readout = spec.draw_with_readout(**{name: value})
                _style.save(figure, io.BytesIO(), "png", dpi=50)
                readouts.add(readout)
                assert "nan" not in readout.lower().split()
            assert len(readouts) > 1, f"the sentence of {spec.name} does not follow {name}"


@every_figure
def test_narrow_columns_draw_in_silence(spec: FigureSpec) -> None:
    for theme, width in (("paper", 3.25), ("screen", 5.5)):
        figure = spec.draw(width=width, theme=theme)
        _style.save(figure, io.BytesIO(), "png", dpi=50)
        assert figure.get_size_inches()[0] == pytest.approx(width)


def test_drawing_leaves_nothing_behind() -> None:
    before = dict(matplotlib.rcParams)
    for position in range(40):
        FIGURES[position % len(FIGURES)].draw()
    assert plt.get_fignums() == []
    assert dict(matplotlib.rcParams) == before


def test_each_chapter_module_holds_its_own_figures() -> None:
    for spec in FIGURES:
        assert spec.function.__module__ == f"dpnotes.figures.chapter{spec.chapter:02d}"
