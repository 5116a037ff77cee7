"""What smooth steps keep of a sampled Gaussian's loss (`_rare`): its moments, and how they die.

A step keeps the output x with probability Phi(sign (place - x) / width). Steps are (sign, place, width), from left to right;
sign 1 keeps what is left of the place, and the last step has it. Along Im x = a the modulus of the weight grows by at most
e**(a**2 / (2 width**2)), since |Phi(u + iv)| <= e**(v**2 / 2) Phi(u).

The integrals over x end where a smooth step has fallen below e**-60: beyond, the opposite is taken as certain, which changes
probabilities by a factor within 1e-26 of 1.
"""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._sampled import PoissonGaussianLoss
from dpnotes.privacy_loss._sampled_moments import DIGITS, Orders, _share, _turned, log_mixture
from dpnotes.privacy_loss._special import LOG_SQRT_2PI, logsumexp

EDGE = 20.0  # widths of a smooth step from its middle to where it is cut off, at most
ROOM = 40.0  # for the modulus to grow along a strip: e**ROOM
TURNS = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01])  # shifts, as fractions of the widest
COARSE, FINE = 200, 3000  # cells a step: where |M| has to die at all, and where it is raised to a high power


class KeptOrders(Orders):
    """The quadrature of a kept part: the weight carries Phi(sign (place - x) / width) for every smooth step."""

    def __init__(self, q, mu, c, y, steps) -> None:
        self.steps, self.blur = steps, _blur(steps)
        super().__init__(q, mu, True, c, y)

    def _log_kept(self, x):
        return _log_kept(self.steps, x)

    def _missing(self) -> tuple[float, float] | None:
        if len(self.steps) > 1:
            return None
        (_, place, width), = self.steps
        return flagged(self.q, self.mu, place, width)[:2]

    def _steepest(self):
        total = 0.0  # the slope of log Phi(u) is at most 1 + max(-u, 0)
        for sign, place, width in self.steps:
            u = sign * (place - self.x) / width
            total = total + (1 + np.maximum(-u, 0.0) + self.step / 2 / width) / width
        return total

    def _window(self):
        low, high = _window(self.q, self.mu, self.steps, self.c)
        if self.y:
            loss = float(log_mixture(np.array(high), self.q, self.mu))
            self.widest = min(self.widest, ROOM / (self.y * self.mu * min(loss, 1.0)))
        return low, high

    def _outside(self):
        """log of bounds on what the ends contribute: where the window is cut, the upright pieces of the contour."""
        ends = np.array([self.x[0] - self.step / 2, self.x[-1] + self.step / 2])
        upright = _log_terms(self.q, self.mu, self.steps, np.array([self.c]), ends)[0] - self.level + log(2 * self.widest + 1)
        upright += self.blur * self.a**2 / 2 + self.y * _turned(_share(ends, self.q, self.mu), self.mu * self.a)[1]
        return (float(upright[0]) if _is_cut(self.steps) else super()._outside()[0]), float(upright[1])

    def _outside_turned(self, a, y):
        return np.logaddexp(*self.outside) + self.blur * np.square(a) / 2

    def log_modulus(self, y: FloatArray) -> FloatArray:
        return np.minimum(_log_modulus(self.q, self.mu, self.steps, self.c, y, FINE), self.level + 1e-15)

    def _tilt(self, log_weight, x):
        super()._tilt(log_weight, x)
        self.error += 1e-24


def _log_kept(steps, x: FloatArray) -> FloatArray:
    return sum(log_ndtr(sign * (place - x) / width) for sign, place, width in steps)


def _blur(steps) -> float:
    """The normal density times all steps grows by at most e**(this a**2 / 2) on the way to Im x = a."""
    return 1 + sum(width**-2 for _, _, width in steps)


def _is_cut(steps) -> bool:
    """Whether the first step rises, so that the window is cut off on the left, too."""
    return steps[0][0] < 0


def _window(q: float, mu: float, steps, c: float) -> tuple[float, float]:
    """Where a kept part is cut off. The ends depend on c alone, so that all of a line belongs to one measure."""
    low = steps[0][1] - 17 * steps[0][2] if _is_cut(steps) else -sqrt(2 * (DIGITS + 12))
    _, place, width = steps[-1]
    for edge in np.arange(11.0, EDGE):
        if edge**2 / 2 > DIGITS + 10 + ROOM + c * float(log_mixture(np.array(place + edge * width), q, mu)):
            return low, place + edge * width
    return low, place + EDGE * width


def _log_terms(q: float, mu: float, steps, t: FloatArray, x: FloatArray) -> FloatArray:
    """log of the kept density times h**(t + 1), a row for every t."""
    return -x * x / 2 - LOG_SQRT_2PI + _log_kept(steps, x) + (t[:, None] + 1) * log_mixture(x, q, mu)


