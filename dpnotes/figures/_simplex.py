"""Laws on three symbols: from two sliders to a prior, and from a law to a point of the triangle."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray
from dpnotes.figures._style import GREY

SYMBOLS = ("A", "B", "C")
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
PRIOR_MOVES = {"prior_of_A": (0.05, 0.9), "share_of_B": (0.05, 0.95)}


def prior3(prior_of_A: float, share_of_B: float) -> FloatArray:
    """A's probability, and B's share of what A leaves: every pair of slider positions is a prior."""
    rest = 1 - prior_of_A
    return np.array([prior_of_A, rest * share_of_B, rest * (1 - share_of_B)])


def words(law: ArrayLike) -> str:
    """The law as ".20, .30, .50"."""
    return ", ".join(f"{p:.2f}".removeprefix("0") for p in np.asarray(law))


def place(law: ArrayLike) -> FloatArray:
    """The point of the triangle whose weights the law is; laws along the last axis."""
    return np.asarray(law) @ CORNERS


def triangle(ax: Axes) -> None:
    """The empty simplex with its corners named."""
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=GREY, linewidth=1.2, gid="all laws")
    for name, corner, (right, up) in zip(SYMBOLS, CORNERS, ((-0.05, -0.02), (0.05, -0.02), (0.0, 0.06)), strict=True):
        ax.text(corner[0] + right, corner[1] + up, name, ha="center", va="center", fontweight="bold")
    ax.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.06, 0.98))
    ax.axis("off")
