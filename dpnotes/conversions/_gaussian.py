"""Gaussian DP, and the two faces of a trade-off curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from dpnotes._validate import FloatArray, at_least, fail, nonnegative, plain, probability, real
from dpnotes.conversions._pure import pure_to_gdp
from dpnotes.privacy_loss import GaussianLoss, PrivacyLoss
from dpnotes.privacy_loss._special import log_gaussian_hockey_stick


def gdp_to_delta(mu: ArrayLike, epsilon: ArrayLike) -> Any:
    """The smallest delta at which every mu-GDP mechanism is (epsilon, delta)-DP. Exact.

    Phi(-epsilon/mu + mu/2) - e**epsilon Phi(-epsilon/mu - mu/2).

    Parameters
    ----------
    mu : distance of the centers in standard deviations, at least 0; epsilon : in nats, at least 0. Scalars or arrays.

    References
    ----------
    Balle and Wang (2018), Theorem 8; Dong, Roth and Su (2022).

    >>> round(gdp_to_delta(1.0, 1.0), 12)
    0.126936737507
    """
    return plain(_each_pair(lambda loss, e: loss.delta(e), mu, nonnegative("epsilon", epsilon)))


def gdp_to_epsilon(mu: ArrayLike, delta: ArrayLike) -> Any:
    """The smallest epsilon >= 0 at which every mu-GDP mechanism is (epsilon, delta)-DP. Exact, rounded up.

    >>> round(gdp_to_epsilon(5**0.5, 1e-6), 10)
    12.5952467355
    """
    return plain(_each_pair(lambda loss, d: loss.epsilon(d), mu, probability("delta", delta)))


def _each_pair(reading: Callable[[PrivacyLoss, float], float], mu: ArrayLike, argument: FloatArray) -> FloatArray:
    mu, argument = np.broadcast_arrays(nonnegative("mu", mu), argument)
    values = [reading(GaussianLoss(float(m)), float(a)) for m, a in zip(mu.flat, argument.flat, strict=True)]
    return np.array(values, dtype=float).reshape(mu.shape)


def approx_to_gdp_mu(epsilon: ArrayLike, delta: ArrayLike) -> Any:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-DP: sensitivity / mu is the noise to add. Exact, rounded down.

    A calibration, not an implication: an (epsilon, delta)-DP mechanism need not be mu-GDP for any mu.

    Parameters
    ----------
    epsilon : in nats, at least 0 and finite; delta : between 0 and 1, both excluded. Scalars or arrays.

    >>> round(1 / approx_to_gdp_mu(1.0, 1e-5), 10)
    3.7306316348
    """
    epsilon, delta = np.broadcast_arrays(nonnegative("epsilon", epsilon), probability("delta", delta))
    if np.any((delta == 0) | (delta == 1) | np.isinf(epsilon)):
        raise fail("delta", plain(delta), "between 0 and 1, both excluded, with a finite epsilon")
    target = np.log(delta)
    low, high = np.full(epsilon.shape, -745.0), np.full(epsilon.shape, 360.0)  # in log mu: all floats
    for _ in range(75):  # log_delta grows with mu; 1105 / 2**75 is below the last digit
        middle = (low + high) / 2
        enough = log_gaussian_hockey_stick(epsilon, np.exp(middle)) <= target * (1 + 4e-15)
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return plain(np.exp(low))


def gdp_to_rdp(mu: ArrayLike, alpha: ArrayLike) -> Any:
    """The Rényi divergence of order alpha of a mu-GDP mechanism: at most alpha mu**2 / 2. Exact for Gaussian noise.

    >>> gdp_to_rdp(0.5, 2)
    0.25
    """
    mu, alpha = np.broadcast_arrays(nonnegative("mu", mu), at_least("alpha", alpha, 1.0))
    with np.errstate(invalid="ignore"):
        return plain(np.where(mu == 0, 0.0, alpha * (mu**2 / 2)))


def gdp_to_zcdp(mu: ArrayLike) -> Any:
    """The zCDP parameter of a mu-GDP mechanism: rho = mu**2 / 2. Exact."""
    return plain(nonnegative("mu", mu) ** 2 / 2)


def compose_gdp(mu: ArrayLike) -> float:
    """The composition of Gaussian DP mechanisms, chosen adaptively or not: sqrt(sum of mu**2). Exact.

    >>> compose_gdp([3.0, 4.0])
    5.0
    """
    return float(np.linalg.norm(np.ravel(nonnegative("mu", mu))))


def zcdp_to_gdp(rho: ArrayLike) -> Any:
    """The mu of the randomized response whose zCDP parameter is rho; above sqrt(2 rho). Estimate: exact as far as checked.

    No smaller mu holds for all rho-zCDP mechanisms, since randomized response is one of them. That none needs a larger mu
    was checked numerically, on the envelope of all rho-zCDP pairs with two outcomes (data processing reduces any test to
    such a pair), for rho from 0.01 to 20; it is not proved here.

    >>> round(zcdp_to_gdp(0.5), 6)
    1.283913
    """
    rho = nonnegative("rho", rho)
    # epsilon tanh(epsilon / 2) = rho: Newton from above on a convex increasing function.
    finite = np.where(np.isfinite(rho), rho, 1.0)
    epsilon = finite + np.sqrt(2 * finite) + 1e-300
    for _ in range(60):
        half = np.tanh(epsilon / 2)
        epsilon = epsilon - (epsilon * half - finite) / (half + epsilon * (1 - half**2) / 2)
    return plain(np.where(np.isinf(rho), np.inf, np.where(rho == 0, 0.0, pure_to_gdp(np.maximum(epsilon, 0.0)))))


