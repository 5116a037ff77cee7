"""From a whole Rényi curve to approximate DP and zCDP: the best order, found without a grid to fall off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, at_least, fail, nonnegative, plain, probability, scalar
from dpnotes.conversions._renyi import TO_DELTA, TO_EPSILON, Curve
from dpnotes.privacy_loss._special import log1mexp


def rdp_curve_to_epsilon(curve: Curve, delta: ArrayLike, conversion: str = "optimal", *, orders: Sequence[float] = ()) -> Any:
    """The smallest epsilon that any order of a Rényi curve gives at `delta`. Upper bound.

    The best order is found on the whole half-line above 1, infinity included, but for about 1e-9 of epsilon.

    Parameters
    ----------
    curve : function from an array of orders, above 1 or inf, to Rényi divergences; both directions of the pair apart.
    delta : between 0 and 1, scalar or array.
    conversion : "mironov", "cks" or "optimal", from loose to tight.
    orders : orders to try besides, where the curve jumps after them (a bound known at a few orders).

    >>> round(rdp_curve_to_epsilon(lambda alpha: 2.5 * alpha, 1e-6, "mironov"), 10)
    14.2539400024
    """
    delta, conversion = probability("delta", delta), _known(conversion)
    found = [search_epsilon([_read(curve)], float(d), conversion, orders)[1] for d in delta.flat]
    return plain(np.array(found).reshape(delta.shape))


def rdp_curve_to_delta(curve: Curve, epsilon: ArrayLike, conversion: str = "optimal") -> Any:
    """The smallest delta that any order of a Rényi curve gives at `epsilon`. Upper bound.

    >>> round(rdp_curve_to_delta(lambda alpha: alpha / 8, 1.0, "cks"), 10)
    0.0179854482
    """
    epsilon, conversion = nonnegative("epsilon", epsilon), _known(conversion)
    return plain(np.array([search_delta([_read(curve)], float(e), conversion)[1] for e in epsilon.flat]).reshape(epsilon.shape))


def best_order(curve: Curve, delta: float, conversion: str = "optimal") -> float:
    """The order at which `rdp_curve_to_epsilon` ends; inf where pure DP is best."""
    return search_epsilon([_read(curve)], scalar("delta", probability("delta", delta)), _known(conversion))[0]


def _read(curve: Curve) -> Curve:
    """The curve as an array, inf where it gives no divergence."""
    def read(alpha: FloatArray) -> FloatArray:
        rdp = np.broadcast_to(np.asarray(curve(alpha), dtype=float), alpha.shape)
        return np.where(rdp >= 0, rdp, np.inf)

    return read


def _known(conversion: str) -> str:
    if not isinstance(conversion, str) or conversion not in TO_EPSILON:
        raise fail("conversion", conversion, f"one of {', '.join(TO_EPSILON)}")
    return conversion


def search_epsilon(curves: Sequence[Curve], delta: float, conversion: str, orders: Sequence[float] = ()) -> tuple[float, float]:
    """The best order at `delta` and its epsilon, for the curve where that is largest."""
    if delta == 1:
        return np.inf, 0.0
    log_delta = log(delta) if delta > 0 else -np.inf
    order, epsilon = _worst(curves, log_delta, TO_EPSILON, conversion, orders, lambda rdp: rdp, 0.0)
    return order, max(epsilon, 0.0)


def search_delta(curves: Sequence[Curve], epsilon: float, conversion: str, orders: Sequence[float] = ()) -> tuple[float, float]:
    """The best order at `epsilon` and its delta, for the curve where that is largest."""
    if epsilon == np.inf:
        return np.inf, 0.0
    pure = lambda rdp: float(log1mexp(min(epsilon - rdp, 0.0)))  # noqa: E731
    order, log_delta = _worst(curves, epsilon, TO_DELTA, conversion, orders, pure, -746.0)
    return order, exp(min(log_delta, 0.0))


def _worst(curves, target: float, table: dict[str, Callable], conversion: str, orders: Sequence[float],
           pure: Callable[[float], float], enough: float) -> tuple[float, float]:
    bound, quick = table[conversion], table["cks" if conversion == "optimal" else conversion]
    listed = np.array([order for order in orders if 1 < order < np.inf])
    worst = (np.inf, -np.inf)
    for curve in curves:
        order, value = worst
        if value > -np.inf and order < np.inf:  # below at the best order of another curve: no search of its own is needed
            there = float(np.ravel(curve(np.array([order])))[0])
            if there == 0 or (there < np.inf and float(bound(order - 1, there, target)) <= value):
                continue
        found = _best_order(curve, target, bound, quick, pure, enough)
        if len(listed):  # the corners of a curve that is known at these orders only
            values = np.where((rdp := np.asarray(curve(listed))) == 0, -np.inf, bound(listed - 1, rdp, target))
            found = min([found, *zip(listed.tolist(), values.tolist(), strict=True)], key=lambda pair: pair[1])
        worst = max(worst, found, key=lambda pair: pair[1])
    return worst


_FIRST = np.append(1 + 2.0 ** np.arange(-1, 6), np.inf)
_BETWEEN = np.arange(1, 12) / 12
_LN2, _LOWEST, _HIGHEST = log(2), log(1e-12), log(1e280)  # beyond, an order is as good as 1 or inf
_CLOSE = 1e-12  # what the best order may still gain, relative, as far as the last points tell


def _best_order(curve: Curve, target: float, bound: Callable, quick: Callable, pure: Callable[[float], float],
                enough: float) -> tuple[float, float]:
    """(order, value) of the least bound over orders in (1, inf], or any that gives `enough`. In u = log t it falls, then rises.

    The quick bound tells where to begin. Then points are added: beyond the edge while the best is there; at the lowest point of
    the polynomial through the best and its neighbors where that seems good; else all over the gap. Each value is a bound, so
    that a wrong guess only costs sharpness.
    """
    rdp = np.asarray(curve(_FIRST), dtype=float)
    at_infinity = np.inf, pure(float(rdp[-1]))
    if not rdp.all():  # the two laws are one
        return float(_FIRST[np.argmin(rdp)]), -np.inf
    if target == -np.inf or at_infinity[1] <= enough:
        return at_infinity
    u, values = _near(curve, rdp[:-1], lambda t, rdp: quick(t, rdp, target), lambda t, rdp: bound(t, rdp, target))
    points, width, before = list(zip(u, values, strict=True)), np.inf, np.inf
    for turn in range(200):
        i = min(range(len(points)), key=[value for _, value in points].__getitem__)
        here, best = points[i]
        if best <= enough:
            break
        if i == 0:
            step = 3 * (points[1][0] - here)
            new = [u for u in (here - 4 * step, here - 2 * step, here - step) if u > _LOWEST]
        elif i == len(points) - 1:
            step = 3 * (here - points[i - 1][0])
            new = [u for u in (here + step, here + 2 * step, here + 4 * step) if u < _HIGHEST]
        else:
            low, high = points[i - 1][0], points[i + 1][0]
            lowest, bend, off = _vertex(points[max(i - 3, 0) : i + 4], points[i - 1 : i + 2])
            gap, moved = high - low, min(off, abs(lowest - before)) if here == before and off < np.inf else off
            if bend * ((lowest - here) ** 2 + moved**2) < _CLOSE * abs(best) or gap < 1e-7:
                break
            if off < gap / 8 and (turn % 4 < 3 or gap < width / 2):
                new, before = [lowest], lowest
            else:
                new, before = [low + gap * k / 8 for k in range(1, 8)], np.inf
            width = gap
            new = [u for u in new if low < u < high and abs(u - here) > 1e-9]
        if not new:
            break
        alpha = 1 + np.exp(new)
        values = bound(alpha - 1, np.asarray(curve(alpha), dtype=float), target)
        points = sorted(points + list(zip(new, values.tolist(), strict=True)))
    return at_infinity if at_infinity[1] <= best else (1 + exp(here), best)


def _near(curve: Curve, rdp: FloatArray, quick: Callable, bound: Callable) -> tuple[list[float], list[float]]:
    """Five points, or fewer at an edge, around the one where the quick bound is least, and the bound there."""
    t = _FIRST[:-1] - 1
    for _ in range(320):
        i = int(np.argmin(quick(t, rdp)))
        if 0 < i < len(t) - 1 or (i and np.isinf(rdp[i])) or not 1e-12 < t[i] < 1e280:
            break
        at, more = (len(t), t[i] * _OUTWARD) if i else (0, t[i] / _OUTWARD[::-1])
        t, rdp = np.insert(t, at, more), np.insert(rdp, at, np.asarray(curve(1 + more), dtype=float))
    if 0 < i < len(t) - 1:
        t = t[i - 1] * (t[i + 1] / t[i - 1]) ** _BETWEEN
        rdp = np.asarray(curve(1 + t), dtype=float)
        i = int(np.argmin(quick(t, rdp)))
    near = slice(max(i - 3, 0), i + 4)
    return np.log(t[near]).tolist(), bound(t[near], rdp[near]).tolist()


_OUTWARD = np.array([2.0, 4.0, 8.0])


def _vertex(five: list[tuple[float, float]], three: list[tuple[float, float]]) -> tuple[float, float, float]:
    """The lowest point of the polynomial through the five, the parabola's bend, and how far its lowest point is off (or inf)."""
    (low, left), (here, best), (high, right) = three
    left, right = (best - left) / (here - low), (right - best) / (high - here)
    bend = (right - left) / (high - low)
    if not 0 < bend < np.inf:
        return here, np.inf, np.inf
    parabola = lowest = (here + low) / 2 - left / (2 * bend)
    x, c = ([pair[k] for pair in five if pair[1] < np.inf] for k in (0, 1))
    for k in range(1, len(x)):  # divided differences
        for i in range(len(x) - 1, k - 1, -1):
            c[i] = (c[i] - c[i - 1]) / (x[i] - x[i - k])
    for _ in range(3):
        value, slope, half = c[-1], 0.0, 0.0
        for center, coefficient in zip(x[-2::-1], c[-2::-1], strict=True):
            at = lowest - center
            half, slope, value = half * at + slope, slope * at + value, value * at + coefficient
        if not half > 0:
            return here, bend, np.inf
        lowest -= slope / (2 * half)
    return (lowest, bend, abs(lowest - parabola)) if low < lowest < high else (here, bend, np.inf)


