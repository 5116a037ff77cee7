"""The privacy-loss random variable, and the ways to read it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, as_array, at_least, count, fail, generator, plain, probability, real

_LARGEST_ORDER = 1e100  # t**2 is still a float
_far_out = np.errstate(over="ignore")  # beyond the range of floats a loss is as good as infinite


class PrivacyLoss(ABC):
    """The law of L = log(dP/dQ) under P, for one ordered pair (P, Q) of output laws, in nats.

    P is the law of the mechanism's output on the true database, Q its law on the neighbor. Every privacy definition of
    the book reads this one variable: pure DP its largest value, approximate DP the mean of max(0, 1 - e**(epsilon - L)),
    Rényi DP its exponential moments. L is infinite on distinguishing events, outputs that Q never gives.

    A guarantee needs both ordered pairs of every two neighbors: read ``loss`` and ``loss.swapped`` and keep the larger.
    Arguments are scalars or arrays; a scalar gives a float. Bad arguments raise ValueError.

    References
    ----------
    Dwork and Rothblum (2016), Concentrated Differential Privacy, section 1; Sommer, Meiser and Mohammadi (2019).
    """

    # What a kind of loss supplies; arguments arrive checked.
    infinity_mass: float
    minimum: float
    maximum: float
    _fine = False  # whether a first, quick answer on a line was too wide
    _most_nodes = 2**17  # on a line, at the first try

    @abstractmethod
    def _log_delta(self, epsilon: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _log_tail(self, loss: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _cdf(self, loss: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _quantile(self, u: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _log_mgf(self, t: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray: ...

    @abstractmethod
    def mean(self) -> float:
        """E[L], the Kullback-Leibler divergence of P from Q. Infinite where there are distinguishing events."""

    @property
    @abstractmethod
    def swapped(self) -> PrivacyLoss:
        """The loss of the pair read the other way, (Q, P): the law of -L under Q."""

    # What sums of losses ask of their parts (`_inversion`); about the finite part of the loss where it can be infinite.
    def _cumulant(self, t: FloatArray) -> FloatArray:
        """log E[e**(t L); L finite] for real t > 0, right to about 1e-14 of its size."""
        return self._log_mgf(t)

    def _cumulant_above(self, t: FloatArray) -> FloatArray:
        """An upper bound on the same, shape (n,), at orders that are asked for once; above by 1e-9 of it at most."""
        return self._cumulant(t)

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        """log M(z) at z = c + i j H, j = 0, 1, ..., and a bound on the relative error of each M(z).

        `copies` says to which power M will be raised, for losses that can choose between quick and exact.
        """
        raise ValueError(f"{type(self).__name__} has no error bound for its complex moments, so no certified sums.")

    def _expect(self, c: float, y: float) -> None:  # noqa: B027
        """Notice that M will be asked for on the line Re z = c, probably up to Im z = y."""

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        """A bound on log|M(c + iv)| that holds for all v >= y. Where nothing better is known, log M(c).

        `copies` as in `_on_line`; `drop` says how far log|M**copies| has to fall below its largest value to be of no account.
        """
        return np.full(y.shape, self._cumulant(np.array([c]))[0])

    def _lattice(self) -> tuple[float, float, float] | None:
        """(o, h, off) where every finite value is o plus a multiple of h, but for rounding by at most `off`; else None."""
        return None

    def _log_top(self) -> float:
        """log of the mass on the largest finite loss."""
        return -np.inf

    def _key(self) -> tuple:
        """What makes two losses of one kind equal: equal parts of a sum are merged."""
        return (id(self),)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    # Readings.
    def delta(self, epsilon: ArrayLike) -> Any:
        """The smallest delta with P(S) <= e**epsilon Q(S) + delta for every set S: E[max(0, 1 - e**(epsilon - L))].

        The hockey-stick divergence of this ordered pair. Exact up to rounding for closed forms, an upper bound for sums.

        Parameters
        ----------
        epsilon : any real number, in nats, or an array; inf is allowed.
        """
        return plain(np.exp(self.log_delta(epsilon)))

    @_far_out
    def log_delta(self, epsilon: ArrayLike) -> Any:
        """The natural logarithm of `delta`, right where delta itself would underflow; -inf where delta is 0."""
        return plain(np.minimum(self._log_delta(real("epsilon", epsilon)), 0.0))

    @_far_out
    def log_delta_bounds(self, epsilon: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper) around the exact log_delta: the rounding of the closed form, and what that of the losses moves."""
        epsilon = real("epsilon", epsilon)
        shift = np.where(np.isfinite(epsilon), self._shift(epsilon), 0.0)
        low = np.minimum(self._log_delta(epsilon + shift), 0.0)
        high = np.minimum(self._log_delta(epsilon - shift), 0.0) if shift.any() else low
        with np.errstate(invalid="ignore"):
            low, high = (value + side * np.where(np.isfinite(value), 4e-15 * (10 + np.abs(value)), 0.0)
                         for side, value in ((-1, low), (1, high)))
        return plain(low), plain(np.minimum(high, 0.0))

    def _shift(self, epsilon: FloatArray) -> FloatArray:
        """How far the rounding of the losses, as computed, may move delta sideways. None where it is a plain formula."""
        return np.zeros(epsilon.shape)

    def epsilon(self, delta: ArrayLike) -> Any:
        """The smallest epsilon >= 0 at which `delta` is enough: the inverse of the hockey stick, rounded up.

        inf where no epsilon will do: delta is below the mass of distinguishing events, or 0 and L is unbounded.
        """
        return self.epsilon_bounds(delta)[1]

    @_far_out
    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper) around the exact epsilon(delta)."""
        delta = probability("delta", delta)
        pairs = np.array([self._epsilon_bounds(float(d)) for d in delta.flat]).reshape(*delta.shape, 2)
        return plain(pairs[..., 0]), plain(pairs[..., 1])

    @_far_out
    def tail(self, epsilon: ArrayLike) -> Any:
        """P[L > epsilon], the delta of probabilistic DP: the width of the bad events, never below `delta`."""
        return plain(np.exp(np.minimum(self._log_tail(real("epsilon", epsilon)), 0.0)))

    @_far_out
    def cdf(self, loss: ArrayLike) -> Any:
        """P[L <= loss]; 1 - infinity_mass in the limit."""
        return plain(self._cdf(real("loss", loss)))

    def quantile(self, u: ArrayLike) -> Any:
        """The smallest loss l with P[L <= l] >= u; inf inside the mass of distinguishing events."""
        return plain(self._quantile(probability("u", u)))

    @_far_out
    def log_mgf(self, t: ArrayLike) -> Any:
        """log E[e**(t L)], for real or complex t of size up to 1e100; inf where the moment is infinite.

        t = alpha - 1 is the order's reading. The imaginary part is determined up to multiples of 2 pi.
        """
        allowed = "a real or complex number of size up to 1e100, or an array of them"
        order = as_array("t", t, allowed)
        order = order.astype(complex) if order.dtype.kind == "c" else real("t", t, allowed)
        if not np.all(np.maximum(np.abs(order.real), np.abs(order.imag)) <= _LARGEST_ORDER):
            raise fail("t", t, allowed)
        return plain(self._log_mgf(order))

    @_far_out
    def renyi(self, alpha: ArrayLike) -> Any:
        """The Rényi divergence D_alpha(P || Q) = log E[e**((alpha - 1) L)] / (alpha - 1), for alpha > 0. Exact.

        alpha = 1 gives `mean`, alpha = inf (and above 1e100) the largest loss `maximum`. Nondecreasing in alpha.
        """
        alpha = at_least("alpha", alpha, 0.0)
        if np.any(alpha == 0):
            raise fail("alpha", alpha, "above 0")
        values = np.empty(alpha.shape)
        middle = (alpha <= _LARGEST_ORDER) & (alpha != 1)
        t = alpha[middle] - 1
        values[middle] = np.minimum(self._log_mgf(t) / t, self.maximum)
        values[alpha == 1] = self.mean()
        values[alpha > _LARGEST_ORDER] = self.maximum
        return plain(values)

    def sample(self, n: int, rng: np.random.Generator | None = None) -> FloatArray:
        """n independent losses under P, shape (n,); inf marks a distinguishing event."""
        return self._sample(count("n", n), generator(rng))

    def repeat(self, k: int) -> PrivacyLoss:
        """The loss of k independent copies of the pair: the sum of k independent copies of L."""
        from dpnotes.privacy_loss._sums import independent_sum

        return independent_sum([(self, count("k", k))])

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        """The loss of an independent pair beside this one. Add only losses that are read in the same direction."""
        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        from dpnotes.privacy_loss._sums import independent_sum

        return independent_sum([(self, 1), (other, 1)])

    # Solving for epsilon, once for every kind of loss.
    def _epsilon_bounds(self, delta: float) -> tuple[float, float]:
        if delta >= 1:
            return 0.0, 0.0
        log_delta = np.log(delta) if delta > 0 else -np.inf
        return tuple(self._smallest_epsilon(log_delta, side) for side in (0, 1))

    def _smallest_epsilon(self, log_delta: float, side: int) -> float:
        """The smallest epsilon >= 0 whose lower (side 0) or upper (side 1) log_delta is at most `log_delta`."""

        def excess(epsilon: float) -> float:
            value = self.log_delta_bounds(epsilon)[side]
            return max(value, -1e300) - max(log_delta, -1e300)

        if excess(0.0) <= 0:
            return 0.0
        top = most = self.maximum  # rounded up, and to this side
        if np.isfinite(top):
            off = float(self._shift(np.array(top)))
            top, most = top + off, top + off if side else top - off
        if log_delta == -np.inf or (self.infinity_mass and log_delta < np.log(self.infinity_mass)):
            return self.maximum
        low, high = 0.0, 1.0
        while high < top and excess(high) > 0:
            low, high = high, 4 * high
        if high >= top:
            high = top
        if not np.isfinite(high):
            return np.inf
        from scipy.optimize import brentq

        # brentq ends within its tolerance on either side of the root; step to the side that is asked for.
        root = brentq(excess, low, high, xtol=1e-300, rtol=1e-14) if excess(high) < 0 else high
        step = 2e-14 * root
        while step and (excess(root) > 0) == bool(side) and low < root < high:
            root, step = (root + step, 2 * step) if side else (root - step, 2 * step)
        return min(max(root, low), high, most)

    def __repr__(self) -> str:
        kind, mass = type(self).__name__, self.infinity_mass
        return f"{kind}(mean={self.mean():.6g}, maximum={self.maximum:.6g}, infinity_mass={mass:.6g})"