def _log_modulus(q: float, mu: float, steps, c: float, y: FloatArray, count: int) -> FloatArray:
    """log of a bound on |M(c + iv)| for all v >= y, by shifting the line of integration in x to Im x = b.

    There |h| and arg h rise in x, and |Phi(u + iv)| is at most e**(v**2 / 2) Phi(u) and at most 1 + e**(v**2 / 2) Phi(-u).
    The sum is over cells, each with the largest value that every factor has in it. Where the window is cut there are upright
    pieces x + is, 0 < s < b. On them arg h is at least s min(arg h(x + ib) / b, mu times the share), whichever way it bends
    in s, so that the exponent is at most a convex function of s, and largest at an end.
    """
    low, high = _window(q, mu, steps, c)
    least = np.full(len(y), inf)
    for b in TURNS * min(np.pi / (2 * mu), 9.5):
        near = [place + (b + 13 * width) * np.linspace(-1, 1, count) for _, place, width in steps]
        x = np.unique(np.clip(np.concatenate([*near, np.linspace(low, high, count), [0.0]]), low, high))
        share = _share(x, q, mu)
        size, argument = _turned(share, mu * b)
        cell = np.log(np.diff(x)) + b * b / 2 - LOG_SQRT_2PI - np.minimum(np.abs(x[1:]), np.abs(x[:-1])) ** 2 / 2
        cell += (c + 1) * (log_mixture(x, q, mu) + size)[1:]
        bent, flat = np.full(2, b * b / 2), np.zeros(2)  # at the ends
        for sign, place, width in steps:
            u, grown = sign * (place - x) / width, (b / width) ** 2 / 2
            rising, falling = grown + log_ndtr(u), np.logaddexp(0.0, grown + log_ndtr(-u))
            cell += np.minimum(np.maximum(rising[1:], rising[:-1]), np.maximum(falling[1:], falling[:-1]))
            small = (falling < rising)[[0, -1]]
            bent, flat = bent + np.where(small, 0.0, grown), flat + np.where(small, (falling - log_ndtr(u))[[0, -1]], 0.0)
        total = logsumexp(cell - np.multiply.outer(y, argument[:-1]))
        upright = _log_terms(q, mu, steps, np.array([c]), x[[0, -1]])[0] + flat + log(b)
        upright = upright + np.maximum(bent - np.multiply.outer(y, np.minimum(argument, share * mu * b)[[0, -1]]), 0.0)
        if not _is_cut(steps):  # there the line goes on
            upright[:, 0] = b * b / 2 + log_ndtr(low) + 1e-9
        least = np.minimum(least, np.logaddexp(total, np.logaddexp(*upright.T)) + 1e-12)
    return least


def flagged(q: float, mu: float, place: float, width: float) -> tuple[float, float, float]:
    """P[flag], P[flag] - Q[flag] and Q[flag] of one step."""
    spread = sqrt(1 + width * width)
    below, above = float(ndtr(-place / spread)), float(ndtr((mu - place) / spread))
    return below + q * (above - below), q * (above - below), below


class Kept(PoissonGaussianLoss):
    """What the smooth steps keep of a sampled Gaussian's loss ("remove"): a measure of mass below 1."""

    _whole = False

    def __new__(cls, loss: PoissonGaussianLoss, *steps: tuple) -> Kept:
        return object.__new__(cls)

    def __init__(self, loss: PoissonGaussianLoss, *steps) -> None:
        super().__init__(loss.q, loss.mu)
        self.steps = steps

    def _key(self):
        return self.q, self.mu, self.steps

    def _quadrature(self, c, y):
        return KeptOrders(self.q, self.mu, c, y, self.steps)

    def _cumulant(self, t: FloatArray) -> FloatArray:
        """log M(t) for real t > 0, rounded up: the rule is exact to e**-50 since the modulus does not grow but by the blur."""
        blur = _blur(self.steps)
        a = min(np.pi / (2 * self.mu), 9.5, sqrt(DIGITS / 2 / blur))
        step = 2 * np.pi * a / (DIGITS + 6 + blur * a * a / 2)
        low, high = _window(self.q, self.mu, self.steps, inf)
        terms = _log_terms(self.q, self.mu, self.steps, t, low + step * np.arange(np.ceil((high - low) / step) + 1))
        upright = blur * a * a / 2 + log(4 * a + 1)  # the contour's pieces at the ends; on the left there may be a tail instead
        left = terms[:, 0] + upright if _is_cut(self.steps) else float(log_ndtr(low)) + 1.0
        return np.logaddexp(logsumexp(terms) + log(step), np.logaddexp(left, terms[:, -1] + upright)) + 1e-14

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        if not _is_cut(self.steps):
            return super()._modulus(c, y, copies, drop)
        return np.minimum(_log_modulus(self.q, self.mu, self.steps, c, y, COARSE), self._cumulant(np.array([c])))