def rdp_curve_to_zcdp(curve: Curve, *, width: float = 1e-8) -> float:
    """The smallest rho with curve(alpha) <= rho alpha for every order: the supremum of curve(alpha) / alpha. Upper bound.

    Between two orders log E[e**(t L)] lies below its chord, so the supremum is bounded on every interval, and the
    intervals are split until the bound is within `width` of a value taken. Orders above 2**40 count with the curve's value
    at inf or, where that is infinite, with the ratio at 2**40. Where the ratio is flat (a Gaussian's is) splitting stops early,
    within about 1e-6.

    Parameters
    ----------
    curve : function from an array of orders, 1 and inf included, to Rényi divergences, of one pair.
    width : relative width of the bracket.

    References
    ----------
    Bun and Steinke (2016), Definition 1.1.

    >>> from dpnotes.privacy_loss import DiscreteLoss
    >>> pair = DiscreteLoss.from_probabilities([0.999, 0.001], [1 - 1e-6, 1e-6])  # rho is two hundred times the mean loss
    >>> round(pair.mean(), 6)
    0.005909
    >>> round(rdp_curve_to_zcdp(pair.renyi), 4)
    1.1852
    """
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-27, 41)])  # nearer to order 1 the curves' own rounding takes over
    values = np.asarray(curve(1 + ends))
    largest = float(np.ravel(curve(np.array([np.inf])))[0])
    best = float(np.max(values / (1 + ends)))
    if not np.isfinite(best):
        return np.inf
    far = largest / (1 + ends[-1]) if np.isfinite(largest) else 0.0
    upper = best
    low, high, g_low, g_high = ends[:-1], ends[1:], values[:-1], values[1:]
    for _ in range(60):
        bound = _chord_bound(low, high, g_low, g_high)
        upper = max(best, float(np.max(bound, initial=0.0)))
        open_ = bound > best * (1 + width) + 1e-300
        if not open_.any() or open_.sum() > 20_000:
            break
        low, high, g_low, g_high = (a[open_] for a in (low, high, g_low, g_high))
        middle = 1 + np.where(low > 0, np.sqrt(low * high), high / 4) - 1  # a t that 1 + t holds exactly
        middle = np.where((middle > low) & (middle < high), middle, high)
        g_middle = np.asarray(curve(1 + middle))
        best = max(best, float(np.max(g_middle / (1 + middle))))
        low, high, g_low, g_high = (np.concatenate(pair) for pair in
                                    ((low, middle), (middle, high), (g_low, g_middle), (g_middle, g_high)))
    return max(best * (1 + width), upper, far) if best > 0 else 0.0


