"""`dp.show` and `dp.explore`: words when the book is built, a picture that moves in a running notebook."""

from __future__ import annotations

import asyncio
import json
import math
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

import dpnotes as dp
from dpnotes import figures
from dpnotes.explorer import Explorer, _Latest

MOVING = [name for name, spec in figures.all_figures().items() if spec.sliders]
NAME = next(name for name in MOVING if len(figures.get(name).sliders) >= 2)


@pytest.fixture
def static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPNOTES_STATIC", "1")


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPNOTES_STATIC", raising=False)


def _view(explorer: Explorer) -> object:
    explorer._repr_mimebundle_()
    return explorer._view


def _elsewhere(slider: object) -> float:
    return slider.min if slider.value != slider.min else slider.max


@pytest.mark.parametrize("make", [dp.show, dp.explore])
def test_static_is_words_only_and_the_same_each_time(make: object, static: None) -> None:
    first, second = make(NAME)._repr_mimebundle_(), make(NAME)._repr_mimebundle_()
    assert first == second
    assert set(first) == {"text/html", "text/plain"}
    assert "<img alt=" in first["text/html"] and "src" not in first["text/html"]
    assert figures.get(NAME).draw_with_readout()[1] in first["text/plain"]
    spec = json.loads(re.search(r"data-dp-spec='([^']*)'", first["text/html"])[1])
    assert spec["name"] == NAME and spec["kind"] in ("show", "explore")


