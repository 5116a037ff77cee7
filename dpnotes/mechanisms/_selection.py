"""Choosing one of many candidates: the exponential mechanism, permute-and-flip, and the noisiest maximum.

Four mechanisms with one promise and different laws. Only the exponential mechanism (the same as Gumbel noise) has a
bounded range, its privacy losses within a window of length epsilon, and so rho = epsilon**2 / 8; permute-and-flip (the
same as exponential noise) and Laplace noise get what every epsilon-DP mechanism gets, epsilon * tanh(epsilon / 2).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import noise
from dpnotes._validate import FloatArray, at_least, fail, finite, generator, nonnegative, plain, positive, probability, scalar
from dpnotes.mechanisms._base import NEIGHBORS, PureMechanism
from dpnotes.mechanisms._panels import log_laplace_cdf, panels
from dpnotes.privacy_loss._special import logsumexp

LEAST = -1e15  # utilities this far below the best, in units of the noise, are never chosen


class Selection(PureMechanism):
    """Picks one candidate, preferring those of high utility: epsilon-DP.

    `pure_epsilon` is tight over all utilities; `privacy_losses` is the randomized-response loss that dominates every
    epsilon-DP mechanism, an upper bound.

    Parameters
    ----------
    epsilon : the pure-DP parameter, positive.
    sensitivity : the most that one change of a neighbor moves the utility of any one candidate.
    monotone : True if a change of a neighbor moves all utilities the same way (counts under add/remove): half the noise.
    neighbors : the relation under which `sensitivity` was found.
    """

    kinds: ClassVar[dict[str, str]] = {"loss": "upper", "pure_epsilon": "exact", "renyi": "upper", "rho": "upper", "mu": "upper"}

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float = 1.0, **options: Any) -> Selection:
        """The constructor under the name that calibrations have."""
        return cls(epsilon, sensitivity, **options)

    @property
    def scale(self) -> float:
        """The noise's scale in units of utility: 2 sensitivity / epsilon, half of it for monotone utilities."""
        return (1 if self.monotone else 2) * self.sensitivity / self.epsilon

    @abstractmethod
    def _probabilities(self, scaled: FloatArray) -> FloatArray:
        """From utilities in units of `scale`, the largest of them 0."""

    def probabilities(self, utilities: ArrayLike) -> FloatArray:
        """The probability of each candidate, shape (n,). Exact up to rounding (Laplace noise: quadrature, 1e-12)."""
        return self._probabilities(self._scaled(utilities))

    @abstractmethod
    def _choose(self, scaled: FloatArray, rng: np.random.Generator) -> int: ...

    def release(self, utilities: ArrayLike, *, rng: np.random.Generator | None = None) -> int:
        """The index of the chosen candidate; utilities have shape (n,)."""
        return int(self._choose(self._scaled(utilities), generator(rng)))

    def error(self, utilities: ArrayLike, confidence: float = 0.95) -> float:
        """How far below the best the choice will be: the smallest gap in utility not exceeded with that probability. Exact."""
        utilities = finite("utilities", utilities)
        confidence = scalar("confidence", probability("confidence", confidence))
        chances = self.probabilities(utilities)
        with np.errstate(over="ignore"):
            gaps = utilities.max() - utilities
        order = np.argsort(gaps, kind="stable")
        reached = np.cumsum(chances[order])
        return float(gaps[order][min(np.searchsorted(reached, confidence - 1e-12), len(gaps) - 1)])

    def _scaled(self, utilities: ArrayLike) -> FloatArray:
        utilities = finite("utilities", utilities)
        if utilities.ndim != 1 or utilities.size == 0:
            raise fail("utilities", utilities, "a one-dimensional array of finite numbers, at least one")
        with np.errstate(over="ignore"):
            return np.maximum((utilities - utilities.max()) / self.scale, LEAST)

    def __repr__(self) -> str:
        monotone = ", monotone=True" if self.monotone else ""
        return f"{type(self).__name__}(epsilon={self.epsilon:.6g}, sensitivity={self.sensitivity:g}{monotone})"


