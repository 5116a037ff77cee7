"""Independent losses added up: composition. Closed forms where there are any, certified numbers elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, expm1, isinf, log1p, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaln

from dpnotes._validate import FloatArray, count, plain, real
from dpnotes.privacy_loss._base import PrivacyLoss, _far_out
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss, LaplaceLoss
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._lattice_inversion import LatticeInversion, common_lattice
from dpnotes.privacy_loss._rare import can_flag, guess, is_seldom, is_steep, rare_epsilon_bounds, rare_log_delta_bounds, spread
from dpnotes.privacy_loss._special import UNIT, log1mexp

MOST_ATOMS = 60_000
MOST_LAPLACE = 12
FEW_STEPS = 16  # up to here one line may be long: flags need many small losses
WALL = 8.0  # that many times too large is an epsilon by Chernoff's bound where there is a wall of rare large losses
MOST_LATTICE = 2000  # a convolution of two such takes about a millisecond


def independent_sum(parts: Iterable[tuple[PrivacyLoss, int]]) -> PrivacyLoss:
    """The loss of independent pairs side by side, each (loss, copies): their sum. All read in the same direction.

    Gaussians give the Gaussian with mu**2 added up, exactly; losses with finitely many values give all their sums while
    these are at most 60,000, exactly; everything else gives an `IndependentSum`, whose readings are bounded on both sides.

    >>> independent_sum([(GaussianLoss(3.0), 1), (GaussianLoss(2.0), 4)]).mu
    5.0
    """
    merged: dict[PrivacyLoss, int] = {}
    for loss, copies in parts:
        for part, inner in loss.parts if isinstance(loss, IndependentSum) else [(loss, 1)]:
            merged[part] = merged.get(part, 0) + inner * count("copies", copies)
    square, kept, discrete = 0.0, [], []
    for loss, copies in merged.items():
        if not copies or loss.minimum == loss.maximum == 0:
            continue
        if loss.infinity_mass == 1:
            return loss
        if isinstance(loss, GaussianLoss):
            square += copies * loss.mu**2
        else:
            (discrete if isinstance(loss, DiscreteLoss) else kept).append((loss, copies))
    exact = _all_sums(discrete) if sum(copies for _, copies in discrete) > 1 else None
    kept += discrete if exact is None else [(exact, 1)]
    if square > 0 or not kept:
        kept.append((GaussianLoss(sqrt(square)), 1))
    if len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    few_laplace = len(kept) == 1 and isinstance(kept[0][0], LaplaceLoss) and kept[0][1] <= MOST_LAPLACE
    return LaplaceSum(kept) if few_laplace else IndependentSum(kept)


class ExactSum(DiscreteLoss):
    """The sum of finitely-valued losses, each value with its mass. Exact but for rounding, which its bounds include.

    `mass_error` bounds the relative error of the masses, `loss_error` the absolute error of the losses, e**log_lost the mass
    that was too small to keep.
    """

    log_lost = -np.inf  # of a bound on mass that was too small to keep

    def log_delta_bounds(self, epsilon: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper) around log delta: the computed curve, moved by the rounding of its losses and masses."""
        epsilon = real("epsilon", epsilon)
        low, high = (np.asarray(self._log_delta(epsilon + move)) for move in (self.loss_error, -self.loss_error))
        slack = (self.mass_error + 4e-15) * (1 + np.where(np.isfinite(low), np.abs(low), 0.0) / 800)
        return plain(low - slack), plain(np.minimum(np.logaddexp(high + slack, self.log_lost), 0.0))

    def _epsilon_bounds(self, delta: float) -> tuple[float, float]:
        slack = self.mass_error + 4e-15
        low = super()._epsilon_bounds(min(delta * (1 + slack), 1.0))[0] if delta < 1 else 0.0
        spare = delta * (1 - slack) - np.exp(self.log_lost)
        high = 0.0 if delta == 1 else super()._epsilon_bounds(spare)[1] if spare >= 0 else self.maximum
        if delta <= self.infinity_mass:  # not a matter of rounding
            low = high = super()._epsilon_bounds(delta)[1]
        return max(0.0, low - self.loss_error) if np.isfinite(low) else low, high + self.loss_error if high > 0 else 0.0


