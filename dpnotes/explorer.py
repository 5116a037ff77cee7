"""A registered figure as something a reader sees (`show`) or moves (`explore`).

In a running notebook `show` is a picture and `explore` has live sliders. When the book is built or its notebooks are
tested (``DPNOTES_STATIC=1``) both give a short description instead, which the site's own extension turns into
pictures and native sliders: stored notebooks then hold words and numbers only, the same ones at every run.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
from collections.abc import Callable
from io import BytesIO
from math import log10
from typing import Any

from dpnotes._validate import fail
from dpnotes.figures import FigureSpec, _style, get

_LIVE_DPI = 110  # 704 pixels for a figure of 6.4 inches: sharp enough, and quick to redraw while a slider moves


class Still:
    """One figure at fixed parameters; the last line of a cell shows it."""

    kind = "show"

    def __init__(self, spec: FigureSpec, given: dict[str, Any]) -> None:
        self.spec = spec
        self.given = {key: value for key, value in sorted(spec.parameters(**given).items()) if key in given}

    def __repr__(self) -> str:
        arguments = ", ".join([repr(self.spec.name)] + [f"{key}={_short(value)}" for key, value in self.given.items()])
        return f"dp.{self.kind}({arguments})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self._static() if os.environ.get("DPNOTES_STATIC") == "1" else self._live()

    def _description(self) -> dict[str, Any]:
        return {"name": self.spec.name, "kind": self.kind, "params": self.given}

    def _static(self) -> dict[str, Any]:
        # Drawing it here, though the picture is thrown away, makes a broken figure fail in its own cell.
        readout = self.spec.draw_with_readout(**self.given)[1]
        return {"text/html": placeholder(self._description()), "text/plain": f"{self!r}\n{readout or self.spec.caption}"}

    def _live(self) -> dict[str, Any]:
        picture, _ = _draw(self.spec, self.given)
        return {"image/png": picture, "text/plain": f"{self!r}\n{self.spec.alt}"}


class Explorer(Still):
    """One figure with a slider for each parameter that may move; those in `move` come first."""

    kind = "explore"

    def __init__(self, spec: FigureSpec, given: dict[str, Any], move: list[str]) -> None:
        super().__init__(spec, given)
        self.move = move
        self._view: Any = None

    def _description(self) -> dict[str, Any]:
        return super()._description() | {"move": self.move[:2]}

    def _live(self) -> dict[str, Any]:
        try:
            import ipywidgets  # noqa: F401
        except ModuleNotFoundError:
            return super()._live() | {"text/plain": f"{self!r}\nFor sliders: pip install 'dpnotes[widgets]'"}
        if self._view is None:  # shown twice, it is still one set of sliders with one observer each
            self._view = _View(self)
        return self._view.box._repr_mimebundle_() | {"text/plain": f"{self!r}\n{self.spec.alt}"}


def show(name: str, /, **parameters: Any) -> Still:
    """The figure `name` as a still picture; parameters not given keep the figure's defaults.

    >>> show("no-such-figure")
    Traceback (most recent call last):
    ...
    ValueError: name = 'no-such-figure' is not allowed: name must be a registered figure; `dpnotes figures` lists them.
    """
    return Still(get(name), parameters)


def explore(name: str, /, *, move: str | list[str] | tuple[str, ...] | None = None, **parameters: Any) -> Explorer:
    """The figure `name` with sliders, set at first to the given parameters.

    Parameters
    ----------
    name : a registered figure.
    move : which sliders come first. The built page has the first two of them; a running notebook has all.
    **parameters : starting values; those not given keep the figure's defaults.

    Errors
    ------
    ValueError for an unknown figure or parameter, or for a value outside a slider's range.
    """
    spec = get(name)
    if not (move is None or isinstance(move, (str, list, tuple))):
        raise fail("move", move, "the name of a slider or a list of names")
    first = [move] if isinstance(move, str) else list(spec.sliders if move is None else move)
    for parameter in first:
        if parameter not in spec.sliders:
            raise fail("move", parameter, f"among the sliders of {name}: {', '.join(spec.sliders) or 'it has none'}")
    if not spec.sliders:
        raise fail("name", name, "a figure that has sliders; use show for this one")
    return Explorer(spec, parameters, list(dict.fromkeys(first)))


def placeholder(description: dict[str, Any]) -> str:
    """What a built page, and a stored notebook, hold in place of the picture."""
    spec = get(description["name"])
    attribute = json.dumps(description, sort_keys=True).replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;")
    return (f"<figure class=\"dp-figure\" data-dp-spec='{attribute}'><img alt=\"{html.escape(spec.alt)}\">"
            f"<figcaption>{html.escape(spec.caption, quote=False)}</figcaption></figure>")


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _draw(spec: FigureSpec, parameters: dict[str, Any]) -> tuple[bytes, str]:
    figure, readout = spec.draw_with_readout(**parameters)
    buffer = BytesIO()
    _style.save(figure, buffer, "png", dpi=_LIVE_DPI, quick=True)
    return buffer.getvalue(), readout


class _Latest:
    """Does `work` a moment after it was asked for. Whatever else is asked in that moment is the same request:

    a slider dragged faster than the figure draws never builds a queue, and the last value wins.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._asked = work, False

    def __call__(self, _change: Any = None) -> None:
        if self._asked:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no event loop, so nothing can be put off
            self._work()
            return
        self._asked = True
        loop.call_later(0.005, self._run)

    def _run(self) -> None:
        self._asked = False
        self._work()