def gdp_to_tradeoff(mu: ArrayLike, x: ArrayLike) -> Any:
    """The least type II error of a test at type I error x between N(0, 1) and N(mu, 1): Phi(Phi^-1(1-x) - mu). Exact.

    >>> round(gdp_to_tradeoff(1.0, 0.05), 10)
    0.7404889772
    """
    mu, x = np.broadcast_arrays(nonnegative("mu", mu), probability("x", x))
    with np.errstate(invalid="ignore"):
        return plain(np.where(x == 0, 1.0, np.where(x == 1, 0.0, ndtr(-ndtri(x) - mu))))


def approx_to_tradeoff(epsilon: ArrayLike, delta: ArrayLike, x: ArrayLike) -> Any:
    """The least type II error at type I error x that (epsilon, delta)-DP allows. Exact (the f of f-DP).

    max(0, 1 - delta - e**epsilon x, e**-epsilon (1 - delta - x)).

    References
    ----------
    Wasserman and Zhou (2010); Dong, Roth and Su (2022).

    >>> round(approx_to_tradeoff(1.0, 1e-5, 0.05), 10)
    0.8640759086
    """
    epsilon, delta, x = np.broadcast_arrays(nonnegative("epsilon", epsilon), probability("delta", delta), probability("x", x))
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(x == 0, 1 - delta, 1 - delta - np.exp(epsilon) * x)
    return plain(np.maximum(np.maximum(steep, np.exp(-epsilon) * (1 - delta - x)), 0.0))


def tradeoff_to_delta(tradeoff: Callable[[FloatArray], FloatArray], epsilon: ArrayLike) -> Any:
    """The smallest delta at `epsilon` of a mechanism with that trade-off curve: 1 + f*(-e**epsilon), f* the convex conjugate.

    The largest 1 - f(x) - e**epsilon x over type I errors x. Exact for a convex f, up to about 1e-15 absolute.

    Parameters
    ----------
    tradeoff : function of an array of type I errors in [0, 1], convex, nonincreasing, at most 1 - x.
    epsilon : any real number, scalar or array.

    References
    ----------
    Dong, Roth and Su (2022), on the duality of f-DP and (epsilon, delta(epsilon))-DP.

    >>> round(tradeoff_to_delta(lambda x: gdp_to_tradeoff(1.0, x), 1.0), 12)
    0.126936737507
    """
    epsilon = real("epsilon", epsilon)

    def height(u):
        x = np.exp(log_ndtr(u))
        return 1 - np.asarray(tradeoff(x)) - np.exp(np.minimum(epsilon + log_ndtr(u), 700.0))

    return plain(np.clip(_peak(height, np.full(epsilon.shape, -38.0), np.full(epsilon.shape, 9.0)), 0.0, 1.0))


def delta_to_tradeoff(delta: Callable[[FloatArray], FloatArray], x: ArrayLike) -> Any:
    """The trade-off curve of a mechanism with that delta: the largest 1 - delta(epsilon) - e**epsilon x over real epsilon.

    Exact up to about 1e-12 absolute where delta is; from an upper bound on delta, a lower bound on the errors.

    Parameters
    ----------
    delta : function of an array of real epsilons, as `PrivacyLoss.delta`; both signs are asked for.
    x : type I errors, between 0 and 1.

    >>> round(delta_to_tradeoff(GaussianLoss(1.0).delta, 0.05), 10)
    0.7404889772
    """
    x = probability("x", x)
    with np.errstate(divide="ignore"):
        log_x = np.log(x)

    def height(u):
        return 1 - np.asarray(delta(u)) - np.exp(np.minimum(u + log_x, 700.0))

    return plain(np.clip(_peak(height, np.full(x.shape, -745.0), np.full(x.shape, 745.0)), 0.0, 1.0 - x))


def _peak(height: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """The largest value of functions that rise, then fall, one an entry, on [low, high]: a grid, then its best cell again."""
    shape = low.shape
    for _ in range(12):
        u = low + (high - low) * np.linspace(0, 1, 33).reshape(-1, *[1] * len(shape))
        value = np.stack([np.broadcast_to(height(row), shape) for row in u])
        # Of equal values the last: rounding makes a false plateau on the left, where functions start from 0.
        best = 32 - np.argmax((value >= value.max(axis=0) - 1e-14)[::-1], axis=0)
        low = np.take_along_axis(u, np.maximum(best - 1, 0)[None], 0)[0]
        high = np.take_along_axis(u, np.minimum(best + 1, 32)[None], 0)[0]
    return np.max(value, axis=0)
