"""Losses with closed forms: Gaussian, Laplace, and any pair on finitely many outputs."""

from __future__ import annotations

from math import erf, exp, log, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from dpnotes._validate import FloatArray, distribution, fail, finite, nonnegative, probability, real, scalar
from dpnotes.privacy_loss._atoms import common_step, line_moments
from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._special import (
    LOG_SQRT_2PI,
    UNIT,
    exp_minus_line,
    gaussian_terms,
    log1mexp,
    log_gaussian_hockey_stick,
    log_one_plus,
    logsumexp,
)


class GaussianLoss(PrivacyLoss):
    """L for N(mu, 1) against N(0, 1): normal with mean mu**2/2 and variance mu**2. Exact.

    Parameters
    ----------
    mu : distance of the centers in standard deviations, sensitivity / sigma. 0 means no loss; inf means no noise, and
        then every output is a distinguishing event. A mu whose square is too large for a float counts as inf.

    >>> round(GaussianLoss(1 / 3**0.5).delta(np.log(3)), 10)
    0.0106240317
    """

    def __init__(self, mu: float) -> None:
        self.mu = scalar("mu", nonnegative("mu", mu))
        if self.mu > 1e154:
            self.mu = np.inf
        self.infinity_mass = float(np.isinf(self.mu))
        self.minimum = 0.0 if self.mu == 0 else np.inf if np.isinf(self.mu) else -np.inf
        self.maximum = 0.0 if self.mu == 0 else np.inf

    @property
    def _degenerate(self) -> bool:
        return self.mu == 0 or np.isinf(self.mu)

    def _standard(self, loss: FloatArray) -> FloatArray:
        if self._degenerate:
            return np.where((loss >= self.minimum) if self.mu == 0 else np.zeros(loss.shape, bool), np.inf, -np.inf)
        return (loss - self.mu**2 / 2) / self.mu

    def _log_delta(self, epsilon: FloatArray) -> FloatArray:
        if np.isinf(self.mu):
            return np.zeros(epsilon.shape)
        if self.mu == 0:
            return log1mexp(np.minimum(epsilon, 0.0))
        size = np.abs(epsilon)
        bounded = np.where(np.isinf(size), 0.0, size)
        value = np.where(np.isinf(size), -np.inf, log_gaussian_hockey_stick(bounded, self.mu))
        # The pair looks the same from both sides, so delta(-e) = 1 - e**-e + e**-e delta(e).
        return np.where(epsilon < 0, np.log(-np.expm1(-size) + np.exp(np.minimum(value - size, 0.0)) + (size == 0)), value)

    def _epsilon_bounds(self, delta: float) -> tuple[float, float]:
        if self._degenerate or not 0 < delta < 1:
            return super()._epsilon_bounds(delta)
        target, at_zero = log(delta), log(erf(self.mu / 8**0.5)) if self.mu > 1e-9 else log(self.mu) - float(LOG_SQRT_2PI)
        if at_zero <= target - 4e-15 * (10 - target):
            return 0.0, 0.0
        if self.mu > 1e8:  # delta is the tail but for e**epsilon Phi(-b), which moves epsilon by less than 2: nothing here
            epsilon = self.mu**2 / 2 - self.mu * ndtri_exp(target)
            return float(epsilon * (1 - 2e-15)), float(epsilon * (1 + 2e-15))
        # log_delta is concave and falls, so Newton from the right of the root comes down to it without overshooting.
        epsilon = self.mu**2 / 2 + self.mu * sqrt(-2 * target)
        for _ in range(20 if self.mu < 1e3 else 0):  # a start from the formula as it stands, which cancels
            a, b = epsilon / self.mu - self.mu / 2, epsilon / self.mu + self.mu / 2
            first = float(log_ndtr(-a))
            second = exp(min(epsilon + float(log_ndtr(-b)) - first, 0.0))
            if not 0 < second < 0.999:
                break
            step = (first + log1p(-second) - target) * (1 - second) / second
            if epsilon + step <= 0:
                break
            epsilon += step
            if abs(step) <= 1e-8 * epsilon:
                break
        for _ in range(60):
            value = float(log_gaussian_hockey_stick(epsilon, self.mu))
            slope = -exp(min(float(gaussian_terms(epsilon, self.mu)[2]) - value, 700.0))
            step = (value - target) / slope
            epsilon = max(epsilon - step, 0.0)
            # Newton errs by step**2 times |f''/f'| / 2 for f = log delta, and that ratio is at most 1 - f' + 1 / (mu m(b)) with
            # Mills' ratio m(b) > 1 / (b + 1).
            bend = 1 - slope + (epsilon / self.mu + self.mu / 2 + 1) / self.mu
            if step * step * bend <= 4e-16 * epsilon or abs(step) <= 1e-14 * epsilon:
                break
        slack = 4e-15 * (10 - target) / abs(slope) + 8e-16 * epsilon
        return max(float(epsilon - slack), 0.0), float(epsilon + slack)

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        return log_ndtr(-self._standard(loss))

    def _cdf(self, loss: FloatArray) -> FloatArray:
        return ndtr(self._standard(loss))

    def _quantile(self, u: FloatArray) -> FloatArray:
        if self._degenerate:
            return np.full(u.shape, self.minimum)
        return self.mu**2 / 2 + self.mu * ndtri(u)

    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        if np.isinf(self.mu):
            return np.where(t == 0, 0.0, np.where(np.real(t) > 0, np.inf, -np.inf))
        return t * (t + 1) * self.mu**2 / 2

    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.full(n, self.minimum) if self._degenerate else rng.normal(self.mu**2 / 2, self.mu, n)

    def mean(self) -> float:
        return self.mu**2 / 2

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        value = self._log_mgf(z)
        return value, 5 * UNIT * np.abs(z) * np.abs(z + 1) * self.mu**2 / 2

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        return (c * (c + 1) - y * y) * self.mu**2 / 2

    def _key(self) -> tuple:
        return (self.mu,)

    @property
    def swapped(self) -> GaussianLoss:
        return self


