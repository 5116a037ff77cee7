"""What it means that a mechanism returns its own privacy bound: four definitions, one random variable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, at_least, fail, nonnegative, plain, probability, real, scalar
from dpnotes.privacy_loss import DiscreteLoss
from dpnotes.privacy_loss._special import log1mexp

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpnotes.ex_post._finite import FinitePair

# A loss that exceeds its bound by less than this is taken as equal: log(p) - log(q) is rounded.
ROUNDING = 1e-12


class Bounded(NamedTuple):
    """What an ex-post private mechanism returns: an output together with its privacy bound, epsilon in nats."""

    output: Any
    epsilon: float

    def post_process(self, function: Callable[[Any], Any], *, round_up_to: float | None = None) -> Bounded:
        """The output transformed and the bound carried along; it may be rounded up, never down.

        `function` must not look at the data again; it may use randomness of its own. A pure, approximate or Rényi ex-post
        guarantee survives this, a probabilistic one does not.

        >>> Bounded(3.7, 0.25).post_process(round, round_up_to=0.5)
        Bounded(output=4, epsilon=0.5)
        """
        epsilon = self.epsilon
        if round_up_to is not None:
            epsilon = scalar("round_up_to", nonnegative("round_up_to", round_up_to))
            if epsilon < self.epsilon:
                raise fail("round_up_to", round_up_to, f"at least the bound, {self.epsilon!r}: rounding a bound down breaks it")
        return Bounded(function(self.output), epsilon)


@dataclass(frozen=True)
class ExPostDefinition(ABC):
    """One reading of (L, epsilon), the privacy loss beside the bound that came with the output.

    Every definition here says that the mean under P of a `statistic` of the two is at most a `limit`, for both ordered
    pairs of every two neighbors. L = log p/q is taken on the pair (output, epsilon), since an observer sees both.
    """

    @property
    @abstractmethod
    def limit(self) -> float:
        """The largest mean of the statistic that the definition allows."""

    @abstractmethod
    def _log_statistic(self, excess: FloatArray) -> FloatArray:
        """The logarithm of the statistic as a function of L - epsilon."""

    survives_post_processing = True

    def log_statistic(self, loss: ArrayLike, epsilon: ArrayLike) -> Any:
        """log of the statistic at a loss (any real number, inf on distinguishing events) and a finite bound; broadcasts."""
        epsilon = nonnegative("epsilon", epsilon)
        if np.isinf(epsilon).any():
            raise fail("epsilon", epsilon, "finite")
        return plain(self._log_statistic(real("loss", loss) - epsilon))

    def holds(self, pair: FinitePair) -> bool:
        """Whether both ordered pairs satisfy the definition. Exact up to rounding (1e-12)."""
        return all(one.mean(self) <= self.limit + ROUNDING for one in (pair, pair.swapped))

    def compose(self, other: ExPostDefinition) -> ExPostDefinition:
        """The definition that the SUM of both bounds satisfies when both look at the same rows, one after the other."""
        return _together(self, other, lambda a, b: min(a + b, 1.0))

    def parallel(self, other: ExPostDefinition) -> ExPostDefinition:
        """The definition that the LARGER of both bounds satisfies when the two look at disjoint rows."""
        return _together(self, other, max)


@dataclass(frozen=True)
class PureExPost(ExPostDefinition):
    """L <= epsilon always: P(S) <= integral over S of e**epsilon dQ, for every set S of pairs (output, epsilon).

    References
    ----------
    Ligett, Neel, Roth, Waggoner and Wu (2017), Accuracy First.
    """

    limit = 0.0

    def _log_statistic(self, excess: FloatArray) -> FloatArray:
        return np.where(excess > ROUNDING, 0.0, -np.inf)

    def __str__(self) -> str:
        return "pure ex-post privacy"


@dataclass(frozen=True)
class _WithDelta(ExPostDefinition):
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", scalar("delta", probability("delta", self.delta)))

    @property
    def limit(self) -> float:
        return self.delta


@dataclass(frozen=True)
class ProbabilisticExPost(_WithDelta):
    """P[L > epsilon] <= delta. NOT immune to post-processing: merging outputs can move the loss of many to one side.

    References
    ----------
    Whitehouse, Ramdas, Wu and Rogers (2022), Brownian Noise Reduction.
    """

    survives_post_processing = False

    def _log_statistic(self, excess: FloatArray) -> FloatArray:
        return np.where(excess > ROUNDING, 0.0, -np.inf)

    def __str__(self) -> str:
        return f"delta-probabilistic ex-post privacy, delta = {self.delta:g}"


@dataclass(frozen=True)
class ApproximateExPost(_WithDelta):
    """E_P[max(0, 1 - e**(epsilon - L))] <= delta: P(S) <= integral over S of e**epsilon dQ + delta. Survives post-processing.

    The natural relaxation of the pure definition (this book's; the sources do not name it).
    """

    def _log_statistic(self, excess: FloatArray) -> FloatArray:
        return log1mexp(np.minimum(-excess, 0.0))

    def __str__(self) -> str:
        return f"delta-approximate ex-post privacy, delta = {self.delta:g}"


@dataclass(frozen=True)
class RenyiExPost(ExPostDefinition):
    """E_P[e**((alpha - 1)(L - epsilon))] <= 1, that is E_Q[W] <= 1 with W = e**((1 - alpha) epsilon) (p/q)**alpha.

    W is an e-value: the wealth of somebody who bets that the data are not Q's, and who must not win on average.
    The order alpha is part of the definition: it is fixed before anything is released.

    Parameters
    ----------
    alpha : the order, above 1 and finite.

    References
    ----------
    Räisä, Koskela and Honkela (2025), arXiv 2509.22213.
    """

    alpha: float

    def __post_init__(self) -> None:
        alpha = scalar("alpha", at_least("alpha", self.alpha, 1.0))
        if not 1 < alpha < np.inf:
            raise fail("alpha", self.alpha, "above 1 and finite")
        object.__setattr__(self, "alpha", alpha)

    limit = 1.0

    def _log_statistic(self, excess: FloatArray) -> FloatArray:
        return (self.alpha - 1) * excess

    def gaussian_epsilon(self, rho: ArrayLike) -> Any:
        """The bound of Gaussian noise, alpha * rho with rho = sensitivity**2 / (2 sigma**2). Exact."""
        return plain(self.alpha * nonnegative("rho", rho))

    def pure_epsilon(self, epsilon: float) -> float:
        """The bound of a mechanism that is epsilon-DP with a CONSTANT epsilon: D_alpha of randomized response. Exact, tight."""
        epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        likely = -np.log1p(np.exp(-epsilon))
        loss = DiscreteLoss.from_log_masses([epsilon, -epsilon], [likely, likely - epsilon])
        return min(float(loss.renyi(self.alpha)), epsilon)

    def __str__(self) -> str:
        return f"alpha-ex-post Rényi DP, alpha = {self.alpha:g}"


def _together(first: ExPostDefinition, second: ExPostDefinition, join: Callable[[float, float], float]) -> ExPostDefinition:
    """The weakest of the two where one implies the other with the same epsilon; deltas by `join`."""
    if isinstance(first, PureExPost) or isinstance(second, PureExPost):
        return second if isinstance(first, PureExPost) else first
    if isinstance(first, RenyiExPost) and isinstance(second, RenyiExPost):
        return RenyiExPost(min(first.alpha, second.alpha))  # a higher order implies a lower one (Jensen)
    if not isinstance(first, RenyiExPost) and not isinstance(second, RenyiExPost):
        delta = join(first.delta, second.delta)
        # The probabilistic definition implies the approximate one, with the same numbers.
        return ProbabilisticExPost(delta) if type(first) is type(second) is ProbabilisticExPost else ApproximateExPost(delta)
    raise ValueError(f"{first} and {second} have no common reading with the same bounds: convert the Rényi bound first "
                     "(renyi_to_approximate), with a delta fixed in advance.")
