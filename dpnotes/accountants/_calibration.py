"""How much noise, how large a sample, how many runs: the numerical accountant read backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpnotes._validate import count, fail, nonnegative, positive, probability, scalar
from dpnotes.accountants._numerical import NumericalAccountant
from dpnotes.privacy_loss import GaussianLoss, PoissonGaussianLoss

AIM = -3e-11  # how far below the target the logarithm of delta is meant to end


def _target(epsilon: float, delta: float) -> tuple[float, float]:
    epsilon, delta = scalar("epsilon", nonnegative("epsilon", epsilon)), scalar("delta", probability("delta", delta))
    if np.isinf(epsilon):
        raise fail("epsilon", epsilon, "finite")
    if not 0 < delta < 1:
        raise fail("delta", delta, "between 0 and 1, both excluded")
    return epsilon, float(np.log(delta))


def _gap(mechanism: Any, times: int, epsilon: float, log_delta: float, whole: bool = True) -> float:
    """How far log delta is above the target, by its certified upper bound; at most 0 keeps the promise.

    Not `whole`: in the first direction only.
    """
    ledger = NumericalAccountant().add(mechanism, times)
    readings = ledger if whole else next(iter(ledger.privacy_losses().values()))
    return max(float(readings.log_delta_bounds(epsilon)[1]), -1e6) - log_delta


def _last_good(gap: Callable[[float], float], good: float, bad: float, gap_good: float, gap_bad: float) -> float:
    """Between a log-parameter that keeps the promise and one that breaks it: as far from `good` as the promise still holds.

    The parameter as a function of the gap is interpolated through the last two or three points and read just below 0,
    at `AIM`; where that leaves the bracket, the middle is tried. Always returns a point at which `gap` was seen to be <= 0.
    """
    tried = [(gap_good, good), (gap_bad, bad)]
    for _ in range(80):
        if abs(bad - good) <= 1e-12 * max(1.0, abs(good)) or 3 * AIM < gap_good <= 0:
            break
        step = _interpolate(tried[-3:], AIM)
        width = abs(tried[-1][1] - tried[-2][1])
        if not (min(good, bad) < step < max(good, bad) and abs(step - tried[-1][1]) < width):
            step = (good + bad) / 2
        value = gap(step)
        good, bad, gap_good = (step, bad, value) if value <= 0 else (good, step, gap_good)
        tried.append((value, step))
    return good


def _interpolate(points: list[tuple[float, float]], at: float) -> float:
    """The polynomial through these points (Lagrange), or NaN where two places agree."""
    places = [place for place, _ in points]
    if len(set(places)) < len(places):
        return np.nan
    return sum(value * np.prod([(at - other) / (place - other) for other in places if other != place]) for place, value in points)


def _search(gap: Callable[[float], float], start: float, sign: int, limit: float) -> float:
    """The smallest (sign 1) or largest (sign -1) log-parameter with gap <= 0, from a start, within +-limit of it."""
    here, step = start, 0.03
    here_gap = gap(here)
    good = here_gap <= 0
    while True:
        there = here - sign * step if good else here + sign * step
        if abs(there - start) > limit:
            return np.nan
        there_gap = gap(there)
        if (there_gap <= 0) != good:
            break
        here, here_gap, step = there, there_gap, 3 * step
    ends = (here, there, here_gap, there_gap) if good else (there, here, there_gap, here_gap)
    return _last_good(gap, *ends)


def sigma_for(epsilon: float, delta: float, *, q: float = 1.0, times: int = 1, sensitivity: float = 1.0) -> float:
    """The least noise with which `times` Gaussian steps on Poisson samples are (epsilon, delta)-DP.

    Rounded up: at the sigma returned the certified upper bound keeps the promise. Its excess over the exact value is of the
    size of that bound's width, about 1e-9 or less.

    Parameters
    ----------
    epsilon, delta : the target, epsilon >= 0, delta strictly between 0 and 1.
    q : sampling rate in [0, 1]; 1 is the plain Gaussian. The expected batch over the number of records.
    times : number of steps.
    sensitivity : L2 sensitivity of one step; sigma scales with it.

    >>> round(sigma_for(1.0, 1e-5), 9)
    3.730631635
    """
    epsilon, log_delta = _target(epsilon, delta)
    q, times = scalar("q", probability("q", q)), count("times", times)
    sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
    if q == 0 or times == 0:
        return 0.0

    last: dict[float, Any] = {}  # its moments serve again

    def gap(log_sigma: float, whole: bool = True) -> float:
        if log_sigma not in last:
            last.clear()
            last[log_sigma] = PoissonGaussianLoss(q, 1 / np.exp(log_sigma))
        return _gap(last[log_sigma], times, epsilon, log_delta, whole)

    if np.log(q) <= log_delta and times == 1 and gap(-100.0) <= 0:
        return 0.0
    start = _limit(epsilon, log_delta, q, times)
    found = _search(lambda log_sigma: gap(log_sigma, whole=False), start, 1, 60.0)
    if not (np.isfinite(found) and gap(found) <= 0):  # the other direction counts
        found = _search(gap, start, 1, 60.0)
    if not np.isfinite(found):
        raise fail("epsilon", epsilon, "small enough for a noise that a float can hold")
    return sensitivity * float(np.exp(found))


def _limit(epsilon: float, log_delta: float, q: float, times: int) -> float:
    """log sigma by the central limit theorem: the place to start from."""
    low, high = -20.0, 20.0
    for _ in range(24):  # the mu that gives epsilon at delta
        middle = (low + high) / 2
        low, high = (middle, high) if GaussianLoss(np.exp(middle)).log_delta(epsilon) <= log_delta else (low, middle)
    square = np.exp(2 * low) / times
    return float(-0.5 * np.log(square if q == 1 else np.log1p(square / q**2)))


def q_for(epsilon: float, delta: float, *, sigma: float, times: int = 1, sensitivity: float = 1.0) -> float:
    """The largest sampling rate with which `times` Gaussian steps on Poisson samples are (epsilon, delta)-DP. Rounded down."""
    epsilon, log_delta = _target(epsilon, delta)
    mu = scalar("sensitivity", positive("sensitivity", sensitivity)) / scalar("sigma", positive("sigma", sigma))
    times = count("times", times)

    def gap(log_q: float) -> float:
        return _gap(PoissonGaussianLoss(min(np.exp(log_q), 1.0), mu), times, epsilon, log_delta)

    if gap(0.0) <= 0:
        return 1.0
    low = -1.0
    while gap(low) > 0:
        low *= 2
        if low < -700:
            return 0.0
    high = low / 2 if low < -1 else 0.0
    return float(np.exp(_last_good(gap, low, high, gap(low), gap(high))))


def times_for(epsilon: float, delta: float, mechanism: Any, *, most: int = 10**9) -> int:
    """The largest number of independent runs of `mechanism` that is (epsilon, delta)-DP, at most `most`. Rounded down.

    mechanism : a PrivacyLoss or anything with privacy_losses().
    """
    epsilon, log_delta = _target(epsilon, delta)
    most = count("most", most)

    def good(times: int) -> bool:
        return _gap(mechanism, times, epsilon, log_delta) <= 0

    if good(most):
        return most
    low, high = 0, 1
    while high < most and good(high):
        low, high = high, min(4 * high, most)
    while high - low > 1:
        middle = round((low * high) ** 0.5) if low > 16 else (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (middle, high) if good(middle) else (low, middle)
    return low
