"""Mechanisms that add noise to a number: Laplace and Gaussian, and what they share with the discrete ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions, noise
from dpnotes._validate import count, fail, finite, generator, nonnegative, open_probability, plain, positive, probability, scalar
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism, largest, neighbor_relation
from dpnotes.privacy_loss import GaussianLoss, LaplaceLoss, PrivacyLoss


class Additive(Mechanism):
    """Adds independent noise of one law to every entry of the answer."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """The standard deviation of the noise on one entry, in the units of the answer. Exact."""

    @abstractmethod
    def _half_width(self, miss: float) -> float:
        """The smallest w with P[|noise| > w] <= miss, for 0 < miss < 1."""

    @abstractmethod
    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any: ...

    @property
    def variance(self) -> float:
        """The variance of the noise on one entry."""
        return self.standard_deviation**2

    def error(self, confidence: float = 0.95, size: int = 1) -> float:
        """How far off the answer will be: the smallest w such that |noise| <= w with that probability. Exact.

        Parameters
        ----------
        confidence : a probability; 1 gives inf.
        size : the number of entries of the answer that are to be within w, all of them at once.
        """
        return self._half_width(miss) if (miss := miss_per_entry(confidence, size)) > 0 else np.inf

    def release(self, value: ArrayLike, *, clamp: tuple[float, float] | None = None,
                rng: np.random.Generator | None = None) -> Any:
        """The value, or array of values, with fresh noise on every entry.

        Floating-point noise is for teaching: see `dpnotes.noise`.

        Parameters
        ----------
        clamp : (lower, upper): noisy answers outside are moved to the nearer bound. That is post-processing and costs no
            privacy. (Redrawing the noise until the answer lies inside is not post-processing: its law depends on the data.)
        """
        value, rng = self._check_value(value), generator(rng)
        if clamp is not None and not clamp[0] <= clamp[1]:
            raise fail("clamp", clamp, "two numbers (lower, upper) with lower <= upper")
        noisy = self._add(value, self._noise(value.shape, rng))
        return plain(noisy if clamp is None else np.clip(noisy, *clamp))

    def _check_value(self, value: ArrayLike) -> np.ndarray:
        return finite("value", value)

    def _add(self, value: np.ndarray, draws: np.ndarray) -> np.ndarray:
        return value + draws


def miss_per_entry(confidence: float, size: int) -> float:
    """The probability with which one of `size` independent entries may miss when all are to hit with `confidence`."""
    confidence = scalar("confidence", probability("confidence", confidence))
    return float(-np.expm1(np.log(confidence) / count("size", size, 1))) if confidence else 1.0


class Laplace(Additive):
    """Adds Laplace noise: pure DP with epsilon = sensitivity / scale. Exact.

    Parameters
    ----------
    scale : the noise's scale b, in the units of the answer; its standard deviation is sqrt(2) b.
    sensitivity : the most that one change of a neighbor moves the answer, in L1 norm for a vector; 1 for a count.
    neighbors : the relation under which `sensitivity` was found.

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006), Calibrating Noise to Sensitivity in Private Data Analysis.

    >>> round(Laplace(scale=1 / np.log(3)).epsilon, 12)
    1.098612288668
    """

    kinds: ClassVar[dict[str, str]] = Mechanism.kinds | {"mu": "exact"}

    def __init__(self, scale: float, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0]) -> None:
        self.scale = scalar("scale", positive("scale", scale))
        self.sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        self.neighbors = neighbor_relation(neighbors)

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0]) -> Laplace:
        """The least noise that is epsilon-DP: scale = sensitivity / epsilon."""
        epsilon = scalar("epsilon", positive("epsilon", epsilon))
        sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        scale = sensitivity / epsilon
        if scale and sensitivity / scale > epsilon:  # rounded down by a hair: round up
            scale = float(np.nextafter(scale, np.inf))
        return cls(scale, sensitivity, neighbors=neighbors)

    @classmethod
    def for_epsilon_delta(cls, epsilon: float, delta: float, sensitivity: float = 1.0, *,
                          neighbors: str = NEIGHBORS[0]) -> Laplace:
        """The least noise that is (epsilon, delta)-DP: it is pure DP with epsilon - 2 log(1 - delta)."""
        epsilon = scalar("epsilon", nonnegative("epsilon", finite("epsilon", epsilon)))
        bound = (epsilon - 2 * np.log1p(-open_probability("delta", delta))) * (1 - 1e-15)
        return cls.for_epsilon(bound, sensitivity, neighbors=neighbors)

    @classmethod
    def for_rho(cls, rho: float, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0]) -> Laplace:
        """The least noise that is rho-zCDP."""
        rho = scalar("rho", positive("rho", rho))
        bound = largest(lambda epsilon: LaplaceLoss(epsilon).mean(), rho, np.sqrt(2 * rho) + rho)
        return cls.for_epsilon(bound, sensitivity, neighbors=neighbors)

    @classmethod
    def for_error(cls, error: float, confidence: float = 0.95, sensitivity: float = 1.0, *,
                  neighbors: str = NEIGHBORS[0]) -> Laplace:
        """The most noise with |noise| <= error with that probability."""
        scale = scalar("error", positive("error", error)) / cls(1.0)._half_width(1 - open_probability("confidence", confidence))
        return cls(scale, sensitivity, neighbors=neighbors)

    @property
    def epsilon(self) -> float:
        """The pure-DP parameter, sensitivity / scale: the largest privacy loss. Exact."""
        return self.sensitivity / self.scale

    @property
    def rho(self) -> float:
        """epsilon + e**-epsilon - 1, the mean loss. Exact: renyi(alpha) / alpha is largest as alpha falls to 1 (checked
        by interval bounds in the tests).
        """
        return self.privacy_loss().mean()

    @property
    def mu(self) -> float:
        """The Gaussian trade-off curve through the fixed point e**(-epsilon / 2) / 2 of Laplace's lies below it (checked on
        a grid in the tests), and no higher one does. Exact.
        """
        from scipy.special import ndtri_exp

        return float(-2 * ndtri_exp(-self.epsilon / 2 - np.log(2)))

    @property
    def standard_deviation(self) -> float:
        """sqrt(2) * scale."""
        return float(np.sqrt(2) * self.scale)

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry: the pair at distance `sensitivity`, the same in both directions."""
        return {"either": LaplaceLoss(self.epsilon)}

    def _half_width(self, miss: float) -> float:
        return float(-self.scale * np.log(miss))

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return noise.laplace(self.scale, shape, rng=rng)

    def __repr__(self) -> str:
        return f"Laplace(scale={self.scale:.6g}, sensitivity={self.sensitivity:g})"


