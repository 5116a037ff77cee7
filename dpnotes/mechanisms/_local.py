"""Randomized response and unary encoding: privacy that each person applies before answering."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions
from dpnotes._validate import (
    FloatArray,
    as_array,
    count,
    fail,
    finite,
    generator,
    open_probability,
    plain,
    positive,
    probability,
    scalar,
)
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
        if self.k == 2:
            self.kinds = Mechanism.kinds | {"mu": "exact"}

    @classmethod
    def for_truth(cls, truth: float, k: int = 2) -> RandomizedResponse:
        """The mechanism that tells the truth with that probability, from 1 / k (answers say nothing, epsilon 0) to below 1.

        >>> round(RandomizedResponse.for_truth(0.75).epsilon, 12)
        1.098612288668
        """
        truth, found = scalar("truth", probability("truth", truth)), cls(1.0, k)
        if not 1 / found.k <= truth < 1:
            raise fail("truth", truth, f"at least 1/{found.k} and below 1")
        found.epsilon = max(float(np.log(truth * (found.k - 1)) - np.log1p(-truth)), 0.0)
        return found

    @property
    def rho(self) -> float:
        """epsilon * tanh(epsilon / 2) for two answers, exact; by interval bounds for more, about 1e-8 too large."""
        return float(conversions.pure_to_zcdp(self.epsilon)) if self.k == 2 else super().rho

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
        if self.epsilon == 0:
            raise ValueError("truth = 1/k: the responses do not depend on the answers, and no estimate can be made from them.")
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

    def error(self, n: int, confidence: float = 0.95) -> float:
        """A half-width for the estimated share of any one answer among n people (`estimate_counts` / n), see `share_error`."""
        return share_error(self.lie + self._lead, self.lie, n, confidence)

    def _answers(self, name: str, value: ArrayLike) -> np.ndarray:
        allowed = f"whole numbers from 0 to {self.k - 1}"
        answers = as_array(name, value, allowed)
        if answers.dtype.kind not in "iu" or (answers.size and (answers.min() < 0 or answers.max() >= self.k)):
            raise fail(name, value, allowed)
        return answers.astype(np.int64)

    def __repr__(self) -> str:
        return f"RandomizedResponse(epsilon={self.epsilon:.6g}, k={self.k})"


class UnaryEncoding(Mechanism):
    """Each person reports one bit per possible answer: the true one's is 1, the others' 0, and every bit is randomized. Exact.

    Optimized: the true bit survives with probability p = 1/2, the others turn to 1 with q = 1 / (e**epsilon + 1). For many
    possible answers its estimates vary less than those of `RandomizedResponse`. Symmetric, as in basic RAPPOR: every bit is
    kept with probability 1 / (1 + e**(-epsilon / 2)). The neighbors replace one person's answer.

    Parameters
    ----------
    epsilon : the local pure-DP parameter, positive.
    k : the number of possible answers, at least 2; answers are the whole numbers from 0 to k - 1.
    symmetric : the symmetric variant.

    References
    ----------
    Wang, Blocki, Li and Jha (2017), Locally Differentially Private Protocols for Frequency Estimation; Erlingsson, Pihur and
    Korolova (2014), RAPPOR.

    >>> mechanism = UnaryEncoding(np.log(3), k=4)
    >>> round(mechanism.p, 12), round(mechanism.q, 12)
    (0.5, 0.25)
    """

    neighbors = NEIGHBORS[1]

    def __init__(self, epsilon: float, k: int, *, symmetric: bool = False) -> None:
        self.epsilon, self.k, self.symmetric = scalar("epsilon", positive("epsilon", epsilon)), count("k", k, 2), bool(symmetric)
        keep = float(1 / (1 + np.exp(-self.epsilon / 2)))
        self.p = keep if symmetric else 0.5
        self.q = float(np.exp(-np.logaddexp(0.0, self.epsilon / 2 if symmetric else self.epsilon)))

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry, the same in both directions. Only the bits of the two answers differ: +epsilon for 1 and 0, -epsilon for
        0 and 1, and 0 when they agree.
        """
        log_p, log_q = np.log(self.p), np.log(self.q)
        up, agree = log_p + np.log1p(-self.q), np.logaddexp(log_p + log_q, np.log1p(-self.p) + np.log1p(-self.q))
        return {"either": DiscreteLoss.from_log_masses([self.epsilon, -self.epsilon, 0.0], [up, up - self.epsilon, agree])}

    def release(self, answers: ArrayLike, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """The randomized bits, boolean, of the shape of the answers and one more axis of length k."""
        answers, rng = self._answers("answers", answers), generator(rng)
        true_bit = answers[..., None] == np.arange(self.k)
        return rng.random(true_bit.shape) < np.where(true_bit, self.p, self.q)

    def estimate_counts(self, bits: ArrayLike) -> FloatArray:
        """Unbiased estimates of how many people truly hold each answer, shape (k,); they may be negative."""
        bits = np.asarray(bits)
        if bits.dtype != bool or bits.ndim < 1 or bits.shape[-1] != self.k:
            raise fail("bits", bits, f"an array of booleans whose last axis has length {self.k}")
        bits = bits.reshape(-1, self.k)
        return (bits.sum(axis=0) - bits.shape[0] * self.q) / (self.p - self.q)

    def estimate_standard_errors(self, counts: ArrayLike) -> FloatArray:
        """Standard deviations of `estimate_counts` when the true counts are `counts`, shape (k,). Exact."""
        counts = finite("counts", counts)
        if counts.shape != (self.k,) or np.any(counts < 0):
            raise fail("counts", counts, f"{self.k} nonnegative numbers")
        variance = counts * self.p * (1 - self.p) + (counts.sum() - counts) * self.q * (1 - self.q)
        return np.sqrt(variance) / (self.p - self.q)

    def error(self, n: int, confidence: float = 0.95) -> float:
        """A half-width for the estimated share of any one answer among n people (`estimate_counts` / n), see `share_error`."""
        return share_error(self.p, self.q, n, confidence)

    _answers = RandomizedResponse._answers

    def __repr__(self) -> str:
        symmetric = ", symmetric=True" if self.symmetric else ""
        return f"UnaryEncoding(epsilon={self.epsilon:.6g}, k={self.k}{symmetric})"


def share_error(p: float, q: float, n: int, confidence: float) -> float:
    """How far an estimated share is off: at most w with that probability, whatever the true answers. An upper bound.

    The count of reports is a sum of n independent bits that are 1 with probability p for those who hold the answer and q for
    the others; the smaller of Hoeffding's and Bernstein's bounds on its deviation, divided by n (p - q).
    """
    n, miss = count("n", n, 1), 1 - open_probability("confidence", confidence)
    if p == q:
        return np.inf
    log_odds, variance = np.log(2 / miss), max(p * (1 - p), q * (1 - q))
    hoeffding, bernstein = np.sqrt(n * log_odds / 2), log_odds / 3 + np.sqrt((log_odds / 3) ** 2 + 2 * log_odds * n * variance)
    return float(min(hoeffding, bernstein) / (n * (p - q)))
