"""A bounded secret plus Laplace or Gaussian noise: leakage and cost of every output in closed form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import log_ndtr

from dpnotes._validate import FloatArray, count, distribution, fail, finite, nonnegative, plain, positive, scalar
from dpnotes.information_density._conversions import log_mix
from dpnotes.privacy_loss._special import LOG_SQRT_2PI, _legendre, log1mexp, logsumexp


@dataclass(frozen=True, eq=False)  # it holds arrays
class PointPrior:
    """A secret on finitely many real numbers. Points of probability 0 are dropped.

    Parameters
    ----------
    points : the values, shape (k,), finite.
    probabilities : shape (k,), add up to 1.
    """

    points: FloatArray
    probabilities: FloatArray

    def __post_init__(self) -> None:
        points, weights = finite("points", self.points), distribution("probabilities", self.probabilities)
        if points.shape != weights.shape:
            raise fail("points", self.points, f"a one-dimensional array as long as probabilities ({len(weights)})")
        object.__setattr__(self, "points", points[weights > 0])
        object.__setattr__(self, "probabilities", weights[weights > 0] / weights.sum())

    @property
    def low(self) -> float:
        return float(self.points.min())

    @property
    def high(self) -> float:
        return float(self.points.max())

    def log_moment(self, t: ArrayLike) -> FloatArray:
        """log E e**(t X)."""
        return self.log_mean(lambda x: np.asarray(t)[..., None] * x)

    def log_mean(self, log_value: Any) -> FloatArray:
        """log E e**log_value(X), where log_value maps points of shape (k,) to an array whose last axis has length k."""
        return logsumexp(np.log(self.probabilities) + log_value(self.points))

    def nearest(self, y: FloatArray) -> FloatArray:
        """The point of the support nearest to y."""
        return self.points[np.argmin(np.abs(y[..., None] - self.points), axis=-1)]

    def _log_laplace(self, y: FloatArray, scale: float) -> FloatArray:
        return self.log_mean(lambda x: -np.abs(y[..., None] - x) / scale)

    def _log_gauss(self, y: FloatArray, sigma: float) -> FloatArray:
        return self.log_mean(lambda x: -(((y[..., None] - x) / sigma) ** 2) / 2)


@dataclass(frozen=True)
class UniformPrior:
    """A secret uniform on the interval [low, high], low < high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = (scalar(name, finite(name, getattr(self, name))) for name in ("low", "high"))
        if not low < high:
            raise fail("high", self.high, f"above low ({low:g})")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def log_moment(self, t: ArrayLike) -> FloatArray:
        """log E e**(t X) = the larger end's exponent + log((1 - e**-a) / a), with a = |t| (high - low)."""
        t = np.asarray(t, dtype=float)
        a = np.abs(t) * (self.high - self.low)
        safe = np.where(a > 1e-8, a, 1.0)
        return np.maximum(t * self.low, t * self.high) + np.where(a > 1e-8, log1mexp(-safe) - np.log(safe), -a / 2)

    def log_mean(self, log_value: Any) -> FloatArray:
        """log E e**log_value(X) by Gauss and Legendre's rule with 64 nodes, as good as exact for smooth values."""
        nodes, weights = _legendre()
        return logsumexp(np.log(weights) + log_value(self.low + (self.high - self.low) * nodes))

    def nearest(self, y: FloatArray) -> FloatArray:
        """The point of the support nearest to y."""
        return np.clip(y, self.low, self.high)

    def _log_laplace(self, y: FloatArray, scale: float) -> FloatArray:
        inside, width = np.clip(y, self.low, self.high), self.high - self.low
        # the integral of e**(-|inside - x| / scale) falls into a part left of `inside` and a part right of it
        parts = -np.expm1((self.low - inside) / scale) - np.expm1((inside - self.high) / scale)
        return np.log(parts * scale / width) - np.abs(y - inside) / scale

    def _log_gauss(self, y: FloatArray, sigma: float) -> FloatArray:
        a, b = (self.low - y) / sigma, (self.high - y) / sigma
        a, b = np.where(a + b > 0, -b, a), np.where(a + b > 0, -a, b)  # the same interval's mirror image in the lower tail
        top = log_ndtr(b)
        return LOG_SQRT_2PI + np.log(sigma / (self.high - self.low)) + top + log1mexp(log_ndtr(a) - top)


