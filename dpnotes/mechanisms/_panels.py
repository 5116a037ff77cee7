"""Integrals over Laplace noise, whose density and law have corners."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpnotes._validate import FloatArray


def log_laplace_cdf(x: FloatArray) -> FloatArray:
    """log P[Laplace noise of scale 1 <= x]."""
    below = np.minimum(x, 0.0) - np.log(2)
    return np.where(x < 0, below, np.log1p(-0.5 * np.exp(-np.maximum(x, 0.0))))


@lru_cache(maxsize=1)
def _rule() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(24)
    return (nodes + 1) / 2, weights / 2


def panels(corners: FloatArray, widest: float = 2.0) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss-Legendre rules between neighboring corners, on panels at most `widest` wide."""
    corners = np.unique(corners)
    steps = np.ceil(np.diff(corners) / widest).astype(int)
    pieces = (np.linspace(a, b, k + 1)[1:] for a, b, k in zip(corners, corners[1:], steps, strict=False))
    edges = np.concatenate([corners[:1], *pieces])
    nodes, weights = _rule()
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * nodes).ravel(), (width * weights).ravel()
