"""What every mechanism offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, at_least, fail, plain
from dpnotes.privacy_loss import DiscreteLoss, PrivacyLoss

if TYPE_CHECKING:
    from dpnotes.mechanisms._sampled import PoissonSampled, SampledWithoutReplacement

NEIGHBORS = ("add/remove one record", "replace one record")


def neighbor_relation(value: str) -> str:
    if not isinstance(value, str) or value not in NEIGHBORS:
        raise fail("neighbors", value, " or ".join(map(repr, NEIGHBORS)))
    return value


class Mechanism(ABC):
    """A randomized function of the data with a known privacy loss.

    `neighbors` names the relation under which the loss holds. `privacy_losses` gives the loss of every direction that no
    other one dominates; `privacy_loss` is the short way where one entry speaks for all.

    The same guarantee in the other currencies: `pure_epsilon`, `renyi(alpha)`, `rho` (zCDP), `mu` (Gaussian DP), each
    either the best possible constant or an upper bound; `kinds` says which, and `guarantees()` puts the two together.
    """

    neighbors: str = NEIGHBORS[0]
    kinds: ClassVar[dict[str, str]] = {"loss": "exact", "pure_epsilon": "exact", "renyi": "exact", "rho": "exact", "mu": "upper"}

    @abstractmethod
    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """The privacy losses by direction of the change; a guarantee takes the largest reading of them."""

    def privacy_loss(self) -> PrivacyLoss:
        """The one privacy loss that covers every ordered pair of neighbors, where there is one; ValueError where not."""
        losses = self.privacy_losses()
        if len(losses) > 1:
            raise ValueError(f"{self!r} has a privacy loss for each of {', '.join(losses)}, and none covers the others: "
                             "read all of privacy_losses() and keep the largest value.")
        return next(iter(losses.values()))

    @property
    def pure_epsilon(self) -> float:
        """The smallest epsilon for pure DP, the largest privacy loss; inf where the loss is unbounded."""
        return float(max(loss.maximum for loss in self.privacy_losses().values()))

    def renyi(self, alpha: ArrayLike) -> Any:
        """The Rényi-DP parameter at order alpha >= 1 (scalar or array): the larger of all directions."""
        alpha = at_least("alpha", alpha, 1.0)
        return plain(np.max([loss.renyi(alpha) for loss in self.privacy_losses().values()], axis=0))

    @property
    def rho(self) -> float:
        """The smallest zCDP parameter, the largest renyi(alpha) / alpha; by interval bounds, at most 1e-8 too large."""
        return rho_from_renyi(self.renyi, self.pure_epsilon)

    @property
    def mu(self) -> float:
        """A Gaussian-DP parameter: the one that pure DP implies (an upper bound unless `kinds` says exact)."""
        return mu_from_pure(self.pure_epsilon)

    def guarantees(self) -> dict[str, tuple[float, str]]:
        """pure_epsilon, rho and mu, each as (value, "exact" or "upper")."""
        return {name: (float(getattr(self, name)), self.kinds[name]) for name in ("pure_epsilon", "rho", "mu")}

    def poisson_sampled(self, q: float) -> PoissonSampled:
        """The mechanism on a random part of the records, each kept with probability q, independently."""
        from dpnotes.mechanisms._sampled import PoissonSampled

        return PoissonSampled(self, q)

    def sampled_without_replacement(self, m: int, n: int) -> SampledWithoutReplacement:
        """The mechanism on m of n records, every subset of that size equally likely."""
        from dpnotes.mechanisms._sampled import SampledWithoutReplacement

        return SampledWithoutReplacement(self, m, n)


def randomized_response_loss(epsilon: float) -> DiscreteLoss:
    """The loss +epsilon or -epsilon of binary randomized response: it dominates the loss of every epsilon-DP mechanism.

    Kairouz, Oh and Viswanath (2015), The Composition Theorem for Differential Privacy.
    """
    log_truth = -np.logaddexp(0.0, -epsilon)
    return DiscreteLoss.from_log_masses([epsilon, -epsilon], [log_truth, log_truth - epsilon])


def mu_from_pure(epsilon: float) -> float:
    """The smallest mu for which every epsilon-DP mechanism is mu-GDP: its two trade-off curves meet at 1 / (1 + e**epsilon)."""
    from scipy.special import ndtri_exp

    return float(-2 * ndtri_exp(-np.logaddexp(0.0, epsilon))) + 0.0 if np.isfinite(epsilon) else np.inf


def rho_from_renyi(renyi: Callable[[FloatArray], FloatArray], pure_epsilon: float) -> float:
    """sup over alpha > 1 of renyi(alpha) / alpha for a bounded loss, rounded up by at most 1e-8 of itself.

    With t = alpha - 1, K(t) = t renyi(1 + t) is convex and K(0) = 0: on an interval it lies below its chord a + b t, a <= 0,
    and (a + b t) / (t (t + 1)) is largest at an end or at t = (sqrt(a**2 - a b) - a) / b. Halve the intervals where that is
    above the best ratio seen. Beyond alpha = pure_epsilon / renyi(1) the ratio is below its value at 1.
    """
    best = float(renyi(np.ones(1))[0])
    if not np.isfinite(pure_epsilon) or best == 0:
        return np.inf if best else 0.0
    top = max(pure_epsilon / best - 1, 1e-3)
    edges = np.concatenate([[0.0], np.geomspace(1e-9, 1.001, 60) * top])
    k = edges * renyi(1 + edges)
    left, right, k_left, k_right = edges[:-1], edges[1:], k[:-1], k[1:]
    while True:
        b = (k_right - k_left) / (right - left)
        a = np.minimum(k_left - b * left, 0.0)
        t = np.clip((np.sqrt(a * a - a * b) - a) / b, left, right)
        with np.errstate(invalid="ignore"):
            bound = np.where(left == 0, b, (a + b * t) / (t * (t + 1)))
        best = max(best, float(np.max(k_right / (right * (right + 1)))))
        if bound.max() <= best * (1 + 1e-8):
            return float(max(bound.max(), best))
        open_ = bound > best * (1 + 1e-9)
        left, right, k_left, k_right = left[open_], right[open_], k_left[open_], k_right[open_]
        middle = (left + right) / 2
        k_middle = middle * renyi(1 + middle)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        k_left, k_right = np.concatenate([k_left, k_middle]), np.concatenate([k_middle, k_right])


def largest(reading: Callable[[float], float], limit: float, start: float = 1.0) -> float:
    """The largest x > 0 with reading(x) <= limit for a reading that grows with x: calibration. Rounded down until it holds."""
    from scipy.optimize import brentq

    def excess(log_x: float) -> float:
        return max(min(reading(float(np.exp(log_x))) - limit, 1e300), -1e300)

    low = high = float(np.log(start))
    step = 0.5
    while excess(low) > 0:
        low, step = low - step, 2 * step
    step = 0.5
    while excess(high) < 0:
        high, step = high + step, 2 * step
    x, step = float(np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15) if low < high else low)), 2.0**-52
    while reading(x) > limit:
        x, step = x * (1 - step), 2 * step
    return x
