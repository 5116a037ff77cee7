"""General spaces: a secret and an output with a joint density whose cost is bounded and whose leakage is not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpnotes._validate import FloatArray, fail, nonnegative, plain, positive, probability, real, scalar


class ClaytonMixture:
    """X and Y uniform on (0, 1), independent with probability 1 - lam, otherwise joined by Clayton's copula. Exact.

    The lift of (x, y) is the joint density 1 - lam + lam c(x, y), with c the density of Clayton's copula. c falls to 0 as x
    does, so PMC(X -> y) = -log(1 - lam) at every output y; but c has a peak near the corner (0, 0), and PML(X -> y) grows like
    log(1 / y) as y falls to 0. Not LDP for any epsilon, although small outputs, the ones that leak, are rare.

    Parameters
    ----------
    lam : weight of the dependent part, between 0 and 1.
    theta : Clayton's parameter, positive: larger is more dependent.

    References
    ----------
    arXiv 2407.01167 has a mixture of this kind; the closed forms of PML and its tail are derived in chapter 17.

    >>> mixture = ClaytonMixture(lam=0.3)
    >>> round(mixture.pmc(), 10), mixture.pml([0.5, 0.1, 1e-6]).round(6).tolist(), round(mixture.pml_delta(1.0), 7)
    (0.3566749439, [0.054067, 0.52334, 11.395151], 0.0461739)
    """

    def __init__(self, lam: float = 0.3, theta: float = 1.0) -> None:
        self.lam, self.theta = scalar("lam", probability("lam", lam)), scalar("theta", positive("theta", theta))
        t = self.theta
        # below the corner max_x c(x, y) = peak / (y (1 - y**theta)); from it on the maximum is at x = 1
        self._peak = float(np.exp(np.log1p(t) + (1 + 1 / t) * np.log1p(1 / t) - (2 + 1 / t) * np.log(2 + 1 / t)))
        self._corner = float(np.exp(np.log((1 + t) / (1 + 2 * t)) / t))
        self._valley = float(np.exp(-np.log1p(t) / t))  # where PML is smallest

    def lift(self, x: ArrayLike, y: ArrayLike) -> Any:
        """e**i(x; y), the joint density, for x and y in (0, 1] that broadcast."""
        x, y, t = _unit("x", x), _unit("y", y), self.theta
        log_x, log_y = np.log(x), np.log(y)
        a, b = -t * log_x, -t * log_y
        top = np.maximum(a, b)
        # log(x**-t + y**-t - 1), with the larger power taken out
        log_sum = top + np.log(np.exp(a - top) + np.exp(b - top) - np.exp(-top))
        log_c = np.log1p(t) - (1 + t) * (log_x + log_y) - (2 + 1 / t) * log_sum
        return plain(1 - self.lam + self.lam * np.exp(log_c))

    def pmc(self, y: ArrayLike = 0.5) -> Any:
        """-log(1 - lam), whatever the output: an infimum over x that is approached, not attained. Exact."""
        y = _unit("y", y)
        with np.errstate(divide="ignore"):
            return plain(np.full(y.shape, -np.log1p(-self.lam)))

    def pmc_epsilon(self) -> float:
        """The worst PMC, -log(1 - lam)."""
        return self.pmc(0.5)

    def best_secret(self, y: ArrayLike) -> Any:
        """The x that output y lifts most: min(1, ((1 + theta) (y**-theta - 1) / theta)**(-1 / theta)). Exact."""
        y, t = _unit("y", y), self.theta
        # y / (1 - y**theta)**(1/theta) in logarithms, which do not overflow as y falls to 0
        with np.errstate(divide="ignore"):
            log_x = np.log(y) - (np.log1p(1 / t) + np.log(-np.expm1(t * np.log(y)))) / t
        return plain(np.exp(np.minimum(log_x, 0.0)))

    def pml(self, y: ArrayLike) -> Any:
        """log(1 - lam + lam max_x c(x, y)), for outputs y in (0, 1]. Exact; grows without bound as y falls to 0."""
        y, t = _unit("y", y), self.theta
        inside = np.minimum(y, self._corner)
        c = np.where(y < self._corner, self._peak / (inside * -np.expm1(t * np.log(inside))), (1 + t) * y**t)
        return plain(np.log1p(self.lam * (c - 1)))

    def pml_epsilon(self, delta: float = 0.0) -> float:
        """The smallest epsilon with P[PML(X -> Y) > epsilon] <= delta; inf for delta = 0 (unless lam = 0)."""
        delta = scalar("delta", probability("delta", delta))
        if self.lam == 0 or delta == 1:
            return 0.0
        if delta == 0:
            return np.inf
        least, most = self.pml(self._valley), self.pml(max(delta / 4, 1e-300))
        if self.pml_delta(most) > delta:
            return np.inf  # delta below 1e-300
        return float(brentq(lambda e: self.pml_delta(e) - delta, least, most, xtol=1e-14, rtol=1e-14))

    def pml_delta(self, epsilon: float) -> float:
        """P[PML(X -> Y) > epsilon], exact: the outputs below one threshold, and for small epsilon those above another."""
        epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        if self.lam == 0 or epsilon == np.inf:
            return 0.0
        if epsilon < self.pml(self._valley):
            return 1.0

        def excess(log_y: float) -> float:
            return self.pml(np.exp(log_y)) - epsilon

        valley = np.log(self._valley)
        if excess(valley) >= 0:
            return 1.0
        bottom = valley - 1.0
        while excess(bottom) < 0:
            if bottom < -690:
                return 0.0  # below 1e-299
            bottom *= 2
        low = np.exp(brentq(excess, bottom, valley, xtol=1e-15, rtol=1e-14))
        high = np.exp(brentq(excess, valley, 0.0, xtol=1e-15, rtol=1e-14)) if excess(0.0) > 0 else 1.0
        return float(low + (1 - high))

    def __repr__(self) -> str:
        return f"ClaytonMixture(lam={self.lam:g}, theta={self.theta:g})"


def _unit(name: str, value: ArrayLike) -> FloatArray:
    array = real(name, value)
    if np.any((array <= 0) | (array > 1)):
        raise fail(name, value, "above 0 and at most 1")
    return array
