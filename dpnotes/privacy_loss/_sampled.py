"""The loss of a mechanism that looks at a random sample of the records."""

from __future__ import annotations

from functools import cached_property
from math import ceil, log, log1p, log2, sqrt

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from dpnotes._validate import FloatArray, fail, nonnegative, probability, scalar
from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss, LaplaceLoss
from dpnotes.privacy_loss._sampled_moments import MOST_NODES, Orders, SharedNodes, cumulants, log_mixture
from dpnotes.privacy_loss._special import UNIT, TooSteep, log1mexp
from dpnotes.privacy_loss._transform import moments_from_delta

FEW_NODES, MOST_WORK = 100, 2_000_000  # beyond, the moments on a line come from one Fourier transform
MANY_COPIES = 500
LARGEST_LAPLACE = 700.0  # the largest loss of Laplace noise that can be sampled
MOST_KEPT = 20_000  # nodes in x for a part of the loss, which has no such transform
MOST_ROWS = 8_000  # of nodes in x, where a bound on |M| alone is at stake
DIRECTIONS = ("remove", "add")
SQRT_2 = sqrt(2)


class PoissonGaussianLoss(PrivacyLoss):
    """L for Gaussian noise on a Poisson sample: the record whose presence is in question joins with probability q.

    With h(x) = 1 - q + q e**(mu x - mu**2 / 2), the likelihood ratio of (1 - q) N(0, 1) + q N(mu, 1) to N(0, 1):
    "remove" is the pair (mixture, N(0, 1)), L = log h(x) with x from the mixture, at least log(1 - q);
    "add" is the pair (N(0, 1), mixture), L = -log h(x) with x from N(0, 1), at most -log(1 - q).
    delta, tail and cdf are closed forms; moments are quadratures, right to about 1e-13 of M(Re t). Where one would need more
    than 400,000 nodes (orders far beyond use), the moment is an upper bound.

    q = 1 and mu = 0 or q = 0 give the plain `GaussianLoss`, and mu = inf a `DiscreteLoss`, instead of this class.

    Parameters
    ----------
    q : probability with which a record is in the sample.
    mu : distance of the centers in standard deviations, sensitivity / sigma.
    direction : "remove" or "add".

    References
    ----------
    Balle, Barthe and Gaboardi (2018), advanced joint convexity: delta = q delta_G(log(1 + (e**epsilon - 1) / q)).

    >>> round(PoissonGaussianLoss(0.1, 1.0, "remove").delta(1.0), 15)
    0.000207121486021
    """

    _whole = True  # nothing was cut off

    def __new__(cls, q: float, mu: float, direction: str = "remove") -> PrivacyLoss:
        q, mu = scalar("q", probability("q", q)), scalar("mu", nonnegative("mu", mu))
        if not isinstance(direction, str) or direction not in DIRECTIONS:
            raise fail("direction", direction, "'remove' or 'add'")
        mu = np.inf if mu > 1e150 else mu  # as good as infinite: half its square is no float
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
        edge = log1p(-self.q)
        self.minimum, self.maximum = (edge, np.inf) if direction == "remove" else (-np.inf, -edge)
        self._cumulants: dict[bytes, FloatArray] = {}
        self._shared: SharedNodes | None = None
        self._orders: dict[float, list[Orders]] = {}
        self._nodes: dict[tuple[float, float], tuple[np.ndarray, FloatArray]] = {}

    def __getnewargs__(self) -> tuple:
        return self.q, self.mu, self.direction

    def _key(self) -> tuple:
        return self.q, self.mu, self.direction

    @cached_property
    def _inner(self) -> GaussianLoss:
        return GaussianLoss(self.mu)

    @property
    def _remove(self) -> bool:
        return self.direction == "remove"

    def _inner_loss(self, loss: FloatArray) -> FloatArray:
        """log R, where log(1 - q + q R) = loss; -inf at and below the edge log(1 - q)."""
        edge = log1p(-self.q)
        inside = np.maximum(loss, edge)
        near = np.asarray(inside < 1.0)
        with np.errstate(divide="ignore"):
            change = np.asarray(np.expm1(np.minimum(inside, 1.0)) / self.q)
            inner = np.asarray(np.log1p(np.maximum(change, -1.0)))
            low = change < -0.5  # R = (1 - q) (e**(loss - edge) - 1) / q
            if low.any():
                inner[low] = edge - log(self.q) + np.log(np.expm1(np.asarray(inside)[low] - edge))
        if not near.all():
            far = inside[~near]
            inner[~near] = far - np.log(self.q) + np.log1p((self.q - 1) * np.exp(-far))
        return inner

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

    def _shift(self, epsilon: FloatArray) -> FloatArray:
        return 8 * UNIT * (np.abs(epsilon) - log1p(-self.q) - (log(self.q) if self._remove else 0.0))

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

    def _quadrature(self, c: float, y: float) -> Orders:
        return Orders(self.q, self.mu, self._remove, c, y)

    def _at(self, c: float, y: float = 0.0) -> Orders:
        """The coarsest quadrature for real part c that is fine enough for imaginary parts up to y."""
        if len(self._orders) > 40:
            self._orders.clear()
        kept = self._orders.setdefault(c, [])
        fine = [orders for orders in kept if orders.y >= y]
        if not fine or (fine[0].y > 1.5 * y > 0 and fine[0].count > 1000):
            generous = 2 ** (ceil(2 * log2(y)) / 2) if y > 0 else 0.0  # so that the next line with this c may use it too
            fine = [self._quadrature(c, generous)]
            kept[:] = sorted([*kept, *fine], key=lambda orders: orders.y)
        return fine[0]

    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        t = np.asarray(t)
        values = np.empty(t.shape, t.dtype if t.dtype.kind == "c" else float)
        for c in np.unique(np.real(t)):
            here = np.real(t) == c
            if np.isinf(c):
                values[here] = -np.inf if c < 0 and not self._remove else np.inf
                continue
            y = np.abs(np.imag(t[here]))
            if self._plain_power(c):
                z = c + 1j * y
                value = (z + 1) * np.log(self.q) + z * (z + 1) * self.mu**2 / 2
            else:
                orders = self._at(float(c), float(y.max()))
                if orders.count == MOST_NODES and np.all(y == 0):
                    value = cumulants(self.q, self.mu, self._remove, np.array([abs(c)]))[:1] if c > 0 else np.full(1, np.nan)
                else:
                    value = orders.ready().on_line(y)[0]
            if t.dtype.kind == "c":
                values[here] = np.where(np.imag(t[here]) < 0, np.conj(value), value)
            else:
                values[here] = value.real
        return values

    def _plain_power(self, c: float) -> bool:
        """Whether h**(c + 1) is (q R)**(c + 1) to all digits wherever it counts: where R is huge, at very large orders."""
        power = c + 1
        return self._remove and power > 1 and np.log(self.q) + self.mu * (power * self.mu - 10 - self.mu / 2) > 45 + np.log(power)

    def _cumulant(self, t: FloatArray) -> FloatArray:
        key = t.tobytes()  # orders come from few fixed grids
        if key not in self._cumulants:
            self._cumulants[key] = cumulants(self.q, self.mu, self._remove, t)
        return self._cumulants[key]

    def _cumulant_above(self, t: FloatArray) -> FloatArray:
        most, shared = max(t.tolist()), self._shared
        if shared is None or not most <= shared.most <= 8 * most:
            shared = self._shared = SharedNodes(self.q, self.mu, self._remove, most)
        return cumulants(self.q, self.mu, self._remove, t) if shared.too_many else shared.cumulants(t)

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        key = float(z[0].real), float(z[1].imag)
        value, error = self._nodes.get(key, ((), ()))
        if len(value) >= len(z):
            return value[: len(z)], error[: len(z)]
        orders = self._at(key[0], float(z[-1].imag))
        # The transform's error grows like |z|**2 and is raised to the power: it is for few copies.
        if self._whole and len(z) > FEW_NODES and len(z) * orders.count > MOST_WORK * (1 if copies < MANY_COPIES else 30):
            return moments_from_delta(self, z, seen=40.0 if self._fine else 26.0)
        if not self._whole and orders.count > MOST_KEPT:
            raise TooSteep
        if len(self._nodes) > 40:
            self._nodes.clear()
        self._nodes[key] = orders.ready().on_grid(key[1], len(z))
        return self._nodes[key]

    def _expect(self, c: float, y: float) -> None:
        self._at(c, y)

    def _tilted_delta(self, l: FloatArray, tilt: FloatArray) -> tuple[FloatArray, FloatArray]:
        """e**tilt delta(l), and a bound on its rounding error but for that of the tilt. l rising, inside the range of the loss.

        Both terms of the hockey stick carry the same normal density: it is A phi(v) (m(v) - m(v + mu)) with Mills' ratio m,
        A = q or 1 - (1 - q) e**l, and v = x - mu or -x for the output x with this loss.
        """
        inner = np.maximum(self._inner_loss(l if self._remove else -l), -60 * self.mu - self.mu**2)  # below, all is 0 or sure
        x = inner / self.mu + self.mu / 2
        v = x - self.mu if self._remove else -x
        sure = int(np.searchsorted(v, -36.0 - self.mu))  # up to here both tails are certain, and delta = 1 - e**l
        left = np.exp(tilt[:sure]) * -np.expm1(np.minimum(l[:sure], 0.0))
        v, l, tilt, inner = v[sure:], l[sure:], tilt[sure:], inner[sure:]
        near = np.maximum(v, -36.0)  # to the left this tail is certain
        size = np.exp(tilt - near * near / 2) * erfcx(near / SQRT_2) / 2
        other = np.exp(tilt - v * v / 2) * erfcx((v + self.mu) / SQRT_2) / 2
        scale = self.q if self._remove else -np.expm1(np.minimum(l - self.maximum, 0.0))
        # v is off by the rounding of `inner`, and delta, which the best v makes largest, hardly feels that.
        error = size * scale * (60 + 4 * (near * near + self.mu**2 + np.abs(inner) + np.abs(l)))
        if not self._remove:
            error += size * 4 * (np.abs(l) + self.maximum)  # of A, where l is close to the largest loss
        return np.concatenate([left, scale * (size - other)]), UNIT * np.concatenate([8 * left, error])

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        made = [orders for orders in self._orders.get(c, []) if orders.is_ready]
        orders = made[-1] if made else self._at(c).ready()  # the finest there is
        if copies >= MANY_COPIES or not self._whole:  # far enough up that the variance alone tells where the power dies
            spread = sqrt(float(orders.p @ np.square(orders.loss - orders.p @ orders.loss)))
            reach = 10 / (spread * sqrt(copies))
            while (found := copies * orders.log_carried()) > drop and orders.y < 100 * reach and orders.count < MOST_ROWS:
                further = orders.y * min(max(sqrt(1.1 * drop / min(found, -1e-3)), 1.5), 8)  # the logarithm falls like -y**2
                orders = self._at(c, max(further, reach)).ready()
            if found <= drop:
                bound, far = orders.log_modulus_near(y), int(np.searchsorted(y, 4 * orders.y))
                if far < len(y):
                    bound[far:] = np.minimum(bound[far:], orders.log_modulus(y[far:]))
                return bound
        far = orders.log_modulus(y)
        return far if orders.y == 0 else np.minimum(far, orders.log_modulus_near(y))

    def mean(self) -> float:
        return self._at(0.0).ready().mean()

    @property
    def swapped(self) -> PoissonGaussianLoss:
        other = object.__new__(PoissonGaussianLoss)  # q and mu are checked
        other.__init__(self.q, self.mu, "add" if self._remove else "remove")
        return other