def _chord_bound(low, high, g_low, g_high) -> FloatArray:
    """The largest value of chord(t) / (t (t+1)) on [low, high], for the chord of K(t) = t g(t) between the ends."""
    slope = (high * g_high - low * g_low) / (high - low)
    start = np.maximum(slope * low - low * g_low, 0.0)  # minus the chord's value at t = 0, which is at most 0
    # (slope t - start) / (t (t+1)) is largest where slope t**2 - 2 start t - start = 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        root = (start + np.sqrt(start * (start + slope))) / slope
        top = np.clip(np.where(np.isfinite(root), root, low), low, high)
        ratio = (slope - start / np.where(top > 0, top, 1.0)) / (1 + top)
    return np.where(top > 0, ratio, slope)


def zcdp_to_rdp(rho: ArrayLike, alpha: ArrayLike) -> Any:
    """The Rényi divergence of order alpha of a rho-zCDP mechanism: at most rho alpha. Tight (Gaussian noise attains it).

    >>> zcdp_to_rdp(0.125, 2)
    0.25
    """
    rho, alpha = nonnegative("rho", rho), at_least("alpha", alpha, 1.0)
    with np.errstate(invalid="ignore"):
        return plain(np.where(np.broadcast_to(rho == 0, np.broadcast(rho, alpha).shape), 0.0, rho * alpha))


