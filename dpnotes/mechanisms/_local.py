"""Randomized response: privacy that each person applies before answering."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, as_array, count, fail, finite, generator, plain, positive, scalar
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism
from dpnotes.privacy_loss import DiscreteLoss, PrivacyLoss


class RandomizedResponse(Mechanism):
    """Each person reports the true one of k answers with probability e**epsilon / (e**epsilon + k - 1), else another. Exact.

    The neighbors replace one person's answer. The guarantee is local: it needs no trusted collector.

    Parameters
    ----------
    epsilon : the local pure-DP parameter, positive; the odds of truth against any given lie are e**epsilon.
    k : the number of possible answers, at least 2; answers are the whole numbers from 0 to k - 1.

    References
    ----------
    Warner (1965), Randomized Response; for k answers, Kairouz, Oh and Viswanath (2014), Extremal Mechanisms for LDP.

    >>> round(RandomizedResponse(np.log(3)).truth, 12)
    0.75
    """

    neighbors = NEIGHBORS[1]

    def __init__(self, epsilon: float, k: int = 2) -> None:
        self.epsilon = scalar("epsilon", positive("epsilon", epsilon))
        self.k = count("k", k, 2)
        if self.k > 2**62:  # so that the sum of two answers is still a 64-bit integer
            raise fail("k", k, "at most 2**62")

    @property
    def truth(self) -> float:
        """The probability of reporting the true answer."""
        return float(1 / (1 + (self.k - 1) * np.exp(-self.epsilon)))

    @property
    def lie(self) -> float:
        """The probability of reporting any one given other answer."""
        return float(np.exp(-self.epsilon) * self.truth)

    @property
    def _lead(self) -> float:
        """truth - lie, without the cancellation for small epsilon."""
        return float(-np.expm1(-self.epsilon) * self.truth)

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry: two different true answers, the same in both directions. Losses +epsilon, -epsilon and (k > 2) 0."""
        log_truth = np.log(self.truth)
        losses, log_masses = [self.epsilon, -self.epsilon], [log_truth, log_truth - self.epsilon]
        if self.k > 2:
            losses, log_masses = [*losses, 0.0], [*log_masses, log_truth - self.epsilon + np.log(self.k - 2)]
        return {"either": DiscreteLoss.from_log_masses(losses, log_masses)}

    def release(self, answers: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The randomized answers, of the same shape; each person's coin is independent."""
        answers, rng = self._answers("answers", answers), generator(rng)
        other = (answers + rng.integers(1, self.k, size=answers.shape)) % self.k
        return plain(np.where(rng.random(answers.shape) < self.truth, answers, other))

    def estimate_counts(self, responses: ArrayLike) -> FloatArray:
        """Unbiased estimates of how many people truly hold each answer, shape (k,). They may be negative; they add up to n.

        The expected number of reports of an answer is lie * n + (truth - lie) * count; this solves for the count, with
        lie written as (1 - (truth - lie)) / k, so that a small epsilon costs no digits.
        """
        responses = self._answers("responses", responses)
        reported = np.bincount(responses.ravel(), minlength=self.k)
        share = responses.size / self.k
        return share + (reported - share) / self._lead

    def estimate_standard_errors(self, counts: ArrayLike) -> FloatArray:
        """Standard deviations of `estimate_counts` when the true counts are `counts`, shape (k,). Exact."""
        counts = finite("counts", counts)
        if counts.shape != (self.k,) or np.any(counts < 0):
            raise fail("counts", counts, f"{self.k} nonnegative numbers")
        variance = counts * self.truth * (1 - self.truth) + (counts.sum() - counts) * self.lie * (1 - self.lie)
        return np.sqrt(variance) / self._lead

    def _answers(self, name: str, value: ArrayLike) -> np.ndarray:
        allowed = f"whole numbers from 0 to {self.k - 1}"
        answers = as_array(name, value, allowed)
        if answers.dtype.kind not in "iu" or (answers.size and (answers.min() < 0 or answers.max() >= self.k)):
            raise fail(name, value, allowed)
        return answers.astype(np.int64)

    def __repr__(self) -> str:
        return f"RandomizedResponse(epsilon={self.epsilon:.6g}, k={self.k})"
