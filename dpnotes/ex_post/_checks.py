"""Is it good enough yet? Checks on private data that pay for their answers, and on what is public already, which are free.

A check is asked about one candidate after another. It holds the `score` (a function of the candidate that reads the private
validation rows), the threshold and the noise, and it knows what its answers have cost.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import noise
from dpnotes._validate import count, fail, finite, generator, nonnegative, open_probability, positive, scalar
from dpnotes.ex_post._definitions import Bounded, ExPostDefinition, PureExPost, RenyiExPost
from dpnotes.ex_post._reduction import laplace_walk
from dpnotes.mechanisms._base import NEIGHBORS, neighbor_relation
from dpnotes.mechanisms._sparse_vector import AboveThreshold, is_above


class Answer(NamedTuple):
    """A check's answer: whether the candidate passed, and the number that may be published (None for a bare yes or no)."""

    passed: bool
    value: float | None


class Check(ABC):
    """Answers "good enough?" about candidates. `definition` is None for a check that reads nothing private."""

    definition: ExPostDefinition | None = None
    neighbors: str | None = None
    finished = False

    @abstractmethod
    def ask(self, candidate: Any) -> Answer:
        """The (noisy) answer about one candidate; its cost is counted before the score is computed."""

    @abstractmethod
    def epsilon(self, definition: ExPostDefinition) -> float:
        """The bound of all answers so far, read in that definition: pure, or Rényi with an order."""


class PublicCheck(Check):
    """A test of what is released already, or of public data: free. The caller vouches that it reads nothing private.

    >>> PublicCheck(lambda noisy: noisy > 100).ask(120)
    Answer(passed=True, value=None)
    """

    def __init__(self, test: Callable[[Any], bool]) -> None:
        self._test = test

    def ask(self, candidate: Any) -> Answer:
        return Answer(bool(self._test(candidate)), None)

    def epsilon(self, definition: ExPostDefinition) -> float:
        return 0.0


class PrivateCheck(Check):
    """What the checks on private rows share.

    Parameters
    ----------
    score : function of the candidate that reads the private rows and gives one number, larger is better.
    threshold : pass at or above it; public.
    sensitivity : the most that a change of neighbor in those rows moves the score of any candidate. An accuracy over n rows
        has 1/n, when neighbors replace one record and n is fixed and public; under add/remove use the number of right answers
        less threshold times the number of rows, with sensitivity max(threshold, 1 - threshold).
    neighbors : the relation under which `sensitivity` was found.
    """

    def __init__(self, score: Callable[[Any], float], threshold: float, *, sensitivity: float, neighbors: str = NEIGHBORS[0],
                 rng: np.random.Generator | None = None) -> None:
        if not callable(score):
            raise fail("score", score, "a function of the candidate")
        self._score, self.threshold = score, scalar("threshold", finite("threshold", threshold))
        self.sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        self.neighbors, self._rng = neighbor_relation(neighbors), generator(rng)
        self.asked = 0

    def ask(self, candidate: Any) -> Answer:
        if self.finished:
            raise RuntimeError("This check has given its one positive answer; make a new one, and count its cost anew.")
        self.asked += 1
        return self._answer(scalar("score", finite("score", self._score(candidate))))

    @abstractmethod
    def _answer(self, score: float) -> Answer: ...


class GaussianCheck(PrivateCheck):
    """Every answer is the score plus fresh Gaussian noise; the noisy score is published. Answers compose.

    After T answers the Rényi bound is T alpha sensitivity**2 / (2 sigma**2). Among many noisy checks the first to pass may
    owe it to its noise: `check_margin` gives a margin that guards against it.

    Parameters
    ----------
    sigma : standard deviation of the noise, in the units of the score.
    margin : pass only at threshold + margin, at least 0.
    alpha : the order of the bound, where the release beside it does not fix one.

    Others as in `PrivateCheck`.

    >>> check = GaussianCheck(lambda model: 0.83, 0.8, sigma=0.01, sensitivity=1 / 5000, rng=np.random.default_rng(1))
    >>> check.ask("model").passed, round(check.epsilon(RenyiExPost(4)), 6)
    (True, 0.0008)
    """

    def __init__(self, score: Callable[[Any], float], threshold: float, *, sigma: float, sensitivity: float, margin: float = 0.0,
                 alpha: float | None = None, neighbors: str = NEIGHBORS[0], rng: np.random.Generator | None = None) -> None:
        super().__init__(score, threshold, sensitivity=sensitivity, neighbors=neighbors, rng=rng)
        self.sigma = scalar("sigma", positive("sigma", sigma))
        self.margin = scalar("margin", nonnegative("margin", finite("margin", margin)))
        self._definition = None if alpha is None else RenyiExPost(alpha)

    @property
    def definition(self) -> RenyiExPost | None:
        """Its own order, or None: it takes the order of the release it is used with."""
        return self._definition

    def _answer(self, score: float) -> Answer:
        noisy = score + self.sigma * float(self._rng.standard_normal())
        return Answer(noisy >= self.threshold + self.margin, noisy)

    def epsilon(self, definition: ExPostDefinition) -> float:
        if not isinstance(definition, RenyiExPost):
            raise fail("definition", definition, "a Rényi one: Gaussian noise has no pure bound (give alpha)")
        return definition.gaussian_epsilon(self.asked * self.sensitivity**2 / (2 * self.sigma**2))