def _all_sums(parts: list[tuple[DiscreteLoss, int]]) -> DiscreteLoss | None:
    """Every value of the sum with its mass, or None when there are more than MOST_ATOMS."""
    total, mass_error, loss_error, lost = None, 0.0, 0.0, 0.0
    for loss, copies in parts:
        powered = _power(loss, copies)
        if powered is None:
            return None
        own_losses, own_masses, own_mass_error, own_loss_error, own_lost = powered
        losses, log_masses = total or (np.zeros(1), np.zeros(1))
        if len(losses) * len(own_losses) > MOST_ATOMS:
            return None
        total = (losses[:, None] + own_losses).ravel(), (log_masses[:, None] + own_masses).ravel()
        mass_error += own_mass_error + 4 * UNIT
        lost += own_lost
        loss_error += own_loss_error + 4 * UNIT * float(np.max(np.abs(total[0])))
    infinity = float(0.0 - np.expm1(sum(k * np.log1p(-loss.infinity_mass) for loss, k in parts)))
    other = float(0.0 - np.expm1(sum(k * np.log1p(-loss._other_mass) for loss, k in parts)))
    made = ExactSum(*total, infinity, other)
    made.mass_error, made.loss_error = mass_error, loss_error
    with np.errstate(divide="ignore"):
        made.log_lost = float(np.log(lost))
    return made


def _power(loss: DiscreteLoss, copies: int) -> tuple[FloatArray, FloatArray, float, float, float] | None:
    """Losses, log masses, relative error of the masses, error of the losses, and lost mass, for `copies` copies."""
    atoms, largest = len(loss.losses), float(np.max(np.abs(loss.losses), initial=0.0))
    error = 4 * UNIT * copies * largest
    if isinstance(loss, ExactSum):
        error += copies * loss.loss_error
    inherited, lost = (copies * loss.mass_error, copies * np.exp(loss.log_lost)) if isinstance(loss, ExactSum) else (0.0, 0.0)
    if copies == 1:
        return loss.losses, loss.log_masses, inherited, error, lost
    if copies < 4 and atoms > 2 and atoms**copies <= MOST_ATOMS:
        losses, log_masses = loss.losses, loss.log_masses
        for _ in range(copies - 1):
            losses, log_masses = np.add.outer(losses, loss.losses).ravel(), np.add.outer(log_masses, loss.log_masses).ravel()
        most = float(np.max(np.abs(loss.log_masses)))
        return losses, log_masses, inherited + 4 * copies * UNIT * (1 + most), error, lost
    # On a lattice: convolution of positive masses, every value right to a few roundings for each term that is added.
    gap = float(np.min(np.diff(loss.losses), initial=2 * largest + 1))  # one value has no gap
    steps = np.round((loss.losses - loss.losses[0]) / gap)
    off = float(np.max(np.abs(loss.losses[0] + steps * gap - loss.losses)))
    lattice = off <= 1e-12 * (largest + gap) and steps[-1] * copies <= MOST_LATTICE
    if atoms < 3 or not lattice:  # every way to share the copies out, where these are not too many
        if atoms > 6 or comb(copies + atoms - 1, copies) > MOST_ATOMS:
            return None
        counts = _compositions(copies, atoms)
        log_masses, mass_error = _log_multinomial(copies, counts, loss.log_masses - np.log1p(-loss.infinity_mass))
        finite = copies * np.log1p(-loss.infinity_mass)
        return counts @ loss.losses, log_masses + finite, mass_error + inherited + 4 * UNIT * abs(finite), error, lost
    one = np.zeros(int(steps[-1]) + 1)
    one[steps.astype(int)] = np.exp(loss.log_masses)
    result, square, left, mass_error = np.ones(1), one, copies, 0.0
    level = UNIT * (8 + float(np.max(np.abs(loss.log_masses))))
    while True:
        if left & 1:
            mass_error += level + UNIT * (min(len(result), len(square)) + 2)
            result = np.convolve(result, square)
        left >>= 1
        if not left:
            break
        level = 2 * level + UNIT * (len(square) + 2)
        square = np.convolve(square, square)
    with np.errstate(divide="ignore"):
        log_masses = np.log(result)
    kept = log_masses > -690  # smaller masses have lost digits to underflow
    lost += len(result) * float(np.exp(-690))
    losses = copies * loss.losses[0] + gap * np.arange(len(result))
    return losses[kept], log_masses[kept], mass_error + inherited, error + copies * off, lost