class ExponentialMechanism(Selection):
    """Picks a candidate with probability proportional to base measure * e**(epsilon utility / (2 sensitivity)).

    Bounded range: for any two neighbors the privacy losses of all candidates lie in a window of length epsilon, so
    rho = epsilon**2 / 8 (Hoeffding's lemma), a quarter of what pure DP alone gives.

    Parameters
    ----------
    epsilon, sensitivity, monotone, neighbors : as for every selection: see `Selection`.

    References
    ----------
    McSherry and Talwar (2007), Mechanism Design via Differential Privacy; the bounded range: Dong, Durfee and Rogers (2020),
    Optimal Differential Privacy Composition for Exponential Mechanisms.

    >>> [round(float(p), 6) for p in ExponentialMechanism(epsilon=1.0).probabilities([0, 1])]
    [0.377541, 0.622459]
    """

    @classmethod
    def for_rho(cls, rho: float, sensitivity: float = 1.0, **options: Any) -> ExponentialMechanism:
        """The most exact choice that is rho-zCDP: epsilon = sqrt(8 rho)."""
        return cls(np.sqrt(8 * scalar("rho", positive("rho", rho))) * (1 - 4e-16), sensitivity, **options)

    @property
    def rho(self) -> float:
        """epsilon**2 / 8 by the bounded range, or epsilon * tanh(epsilon / 2) where that is less. An upper bound."""
        return min(self.epsilon**2 / 8, super().rho)

    def renyi(self, alpha: ArrayLike) -> Any:
        """The smaller of alpha rho and what every epsilon-DP mechanism has. An upper bound."""
        alpha = at_least("alpha", alpha, 1.0)
        return plain(np.minimum(alpha * self.rho, super().renyi(alpha)))

    def probabilities(self, utilities: ArrayLike, measure: ArrayLike | None = None) -> FloatArray:
        """The probability of each candidate, shape (n,).

        Parameters
        ----------
        measure : the base measure, weights >= 0 of shape (n,), not all zero and fixed before the data are seen; default 1.
        """
        return np.exp(self._log_weights(utilities, measure))

    def release(self, utilities: ArrayLike, measure: ArrayLike | None = None, *, rng: np.random.Generator | None = None) -> int:
        """The index of the chosen candidate; arguments as for `probabilities`."""
        weights, rng = self._log_weights(utilities, measure), generator(rng)
        return int(np.argmax(weights + rng.gumbel(size=weights.size)))

    def _log_weights(self, utilities: ArrayLike, measure: ArrayLike | None) -> FloatArray:
        scaled = self._scaled(utilities)
        if measure is not None:
            measure = nonnegative("measure", finite("measure", measure))
            if measure.shape != scaled.shape or not measure.any():
                raise fail("measure", measure, f"{scaled.size} numbers, one for each utility, not all 0")
            with np.errstate(divide="ignore"):
                scaled = scaled + np.log(measure)
        return scaled - logsumexp(scaled)

    def _probabilities(self, scaled: FloatArray) -> FloatArray:
        return np.exp(scaled - logsumexp(scaled))

    def _choose(self, scaled: FloatArray, rng: np.random.Generator) -> int:
        return np.argmax(scaled + rng.gumbel(size=scaled.size))


class PermuteAndFlip(Selection):
    """Looks at the candidates in random order and takes the first whose coin, e**(epsilon (utility - best) / (2 sensitivity)),
    shows heads. Never a larger expected error than the exponential mechanism; no bounded range.

    Parameters
    ----------
    epsilon, sensitivity, monotone, neighbors : as for every selection: see `Selection`.

    References
    ----------
    McKenna and Sheldon (2020), Permute-and-Flip. The same law as exponential noise: Ding, Kifer, Sayed Noghabi, Steinke, Wang,
    Xiao and Zhang (2021), The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with Exponential Noise.

    >>> [round(float(p), 6) for p in PermuteAndFlip(epsilon=1.0).probabilities([0, 1])]
    [0.303265, 0.696735]
    """

    def _probabilities(self, scaled: FloatArray) -> FloatArray:
        return _first_heads(np.exp(scaled))

    def _choose(self, scaled: FloatArray, rng: np.random.Generator) -> int:
        order = rng.permutation(scaled.size)
        return order[np.argmax(rng.random(scaled.size) < np.exp(scaled[order]))]  # a best candidate's coin is always heads


