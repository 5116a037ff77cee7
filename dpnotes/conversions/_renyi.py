"""From Rényi divergences, at one order or along a curve, to approximate DP and zCDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, at_least, fail, nonnegative, plain, probability
from dpnotes.privacy_loss._special import exp_minus_line, log1mexp

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
    Rényi divergence is at most rdp. Computed to about 1e-13 relative.

    Parameters
    ----------
    alpha, rdp, delta : as in `rdp_to_epsilon_mironov`.

    References
    ----------
    Asoodeh, Liao, Calmon, Kosut and Sankar (2021), Three Variants of Differential Privacy; solved here by its two-point
    form (data processing on the test that attains delta).

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


# The two-point problem. p is the probability of the test's event on the true data, q on the neighbor; l = log(p/q) and
# m = log((1-p)/(1-q)) are its two losses. The order's budget says p e**(t l) + (1-p) e**(t m) = e**(t rdp), t = alpha - 1.
def _budget_loss(log_p: FloatArray, t: FloatArray, rdp: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The losses (l, m) of the pair that uses up the budget with P-probability p of the event: l by Newton from above."""
    p = np.exp(log_p)
    odds, log_rest = p / -np.expm1(log_p), log1mexp(log_p)
    # Start at or above the root, where the first term alone uses up the budget (by itself, or as p (tl)**2 / 2).
    with np.errstate(over="ignore", divide="ignore"):
        loss = np.minimum(rdp - log_p / t, np.sqrt(2 * np.expm1(np.minimum(t * rdp, 600.0)) / p) / t)
    for _ in range(200):
        other = -np.log1p(odds * -np.expm1(-loss))
        moment = np.logaddexp(log_p + t * loss, log_rest + t * other)
        # The moment is 1 + p (e**(tl) - 1 - tl + t (e**-l - 1 + l)) + the same for the rest: no cancellation near 0.
        near = (t * loss < 0.5) & (-t * other < 0.5)
        if near.any():
            s, l, m = t[near], loss[near], other[near]
            sl, sm, l, m = exp_minus_line(np.stack([s * l, s * m, -l, -m]))
            moment[near] = np.log1p(p[near] * (sl + s * l) - np.expm1(log_p[near]) * (sm + s * m))
        slope = t * np.exp(log_p + t * loss - moment) * -np.expm1((t + 1) * (other - loss))
        over = moment - t * rdp
        step = over / np.maximum(slope, 1e-300)
        loss = np.maximum(loss - np.maximum(step, 0.0), loss / 4)
        if np.all((step <= 1e-9 * loss) | (over <= 1e-15)):  # Newton squares the error: the last step that matters, or noise
            break
    return loss, -np.log1p(odds * -np.expm1(-loss))


def _tangent(t, loss, other):
    """log of (alpha/t) (1 - e**(t d)) / (1 - e**(alpha d)), d = m - l < 0: where the budget's slope meets the test's."""
    d = other - loss
    return np.log1p(1 / t) + log1mexp(t * d) - log1mexp((t + 1) * d)


def _root(function, low: FloatArray, high: FloatArray) -> FloatArray:
    """Roots of increasing functions, one an entry: false position (Illinois) and halving in turn. The optima are flat there."""
    at_low, at_high = function(low), function(high)
    for turn in range(80):
        middle = (low + high) / 2
        if turn % 3 < 2:
            with np.errstate(invalid="ignore", divide="ignore"):
                secant = (low * at_high - high * at_low) / (at_high - at_low)
            middle = np.where((secant > low) & (secant < high), secant, middle)
        value = function(middle)
        left = value < 0
        low, at_low = np.where(left, middle, low), np.where(left, value, at_low / 2)
        high, at_high = np.where(left, high, middle), np.where(left, at_high / 2, value)
        if np.all((np.abs(value) < 1e-8) | (high - low < 1e-8)):
            break
    return middle


def _optimal_epsilon(t: FloatArray, rdp: FloatArray, log_delta: FloatArray) -> FloatArray:
    # p = delta (1 + e**u). At the best u, e**u (e**tangent - 1) = 1; there u >= log t, with equality for a large budget.
    top = np.log(np.expm1(-log_delta))
    certain = log1mexp(log_delta) + rdp  # the event is sure on the true data, p = 1
    inside = np.log(t) < top - 1e-9
    if not inside.any():
        return certain
    t, rdp, log_delta, top = t[inside], rdp[inside], log_delta[inside], top[inside]

    def losses(u):
        return _budget_loss(np.minimum(log_delta + np.logaddexp(0.0, u), -1e-16), t, rdp)

    def condition(u):
        return u + np.log(np.maximum(np.expm1(_tangent(t, *losses(u))), 1e-300))

    u = _root(condition, np.log(t), top - 1e-10 * (top - np.log(t)))
    epsilon = certain
    epsilon[inside] = np.maximum(epsilon[inside], losses(u)[0] - np.logaddexp(0.0, -u))
    return epsilon


def _optimal_log_delta(t: FloatArray, rdp: FloatArray, epsilon: FloatArray) -> FloatArray:
    # delta = p (1 - e**(epsilon - l)); at the best p, l = epsilon + tangent.
    widest = epsilon + np.log1p(1 / t)
    log_delta = log1mexp(np.minimum(epsilon - rdp, 0.0))  # p = 1
    budget = t * rdp + log1mexp(-t * rdp)  # log(e**(t rdp) - 1)
    low = np.minimum(budget - t * widest, -1e-9)
    inside = widest > rdp + 1e-12
    if inside.any():
        t, rdp, epsilon, low = t[inside], rdp[inside], epsilon[inside], low[inside]
        log_p = _root(lambda x: epsilon + _tangent(t, *_budget_loss(x, t, rdp)) - _budget_loss(x, t, rdp)[0], low,
                      np.full(low.shape, -1e-12))
        value = log_p + log1mexp(np.minimum(epsilon - _budget_loss(log_p, t, rdp)[0], 0.0))
        log_delta[inside] = np.maximum(log_delta[inside], value)
    return log_delta


TO_EPSILON = {"mironov": _mironov_epsilon, "cks": _cks_epsilon, "optimal": _optimal_epsilon}
TO_DELTA = {"mironov": _mironov_log_delta, "cks": _cks_log_delta, "optimal": _optimal_log_delta}