def _log_multinomial(n: int, counts: np.ndarray, log_p: FloatArray) -> tuple[FloatArray, float]:
    """log of n! / prod(k!) prod(p**k), for p that add up to 1, and a bound on its error where it is above -800.

    By Loader's (2000) arrangement: with k = n q, the leading term is -n KL(q, p), whose parts n p d(k / (n p)) with
    d(r) = r log r + 1 - r are nonnegative and do not cancel, and the rest is Stirling's correction.
    """
    expected = n * np.exp(log_p)
    ratio = counts / expected
    near = np.abs(ratio - 1) < 0.3
    shift = np.where(near, ratio - 1, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(counts > 0, counts * (np.log(counts) - np.log(expected)), 0.0) + expected - counts
    # r log r + 1 - r for r = 1 + s, without cancellation: s**2 sum of (-s)**j / ((j + 1) (j + 2))
    series = np.zeros_like(shift)
    for j in range(29, -1, -1):
        series = 1 / ((j + 1) * (j + 2)) - shift * series
    deviance = np.where(near, expected * shift * shift * series, far)
    with np.errstate(divide="ignore"):
        stirling = np.where(counts > 0, _stirling_error(counts) + 0.5 * np.log(2 * np.pi * np.maximum(counts, 1)), 0.0)
    value = _stirling_error(np.array(n)) + 0.5 * np.log(2 * np.pi * max(n, 1)) - np.sum(stirling + deviance, axis=-1)
    # Above e**-800 every |k - n p| is at most sqrt(1600 n), and that times the rounding of p is what the deviance feels.
    parts = counts.shape[1]
    error = UNIT * (40 + 12 * 800 + 4 * parts * np.sqrt(1600.0 * n) * (2 + float(np.max(np.abs(log_p)))))
    return value if n else np.zeros(len(counts)), float(error)


def _stirling_error(n: np.ndarray) -> FloatArray:
    """log n! - log(sqrt(2 pi n) (n / e)**n) for whole n >= 1; 0 stands for n = 0."""
    n = np.asarray(n, dtype=float)
    low = np.clip(n, 1, 16)
    small = gammaln(low + 1) - 0.5 * np.log(2 * np.pi * low) - low * (np.log(low) - 1)
    m = np.maximum(n, 16.0)
    large = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / m**2) / m**2) / m**2) / m**2) / m
    return np.where(n == 0, 0.0, np.where(n < 16, small, large))