class AboveThresholdCheck(PrivateCheck):
    """One run of the sparse vector technique: yes or no about each candidate, one constant epsilon for all up to the first yes.

    `mechanism` is the `dpnotes.mechanisms.AboveThreshold` that adds the noise and decides. Pure epsilon-DP.

    >>> check = AboveThresholdCheck(lambda model: 0.83, 0.8, epsilon=1.0, sensitivity=1 / 5000, rng=np.random.default_rng(1))
    >>> check.ask("model"), check.epsilon(PureExPost()), round(check.epsilon(RenyiExPost(4)), 6)
    (Answer(passed=True, value=None), 1.0, 0.895883)
    """

    definition = PureExPost()

    def __init__(self, score: Callable[[Any], float], threshold: float, *, epsilon: float, sensitivity: float,
                 monotone: bool = False, neighbors: str = NEIGHBORS[0], rng: np.random.Generator | None = None) -> None:
        super().__init__(score, threshold, sensitivity=sensitivity, neighbors=neighbors, rng=rng)
        self.mechanism = AboveThreshold(epsilon, self.sensitivity, monotone=monotone, neighbors=neighbors)
        self._score_asked = 0.0
        self._answers = self.mechanism.stream(iter(lambda: self._score_asked, None), self.threshold, rng=self._rng)

    def _answer(self, score: float) -> Answer:
        self._score_asked = score
        self.finished = next(self._answers)
        return Answer(self.finished, None)

    def epsilon(self, definition: ExPostDefinition) -> float:
        if not self.asked:
            return 0.0
        level = self.mechanism.epsilon
        return definition.pure_epsilon(level) if isinstance(definition, RenyiExPost) else level


class ReducedAboveThresholdCheck(PrivateCheck):
    """AboveThreshold whose epsilon grows with each question: pure ex-post private with the epsilon of the LAST question.

    Question n has its own epsilon_n, larger than the one before: the noise on the threshold, of scale
    2 sensitivity / epsilon_n, is reduced like `LaplaceReduction`; the noise on the score is fresh, of scale
    4 sensitivity / epsilon_n. Stopping early costs little, and without a yes the bound is still the last epsilon.

    Parameters
    ----------
    epsilons : rising positive levels, one per question (any iterable).

    Others as in `PrivateCheck`.

    References
    ----------
    Ligett et al. (2017); Whitehouse, Ramdas, Wu and Rogers (2022), Brownian Noise Reduction.
    """

    definition = PureExPost()

    def __init__(self, score: Callable[[Any], float], threshold: float, *, epsilons: Iterable[float], sensitivity: float,
                 neighbors: str = NEIGHBORS[0], rng: np.random.Generator | None = None) -> None:
        super().__init__(score, threshold, sensitivity=sensitivity, neighbors=neighbors, rng=rng)
        self._levels, self._level, self._threshold_noise = iter(epsilons), 0.0, np.zeros(())
        self._mechanism: AboveThreshold | None = None  # the one at the level of the last question

    def ask(self, candidate: Any) -> Answer:
        if not self.finished:
            level = next(self._levels, None)
            if level is None:
                raise RuntimeError("No level is left for a further question: give as many epsilons as there may be questions.")
            level = scalar("epsilons", positive("epsilons", level))
            if level <= self._level:
                raise fail("epsilons", level, f"rising, above {self._level!r}")
            finer = AboveThreshold(level, self.sensitivity, neighbors=self.neighbors)
            self._threshold_noise = (np.asarray(noise.laplace(finer.threshold_scale, rng=self._rng)) if self._mechanism is None
                                     else laplace_walk(self._threshold_noise, self._mechanism.threshold_scale,
                                                       finer.threshold_scale, rng=self._rng))
            self._mechanism, self._level = finer, level
        return super().ask(candidate)

    def _answer(self, score: float) -> Answer:
        bar = self.threshold + float(self._threshold_noise)
        self.finished = is_above(score, bar, self._mechanism.query_scale, self._rng)
        return Answer(self.finished, None)

    def epsilon(self, definition: ExPostDefinition) -> float:
        return self._level


def reduced_above_threshold(scores: ArrayLike, threshold: float, epsilons: ArrayLike, *, sensitivity: float = 1.0,
                            rng: np.random.Generator | None = None) -> Bounded:
    """The index (from 0) of the first noisy score at or above the noisy threshold, or None, with its bound. Pure ex-post.

    Parameters
    ----------
    scores : private scores in the order of the questions, shape (n,).
    epsilons : rising positive levels, shape (n,). The bound is the level of the last question asked.
    sensitivity : the most that a change of neighbor moves any score.

    >>> reduced_above_threshold([0.0, 0.0, 900.0], 500.0, [0.1, 0.2, 0.4], rng=np.random.default_rng(1))
    Bounded(output=2, epsilon=0.4)
    """
    scores, levels = finite("scores", scores), positive("epsilons", epsilons)
    if scores.ndim != 1 or scores.shape != levels.shape or np.any(np.diff(levels) <= 0):
        raise fail("epsilons", epsilons, f"a rising one-dimensional array with one level per score ({scores.size})")
    check = ReducedAboveThresholdCheck(float, threshold, epsilons=levels.tolist(), sensitivity=sensitivity, rng=rng)
    for index, score in enumerate(scores.tolist()):
        if check.ask(score).passed:
            return Bounded(index, check.epsilon(PureExPost()))
    return Bounded(None, check.epsilon(PureExPost()))


def check_margin(sigma: float, checks: int, beta: float) -> float:
    """sigma sqrt(2 log(checks / beta)): a margin that the noise of no check exceeds, except with probability at most beta.

    With it a `GaussianCheck` that passes has a true score at or above the threshold, except with probability beta, however
    the candidates were chosen from the answers before. It is about these validation rows, not about the population.

    >>> round(check_margin(0.01, 10, 0.05), 6)
    0.032552
    """
    sigma, beta = scalar("sigma", positive("sigma", sigma)), open_probability("beta", beta)
    return sigma * math.sqrt(2 * math.log(count("checks", checks, 1) / beta))
