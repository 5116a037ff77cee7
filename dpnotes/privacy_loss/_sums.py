"""Independent losses added up: composition. Closed forms where there are any, certified numbers elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, isinf, lgamma

import numpy as np

from dpnotes._validate import FloatArray, count, plain, real
from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._special import UNIT, log1mexp

MOST_ATOMS = 20_000


def independent_sum(parts: Iterable[tuple[PrivacyLoss, int]]) -> PrivacyLoss:
    """The loss of independent pairs side by side, each (loss, copies): their sum. All read in the same direction.

    Gaussians give the Gaussian with mu**2 added up, exactly; losses with finitely many values give all their sums while
    these are at most 20,000, exactly; everything else gives an `IndependentSum`, whose readings are bounded on both sides.

    >>> independent_sum([(GaussianLoss(3.0), 1), (GaussianLoss(2.0), 4)]).mu
    5.0
    """
    merged: dict[PrivacyLoss, int] = {}
    for loss, copies in parts:
        for part, inner in loss.parts if isinstance(loss, IndependentSum) else [(loss, 1)]:
            merged[part] = merged.get(part, 0) + inner * count("copies", copies)
    merged = {loss: copies for loss, copies in merged.items() if copies and not (loss.minimum == loss.maximum == 0)}
    for loss in merged:
        if loss.infinity_mass == 1:
            return loss
    mu = np.sqrt(sum(copies * loss.mu**2 for loss, copies in merged.items() if isinstance(loss, GaussianLoss)))
    kept = [(loss, copies) for loss, copies in merged.items() if not isinstance(loss, GaussianLoss)]
    discrete = [(loss, copies) for loss, copies in kept if isinstance(loss, DiscreteLoss)]
    exact = _all_sums(discrete) if sum(copies for _, copies in discrete) > 1 else None
    if exact is not None:
        kept = [(loss, copies) for loss, copies in kept if not isinstance(loss, DiscreteLoss)] + [(exact, 1)]
    if mu > 0 or not kept:
        kept.append((GaussianLoss(float(mu)), 1))
    return kept[0][0] if len(kept) == 1 and kept[0][1] == 1 else IndependentSum(kept)


def _all_sums(parts: list[tuple[DiscreteLoss, int]]) -> DiscreteLoss | None:
    """Every value of the sum with its mass, or None when there are more than MOST_ATOMS."""
    size = 1
    for loss, copies in parts:
        size *= comb(copies + len(loss.losses) - 1, copies)
        if size > MOST_ATOMS:
            return None
    losses, log_masses = np.zeros(1), np.zeros(1)
    log_finite, log_other, error = 0.0, 0.0, 0.0
    for loss, copies in parts:
        counts = _compositions(copies, len(loss.losses))
        log_ways = lgamma(copies + 1) - _log_factorial(copies)[counts].sum(axis=1)
        own = log_ways + counts @ loss.log_masses
        losses = (losses[:, None] + counts @ loss.losses).ravel()
        log_masses = (log_masses[:, None] + own).ravel()
        log_finite += copies * np.log1p(-loss.infinity_mass)
        log_other += copies * np.log1p(-loss._other_mass)
    total = DiscreteLoss(losses, log_masses, float(-np.expm1(log_finite)), float(-np.expm1(log_other)))
    return total


def _log_factorial(n: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


def _compositions(total: int, parts: int) -> np.ndarray:
    """All ways to write `total` as an ordered sum of `parts` counts, shape (ways, parts)."""
    if parts == 1:
        return np.array([[total]])
    rows = [np.insert(_compositions(total - first, parts - 1), 0, first, axis=1) for first in range(total + 1)]
    return np.concatenate(rows)


class IndependentSum(PrivacyLoss):
    """The sum of independent losses that has no closed form. Moments exact; delta, tail and epsilon bracketed.

    `log_delta_bounds` and `epsilon_bounds` return lower <= exact <= upper with every error bounded (see `_inversion`);
    `delta`, `log_delta`, `epsilon` and `tail` return the upper side, `cdf` the lower, and `quantile` a loss that is large
    enough (never below the exact quantile, above it by what `cdf` gives away and 1e-10).

    Parameters
    ----------
    parts : list of (loss, copies), copies at least 1, no two losses equal. Use `independent_sum`, which merges.
    """

    def __init__(self, parts: list[tuple[PrivacyLoss, int]]) -> None:
        self.parts = tuple(parts)
        self._log_finite = float(sum(k * np.log1p(-loss.infinity_mass) for loss, k in self.parts))
        self.infinity_mass = float(-np.expm1(self._log_finite))
        self.minimum = float(sum(k * loss.minimum for loss, k in self.parts))
        self.maximum = float(sum(k * loss.maximum for loss, k in self.parts))
        self._inversion: Inversion | None = None

    @property
    def _solver(self) -> Inversion:
        if self._inversion is None:
            self._inversion = Inversion(self.parts, self._log_finite)
        return self._inversion

    def _key(self) -> tuple:
        return (frozenset(self.parts),)

    def log_delta_bounds(self, epsilon):
        epsilon = real("epsilon", epsilon)
        pairs = np.array([self._log_delta_bounds(float(e)) for e in epsilon.flat]).reshape(*epsilon.shape, 2)
        return plain(pairs[..., 0]), plain(pairs[..., 1])

    def _log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        if epsilon == -np.inf:
            return 0.0, 0.0
        if epsilon < 0:
            # delta(epsilon) = 1 - e**epsilon (1 - delta of the swapped pair at -epsilon)
            low, high = self.swapped.log_delta_bounds(-epsilon)
            # 1 - e**epsilon + e**(epsilon + log delta'), both terms positive
            base = log1mexp(np.asarray(epsilon))
            return tuple(float(np.logaddexp(base, epsilon + v)) + s for v, s in ((low, -4e-16), (high, 4e-16)))
        with np.errstate(divide="ignore"):
            infinite = float(np.log(self.infinity_mass))
        if epsilon >= self.maximum or epsilon == np.inf:
            return infinite, infinite
        low, high = self._solver.log_delta_bounds(epsilon)
        return float(np.logaddexp(low, infinite)) - 4e-16, float(np.logaddexp(high, infinite)) + 4e-16

    def _log_delta(self, epsilon: FloatArray) -> FloatArray:
        return np.asarray(self.log_delta_bounds(epsilon)[1])

    def _epsilon_bounds(self, delta: float) -> tuple[float, float]:
        if delta >= 1:
            return 0.0, 0.0
        if delta < self.infinity_mass or delta == 0:
            return (np.inf, np.inf) if self.infinity_mass or isinf(self.maximum) else (self.maximum, self.maximum)
        rest = delta - self.infinity_mass  # what the finite part may use
        if rest <= 0:
            return 0.0, self.maximum
        slack = 4 * UNIT * (delta + self.infinity_mass) / rest if self.infinity_mass else UNIT
        lower, upper = self._solver.epsilon_bounds(float(np.log(rest)), slack)
        return lower, min(upper, self.maximum)

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        return np.array([self._log_tail_bounds(float(x))[1] for x in loss.flat]).reshape(loss.shape)

    def _log_tail_bounds(self, loss: float) -> tuple[float, float]:
        with np.errstate(divide="ignore"):
            infinite = float(np.log(self.infinity_mass))
        if loss < self.minimum:
            return 0.0, 0.0
        if loss >= self.maximum or loss == np.inf:
            return infinite, infinite
        low, high = self._solver.log_tail_bounds(loss)
        return float(np.logaddexp(low, infinite)) - 4e-16, float(np.logaddexp(high, infinite)) + 4e-16

    def _cdf(self, loss: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(self._log_tail(loss), 0.0))

    def _quantile(self, u: FloatArray) -> FloatArray:
        return np.array([self._one_quantile(float(v)) for v in u.flat]).reshape(u.shape)

    def _one_quantile(self, u: float) -> float:
        """Bisection on the lower bound of the cdf, so that the answer is never below the exact quantile."""
        if u > 1 - self.infinity_mass or u == 1:
            return self.maximum
        if u == 0:
            return self.minimum
        low, high, reach = 0.0, 0.0, 1.0
        while self.cdf(high) < u and high < self.maximum:
            low, high, reach = high, high + reach, 2 * reach
        while high <= 0 and self.cdf(low) >= u and low > self.minimum:
            high, low, reach = low, low - reach, 2 * reach
        while high - low > 1e-10 * (1 + abs(high)):
            middle = (low + high) / 2
            low, high = (low, middle) if self.cdf(middle) >= u else (middle, high)
        return min(max(high, self.minimum), self.maximum)

    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        return sum(k * loss._log_mgf(t) for loss, k in self.parts)

    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        total = np.zeros(n)
        for loss, k in self.parts:
            done = 0
            while done < k:
                batch = min(k - done, max(1, 1_000_000 // max(n, 1)))
                total += loss._sample(n * batch, rng).reshape(n, batch).sum(axis=1)
                done += batch
        return total

    def mean(self) -> float:
        return float(sum(k * loss.mean() for loss, k in self.parts))

    @property
    def swapped(self) -> PrivacyLoss:
        return independent_sum([(loss.swapped, k) for loss, k in self.parts])
