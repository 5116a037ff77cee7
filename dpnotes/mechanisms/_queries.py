"""What a release needs besides noise: clamping, sums, means, variances, histograms, quantiles, and their sensitivities.

The private versions are made for real data: every record is rounded to a public grid of 2**20 steps, sums are whole
numbers, and the noise is the exact discrete Laplace. (The quantile's position within its interval is a float.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, count, fail, finite, generator, nonnegative, positive, probability, scalar
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism, neighbor_relation
from dpnotes.mechanisms._discrete import MOST_STEPS, DiscreteLaplace
from dpnotes.mechanisms._selection import ExponentialMechanism

STEPS = 2**20
LARGEST_BOUND = 1e150  # of records whose mean or variance is released


class Released(NamedTuple):
    """An answer, the mechanisms that were run for it (enter each into a ledger), and what was done to it afterwards."""

    value: Any
    mechanisms: tuple[Mechanism, ...]
    note: str = ""


def _bounds(lower: float, upper: float, most: float = np.inf) -> tuple[float, float]:
    lower, upper = scalar("lower", finite("lower", lower)), scalar("upper", finite("upper", upper))
    for name, bound in (("lower", lower), ("upper", upper)):
        if abs(bound) > most:
            raise fail(name, bound, f"between {-most:g} and {most:g}, so that noisy sums and squares are finite")
    if not lower < upper:
        raise fail("upper", upper, f"above lower, {lower:g}")
    if not np.isfinite(upper - lower):
        raise fail("upper", upper, f"a finite distance above lower, {lower:g}: upper - lower overflows")
    return lower, upper


def _records(values: ArrayLike) -> FloatArray:
    values = finite("values", values)
    if values.ndim != 1:
        raise fail("values", values, "a one-dimensional array, one number for each record")
    return values


def clamp(values: ArrayLike, lower: float, upper: float) -> FloatArray:
    """Every value moved into [lower, upper]. The bounds must not depend on the data.

    >>> clamp([-3, 0.5, 7], 0, 1)
    array([0. , 0.5, 1. ])
    """
    return np.clip(finite("values", values), *_bounds(lower, upper))


def bounded_sum(values: ArrayLike, lower: float, upper: float) -> float:
    """The sum of the clamped values, in 64-bit floating point whatever the type of the values. No noise."""
    return float(clamp(_records(values), lower, upper).sum())


def sum_sensitivity(lower: float, upper: float, *, neighbors: str = NEIGHBORS[0]) -> float:
    """The most that one change moves `bounded_sum`. Exact.

    Adding or removing a record of value x in [lower, upper] moves the sum by |x|, at most max(|lower|, |upper|); replacing x by
    y moves it by |x - y|, at most upper - lower. Both are attained at the bounds.

    >>> sum_sensitivity(-1, 3), sum_sensitivity(-1, 3, neighbors="replace one record")
    (3.0, 4.0)
    """
    lower, upper = _bounds(lower, upper)
    return max(abs(lower), abs(upper)) if neighbor_relation(neighbors) == NEIGHBORS[0] else upper - lower


def mean_sensitivity(lower: float, upper: float, n: int) -> float:
    """The most that replacing one of n records moves the mean of the clamped values, n being public. Exact.

    The sum moves by at most upper - lower and n stays. There is no such number under add/remove: with n private, a mean of one
    record moves by half the range when a second one joins, so that noise for 1 / n of the range would betray n.

    >>> mean_sensitivity(0, 10, n=100)
    0.1
    """
    lower, upper = _bounds(lower, upper)
    return (upper - lower) / count("n", n, 1)


def variance_sensitivity(lower: float, upper: float, n: int) -> float:
    """The most that replacing one of n records moves the variance (divisor n) of the clamped values, n being public. Exact.

    With m the mean of the other n - 1, the variance is theirs times (n - 1) / n plus (n - 1) / n**2 * (x - m)**2. Only the last
    term moves, and (x - m)**2 stays between 0 and (upper - lower)**2, so (n - 1) / n**2 * (upper - lower)**2 bounds the
    change; the others all at one bound and x moving there from the other attain it.

    >>> round(variance_sensitivity(0, 10, n=100), 12)
    0.99
    """
    lower, upper = _bounds(lower, upper)
    n = count("n", n, 1)
    return (n - 1) / n**2 * (upper - lower) ** 2


def histogram_sensitivity(*, norm: int = 1, neighbors: str = NEIGHBORS[0]) -> float:
    """The most that one change moves the vector of counts of disjoint bins, in L1 or L2 norm. Exact.

    Adding or removing a record moves one count by 1; replacing one may move two counts by 1 each: 2 in L1, sqrt(2) in L2.
    """
    moved = 1 if neighbor_relation(neighbors) == NEIGHBORS[0] else 2
    return vector_sensitivity(moved, 1.0, norm=norm)


def vector_sensitivity(entries: int, largest: float, *, norm: int = 1) -> float:
    """From "at most so many entries move, each by at most `largest`" to the L1 norm, entries * largest, or the L2 norm,
    sqrt(entries) * largest. Exact. ValueError where the product overflows.

    >>> vector_sensitivity(4, 0.5, norm=2)
    1.0
    """
    entries, largest = count("entries", entries, 1), scalar("largest", positive("largest", largest))
    if norm not in (1, 2):
        raise fail("norm", norm, "1 or 2")
    with np.errstate(over="ignore"):
        total = float(largest * np.float64(entries) ** (1 / norm))
    if not np.isfinite(total):
        raise fail("largest", largest, f"small enough that {entries} entries have a finite norm")
    return total


def private_histogram(values: ArrayLike, edges: ArrayLike, epsilon: float, *, neighbors: str = NEIGHBORS[0],
                      rng: np.random.Generator | None = None) -> Released:
    """Counts in bins [edge, next edge), the last one closed, with discrete Laplace noise: epsilon-DP.

    The edges, increasing, must not depend on the data; values outside belong to no bin. Counts may come out negative.
    """
    values, edges, rng = _records(values), finite("edges", edges), generator(rng)
    if edges.ndim != 1 or edges.size < 2 or np.any(np.diff(edges) <= 0):
        raise fail("edges", edges, "at least two increasing numbers")
    mechanism = DiscreteLaplace.for_epsilon(epsilon, int(histogram_sensitivity(neighbors=neighbors)), neighbors=neighbors)
    return Released(mechanism.release(np.histogram(values, edges)[0], rng=rng), (mechanism,))


def _moments(values: FloatArray, lower: float, upper: float, powers: int) -> tuple[list[int], list[int], float]:
    """Sums of y and of 2 y**2 - STEPS (`powers` of them), y the clamped value in 1 / STEPS half ranges from the middle; the
    sums' add/remove sensitivities, STEPS each; the half range. y**2 is taken in units of STEPS.
    """
    middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    y = np.clip(np.rint((np.clip(values, lower, upper) - middle) / half * STEPS), -STEPS, STEPS).astype(np.int64)
    square = 2 * ((y * y + STEPS // 2) // STEPS) - STEPS
    return [int(part.sum()) for part in (y, square)][:powers], [STEPS] * powers, half


def _public_size(values: FloatArray, n: int) -> int:
    if count("n", n, 1) != values.size:
        raise fail("n", n, f"the number of records, {values.size}; leave it out where that number is private")
    return n


def private_sum(values: ArrayLike, lower: float, upper: float, epsilon: float, *, neighbors: str = NEIGHBORS[0],
                rng: np.random.Generator | None = None) -> Released:
    """The sum of the clamped values with discrete Laplace noise on a grid: epsilon-DP. See `sum_sensitivity`."""
    values, rng, (lower, upper) = _records(values), generator(rng), _bounds(lower, upper)
    if not np.isfinite(max(abs(lower), abs(upper)) * max(values.size, 1) * 2):
        raise fail("upper", upper, "small enough that the sum of all records is a finite number")
    unit = sum_sensitivity(lower, upper) / STEPS
    steps = np.rint(np.append(np.clip(values, lower, upper), [lower, upper]) / unit).astype(np.int64)
    # Rounding keeps the order, so that no two records are further apart than the two bounds.
    sensitivity = STEPS if neighbor_relation(neighbors) == NEIGHBORS[0] else _roomy(int(steps[-1] - steps[-2]))
    mechanism = DiscreteLaplace.for_epsilon(epsilon, sensitivity, neighbors=neighbors)
    return Released(float(mechanism.release(int(steps[:-2].sum()), rng=rng)) * unit, (mechanism,))


def _roomy(sensitivity: int) -> int:
    """Rounded up by less than one part in 5000, to a number of steps that a privacy loss can be thinned to."""
    k = 1
    while sensitivity > MOST_STEPS * k:
        k *= 2
    return -(-sensitivity // k) * k


def private_mean(values: ArrayLike, lower: float, upper: float, epsilon: float, *, n: int | None = None,
                 rng: np.random.Generator | None = None) -> Released:
    """The mean of the clamped values: epsilon-DP.

    Parameters
    ----------
    lower, upper : bounds that do not depend on the data; the answer is clamped to them, too.
    n : the number of records where it is public; the neighbors then replace one record, and the noise is for a sensitivity of
        (upper - lower) / n. Left out, it is private and the neighbors add or remove one: the answer is a noisy sum (of
        distances from the middle, at most half the range) over a noisy count, epsilon / 2 each.
    """
    values, rng, (lower, upper) = _records(values), generator(rng), _bounds(lower, upper, LARGEST_BOUND)
    (total,), (sensitivity,), half = _moments(values, lower, upper, 1)
    if n is not None:
        mechanism = DiscreteLaplace.for_epsilon(epsilon, 2 * sensitivity, neighbors=NEIGHBORS[1])
        size, mechanisms = _public_size(values, n), (mechanism,)
        noisy = mechanism.release(total, rng=rng)
    else:
        epsilon = scalar("epsilon", positive("epsilon", epsilon))
        mechanisms = tuple(DiscreteLaplace.for_epsilon(epsilon / 2, s) for s in (sensitivity, 1))
        noisy, size = (m.release(exact, rng=rng) for m, exact in zip(mechanisms, (total, values.size), strict=True))
        size = max(size, 1)
    mean = lower / 2 + upper / 2 + noisy / STEPS * half / size
    return Released(*_into(mean, lower, upper, "mean", mechanisms))


def private_variance(values: ArrayLike, lower: float, upper: float, epsilon: float, *, n: int | None = None,
                     rng: np.random.Generator | None = None) -> Released:
    """The variance (divisor n) of the clamped values: epsilon-DP.

    Parameters
    ----------
    lower, upper : bounds that do not depend on the data.
    n : as for `private_mean`. Public: noise for the sensitivity (n - 1) / n**2 * (upper - lower)**2. Private: noisy sums of the
        values and of their squares and a noisy count, epsilon / 3 each.

    A noisy variance outside [0, (upper - lower)**2 / 4] is moved to the nearer end, and the note says so.
    """
    values, rng, (lower, upper) = _records(values), generator(rng), _bounds(lower, upper, LARGEST_BOUND)
    sums, sensitivities, half = _moments(values, lower, upper, 2)
    if n is not None:
        n = _public_size(values, n)
        # In whole steps of half**2 / STEPS; rounding to them moves two answers apart by at most one step.
        steps = round(float(np.var(np.clip(values, lower, upper))) / half**2 * STEPS)
        mechanism = DiscreteLaplace.for_epsilon(epsilon, _roomy(4 * (n - 1) * STEPS // n**2 + 2), neighbors=NEIGHBORS[1])
        variance, mechanisms = mechanism.release(steps, rng=rng) / STEPS * half**2, (mechanism,)
    else:
        epsilon = scalar("epsilon", positive("epsilon", epsilon))
        mechanisms = tuple(DiscreteLaplace.for_epsilon(epsilon / 3, s) for s in (*sensitivities, 1))
        first, second, size = (m.release(exact, rng=rng) for m, exact in zip(mechanisms, (*sums, values.size), strict=True))
        size = max(size, 1)
        variance = half**2 * ((second / STEPS / size + 1) / 2 - (first / STEPS / size) ** 2)
    return Released(*_into(variance, 0.0, half**2, "variance", mechanisms))


def _into(value: float, lower: float, upper: float, name: str, mechanisms: tuple) -> tuple[float, tuple, str]:
    if lower <= value <= upper:
        return value, mechanisms, ""
    nearest = min(max(value, lower), upper)
    return nearest, mechanisms, f"the noisy {name}, {value:.6g}, lies outside [{lower:g}, {upper:g}]; reported as {nearest:g}"


def private_quantile(values: ArrayLike, level: float, lower: float, upper: float, epsilon: float, *, width: float = 0.0,
                     neighbors: str = NEIGHBORS[0], rng: np.random.Generator | None = None) -> Released:
    """A number near the quantile of the clamped values, by the exponential mechanism: epsilon-DP.

    The utility of a number x in [lower, upper] is -|number of values below x - level n|. One change moves it by at most
    max(level, 1 - level) under add/remove (the number below moves by 0 or 1 and level n by level), by at most 1 under
    replace. Between two neighboring values the utility is constant: draw an interval, by its length times
    e**(epsilon utility / (2 sensitivity)), then a point in it uniformly.

    Equal values leave no interval between them. Where many records share the values around the quantile (ages in years, prices),
    the good answers have length 0 and are never drawn: what comes out is then little more than noise between the bounds. `width`
    mends that: k records with the same value are taken to lie at (i - 1/2) / k of an interval of that width around it,
    i = 1 ... k. A further record raises the number of them below any x from floor(k u + 1/2) to floor((k + 1) u + 1/2) with u
    in [0, 1], by 0 or 1, so that the sensitivity stays; the answer is off by up to half the width.

    Parameters
    ----------
    level : 0 to 1; 0.5 is the median.
    lower, upper : bounds that do not depend on the data.
    width : over which equal values are spread, at least 0; fixed without the data, such as 1 for whole numbers.

    References
    ----------
    Smith (2011), Privacy-preserving Statistical Estimation with Optimal Convergence Rates, for this use of the mechanism.
    """
    values, rng, (lower, upper) = _records(values), generator(rng), _bounds(lower, upper)
    level = scalar("level", probability("level", level))
    sensitivity = max(level, 1 - level) if neighbor_relation(neighbors) == NEIGHBORS[0] else 1.0
    mechanism = ExponentialMechanism(epsilon, sensitivity, neighbors=neighbors)
    width = scalar("width", nonnegative("width", finite("width", width)))
    ends = np.concatenate([[lower], np.clip(_spread(values, width), lower, upper), [upper]])
    utilities = -np.abs(np.arange(values.size + 1) - level * values.size)
    place = mechanism.release(utilities, np.diff(ends), rng=rng)
    return Released(float(rng.uniform(ends[place], ends[place + 1])), (mechanism,))


def _spread(values: FloatArray, width: float) -> FloatArray:
    """The values with equal ones spread evenly over `width` around them, in rising order."""
    counts = np.unique(values, return_counts=True)[1]
    ordered, k = np.sort(values), np.repeat(counts, counts)
    rank = np.arange(values.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(ordered + ((rank + 0.5) / k - 0.5) * width)
