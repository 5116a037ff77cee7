"""Mechanisms that add noise to a number: Laplace and Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import noise
from dpnotes._validate import fail, finite, generator, nonnegative, plain, positive, probability, scalar
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism, neighbor_relation
from dpnotes.privacy_loss import GaussianLoss, LaplaceLoss, PrivacyLoss
from dpnotes.privacy_loss._special import log_gaussian_hockey_stick


class Laplace(Mechanism):
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

    @property
    def epsilon(self) -> float:
        """The pure-DP parameter, sensitivity / scale: the largest privacy loss. Exact."""
        return self.sensitivity / self.scale

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry: the pair at distance `sensitivity`, the same in both directions."""
        return {"either": LaplaceLoss(self.epsilon)}

    def release(self, value: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The value, or array of values, with fresh noise on every entry. For teaching: see `dpnotes.noise`."""
        value, rng = finite("value", value), generator(rng)
        return plain(value + noise.laplace(self.scale, value.shape, rng=rng))

    def __repr__(self) -> str:
        return f"Laplace(scale={self.scale:.6g}, sensitivity={self.sensitivity:g})"


class Gaussian(Mechanism):
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
        delta = scalar("delta", probability("delta", delta))
        if not 0 < delta < 1:
            raise fail("delta", delta, "between 0 and 1, both excluded")
        sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        log_delta, step = np.log(delta), 1e-15
        found = cls(max(sensitivity / _mu_for(epsilon, log_delta), 5e-324), sensitivity, neighbors=neighbors)
        while found.privacy_loss().log_delta_bounds(epsilon)[1] > log_delta:
            found.sigma, step = found.sigma * (1 + step), 2 * step
        return found

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry: the pair at distance `sensitivity`, the same in both directions."""
        return {"either": GaussianLoss(self.sensitivity / self.sigma if self.sigma else np.inf)}

    def release(self, value: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The value, or array of values, with fresh noise on every entry. For teaching: see `dpnotes.noise`."""
        value, rng = finite("value", value), generator(rng)
        return plain(value + noise.gaussian(self.sigma, value.shape, rng=rng))

    def __repr__(self) -> str:
        return f"Gaussian(sigma={self.sigma:.6g}, sensitivity={self.sensitivity:g})"


def _mu_for(epsilon: float, log_delta: float) -> float:
    """The mu with log_delta(epsilon; mu) = log_delta: it grows with mu, in (0, inf)."""
    from scipy.optimize import brentq

    def excess(log_mu: float) -> float:
        return max(float(log_gaussian_hockey_stick(epsilon, np.exp(log_mu))), -1e300) - log_delta

    low = high = 0.0
    while excess(low) > 0:
        low -= 2.0
    while excess(high) < 0:
        high += 2.0
    return float(np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15) if low < high else low))
