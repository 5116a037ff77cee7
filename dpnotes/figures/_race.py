"""Two ways to bracket delta of k equal Gaussian losses with a given number of points: on a line, and on a grid.

Written to be read beside chapter 08, and to hold for these losses only; the accountant is `dpnotes.NumericalAccountant`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from dpnotes.privacy_loss import GaussianLoss

UNIT = 2.0**-53  # of floating-point rounding
ORDERS = np.geomspace(0.02, 400, 2000)


def on_a_line(mu: float, k: int, epsilon: float, points: int) -> tuple[float, float]:
    """(lower, upper) around delta by the trapezoid rule at `points` >= 2 nodes of the contour, all that is left out bounded."""
    loss = GaussianLoss(mu)
    height = k * loss.log_mgf(ORDERS) - ORDERS * epsilon + ORDERS * np.log(ORDERS) - (1 + ORDERS) * np.log1p(ORDERS)
    c = float(ORDERS[np.argmin(height)])  # where Chernoff's bound e**height on delta is least
    period = (2 * np.pi**2 * k * mu**2 * points**2 / c) ** (1 / 3)  # the copies and the missing rest are then equally small
    y = 2 * np.pi / period * np.arange(points)
    z, log_m = c + 1j * y, k * loss.log_mgf(c + 1j * y)
    terms = 2 / period * np.exp(log_m - z * epsilon) / (z * (z + 1))
    terms[0] /= 2
    total = float(terms.real.sum())
    rounding = UNIT * float(np.sum(np.abs(terms) * (20 + 4 * np.abs(log_m) + 4 * y * epsilon)))
    # From the last node on |M| is at most M(c) e**(-k mu**2 y**2 / 2), and 1 / |z (z + 1)| at most 1 / y**2.
    rest = np.exp(log_m[0].real - c * epsilon - k * mu**2 * y[-1] ** 2 / 2) / (np.pi * y[-1])
    above = 1.01 * c < ORDERS
    gap = (ORDERS[above] - c) * period
    right = np.exp(np.min(height[above] - gap - np.log(-np.expm1(-gap))))
    left = np.exp(-c * period) / -np.expm1(-c * period)
    return max(total - rounding - rest - left - right, 0.0), min(total + rounding + rest, 1.0)


def on_a_grid(mu: float, k: int, epsilon: float, points: int) -> tuple[float, float, float]:
    """Bounds on delta from one Fourier transform on a grid of `points` points over the range of the sum.

    (lower, upper, upper): each loss rounded down; rounded up; split between its two neighbors on the grid so that its mass
    under P and under Q both stay.
    """
    h = 18 * mu * np.sqrt(k) / points
    j = np.arange(-int(12 * mu / h) - 1, int(12 * mu / h + mu**2 / h) + 3)
    p, q = (np.diff(ndtr((h * j - center) / mu)) for center in (mu**2 / 2, -(mu**2) / 2))  # masses of the cells
    low, high = np.exp(-h * j[:-1]), np.exp(-h * j[1:])
    share = np.clip((p * low - q) / (low - high), 0.0, p)  # what goes to the cell's upper end
    down, up, split = np.append(p, 0.0), np.append(0.0, p), np.append(p - share, 0.0) + np.append(0.0, share)
    missed = float(ndtr((h * j[0] - mu**2 / 2) / mu) + ndtr((mu**2 / 2 - h * j[-1]) / mu))  # beyond the cells
    rounding = UNIT * (6 * k * np.log2(points) * np.sqrt(points) + 8 * k * len(j))
    bounds = []
    for masses, sign in ((down, -1), (up, 1), (split, 1)):
        window = int(np.floor(k * (masses @ j))) - points // 2 + np.arange(points)
        folded = np.bincount(j % points, masses, points)
        total = np.fft.irfft(np.fft.rfft(folded) ** k, points)[window % points]
        delta = float(total @ np.maximum(0.0, -np.expm1(np.minimum(epsilon - h * window, 0.0))))
        # What lies beyond the window is folded into it: Chernoff's bound on it, of the grid's own law.
        t = sign * np.geomspace(1e-3, 1, 300) * min(40.0, 600 / (h * np.max(np.abs(j))))
        edge = h * (window[-1] + 1 if sign == 1 else window[0] - 1)
        beyond = np.exp(min(0.0, np.min(k * np.log(np.exp(h * np.outer(t, j)) @ masses) - t * edge)))
        bounds.append(min(max(delta + sign * (beyond + rounding + k * missed), 0.0), 1.0))
    return tuple(bounds)
