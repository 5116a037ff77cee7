"""Moments of the sampled Gaussian's loss by the trapezoid rule, with a bound on the error.

All are E[h(x)**power] for x standard normal, h = 1 - q + q e**(mu x - mu**2 / 2) and power = z + 1 ("remove") or -z
("add"). On the real line the rule with step s errs, for an integrand analytic in |Im x| <= a, by at most the two integrals
of its modulus along Im x = +-a, over e**(2 pi a / s) - 1 (Trefethen and Weideman 2014, Theorem 5.1). With mu a <= pi / 2,
arg h(x + ia) lies in [0, mu a] and |h(x + ia)| has a simple form, so these integrals are bounded by a sum over cells:
value at the node times e**(half a cell * the largest slope of the logarithm).

Moving the whole integral to Im x = b instead bounds |M(c + iv)| for all v >= y at once: there the integrand carries the
factor e**(-v arg h(x + ib)), which falls in v.

Close to the real axis the shifts say little, but the variance does: |M(c + iv) / M(c)|**2 = E[cos(v D)] for the difference
D of two independent losses under the tilted law, and 1 - cos u >= u**2/2 - u**4/24 and >= 0. Using the first only where
both losses are within a of their mean, 1 - E[cos(v D)] >= v**2 S_2 / 2 - v**4 S_4 / 24 with the truncated moments
S_n = E[D**n; both near], for every a: a small a keeps rare large losses from spoiling a large v. The right side is concave
in v**2, so that between two points it is at least the smaller of its values there. And 1 - cos(n u) <= n**2 (1 - cos u)
carries what the shifts know at n v back to v.
"""

from __future__ import annotations

from math import ceil, cos, floor, frexp, ldexp, log, log1p, log2, pi, sqrt

import numpy as np
from scipy.special import expit

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._special import LOG_SQRT_2PI, SMALLEST, UNIT, exp_minus_line, log1mexp, logsumexp, turns

DIGITS = 50.0  # the rule aims at a relative error of e**-50 = 2e-22
MOST_RETRIED = 200_000  # nodes in x
MOST_NODES = 400_000
BLOCK = 64  # terms that are added up at once
STRIPS = np.array([1.0, 0.5, 0.2, 0.06, 0.01, 1e-3, 1e-4])  # tried for the rule, as fractions of the widest
SHIFTS = np.array([0.6, 0.45, 0.3, 0.2, 0.1, 0.05])  # tried for the bound on |M|, as fractions of the widest strip


def log_mixture(x: FloatArray, q: float, mu: float) -> FloatArray:
    """log(1 - q + q e**(mu x - mu**2 / 2)), to full relative accuracy near 0."""
    exponent = mu * x - mu * mu / 2
    if q < 0.5 and np.max(exponent, initial=0.0) < 700:  # nothing cancels
        return np.log1p(q * np.expm1(exponent))
    with np.errstate(over="ignore"):
        change = q * np.expm1(exponent)
    small = np.abs(change) < 0.5
    return np.where(small, np.log1p(np.where(small, change, 0.0)), np.logaddexp(np.log1p(-q), np.log(q) + exponent))


def _share(x: FloatArray, q: float, mu: float) -> FloatArray:
    """w / h(x) with w = q e**(mu x - mu**2 / 2): the part of the record in question in the mixture."""
    return expit(mu * x - mu * mu / 2 + np.log(q) - np.log1p(-q))