class LaplaceLoss(PrivacyLoss):
    """L for Laplace noise of scale 1 at distance epsilon: half its mass sits at +epsilon. Exact.

    The atom at +epsilon has mass 1/2, the atom at -epsilon e**-epsilon / 2, and the density between is
    e**((l - epsilon)/2) / 4. The largest loss is epsilon, so the pair is epsilon-DP.

    Parameters
    ----------
    epsilon : distance of the centers in scales, sensitivity / scale, at least 0; inf means no noise.

    >>> round(LaplaceLoss(2.0).delta(1.0), 10)
    0.3934693403
    """

    def __init__(self, epsilon: float) -> None:
        self.bound = scalar("epsilon", nonnegative("epsilon", epsilon))
        self.infinity_mass = float(np.isinf(self.bound))
        self.minimum, self.maximum = (np.inf if self.infinity_mass else -self.bound), self.bound
        self._levels: dict[float, float] = {}

    def _log_delta(self, epsilon: FloatArray) -> FloatArray:
        if self.infinity_mass:
            return np.zeros(epsilon.shape)
        size = np.abs(epsilon)
        value = log1mexp(np.minimum((size - self.bound) / 2, 0.0))
        return np.where(epsilon < 0, np.log(-np.expm1(-size) + np.exp(value - size) + (size == 0)), value)

    def _epsilon_bounds(self, delta: float) -> tuple[float, float]:
        if self.infinity_mass:
            return super()._epsilon_bounds(delta)
        epsilon = self.bound + 2 * float(np.log1p(-delta)) if delta < 1 else -np.inf
        slack = 4e-15 * self.bound if 0 < delta < 1 else 0.0
        return max(0.0, epsilon - slack), max(0.0, min(self.bound, epsilon + slack))

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        if self.infinity_mass:
            return np.zeros(loss.shape)
        inside = np.log1p(-0.5 * np.exp(np.minimum(loss - self.bound, 0.0) / 2))
        return np.where(loss < -self.bound, 0.0, np.where(loss < self.bound, inside, -np.inf))

    def _cdf(self, loss: FloatArray) -> FloatArray:
        if self.infinity_mass:
            return np.zeros(loss.shape)
        inside = 0.5 * np.exp(np.minimum(loss - self.bound, 0.0) / 2)
        return np.where(loss < -self.bound, 0.0, np.where(loss < self.bound, inside, 1.0))

    def _quantile(self, u: FloatArray) -> FloatArray:
        if self.infinity_mass:
            return np.full(u.shape, np.inf)
        with np.errstate(divide="ignore"):
            return np.clip(self.bound + 2 * np.log(2 * u), -self.bound, self.bound)

    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        if self.infinity_mass:
            return np.where(t == 0, 0.0, np.where(np.real(t) > 0, np.inf, -np.inf))
        return self._moment(t)[0]

    def _moment(self, t: np.ndarray) -> tuple[np.ndarray, FloatArray]:
        """log E[e**(tL)] and a bound on the relative rounding error of the moment."""
        epsilon, v = self.bound, np.where(np.real(t) >= -0.5, t, -1 - t)  # symmetric about t = -1/2
        s = v + 0.5
        decay, at_middle = np.exp(-2 * s * epsilon), s == 0
        ramp = np.where(at_middle, epsilon, -np.expm1(-2 * s * epsilon) / np.where(at_middle, 1.0, 2 * s))
        far = (s - 0.5) * epsilon - np.log(2) + np.log(1 + decay + ramp)
        # Near t = 0 and for small epsilon the moment is 1 + something tiny: compute the something.
        close = (np.abs(v * epsilon) < 0.5) & (np.abs(s) > 0.01)
        v = np.where(close, v, 0.0)
        up, down = (v + 1) * exp_minus_line(v * epsilon) / (2 * v + 1), v * exp_minus_line(-(v + 1) * epsilon) / (2 * v + 1)
        value = np.where(close, log_one_plus(np.where(close, up + down, 0.0)), far)
        with np.errstate(divide="ignore", over="ignore"):
            near_error = 20 * UNIT * (np.abs(up) + np.abs(down)) / np.abs(1 + up + down)
            size = (8 + 4 * np.abs(s) * epsilon) * (1 + np.abs(decay) + np.abs(ramp))
            far_error = 2 * UNIT * (size / np.abs(1 + decay + ramp) + np.abs(value))
        return value, np.where(close, near_error + UNIT * np.abs(value), far_error)

    def _cumulant_above(self, t: FloatArray) -> FloatArray:
        if (float(t.min()) + 1) * self.bound < 1e-4:  # the two terms cancel
            return self._cumulant(t)
        return t * self.bound * (1 + 1e-15) + np.log1p(t / (2 * t + 1) * np.expm1(-(2 * t + 1) * self.bound))

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        return self._moment(z)

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        # The atoms, and the density's transform (e**(z b) - e**(-(z + 1) b)) / (4 (z + 1/2)).
        ends = np.logaddexp(c * self.bound, -(c + 1) * self.bound)
        falling = ends - np.log(2) + np.log1p(0.5 / np.hypot(c + 0.5, y))
        if c not in self._levels:
            self._levels[c] = float(self._cumulant(np.array([c]))[0])
        return np.minimum(falling, self._levels[c])

    def _log_top(self) -> float:
        return -log(2)

    def _key(self) -> tuple:
        return (self.bound,)

    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self._quantile(rng.random(n))

    def mean(self) -> float:
        return np.inf if self.infinity_mass else float(exp_minus_line(-self.bound))

    @property
    def swapped(self) -> LaplaceLoss:
        return self


