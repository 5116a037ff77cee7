"""Whole-number noise on whole-number answers: the discrete Laplace and Gaussian, and Laplace noise on a grid.

These are the ones to release real data with: their samplers are exact (see `dpnotes.noise`), and every input gives answers
on the same grid.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, frexp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import noise
from dpnotes._validate import count, fail, finite, nonnegative, open_probability, positive, scalar
from dpnotes.mechanisms._additive import Additive
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism, largest, neighbor_relation
from dpnotes.privacy_loss import DiscreteLoss, PrivacyLoss
from dpnotes.privacy_loss._lattice import DiscreteGaussianLoss

MOST_STEPS = 10_000  # values of one privacy loss


class Discrete(Additive):
    """Adds whole-number noise to whole numbers. Sums never wrap round: beyond 64 bits they are Python ints."""

    def _check_value(self, value: ArrayLike) -> np.ndarray:
        array = np.asarray(value)
        whole = array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(type(item) is int for item in array.flat))
        if not whole:
            raise fail("value", value, "a whole number or an array of whole numbers")
        return array

    def _add(self, value: np.ndarray, draws: Any) -> np.ndarray:
        draws = np.asarray(draws)
        if value.size and sum(max(abs(int(np.max(part))), abs(int(np.min(part)))) for part in (value, draws)) >= 2**63:
            return np.asarray(value.astype(object) + draws)
        return value.astype(np.int64) + draws.astype(np.int64)

    def _smallest_whole(self, miss: float) -> int:
        low, high = -1, 1
        while self._beyond(high) > miss:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._beyond(middle) <= miss else (middle, high)
        return high

    def _beyond(self, width: int) -> float:
        """P[|noise| > width]."""
        raise NotImplementedError

    _half_width = _smallest_whole


def thinning(steps: int) -> int:
    """The smallest divisor k of `steps` that leaves at most MOST_STEPS of them, but 100 at least."""
    for k in range(-(-steps // MOST_STEPS), steps // 100 + 2):
        if steps % k == 0:
            return k
    raise ValueError(f"the privacy loss for sensitivity = {steps} would have as many values, and {steps} has no divisor k "
                     f"such that keeping every k-th leaves 100 to {MOST_STEPS}: round the sensitivity up to one that has.")


class DiscreteLaplace(Discrete):
    """Adds two-sided geometric noise, P(x) proportional to e**(-|x| / scale): pure DP with epsilon = sensitivity / scale. Exact.

    Parameters
    ----------
    scale : the noise's scale; e**(-1 / scale) is the ratio from one whole number to the next.
    sensitivity : the most that one change of a neighbor moves the answer, a whole number. For a vector in L1 norm:
        `pure_epsilon` then holds as it is, and the loss is that of the change in a single entry.
    neighbors : the relation under which `sensitivity` was found.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2009), Universally Utility-Maximizing Privacy Mechanisms.

    >>> round(DiscreteLaplace.for_epsilon(1.0).standard_deviation, 12)
    1.356962486002
    """

    def __init__(self, scale: float | Fraction, sensitivity: int = 1, *, neighbors: str = NEIGHBORS[0]) -> None:
        noise.exact_ratio("scale", scale)
        self.scale, self.sensitivity = scale, count("sensitivity", sensitivity, 1)
        self.neighbors = neighbor_relation(neighbors)
        if self.sensitivity > MOST_STEPS:  # the loss is thinned
            self.kinds = dict.fromkeys(Mechanism.kinds, "upper") | {"pure_epsilon": "exact"}

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: int = 1, *, neighbors: str = NEIGHBORS[0]) -> DiscreteLaplace:
        """The least noise that is epsilon-DP: scale = sensitivity / epsilon, as a fraction, so that nothing is rounded."""
        ratio = noise.exact_ratio("epsilon", epsilon)
        return cls(count("sensitivity", sensitivity, 1) / ratio, sensitivity, neighbors=neighbors)

    @classmethod
    def for_error(cls, error: int, confidence: float = 0.95, sensitivity: int = 1, *,
                  neighbors: str = NEIGHBORS[0]) -> DiscreteLaplace:
        """The most noise with |noise| <= error, a whole number, with that probability."""
        width, miss = count("error", error), 1 - open_probability("confidence", confidence)
        return cls(largest(lambda scale: cls(scale)._beyond(width), miss, width + 0.5), sensitivity, neighbors=neighbors)

    @property
    def epsilon(self) -> float:
        """The pure-DP parameter, sensitivity / scale. Exact."""
        return float(self.sensitivity / self.scale)

    @property
    def pure_epsilon(self) -> float:
        """The same: the largest privacy loss."""
        return self.epsilon

    @property
    def rho(self) -> float:
        """The mean loss where sensitivity = 1 (binary randomized response); else by interval bounds, about 1e-8 too large."""
        return self.privacy_loss().mean() if self.sensitivity == 1 else super().rho

    @property
    def standard_deviation(self) -> float:
        """sqrt(2 a) / (1 - a) with a = e**(-1 / scale)."""
        rate = 1 / float(self.scale) if self.scale > Fraction(1, 1400) else 1400.0
        return float(np.sqrt(2) * np.exp(-rate / 2) / -np.expm1(-rate))

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry, the same in both directions: losses (sensitivity - 2 j) / scale for the answers j = 0 ... sensitivity.

        At these values delta is 1 - e**(-j / scale), on the curve of the continuous Laplace loss, with chords between. Above
        10,000 steps only every k-th is kept, k a divisor of the sensitivity: longer chords, an upper bound.
        """
        k = thinning(self.sensitivity)
        d, rate = self.sensitivity // k, k * float(1 / self.scale)
        log_one_plus_a = np.logaddexp(0.0, -rate)
        with np.errstate(divide="ignore"):
            between = np.log(-np.expm1(-rate)) - log_one_plus_a - rate * np.arange(1, d)
        log_masses = np.concatenate([[-log_one_plus_a], between, [-rate * d - log_one_plus_a]])
        return {"either": DiscreteLoss.from_log_masses((1 - 2 * np.arange(d + 1) / d) * self.epsilon, log_masses)}

    def _beyond(self, width: int) -> float:
        rate = float(1 / self.scale)
        return float(min(2 * np.exp(-rate * (width + 1) - np.logaddexp(0.0, -rate)), 1.0)) if width >= 0 else 1.0

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return noise.discrete_laplace(self.scale, shape, rng=rng)

    def __repr__(self) -> str:
        return f"DiscreteLaplace(scale={float(self.scale):.6g}, sensitivity={self.sensitivity})"