def _compositions(total: int, parts: int) -> np.ndarray:
    """All ways to write `total` as an ordered sum of `parts` counts, shape (ways, parts)."""
    if parts == 1:
        return np.array([[total]])
    if parts == 2:
        first = np.arange(total + 1)
        return np.stack([first, total - first], axis=1)
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
        self._log_finite = float(sum(k * log1p(-loss.infinity_mass) for loss, k in self.parts))
        self.infinity_mass = 0.0 - expm1(self._log_finite)
        self.minimum = float(sum(k * loss.minimum for loss, k in self.parts))
        self.maximum = float(sum(k * loss.maximum for loss, k in self.parts))
        tops = [(np.array(getattr(loss, "largest_finite", loss.maximum)), loss, k) for loss, k in self.parts]
        largest, off = float(sum(k * top for top, _, k in tops)), 0.0
        if largest < np.inf:  # and its rounding
            off = float(sum(k * (loss._shift(top) + 4 * UNIT * abs(top)) for top, loss, k in tops))
        self._largest, self._surely = largest + off, largest - off
        # log of the mass on the largest finite loss, which alone takes (1 - e**(epsilon - largest)) of it
        self._top = float(sum(k * loss._log_top() for loss, k in self.parts)) * (1 + 1e-14) - 1e-14
        self._inversion: Inversion | None = None
        self._many = sum(k for _, k in self.parts) > FEW_STEPS

    @property
    def _solver(self) -> Inversion:
        if self._inversion is None:
            lattice = common_lattice(self.parts)
            self._inversion = (LatticeInversion(self.parts, self._log_finite, lattice) if lattice
                               else Inversion(self.parts, self._log_finite))
        return self._inversion

    def _key(self) -> tuple:
        return (frozenset(self.parts),)

    def _shift(self, epsilon: FloatArray) -> FloatArray:
        return np.full(epsilon.shape, self._largest - self._surely)

    @_far_out
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
            return _widened(*(float(np.logaddexp(base, epsilon + v)) for v in (low, high)))
        with np.errstate(divide="ignore"):
            infinite = float(np.log(self.infinity_mass))
        if epsilon >= self._largest or epsilon == np.inf:
            return infinite, infinite
        low, high = self._finite_bounds(epsilon)
        low = max(low, self._top + float(log1mexp(np.minimum(epsilon - self._surely, 0.0))))
        high = max(low, high)
        return _widened(float(np.logaddexp(low, infinite)), float(np.logaddexp(high, infinite)))

    def _finite_bounds(self, epsilon: float) -> tuple[float, float]:
        """Of the finite part: by one line; where rare large losses make that too long, by flagging them (`_rare`)."""
        if is_steep(self.parts):
            return _narrowed(-np.inf, 0.0, [lambda: (-np.inf, Inversion(self.parts).chernoff(epsilon))])
        if not can_flag(self.parts):
            return self._solver.log_delta_bounds(epsilon)
        if epsilon == 0 and not can_flag(self.swapped.parts):  # the total variation is that of the swapped pair
            return self.swapped.log_delta_bounds(0.0)
        made, at, far = Inversion(self.parts, hasty=self._many), np.array([epsilon]), False
        if is_seldom(self.parts):
            far = made.chernoff_epsilon(float(guess(self.parts, at)[0])) > WALL * (epsilon + float(spread(self.parts, at)[0]))
        ways = [lambda: made.log_delta_bounds(epsilon), lambda: rare_log_delta_bounds(self.parts, epsilon)]
        low, high = _narrowed(-np.inf, 0.0, ways[::-1] if far else ways, lambda low, high: high - low <= 1e-6)
        if high - low > 1e-2 and self._many:
            low, high = _narrowed(low, high, [lambda: Inversion(self.parts).log_delta_bounds(epsilon)])
        return low, high

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
        over = float(np.log(rest)) + slack - self._top
        least = self._surely + float(np.log1p(-np.exp(over))) if over < 0 else 0.0
        if over < 0 and self._largest - least <= 1e-9 * self._largest:
            return least, self._largest
        lower, upper = self._solved(float(np.log(rest)), slack)
        lower = max(lower, least)
        return lower, min(max(lower, upper), max(self._largest, 0.0))

    def _solved(self, log_rest: float, slack: float) -> tuple[float, float]:
        """Of the finite part, as in `_finite_bounds`."""
        if is_steep(self.parts):
            return _narrowed(0.0, np.inf, [lambda: (0.0, Inversion(self.parts).chernoff_epsilon(log_rest))])
        if not can_flag(self.parts):
            return self._solver.epsilon_bounds(log_rest, slack)
        made = self._inversion = Inversion(self.parts, hasty=self._many)
        highest = made.chernoff_epsilon(log_rest)
        ways = [lambda: made.epsilon_bounds(log_rest, slack),
                lambda: (0.0, 0.0 if self.log_delta_bounds(0.0)[1] <= log_rest else highest),
                lambda: rare_epsilon_bounds(self.parts, log_rest, highest)]
        if is_seldom(self.parts):
            near, none = guess(self.parts, np.array([highest / WALL, 0.0]))
            likely = ways[1:2] * int(none < log_rest + 1)
            ways = likely + ([ways[2], ways[0]] if near < log_rest else [ways[0], ways[2]])
        lower, upper = _narrowed(0.0, highest, ways, lambda low, high: high - low <= 1e-6 * high)
        made.hasty = False  # from here on it has to answer
        if upper - lower > 1e-3 * upper and self._many:
            self._inversion = Inversion(self.parts)
            lower, upper = _narrowed(lower, upper, [lambda: self._inversion.epsilon_bounds(log_rest, slack)])
        return lower, upper

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        return np.array([self._log_tail_bounds(float(x))[1] for x in loss.flat]).reshape(loss.shape)

    def _log_tail_bounds(self, loss: float) -> tuple[float, float]:
        with np.errstate(divide="ignore"):
            infinite = float(np.log(self.infinity_mass))
        if loss < self.minimum:
            return 0.0, 0.0
        if loss >= self._largest or loss == np.inf:
            return infinite, infinite
        low, high = self._solver.log_tail_bounds(loss)
        return _widened(float(np.logaddexp(low, infinite)), float(np.logaddexp(high, infinite)))

    def _cdf(self, loss: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(self._log_tail(loss), 0.0))

    def _quantile(self, u: FloatArray) -> FloatArray:
        return np.array([self._one_quantile(float(v)) for v in u.flat]).reshape(u.shape)

    def _one_quantile(self, u: float) -> float:
        """False position on the lower bound of the cdf, every fourth step a bisection: never below the exact quantile."""
        if u > 1 - self.infinity_mass or u == 1:
            return self.maximum
        if u == 0:
            return self.minimum
        low, high, reach = 0.0, 0.0, 1.0
        while self.cdf(high) < u and high < self.maximum:
            low, high, reach = high, high + reach, 2 * reach
        while high <= 0 and self.cdf(low) >= u and low > self.minimum:
            high, low, reach = low, low - reach, 2 * reach
        at_low, at_high, kept, steps = self.cdf(low) - u, self.cdf(high) - u, 0, 0
        while high - low > (width := 1e-10 * (1 + abs(high))):
            steps += 1
            share = 0.5 if steps % 4 == 0 or not at_low < 0 < at_high else at_low / (at_low - at_high)
            middle = min(max(low + share * (high - low), low + width / 2), high - width / 2)
            value = self.cdf(middle) - u
            if value >= 0:
                high, at_high, at_low, kept = middle, value, at_low / (2 if kept < 0 else 1), -1
            else:
                low, at_low, at_high, kept = middle, value, at_high / (2 if kept > 0 else 1), 1
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