def test_static_never_imports_widgets() -> None:
    code = (f"import os, sys; os.environ['DPNOTES_STATIC'] = '1'; import dpnotes as dp; dp.explore({NAME!r})._repr_mimebundle_();"
            "sys.exit('ipywidgets' in sys.modules or 'matplotlib.pyplot' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_quotes_and_numpy_numbers_survive_the_attribute(static: None) -> None:
    import numpy as np

    name, low = next((spec.name, slider) for spec in map(figures.get, MOVING) for slider in spec.sliders.values())
    value = np.float64(low.low) if not low.whole else np.int64(low.low)
    text = dp.show(name, **{low.parameter: value})._repr_mimebundle_()["text/html"]
    assert json.loads(re.search(r"data-dp-spec='([^']*)'", text)[1])["params"] == {low.parameter: low.low}


def test_show_is_a_png_when_live(live: None) -> None:
    assert dp.show(NAME)._repr_mimebundle_()["image/png"].startswith(b"\x89PNG")


@pytest.mark.parametrize("name", MOVING)
def test_live_sliders_are_labeled_and_at_the_defaults(name: str, live: None) -> None:
    explorer = dp.explore(name)
    assert "application/vnd.jupyter.widget-view+json" in explorer._repr_mimebundle_()
    view, spec = explorer._view, figures.get(name)
    assert {key: slider.value for key, slider in view.sliders.items()} == pytest.approx(
        {key: spec.defaults[key] for key in spec.sliders})
    words = [label.value for row in view.box.children[:len(view.sliders)] for label in row.children if hasattr(label, "value")]
    for slider in spec.sliders.values():
        assert slider.label in words
    assert bytes(view.picture.value).startswith(b"\x89PNG")
    for slider in view.sliders.values():  # the browser would move a start between two steps, and the picture with it
        start = math.log10(slider.value) if hasattr(slider, "base") else slider.value
        steps = (start - slider.min) / slider.step
        assert steps == pytest.approx(round(steps), abs=1e-9)
        assert slider.step == 1 or (slider.max - slider.min) / slider.step >= 50


@pytest.mark.parametrize("name", MOVING)
def test_both_ends_of_every_slider_draw(name: str, live: None) -> None:
    view = _view(dp.explore(name))
    for slider in view.sliders.values():
        start = slider.value
        for end in (slider.min, slider.max):
            slider.value = end if not hasattr(slider, "base") else slider.base**end
            assert not view.readout.value.startswith("name =") and "is not allowed" not in view.readout.value
        slider.value = start


def test_one_picture_a_change_and_no_pyplot_figure(live: None) -> None:
    view = _view(dp.explore(NAME))
    slider = next(iter(view.sliders.values()))
    before, pictures = view.redraws, []
    view.picture.observe(lambda change: pictures.append(change["new"]), "value")
    for step in range(40):
        slider.value = slider.min + (slider.max - slider.min) * (step + 0.5) / 40
    assert view.redraws - before == 40
    assert len(pictures) <= 40
    assert plt.get_fignums() == []


def test_running_the_cell_again_adds_no_observer(live: None) -> None:
    explorer = dp.explore(NAME)
    for _ in range(3):
        explorer._repr_mimebundle_()
    view = explorer._view
    slider, before = next(iter(view.sliders.values())), view.redraws
    slider.value = _elsewhere(slider)
    assert view.redraws == before + 1


def test_dragging_never_queues_and_the_last_value_wins(live: None) -> None:
    view = _view(dp.explore(NAME))
    slider, before = next(iter(view.sliders.values())), view.redraws
    drawn = []
    view.readout.observe(lambda change: drawn.append(slider.value), "value")

    async def drag() -> None:
        for step in range(50):
            slider.value = slider.min + (slider.max - slider.min) * (step + 1) / 50
        await asyncio.sleep(0.3)

    asyncio.run(drag())
    assert view.redraws == before + 1
    assert drawn == [slider.max]


def test_latest_works_again_after_it_has_run() -> None:
    done = []

    async def ask() -> None:
        latest = _Latest(lambda: done.append(1))
        for _ in range(2):
            latest()
            latest()
            await asyncio.sleep(0.05)

    asyncio.run(ask())
    assert done == [1, 1]


def test_reset_goes_back(live: None) -> None:
    spec = figures.get(NAME)
    view = _view(dp.explore(NAME))
    picture = bytes(view.picture.value)
    for slider in view.sliders.values():
        slider.value = _elsewhere(slider)
    assert bytes(view.picture.value) != picture
    view.reset()
    assert {key: slider.value for key, slider in view.sliders.items()} == {key: spec.defaults[key] for key in spec.sliders}
    assert bytes(view.picture.value) == picture


def test_a_value_a_figure_refuses_is_said_and_the_picture_stays(live: None, monkeypatch: pytest.MonkeyPatch) -> None:
    view = _view(dp.explore(NAME))
    picture = bytes(view.picture.value)

    def refuse(*_: object) -> None:
        raise ValueError("sigma = 0 is not allowed")

    monkeypatch.setattr("dpnotes.explorer._draw", refuse)
    view.redraw()
    assert view.readout.value == "sigma = 0 is not allowed"
    assert bytes(view.picture.value) == picture


@pytest.mark.parametrize(("call", "word"), [
    (lambda: dp.show("no-such"), "name"),
    (lambda: dp.explore("no-such"), "name"),
    (lambda: dp.explore(NAME, nonsense=1), "nonsense"),
    (lambda: dp.explore(NAME, move="nonsense"), "move"),
    (lambda: dp.explore(NAME, move=["nonsense"]), "move"),
    (lambda: dp.show(NAME, **{next(iter(figures.get(NAME).sliders)): 1e9}), next(iter(figures.get(NAME).sliders))),
    (lambda: dp.show(NAME, **{next(iter(figures.get(NAME).sliders)): float("nan")}), next(iter(figures.get(NAME).sliders))),
])
def test_wrong_arguments_are_named(call: object, word: str) -> None:
    with pytest.raises(ValueError, match=rf"^{word} = "):
        call()


def test_a_figure_without_sliders_cannot_be_explored() -> None:
    still = next((name for name, spec in figures.all_figures().items() if not spec.sliders), None)
    if still is None:
        pytest.skip("every figure has a slider")
    with pytest.raises(ValueError, match="use show"):
        dp.explore(still)


def test_move_puts_sliders_first_and_the_page_has_two(static: None, live: None) -> None:
    last = list(figures.get(NAME).sliders)[-1]
    assert dp.explore(NAME, move=last)._description()["move"] == [last]
    assert next(iter(_view(dp.explore(NAME, move=last)).sliders)) == last
    assert len(dp.explore(NAME)._description()["move"]) == 2
