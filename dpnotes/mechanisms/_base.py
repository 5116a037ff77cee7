"""What every mechanism offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions
from dpnotes._validate import at_least, fail, listed, plain, positive, scalar
from dpnotes.privacy_loss import PrivacyLoss

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
            raise ValueError(f"{self!r} has a privacy loss for each of {listed(losses)}, and none covers the others: "
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
        """The smallest zCDP parameter, the largest renyi(alpha) / alpha; by interval bounds, about 1e-8 too large."""
        return conversions.rdp_curve_to_zcdp(self.renyi) if np.isfinite(self.pure_epsilon) else np.inf

    @property
    def mu(self) -> float:
        """A Gaussian-DP parameter: the one that pure DP implies (an upper bound unless `kinds` says exact)."""
        return float(conversions.pure_to_gdp(self.pure_epsilon))

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


class PureMechanism(Mechanism):
    """A mechanism of which nothing is used but that it is epsilon-DP: its other guarantees are those of randomized response.

    Parameters
    ----------
    epsilon : the pure-DP parameter, positive.
    sensitivity : the most that one change of a neighbor moves any one query or utility.
    monotone : True if a change of a neighbor moves all of them the same way (counts under add/remove).
    neighbors : the relation under which `sensitivity` was found.
    """

    def __init__(self, epsilon: float, sensitivity: float = 1.0, *, monotone: bool = False,
                 neighbors: str = NEIGHBORS[0]) -> None:
        self.epsilon = scalar("epsilon", positive("epsilon", epsilon))
        self.sensitivity = scalar("sensitivity", positive("sensitivity", sensitivity))
        self.monotone, self.neighbors = bool(monotone), neighbor_relation(neighbors)

    @property
    def pure_epsilon(self) -> float:
        """epsilon."""
        return self.epsilon

    @property
    def rho(self) -> float:
        """epsilon * tanh(epsilon / 2), what every epsilon-DP mechanism has (at most epsilon**2 / 2). An upper bound."""
        return float(conversions.pure_to_zcdp(self.epsilon))

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry, an upper bound for every pair and direction: that of randomized response."""
        return {"either": conversions.pure_to_loss(self.epsilon)}


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