def _widened(low: float, high: float) -> tuple[float, float]:
    """By the rounding of a sum of two exponentials."""
    return (low - 4e-16 * (1 + abs(low)) if low > -np.inf else low), (high + 4e-16 * (1 + abs(high)) if high > -np.inf else high)


def _narrowed(low: float, high: float, ways, enough=lambda low, high: False) -> tuple[float, float]:
    """The bracket after one way after the other to narrow it, until that is enough. One that leaves the range of floats says
    nothing.
    """
    for way in ways:
        try:
            with np.errstate(all="ignore"):
                own = way()
        except (ArithmeticError, ValueError):
            continue
        if not own[0] <= own[1]:
            continue
        low, high = max(low, own[0]), min(high, own[1])
        if enough(low, high):
            break
    return low, high


def proved_below(loss: PrivacyLoss, read: PrivacyLoss, epsilon: float, log_delta: float) -> bool:
    """Whether log delta of `loss` at `epsilon` >= 0 is quickly proved to be at most `log_delta`. False says nothing.

    `read` is a sum that has just been read near that point: its line serves again.
    """
    sums = all(type(one) is IndependentSum and not one.infinity_mass for one in (loss, read))
    if not (sums and 0 < epsilon < np.inf and -np.inf < log_delta < 0):
        return False
    return loss._solver.stays_below(epsilon, log_delta, read._solver.line)


