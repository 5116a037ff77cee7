"""From Rényi divergences, at one order or along a curve, to approximate DP and zCDP."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, inf, log, log1p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, at_least, fail, nonnegative, plain, probability
from dpnotes.privacy_loss._special import log1mexp

Curve = Callable[[FloatArray], FloatArray]


def rdp_to_epsilon_mironov(alpha: ArrayLike, rdp: ArrayLike, delta: ArrayLike) -> Any:
    """An epsilon at which every (alpha, rdp)-RDP mechanism is (epsilon, delta)-DP. Upper bound, loose.

    rdp + log(1/delta) / (alpha - 1), and never below 0: Markov's inequality for e**((alpha - 1) L).

    Parameters
    ----------
    alpha : order, above 1; inf is pure DP and gives rdp itself. Scalar or array, broadcast with the others.
    rdp : Rényi divergence at that order, in nats, at least 0.
    delta : between 0 and 1. 0 gives inf unless alpha is inf or rdp is 0.

    References
    ----------
    Mironov (2017), Rényi Differential Privacy, Proposition 3.

    >>> round(rdp_to_epsilon_mironov(10, 1.25, 1e-6), 12)
    2.785056728663
    """
    return _one_order(alpha, rdp, delta, _mironov_epsilon)


def rdp_to_epsilon_cks(alpha: ArrayLike, rdp: ArrayLike, delta: ArrayLike) -> Any:
    """An epsilon at which every (alpha, rdp)-RDP mechanism is (epsilon, delta)-DP. Upper bound, better than Mironov's.

    rdp + log(1/delta) / (alpha - 1) + log(1 - 1/alpha) - log(alpha) / (alpha - 1), and never below 0.

    Parameters
    ----------
    alpha, rdp, delta : as in `rdp_to_epsilon_mironov`.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The Discrete Gaussian for DP, Proposition 12; Balle et al. (2020), Theorem 21.

    >>> round(rdp_to_epsilon_cks(10, 1.25, 1e-6), 12)
    2.423853424894
    """
    return _one_order(alpha, rdp, delta, _cks_epsilon)


def rdp_to_epsilon(alpha: ArrayLike, rdp: ArrayLike, delta: ArrayLike) -> Any:
    """The smallest epsilon that follows from D_alpha(P||Q) <= rdp for one ordered pair. See `rdp_to_delta` for mechanisms.

    The worst mechanism has two outputs: epsilon is the largest log((p - delta) / q) over probabilities p > q whose
    Rényi divergence is at most rdp. Computed from above, by the dual problem, to about 1e-13 relative.

    Parameters
    ----------
    alpha, rdp, delta : as in `rdp_to_epsilon_mironov`.

    References
    ----------
    Asoodeh, Liao, Calmon, Kosut and Sankar (2021), Three Variants of Differential Privacy; solved here in its two-point
    form (data processing on the test that attains delta), a convex problem.

    >>> epsilon = rdp_to_epsilon(2, 0.5, 0.02528402214627233)
    >>> round(epsilon, 10)
    2.0
    """
    return _one_order(alpha, rdp, delta, _optimal_epsilon)


def rdp_to_delta_mironov(alpha: ArrayLike, rdp: ArrayLike, epsilon: ArrayLike) -> Any:
    """A delta at which every (alpha, rdp)-RDP mechanism is (epsilon, delta)-DP: e**((alpha-1)(rdp-epsilon)). Loose.

    >>> round(rdp_to_delta_mironov(2, 0.5, 2.0), 12)
    0.223130160148
    """
    return _one_order_delta(alpha, rdp, epsilon, _mironov_log_delta)


def rdp_to_delta_cks(alpha: ArrayLike, rdp: ArrayLike, epsilon: ArrayLike) -> Any:
    """Mironov's delta times (1 - 1/alpha)**alpha / (alpha - 1). Upper bound, better; inverse of `rdp_to_epsilon_cks`.

    >>> round(rdp_to_delta_cks(2, 0.5, 2.0), 12)
    0.055782540037
    """
    return _one_order_delta(alpha, rdp, epsilon, _cks_log_delta)


def rdp_to_delta(alpha: ArrayLike, rdp: ArrayLike, epsilon: ArrayLike) -> Any:
    """The smallest delta that follows from D_alpha(P||Q) <= rdp for one ordered pair. Upper bound for mechanisms.

    The largest p - e**epsilon q over probabilities p > q whose Rényi divergence is at most rdp: Asoodeh et al. (2021). Exact
    for ordered pairs. Where the best p + q is at most 1, as at any delta small against 1/alpha, the swapped pair keeps the
    bound too, and it is exact for mechanisms.

    >>> round(rdp_to_delta(2, 0.5, 2.0), 12)
    0.025284022146
    """
    return _one_order_delta(alpha, rdp, epsilon, _optimal_log_delta)


def _checked_order(alpha: ArrayLike, rdp: ArrayLike) -> tuple[FloatArray, FloatArray]:
    alpha = at_least("alpha", alpha, 1.0)
    if np.any(alpha == 1):
        raise fail("alpha", alpha, "above 1 (order 1, the mean loss, gives no epsilon)")
    return alpha, nonnegative("rdp", rdp)


def _one_order(alpha, rdp, delta, bound) -> Any:
    alpha, rdp = _checked_order(alpha, rdp)
    return plain(checked_epsilon(*np.broadcast_arrays(alpha, rdp, probability("delta", delta)), bound))


def checked_epsilon(alpha: FloatArray, rdp: FloatArray, delta: FloatArray, bound: Callable) -> FloatArray:
    """What a bound of the next lines gives for checked arrays of one shape, its ends decided."""
    epsilon = np.where(np.isinf(alpha), rdp, np.inf)
    epsilon[(rdp == 0) | (delta == 1)] = 0.0
    inside = np.isfinite(alpha) & np.isfinite(rdp) & (rdp > 0) & (delta > 0) & (delta < 1)
    if inside.any():
        epsilon[inside] = np.maximum(bound(alpha[inside] - 1, rdp[inside], np.log(delta[inside])), 0.0)
    return epsilon


def _one_order_delta(alpha, rdp, epsilon, log_bound) -> Any:
    alpha, rdp = _checked_order(alpha, rdp)
    return plain(checked_delta(*np.broadcast_arrays(alpha, rdp, nonnegative("epsilon", epsilon)), log_bound))


def checked_delta(alpha: FloatArray, rdp: FloatArray, epsilon: FloatArray, log_bound: Callable) -> FloatArray:
    """The same for delta."""
    with np.errstate(invalid="ignore"):  # inf - inf, decided in the next lines
        log_delta = np.where(np.isinf(alpha), log1mexp(np.minimum(epsilon - rdp, 0.0)), 0.0)
    log_delta[(rdp == 0) | np.isinf(epsilon)] = -np.inf
    inside = np.isfinite(alpha) & np.isfinite(rdp) & (rdp > 0) & np.isfinite(epsilon)
    if inside.any():
        log_delta[inside] = np.minimum(log_bound(alpha[inside] - 1, rdp[inside], epsilon[inside]), 0.0)
    return np.exp(log_delta)


# The bounds themselves, for 0 < t = alpha - 1 < inf, 0 < g = rdp < inf and 0 < delta < 1.
def _mironov_epsilon(t, g, log_delta):
    return g - log_delta / t


def _cks_epsilon(t, g, log_delta):
    return g - (log_delta + np.log1p(t)) / t - np.log1p(1 / t)


def _mironov_log_delta(t, g, epsilon):
    return t * (g - epsilon)


def _cks_log_delta(t, g, epsilon):
    return t * (g - epsilon) - t * np.log1p(1 / t) - np.log1p(t)


# The optimal conversion is a convex problem: of all pairs p = P(S), q = Q(S) with p**alpha q**-t + (1-p)**alpha (1-q)**-t at
# most B = e**(t rdp), t = alpha - 1, the largest p - e**epsilon q. x**alpha lies above its tangents, so the two terms of the
# constraint lie above alpha s**t p - t s**alpha q and alpha r**t (1-p) - t r**alpha (1-q), whatever s > r > 0. Multiplied
# by 1 / (alpha (s**t - r**t)) and added they give, for every p and q,
#     p - e**epsilon q <= delta = (B - alpha r**t + t r**alpha) / (alpha (s**t - r**t))
# where e**epsilon = (t / alpha) (s**alpha - r**alpha) / (s**t - r**t). So each r makes a true bound, r = 0 that of Canonne,
# Kamath and Steinke, and the least of them is the optimum (strong duality). There p / q = s and (1-p) / (1-q) = r, hence
# 1 - r = delta (s - r) / (s - e**epsilon): iterated from r = 1 - alpha delta, which is it for small delta. Where
# alpha delta >= 1 the optimum has p = 1, and delta is 1 - e**(epsilon - rdp).
def _optimal(t: float, rdp: float, log_delta: float) -> tuple[float, float]:
    """(epsilon, its derivative by log delta)."""
    alpha, delta = t + 1, exp(log_delta)
    if alpha * delta >= 1:
        return rdp + log1p(-delta), -delta / (1 - delta)
    rho = -log1p(-alpha * delta) if t * alpha * delta < 0.1 else 0.0  # -log r
    low, high, before = 0.0, 700.0, None
    for _ in range(100):
        w = -expm1(-rho)
        room = max(t * rdp + (t * rho - log1p(t * w)) + 4e-16 * t * rho, 1e-300)  # log(B / (alpha r**t - t r**alpha)), rounded up
        x = t * (rdp + rho) + log(-expm1(-room)) - log(alpha) - log_delta  # log((s / r)**t - 1)
        far = x + log1p(exp(-x)) if x > 0 else log1p(exp(x))  # t log(s / r)
        gap = log(expm1(-alpha * far / t) / expm1(-far)) - log1p(1 / t)  # epsilon - log s, below 0
        epsilon, slope = far / t - rho + gap, -expm1(-gap)
        step = delta * expm1(-far / t) / expm1(min(gap, -1e-16)) - w  # what 1 - r should be, less what it is
        gain = t * exp(min(rho - x, 700.0)) * -slope * step * step  # of one more turn, times delta, near the optimum
        if (t + exp(rho)) * abs(step) < 0.1 and gain <= 1e-14 * delta * abs(epsilon):
            break
        low, high = (rho, high) if step > 0 else (low, rho)
        if before is None or step == before[1]:
            new = -log1p(-w - step) if w + step < 1 else high
        else:  # secant
            new = rho - step * (rho - before[0]) / (step - before[1])
        before, rho = (rho, step), new if low < new < high else (low + high) / 2
    return epsilon, slope


def _optimal_log_delta_at(t: float, rdp: float, epsilon: float) -> float:
    if epsilon + log1p(1 / t) <= rdp:
        return log(-expm1(epsilon - rdp)) if epsilon < rdp else -inf
    # Newton's method from the asymptote for small delta; in the end the error is a millionth of the last step squared.
    quick = float(_cks_log_delta(t, rdp, epsilon))
    log_delta = min(quick + log(-expm1(-max(t * rdp, 1e-300))), -log1p(t))
    for _ in range(100):
        value, slope = _optimal(t, rdp, log_delta)
        step = (epsilon - value) / min(slope, -1e-300)
        log_delta = min(log_delta + step, log_delta / 2)
        if abs(step) <= 1e-6:
            return min(log_delta, quick)
    return quick


_epsilons, _log_deltas = np.frompyfunc(lambda *order: _optimal(*order)[0], 3, 1), np.frompyfunc(_optimal_log_delta_at, 3, 1)


@np.errstate(over="ignore", invalid="ignore")  # orders far out
def _optimal_epsilon(t, g, log_delta):
    return np.asarray(_epsilons(t, g, log_delta), dtype=float)


@np.errstate(over="ignore", invalid="ignore")
def _optimal_log_delta(t, g, epsilon):
    return np.asarray(_log_deltas(t, g, epsilon), dtype=float)


TO_EPSILON = {"mironov": _mironov_epsilon, "cks": _cks_epsilon, "optimal": _optimal_epsilon}
TO_DELTA = {"mironov": _mironov_log_delta, "cks": _cks_log_delta, "optimal": _optimal_log_delta}
