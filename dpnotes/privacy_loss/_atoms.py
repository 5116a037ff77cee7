"""Moments of very many atoms at very many points of a line, by one fast Fourier transform, with a bounded error.

Wanted: f(y) = sum over atoms of a e**(i y x), at y = j H. Every atom is spread over the points of a grid near it with the
weights e**(-(n - x)**2 / (2 W)), x in steps of the grid. By Poisson's formula the transform of these weights is exactly

    sum_n e**(-(n - x)**2 / (2 W)) e**(i w n) = sqrt(2 pi W) sum_k e**(-W (w + 2 pi k)**2 / 2) e**(i (w + 2 pi k) x),

so that the transform of what was spread, divided by the k = 0 factor, is f but for the other k and for the weights that were
too small to spread. The grid is so fine that |w| <= pi / 2: the other k are below 2 e**(-pi**2 W) of each atom. Atoms that
lie on the grid need no spreading.

References
----------
Dutt and Rokhlin (1993), Fast Fourier Transforms for Nonequispaced Data, for the idea; the bounds are derived here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._special import UNIT

SPREAD, REACH = 4.0, 20  # W, and the grid points on either side that an atom is spread over
ALIASED = 2.1 * np.exp(-np.pi**2 * SPREAD)
CUT = 2.1 * np.exp(-((REACH + 0.5) ** 2) / (2 * SPREAD))  # weights left out, their sum for one atom
FEW_TERMS, FEW_NODES = 2**14, 64
FINEST = 1e-6  # a lattice has a step of at least this part of the range of each loss
Direct = Callable[[np.ndarray], tuple[np.ndarray, FloatArray]]


def transform(x: FloatArray, weights: FloatArray, step: float, count: int) -> tuple[np.ndarray, FloatArray]:
    """(f, bound on the error of f) at y = 0, step, ..., (count - 1) step, with f(y) = sum of weights e**(i y x).

    x : at least 0; weights : positive, shape (n,). The rounding of x is not in the bound.
    """
    exact = 2 * (count - 1)
    place = x * (step * exact / (2 * np.pi))
    whole = np.round(place)
    off = np.abs(place - whole)
    if exact > 0 and np.max(off) < 1e-7:  # on the grid that belongs to exactly this many nodes
        grid = np.bincount(whole.astype(np.int64) % exact, weights, exact)
        drift = float(weights @ off) * np.pi / max(count - 1, 1) * np.arange(count)
        spectrum = np.conj(np.fft.rfft(grid))
        return spectrum, drift + _rounding(grid)
    points = 1 << int(np.ceil(np.log2(max(4 * (count - 1), 256))))
    place = x * (step * points / (2 * np.pi))
    whole = np.round(place)
    reach = np.arange(-REACH, REACH + 1)
    spread = np.exp(-((reach + (whole - place)[:, None]) ** 2) / (2 * SPREAD)) * weights[:, None]
    where = (whole.astype(np.int64)[:, None] + reach) % points
    grid = np.bincount(where.ravel(), spread.ravel(), points)
    scale = np.exp(SPREAD / 2 * (2 * np.pi / points * np.arange(count)) ** 2) / np.sqrt(2 * np.pi * SPREAD)
    total = float(np.sum(weights))
    return np.conj(np.fft.rfft(grid)[:count]) * scale, scale * (CUT * total + _rounding(grid)) + ALIASED * total


def _rounding(grid: FloatArray) -> float:
    """Of one real transform: 6 log2(n) units of the norm of the result, and of sums of positive numbers."""
    n = len(grid)
    return UNIT * (6 * np.log2(n) * np.sqrt(n) * float(np.linalg.norm(grid)) + 64 * float(np.sum(grid)))


def line_moments(losses: FloatArray, log_masses: FloatArray, z: np.ndarray, direct: Direct, level: float,
                 ) -> tuple[np.ndarray, FloatArray]:
    """log of the sum of e**(log_masses + z losses) at z = c + i j H, and a bound on the relative error of each sum.

    direct : computes the same term by term. It serves where that is short, and at the first nodes, which are the ones that
        count when the sum is raised to a high power. level : roughly the log of the sum at c.
    """
    count = len(z)
    first_ones = max(FEW_NODES, FEW_TERMS // len(losses))
    if count <= 4 * first_ones:
        return direct(z)
    c, step = float(z[0].real), float(z[1].imag)
    weights = np.exp(c * losses + log_masses - level)
    alive = weights > 1e-22  # the others go into the error
    lost, losses, weights, log_masses = float(np.sum(weights[~alive])), losses[alive], weights[alive], log_masses[alive]
    origin = losses.min()
    x = losses - origin
    unsure = UNIT * (8 + 3 * np.abs(c * losses) + 3 * np.abs(log_masses) + 3 * abs(level))
    f, error = transform(x, weights, step, count)
    error += float(weights @ unsure) + lost + UNIT * 4 * float(weights @ (np.abs(losses) + x)) * z.imag
    size = np.maximum(np.abs(f), 1e-300)
    value = np.log(np.where(f == 0, 1e-300, f)) + (level + 1j * z.imag * origin)
    error = error / size + UNIT * (8 + 2 * np.abs(z.imag * origin))
    value[:first_ones], error[:first_ones] = direct(z[:first_ones])
    return value, error


def common_step(distances: FloatArray, largest: float) -> tuple[float, float] | None:
    """(h, off) such that all distances are multiples of h but for `off`, a few roundings of `largest`; None if none is found."""
    distances = distances[distances > 0]
    if not len(distances):
        return np.inf, 0.0
    step, least = float(distances.min()), FINEST * float(distances.max())
    allowed = 1e-12 * (largest + step)
    while step >= least:  # Euclid
        whole = np.round(distances / step)
        rest = np.abs(distances - step * whole)
        if np.max(rest) <= allowed:
            step = float(np.max(distances) / np.max(whole))
            return step, float(np.max(np.abs(distances - step * whole)))
        step = float(np.min(rest[rest > allowed]))
    return None