def _step(low: float, high: float, start: float) -> float:
    """About a hundredth of the way, and such that `start` is on a step: the browser moves a value that is not to the nearest."""
    steps = round(100 * (start - low) / (high - low))
    return (start - low) / steps if steps else (high - low) / 100 if start == low else start - low


class _View:
    """The ipywidgets side of an Explorer."""

    def __init__(self, explorer: Explorer) -> None:
        import ipywidgets as widgets

        self.spec, self.fixed = explorer.spec, dict(explorer.given)
        self.start = explorer.spec.parameters(**explorer.given)
        order = explorer.move + [name for name in explorer.spec.sliders if name not in explorer.move]
        self.sliders = {name: self._slider(widgets, name) for name in order}
        self.picture = widgets.Image(format="png", layout=widgets.Layout(max_width="100%", object_fit="contain"))
        self.readout = widgets.HTML()
        reset = widgets.Button(description="Reset", tooltip="Put every slider back to where it started")
        self.box = widgets.VBox([*map(self._row, [widgets] * len(order), order), self.picture, self.readout, reset])
        self.box.add_class("dp-explore")
        self.redraws = 0
        self._later = _Latest(self.redraw)
        for slider in self.sliders.values():
            slider.observe(self._later, "value")
        reset.on_click(self.reset)
        self.redraw()

    def _slider(self, widgets: Any, name: str) -> Any:
        slider, value = self.spec.sliders[name], self.start[name]
        wide = {"readout": True, "continuous_update": True, "layout": widgets.Layout(width="22em")}
        if slider.whole:
            return widgets.IntSlider(value, int(slider.low), int(slider.high), **wide)
        if slider.log:
            low, high = log10(slider.low), log10(slider.high)
            return widgets.FloatLogSlider(value, min=low, max=high, step=_step(low, high, log10(value)),
                                          readout_format=".3g", **wide)
        return widgets.FloatSlider(value, min=slider.low, max=slider.high, step=_step(slider.low, slider.high, value),
                                   readout_format=".3g", **wide)

    def _row(self, widgets: Any, name: str) -> Any:
        slider = self.spec.sliders[name]
        low, high = (f"{slider.low_end} ←" if slider.low_end else ""), (f"→ {slider.high_end}" if slider.high_end else "")
        label = widgets.Label(slider.label, layout=widgets.Layout(width="18em"))
        return widgets.HBox([label, widgets.Label(low), self.sliders[name], widgets.Label(high)],
                            layout=widgets.Layout(flex_flow="row wrap"))

    def redraw(self) -> None:
        """Draw at the sliders' present values; one figure object, never known to pyplot, one picture a change."""
        self.redraws += 1
        moved = {name: min(max(slider.value, self.spec.sliders[name].low), self.spec.sliders[name].high)  # powers of ten round
                 for name, slider in self.sliders.items()}
        try:
            picture, sentence = _draw(self.spec, self.fixed | moved)
        except ValueError as error:  # say it where the reader looks; the last good picture stays
            self.readout.value = html.escape(str(error))
            return
        self.picture.value, self.readout.value = picture, html.escape(sentence)

    def reset(self, _button: Any = None) -> None:
        """Back to the starting values."""
        for name, slider in self.sliders.items():
            slider.value = self.start[name]
