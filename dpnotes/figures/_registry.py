"""The register of figures: one pure, seeded function a figure.

`@figure` turns a function that draws on given axes into a `FigureSpec`. The notebook, the page, the gallery, the paper
export and the tests all call that one object. What a figure shows as numbers (`FigureSpec.data`) is read off the
drawn artists, so that the table and the picture cannot disagree.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dpnotes._validate import fail, finite, scalar
from dpnotes.figures import _style


def _(text: str) -> str:
    """The one door for words drawn in figures; a translated edition replaces it."""
    return text


@dataclass(frozen=True)
class Slider:
    """What may move: from `low` to `high`, in equal steps (equal ratios where `log`), whole numbers where `whole`."""

    parameter: str
    low: float
    high: float
    log: bool
    whole: bool
    label: str
    low_end: str
    high_end: str

    def grid(self, count: int, default: float) -> list[float]:
        """`count` values (fewer where whole numbers run out); the one nearest to the default is the default itself."""
        spaced = np.geomspace if self.log else np.linspace
        values = spaced(self.low, self.high, count)
        if self.whole:
            values = np.unique(np.rint(values))
        values = [float(f"{value:.4g}") for value in values]
        nearest = int(np.argmin([abs(value - default) for value in values]))
        values[nearest] = float(default)
        return [int(value) for value in values] if self.whole else values


# The words at a slider: its symbol with its meaning, and what its two ends are good for.
_WORDS: dict[str, tuple[str, str, str]] = {
    "epsilon": ("ε, the privacy parameter", "more private", "more accurate"),
    "sigma": ("σ, the noise's standard deviation", "more accurate", "more private"),
    "scale": ("b, the noise's scale", "more accurate", "more private"),
    "delta": ("δ", "stricter", "more lenient"),
    "sensitivity": ("Δ, the sensitivity", "small", "large"),
    "alpha": ("α, the order", "the average", "the worst case"),
    "focus": ("focus f; the order is α = 12 / (12 − f)", "the mean loss", "the worst case"),
    "prior": ("prior probability of D₁", "D₂ likely", "D₁ likely"),
    "output": ("output of the mechanism", "lower", "higher"),
    "threshold": ("threshold", "published more often", "published less often"),
    "k": ("k, the number of releases", "few", "many"),
    "n": ("n, the number of records", "few", "many"),
    "rho": ("ρ, the zCDP parameter", "more private", "more accurate"),
    "q": ("q, the sampling rate", "more private", "more accurate"),
    "epochs": ("passes over the data", "fewer", "more"),
    "common": ("probability of b under P", "", ""),
    "cut": ("output from which on outputs are merged", "more merged", "fewer merged"),
    "seed": ("seed of the random numbers", "", ""),
    "claim": ("claimed bound, in multiples of αρ", "claims too little", "claims more than needed"),
    "releases": ("number of releases", "fewer", "more"),
    "levels": ("number of levels", "few", "many"),
    "target_rho": ("ρ for which the bounds are tuned", "more noise", "less noise"),
    "decades": ("decades of precision that are watched", "few", "many"),
    "margin": ("margin, in units of the sensitivity", "narrow", "wide"),
    "needed": ("level at which the search stops", "early", "late"),
    "step": ("step of the grid", "fine", "coarse"),
    "c": ("c, where the line crosses the real axis", "left", "right"),
    "period": ("R, the period", "few nodes", "many nodes"),
    "nodes": ("number of points", "few", "many"),
    "prior_of_A": ("prior probability of A", "A rare", "A common"),
    "share_of_B": ("B's share of the rest", "C likelier", "B likelier"),
    "prior_of_1": ("prior probability of 1", "0 likely", "1 likely"),
    "smallest_prior": ("prior of the rarest secret", "rarer", "less rare"),
    "pmc_budget": ("budget for cost", "stricter", "more lenient"),
    "pml_budget": ("budget for leakage", "stricter", "more lenient"),
    "lam": ("λ, how often the secret shows", "more private", "more telling"),
    "theta": ("θ, how closely the two follow", "loosely", "closely"),
}


@dataclass(frozen=True)
class FigureSpec:
    """A registered figure. `draw` makes it, `data` gives the numbers behind it, `info` says what it is."""

    name: str
    chapter: int
    source: str
    caption: str
    alt: str
    function: Callable[..., str | None] = field(repr=False)
    sliders: dict[str, Slider] = field(repr=False)
    defaults: dict[str, Any] = field(repr=False)
    size: tuple[float, float] = field(repr=False)
    panels: tuple[int, int] = field(repr=False)

    def parameters(self, **given: Any) -> dict[str, Any]:
        """The defaults, replaced by what is given; an unknown name or a value of no use is a ValueError."""
        for key, value in given.items():
            if key not in self.defaults:
                raise fail(key, value, f"one of the parameters of {self.name}: {', '.join(self.defaults) or 'none'}")
            default, slider = self.defaults[key], self.sliders.get(key)
            if not isinstance(default, (int, float)):
                continue
            number = scalar(key, finite(key, value))
            if slider and not slider.low <= number <= slider.high:
                raise fail(key, value, f"between {slider.low:g} and {slider.high:g} in this figure")
            if isinstance(default, int) and number != int(number):
                raise fail(key, value, "a whole number")
        whole = {key for key, default in self.defaults.items() if isinstance(default, int)}
        return self.defaults | {key: int(value) if key in whole else value for key, value in given.items()}

    def draw_with_readout(self, *, width: float | None = None, theme: str = "screen", **given: Any) -> tuple[Figure, str]:
        """The figure, and the sentence of numbers that belongs to these parameters (empty where there is none)."""
        parameters = self.parameters(**given)
        scale = 1.0 if width is None else scalar("width", finite("width", width)) / self.size[0]
        if not 0.2 <= scale <= 4:
            raise fail("width", width, f"between {self.size[0] / 5:.1f} and {4 * self.size[0]:.0f} inches")
        with _style.context(theme, self.size[0] * scale):
            drawn = Figure(figsize=(self.size[0] * scale, self.size[1] * scale))
            axes = drawn.subplots(*self.panels, squeeze=True)
            _style.margins(drawn, self.panels)
            readout = self.function(axes, **parameters) or ""
            _style.plain_powers(drawn)
        return drawn, readout

    def draw(self, **options: Any) -> Figure:
        """A fresh matplotlib Figure, known to no global state. `width` is in inches; `theme` is "screen" or "paper"."""
        return self.draw_with_readout(**options)[0]

    def data(self, **given: Any) -> dict[str, dict[str, list[float]]]:
        """Series by series, the coordinates that the figure draws."""
        return _style.read_off(self.draw(**given))

    def info(self) -> dict[str, Any]:
        return {"name": self.name, "chapter": self.chapter, "source": self.source, "caption": self.caption,
                "alt": self.alt, "defaults": dict(self.defaults), "move": list(self.sliders)}


_REGISTER: dict[str, FigureSpec] = {}


def figure(name: str, *, chapter: int, source: str, caption: str, alt: str, move: dict[str, tuple] | None = None,
           size: tuple[float, float] = (6.4, 3.6), panels: tuple[int, int] = (1, 1)) -> Callable[[Callable], FigureSpec]:
    """Register a drawing function ``f(axes, **parameters) -> sentence or None`` as the figure `name`.

    `move` gives the range of each parameter that a slider may move: (low, high) or (low, high, "log").
    A parameter whose default is an int moves in whole numbers.
    """

    def register(function: Callable) -> FigureSpec:
        if name in _REGISTER:
            raise fail("name", name, "new: this figure is registered already")
        defaults = {p.name: p.default for p in list(inspect.signature(function).parameters.values())[1:]}
        sliders = {}
        for parameter, limits in (move or {}).items():
            label, low_end, high_end = _WORDS.get(parameter, (parameter.replace("_", " "), "", ""))
            sliders[parameter] = Slider(parameter, limits[0], limits[1], "log" in limits,
                                        isinstance(defaults[parameter], int), _(label), _(low_end), _(high_end))
        _REGISTER[name] = FigureSpec(name, chapter, source, caption, alt, function, sliders, defaults, size, panels)
        return _REGISTER[name]

    return register


def _load_all() -> None:
    package = importlib.import_module("dpnotes.figures")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"dpnotes.figures.{module.name}")


def all_figures() -> dict[str, FigureSpec]:
    """Every registered figure by name, in the order of the book."""
    _load_all()
    return dict(sorted(_REGISTER.items(), key=lambda item: item[1].chapter))


def get(name: str) -> FigureSpec:
    """The figure of that name; for an unknown name the error suggests the nearest one."""
    if name not in _REGISTER:
        _load_all()
    if name not in _REGISTER:
        near = difflib.get_close_matches(str(name), _REGISTER, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise fail("name", name, f"a registered figure{hint}; `dpnotes figures` lists them")
    return _REGISTER[name]
