"""Shuffled randomized response: nobody can tell whose report is whose, so that only the count of ones is seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import count, fail, finite, generator, nonnegative, probability, scalar
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism
from dpnotes.mechanisms._local import RandomizedResponse
from dpnotes.privacy_loss import DiscreteLoss, PrivacyLoss

MOST_LOSSES = 2000


class ShuffledRandomizedResponse(Mechanism):
    """Binary randomized response of n people, shuffled: the output is the number of ones. Exact, by counting.

    The neighbors replace one person's answer. How well the others hide it depends on how many of them hold a one, and the
    worst number is neither 0 nor n - 1 in general, so `delta` and `epsilon` go through all n. Flipping every bit turns the
    pair (0 against 1, j of the others hold ones) into (1 against 0, n - 1 - j of them), so that one order is enough.

    Parameters
    ----------
    epsilon : the local pure-DP parameter of each report, positive.
    n : the number of people, at least 1.

    References
    ----------
    Cheu, Smith, Ullman, Zeber and Zhilyaev (2019), Distributed Differential Privacy via Shuffling.

    >>> round(ShuffledRandomizedResponse(epsilon=1.0, n=10).delta(0.5), 12)
    0.021497659436
    """

    neighbors = NEIGHBORS[1]

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
        """n entries, one for each number of ones among the others; for at most 2000 people (`delta` and `epsilon` go beyond)."""
        if self.n > MOST_LOSSES:
            raise ValueError(f"n = {self.n} people have as many privacy losses: read delta(epsilon) or epsilon(delta) instead.")
        return {f"1 against 0, others hold {j}": self.loss(j) for j in range(self.n)}

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