class Gaussian(Additive):
    """Adds Gaussian noise: never pure DP; (epsilon, delta)-DP by the hockey stick of its normal privacy loss. Exact.

    Parameters
    ----------
    sigma : the noise's standard deviation, in the units of the answer. 0 is no noise (every loss infinite), inf drowns it.
    sensitivity : the most that one change of a neighbor moves the answer, in L2 norm for a vector; 1 for a count.
    neighbors : the relation under which `sensitivity` was found.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian Mechanism for Differential Privacy, Theorem 8.

    >>> round(Gaussian(sigma=3**0.5).privacy_loss().tail(np.log(3)), 10)
    0.0532445015
    """

    kinds: ClassVar[dict[str, str]] = Mechanism.kinds | {"mu": "exact"}

    def __init__(self, sigma: float, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0]) -> None:
        self.sigma = scalar("sigma", nonnegative("sigma", sigma))
        self.sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        self.neighbors = neighbor_relation(neighbors)

    @classmethod
    def for_epsilon_delta(cls, epsilon: float, delta: float, sensitivity: float = 1.0, *,
                          neighbors: str = NEIGHBORS[0]) -> Gaussian:
        """The least noise that is (epsilon, delta)-DP, for 0 <= epsilon <= 1e300 and 0 < delta < 1 (analytic calibration).

        sigma is rounded up in its last digits, so that reading `privacy_loss().delta(epsilon)` back never exceeds delta.
        """
        epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        if epsilon > 1e300:
            raise fail("epsilon", epsilon, "at most 1e300")
        delta = open_probability("delta", delta)
        sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        log_delta, step = np.log(delta), 1e-15
        found = cls(max(sensitivity / conversions.approx_to_gdp_mu(epsilon, delta), 5e-324), sensitivity, neighbors=neighbors)
        while found.privacy_loss().log_delta_bounds(epsilon)[1] > log_delta:
            found.sigma, step = found.sigma * (1 + step), 2 * step
        return found

    @classmethod
    def classic(cls, epsilon: float, delta: float, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0]) -> Gaussian:
        """sigma = sensitivity sqrt(2 log(1.25 / delta)) / epsilon: more noise than needed, and proved for epsilon < 1 only.

        ValueError for epsilon >= 1: the proof of this formula uses epsilon < 1, and for large epsilon it is false. At
        delta = 1e-5 and epsilon = 10 its true delta is 2.3e-5. `for_epsilon_delta` has no such limit and adds less noise.

        References
        ----------
        Dwork and Roth (2014), The Algorithmic Foundations of Differential Privacy, Theorem A.1.
        """
        epsilon = scalar("epsilon", positive("epsilon", epsilon))
        if epsilon >= 1:
            raise fail("epsilon", epsilon, "below 1 for the classic formula, whose proof needs that (at epsilon = 10 and "
                       "delta = 1e-5 its true delta is 2.3e-5); use Gaussian.for_epsilon_delta")
        delta = open_probability("delta", delta)
        sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        return cls(sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon, sensitivity, neighbors=neighbors)

    @classmethod
    def for_rho(cls, rho: float, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0]) -> Gaussian:
        """The least noise that is rho-zCDP: sigma = sensitivity / sqrt(2 rho)."""
        return cls.for_mu(np.sqrt(2 * scalar("rho", positive("rho", rho))), sensitivity, neighbors=neighbors)

    @classmethod
    def for_mu(cls, mu: float, sensitivity: float = 1.0, *, neighbors: str = NEIGHBORS[0]) -> Gaussian:
        """The least noise that is mu-GDP: sigma = sensitivity / mu."""
        sigma = scalar("sensitivity", positive("sensitivity", sensitivity)) / scalar("mu", positive("mu", mu))
        return cls(sigma * (1 + 4e-16), sensitivity, neighbors=neighbors)

    @classmethod
    def for_error(cls, error: float, confidence: float = 0.95, sensitivity: float = 1.0, *,
                  neighbors: str = NEIGHBORS[0]) -> Gaussian:
        """The most noise with |noise| <= error with that probability."""
        sigma = scalar("error", positive("error", error)) / cls(1.0)._half_width(1 - open_probability("confidence", confidence))
        return cls(sigma, sensitivity, neighbors=neighbors)

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter, sensitivity / sigma. Exact."""
        return self.sensitivity / self.sigma if self.sigma else np.inf

    @property
    def rho(self) -> float:
        """The zCDP parameter, mu**2 / 2. Exact."""
        return self.mu**2 / 2

    @property
    def standard_deviation(self) -> float:
        """sigma."""
        return self.sigma

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry: the pair at distance `sensitivity`, the same in both directions."""
        return {"either": GaussianLoss(self.mu)}

    def _half_width(self, miss: float) -> float:
        from scipy.special import ndtri

        return float(-self.sigma * ndtri(miss / 2)) + 0.0

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return noise.gaussian(self.sigma, shape, rng=rng)

    def __repr__(self) -> str:
        return f"Gaussian(sigma={self.sigma:.6g}, sensitivity={self.sensitivity:g})"
