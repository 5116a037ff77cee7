"""Boundaries that a Brownian path crosses with probability at most delta, at any time: bounds on the loss wherever one stops.

The loss of a Brownian (or of repeated Gaussian) release with precision 1/sigma**2 is L = W(t) + t/2 under P, where
t = sensitivity**2 / sigma**2 = 2 rho and W is standard Brownian motion. If W stays below a boundary psi except with
probability delta, then epsilon = rho + psi(2 rho) is a delta-probabilistic ex-post bound whatever the stopping rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, zeta

from dpnotes._validate import FloatArray, at_least, fail, nonnegative, open_probability, plain, positive, scalar
from dpnotes.ex_post._conversions import best_alpha


class Boundary(ABC):
    """A curve psi over time with P[W(t) >= psi(t) at some t >= 0] <= delta. Its parameters are fixed before the first release."""

    delta: float

    @abstractmethod
    def _height(self, time: FloatArray) -> FloatArray: ...

    def height(self, time: ArrayLike) -> Any:
        """psi at the time sensitivity**2 / sigma**2, at least 0 and finite; scalar or array."""
        time = nonnegative("time", time)
        if np.isinf(time).any():
            raise fail("time", time, "finite")
        return plain(self._height(time))

    def epsilon(self, rho: ArrayLike) -> Any:
        """The privacy bound rho + psi(2 rho) at the stop: P[L > epsilon] <= delta at any stopping time. Upper bound.

        Parameters
        ----------
        rho : sensitivity**2 / (2 sigma**2) of the last release, at least 0; scalar or array.
        """
        rho = nonnegative("rho", rho)
        return plain(rho + np.asarray(self.height(2 * rho)))


class LinearBoundary(Boundary):
    """psi(t) = (alpha - 1) t / 2 + log(1/delta) / (alpha - 1), crossed with probability exactly delta. Exact.

    A line a + b t is crossed with probability e**(-2ab). This line gives epsilon(rho) = alpha rho + log(1/delta) / (alpha - 1)
    for every rho: the ex-post Rényi bound of order alpha read at delta, so the two are the same statement about the loss.

    Parameters
    ----------
    alpha : order, above 1 and finite.
    delta : crossing probability, between 0 and 1, both excluded.

    >>> round(LinearBoundary(4, 1e-6).epsilon(1.0), 12)
    8.605170185988
    """

    def __init__(self, alpha: float, delta: float) -> None:
        self.alpha = scalar("alpha", at_least("alpha", alpha, 1.0))
        if not 1 < self.alpha < np.inf:
            raise fail("alpha", alpha, "above 1 and finite")
        self.delta = open_probability("delta", delta)
        self.slope, self.start = (self.alpha - 1) / 2, -np.log(self.delta) / (self.alpha - 1)

    @classmethod
    def for_target(cls, rho: float, delta: float) -> LinearBoundary:
        """The line that is lowest at the target rho, fixed in advance: alpha = 1 + sqrt(log(1/delta) / rho)."""
        return cls(best_alpha(rho, delta), delta)

    def _height(self, time: FloatArray) -> FloatArray:
        return self.slope * time + self.start


class TwoSidedMixture(Boundary):
    """psi(t) = sqrt((t + r) log((t + r) / (r delta**2))): Robbins's normal mixture; |W| crosses it with probability <= delta.

    It mixes e**(lambda W - lambda**2 t / 2) over lambda ~ N(0, 1/r), negative ones too, which a bound on L from above does
    not need: `OneSidedMixture` is lower.

    Parameters
    ----------
    r : positive; small r favors late times. `for_target` finds the best one.
    delta : crossing probability, between 0 and 1, both excluded.

    References
    ----------
    Robbins (1970), Statistical Methods Related to the Law of the Iterated Logarithm.
    """

    def __init__(self, r: float, delta: float) -> None:
        self.r = scalar("r", positive("r", r))
        self.delta = open_probability("delta", delta)

    @classmethod
    def for_target(cls, rho: float, delta: float) -> TwoSidedMixture:
        """The r whose boundary is lowest at the target rho: t/r = x with x = log(1 + x) + 2 log(1/delta)."""
        time = 2 * scalar("rho", positive("rho", rho))
        start = x = -2 * np.log(open_probability("delta", delta))
        for _ in range(200):  # the map shrinks distances by 1/(1 + x)
            x = start + np.log1p(x)
        return cls(time / x, delta)

    def _height(self, time: FloatArray) -> FloatArray:
        return np.sqrt((time + self.r) * (np.log1p(time / self.r) - 2 * np.log(self.delta)))


class OneSidedMixture(Boundary):
    """The root w of 2 sqrt(r/(t+r)) e**(w**2 / (2(t+r))) Phi(w / sqrt(t+r)) = 1/delta: half-normal mixture, W crosses <= delta.

    Mixes e**(lambda W - lambda**2 t / 2) over lambda > 0 only, with density proportional to e**(-r lambda**2 / 2): a mixture
    over the orders alpha > 1 of the ex-post Rényi e-value.

    Parameters
    ----------
    r : positive; small r favors late times. `for_target` finds the best one.
    delta : crossing probability, between 0 and 1, both excluded.

    References
    ----------
    Robbins (1970); Howard, Ramdas, McAuliffe and Sekhon (2021), Time-uniform Confidence Sequences.

    >>> round(OneSidedMixture(0.07, 1e-6).height(2.0), 12)
    7.831811947699
    """

    def __init__(self, r: float, delta: float) -> None:
        self.r = scalar("r", positive("r", r))
        self.delta = open_probability("delta", delta)

    @classmethod
    def for_target(cls, rho: float, delta: float) -> OneSidedMixture:
        """The r whose boundary is lowest at the target rho, found numerically near the two-sided one."""
        from scipy.optimize import minimize_scalar

        near = np.log(TwoSidedMixture.for_target(rho, delta).r)
        found = minimize_scalar(lambda x: cls(np.exp(x), delta).epsilon(rho), bounds=(near - 5, near + 5), method="bounded",
                                options={"xatol": 1e-9})
        return cls(float(np.exp(found.x)), delta)

    def _height(self, time: FloatArray) -> FloatArray:
        goal = np.log1p(time / self.r) / 2 - np.log(2 * self.delta)
        # v**2/2 + log Phi(v) = goal for v = w / sqrt(t + r): rising and convex, so Newton comes down from an upper bound.
        v = np.sqrt(2 * np.logaddexp(0.0, goal))
        for _ in range(60):
            mills = np.exp(-v * v / 2 - 0.5 * np.log(2 * np.pi) - log_ndtr(v))
            v = v - (v * v / 2 + log_ndtr(v) - goal) / (v + mills)
        return v * np.sqrt(time + self.r)


class StitchedBoundary(Boundary):
    """Lines stitched over the epochs m eta**k: grows like sqrt(t log log t). For t below m the value at m holds.

    psi(t) = (eta**(1/4) + eta**(-1/4)) / sqrt(2) * sqrt(t l), l = s log log(eta t / m) + log(zeta(s) / (delta log(eta)**s)).

    Parameters
    ----------
    m : the time from which it is meant to be used, positive.
    eta : ratio of the epochs, above 1.
    s : how fast the error spent per epoch falls, above 1.
    delta : crossing probability, between 0 and 1, both excluded.

    References
    ----------
    Howard, Ramdas, McAuliffe and Sekhon (2021), Time-uniform, Nonparametric, Nonasymptotic Confidence Sequences.
    """

    def __init__(self, m: float, delta: float, *, eta: float = 2.0, s: float = 1.4) -> None:
        self.m = scalar("m", positive("m", m))
        self.delta = open_probability("delta", delta)
        self.eta, self.s = scalar("eta", positive("eta", eta)), scalar("s", positive("s", s))
        for name, value in (("eta", self.eta), ("s", self.s)):
            if value <= 1:
                raise fail(name, value, "above 1 and finite")

    @classmethod
    def for_target(cls, rho: float, delta: float, *, smallest_rho: float) -> StitchedBoundary:
        """eta and s that make the boundary lowest at the target rho, for use from `smallest_rho` <= rho on."""
        from scipy.optimize import minimize

        rho = scalar("rho", positive("rho", rho))
        m = 2 * scalar("smallest_rho", positive("smallest_rho", smallest_rho))
        if m > 2 * rho:
            raise fail("smallest_rho", smallest_rho, f"at most the target rho = {rho!r}")

        def at(x: FloatArray) -> StitchedBoundary:  # bounded: beyond, the epochs are as good as points or as one epoch
            eta, s = 1 + np.exp(np.clip(x, -4, 4))
            return cls(m, delta, eta=float(eta), s=float(s))

        found = minimize(lambda x: at(x).epsilon(rho), np.log([1.0, 0.4]), method="Nelder-Mead",
                         options={"xatol": 1e-6, "fatol": 1e-10})
        return at(found.x)

    def _height(self, time: FloatArray) -> FloatArray:
        time = np.maximum(time, self.m)
        epochs = np.log(np.log(self.eta * time / self.m)) - np.log(np.log(self.eta))
        level = self.s * epochs + np.log(zeta(self.s) / self.delta)
        return (self.eta**0.25 + self.eta**-0.25) / np.sqrt(2) * np.sqrt(time * level)