def _log_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """log(p / q) of positive numbers to a few units in the last place, for nearly equal and for extreme ones too."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        ratio = p / q
        close, extreme = np.abs(ratio - 1) < 0.5, (ratio < 1e-290) | (ratio > 1e290)
        return np.where(close, np.log1p((p - q) / q), np.where(extreme, np.log(p) - np.log(q), np.log(ratio)))


class DiscreteLoss(PrivacyLoss):
    """L for a pair of laws on finitely many outputs, distinguishing events included. Exact.

    Build it with `from_probabilities`, or with `from_log_masses` when the losses are known better than the ratio of two
    floating-point probabilities would give them.

    >>> loss = DiscreteLoss.from_probabilities([0.05, 0.40, 0.55], [0.0, 0.20, 0.80])
    >>> loss.infinity_mass, round(loss.tail(np.log(2)), 12)
    (0.05, 0.05)
    """

    _most_nodes = 2**15
    mass_error = loss_error = 0.0  # of the masses, relative, and of the losses, where they are not taken as given
    _step: tuple[float, float] | None = None  # of the lattice, and how far off; 0 for none

    def __init__(self, losses: FloatArray, log_masses: FloatArray, infinity_mass: float, other_mass: float) -> None:
        losses, log_masses = losses[log_masses > -np.inf], log_masses[log_masses > -np.inf]
        order = np.argsort(losses, kind="stable")
        self.losses, starts = np.unique(losses[order], return_index=True)
        self.log_masses = np.logaddexp.reduceat(log_masses[order], starts) if len(starts) else log_masses
        self.infinity_mass, self._other_mass = min(float(infinity_mass), 1.0), min(float(other_mass), 1.0)
        self.minimum = float(self.losses[0]) if len(self.losses) else np.inf
        self.largest_finite = float(self.losses[-1]) if len(self.losses) else -np.inf
        self.maximum = np.inf if infinity_mass > 0 else self.largest_finite
        self._masses = np.exp(self.log_masses)
        self._cumulative = np.minimum(np.cumsum(self._masses), 1.0 - self.infinity_mass)
        self._cumulative[-1:] = 1.0 - self.infinity_mass

    @classmethod
    def from_probabilities(cls, p: ArrayLike, q: ArrayLike) -> DiscreteLoss:
        """From the probabilities of the same outputs under P and under Q, each adding up to 1 within 1e-9, shape (n,)."""
        p, q = distribution("p", p), distribution("q", q)
        if p.shape != q.shape:
            raise fail("q", q, f"of the same length as p ({p.size})")
        both = (p > 0) & (q > 0)
        return cls(_log_ratio(p[both], q[both]), np.log(p[both]), p[q == 0].sum(), q[p == 0].sum())

    @classmethod
    def from_log_masses(cls, losses: ArrayLike, log_masses: ArrayLike, infinity_mass: float = 0.0,
                        other_mass: float = 0.0) -> DiscreteLoss:
        """From finite losses with the logarithms of their P-masses, P's mass where Q has none, and Q's where P has none."""
        losses, log_masses = finite("losses", losses), real("log_masses", log_masses)
        infinity_mass = scalar("infinity_mass", probability("infinity_mass", infinity_mass))
        other_mass = scalar("other_mass", probability("other_mass", other_mass))
        if losses.ndim != 1 or losses.shape != log_masses.shape:
            raise fail("losses", losses, "a one-dimensional array of finite numbers, as long as log_masses")
        if abs(np.exp(np.minimum(log_masses, 1.0)).sum() + infinity_mass - 1) > 1e-9:
            raise fail("log_masses", log_masses, "logarithms of masses that add up to 1 with infinity_mass")
        if abs(np.exp(np.minimum(log_masses - losses, 1.0)).sum() + other_mass - 1) > 1e-9:
            raise fail("losses", losses, "such that Q's masses, e**(log_masses - losses), add up to 1 with other_mass")
        return cls(losses, log_masses, infinity_mass, other_mass)

    def _log_delta(self, epsilon: FloatArray) -> FloatArray:
        gap = np.minimum(epsilon[..., None] - self.losses, 0.0)
        with np.errstate(divide="ignore"):
            infinite = np.broadcast_to(np.log(self.infinity_mass), (*epsilon.shape, 1))
        return logsumexp(np.concatenate([self.log_masses + log1mexp(gap), infinite], axis=-1))

    def _shift(self, epsilon: FloatArray) -> FloatArray:
        return 4e-16 * np.abs(epsilon)  # close to a loss, delta feels the rounding of that loss

    def _epsilon_bounds(self, delta: float) -> tuple[float, float]:
        above = self.losses > 0
        l, log_p = self.losses[above], self.log_masses[above]
        if delta < self.infinity_mass:
            return np.inf, np.inf
        if delta == 1 or not len(l):
            return 0.0, 0.0
        if delta == self.infinity_mass:
            return float(l[-1]), float(l[-1])
        # For every i, delta(epsilon) is at least infinity_mass + D - (e**epsilon - 1) B, with B the Q-mass of the losses from
        # l[i] up and D what their P-mass exceeds it by, and for the right i it is that. So the largest of the roots is meant.
        gains = np.exp(log_p) * -np.expm1(-l)
        excess, log_b = np.cumsum(gains[::-1])[::-1], np.logaddexp.accumulate((log_p - l)[::-1])[::-1]
        rounding = 3e-16 * (np.cumsum((gains * (10 + len(l) - log_p))[::-1])[::-1] + self.infinity_mass)  # of excess
        missing = delta - self.infinity_mass
        with np.errstate(divide="ignore"):
            low, high = (np.logaddexp(0.0, np.log(np.maximum(excess - missing + error, 0.0)) - log_b)
                         for error in (-rounding, rounding))
        slack = 3e-16 * (10 + len(l) + np.abs(log_b)) * -np.expm1(-high) + 4e-16 * high
        return max(0.0, float(np.max(low - slack))), float(np.max(np.minimum(high + slack, l)))

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            infinite = np.broadcast_to(np.log(self.infinity_mass), (*loss.shape, 1))
        above = np.where(self.losses > loss[..., None], self.log_masses, -np.inf)
        return logsumexp(np.concatenate([above, infinite], axis=-1))

    def _cdf(self, loss: FloatArray) -> FloatArray:
        return np.concatenate([[0.0], self._cumulative])[np.searchsorted(self.losses, loss, side="right")]

    def _quantile(self, u: FloatArray) -> FloatArray:
        place = np.searchsorted(self._cumulative, u, side="left")
        return np.where(u == 1, self.maximum, np.concatenate([self.losses, [self.maximum]])[place])

    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        t = np.asarray(t)
        if self.infinity_mass:
            finite = self._moment(t)[0] if len(self.losses) else np.full(t.shape, -np.inf)
            return np.where(t == 0, 0.0, np.where(np.real(t) > 0, np.inf, finite))
        return self._moment(t)[0]

    def _moment(self, t: np.ndarray) -> tuple[np.ndarray, FloatArray]:
        """log E[e**(tL); L finite] and a bound on the relative rounding error of the moment."""
        powers = t[..., None] * self.losses
        top = np.max(np.real(powers) + self.log_masses, axis=-1)
        terms = np.exp(powers + self.log_masses - top[..., None])
        total, size = np.sum(terms, axis=-1), np.abs(terms)
        largest = np.abs(powers) + np.abs(self.log_masses) + np.abs(top)[..., None] + 8
        with np.errstate(divide="ignore", over="ignore"):
            far = np.log(total) + top
            far_error = 4 * UNIT * (np.sum(size * largest, axis=-1) / np.abs(total) + np.abs(far))
        if self.infinity_mass:
            return far, far_error
        # Small losses: 1 + t E[L] + E[e**(tL) - 1 - tL], with terms that do not cancel.
        close = np.max(np.abs(powers), axis=-1) < 0.5
        if not close.any():
            return far, far_error
        excess = self._masses * exp_minus_line(np.where(close[..., None], powers, 0.0))
        moved = np.where(close, t, 0.0) * self.mean()
        near = log_one_plus(np.sum(excess, axis=-1) + moved)
        near_size = np.sum(np.abs(excess) * (8 + np.abs(self.log_masses)), axis=-1) + 20 * np.abs(moved)
        return np.where(close, near, far), np.where(close, 4 * UNIT * near_size / np.abs(np.exp(near)), far_error)

    def _cumulant(self, t: FloatArray) -> FloatArray:
        return self._moment(t)[0]

    def _cumulant_above(self, t: FloatArray) -> FloatArray:
        terms = t[:, None] * self.losses + self.log_masses
        top = terms.max(axis=1)
        terms = np.exp(terms - top[:, None])
        total = terms.sum(axis=1)
        values = np.log(total) + top
        if values.min() < 1e-4:
            return self._cumulant(t)
        return values + 1e-15 * (8 + values - 2 * (terms @ self.log_masses) / total)  # the exponents' rounding

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        if not len(self.losses):
            return self._moment(z)
        level = float(self._cumulant(z[:1].real)[0])
        value, error = line_moments(self.losses, self.log_masses, z, self._moment, level)
        return value, error + self.mass_error + np.abs(z) * self.loss_error

    def _lattice(self) -> tuple[float, float, float] | None:
        if not len(self.losses):
            return None
        if self._step is None:
            first, largest = self.losses[0], max(abs(self.losses[0]), abs(self.losses[-1]))
            self._step = common_step(self.losses - first, largest) or (0.0, 0.0)
            self._step = self._step[0], self._step[1] + 2 * UNIT * largest + self.loss_error
        return (float(self.losses[0]), *self._step) if self._step[0] else None

    def _log_top(self) -> float:
        return float(self.log_masses[-1]) if len(self.losses) else -np.inf

    def _key(self) -> tuple:
        return self.losses.tobytes(), self.log_masses.tobytes(), self.infinity_mass, self._other_mass

    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self._quantile(rng.random(n))

    def mean(self) -> float:
        if self.infinity_mass:
            return np.inf
        # p (e**-l - 1 + l) has one sign and adds up to E[L] less Q's mass off P's support: nothing cancels.
        # (Where e**-l could overflow, p e**-l is taken as one.)
        low = np.minimum(self.losses, -1.0)
        terms = np.where(self.losses < -1, np.exp(self.log_masses - low) + self._masses * (low - 1),
                         self._masses * exp_minus_line(-np.maximum(self.losses, -1.0)))
        return float(np.sum(terms) + self._other_mass)

    @property
    def swapped(self) -> DiscreteLoss:
        return DiscreteLoss(-self.losses, self.log_masses - self.losses, self._other_mass, self.infinity_mass)