class DiscreteGaussian(Discrete):
    """Adds discrete Gaussian noise, P(x) proportional to e**(-x**2 / (2 sigma**2)) on the whole numbers. Exact.

    Never pure DP. rho = sensitivity**2 / (2 sigma**2), as for the Gaussian; its standard deviation is a little smaller.

    Parameters
    ----------
    sigma : positive; the parameter of the law.
    sensitivity : the most that one change of a neighbor moves the answer, a whole number. For a vector of counts, the loss of
        a change is the sum over its entries, each with its own sensitivity; `rho` adds up like the squares.
    neighbors : the relation under which `sensitivity` was found.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy.

    >>> DiscreteGaussian(sigma=2.0).rho
    0.125
    """

    def __init__(self, sigma: float, sensitivity: int = 1, *, neighbors: str = NEIGHBORS[0]) -> None:
        self.sigma = scalar("sigma", positive("sigma", sigma))
        self.sensitivity = count("sensitivity", sensitivity, 1)
        self.neighbors = neighbor_relation(neighbors)

    @classmethod
    def for_epsilon_delta(cls, epsilon: float, delta: float, sensitivity: int = 1, *,
                          neighbors: str = NEIGHBORS[0]) -> DiscreteGaussian:
        """A sigma at which the mechanism is (epsilon, delta)-DP, and just below which it is not; its last digits rounded up."""
        epsilon = scalar("epsilon", nonnegative("epsilon", finite("epsilon", epsilon)))
        log_delta, shift = np.log(open_probability("delta", delta)), count("sensitivity", sensitivity, 1)

        def reading(x: float) -> float:  # x = sensitivity / sigma
            return float(DiscreteGaussianLoss(shift / x, shift).log_delta_bounds(epsilon)[1])

        return cls(shift / largest(reading, log_delta), sensitivity, neighbors=neighbors)

    @classmethod
    def for_rho(cls, rho: float, sensitivity: int = 1, *, neighbors: str = NEIGHBORS[0]) -> DiscreteGaussian:
        """The least noise that is rho-zCDP: sigma = sensitivity / sqrt(2 rho)."""
        sigma = count("sensitivity", sensitivity, 1) / np.sqrt(2 * scalar("rho", positive("rho", rho)))
        return cls(sigma * (1 + 4e-16), sensitivity, neighbors=neighbors)

    @classmethod
    def for_error(cls, error: int, confidence: float = 0.95, sensitivity: int = 1, *,
                  neighbors: str = NEIGHBORS[0]) -> DiscreteGaussian:
        """The most noise with |noise| <= error, a whole number, with that probability."""
        width, miss = count("error", error), 1 - open_probability("confidence", confidence)
        return cls(largest(lambda sigma: cls(sigma)._beyond(width), miss, width + 0.5), sensitivity, neighbors=neighbors)

    @property
    def rho(self) -> float:
        """The zCDP parameter: renyi(alpha) = alpha rho at every whole alpha, and less between. Exact."""
        return self.privacy_loss().mean()

    @property
    def mu(self) -> float:
        """inf, an upper bound: no closed form is known, and the Gaussian's sensitivity / sigma is too small."""
        return np.inf

    @property
    def standard_deviation(self) -> float:
        """The square root of the exact variance, below sigma**2."""
        if self.sigma >= 3:
            return self.sigma  # short by e**-177
        x = np.arange(-60, 61)
        weights = np.exp(-((x / self.sigma) ** 2) / 2)
        return float(np.sqrt(np.sum(x * x * weights) / np.sum(weights)))

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry: the pair at distance `sensitivity`, the same in both directions."""
        return {"either": DiscreteGaussianLoss(self.sigma, self.sensitivity)}

    def _beyond(self, width: int) -> float:
        return float(2 * np.exp(DiscreteGaussianLoss(self.sigma)._log_above(width + 1))) if width >= 0 else 1.0

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return noise.discrete_gaussian(self.sigma, shape, rng=rng)

    def __repr__(self) -> str:
        return f"DiscreteGaussian(sigma={self.sigma:.6g}, sensitivity={self.sensitivity})"


class GridLaplace(Additive):
    """Rounds a real answer to a grid and adds discrete Laplace noise there: Laplace noise that can be released.

    Every input gives answers on the one grid, so that the low bits say nothing. Rounding may push two answers apart by part
    of a step; the privacy loss counts the sensitivity in whole steps, rounded up.

    Parameters
    ----------
    scale : the noise's scale, in the units of the answer.
    sensitivity : the most that one change of a neighbor moves the answer.
    grid : the step of the grid, a power of two, so that its multiples up to 2**53 are exact.
    neighbors : the relation under which `sensitivity` was found.

    >>> GridLaplace(scale=1.0, grid=2**-10).epsilon
    1.0
    """

    def __init__(self, scale: float, sensitivity: float = 1.0, *, grid: float = 2.0**-10, neighbors: str = NEIGHBORS[0]) -> None:
        self.scale = scalar("scale", positive("scale", scale))
        self.sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        self.grid = scalar("grid", positive("grid", grid))
        if frexp(self.grid)[0] != 0.5:
            raise fail("grid", grid, "a power of two, like 2**-10")
        steps = ceil(Fraction(self.sensitivity) / Fraction(self.grid))
        self._discrete = DiscreteLaplace(Fraction(self.scale) / Fraction(self.grid), steps, neighbors=neighbors)
        self.neighbors, self.kinds = self._discrete.neighbors, self._discrete.kinds

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float = 1.0, *, grid: float = 2.0**-10,
                    neighbors: str = NEIGHBORS[0]) -> GridLaplace:
        """epsilon-DP, with the sensitivity rounded up to the grid."""
        epsilon = scalar("epsilon", positive("epsilon", epsilon))
        unit = cls(1.0, sensitivity, grid=grid, neighbors=neighbors)
        return cls(unit.epsilon / epsilon * (1 + 4e-16), sensitivity, grid=grid, neighbors=neighbors)

    @property
    def epsilon(self) -> float:
        """The pure-DP parameter: the sensitivity, rounded up to the grid, over the scale. Exact for the worst answers."""
        return self._discrete.epsilon

    @property
    def standard_deviation(self) -> float:
        """Of the noise; rounding to the grid adds at most half a step to the error."""
        return self._discrete.standard_deviation * self.grid

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """Those of the discrete Laplace on the grid."""
        return self._discrete.privacy_losses()

    def _half_width(self, miss: float) -> float:
        return (self._discrete._half_width(miss) + 0.5) * self.grid

    def _add(self, value: np.ndarray, draws: Any) -> np.ndarray:
        # Rounded half up in exact arithmetic: floor, so that answers k steps apart stay exactly k apart.
        steps = [floor(Fraction(item) / Fraction(self.grid) + Fraction(1, 2)) for item in value.ravel().tolist()]
        total = np.asarray(np.array(steps, dtype=object).reshape(value.shape) + draws, dtype=object)
        return np.array([float(step * Fraction(self.grid)) for step in total.flat]).reshape(value.shape)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._discrete._noise(shape, rng)

    def __repr__(self) -> str:
        return f"GridLaplace(scale={self.scale:.6g}, sensitivity={self.sensitivity:g}, grid={self.grid:g})"