def _turned(share: FloatArray, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log(|h(x + ia)| / h(x)) and arg h(x + ia), for angle = mu a."""
    cosine = np.cos(angle)
    log_size = 0.5 * np.log1p(-2 * share * (1 - share) * (1 - cosine))
    return log_size, np.arctan2(share * np.sin(angle), 1 - share + share * cosine)


def _log_one_plus(real: FloatArray, imaginary: FloatArray) -> np.ndarray:
    """log(1 + w), to full relative accuracy near w = 0."""
    change = 2 * real + real**2 + imaginary**2
    tiny = np.log(np.hypot(1 + real, imaginary) + 1e-300)
    log_size = np.where(change > -0.9, 0.5 * np.log1p(np.maximum(change, -0.9)), tiny)
    return log_size + 1j * np.arctan2(imaginary, 1 + real)


def _weighted(log_weight: FloatArray, u: FloatArray) -> FloatArray:
    """e**log_weight (e**u - 1 - u), where u may be too large for e**u."""
    huge = u > 300
    near = np.exp(log_weight) * exp_minus_line(np.where(huge, 0.0, u))
    return np.where(huge, np.exp(np.where(huge, log_weight + u, -np.inf)), near)


class Orders:
    """The quadrature for one real part c of z, fine enough for imaginary parts up to y; `error` bounds what it misses."""

    blur = 1.0  # along Im x = a the modulus of the weight grows by at most e**(blur a**2 / 2)

    def __init__(self, q: float, mu: float, remove: bool, c: float, y: float) -> None:
        self.q, self.mu, self.remove, self.c, self.y = q, mu, remove, c, y
        self.power = c + 1 if remove else -c
        self.widest = min(np.pi / (2 * mu), 9.5, 8 / np.sqrt(self.blur - 1 + 1e-9))
        self.low, self.high = self._window()
        self.a, step = self._step(self.low, self.high)
        self.count = int(min(np.ceil((self.high - self.low) / step), MOST_NODES))
        self.step = (self.high - self.low) / self.count
        self.is_ready, self._shifted, self._near = False, None, None
        self._anchors: dict[int, FloatArray] = {}

    def ready(self) -> Orders:
        """With nodes and weights: they are made on first use, since a caller may only want to know how many."""
        while not self.is_ready:
            digits, exponent = frexp(self.step)  # few digits: then its multiples, the nodes, are exact
            self.step = ldexp(round(digits * 2**24), exponent - 24)
            first = np.floor(self.low / self.step)
            x = self.x = self.step * (first + np.arange(np.ceil(self.high / self.step) - first + 1))
            log_h = log_mixture(x, self.q, self.mu)
            self.loss = log_h if self.remove else -log_h
            log_weight = (np.log(self.step) - LOG_SQRT_2PI) - x * x / 2 + (log_h if self.remove else 0.0) + self._log_kept(x)
            self.share = _share(x, self.q, self.mu)
            # the roundings of log(w); log(q) is not taken where h is near 1
            exponent = 3 * np.abs(self.mu * x) + 2 * self.mu**2 - 2 * np.log(self.q) * (np.abs(log_h) > 0.3)
            self.loss_error = UNIT * (9 * np.abs(log_h) + self.share * exponent)
            self._tilt(log_weight, x)
            # The slope bound in each cell can be much too large; it shrinks with the cell.
            self.is_ready = self.error < 1e-12 or 2 * len(x) > MOST_RETRIED
            self.step /= 1 if self.is_ready else 2
            self.count = len(x)
        return self

    def _log_kept(self, x: FloatArray) -> FloatArray | float:
        """log of the part of the weight that is kept (`_rare`)."""
        return 0.0

    def _missing(self) -> tuple[float, float] | None:
        """What is not kept: P's mass of it, and that less Q's. None where there is no closed form."""
        return 0.0, 0.0

    def _window(self) -> tuple[float, float]:
        """Where h**power e**(-x**2 / 2) is above e**-50 of its integral: around 0 and, for powers above 0, power * mu.

        By convexity h**k <= 1 - q + q R**k for k >= 1, and R**k e**(-x**2 / 2) is a Gaussian around k mu; h <= 1 + h covers
        powers between 0 and 1; for negative powers h >= 1 - q.
        """
        k, edge = self.power, np.log1p(-self.q)
        digits = DIGITS + 12 * (self.c < 0)
        if k <= 0:
            reach = np.sqrt(2 * (digits + k * edge))
            return -reach, reach + self.mu  # h itself, which `_tilt` subtracts, is a Gaussian around mu to the right
        top = max(k, 1.0)
        growth = np.log(self.q) + top * (top - 1) * self.mu**2 / 2
        whole = max(0.0, (top - 1) * np.log(self.q) + growth)  # a lower bound of log M(c): M >= 1 and h >= q R
        reach = np.sqrt(2 * digits)
        high = top * self.mu + np.sqrt(2 * max(digits + growth - whole, 0.0)) if digits + growth > whole else 0.0
        return -reach, max(high, reach)

    def _step(self, low: float, high: float) -> tuple[float, float]:
        """The strip and the largest step that reach e**-50; a guess, which `_strip` then turns into a bound."""
        x = np.linspace(low, high, 65)
        if x[1] - x[0] > 1:  # do not step over where the two parts of the mixture meet
            meet = -np.log(self.q) / self.mu + np.linspace(-20, 20, 81) / min(self.mu, 1.0)
            x = np.sort(np.concatenate([x, meet[(low < meet) & (meet < high)]]))
        base = -x * x / 2 + self.power * log_mixture(x, self.q, self.mu) + self._log_kept(x)
        a = self.widest * STRIPS
        size, argument = _turned(_share(x, self.q, self.mu), self.mu * a[:, None])
        rise = np.max(base + self.power * size + self.y * argument, axis=1) - np.max(base)
        if self.power > 0 and self.blur == 1:  # outside the window: e**-DIGITS that may grow by e**(y mu a)
            rise = np.maximum(rise, self.y * self.mu * a - DIGITS + 3)
        step = np.minimum(2 * np.pi * a / (DIGITS + 2 + self.blur * a * a / 2 + rise), (high - low) / 16)
        if self.blur > 1:  # the upright pieces at the ends do not shrink with the step
            ends = np.max((base + self.y * argument)[:, [0, -1]], axis=1) + self.blur * a * a / 2 - np.max(base)
            step = np.where(ends < -DIGITS - 3, step, step * 1e-6)
        best = int(np.argmax(step))
        return float(a[best]), float(step[best])

    def _tilt(self, log_weight: FloatArray, x: FloatArray) -> None:
        c, loss = self.c, self.loss
        log_terms = log_weight + c * loss
        level = float(logsumexp(log_terms))
        log_p = log_terms - level
        self.p = np.exp(log_p)
        relative = UNIT * (12 + 1.5 * x * x + 2 * np.abs(log_p)) + (abs(c) + 1) * self.loss_error
        rounding = float(self.p @ relative) + UNIT * (40 + 2 * abs(level))
        if -0.5 < level < 0.7 and self._missing() is not None:
            # M = 1 + E[e**(cL) - 1 - cL] + c E[e**-L - 1 + L] under P: no cancellation for c > 0
            power, inverse = _weighted(log_weight, np.stack([c * loss, -loss]))
            missing, more = self._missing()
            level = float(np.log1p(np.sum(power + c * inverse) - missing - c * more))
            # a change of the loss by e changes the terms by c e (e**(cL) - 1) and c e (1 - e**-L)
            weight = np.exp(log_weight)
            moved = np.abs(np.exp(log_weight + c * loss) - weight) + np.abs(np.exp(log_weight - loss) - weight)
            size = power + abs(c) * inverse
            rounding = float(np.sum(size * (UNIT * (30 + 1.5 * x * x) + self.loss_error) + abs(c) * moved * self.loss_error))
            rounding = (rounding + 16 * UNIT * (missing + abs(c) * more)) / np.exp(level)
        self.level = level
        self.spread = relative
        self.log_p = log_p
        self.strip, strip = self._strips(log_p, np.array([self.widest, self.a]), np.array([0.0, self.y]))
        self._first, self._last = float(self.share[0]), float(self.share[-1])
        self.outside = self._outside()
        decay = 2 * np.pi * self.a / self.step
        missed = np.logaddexp(strip, self._outside_turned(self.a, self.y)) - decay - log1mexp(-decay)
        # the same for the subtracted 1 and h, whose integrals along the strip are at most e**(a**2 / 2)
        line = np.log(2 + abs(c)) + self.blur * self.a**2 / 2 - decay - min(level, 0.0)
        self.error = 4 * (np.exp(min(missed, 50.0)) + np.exp(min(np.logaddexp(*self.outside), 50.0)) + np.exp(line))
        if self.power <= 0:  # h beyond the window: the reach is from mu
            self.error += 4 * (1 + abs(self.c)) * self.q * np.exp(-((x[-1] - self.mu) ** 2) / 2 - min(level, 0.0))
        self.level_error = rounding + self.error
        most = max(-self.power, 0.0) * -np.log(np.cos(self.mu * self.widest / 2))
        kept = log_p + most > -69  # the rest is below 1e-24 together, turned or not
        for name in ("p", "loss", "loss_error", "spread", "share", "log_p"):
            setattr(self, name, getattr(self, name)[kept])
        self.error += 1e-24

    def _strips(self, log_p: FloatArray, a: FloatArray, y: FloatArray) -> FloatArray:
        """log of bounds on the integrals of the modulus along Im x = +-a, in the window, relative to M(c)."""
        size, argument = _turned(self.share, self.mu * a[:, None])
        with np.errstate(over="ignore"):  # the slope is |w / h(x + ia)|, anywhere in the cell
            share = np.minimum(self.share * np.exp(np.minimum(self.mu * self.step / 2 - size, 700.0)), 1.0)
        slope = np.abs(self.x) + self.step / 2 + ((abs(self.power) + y) * self.mu)[:, None] * share + self._steepest()
        return logsumexp(log_p + self.power * size + y[:, None] * argument + slope * (self.step / 2)) + self.blur * a * a / 2

    def _steepest(self) -> FloatArray | float:
        """A bound on the slope of `_log_kept` in each cell."""
        return 0.0

    def _outside(self) -> tuple[float, float]:
        """log of bounds on integral and sum of the modulus left and right of the window, relative to M(c)."""
        k, low, high = self.power, self.x[0], self.x[-1]

        def tail(distance: float) -> float:
            """log of integral plus step times sum of the normal density beyond this distance from its center."""
            return -distance * distance / 2 + np.log(self.step + 1.3) if distance > 0 else 1.0

        if k <= 0:  # |h| rises in x, from 1 - q, and falls along the upright piece at the end (`_outside_turned`)
            least = float(log_mixture(high, self.q, self.mu) + _turned(self._last, self.mu * self.a)[0])
            return k * np.log1p(-self.q) + tail(-low) - self.level, k * least + tail(high) + float(np.log1p(self.a)) - self.level
        top = max(k, 1.0)
        growth = np.log(self.q) + top * (top - 1) * self.mu**2 / 2
        left = np.logaddexp(tail(-low), growth + tail(top * self.mu - low))
        right = np.logaddexp(tail(high), growth + tail(high - top * self.mu))
        return float(left) - self.level, float(right) - self.level

    def _outside_turned(self, a: FloatArray, y: float) -> FloatArray:
        """log of a bound on the integral of the modulus along Im x = +-a, outside the window, relative to M(c).

        For powers below 0 the line ends with the window on the right, where an upright piece takes it back to the axis. There
        arg h(x + is) / s is largest at an end, so that y times it, less 2 pi s / step, plus s**2 / 2 is below a convex
        function that is 0 at s = 0 (`_outside`) and here at s = a.
        """
        size, argument = _turned(self._first, self.mu * a)  # the argument rises in x, up to mu a
        left, right = self.outside
        if self.power > 0:
            return np.logaddexp(left + y * argument, right + y * self.mu * a) + a * a / 2
        most = -self.power * -np.log(np.cos(self.mu * a / 2))  # |h(x + ia)| is smallest against h(x) at a share 1/2
        left = left + y * argument + (self.power * size if self._first < 0.4 else most)
        least, last = _turned(self._last, self.mu * a)
        right = right + self.power * (least - _turned(self._last, self.mu * self.a)[0])
        right = right + np.maximum(np.log1p(a) - np.log1p(self.a), 0.0) + y * np.maximum(self._last * self.mu * a, last)
        return np.logaddexp(left, right) + a * a / 2

    def on_line(self, y: FloatArray) -> tuple[np.ndarray, FloatArray]:
        """log M(c + iy) and a bound on the relative error of each M."""
        value, rounding = np.empty(len(y), complex), np.empty(len(y))
        drift = float(self.p @ self.loss_error) + UNIT * float(self.p @ np.abs(self.loss))
        rows = max(1, 2_000_000 // len(self.x))
        for first in range(0, len(y), rows):
            part = slice(first, first + rows)
            terms = self.p * turns(np.multiply.outer(y[part] / 2, self.loss))
            sums = terms.sum(axis=-1)
            value[part] = _log_one_plus(sums.real, sums.imag)
            rounding[part] = np.abs(terms) @ (self.spread + 36 * UNIT) + np.abs(y[part]) * drift
        return self._with_error(value, rounding)

    def on_grid(self, step: float, count: int) -> tuple[np.ndarray, FloatArray]:
        """The same at y = 0, step, 2 step, ..., where all the sums over x are one product of two matrices.

        With A = e**(ia) - 1 and B = e**(ib) - 1, e**(i (a + b)) - 1 = A B + A + B: nothing near 1 is subtracted.
        """
        n = int(np.ceil(np.sqrt(count)))
        multiples = n * np.arange(-(-count // n)), np.arange(n)
        sums, rounding = np.zeros((len(multiples[0]), n), complex), np.zeros((len(multiples[0]), n))
        # A and B are right to 12 roundings and added pairwise; A B is right to 28, added in blocks, and at most
        # (|A|**2 + |B|**2) / 2. The weights are off by `spread`.
        blocks = -(-len(self.p) // BLOCK)
        for first in range(0, len(self.p), 32 * BLOCK):
            here = slice(first, first + 32 * BLOCK)
            p, loss = self.p[here], self.loss[here]
            far, near = (turns(np.multiply.outer(one * (step / 2), loss)) for one in multiples)
            for i in range(0, len(p), BLOCK):
                sums += (p[i : i + BLOCK] * far[:, i : i + BLOCK]) @ near[:, i : i + BLOCK].T
            sums += (p * far).sum(axis=1)[:, None] + (p * near).sum(axis=1)
            once, twice = p * (self.spread[here] + UNIT * (46 + blocks / 16)), p * (UNIT / 2 * (28 + BLOCK + blocks))
            unsure = [size @ once + (size * size) @ twice for size in (np.abs(far), np.abs(near))]
            rounding += unsure[0][:, None] + unsure[1]
        drift = float(self.p @ self.loss_error) + 12 * UNIT * float(self.p @ np.abs(self.loss))
        value = _log_one_plus(sums.real.ravel()[:count], sums.imag.ravel()[:count])
        return self._with_error(value, rounding.ravel()[:count] + step * np.arange(count) * drift)

    def _with_error(self, value: np.ndarray, rounding: FloatArray) -> tuple[np.ndarray, FloatArray]:
        with np.errstate(divide="ignore", over="ignore"):
            error = (rounding + self.error) / np.exp(value.real)
        return value + self.level, error + self.level_error

    def log_modulus(self, y: FloatArray) -> FloatArray:
        """Bounds on log|M(c + iv)| for all v >= y, y rising: the best of some shifts of the line of integration in x.

        log E[e**(-y argument)] is convex in y, so that between two doublings of `self.y` a straight line is a bound, too.
        """
        if self._shifted is None:
            shifts = SHIFTS * self.widest
            size, argument = _turned(self.share, self.mu * shifts[:, None])
            decay = 2 * np.pi * (self.widest - shifts) / self.step
            missed = np.exp(np.minimum(self.strip - decay - log1mexp(-decay) + np.log(2), 50.0))
            missed += np.exp(np.minimum(self._outside_turned(shifts, 0.0), 50.0))
            self._shifted = shifts, self.power * size, argument, missed
        unit = self.y or 1.0
        first, last = floor(log2(y[0] / unit)), ceil(log2(y[-1] / unit))
        new = [j for j in range(first, last + 1) if j not in self._anchors]
        if new:
            shifts, turned, argument, missed = self._shifted
            inside = np.exp(np.maximum(turned - (unit * np.exp2(new))[:, None, None] * argument, SMALLEST)) @ self.p
            self._anchors.update(zip(new, shifts * shifts / 2 + np.log(inside * (1 + 1e-12) + missed), strict=True))
        at, lines = unit * np.exp2(np.arange(first, last + 1)), np.array([self._anchors[j] for j in range(first, last + 1)])
        place = np.minimum(np.searchsorted(at, y, "right"), len(at) - 1)
        before = np.maximum(place - 1, 0)
        part = np.where(place > 0, (y - at[before]) / np.maximum(at[place] - at[before], 1e-300), 0.0)[:, None]
        least = ((1 - part) * lines[before] + part * lines[place]).min(axis=1)
        return self.level + np.minimum(0.0, least) + 1e-15

    def _truncated(self) -> tuple[FloatArray, FloatArray]:
        """Some v up to `self.y`, and bounds on log|M(c + iu) / M(c)| for all u >= v."""
        if self._near is None:
            away = self.loss - float(self.p @ self.loss)
            order = np.argsort(np.abs(away))
            w = np.cumsum(self.p[order] * np.vander(away[order], 5, increasing=True).T, axis=1)[:, :: len(order) // 40 + 1]
            second, fourth = 2 * (w[0] * w[2] - w[1] ** 2), 2 * w[0] * w[4] - 8 * w[1] * w[3] + 6 * w[2] ** 2
            room = UNIT * 8 * (len(order) + 20)  # for the rounding: every product is at most w_0 w_2 or w_0 w_4
            second, fourth = second - room * w[0] * w[2], fourth + room * w[0] * w[4]
            n = np.array([1.0, 2, 4, 8])
            beyond = float(np.max(-np.expm1(2 * (self.log_modulus(n * self.y) - self.level)) / n**2))
            v = self.y * np.exp2(np.arange(-100.0, 1) / 8)
            square = (v * v)[:, None]
            height = square * (second / 2 - square * fourth / 24)
            between = np.max(np.minimum(height[:-1], height[1:]), axis=1)  # concave in v**2
            least = np.minimum.accumulate(np.append(between, max(beyond, 0.0))[::-1])[::-1]
            # what is bounded is the sum over the nodes, and that is off M by its roundings and `error`
            off = float(self.p @ (self.spread + self.y * self.loss_error)) + self.error
            size = np.sqrt(np.maximum(1 + UNIT * 4 * (len(self.p) + 20) - least, 0.0)) + off
            self._near = v, np.minimum(np.log(size), 0.0) + 1e-15
        return self._near

    def log_carried(self) -> float:
        """A bound on log|M(c + iv) / M(c)| for all v >= `self.y`."""
        return float(self._truncated()[1][-1]) if self.y > 0 else 0.0

    def log_modulus_near(self, y: FloatArray) -> FloatArray:
        """The same by the variance: up to `self.y` from truncated moments, beyond from what the shifts know."""
        v, bound = self._truncated()
        place = np.searchsorted(v, y, "right") - 1
        return self.level + np.where(place < 0, 0.0, bound[place])

    def mean(self) -> float:
        """E[L] = E[e**-L - 1 + L] under P; needs c = 0."""
        return float(np.sum(self.p * exp_minus_line(-self.loss))) * np.exp(self.level)


def cumulants(q: float, mu: float, remove: bool, t: FloatArray) -> FloatArray:
    """log M(t) at many real t > 0 at once, rounded up by 1e-14, for Chernoff's bound; an easy bound where that is too long."""
    power = t + 1 if remove else -t
    with np.errstate(over="ignore"):  # h**(t + 1) <= 1 - q + q R**(t + 1) by convexity, or by Minkowski; h**-t <= (1 - q)**-t
        bound = np.logaddexp(np.log1p(-q), np.log(q) + t * (t + 1) * mu * mu / 2) if remove else -t * np.log1p(-q)
        if remove:
            bound = np.minimum(bound, (t + 1) * np.logaddexp(np.log1p(-q), np.log(q) + t * mu * mu / 2))
    values = bound
    digits = DIGITS + 12
    if remove:
        reach = np.full(t.shape, np.sqrt(2 * digits))
        right = np.maximum(power, 1) * mu + np.sqrt(2 * (digits + np.maximum(-np.log(q) * t, 0)))
    else:
        reach = right = np.sqrt(2 * (digits + bound))
    step = cumulant_step(q, mu, remove, power)
    cost = (reach + right) / step
    possible = cost < max(4000, min(60_000, np.sort(cost)[len(cost) // 4]))
    if not possible.any():
        return values
    values = values.copy()
    places = np.flatnonzero(possible)
    level = np.floor(np.log2(cost[places] / cost[places].min()))
    for block in np.split(places, np.flatnonzero(np.diff(level)) + 1):  # orders of like size share their nodes
        width = step[block].min()
        x = np.arange(-reach[block].max(), right[block].max() + width, width)
        log_h = log_mixture(x, q, mu)
        loss = log_h if remove else -log_h
        log_weight = -x * x / 2 - LOG_SQRT_2PI + np.log(width) + (log_h if remove else 0.0)
        values[block] = np.minimum(logsumexp(log_weight + t[block, None] * loss) + 1e-14, bound[block])
    return values


class SharedNodes:
    """Nodes for log M at all real t up to `most`: fewer would do for small t, but making them costs more than using these."""

    def __init__(self, q: float, mu: float, remove: bool, most: float) -> None:
        self.most = most
        # The logarithm of phi h**power has a slope between -x and power mu - x: beyond 0 and power mu it falls as a normal law.
        left = right = sqrt(2 * (DIGITS + 12))
        if remove:
            right += (most + 1) * mu
        else:
            left = min(left + most * mu, sqrt(2 * (DIGITS + 12 - most * log1p(-q))))  # or by h**-most <= (1 - q)**-most
        self.size = max(left, right) ** 2
        a = min(pi / (2 * mu), 9.5) if remove else min(pi / (2 * mu), 9.5, sqrt(80 / max(most, 1.0)) / mu)  # as in cumulant_step
        width = 2 * pi * a / (DIGITS + 2 + a * a / 2 - (0.0 if remove else most * log(cos(mu * a / 2))))
        self.too_many = left + right > 100_000 * width
        if self.too_many:
            return
        x = np.arange(-left, right + width, width)
        log_h = np.log1p(q * np.expm1(mu * x - mu * mu / 2)) if q < 0.5 and mu * right < 700 else log_mixture(x, q, mu)
        x *= x
        x *= -0.5
        x += log(width) - LOG_SQRT_2PI
        self.loss, self.log_weight = (log_h, x + log_h) if remove else (-log_h, x)

    def cumulants(self, t: FloatArray) -> FloatArray:
        """log M(t), rounded up by at most 1e-9 of it (1e-10 for up to three orders), or 1e-21 (1 + t)."""
        terms = t[:, None] * self.loss
        terms += self.log_weight
        top = np.maximum.reduce(terms, axis=1)
        terms -= top[:, None]
        values = np.log(np.add.reduce(np.exp(terms, out=terms), axis=1)) + top
        values += 5e-15 + 1e-15 * self.size * np.minimum(values, 1.0)  # of exponents below size
        small = 1e-4 if len(t) <= 3 else 5e-6
        if min(values.tolist()) < small:  # M = 1 + E[e**(tL) - 1 - tL] + t E[e**-L - 1 + L]
            here = values < small
            power, inverse = (np.sum(self._excess(y), axis=-1) for y in (t[here, None] * self.loss, -self.loss))
            values[here] = np.log1p(power + t[here] * inverse) * (1 + 1e-12) + 1e-21 * (1 + t[here])
        return values

    def _excess(self, y: FloatArray) -> FloatArray:
        """The weights times e**y - 1 - y, to 1e-13."""
        weight, z, low = np.exp(self.log_weight), np.where(np.abs(y) < 0.01, y, 0.0), np.minimum(y, 1.0)
        series = z * z * (1 / 2 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120 + z / 720))))
        near = weight * np.where(z == 0, np.expm1(low) - low, series)
        return np.where(y < 1, near, np.exp(self.log_weight + y) - weight * (1 + y))


def cumulant_step(q: float, mu: float, remove: bool, power: FloatArray) -> FloatArray:
    """A step that makes the rule exact to e**-50 for each real power."""
    a = np.full(power.shape, min(np.pi / (2 * mu), 9.5))
    rise = np.zeros(power.shape)
    if not remove:  # along the strip |h(x + ia)|**-c is at most (1 - q)**-c, and h(x)**-c cos(mu a / 2)**-c
        most = np.maximum(power * np.log1p(-q), 0.0)
        a = np.where(most < 20, a, np.minimum(a, np.sqrt(80 / np.maximum(-power, 1.0)) / mu))
        rise = np.minimum(np.maximum(-power, 0.0) * -np.log(np.cos(mu * a / 2)), most)
    return 2 * np.pi * a / (DIGITS + 2 + a * a / 2 + rise)
