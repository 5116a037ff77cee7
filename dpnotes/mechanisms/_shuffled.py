"""Shuffled randomized response: nobody can tell whose report is whose, so that only the count of ones is seen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import at_least, count, fail, finite, generator, nonnegative, plain, probability, scalar
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism
from dpnotes.mechanisms._chords import loss_of_chords
from dpnotes.mechanisms._local import RandomizedResponse
from dpnotes.privacy_loss import DiscreteLoss, PrivacyLoss

MOST_PEOPLE = 2000  # whose answers' losses are all made
POINTS = 400


class ShuffledRandomizedResponse(Mechanism):
    """Binary randomized response of n people, shuffled: the output is the number of ones. Exact, by counting.

    The neighbors replace one person's answer. How well the others hide it depends on how many of them hold a one, and the
    worst number is neither 0 nor n - 1 in general, so `delta` and `epsilon` go through all n. Flipping every bit turns the
    pair (0 against 1, j of the others hold ones) into (1 against 0, n - 1 - j of them), so that one order is enough.

    Where rounds add up, the others may answer differently in each: two rounds with different j can lose more than any two
    with the same (for n = 3 and epsilon = 1, by 23 % at epsilon = 0.87). `privacy_losses` therefore has the one loss whose
    delta is the largest of all j at every epsilon.

    Parameters
    ----------
    epsilon : the local pure-DP parameter of each report, positive.
    n : the number of people, at least 1.

    References
    ----------
    Cheu, Smith, Ullman, Zeber and Zhilyaev (2019), Distributed Differential Privacy via Shuffling. That a largest curve
    belongs to a pair which covers all of them, in composition too: Zhu, Dong and Wang (2022), Optimal Accounting of Differential
    Privacy via Characteristic Function.

    >>> round(ShuffledRandomizedResponse(epsilon=1.0, n=10).delta(0.5), 12)
    0.021497659436
    """

    neighbors = NEIGHBORS[1]
    kinds: ClassVar[dict[str, str]] = Mechanism.kinds | {"loss": "upper"}

    def __init__(self, epsilon: float, n: int) -> None:
        self.response, self.n = RandomizedResponse(epsilon), count("n", n, 1)

    @property
    def pure_epsilon(self) -> float:
        """That of a single report: when all reports agree, shuffling hides nothing."""
        return self.response.epsilon

    def loss(self, others: int) -> DiscreteLoss:
        """The loss of a one against a zero when `others` of the other n - 1 people hold a one. Exact."""
        others = count("others", others)
        if others >= self.n:
            raise fail("others", others, f"at most n - 1, {self.n - 1}")
        p, q = self._pair(others)
        seen = (p > 0) & (q > 0)  # the rest is below e**-700
        return DiscreteLoss.from_log_masses(np.log(p[seen] / q[seen]), np.log(p[seen]))

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry for all pairs, an upper bound by chords of the largest delta; for at most 2000 people (`delta` and `epsilon`,
        of one round, go beyond).
        """
        return {"either": self._envelope}

    @cached_property
    def _losses(self) -> list[DiscreteLoss]:
        if self.n > MOST_PEOPLE:
            raise ValueError(f"n = {self.n} people have as many privacy losses: read delta(epsilon) or epsilon(delta) instead.")
        return [self.loss(j) for j in range(self.n)]

    @cached_property
    def _envelope(self) -> DiscreteLoss:
        largest = self.response.epsilon
        middle = self._losses[self.n // 2]
        spread = float(np.sqrt(np.exp(middle.log_masses) @ middle.losses**2))
        fine = np.linspace(0, min(12 * spread, largest), POINTS)
        corners = np.concatenate([np.abs(loss.losses) for loss in self._losses]) if self.n <= 12 else fine
        points = np.unique(np.concatenate([fine, np.linspace(fine[-1], largest, POINTS // 4), corners]))
        points = points[np.append(True, np.diff(points) > 1e-5 * largest)]  # differences of delta lose no more than that
        points[-1] = largest
        delta = np.zeros(len(points))
        for loss in self._losses:
            p = np.append(np.cumsum(np.exp(loss.log_masses)[::-1])[::-1], 0.0)
            q = np.append(np.cumsum(np.exp(loss.log_masses - loss.losses)[::-1])[::-1], 0.0)
            beyond = np.searchsorted(loss.losses, points, side="right")
            delta = np.maximum(delta, p[beyond] - np.exp(points) * q[beyond])
        delta[:-1] *= 1 + 1e-11  # the difference's rounding
        delta[-1] = 0.0
        return loss_of_chords(points, delta)

    def renyi(self, alpha: ArrayLike) -> Any:
        """The largest Rényi divergence over all the others' answers. Exact."""
        alpha = at_least("alpha", alpha, 1.0)
        return plain(np.max([loss.renyi(alpha) for loss in self._losses], axis=0))

    def _pair(self, others: int) -> tuple[np.ndarray, np.ndarray]:
        """The laws of the number of ones with a one and with a zero, on the numbers where neither is negligible."""
        from scipy.stats import binom

        truth, lie = self.response.truth, self.response.lie
        ones = binom.pmf(np.arange(others + 1), others, truth)
        zeros = binom.pmf(np.arange(self.n - others), self.n - 1 - others, lie)
        rest = np.convolve(ones, zeros) if self.n <= 500 else _short_convolution(ones, zeros)
        more, same = np.append(0.0, rest), np.append(rest, 0.0)
        return truth * more + lie * same, lie * more + truth * same

    def _pairs(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return (self._pair(j) for j in reversed(range(self.n)))

    def delta(self, epsilon: float) -> float:
        """The smallest delta at this epsilon >= 0: the largest over all the others' answers. Exact; time grows like n**2."""
        e = np.exp(min(scalar("epsilon", nonnegative("epsilon", epsilon)), 700.0))
        return float(max(np.sum(np.maximum(p - e * q, 0.0)) for p, q in self._pairs()))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 at this delta: the largest over all the others' answers. Exact."""
        delta, best = scalar("delta", probability("delta", delta)), 0.0
        for p, q in self._pairs():
            if np.sum(np.maximum(p - np.exp(best) * q, 0.0)) > delta:
                seen = (p > delta * 1e-20) & (q > 0)
                loss = DiscreteLoss.from_log_masses(np.log(p[seen] / q[seen]), np.log(p[seen] / p[seen].sum()))
                best = max(best, float(loss.epsilon(delta)))
        return best

    def release(self, answers: ArrayLike, *, rng: np.random.Generator | None = None) -> int:
        """The number of ones among the randomized answers, which are n zeros and ones."""
        if np.shape(answers) != (self.n,):
            raise fail("answers", answers, f"an array of {self.n} zeros and ones")
        return int(np.sum(self.response.release(answers, rng=generator(rng))))

    def estimate_count(self, ones: float) -> float:
        """An unbiased estimate of how many people hold a one, from the released number."""
        ones = scalar("ones", finite("ones", ones))
        return (ones - self.n * self.response.lie) / (self.response.truth - self.response.lie)

    def error(self, confidence: float = 0.95) -> float:
        """A half-width for the estimated count that holds with that probability: an upper bound, see `share_error`."""
        return self.n * self.response.error(self.n, confidence)

    def __repr__(self) -> str:
        return f"ShuffledRandomizedResponse(epsilon={self.response.epsilon:.6g}, n={self.n})"


def _short_convolution(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The convolution of two laws, leaving out entries below 1e-40 of each: what is lost is below 1e-35."""
    kept_a, kept_b = (np.flatnonzero(x > 1e-40) for x in (a, b))
    total = np.zeros(a.size + b.size - 1)
    part = np.convolve(a[kept_a[0]: kept_a[-1] + 1], b[kept_b[0]: kept_b[-1] + 1])
    total[kept_a[0] + kept_b[0]:][: part.size] = part
    return total
