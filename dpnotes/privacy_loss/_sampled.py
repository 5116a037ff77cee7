"""The loss of a mechanism that looks at a random sample of the records."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from dpnotes._validate import FloatArray, fail, nonnegative, probability, scalar
from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss
from dpnotes.privacy_loss._sampled_moments import Orders, cumulants, log_mixture
from dpnotes.privacy_loss._special import log1mexp
from dpnotes.privacy_loss._transform import moments_from_delta

FEW_NODES, MOST_WORK = 100, 2_000_000  # beyond, the moments on a line come from one Fourier transform
MANY_COPIES = 500
DIRECTIONS = ("remove", "add")


class PoissonGaussianLoss(PrivacyLoss):
    """L for Gaussian noise on a Poisson sample: the record whose presence is in question joins with probability q.

    With h(x) = 1 - q + q e**(mu x - mu**2 / 2), the likelihood ratio of (1 - q) N(0, 1) + q N(mu, 1) to N(0, 1):
    "remove" is the pair (mixture, N(0, 1)), L = log h(x) with x from the mixture, at least log(1 - q);
    "add" is the pair (N(0, 1), mixture), L = -log h(x) with x from N(0, 1), at most -log(1 - q).
    delta, tail and cdf are closed forms; moments are quadratures with a bounded error below 1e-13.

    q = 1 and mu = 0 or q = 0 give the plain `GaussianLoss`, and mu = inf a `DiscreteLoss`, instead of this class.

    Parameters
    ----------
    q : probability with which a record is in the sample.
    mu : distance of the centers in standard deviations, sensitivity / sigma.
    direction : "remove" or "add".

    References
    ----------
    Balle, Barthe and Gaboardi (2018), advanced joint convexity: delta = q delta_G(log(1 + (e**epsilon - 1) / q)).

    >>> round(PoissonGaussianLoss(0.1, 1.0, "remove").delta(1.0), 16)
    0.000207121486021
    """

    def __new__(cls, q: float, mu: float, direction: str = "remove") -> PrivacyLoss:
        q, mu = scalar("q", probability("q", q)), scalar("mu", nonnegative("mu", mu))
        if direction not in DIRECTIONS:
            raise fail("direction", direction, "'remove' or 'add'")
        if q == 1 or q * mu == 0:
            return GaussianLoss(mu if q == 1 else 0.0)
        if np.isinf(mu):
            missed = np.log1p(-q)
            loss = DiscreteLoss.from_log_masses([missed], [missed], infinity_mass=q)
            return loss if direction == "remove" else loss.swapped
        return super().__new__(cls)

    def __init__(self, q: float, mu: float, direction: str = "remove") -> None:
        self.q, self.mu, self.direction = float(q), float(mu), direction
        self.infinity_mass = 0.0
        edge = float(np.log1p(-self.q))
        self.minimum, self.maximum = (edge, np.inf) if direction == "remove" else (-np.inf, -edge)
        self._inner = GaussianLoss(self.mu)
        self._tables: dict[tuple[float, int], tuple] = {}
        self._orders: dict[tuple[float, bool], Orders] = {}

    def __getnewargs__(self) -> tuple:
        return self.q, self.mu, self.direction

    def _key(self) -> tuple:
        return self.q, self.mu, self.direction

    @property
    def _remove(self) -> bool:
        return self.direction == "remove"

    def _inner_loss(self, loss: FloatArray) -> FloatArray:
        """log R, where log(1 - q + q R) = loss; -inf at and below the edge log(1 - q)."""
        inside = np.maximum(loss, np.log1p(-self.q))
        with np.errstate(divide="ignore", over="ignore"):
            near = np.log1p(np.maximum(np.expm1(np.minimum(inside, 700.0)) / self.q, -1.0))
            far = inside - np.log(self.q) + np.log1p((self.q - 1) * np.exp(-np.maximum(inside, 0.0)))
        return np.where(inside < 1.0, near, far)

    def _output(self, loss: FloatArray) -> FloatArray:
        """The output x with log h(x) = loss."""
        return self._inner_loss(loss) / self.mu + self.mu / 2

    def _log_delta(self, epsilon: FloatArray) -> FloatArray:
        if self._remove:
            outside = log1mexp(np.minimum(epsilon, 0.0))
            value = np.log(self.q) + self._inner._log_delta(self._inner_loss(epsilon))
            return np.where(epsilon <= self.minimum, outside, value)
        # (1 - e**epsilon h)_+ = A (1 - R / kappa)_+ with A = 1 - (1 - q) e**epsilon and kappa = A / (q e**epsilon)
        inside = np.minimum(epsilon, self.maximum)
        value = log1mexp(inside - self.maximum) + self._inner._log_delta(-self._inner_loss(-inside))
        return np.where(epsilon >= self.maximum, -np.inf, value)

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        if self._remove:
            x = self._output(loss)
            value = np.logaddexp(np.log1p(-self.q) + log_ndtr(-x), np.log(self.q) + log_ndtr(self.mu - x))
            return np.where(loss < self.minimum, 0.0, value)
        return np.where(loss >= self.maximum, -np.inf, log_ndtr(self._output(-loss)))

    def _cdf(self, loss: FloatArray) -> FloatArray:
        if self._remove:
            x = self._output(loss)
            return np.where(loss <= self.minimum, 0.0, (1 - self.q) * ndtr(x) + self.q * ndtr(x - self.mu))
        return np.where(loss >= self.maximum, 1.0, ndtr(-self._output(-loss)))

    def _quantile(self, u: FloatArray) -> FloatArray:
        if not self._remove:
            return -log_mixture(-ndtri(u), self.q, self.mu)
        low, high = ndtri(u), self.mu + ndtri(u)  # the mixture's quantile lies between those of its parts
        for _ in range(100):
            middle = np.where(np.isfinite(low), (low + high) / 2, low)
            below = (1 - self.q) * ndtr(middle) + self.q * ndtr(middle - self.mu) < u
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return log_mixture(high, self.q, self.mu)

    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        x = rng.standard_normal(n)
        if self._remove:
            x += self.mu * (rng.random(n) < self.q)
        return log_mixture(x, self.q, self.mu) * (1 if self._remove else -1)

    def _at(self, c: float, y: float = 0.0) -> Orders:
        """The quadrature for real part c, fine enough for imaginary parts up to y."""
        key = (c, y > 0)  # the bounds on |M| need no imaginary part, and are quicker without
        kept = self._orders.get(key)
        if kept is None or kept.y < y:
            if len(self._orders) > 8:
                self._orders.clear()
            kept = self._orders[key] = Orders(self.q, self.mu, self._remove, c, y)
        return kept

    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        t = np.asarray(t)
        values = np.empty(t.shape, t.dtype if t.dtype.kind == "c" else float)
        for c in np.unique(np.real(t)):
            here = np.real(t) == c
            if np.isinf(c):
                values[here] = -np.inf if c < 0 and not self._remove else np.inf
                continue
            y = np.abs(np.imag(t[here]))
            orders = self._at(float(c), float(y.max()))
            value = orders.ready().on_line(y)[0]
            if t.dtype.kind == "c":
                values[here] = np.where(np.imag(t[here]) < 0, np.conj(value), value)
            else:
                values[here] = value.real
        return values

    def _cumulant(self, t: FloatArray) -> FloatArray:
        return cumulants(self.q, self.mu, self._remove, t)

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        orders = self._at(float(z[0].real), float(z[-1].imag))
        # The transform's error grows like |z|**2 and is raised to the power: it is for few copies.
        if len(z) > FEW_NODES and len(z) * orders.count > MOST_WORK * (1 if copies < MANY_COPIES else 30):
            return moments_from_delta(self, z)
        return orders.ready().on_line(z.imag)

    def _log_delta_and_size(self, l: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A quicker log delta, and the log of the larger of the two terms whose difference it is. l in increasing order."""
        edge = np.searchsorted(l, self.minimum, "right") if self._remove else np.searchsorted(l, self.maximum)
        inside = l[edge:] if self._remove else l[:edge]
        inner = self._inner_loss(inside if self._remove else -inside)
        x = inner / self.mu + self.mu / 2
        if self._remove:
            first, second = np.log(self.q) + log_ndtr(self.mu - x), np.log(self.q) + log_ndtr(-x) + inner
        else:
            first, second = log1mexp(inside - self.maximum) + log_ndtr(x), inside + np.log(self.q) + log_ndtr(x - self.mu)
        value = first + log1mexp(np.minimum(second - first, 0.0))
        outside = log1mexp(np.minimum(l[:edge], 0.0)) if self._remove else np.full(len(l) - edge, -np.inf)
        return tuple(np.concatenate([outside, part] if self._remove else [part, outside]) for part in (value, first))

    def _modulus(self, c: float, y: FloatArray, copies: int = 1) -> FloatArray:
        orders = self._at(c).ready()
        far = np.array([orders.log_modulus(float(v)) for v in y])
        if copies < MANY_COPIES:
            return far
        key = (c, copies)
        if key not in self._tables:
            if len(self._tables) > 4:
                self._tables.clear()
            self._tables[key] = self._table(c, copies)
        step, table = self._tables[key]
        if table is None:
            return far
        place = np.minimum((y / step).astype(int), len(table) - 1)
        return np.minimum(far, table[place])

    def _table(self, c: float, copies: int) -> tuple[float, FloatArray | None]:
        """Bounds on log|M(c + iv)| for all v >= m step, m = 0, 1, ..., from |M| at these points.

        g(v) = |M(c + iv) / M(c)|**2 is E[cos(v D)] for the difference D of two independent tilted losses, so that
        |g''| <= E[D**2] = 2 Var, and between two points g is at most the larger end plus step**2 Var / 4. Beyond the last
        point the shifted line of integration takes over.
        """
        orders = self._at(c).ready()
        mean = float(orders.p @ orders.loss)
        variance = float(orders.p @ (orders.loss - mean) ** 2) * (1 + 1e-9)
        step = 0.7 / np.sqrt(copies * variance)
        last = step
        while copies * (orders.log_modulus(last) - orders.level) > -90:
            last *= 1.5
            if last > 300 * step:
                return step, None
        y = step * np.arange(int(last / step) + 2)
        fine = self._at(c, float(y[-1])).ready()
        if fine.count * len(y) > 10 * MOST_WORK:
            return step, None
        value, error = fine.on_line(y)
        g = np.exp(2 * (value.real - fine.level)) * (1 + np.minimum(error, 1e100)) ** 2
        between = np.maximum(g[:-1], g[1:]) + step * step * variance / 4
        beyond = np.exp(2 * (orders.log_modulus(float(y[-1])) - orders.level))
        most = np.maximum(np.maximum.accumulate(between[::-1])[::-1], beyond)
        return step, np.append(0.5 * np.log(most), 0.5 * np.log(beyond)) + orders.level + 1e-14

    def mean(self) -> float:
        return self._at(0.0).ready().mean()

    @property
    def swapped(self) -> PoissonGaussianLoss:
        return PoissonGaussianLoss(self.q, self.mu, "add" if self._remove else "remove")
