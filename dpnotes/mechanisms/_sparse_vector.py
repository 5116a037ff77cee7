"""The sparse vector technique: many questions "is it above the threshold?", and only the yeses cost privacy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import noise
from dpnotes._validate import FloatArray, count, fail, finite, generator, open_probability, scalar
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism, PureMechanism, largest
from dpnotes.mechanisms._panels import log_laplace_cdf, panels
from dpnotes.privacy_loss._special import logsumexp


class SparseVector(PureMechanism):
    """Says for one query after another whether it is above a threshold, and stops after `cutoff` yeses: epsilon-DP.

    The threshold gets Laplace noise once, of scale sensitivity / epsilon_1; every query gets its own, of scale
    2 cutoff sensitivity / epsilon_2, half of that for monotone queries; epsilon_1 + epsilon_2 = epsilon. The answers are
    yes or no: publishing a query's noisy value as well breaks the guarantee (see `dpnotes.mechanisms.broken`).

    The proof in a line: shift the threshold's noise by the sensitivity, which keeps every no and costs e**epsilon_1 however
    many there are; shift the noise of each of the `cutoff` yeses by twice the sensitivity, which costs e**epsilon_2 together.

    Parameters
    ----------
    epsilon : the pure-DP parameter. An upper bound; approached for cutoff = 1 as the number of queries grows.
    cutoff : the number c of yeses after which it stops, at least 1.
    sensitivity : the most that one change of a neighbor moves any one query.
    monotone : True if a change of a neighbor moves all queries the same way (counts under add/remove).
    threshold_share : epsilon_1 / epsilon, between 0 and 1.
    neighbors : the relation under which `sensitivity` was found.

    References
    ----------
    Dwork, Naor, Reingold, Rothblum and Vadhan (2009); in this form, Lyu, Su and Li (2017), Understanding the Sparse Vector
    Technique.

    >>> SparseVector(epsilon=1.0, cutoff=2).release([-100, 100, -100, 100, 100], threshold=0, rng=np.random.default_rng(1))
    array([False,  True, False,  True])
    """

    kinds: ClassVar[dict[str, str]] = dict.fromkeys(Mechanism.kinds, "upper")

    def __init__(self, epsilon: float, cutoff: int = 1, sensitivity: float = 1.0, *, monotone: bool = False,
                 threshold_share: float = 0.5, neighbors: str = NEIGHBORS[0]) -> None:
        super().__init__(epsilon, sensitivity, monotone=monotone, neighbors=neighbors)
        self.cutoff, share = count("cutoff", cutoff, 1), open_probability("threshold_share", threshold_share)
        self.threshold_scale = self.sensitivity / (share * self.epsilon)
        self.query_scale = (1 if monotone else 2) * self.cutoff * self.sensitivity / ((1 - share) * self.epsilon)

    def release(self, values: Iterable[float], threshold: float, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """True for every query found above, up to and including the last yes allowed. `values` may be a lazy stream."""
        return np.fromiter(self.stream(values, threshold, rng=rng), dtype=bool)

    def stream(self, values: Iterable[float], threshold: float, *, rng: np.random.Generator | None = None) -> Iterator[bool]:
        """The answers of `release` one at a time: a query is read from `values` when its answer is asked for."""
        return stream(values, threshold, self.threshold_scale, self.query_scale, self.cutoff, generator(rng))

    def log_probability(self, values: ArrayLike, answers: ArrayLike, threshold: float) -> float:
        """log P[these answers], for the first len(answers) queries. By quadrature over the threshold's noise, to 1e-10."""
        return log_probability(values, answers, threshold, self.threshold_scale, self.query_scale)

    def error(self, queries: int, confidence: float = 0.95) -> float:
        """A width w such that, with that probability, every one of so many answers is right or its query within w of the
        threshold. An upper bound: it asks that the threshold's noise and the largest query's add up to at most w.
        """
        queries, confidence = count("queries", queries, 1), open_probability("confidence", confidence)

        def hit(w: float) -> float:  # P[|threshold noise| + max |query noise| <= w]
            r, weights = panels(np.array([0.0, w]), 2 * min(self.threshold_scale, self.query_scale))
            inner = np.log(-np.expm1(-(w - r) / self.query_scale)) * queries
            return float(np.sum(weights * np.exp(inner - r / self.threshold_scale)) / self.threshold_scale)

        return largest(hit, confidence, self.query_scale * np.log(2 + queries)) * (1 + 1e-9)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon={self.epsilon:.6g}, cutoff={self.cutoff}, sensitivity={self.sensitivity:g})"