class LaplaceSum(IndependentSum):
    """A few copies of one Laplace loss: exact but for rounding, which the bounds include.

    With v = 1 / (2z + 1), the transform of 2 G for a standard exponential G read backwards, the moments are
    M(z) = (e**(z b) (1 + v) + e**(-(z + 1) b) (1 - v)) / 2. The k-th power is a sum of terms e**(z a) v**n, each the law of
    a - 2 G_n with G_n of the Gamma law with shape n, so that delta and tail are sums of those of such laws. The terms
    alternate: at most about (1 + e**-b)**k roundings are lost, which is why this is for few copies.
    """

    def _terms(self, loss: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For every i of k in the second part, and n: the coefficient, n, and w = a - loss where positive."""
        (part, k), = self.parts
        rows = []
        for i in range(k + 1):
            signs = np.polynomial.polynomial.polymul(np.polynomial.polynomial.polypow([1.0, 1.0], k - i),
                                                     np.polynomial.polynomial.polypow([1.0, -1.0], i))
            w = (k - 2 * i) * part.bound - loss
            if w > 0:
                weight = comb(k, i) * 0.5**k * np.exp(-i * part.bound)
                rows += [(weight * c, n, w) for n, c in enumerate(signs)]
        return tuple(np.array(column) for column in zip(*rows, strict=True)) if rows else (np.zeros(0),) * 3

    def _sum(self, coefficient: FloatArray, value: FloatArray) -> tuple[float, float]:
        (_, k), = self.parts
        with np.errstate(divide="ignore"):
            total, error = float(np.sum(coefficient * value)), 16 * (k + 2) * UNIT * float(np.sum(np.abs(coefficient)))
            return float(np.log(max(total - error, 0.0))), float(np.log(min(total + error, 1.0)))

    def _log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        if not 0 <= epsilon < self.maximum:
            return super()._log_delta_bounds(epsilon)
        coefficient, n, w = self._terms(epsilon)
        # P[2 G_n < w] - e**-w E[e**(2 G_n); 2 G_n < w], by the partial sums that the residues at 0, -1 and -1/2 give
        value = 1 - (-1.0) ** n * np.exp(-w)
        order = int(n.max())
        power = np.exp(-w / 2)
        for m in range(order):
            value -= np.where((n > m) & ((n - 1 - m) % 2 == 0), 2 * power, 0.0)
            power = power * (w / 2) / (m + 1)
        low, high = self._sum(coefficient, value)
        if high - low > 1e-9:  # too much has cancelled: two brackets are better than one
            other = super()._log_delta_bounds(epsilon)
            return max(low, other[0]), min(high, other[1])
        return low, high

    def _log_tail_bounds(self, loss: float) -> tuple[float, float]:
        if not self.minimum <= loss < self.maximum:
            return super()._log_tail_bounds(loss)
        coefficient, n, w = self._terms(loss)
        return self._sum(coefficient, np.where(n == 0, 1.0, gammainc(np.maximum(n, 1), w / 2)))

    def _epsilon_bounds(self, delta: float) -> tuple[float, float]:
        (part, k), = self.parts
        exact = delta > 0 and 16 * (k + 2) * UNIT * (1 + np.exp(-part.bound)) ** k < 1e-10 * delta
        return PrivacyLoss._epsilon_bounds(self, delta) if exact or delta == 0 else super()._epsilon_bounds(delta)
