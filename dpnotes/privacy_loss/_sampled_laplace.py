"""The loss of Laplace noise on a Poisson sample: two atoms and a density between them."""

from __future__ import annotations

from math import log

import numpy as np

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, LaplaceLoss
from dpnotes.privacy_loss._sampled import PoissonGaussianLoss
from dpnotes.privacy_loss._special import UNIT, log1mexp, logsumexp

POINTS = 16  # of Gauss and Legendre in each panel
TURN, WIDTH, FORGOTTEN = 10.0, 0.5, 50.0  # most of |z| times the loss, and of the inner loss, in a panel; e**-50 is left out
ELLIPSES = np.array([1.5, 2.0, 3.0, 4.0, 5.0, 6.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(POINTS)


class PoissonLaplaceLoss(PrivacyLoss):
    """L for Laplace noise of scale 1 at distance `bound` on a Poisson sample. Both ends are atoms. Exact.

    With l the Laplace loss and S = log(1 - q + q e**l), "remove" is the pair (mixture, Q) and L = S under the mixture, "add" is
    its swap and L = -S under Q. Under Q, l has the atoms 1/2 at -bound and e**-bound / 2 at bound, and the density
    e**(-(l + bound) / 2) / 4 between. delta, tail, cdf and quantile are closed forms; moments are E_Q[e**((z + 1) S)] and
    E_Q[e**(-z S)], by Gauss and Legendre's rule with the error bound of an ellipse free of singularities (the nearest lie
    pi away from the real axis).

    Made by `poisson_sampled_loss`, which decides the limits (q = 0 or 1, bound = 0 or inf).

    References
    ----------
    Balle, Barthe and Gaboardi (2018), advanced joint convexity; Trefethen (2013), Approximation Theory and Approximation
    Practice, Theorem 19.3, for the rule's error.

    >>> loss = PoissonLaplaceLoss(0.1, 1.0, "remove")
    >>> round(loss.maximum, 12), round(loss.delta(0.1), 12)
    (0.15856507874, 0.013121830886)
    """

    _most_nodes = 2**12

    def __init__(self, q: float, bound: float, direction: str) -> None:
        self.q, self.bound, self.direction = float(q), float(bound), direction
        self._inner = LaplaceLoss(self.bound)
        self.infinity_mass = 0.0
        ends = self._outer(np.array([-self.bound, self.bound]))
        self.minimum, self.maximum = (float(v) for v in (ends if self._remove else -ends[::-1]))
        self._kept: dict[tuple[float, float, float], tuple[DiscreteLoss, float]] = {}

    def _key(self) -> tuple:
        return self.q, self.bound, self.direction

    _inner_loss = PoissonGaussianLoss._inner_loss  # of S, for q > 0

    @property
    def _remove(self) -> bool:
        return self.direction == "remove"

    def _outer(self, l: FloatArray) -> FloatArray:
        """S where the inner loss is l."""
        near = np.log1p(self.q * np.expm1(np.minimum(l, 1.0)))
        return np.where(l < 1, near, np.logaddexp(np.log1p(-self.q), np.log(self.q) + l))

    def _log_delta(self, epsilon: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            if self._remove:
                value = np.log(self.q) + self._inner._log_delta(self._inner_loss(epsilon))
                value = np.where(epsilon <= self.minimum, log1mexp(np.minimum(epsilon, 0.0)), value)
                return np.where(epsilon >= self.maximum, -np.inf, value)
            inside = np.minimum(epsilon, self.maximum)
            value = log1mexp(inside + np.log1p(-self.q)) + self._inner._log_delta(-self._inner_loss(-inside))
        return np.where(epsilon >= self.maximum, -np.inf, value)

    def _shift(self, epsilon: FloatArray) -> FloatArray:
        far = self.bound - log(self.q) if self._remove else 0.0
        return 8 * UNIT * (np.abs(epsilon) + abs(self.minimum) + abs(self.maximum) + far)

    def _tails(self, l: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P[inner loss > l] and Q[inner loss > l] for l from -bound on, below bound."""
        return 1 - 0.5 * np.exp((l - self.bound) / 2), 0.5 * np.exp(-(l + self.bound) / 2)

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(np.where(loss < self.minimum, 1.0, np.where(loss >= self.maximum, 0.0, self._above(loss))))

    def _above(self, loss: FloatArray) -> FloatArray:
        l = np.clip(self._inner_loss(loss if self._remove else -loss), -self.bound, self.bound)
        p, q = self._tails(l)
        # -S > loss is S < -loss
        return (1 - self.q) * q + self.q * p if self._remove else 1 - q

    def _cdf(self, loss: FloatArray) -> FloatArray:
        return np.where(loss < self.minimum, 0.0, np.where(loss >= self.maximum, 1.0, 1 - self._above(loss)))

    def _quantile(self, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            if not self._remove:
                return -self._outer(np.clip(-self.bound - 2 * np.log(2 * u), -self.bound, self.bound))
            # a quadratic in e**(l / 2): a w**2 + b w - c = 0
            a, b, c = self.q / 2, (1 - self.q - u) * np.exp(self.bound / 2), (1 - self.q) / 2
            root = np.hypot(b, 2 * np.sqrt(a * c))
            w = np.where(b > 0, 2 * c / np.where(b > 0, b + root, 1.0), (root - b) / (2 * a))
            return self._outer(np.clip(2 * np.log(w), -self.bound, self.bound))

    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self._quantile(rng.random(n))

    def _quadrature(self, low: float, high: float, y: float) -> tuple[DiscreteLoss, float]:
        """A finite law with the same moments at z = c + iv, low <= c <= high, |v| <= y, and the log of a bound on its error."""
        key = low, high, y
        if key in self._kept:
            return self._kept[key]
        size = max(abs(low), abs(high)) + 1 + y
        # Far orders see one end only.
        reach = (FORGOTTEN + self.bound) / max(low, -high, 1e-300)
        first, last = max(self.minimum, self.maximum - reach if low > 0 else -np.inf), min(self.maximum, self.minimum + reach
                                                                                        if high < 0 else np.inf)
        whole = np.array([first == self.minimum, last == self.maximum])
        first, last, whole = (first, last, whole) if self._remove else (-last, -first, whole[::-1])
        ends = np.clip(self._inner_loss(np.array([first, last])), -self.bound, self.bound)
        ends = np.where(whole, [-self.bound, self.bound], ends)  # close to an edge the inner loss has lost digits
        edges = np.unique(np.concatenate([
            np.clip(self._inner_loss(np.linspace(first, last, int(size * (last - first) / TURN) + 2)[1:-1]), *ends),
            np.linspace(*ends, int((ends[1] - ends[0]) / WIDTH) + 2)]))
        middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        l = (middle[:, None] + half[:, None] * _NODES).ravel()
        log_q = (np.log(half)[:, None] + np.log(_WEIGHTS)).ravel() - (l + self.bound) / 2 - np.log(4)
        l = np.concatenate([[-self.bound], l, [self.bound]])
        log_q, s = np.concatenate([[-np.log(2)], log_q, [-np.log(2) - self.bound]]), self._outer(l)
        made = DiscreteLoss(s, log_q + s, 0.0, 0.0) if self._remove else DiscreteLoss(-s, log_q, 0.0, 0.0)
        made.loss_error = UNIT * (8 - log(self.q) + self.bound) * float(np.max(np.abs(s)))
        if len(self._kept) > 20:
            self._kept.clear()
        self._kept[key] = made, max(self._log_missed(middle, half, c, y) for c in (low, high))
        return self._kept[key]

    def _log_missed(self, middle: FloatArray, half: FloatArray, c: float, y: float) -> float:
        """log of the rule's error: the panels' sum of the least, over some ellipses, of the largest modulus there."""
        power = c + 1 if self._remove else -c
        wide, high = (half[:, None] * (ELLIPSES + sign / ELLIPSES) / 2 for sign in (1, -1))
        high = np.minimum(high, 1.55)
        left, right = (self.q * np.exp(middle[:, None] + sign * wide) for sign in (-1, 1))
        turn = np.arctan2(right * np.sin(high), 1 - self.q + right * np.cos(high))
        base = np.log(1 - self.q + (right if power > 0 else left * np.cos(high)))
        most = power * base + y * turn - (middle[:, None] - wide + self.bound) / 2 - np.log(4)
        most = np.where(half[:, None] * (ELLIPSES - 1 / ELLIPSES) / 2 < 1.55, most, np.inf)
        rule = np.log(64 / 15) + np.log(half)[:, None] - 2 * (POINTS - 1) * np.log(ELLIPSES) - np.log(1 - ELLIPSES**-2.0)
        return float(logsumexp(np.min(most + rule, axis=1)))

    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        t = np.asarray(t)
        values = np.zeros(t.shape, t.dtype if t.dtype.kind == "c" else float)
        c, y = np.real(t), np.abs(np.imag(t))
        with np.errstate(divide="ignore"):
            blocks = np.sign(c) * (1000 + np.floor(np.log2(np.abs(c)) / 3))  # orders of like size share their nodes
        blocks = np.where((c == 0) & (y > 0), 0.5, np.where(c == 0, 0.0, blocks))
        for block in np.unique(blocks[blocks != 0]):
            here = blocks == block
            made, _ = self._quadrature(float(c[here].min()), float(c[here].max()), float(y[here].max()))
            values[here] = made._moment(t[here])[0]
        return values

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        made, missed = self._quadrature(float(z[0].real), float(z[0].real), float(z[-1].imag))
        value, error = made._on_line(z, copies)
        missed = np.logaddexp(missed, value[0].real - FORGOTTEN + 2 - np.log1p(-self.q))  # rule, and what was left out
        return value, error + np.exp(np.minimum(missed - value.real, 700.0))

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        """The atoms, and twice the variation of the density times e**(cL), whose logarithm is convex, over y."""
        l, power = np.array([-self.bound, self.bound]), c + 1 if self._remove else -c
        s = self._outer(l)
        ends = logsumexp(power * s - np.log(2) - (l + self.bound) / 2)
        density = logsumexp((power + 1) * s - (l + self.bound) / 2 - l - np.log(4 * self.q))
        falling = np.logaddexp(ends, np.log(2) + density - np.log(y))
        return np.minimum(falling, self._log_mgf(np.array([c]))[0])

    def _log_top(self) -> float:
        return -np.log(2) + (self.maximum - self.bound if self._remove else 0.0)

    def mean(self) -> float:
        return self._quadrature(0.0, 0.0, 0.0)[0].mean()

    @property
    def swapped(self) -> PoissonLaplaceLoss:
        return PoissonLaplaceLoss(self.q, self.bound, "add" if self._remove else "remove")
