"""Noise that can be reduced: the next release costs only what it adds.

Each class holds a private value, releases it at levels that the caller may choose as the releases come in, and returns
`Bounded` pairs. The noise is floating-point: for teaching, see `dpnotes.noise`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, count, fail, finite, generator, plain, positive, scalar
from dpnotes.ex_post._boundaries import Boundary
from dpnotes.ex_post._definitions import Bounded, ExPostDefinition, ProbabilisticExPost, PureExPost, RenyiExPost
from dpnotes.mechanisms._base import NEIGHBORS, neighbor_relation


class ReducibleRelease(ABC):
    """A private value released again and again at less noise. `definition` and `neighbors` are fixed when it is made.

    `release(level)` gives the next output with the bound for EVERYTHING released so far; `epsilon` is that bound.
    A class of one's own needs these three and `neighbors` to be used by `AccuracyFirst`.
    """

    definition: ExPostDefinition

    def __init__(self, value: ArrayLike, sensitivity: float, neighbors: str, rng: np.random.Generator | None) -> None:
        self._value = finite("value", value)
        self.sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        self.neighbors = neighbor_relation(neighbors)
        self._rng = generator(rng)

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The bound for everything released so far; 0 before the first release."""

    @abstractmethod
    def release(self, level: float) -> Bounded:
        """The value at the next level of noise, and the bound for everything released so far."""


class BrownianMechanism(ReducibleRelease):
    """Gaussian noise that can be reduced: fresh Gaussians, averaged with their precisions as weights.

    Release i at sigma_i is sigma_i**2 times the sum over j <= i of z_j / s_j**2, with z_j = value + N(0, s_j**2) fresh and
    1/s_j**2 = 1/sigma_j**2 - 1/sigma_(j-1)**2. (Averaging the RELEASES would count early noise twice.) For levels fixed in
    advance the releases are value + B(sigma_i**2), a Brownian path read from large variance to small. Everything released
    so far has the loss of the last release, and wherever one stops, for a reason found in the releases or anywhere else
    but in these data, the bound is alpha * rho with rho = sensitivity**2 / (2 sigma**2) of the last release.

    Parameters
    ----------
    value : the private number or array (any shape).
    sensitivity : the most that a change of neighbor moves it, in L2 norm.
    alpha : the order of the Rényi bound, fixed here, before anything is released; see `best_alpha`.
    boundary : instead of alpha, a `Boundary`: the bound is then delta-probabilistic, and not immune to post-processing.
    neighbors : the relation under which `sensitivity` was found.

    References
    ----------
    Whitehouse, Ramdas, Wu and Rogers (2022), Brownian Noise Reduction; Räisä, Koskela and Honkela (2025), arXiv 2509.22213.

    >>> counts = BrownianMechanism([120.0, 80.0], alpha=4.0, rng=np.random.default_rng(1))
    >>> [round(counts.release(sigma).epsilon, 6) for sigma in (4.0, 2.0, 1.0)]
    [0.125, 0.5, 2.0]
    """

    def __init__(self, value: ArrayLike, sensitivity: float = 1.0, *, alpha: float | None = None,
                 boundary: Boundary | None = None, neighbors: str = NEIGHBORS[0], rng: np.random.Generator | None = None) -> None:
        if (alpha is None) == (boundary is None):
            raise fail("alpha", alpha, "given here, before anything is released, unless a boundary is")
        if alpha is None and not isinstance(boundary, Boundary):
            raise fail("boundary", boundary, "a Boundary, valid at every stopping time")
        self._definition = RenyiExPost(alpha) if alpha is not None else ProbabilisticExPost(boundary.delta)
        self._boundary = boundary
        super().__init__(value, sensitivity, neighbors, rng)
        self._sigma, self._precision, self._path = np.inf, 0.0, np.zeros(self._value.shape)

    @property
    def definition(self) -> ExPostDefinition:
        """Fixed when the mechanism was made: choosing alpha after seeing where one stopped breaks the bound."""
        return self._definition

    @property
    def sigma(self) -> float:
        """Standard deviation of the last release; inf before the first."""
        return self._sigma

    @property
    def rho(self) -> float:
        """sensitivity**2 / (2 sigma**2) of the last release: the zCDP parameter if the levels had been fixed. Exact."""
        return self.sensitivity**2 * self._precision / 2

    @property
    def epsilon(self) -> float:
        if not self._precision:
            return 0.0
        return self._definition.gaussian_epsilon(self.rho) if self._boundary is None else float(self._boundary.epsilon(self.rho))

    def release(self, sigma: float) -> Bounded:
        """The value with noise of standard deviation sigma, below that of the release before, and the bound so far."""
        level = scalar("sigma", positive("sigma", sigma))
        gained = level**-2.0 - self._precision
        if gained <= 1e-12 * self._precision:
            raise fail("sigma", sigma, f"below the last release's {self.sigma!r}: more noise would tell nothing new")
        # With W(t) = sum of sqrt(gained) N(0, 1), Brownian motion in t = precision, the weighted average is value + W(t)/t.
        self._path = self._path + math.sqrt(gained) * self._rng.standard_normal(self._value.shape)
        self._sigma, self._precision = level, level**-2.0
        return Bounded(plain(self._value + self._path / self._precision), self.epsilon)

    def __repr__(self) -> str:
        return f"BrownianMechanism({self._definition}, sensitivity={self.sensitivity:g}, sigma={self.sigma:.6g})"