def zcdp_to_epsilon_bun_steinke(rho: ArrayLike, delta: ArrayLike) -> Any:
    """rho + 2 sqrt(rho log(1/delta)): every rho-zCDP mechanism is (this, delta)-DP. Upper bound, loose; 0 at delta = 1.

    References
    ----------
    Bun and Steinke (2016), Proposition 1.3: Mironov's conversion at its best order, 1 + sqrt(log(1/delta) / rho).

    >>> round(zcdp_to_epsilon_bun_steinke(2.5, 1e-6), 12)
    14.253940002384
    """
    rho, delta = np.broadcast_arrays(nonnegative("rho", rho), probability("delta", delta))
    with np.errstate(divide="ignore", invalid="ignore"):
        epsilon = rho + 2 * np.sqrt(rho * -np.log(delta))
    return plain(np.where((rho == 0) | (delta == 1), 0.0, epsilon))


def zcdp_to_epsilon(rho: ArrayLike, delta: ArrayLike, conversion: str = "optimal") -> Any:
    """An epsilon at which every rho-zCDP mechanism is (epsilon, delta)-DP: the line rho alpha read at its best order.

    With "optimal" no smaller number follows from any one order and ordered pair; with "cks" it is at most 1e-8 or so above
    for small delta.
    Never below 0; inf at delta = 0 unless rho is 0.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Proposition 12 and Corollary 13, for "cks".

    >>> round(zcdp_to_epsilon(2.5, 1e-6, "cks"), 10)
    13.3736522528
    """
    return _over_rho(rho, probability("delta", delta), conversion, rdp_curve_to_epsilon)


def zcdp_to_delta(rho: ArrayLike, epsilon: ArrayLike, conversion: str = "optimal") -> Any:
    """A delta at which every rho-zCDP mechanism is (epsilon, delta)-DP. Upper bound; the inverse of `zcdp_to_epsilon`."""
    return _over_rho(rho, nonnegative("epsilon", epsilon), conversion, rdp_curve_to_delta)


def _over_rho(rho: ArrayLike, target: FloatArray, conversion: str, convert: Callable) -> Any:
    rho, target = np.broadcast_arrays(nonnegative("rho", rho), target)
    pairs = zip(rho.flat, target.flat, strict=True)
    results = [convert(lambda alpha, r=r: zcdp_to_rdp(r, alpha), float(x), conversion) for r, x in pairs]
    return plain(np.array(results, dtype=float).reshape(rho.shape))