class ReportNoisyMax(Selection):
    """Adds noise to every utility and names the largest: with Laplace, exponential or Gumbel noise.

    Only the index may be released, not the noisy maximum.

    Parameters
    ----------
    epsilon, sensitivity, monotone, neighbors : as for every selection: see `Selection`.
    noise : "laplace", "exponential" (the law of permute-and-flip) or "gumbel" (the law of the exponential mechanism).

    References
    ----------
    Dwork and Roth (2014), The Algorithmic Foundations of Differential Privacy, section 3.3.

    >>> [round(float(p), 6) for p in ReportNoisyMax(epsilon=1.0).probabilities([0, 1])]
    [0.379082, 0.620918]
    """

    LAWS = ("laplace", "exponential", "gumbel")

    def __init__(self, epsilon: float, sensitivity: float = 1.0, *, noise: str = "laplace", monotone: bool = False,
                 neighbors: str = NEIGHBORS[0]) -> None:
        super().__init__(epsilon, sensitivity, monotone=monotone, neighbors=neighbors)
        if noise not in self.LAWS:
            raise fail("noise", noise, " or ".join(map(repr, self.LAWS)))
        self.noise = noise

    @property
    def rho(self) -> float:
        """That of the exponential mechanism for Gumbel noise, that of pure DP otherwise. An upper bound."""
        return min(self.epsilon**2 / 8, super().rho) if self.noise == "gumbel" else super().rho

    def renyi(self, alpha: ArrayLike) -> Any:
        """The smaller of alpha rho and what every epsilon-DP mechanism has. An upper bound."""
        alpha = at_least("alpha", alpha, 1.0)
        return plain(np.minimum(alpha * self.rho, super().renyi(alpha)))

    def _probabilities(self, scaled: FloatArray) -> FloatArray:
        if self.noise == "laplace":
            return _largest_with_laplace(scaled)
        return _first_heads(np.exp(scaled)) if self.noise == "exponential" else np.exp(scaled - logsumexp(scaled))

    def _choose(self, scaled: FloatArray, rng: np.random.Generator) -> int:
        draw = {"laplace": lambda n: noise.laplace(1.0, n, rng=rng), "exponential": lambda n: rng.exponential(size=n),
                "gumbel": lambda n: rng.gumbel(size=n)}[self.noise]
        return np.argmax(scaled + draw(scaled.size))


def _first_heads(q: FloatArray) -> FloatArray:
    """Permute-and-flip: q_j times the integral over x in [0, 1] of the product over i != j of (1 - x q_i).

    x is the place in the order; the others before it showed tails. A polynomial of degree n - 1 with positive values: the
    Gauss-Legendre rule with n / 2 nodes is exact.
    """
    nodes, weights = np.polynomial.legendre.leggauss(q.size // 2 + 1)
    x, result = (nodes + 1) / 2, np.empty(q.size)
    log_tails = np.log1p(-x[:, None] * q)
    everyone = log_tails.sum(axis=1)
    for j in range(q.size):
        result[j] = q[j] * np.sum(weights / 2 * np.exp(everyone - log_tails[:, j]))
    return result


def _largest_with_laplace(scaled: FloatArray) -> FloatArray:
    """P[candidate j has the largest scaled utility plus Laplace noise]: the integral of its density times the others' laws."""
    scaled = np.maximum(scaled, -745.0)  # e**-745 is the smallest positive number
    x, weights = panels(np.concatenate([scaled, [scaled.min() - 45, 45.0]]))
    log_cdf = log_laplace_cdf(x[:, None] - scaled)
    everyone = log_cdf.sum(axis=1)
    return np.array([np.sum(weights * np.exp(everyone - log_cdf[:, j] - abs(x - scaled[j]))) / 2 for j in range(scaled.size)])