class AboveThreshold(SparseVector):
    """The sparse vector technique that stops at the first yes: threshold noise 2 sensitivity / epsilon, query noise
    4 sensitivity / epsilon (half for monotone queries).

    Parameters
    ----------
    epsilon, sensitivity, monotone, neighbors : as for `SparseVector`.

    References
    ----------
    Dwork and Roth (2014), The Algorithmic Foundations of Differential Privacy, section 3.6.
    """

    def __init__(self, epsilon: float, sensitivity: float = 1.0, *, monotone: bool = False,
                 neighbors: str = NEIGHBORS[0]) -> None:
        super().__init__(epsilon, 1, sensitivity, monotone=monotone, neighbors=neighbors)


def stream(values: Iterable[float], threshold: float, threshold_scale: float, query_scale: float, cutoff: float,
           rng: np.random.Generator) -> Iterator[bool]:
    """The sparse vector's answers, up to and including the last yes allowed."""
    threshold = scalar("threshold", finite("threshold", threshold))
    if isinstance(values, np.ndarray | list | tuple):
        values = finite("values", values)

    def answers() -> Iterator[bool]:
        bar, yeses = threshold + noise.laplace(threshold_scale, rng=rng), 0
        for value in values:
            above = is_above(scalar("values", finite("values", value)), bar, query_scale, rng)
            yield above
            yeses += above
            if yeses >= cutoff:
                return

    return answers()


def is_above(value: float, bar: float, query_scale: float, rng: np.random.Generator) -> bool:
    """One answer: is the value, with fresh noise, at or above the noisy threshold?"""
    return bool(value + (noise.laplace(query_scale, rng=rng) if query_scale else 0.0) >= bar)


def log_probability(values: ArrayLike, answers: ArrayLike, threshold: float, threshold_scale: float, query_scale: float,
                    last: float = np.inf) -> float:
    """log of the probability of yes-or-no answers and of threshold noise at most `last`; query_scale 0 means no query noise.

    The log of the integrand is concave with corners where the noisy threshold meets 0 noise and each query; beyond the
    outermost corner it falls at least like the threshold's own noise.
    """
    values, answers = finite("values", values), np.asarray(answers)
    if answers.dtype != bool or values.ndim != 1 or answers.ndim != 1 or answers.size > values.size:
        raise fail("answers", answers, "a one-dimensional array of booleans, no longer than values")
    values = values[: answers.size] - scalar("threshold", finite("threshold", threshold))
    corners = np.concatenate([values, [0.0]])
    reach = 60 * threshold_scale
    corners = np.concatenate([corners, [corners.min() - reach, corners.max() + reach]])
    z, weights = panels(np.append(corners[corners < last], min(last, corners.max())),
                        2 * min(threshold_scale, query_scale or threshold_scale))
    total = np.log(weights / (2 * threshold_scale)) - abs(z) / threshold_scale
    for value, above in zip(values, answers, strict=True):
        gap = value - z if above else z - value
        total += log_laplace_cdf(gap / query_scale) if query_scale else _step(gap)
    return float(logsumexp(total))


def _step(gap: FloatArray) -> FloatArray:
    return np.where(gap >= 0, 0.0, -np.inf)