class LaplaceReduction(ReducibleRelease):
    """Laplace noise that can be reduced: everything released so far is pure ex-post private with the LAST epsilon.

    Each release has Laplace noise of scale sensitivity / epsilon; given the last one, all earlier releases are noise on top
    of it that knows nothing about the data. The noise walks forward, so that the levels may be chosen as the releases come.

    Parameters
    ----------
    value : the private number or array (any shape); the walk is made entry by entry.
    sensitivity : the most that a change of neighbor moves it, in L1 norm.
    neighbors : the relation under which `sensitivity` was found.

    References
    ----------
    Koufogiannis, Han and Pappas (2017), Gradual Release of Sensitive Data under Differential Privacy; Ligett et al. (2017).

    >>> count = LaplaceReduction(120.0, rng=np.random.default_rng(1))
    >>> [count.release(epsilon).epsilon for epsilon in (0.1, 0.2, 0.5)]
    [0.1, 0.2, 0.5]
    """

    definition = PureExPost()

    def __init__(self, value: ArrayLike, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0],
                 rng: np.random.Generator | None = None) -> None:
        super().__init__(value, sensitivity, neighbors, rng)
        self._epsilon, self._noise = 0.0, None

    @property
    def epsilon(self) -> float:
        return self._epsilon

    def release(self, epsilon: float) -> Bounded:
        """The value with noise of scale sensitivity / epsilon, epsilon above that of the release before, and the bound so far."""
        level = scalar("epsilon", positive("epsilon", epsilon))
        if level <= self._epsilon:
            raise fail("epsilon", epsilon, f"above the last release's {self._epsilon!r}")
        if self._noise is None:
            self._noise = self._rng.laplace(0.0, self.sensitivity / level, self._value.shape)
        else:
            self._noise = laplace_walk(self._noise, self.sensitivity / self._epsilon, self.sensitivity / level, rng=self._rng)
        self._epsilon = level
        return Bounded(plain(self._value + self._noise), level)

    def __repr__(self) -> str:
        return f"LaplaceReduction(sensitivity={self.sensitivity:g}, epsilon={self._epsilon:.6g})"


class FreshLaplace(ReducibleRelease):
    """The baseline: independent Laplace noise at every level; epsilons add up. With `doubling` levels, below twice the last.

    Parameters as in `LaplaceReduction`. Pure ex-post private with the sum of the levels so far.

    >>> count = FreshLaplace(120.0, rng=np.random.default_rng(1))
    >>> [count.release(epsilon).epsilon for epsilon in doubling(0.125, 4)]
    [0.125, 0.375, 0.875, 1.875]
    """

    definition = PureExPost()

    def __init__(self, value: ArrayLike, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0],
                 rng: np.random.Generator | None = None) -> None:
        super().__init__(value, sensitivity, neighbors, rng)
        self._levels: list[float] = []

    @property
    def epsilon(self) -> float:
        return math.fsum(self._levels)

    def release(self, epsilon: float) -> Bounded:
        """The value with fresh noise of scale sensitivity / epsilon, and the sum of the levels so far."""
        level = scalar("epsilon", positive("epsilon", epsilon))
        self._levels.append(level)
        return Bounded(plain(self._value + self._rng.laplace(0.0, self.sensitivity / level, self._value.shape)), self.epsilon)


def doubling(first: float, times: int) -> Iterator[float]:
    """The levels first, 2 first, 4 first, ...: `times` of them. Their sum stays below twice the last."""
    first, times = scalar("first", positive("first", first)), count("times", times, 1)
    return (first * 2.0**i for i in range(times))


def laplace_walk(noise: ArrayLike, scale: float, new_scale: float, *, rng: np.random.Generator | None = None) -> FloatArray:
    """Noise of a smaller Laplace scale, given noise of a larger one: one forward step of Laplace noise reduction, entry by entry.

    With e = 1/scale and f = 1/new_scale: stays at v with probability (e/f) e**(-(f - e)|v|), else moves to x with density
    proportional to e**(-f|x| - e|v - x|). If `noise` is Laplace with `scale`, the result is Laplace with `new_scale`, and
    the step read backward does not depend on the value. Overall P[stay] = (e/f)**2.

    Parameters
    ----------
    noise : array of draws with Laplace scale `scale`, finite.
    scale, new_scale : positive, new_scale <= scale.
    """
    v, rng = finite("noise", noise), generator(rng)
    e, f = 1 / scalar("scale", positive("scale", scale)), 1 / scalar("new_scale", positive("new_scale", new_scale))
    if f < e:
        raise fail("new_scale", new_scale, f"at most scale = {scale!r}")
    size, gap, total = np.abs(v), f - e, e + f
    left = np.full(v.shape, 1 / total)                       # masses of x < 0, 0 < x < |v|, |v| < x, up to one factor
    middle = -np.expm1(-gap * size) / gap if gap else size
    right = np.exp(-gap * size) / total
    stay, part, u = rng.random(v.shape), rng.random(v.shape) * (left + middle + right), rng.random(v.shape)
    tail = rng.standard_exponential(v.shape) / total
    inside = -np.log1p(u * np.expm1(-gap * size)) / gap if gap else u * size
    moved = np.where(part < left, -tail, np.where(part < left + middle, inside, size + tail))
    return np.where(stay < e / f * np.exp(-gap * size), v, np.where(v < 0, -moved, moved))
