"""Sparse vectors that look private and are not, each with two neighboring inputs and an output that show it.

Do not use them for anything else. Several were published and proved; the catalogue, with what went wrong in each proof, is
Lyu, Su and Li (2017), Understanding the Sparse Vector Technique for Differential Privacy. All have sensitivity 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import noise
from dpnotes._validate import FloatArray, count, fail, finite, generator, positive, scalar
from dpnotes.mechanisms._sparse_vector import log_probability, stream


class Violation(NamedTuple):
    """Query values of two neighbors, an output, and the log of the ratio of its two probabilities, above the claim."""

    values: FloatArray
    neighbor: FloatArray
    answers: np.ndarray
    log_ratio: float


class BrokenSparseVector(ABC):
    """Claims epsilon-DP, threshold noise 2 / epsilon, and has something wrong with it.

    Parameters
    ----------
    epsilon : the claim.
    cutoff : the number of yeses after which it stops, at least 1.
    """

    wrong: str

    def __init__(self, epsilon: float, cutoff: int = 1) -> None:
        self.claimed_epsilon, self.cutoff = scalar("epsilon", positive("epsilon", epsilon)), count("cutoff", cutoff, 1)
        self.threshold_scale = 2 / self.claimed_epsilon

    @property
    @abstractmethod
    def query_scale(self) -> float: ...

    def release(self, values: Iterable[float], threshold: float, *, rng: np.random.Generator | None = None) -> Any:
        """Its answers: for experiments."""
        answers = stream(values, threshold, self.threshold_scale, self.query_scale, self.cutoff, generator(rng))
        return np.fromiter(answers, dtype=bool)

    def log_probability(self, values: ArrayLike, answers: ArrayLike, threshold: float = 0.0) -> float:
        """log P[these answers]. By quadrature, to 1e-10."""
        return log_probability(values, answers, threshold, self.threshold_scale, self.query_scale)

    @abstractmethod
    def violation(self, k: int = 10) -> Violation:
        """Neighbors and an output that break the claim, at threshold 0; the larger k, the worse."""

    def _compare(self, values, neighbor, answers) -> Violation:
        values, neighbor, answers = np.array(values, float), np.array(neighbor, float), np.array(answers, bool)
        ratio = self.log_probability(values, answers) - self.log_probability(neighbor, answers)
        return Violation(values, neighbor, answers, float(ratio))

    def __repr__(self) -> str:
        return f"broken.{type(self).__name__}(claimed epsilon={self.claimed_epsilon:g}, cutoff={self.cutoff}): {self.wrong}"


class HalfQueryNoise(BrokenSparseVector):
    """Query noise 2 / epsilon, half of what the yes needs when queries move both ways: the ratio tends to 1.5 epsilon."""

    wrong = "the query noise is half of what it must be"

    @property
    def query_scale(self) -> float:
        """2 / epsilon."""
        return 2 / self.claimed_epsilon

    def violation(self, k: int = 10) -> Violation:
        """k queries rise from 0 to 1 while the last one falls from 1 to 0; the output is k noes and a yes."""
        k = count("k", k, 1)
        return self._compare([0] * k + [1], [1] * k + [0], [False] * k + [True])


class UnscaledQueryNoise(BrokenSparseVector):
    """Query noise 4 / epsilon whatever the cutoff: every yes costs again, and the ratio grows with their number.

    Right for cutoff = 1, so at least 2 here.
    """

    wrong = "the query noise does not grow with the cutoff"

    def __init__(self, epsilon: float, cutoff: int = 10) -> None:
        super().__init__(epsilon, cutoff)
        count("cutoff", cutoff, 2)

    @property
    def query_scale(self) -> float:
        """4 / epsilon."""
        return 4 / self.claimed_epsilon

    def violation(self, k: int | None = None, noes: int = 20) -> Violation:
        """So many queries rise from 0 to 1 and k fall, by default as many as the cutoff; the output is the noes, then k yeses."""
        k, noes = self.cutoff if k is None else count("k", k, 1), count("noes", noes, 1)
        if k > self.cutoff:
            raise fail("k", k, f"at most the cutoff, {self.cutoff}")
        return self._compare([0] * noes + [1] * k, [1] * noes + [0] * k, [False] * noes + [True] * k)


class NoCutoff(UnscaledQueryNoise):
    """The same noise, and it never stops: no epsilon at all."""

    wrong = "it never stops, as if the yeses were free"

    def __init__(self, epsilon: float) -> None:
        super().__init__(epsilon)
        self.cutoff = np.inf

    def violation(self, k: int = 10, noes: int = 20) -> Violation:
        """As many queries rise from 0 to 1 as there are noes, and k fall; the output is the noes, then k yeses."""
        return super().violation(k, noes)


class NoQueryNoise(BrokenSparseVector):
    """Noise on the threshold only, and it never stops: some outputs are impossible on the neighbor."""

    wrong = "the queries get no noise"

    def __init__(self, epsilon: float) -> None:
        super().__init__(epsilon)
        self.cutoff = np.inf

    @property
    def query_scale(self) -> float:
        """0."""
        return 0.0

    def violation(self, k: int = 1) -> Violation:
        """Queries 0, 1 against 1, 0 (k times); the output no, yes shows that the first is smaller: an infinite loss."""
        k = count("k", k, 1)
        return self._compare([0, 1] * k, [1, 0] * k, [False, True] * k)


class NumericAnswers(BrokenSparseVector):
    """Publishes the noisy value that was found above, with the very noise of the comparison: no epsilon at all.

    The value bounds the noisy threshold, and every no before it is evidence against that bound.
    """

    wrong = "it publishes the noisy value that it compared"

    @property
    def query_scale(self) -> float:
        """4 cutoff / epsilon, right for answers of yes and no."""
        return 4 * self.cutoff / self.claimed_epsilon

    def release(self, values: Iterable[float], threshold: float, *, rng: np.random.Generator | None = None) -> list[float | None]:
        """None for every no, the noisy value for every yes."""
        rng, answers = generator(rng), []
        bar = scalar("threshold", finite("threshold", threshold)) + noise.laplace(self.threshold_scale, rng=rng)
        for value in values:
            noisy = scalar("values", finite("values", value)) + noise.laplace(self.query_scale, rng=rng)
            answers.append(float(noisy) if noisy >= bar else None)
            if sum(answer is not None for answer in answers) >= self.cutoff:
                break
        return answers

    def log_density(self, values: ArrayLike, published: float, threshold: float = 0.0) -> float:
        """log of the density of: noes for all values but the last, and `published` for the last."""
        values = finite("values", values)
        noes = log_probability(values[:-1], np.zeros(values.size - 1, bool), threshold, self.threshold_scale, self.query_scale,
                               last=published - threshold)
        return float(noes - abs(published - values[-1]) / self.query_scale - np.log(2 * self.query_scale))

    def violation(self, k: int = 10) -> Violation:
        """k queries rise from 0 to 1; the output is k noes and then the value 0, at the threshold: a ratio of k / scale."""
        values, neighbor = np.zeros(count("k", k, 1) + 1), np.append(np.ones(k), 0.0)
        ratio = self.log_density(values, 0.0) - self.log_density(neighbor, 0.0)
        return Violation(values, neighbor, np.append(np.full(k, np.nan), 0.0), ratio)


VARIANTS = (HalfQueryNoise, UnscaledQueryNoise, NoCutoff, NoQueryNoise, NumericAnswers)
