"""How figures look: colours, type, margins; and how the numbers are read off a drawn figure.

The palette is Okabe and Ito's (2008), darkened where white paper asks for it; every series also differs by its line or
its place, never by colour alone. Labels are plain text: Unicode symbols draw twice as fast as mathtext.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, NullFormatter

from dpnotes._validate import fail

BLUE, RED, GREEN, PURPLE, ORANGE, GREY, INK = "#0060a8", "#b83a00", "#00735a", "#8a3d7a", "#9a6a00", "#6b6b6b", "#222222"
CYCLE = [BLUE, RED, GREEN, PURPLE, ORANGE, GREY]
SHADE = {"alpha": 0.22, "linewidth": 0}
FORMATS = ("pdf", "svg", "png")

_RC = {
    "font.family": "DejaVu Sans", "font.size": 10.5, "axes.labelsize": 10.5, "xtick.labelsize": 9.5, "ytick.labelsize": 9.5,
    "legend.fontsize": 9.5, "legend.frameon": False, "lines.linewidth": 2.0,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": INK, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.prop_cycle": mpl.cycler(color=CYCLE),
    "figure.facecolor": "white", "axes.facecolor": "white", "savefig.facecolor": "white",
    "text.usetex": False, "mathtext.default": "regular",
    "svg.fonttype": "path", "svg.hashsalt": "dpnotes", "pdf.fonttype": 42,
}
# A page is read on a screen at its natural size; on paper the type follows the width of the column.
_THEMES = {"screen": 1.0, "paper": 0.78}


@contextlib.contextmanager
def context(theme: str, width: float) -> Iterator[None]:
    """matplotlib's settings for one drawing, whatever the caller's own settings are."""
    if theme not in _THEMES:
        raise fail("theme", theme, " or ".join(map(repr, _THEMES)))
    factor = _THEMES[theme] * min(1.0, max(0.62, width / 6.4) ** 0.5)
    rc = {key: value * factor if key.endswith("size") or key == "lines.linewidth" else value for key, value in _RC.items()}
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(rc)
        yield


def margins(figure: Figure, panels: tuple[int, int]) -> None:
    """Fixed margins in inches: frames of one figure do not jump, and no layout engine has to run."""
    width, height = figure.get_size_inches()
    type_scale = mpl.rcParams["font.size"] / 10.5
    figure.subplots_adjust(left=0.80 * type_scale / width, right=1 - 0.18 / width, bottom=0.56 * type_scale / height,
                           top=1 - 0.30 * type_scale / height, wspace=0.30, hspace=0.55)
    for axes in figure.axes:  # ticks are made when the figure is drawn, perhaps outside `context`: fix their look now
        axes.tick_params(labelsize=mpl.rcParams["xtick.labelsize"], colors=INK)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain_powers(figure: Figure) -> None:
    """Label logarithmic axes with Unicode powers of ten: mathtext, matplotlib's own way, takes longer than all the rest."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log" and isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
                axis.set_major_formatter(FuncFormatter(_power))
                axis.set_minor_formatter(NullFormatter())


def _power(value: float, _position: int) -> str:
    exponent = round(float(np.log10(value)))
    if abs(value / 10.0**exponent - 1) > 1e-6:
        return f"{value:g}"
    return f"{value:g}" if -3 < exponent < 4 else "10" + str(exponent).translate(_RAISED)


def save(figure: Figure, target: str | Path | BytesIO, format: str, dpi: int = 200, quick: bool = False) -> None:
    """Write without dates, so that the same figure gives the same bytes. `quick` spares a PNG the work of packing tightly."""
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    if format not in metadata:
        raise fail("format", format, f"one of {', '.join(FORMATS)}")
    with mpl.rc_context({key: _RC[key] for key in ("svg.fonttype", "svg.hashsalt", "pdf.fonttype")}):
        logging.getLogger("fontTools").setLevel(logging.ERROR)
        packing = {"pil_kwargs": {"compress_level": 1}} if quick else {}
        figure.savefig(target, format=format, dpi=dpi, metadata=metadata[format], **packing)


def read_off(figure: Figure) -> dict[str, dict[str, list[float]]]:
    """The coordinates of every labelled or plain line, band, bar and point in a drawn figure.

    The name of a series is the artist's gid, else its label, else "line 1" and so on; panels are told apart by a number.
    """
    series: dict[str, dict[str, list[float]]] = {}
    for number, axes in enumerate(figure.axes, 1):
        prefix = f"panel {number}: " if len(figure.axes) > 1 else ""
        for kind, artist in _data_artists(axes):
            label = getattr(artist, "get_gid", str)() or str(artist.get_label())  # a group of bars has no gid
            name = prefix + (label if label and not label.startswith("_") else kind)
            unique, again = name, 2
            while unique in series:
                unique, again = f"{name} ({again})", again + 1
            series[unique] = _columns(kind, artist)
    return series


def _data_artists(axes):
    yield from (("line", line) for line in axes.lines)
    yield from (("bars", bars) for bars in axes.containers if hasattr(bars, "patches"))
    for collection in axes.collections:
        if isinstance(collection, PolyCollection):
            yield "band", collection
        elif isinstance(collection, PathCollection):
            yield "points", collection


def _columns(kind: str, artist) -> dict[str, list[float]]:
    if kind == "line":
        x, y = (np.asarray(values, dtype=float) for values in artist.get_data())
        return {"x": x.tolist(), "y": y.tolist()}
    if kind == "bars":
        boxes = artist.patches
        return {"x": [float(b.get_x() + b.get_width() / 2) for b in boxes],
                "y": [float(b.get_y() + b.get_height()) for b in boxes]}
    if kind == "band":
        corners = np.vstack([path.vertices for path in artist.get_paths()]) if artist.get_paths() else np.empty((0, 2))
    else:
        corners = np.asarray(artist.get_offsets(), dtype=float)
    return {"x": corners[:, 0].tolist(), "y": corners[:, 1].tolist()}
