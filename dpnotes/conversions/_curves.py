"""From a whole Rényi curve to approximate DP and zCDP: the best order, found without a grid to fall off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, at_least, fail, nonnegative, plain, probability
from dpnotes.conversions._renyi import TO_DELTA, TO_EPSILON, Curve, checked_delta, checked_epsilon


def rdp_curve_to_epsilon(curve: Curve, delta: ArrayLike, conversion: str = "optimal", *, orders: Sequence[float] = ()) -> Any:
    """The smallest epsilon that any order of a Rényi curve gives at `delta`. Upper bound.

    The best order is found on the whole half-line above 1, infinity included; an order that is off by 1e-6 costs about
    1e-12 of epsilon.

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
    return plain(np.array([search_epsilon(curve, float(d), conversion, orders)[1] for d in delta.flat]).reshape(delta.shape))


def rdp_curve_to_delta(curve: Curve, epsilon: ArrayLike, conversion: str = "optimal") -> Any:
    """The smallest delta that any order of a Rényi curve gives at `epsilon`. Upper bound.

    >>> round(rdp_curve_to_delta(lambda alpha: alpha / 8, 1.0, "cks"), 10)
    0.0179854482
    """
    epsilon, conversion = nonnegative("epsilon", epsilon), _known(conversion)
    return plain(np.array([search_delta(curve, float(e), conversion)[1] for e in epsilon.flat]).reshape(epsilon.shape))


def best_order(curve: Curve, delta: float, conversion: str = "optimal") -> float:
    """The order at which `rdp_curve_to_epsilon` ends; inf where pure DP is best."""
    return search_epsilon(curve, float(probability("delta", delta)), _known(conversion))[0]


def _known(conversion: str) -> str:
    if conversion not in TO_EPSILON:
        raise fail("conversion", conversion, f"one of {', '.join(TO_EPSILON)}")
    return conversion


def search_epsilon(curve: Curve, delta: float, conversion: str, orders: Sequence[float] = ()) -> tuple[float, float]:
    """The best order at `delta`, and its epsilon."""
    return _search(lambda bound: lambda alpha: checked_epsilon(alpha, curve(alpha), np.full(alpha.shape, delta), bound),
                   TO_EPSILON, conversion, orders)


def search_delta(curve: Curve, epsilon: float, conversion: str, orders: Sequence[float] = ()) -> tuple[float, float]:
    """The best order at `epsilon`, and its delta."""
    return _search(lambda bound: lambda alpha: checked_delta(alpha, curve(alpha), np.full(alpha.shape, epsilon), bound),
                   TO_DELTA, conversion, orders)


def _search(objective: Callable, table: dict[str, Callable], conversion: str, orders: Sequence[float]) -> tuple[float, float]:
    found = _search_all(objective, table, conversion)
    if len(orders):  # the corners of a curve that is known at these orders only
        listed = np.array([order for order in orders if order > 1])
        values = objective(table[conversion])(listed)
        found = min([found, *zip(listed.tolist(), values.tolist(), strict=True)], key=lambda pair: pair[1])
    return found


def _search_all(objective: Callable, table: dict[str, Callable], conversion: str) -> tuple[float, float]:
    if conversion != "optimal":
        return _best_order(objective(table[conversion]))
    # The optimal conversion costs more to compute and ends at a similar order: look there, and widen while it pays.
    start = _best_order(objective(table["cks"]))
    if start[1] == 0:
        return start
    center = start[0] - 1 if np.isfinite(start[0]) else 1.0
    return min(_best_order(objective(table["optimal"]), center), start, key=lambda found: found[1])


def _best_order(objective: Callable[[FloatArray], FloatArray], center: float | None = None) -> tuple[float, float]:
    """(order, value) of the smallest objective over orders in (1, inf]. In t = alpha - 1 it falls, then rises."""
    t = 2.0 ** np.arange(-3, 8, 0.5) if center is None else center * 2.0 ** np.array([-1, -0.5, 0, 0.5, 1])
    values = objective(np.append(1 + t, np.inf))
    values, at_infinity = values[:-1], float(values[-1])
    # Widen while the best is at the edge; an order past 1e280 or within 1e-12 of 1 is as good as inf or 1.
    for _ in range(600):
        best = int(np.argmin(values))
        if best == len(t) - 1 and np.isfinite(values[best]) and t[-1] < 1e280:
            t = np.append(t, 4 * t[-1])
            values = np.append(values, objective(1 + t[-1:]))
        elif best == 0 and t[0] > 1e-12:
            t = np.append(t[0] / 4, t)
            values = np.append(objective(1 + t[:1]), values)
        else:
            break
    # The best order lies between its neighbors: try the lowest point of the parabola through the three, in log t, and two more
    # close to it, so that the next three are much closer together. Where they are not (a wall on one side), quarter the gap.
    u, width = np.log(t), np.inf
    for _ in range(80):
        best = int(np.argmin(values))
        low, here, high = u[max(best - 1, 0)], u[best], u[min(best + 1, len(u) - 1)]
        lowest, step, gain = (low + high) / 2, (high - low) / 4, np.inf
        if low < here < high and np.isfinite(values[best - 1] + values[best + 1]):
            left, right = (values[best] - values[best - 1]) / (here - low), (values[best + 1] - values[best]) / (high - here)
            if right > left:
                bend = (right - left) / (high - low)
                vertex = (here + low) / 2 - left / (2 * bend)
                gain = bend * (vertex - here) ** 2
                if high - low < 0.3 * width:
                    lowest, step = vertex, (high - low) / 12
        if high - low < 1e-6 or gain < 1e-13 * abs(values[best]):
            break
        width = high - low if step < (high - low) / 4 else np.inf
        new = np.clip(lowest + step * np.array([-1.0, 0.0, 1.0]), low + step / 8, high - step / 8)
        u, values = np.append(u, new), np.append(values, objective(1 + np.maximum(np.exp(new), 1e-13)))
        order = np.argsort(u)
        u, values = u[order], values[order]
    best = int(np.argmin(values))
    return (np.inf, at_infinity) if at_infinity <= values[best] else (1 + float(np.exp(u[best])), float(values[best]))


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
