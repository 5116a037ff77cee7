"""The privacy loss of the discrete Gaussian, at every sigma from far below 1 to beyond 2**62."""

from __future__ import annotations

import numpy as np

from dpnotes import noise
from dpnotes._validate import FloatArray, count, positive, scalar
from dpnotes.privacy_loss._atoms import line_moments
from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._special import LOG_SQRT_2PI, _legendre

_UNIT = 2.0**-53
_WIDE = 1000.0  # from this sigma on, sums over the whole numbers become integrals with Euler and Maclaurin's corrections
_STEEP = 0.02   # and below this fall of the logarithm from one whole number to the next; the first term left out is then 2e-15


class DiscreteGaussianLoss(PrivacyLoss):
    """L for two discrete Gaussians on the whole numbers, `shift` apart. Exact up to rounding; the same both ways.

    With Y discrete Gaussian, L = shift (Y + shift / 2) / sigma**2. It takes values on a lattice and is unbounded. The mean
    is shift**2 / (2 sigma**2), as for the Gaussian; so is every Rényi divergence of whole order, and the others are smaller.

    Parameters
    ----------
    sigma : the parameter of both laws, positive; their standard deviation is a little smaller.
    shift : the distance of their centers, a whole number, at least 1.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy, section 2.

    >>> round(DiscreteGaussianLoss(0.5**0.5).delta(1.0), 12)
    0.189658529428
    """

    def __init__(self, sigma: float, shift: int = 1) -> None:
        self.sigma, self.shift = scalar("sigma", positive("sigma", sigma)), count("shift", shift, 1)
        self.variance = self.sigma**2
        self.step = self.shift / self.variance
        self.infinity_mass, self.minimum, self.maximum = 0.0, -np.inf, np.inf
        y = np.arange(-40, 41) if self.sigma < 3 else np.zeros(1)
        sum_to_one = np.log(np.sum(np.exp(-(y / self.sigma) ** 2 / 2)))
        self._log_z = float(sum_to_one if self.sigma < 3 else LOG_SQRT_2PI + np.log(self.sigma))  # Poisson: off by e**-177

    def mean(self) -> float:
        return self.step * self.shift / 2

    @property
    def swapped(self) -> DiscreteGaussianLoss:
        return self

    def _key(self) -> tuple:
        return self.sigma, self.shift

    # Sums from the whole number m upwards.
    def _log_sum(self, m: float, gap: float | None = None) -> float:
        """log of the sum over y >= m of P(y) w(y - m), with w = 1, or with w(u) = 1 - e**(-step (gap + u))."""
        start = max(m, -np.ceil(12 * self.sigma))  # what lies below is less than e**-70 of the sum
        slope = start / self.variance
        reach = max(-start, 0.0) + min(9.5 * self.sigma, 45 / max(slope, 1e-300))
        decay = 1.0 if gap is None else np.exp(-self.step * (gap + start - m))

        def terms(u):
            weight = 1.0 if gap is None else -np.expm1(-self.step * (gap + start - m + u))
            return np.exp(-slope * u - (u / self.sigma) ** 2 / 2) * weight

        def smooth(term, *parts):  # integral + term(0)/2 - term'(0)/12 + term'''(0)/720, of parts factor * e**(-rate u - ...)
            nodes, weights = _legendre()
            integral = sum(np.sum(weights * term(reach / 8 * (nodes + i))) for i in range(8)) * reach / 8
            first = sum(-factor * rate for factor, rate in parts)
            third = sum(factor * (3 * rate / self.variance - rate**3) for factor, rate in parts)
            return integral + term(0.0) / 2 - first / 12 + third / 720

        steep = slope + (0.0 if gap is None else self.step)
        if self.sigma <= _WIDE or abs(slope) > _STEEP:
            total = np.sum(terms(np.arange(int(reach) + 2)))
        elif abs(steep) <= _STEEP:
            total = smooth(terms, (1.0, slope), *([] if gap is None else [(-decay, steep)]))
        else:  # only the second part is steep: its sum is short
            u = np.arange(int(min(reach, 45 / steep)) + 2)
            second = decay * np.sum(np.exp(-steep * u - (u / self.sigma) ** 2 / 2))
            total = smooth(lambda u: np.exp(-slope * u - (u / self.sigma) ** 2 / 2), (1.0, slope)) - second
        return float(np.log(total) - (start / self.sigma) ** 2 / 2 - self._log_z)

    def _log_above(self, m: float) -> float:
        """log P[Y >= m]."""
        if np.isinf(m):
            return -np.inf if m > 0 else 0.0
        return self._log_sum(m) if m > 0 else float(np.log1p(-np.exp(self._log_sum(1 - m))))

    def _place(self, loss: float) -> float:
        """The largest whole y with loss(y) <= loss; values within rounding of a lattice point count as on it."""
        y = loss / self.step - self.shift / 2
        return np.floor(y + 1e-12 * (1 + abs(y))) if np.isfinite(y) else y

    def _log_delta(self, epsilon: FloatArray) -> FloatArray:
        return np.array([self._one_log_delta(e) for e in epsilon.ravel().tolist()]).reshape(epsilon.shape)

    def _one_log_delta(self, epsilon: float) -> float:
        if epsilon < 0:  # the pair looks the same from both sides
            rest = self._one_log_delta(-epsilon) + epsilon
            return float(np.log(-np.expm1(epsilon) + np.exp(rest)))
        crossing = epsilon / self.step - self.shift / 2
        return self._log_sum(np.ceil(crossing), np.ceil(crossing) - crossing) if np.isfinite(crossing) else -np.inf

    def _log_tail(self, loss: FloatArray) -> FloatArray:
        return np.array([self._log_above(self._place(x) + 1) for x in loss.ravel().tolist()]).reshape(loss.shape)

    def _cdf(self, loss: FloatArray) -> FloatArray:
        # P[Y <= y] = P[Y >= -y]
        return np.array([np.exp(self._log_above(-self._place(x))) for x in loss.ravel().tolist()]).reshape(loss.shape)

    def _quantile(self, u: FloatArray) -> FloatArray:
        return np.array([self._one_quantile(v) for v in u.ravel().tolist()]).reshape(u.shape)

    def _one_quantile(self, u: float) -> float:
        if u in (0.0, 1.0):
            return np.inf if u else -np.inf
        low, high = -int(40 * self.sigma) - 40, int(40 * self.sigma) + 40
        while high - low > 1:  # P[Y <= low] < u <= P[Y <= high]
            middle = (low + high) // 2
            low, high = (low, middle) if np.exp(self._log_above(-middle)) >= u else (middle, high)
        return self.step * (high + self.shift / 2)

    def _sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.step * (noise.discrete_gaussian(self.sigma, n, rng=rng).astype(float) + self.shift / 2)

    # M(t): e**(t (t + 1) shift**2 / (2 sigma**2)) theta(t shift) / theta(0), theta(x) = sum of e**-(y - x)**2 / (2 sigma**2).
    def _log_mgf(self, t: np.ndarray) -> np.ndarray:
        t = np.asarray(t)
        if t.dtype.kind == "c":
            return self._moment(t)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            gaussian = np.where(np.isinf(t), np.inf, t * (t + 1) * self.mean())
        x = np.where(np.isfinite(t), t, 0.0) * self.shift
        if self.sigma < 0.3:
            value = self._moment((x / self.shift).astype(complex))[0].real
            return np.where(np.isinf(t), np.inf, np.where(x == 0, 0.0, value))
        # Poisson's formula, with q = e**-2(pi sigma)**2:
        # theta(x) / theta(0) - 1 = -4 sum q**(k**2) sin(pi k x)**2 / (1 + 2 sum q**(k**2))
        k = np.arange(1, 9)
        weights = np.exp(-2 * (np.pi * self.sigma * k) ** 2)
        waves = np.sin(np.pi * k * np.remainder(x, 1.0)[..., None]) ** 2
        return gaussian + np.log1p(-4 * (waves @ weights) / (1 + 2 * weights.sum()))

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        if self.sigma >= 10:
            return self._moment(z)
        level = self._moment(z[:1])[0][0].real
        y = np.round(z[0].real * self.shift) + np.arange(-int(10 * self.sigma) - 2, int(10 * self.sigma) + 3)
        return line_moments(self.step * (y + self.shift / 2), -((y / self.sigma) ** 2) / 2 - self._log_z, z, self._moment, level)

    def _lattice(self) -> tuple[float, float, float] | None:
        return (self.step * self.shift / 2, self.step, 0.0) if self.sigma < 1e4 else None

    def _moment(self, z: np.ndarray) -> tuple[np.ndarray, FloatArray]:
        """log M(z) at complex z and a bound on the relative error of each M(z)."""
        if self.sigma < 10:  # the sum itself, around the whole number where its terms are largest
            y = np.round(z.real * self.shift)[..., None] + np.arange(-int(10 * self.sigma) - 2, int(10 * self.sigma) + 3)
            parts = [z[..., None] * self.step * (y + self.shift / 2), -((y / self.sigma) ** 2) / 2 - self._log_z]
        else:  # its Fourier series, of which one term is alive (two half way between)
            period = 2 * np.pi * self.variance
            k = -np.round(z.imag * self.shift / period)[..., None] + np.arange(-1, 2)
            parts = [(z * (z + 1) * self.mean())[..., None], 2j * np.pi * k * z[..., None] * self.shift, -np.pi * period * k**2]
        exponents = sum(parts)
        top = np.max(exponents.real, axis=-1, keepdims=True)
        terms = np.exp(exponents - top)
        total = np.sum(terms, axis=-1)
        size = np.sum(np.abs(terms) * (20 + sum(4 * np.abs(part) for part in parts)), axis=-1)
        return np.log(total) + top[..., 0], _UNIT * size / np.abs(total)
