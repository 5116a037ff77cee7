"""Elementary functions that keep their digits where the textbook formula loses them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import erfcx, log_ndtr

UNIT = 2.0**-53  # one rounding changes a number by at most this fraction
SMALLEST = -690.0  # below, e**x loses digits, and processors take ten times as long
LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


class TooSteep(ArithmeticError):
    """An integral needs more nodes than are worth their time: ask another way."""


def exp_minus_line(x):
    """e**x - 1 - x for real or complex x, to full relative accuracy near 0 (where the terms cancel)."""
    x = np.asarray(x)
    small = np.abs(x) < 0.4
    near = np.where(small, x, 0)
    series = np.zeros_like(near)
    for n in range(16, 2, -1):  # x**2/2 * (1 + x/3 * (1 + x/4 * (...)))
        series = near / n * (1 + series)
    return np.where(small, near * near / 2 * (1 + series), np.expm1(x) - x)


def log_one_plus(w):
    """log(1 + w) for real or complex w near 0 (|w| < 1), right to a few roundings of |w|; NumPy's complex log1p is not."""
    w = np.asarray(w)
    if w.dtype.kind != "c":
        return np.log1p(w)
    return 0.5 * np.log1p(2 * w.real + w.real**2 + w.imag**2) + 1j * np.arctan2(w.imag, 1 + w.real)


def turns(angle: np.ndarray) -> np.ndarray:
    """e**(2i angle) - 1, right to 12 roundings of its size (of NumPy's tangent to 8): 2 T (i - T) / (1 + T**2), T the tangent.

    NumPy has the tangent several times as fast as sine and cosine.
    """
    tangent = np.tan(angle)
    result = np.empty(tangent.shape, complex)
    result.imag = scale = 2 * tangent / (1 + tangent * tangent)
    np.multiply(scale, -tangent, out=result.real)
    return result


def log1mexp(x):
    """log(1 - e**x) for x <= 0, accurate at both ends; -inf at 0."""
    x = np.asarray(x, dtype=float)
    with np.errstate(divide="ignore"):
        return np.where(x > -0.6931, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def logsumexp(terms, axis: int = -1):
    """log of the sum of exponentials of real terms; a sum of nothing, or of zeros, is -inf."""
    terms = np.asarray(terms, dtype=float)
    top = terms.max(axis=axis, keepdims=True, initial=-np.inf)
    shifted = np.maximum(terms - np.where(np.isfinite(top), top, 0.0), SMALLEST)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(shifted).sum(axis=axis)) + top.squeeze(axis)


@lru_cache(maxsize=1)
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return (nodes + 1) / 2, weights / 2


def gaussian_terms(epsilon, mu):
    """(a, log Phi(-a), log(e**epsilon Phi(-b))) with a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2, for epsilon >= 0 < mu."""
    # epsilon - mu**2/2 cancels when mu is large: take mu**2 in two parts (Dekker), so that a keeps its relative accuracy.
    square, wide = mu * mu, 134217729.0 * mu
    high = wide - (wide - mu)
    rest = (high * high - square) + 2 * high * (mu - high) + (mu - high) ** 2
    a, b = ((epsilon - square / 2) - rest / 2) / mu, epsilon / mu + mu / 2
    # e**epsilon Phi(-b) = phi(a) times Mills' ratio at b.
    return a, log_ndtr(-a), -a * a / 2 - LOG_SQRT_2PI + np.log(np.sqrt(np.pi / 2) * erfcx(b / np.sqrt(2)))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # beyond the range of floats the value is -inf
def log_gaussian_hockey_stick(epsilon, mu):
    """log of Phi(-a) - e**epsilon Phi(-b), with a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2, for epsilon >= 0 < mu.

    Balle and Wang (2018), Theorem 8. The two terms agree to many digits when mu is small or the tail deep. Since
    e**epsilon phi(b) = phi(a), the difference is phi(a) times the fall of Mills' ratio from a to b, and that fall is the
    integral over t > 0 of e**(-t**2/2 - a t) (1 - e**(-mu t)): positive terms only, one Gauss-Legendre sum.
    """
    epsilon, mu = np.asarray(epsilon, dtype=float), np.asarray(mu, dtype=float)
    a, first, second = gaussian_terms(epsilon, mu)
    fall_a = np.clip(a, -1.0, 1e200)[..., None]
    nodes, weights = _legendre()
    reach = np.minimum(10.0, 42.0 / np.maximum(fall_a, 0.1))
    t = reach * nodes
    fall = np.sum(weights * reach * np.exp(-t * t / 2 - fall_a * t) * -np.expm1(-mu[..., None] * t), axis=-1)
    cancelling = -a * a / 2 - LOG_SQRT_2PI + np.log(fall)
    # For mu well above a, e**(-mu t) falls between the nodes; but there, and for a < -1 (which needs mu > 2), the second
    # term is below a fourth of the first, so that the difference itself is right.
    plain = first + np.log1p(-np.exp(np.minimum(second - first, -1e-3)))
    return np.where((a < -1) | (mu > 4 * np.maximum(a, 1.0)), plain, cancelling)