def poisson_sampled_loss(loss: PrivacyLoss, q: float, direction: str = "remove") -> PrivacyLoss:
    """The loss of a mechanism run on a Poisson sample, when its own pair has the given loss. Exact for that pair.

    `loss` is that of (with the record, without it), P against Q. "remove" is the pair ((1 - q) Q + q P, Q), "add" its swap:
    L = log(1 - q + q e**l). Gaussian, Laplace and finitely-valued losses only; others raise ValueError.

    Parameters
    ----------
    q : probability with which a record is in the sample, independently of the others.
    direction : "remove" or "add".

    >>> response = DiscreteLoss.from_probabilities([0.75, 0.25], [0.25, 0.75])
    >>> round(poisson_sampled_loss(response, 0.01).maximum, 12) == round(float(np.log1p(0.01 * 2)), 12)
    True
    """
    q = scalar("q", probability("q", q))
    if isinstance(loss, GaussianLoss):
        return PoissonGaussianLoss(q, loss.mu, direction)
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise fail("direction", direction, "'remove' or 'add'")
    laplace = isinstance(loss, LaplaceLoss) and (loss.bound <= LARGEST_LAPLACE or np.isinf(loss.bound))
    if not laplace and not isinstance(loss, DiscreteLoss):
        raise fail("loss", loss, f"Gaussian, finitely-valued, or Laplace with a largest loss of at most {LARGEST_LAPLACE:g}: no "
                   "other sampled loss has certified moments here")
    if q == 0 or loss.maximum == 0:
        return GaussianLoss(0.0)
    if q == 1:
        return loss if direction == "remove" else loss.swapped
    if laplace:
        from dpnotes.privacy_loss._sampled_laplace import PoissonLaplaceLoss

        return PoissonLaplaceLoss(q, loss.bound, direction) if loss.bound < np.inf else PoissonGaussianLoss(q, np.inf, direction)
    # Where P has no mass the mixture has (1 - q) of Q's; where Q has none, q of P's.
    mixed = np.where(loss.losses < 1, np.log1p(q * np.expm1(np.minimum(loss.losses, 1.0))),
                     np.logaddexp(np.log1p(-q), np.log(q) + loss.losses))
    losses = np.append(mixed, np.log1p(-q))
    with np.errstate(divide="ignore"):
        log_q = np.append(loss.log_masses - loss.losses, np.log(loss._other_mass))
    sampled = DiscreteLoss(losses, log_q + losses, q * loss.infinity_mass, 0.0)
    return sampled if direction == "remove" else sampled.swapped
