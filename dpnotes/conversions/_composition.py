"""Composition theorems for pure and approximate DP: basic, advanced, optimal.

All hold when each mechanism is chosen after seeing earlier results, as long as its parameters were fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, log_expit

from dpnotes._validate import FloatArray, count, fail, nonnegative, plain, probability, scalar
from dpnotes.conversions._pure import pure_to_zcdp
from dpnotes.privacy_loss import DiscreteLoss

ATOMS = 2**21  # the most outcomes that optimal composition lists: about 20 different mechanisms


def basic_composition(epsilons: ArrayLike, deltas: ArrayLike = 0.0) -> tuple[float, float]:
    """(sum of epsilons, sum of deltas, at most 1). Exact for pure DP; an upper bound once some delta is positive.

    >>> basic_composition([0.5, 0.25])
    (0.75, 0.0)
    """
    epsilons, deltas = np.broadcast_arrays(nonnegative("epsilons", epsilons), probability("deltas", deltas))
    return float(np.sum(epsilons)), min(1.0, float(np.sum(deltas)))


def advanced_composition(epsilon: ArrayLike, k: int, delta_prime: ArrayLike, delta: ArrayLike = 0.0) -> tuple[Any, Any]:
    """(epsilon, delta) of k runs of an (epsilon, delta)-DP mechanism by the first advanced theorem. Upper bound, loose.

    epsilon sqrt(2 k log(1/delta')) + k epsilon (e**epsilon - 1), and k delta + delta': the slack delta' is paid once, the
    mechanism's own delta k times. For large epsilon the plain sum k epsilon is smaller; take the smaller.

    Parameters
    ----------
    epsilon, delta : of one run; k : number of runs; delta_prime : the slack, between 0 and 1, 0 excluded.

    References
    ----------
    Dwork, Rothblum and Vadhan (2010), Boosting and Differential Privacy.

    >>> round(advanced_composition(0.1, 20, 1e-6)[0], 12)
    2.561129836628
    """
    epsilon, k, delta_prime, delta = _checked_runs(epsilon, k, delta_prime, delta)
    total = epsilon * np.sqrt(-2 * k * np.log(delta_prime)) + k * epsilon * np.expm1(np.minimum(epsilon, 700.0))
    return plain(total), plain(np.minimum(k * delta + delta_prime, 1.0))


def kov_closed_form(epsilon: ArrayLike, k: int, delta_prime: ArrayLike, delta: ArrayLike = 0.0) -> tuple[Any, Any]:
    """(epsilon, delta) of k runs by the closed form of Kairouz, Oh and Viswanath: the least of its three branches. Upper bound.

    k epsilon, and drift k epsilon tanh(epsilon/2) plus epsilon sqrt(2k log(1/delta')) or
    epsilon sqrt(2k log(e + sqrt(k epsilon**2) / delta')); delta is 1 - (1 - delta)**k (1 - delta').

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.4.

    >>> round(kov_closed_form(0.1, 20, 1e-6)[0], 12)  # the plain sum, 2.0, is the least here
    2.0
    """
    epsilon, k, delta_prime, delta = _checked_runs(epsilon, k, delta_prime, delta)
    total = -np.expm1(k * np.log1p(-np.minimum(delta, 1 - 1e-16)) + np.log1p(-np.minimum(delta_prime, 1 - 1e-16)))
    return plain(kov_sum(k * epsilon, k * epsilon**2, k * pure_to_zcdp(epsilon), delta_prime)), plain(total)


def drv_sum(epsilons: FloatArray, times: FloatArray, delta_prime: ArrayLike) -> Any:
    """The advanced theorem for different epsilons, shape (n,), each run `times` times: the same martingale, unequal steps."""
    drift = np.sum(times * epsilons * np.expm1(np.minimum(epsilons, 700.0)))
    return np.sqrt(-2 * np.sum(times * epsilons**2) * np.log(delta_prime)) + drift


def kov_sum(total: ArrayLike, squares: ArrayLike, drift: ArrayLike, delta_prime: ArrayLike) -> Any:
    """The least of three branches, from the sums of epsilon, epsilon**2 and epsilon tanh(epsilon/2) over all runs."""
    with np.errstate(over="ignore"):
        longer = np.log(np.e + np.sqrt(squares) / delta_prime)
    return np.minimum(total, drift + np.sqrt(2 * squares * np.minimum(-np.log(delta_prime), longer)))


def _checked_runs(epsilon, k, delta_prime, delta):
    epsilon, k = nonnegative("epsilon", epsilon), count("k", k)
    delta_prime, delta = probability("delta_prime", delta_prime), probability("delta", delta)
    if np.any(delta_prime == 0):
        raise fail("delta_prime", plain(delta_prime), "above 0: without slack only the plain sum holds")
    epsilon, delta_prime, delta = np.broadcast_arrays(epsilon, delta_prime, delta)
    return epsilon, k, delta_prime, delta


def optimal_composition(guarantees: Iterable[tuple[float, float, int]]) -> DiscreteLoss:
    """The privacy loss of the worst mechanisms with these guarantees, run together. Exact: no smaller epsilon(delta) is true.

    Each (epsilon, delta)-DP mechanism is at worst randomized response that with probability delta shows everything, so the
    composed loss is a sum of signs times epsilons. Equal epsilons share a binomial, so k equal ones cost k + 1 outcomes;
    different ones multiply: 20 different mechanisms make 2**20, one more doubles it. The problem is #P-hard in general.
    More than about two million outcomes raise ValueError.

    Parameters
    ----------
    guarantees : (epsilon, delta, times) of each mechanism.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.3; Murtagh and Vadhan (2016) for different mechanisms and the hardness.

    >>> round(optimal_composition([(0.5, 0.0, 10)]).delta(2.0), 12)
    0.145466446441
    >>> round(optimal_composition([(e, 0.0, 1) for e in (0.1, 0.2, 0.3, 0.4)]).delta(0.6), 12)
    0.049009801069
    """
    runs: dict[float, int] = {}
    log_clean = 0.0  # log of the probability that no mechanism shows everything
    for epsilon, delta, times in guarantees:
        epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        delta, times = scalar("delta", probability("delta", delta)), count("times", times)
        if times and (delta == 1 or np.isinf(epsilon)):
            return DiscreteLoss.from_log_masses([], [], 1.0, 1.0)
        log_clean += times * np.log1p(-delta)
        if epsilon > 0 and times:
            runs[epsilon] = runs.get(epsilon, 0) + times
    outcomes = float(np.prod([float(times + 1) for times in runs.values()]))
    if outcomes > ATOMS:
        raise ValueError(f"optimal composition of {len(runs)} different mechanisms lists {outcomes:.3g} outcomes, and stops at "
                         f"{ATOMS:.3g}: its cost is exponential in their number. Read this history by another accountant.")
    losses, log_masses = np.zeros(1), np.full(1, log_clean)
    for epsilon, times in runs.items():
        ups = np.arange(times + 1)
        losses = np.add.outer(losses, (2 * ups - times) * epsilon).ravel()
        log_masses = np.add.outer(log_masses, _log_binomial(ups, times, epsilon)).ravel()
    infinite = -np.expm1(log_clean)
    return DiscreteLoss.from_log_masses(losses, log_masses, infinite, infinite)


def _log_binomial(ups: np.ndarray, k: int, epsilon: float) -> FloatArray:
    """log of the binomial probabilities with log-odds epsilon, to 1e-13 for any k: Stirling's remainders and a divergence.

    Loader (2000): log pmf = s(k) - s(i) - s(k-i) - i log(i/(k p)) - (k-i) log((k-i)/(k (1-p))) + log(k / (2 pi i (k-i))) / 2.
    """
    log_p, log_r = log_expit(epsilon), log_expit(-epsilon)
    p, r = np.exp(log_p), np.exp(log_r)
    i, j = np.maximum(ups, 1e-300), np.maximum(k - ups, 1e-300)
    result = _stirling_rest(float(k)) - _stirling_rest(i) - _stirling_rest(j) + 0.5 * np.log(k / (2 * np.pi * i * j))
    shift = ups - k * p
    result -= _deviance(i, k * p, shift) + _deviance(j, k * r, -shift)
    return np.where(ups == 0, k * log_r, np.where(ups == k, k * log_p, result))


def _stirling_rest(n):
    n = np.asarray(n, dtype=float)
    large = np.maximum(n, 15.0)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / large**2) / large**2) / large**2) / large**2) / large
    few = np.maximum(n, 1e-300)
    return np.where(n < 15, gammaln(few + 1) - (few + 0.5) * np.log(few) + few - 0.5 * np.log(2 * np.pi), series)


def _deviance(x, mean, shift):
    """x log(x / mean) - (x - mean), where x - mean = shift, without cancellation."""
    v = shift / (x + mean)
    near = np.abs(v) < 0.1
    small, square, series = np.where(near, v, 0.0), np.where(near, v, 0.0) ** 2, np.zeros_like(v)
    for n in range(12, 0, -1):  # x log(x/mean) = 2x (v + v**3/3 + ...), and 2 x v - shift = shift v
        series = square * (1 / (2 * n + 1) + series)
    return np.where(near, shift * small + 2 * x * small * series, x * np.log(np.where(near, 1.0, x / mean)) - shift)
