"""Boxes and arrows for the few figures that show how things flow."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from dpnotes.figures._style import BLUE, INK


def canvas(ax: Axes) -> None:
    """A drawing from 0 to 10 across and 0 to 5 up, without axes, over the whole figure."""
    ax.set_position([0.01, 0.02, 0.98, 0.96])
    ax.set(xlim=(0, 10), ylim=(0, 5))
    ax.set_axis_off()


def box(ax: Axes, x: float, y: float, text: str, *, color: str = BLUE, dashed: bool = False, filled: bool = True) -> None:
    """A rounded box around the text, centered at (x, y). Dashed: private; solid: may be seen by anybody."""
    style = {"boxstyle": "round,pad=0.5", "edgecolor": color, "facecolor": color + "18" if filled else "white",
             "linewidth": 1.5, "linestyle": "--" if dashed else "-"}
    ax.text(x, y, text, ha="center", va="center", linespacing=1.4, bbox=style)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "", *, bend: float = 0.0,
          shift: tuple[float, float] = (0.0, 0.22), color: str = INK, **text_style: Any) -> None:
    """An arrow from start to end, with words beside its middle."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0,
                                            "connectionstyle": f"arc3,rad={bend}"})
    if not bend:  # the shaft again as a line, so that the figure's numbers tell what points where
        name = text.replace("\n", " ") or "arrow"
        ax.plot(*zip(start, end, strict=True), color=color, linewidth=1.4, solid_capstyle="butt", gid=name)
    if text:
        middle = (start[0] + end[0]) / 2 + shift[0], (start[1] + end[1]) / 2 + shift[1]
        ax.text(*middle, text, ha="center", va="center", color=color, **({"fontsize": "small"} | text_style))