class _Additive(ABC):
    """Y = X + noise. With h the logarithm of the noise's density, i(x; y) = h(y - x) - log E e**h(y - X)."""

    prior: PointPrior | UniformPrior

    @abstractmethod
    def _log_noise(self, distance: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _log_mean(self, y: FloatArray) -> FloatArray: ...

    def density(self, x: ArrayLike, y: ArrayLike) -> Any:
        """i(x; y) in nats, for x and y that broadcast. Exact; x should lie in the support."""
        x, y = finite("x", x), finite("y", y)
        return plain(self._log_noise(y - x) - self._log_mean(y))

    def pml(self, y: ArrayLike) -> Any:
        """Pointwise maximal leakage of the output(s) y: the density at the nearest point of the support. Exact."""
        y = finite("y", y)
        return plain(np.maximum(self._log_noise(y - self.prior.nearest(y)) - self._log_mean(y), 0.0))

    def pmc(self, y: ArrayLike) -> Any:
        """Pointwise maximal cost of the output(s) y: minus the density at the farthest end of the support. Exact."""
        y = finite("y", y)
        farthest = np.where(y - self.prior.low > self.prior.high - y, self.prior.low, self.prior.high)
        return plain(np.maximum(self._log_mean(y) - self._log_noise(y - farthest), 0.0))


@dataclass(frozen=True)
class LaplaceNoise(_Additive):
    """A bounded secret plus Laplace noise. Exact closed forms.

    Parameters
    ----------
    prior : `PointPrior` or `UniformPrior`.
    scale : the noise's b, in the unit of the secret; positive and finite.

    An unbounded secret would have PMC = inf at every output.

    >>> noise = LaplaceNoise(UniformPrior(0, 1), scale=0.5)
    >>> noise.pmc([0, 0.25, 0.5, 1]).round(6).tolist(), noise.pml([0, 0.25, 0.5, 1]).round(6).tolist()
    ([1.161439, 0.964146, 0.541325, 1.161439], [0.838561, 0.535854, 0.458675, 0.838561])
    """

    prior: PointPrior | UniformPrior
    scale: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", scalar("scale", positive("scale", self.scale)))

    def _log_noise(self, distance: FloatArray) -> FloatArray:
        return -np.abs(distance) / self.scale

    def _log_mean(self, y: FloatArray) -> FloatArray:
        return self.prior._log_laplace(y, self.scale)

    def pmc_epsilon(self) -> float:
        """The worst PMC, attained by every output outside the data's range: log E e**((X - low) / b) or its mirror image. Exact.

        At most (high - low) / b, the LDP parameter; less for every secret that is not constant.
        """
        return mean_cost(self.prior, self.scale)

    def pml_epsilon(self) -> float:
        """The worst PML. Exact: i(x; y) is largest at y = x, so it is attained on the support; for uniform at the ends."""
        points = np.array([self.prior.low, self.prior.high]) if isinstance(self.prior, UniformPrior) else self.prior.points
        return float(np.max(self.pml(points)))

    def ldp_epsilon(self) -> float:
        """(high - low) / b. Exact: the identity PMC(y) + PML(y) holds at every output outside the range."""
        return (self.prior.high - self.prior.low) / self.scale

    def pmc_cap(self, mean: float) -> float:
        """log(1 + (max(mean - low, high - mean) / (high - low)) (e**((high - low) / b) - 1)): the worst PMC if of the secret only
        its ends and its mean are known. Tight upper bound, attained by a secret on the two ends.
        """
        low, high, mean = self.prior.low, self.prior.high, scalar("mean", finite("mean", mean))
        if not low <= mean <= high or low == high:
            raise fail("mean", mean, f"between the ends {low:g} < {high:g} of the support")
        return float(log_mix(np.float64(max(mean - low, high - mean) / (high - low)), np.float64(self.ldp_epsilon())))


def mean_cost(prior: PointPrior | UniformPrior, scale: float, n: int = 1, secret: str = "entry") -> float:
    """Worst PMC of the mean of n entries, each with law `prior`, released with Laplace noise of the given scale. Exact.

    Parameters
    ----------
    prior : law of one entry, `PointPrior` or `UniformPrior`, on [low, high].
    scale : the noise's b; positive.
    n : number of entries, >= 1.
    secret : what the adversary is after. "entry": one entry, all independent; at most (high - low) / (n b).
        "database": all entries at once, independent; n times as much. "copies": any one entry or all, when all n are equal
        (the most dependent case); at most (high - low) / b.

    >>> one = UniformPrior(0, 1)
    >>> [round(mean_cost(one, 0.2, 5, secret), 6) for secret in ("entry", "database", "copies")]
    [0.541325, 2.706624, 3.383801]
    """
    scale, n = scalar("scale", positive("scale", scale)), count("n", n, low=1)
    if secret not in ("entry", "database", "copies"):
        raise fail("secret", secret, "'entry', 'database' or 'copies'")
    t = 1 / scale if secret == "copies" else 1 / (n * scale)
    one = max(prior.log_moment(t) - t * prior.low, prior.log_moment(-t) + t * prior.high, 0.0)
    return float(n * one if secret == "database" else one)


@dataclass(frozen=True)
class GaussianNoise(_Additive):
    """A bounded secret plus Gaussian noise. PMC is finite at every output and unbounded over them. Exact closed forms.

    Parameters
    ----------
    prior : `PointPrior` or `UniformPrior`. With a `PointPrior`, PML is at most log(1 / p_min); with a density it is unbounded.
    sigma : the noise's standard deviation, in the unit of the secret; positive and finite.

    >>> noise = GaussianNoise(PointPrior([0, 1], [0.5, 0.5]), sigma=1.0)
    >>> noise.pmc([5, 10]).round(4).tolist(), noise.pml([5, 10]).round(4).tolist()
    ([3.8179, 8.8069], [0.6821, 0.6931])
    """

    prior: PointPrior | UniformPrior
    sigma: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", scalar("sigma", positive("sigma", self.sigma)))

    def _log_noise(self, distance: FloatArray) -> FloatArray:
        return -((distance / self.sigma) ** 2) / 2

    def _log_mean(self, y: FloatArray) -> FloatArray:
        return self.prior._log_gauss(y, self.sigma)

    def pmc_epsilon(self) -> float:
        """inf: no epsilon bounds the PMC of every output (0 for a constant secret)."""
        return np.inf if self.prior.low < self.prior.high else 0.0

    def pmc_delta(self, epsilon: float) -> float:
        """P[PMC(X -> Y) > epsilon], the delta that makes Gaussian noise (epsilon, delta)-PMC private. Exact for points.

        PMC(y) is convex in y, a maximum of logarithms of sums of exponentials of y, so the bad outputs are two tails.
        """
        epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        low, high, sigma = self.prior.low, self.prior.high, self.sigma
        if low == high or np.isinf(epsilon):
            return 0.0
        bad = 0.0
        # -i(low; y) rises with y from below 0 to inf, -i(high; y) falls: each passes epsilon once, and PMC is the larger
        for end, side in ((low, 1.0), (high, -1.0)):
            def excess(y: float, end: float = end) -> float:
                return -self.density(end, y) - epsilon

            inner = outer = (low + high) / 2
            step = max(sigma, high - low)
            while excess(outer) < 0:
                outer, step = outer + side * step, 2 * step
            while excess(inner) > 0:
                inner, step = inner - side * step, 2 * step
            edge = brentq(excess, inner, outer, xtol=1e-13, rtol=1e-14) if inner != outer else inner
            bad += np.exp(self.prior.log_mean(lambda x, edge=edge, side=side: log_ndtr(side * (x - edge) / sigma)))
        return float(min(1.0, bad))  # two tails that overlap cover everything
