"""delta of a sum of independent losses from its moments, with a bound on every error.

For any c > 0 the hockey stick of a loss L with M(z) = E[e**(z L)] is the line integral over z = c + iy

    delta(epsilon) = (1/pi) Re int_0^inf M(z) e**(-z epsilon) / (z (z + 1)) dy.

The trapezoid rule with step H = 2 pi / P gives, exactly, sum over k of e**(c k P) delta(epsilon + k P): by Poisson's
formula its error is the k != 0 part. Every term is positive, so the rule never falls below delta, and Chernoff's bound on
the terms says how far above it is. What else can go wrong is bounded too, and added to both sides:

* the rest of the integral beyond the last node, by a bound on |M| that each loss supplies (`_modulus`);
* the error of each M, which each loss supplies (`_on_line`), raised to the number of copies;
* the rounding of this sum.

Where |M| does not fall (losses with atoms), a Gaussian pair with a tiny mu = s is composed on top. That can only raise
delta, so it keeps the upper bound. For a lower one, 2 delta_s - delta_ls <= delta with l = 2 + s**2: the convex order
between the factors of the likelihood ratio reduces this to C(l s, k) + (1 - k)_+ >= 2 C(s, k) for the hockey sticks
C(s, k) of the pair at e**epsilon = k, and, for k >= 1, C(s, k) is the integral over 0 < v < s of a rising function
of v times e**(-v**2 / 8), so that it is enough to have (l - 1) e**(-(l s)**2 / 8) >= 1: true for s <= 1/2. The case
k < 1 is the same by put-call parity.

References
----------
The contour: Alghamdi et al. (2023), The Saddle-Point Method in Differential Privacy. The bounds are derived here.
"""

from __future__ import annotations

from math import ceil, exp, expm1, inf, log, log1p, log2, pi, sqrt

import numpy as np

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._special import UNIT, TooSteep, log1mexp, logsumexp, turns
from dpnotes.privacy_loss._transform import log_chernoff

SHARPEST = 1e-13  # relative excess of the trapezoid rule that is asked for
MODEST = 1e-8  # and of the integral that is left out, where so much takes more than 4096 nodes
LARGEST_SMOOTHING = 0.5
FEW_NODES = 100  # for a comparison
HASTY = 2**15
ORDERS = np.exp2(np.arange(-40.0, 161.0) / 4)
STRIDE = 8  # every eighth order says where to look closer
AROUND = np.array([-16, -12, *range(-8, 9), 12, 16])
FINE = np.exp2(np.arange(-10.0, 21) / 20)
COUNTS = np.unique(np.concatenate([np.arange(8.0, 64, 4), np.exp2(np.arange(6, 17.01, 0.25)).round()]))


class Line:
    """The integrand on one line Re z = c, at the nodes i j H, for parts that are given as (loss, copies)."""

    def __init__(self, parts, c: float, period: float, count: int, smoothing: float) -> None:
        self.c, self.period, self.smoothing = c, period, smoothing
        self.y = (2 * np.pi / period) * np.arange(count + 1)
        z = c + 1j * self.y
        log_m, relative = np.zeros(len(z), complex), np.zeros(len(z))
        for loss, k in parts:
            value, error = loss._on_line(z, k)
            log_m += k * value
            # k copies raise a relative error e to (1 + e)**k - 1; k * value and the running sum round as well.
            relative += k * np.log1p(error) + UNIT * (2 * np.abs(k * value) + np.abs(log_m))
        self.level = float(log_m[0].real)  # of M(c); everything below is relative to it
        log_m -= self.level
        # |M| is largest on the axis: a value that says otherwise is drawn back, which takes it no further from the truth.
        bad = ~np.isfinite(log_m)
        log_m[bad], relative[bad] = 0.0, np.inf
        excess = np.maximum(log_m.real - min(relative[0], 600.0), 0.0)
        log_m -= excess
        relative += excess
        self.z, self.log_m, self.relative = z, log_m, relative
        self._terms: dict[tuple[float, bool], tuple] = {}
        self._last: tuple = (None, None)

    def surround(self, t: FloatArray, k: FloatArray, modulus: float) -> Line:
        """Take along what the bounds need: log M at real orders t, and log of a bound on |M| beyond the last node."""
        above = t > self.c * (1 + 1e-9)
        self.t, self.k, self.modulus = t[above], k[above], modulus
        gap = (self.t - self.c) * self.period
        self.fall, self.chernoff = -gap - log1mexp(-gap), log_chernoff(self.t)
        return self

    def log_excess(self, epsilon: float, smoothing: float, log_mass: float, tail: bool) -> float:
        """log of a bound on the trapezoid rule's excess over the exact value."""
        decay = self.c * self.period
        height = self.k + self.fall - self.t * epsilon
        if not tail:
            height += self.chernoff
        if smoothing:
            height += smoothing**2 / 2 * self.t * (self.t + 1)
        right = float(height.min(initial=np.inf))
        left = log_mass - decay - log(-expm1(-decay))
        return max(left, right) + log1p(exp(-abs(left - right)))

    def terms(self, smoothing: float, tail: bool):
        """Trapezoid terms without e**(-iy epsilon), relative to e**level, their derivative, and a bound on their summed error."""
        key = (smoothing, tail)
        if key not in self._terms:
            kernel = self.z if tail else self.z * (self.z + 1)
            extra = smoothing**2 / 2 * 1j * self.y * (2 * self.c + 1 + 1j * self.y) if smoothing else np.zeros(1)
            g = (2 / self.period) * np.exp(self.log_m + extra) / kernel
            g[0] /= 2
            size = np.abs(g)
            error = (size * (np.expm1(np.minimum(self.relative, 600.0)) + UNIT * (8 + np.abs(extra)))).sum()
            total = float(size.sum())
            kept = size > 1e-17 / len(g) * total  # the others move into the error
            error = float(error) * (1 + 1e-9) + float(size[~kept].sum()) + UNIT * (40 + 2 * len(g)) * total
            y, g = self.y[kept], g[kept]
            self._terms[key] = np.array((g, g * self.z[kept])), y, total, float(size[kept] @ y), error
        return self._terms[key]

    def value(self, epsilon: float, smoothing: float, tail: bool = False) -> tuple[float, float, float, float]:
        """(sum, its error, its derivative in epsilon, log of the factor to multiply them by)."""
        key = epsilon, smoothing, tail
        if key == self._last[0]:
            return self._last[1]
        g, y, size, moment, error = self.terms(smoothing, tail)
        turned = 1 + turns(-epsilon / 2 * y) if len(y) > 200 else np.exp(-1j * epsilon * y)
        total, slope = (g @ turned).real.tolist()
        log_factor = self.level + smoothing**2 / 2 * self.c * (self.c + 1) - self.c * epsilon
        error += UNIT * (2 * abs(epsilon) * moment + 4 * size * (abs(self.level) + self.c * abs(epsilon) + 1))
        self._last = key, (total, error, -slope, log_factor)
        return self._last[1]


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf


class Inversion:
    """Certified readings of the finite part of a sum: delta and tail on both sides, epsilon on both sides.

    parts : list of (loss, copies); each loss supplies `_cumulant(t)` for real t > 0, `_on_line(z)` and `_modulus(c, y)`.
    log_mass : log of the probability that the sum is finite.
    hasty : raise TooSteep where more than `HASTY` nodes were needed, because there is another way.
    """

    def __init__(self, parts, log_mass: float = 0.0, hasty: bool = False) -> None:
        self.parts, self.log_mass, self.hasty = parts, log_mass, hasty
        self.sharpest = SHARPEST
        self.line: Line | None = None
        self._coarse: FloatArray | None = None
        self._near: dict[object, tuple[FloatArray, FloatArray]] = {}
        most = min(loss._most_nodes for loss, _ in parts)
        self.counts = COUNTS[min(most, HASTY if hasty else most) >= COUNTS]

    def cumulant(self, t: FloatArray) -> FloatArray:
        """log M(t), rounded up."""
        total = np.zeros(len(t))
        for loss, k in self.parts:
            value = loss._cumulant(t)
            total += k * value + 1e-14 * k * np.abs(value)
        return total

    # Choosing the line.
    def _orders(self, objective) -> tuple[FloatArray, FloatArray]:
        """The orders around the one where `objective(t, K)` is least. A fixed grid, so that what a loss keeps is used again."""
        best = STRIDE * int(objective(*self.coarse).argmin())
        if best not in self._near:
            near = best + AROUND
            t = ORDERS[near[(near >= 0) & (near < len(ORDERS))]]
            k = self.cumulant(t)
            keep = np.isfinite(k)
            self._near[best] = t[keep], k[keep]
        return self._near[best]

    def orders_at(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """The orders around the one that is best for delta(epsilon), and log M there."""
        return self._closer(*self._orders(lambda t, k: k - t * epsilon + log_chernoff(t)), epsilon)

    def _closer(self, t: FloatArray, k: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """More orders where Chernoff's bound is least, if there log M turns up like a wall between two of them."""
        place = int((k - t * epsilon + log_chernoff(t)).argmin())
        if not (2 <= place < len(t) - 4 and k[place + 2] > 8 * k[place] and (t[place + 1] - t[place]) * epsilon > 10):
            return t, k
        between = t[place] * FINE
        if (key := ("closer", t[place])) not in self._near:
            self._near[key] = between, self.cumulant(between)
        left, right = t < between[0] * 0.99, t > between[-1] * 1.01
        return tuple(np.concatenate([old[left], new, old[right]]) for old, new in ((t, between), (k, self._near[key][1])))

    @property
    def coarse(self) -> tuple[FloatArray, FloatArray]:
        """Orders far apart, and log M there."""
        if self._coarse is None:
            k = self.cumulant(ORDERS[::STRIDE])
            self._coarse = np.where(np.isnan(k), inf, k)
        return ORDERS[::STRIDE], self._coarse

    def _choose(self, epsilon: float, log_value: float, t: FloatArray, k: FloatArray) -> tuple:
        """The line c with the shortest period P whose excess is the fraction `sharpest` of e**log_value; the orders looked at."""
        need = -log_value - log(self.sharpest)
        for again in (True, False):
            height = k - t * epsilon + log_chernoff(t)
            gap = t - t[:, None]
            right = np.divide(height + need, gap, out=np.full(gap.shape, inf), where=gap > 1e-3 * t[:, None]).min(axis=1)
            period, lowest = np.maximum(need / t, right), float(height.min())
            # Far from the saddle point the terms cancel: allow three digits of that.
            cost = np.where(height > max(log_value, lowest) + 7, inf, period * (1 + 0.3 * (height - lowest)))
            best = int(cost.argmin())
            if not again or right[best] < 1.5 * need / t[best] or len(t) < 5 or t[min(best + 1, len(t) - 1)] < 1.1 * t[best]:
                break
            # A wall of rare large losses, where log M turns up steeply: look closer.
            low, high = t[max(best - 1, 0)], t[min(best + 3, len(t) - 1)]
            key = float(low), float(high)
            if key not in self._near:
                between = np.geomspace(low, high, 34)[1:-1]
                self._near[key] = between, self.cumulant(between)
            order = np.argsort(t := np.append(t, self._near[key][0]))
            t, k = t[order], np.append(k, self._near[key][1])[order]
            keep = np.isfinite(k) & np.append(np.diff(t) > 0, True)
            t, k = t[keep], k[keep]
        # few values of c and P: nodes serve again
        return float(t[best]), 2 ** (ceil(8 * log2(period[best] * 1.0001)) / 8), t, k

    def _reach(self, c: float, period: float, t: FloatArray, k: FloatArray) -> float:
        """A guess how far up |M(c + iy)| counts, from the curvature of log M: 25 standard deviations, and some nodes."""
        place = min(max(int(np.searchsorted(t, 0.7 * c)), 1), len(t) - 2)  # on this side of a wall
        (t0, t1, t2), (k0, k1, k2) = t[place - 1 : place + 2].tolist(), k[place - 1 : place + 2].tolist()
        curvature = 2 * ((k2 - k1) / (t2 - t1) - (k1 - k0) / (t1 - t0)) / (t2 - t0)
        node = 2 * pi / period
        return min(max(25 / sqrt(max(curvature, 1e-300)), 16 * node), 500 * node)

    def _modulus(self, c: float, y: FloatArray, drop: float = -38.0) -> FloatArray:
        """log of a bound on |M(c + iv)| for all v >= y, which falls in y; y in rising order. No need to know more than `drop`."""
        total = np.zeros(len(y))
        for loss, k in self.parts:
            bound = loss._modulus(c, y, k, drop)
            total += k * bound + 1e-14 * k * np.abs(bound)
        return total

    def _build(self, epsilon: float, log_value: float, t: FloatArray, k: FloatArray) -> None:
        """A line on which a value near e**log_value at `epsilon` is resolved to the relative error `sharpest`, if possible."""
        c, period, t, k = self._choose(epsilon, log_value, t, k)
        reach = self._reach(c, period, t, k)
        for loss, _ in self.parts:
            loss._expect(c, reach)
        few = int(np.searchsorted(self.counts, 512))
        least = self.counts[0] * (2 * pi / period)
        drop = log(self.sharpest * pi * least) - 1 + c * epsilon + log_value - float(k[np.searchsorted(t, c)])
        for counts in (self.counts[:few], self.counts[few - 1 :]):  # most need few
            y = counts * (2 * np.pi / period)
            modulus = self._modulus(c, y, drop)
            left = modulus - np.log(np.pi * y) - c * epsilon - log_value  # log of the rest of the integral over the value
            place = int(np.searchsorted(-left, -np.log(self.sharpest)))
            if place < len(counts):
                break
        if self.hasty and left[-1] > np.log(MODEST):
            raise TooSteep
        last, smoothing = len(counts) - 1, 0.0
        if place > last and left[last] > np.log(1e4 * self.sharpest):  # |M| does not fall: add the least Gaussian that suffices
            smoothing = min(float(np.sqrt(2 * (left[last] - np.log(self.sharpest))) / y[last]), LARGEST_SMOOTHING)
        elif counts[min(place, last)] > 2**12:
            place = int(np.searchsorted(-left, -np.log(MODEST)))
        place = min(place, last)
        self.line = Line(self.parts, c, period, int(counts[place]), smoothing)
        self.line.surround(t, k, float(modulus[place])).reach = reach

    # Reading the present line.
    def _log_rest(self, epsilon: float, smoothing: float, tail: bool) -> float:
        """log of a bound on the integral beyond the last node."""
        line, last = self.line, float(self.line.y[-1])
        start = smoothing**2 / 2 * line.c * (line.c + 1) - line.c * epsilon
        if not tail:  # 1/|z (z + 1)| < 1/y**2, and the nodes beyond are below their integral
            return line.modulus + start - smoothing**2 / 2 * last * last - log(pi * last)
        shells = last * np.exp2(np.arange(64.0))
        bound = self._modulus(line.c, shells) + start - smoothing**2 / 2 * shells**2
        # 1/|z| < 1/y: shell by shell; a bound that has not died after 64 doublings gives nothing
        return float(logsumexp(bound + np.log(np.log(2) / np.pi + 1))) if bound[-1] < -700 else np.inf

    def _reading(self, epsilon: float, smoothing: float, tail: bool) -> tuple[float, float, float, float]:
        """(lower, upper) for the composition with the smoothing pair, relative to e**factor; the factor; d log / d epsilon."""
        total, error, slope, factor = self.line.value(epsilon, smoothing, tail)
        error += exp(min(self._log_rest(epsilon, smoothing, tail) - factor, 700.0))
        excess = exp(min(self.line.log_excess(epsilon, smoothing, self.log_mass, tail) - factor, 700.0))
        return total - error - excess, total + error, factor, slope / total if total else 0.0

    def bounds(self, epsilon: float, tail: bool = False) -> tuple[float, float, float]:
        """(lower, upper) for the log of delta or of the tail probability, and the slope of the former in epsilon."""
        s = self.line.smoothing
        low, high, factor, slope = self._reading(epsilon, s, tail)
        if s:
            if tail:
                return -np.inf, 0.0, slope
            _, wide, wide_factor, _ = self._reading(epsilon, (2 + s * s) * s, False)
            low = 2 * low - wide * np.exp(wide_factor - factor) * (1 + 1e-15)
        return _log(low) + factor, _log(high) + factor if high > 0 else inf, slope  # delta is positive: else this is no number

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) around log delta(epsilon) of the finite part."""
        t, k = self.orders_at(epsilon)
        chernoff = float((k - t * epsilon + log_chernoff(t)).min())
        lower, upper, estimate = -np.inf, min(chernoff, self.log_mass), chernoff - 3.0
        for _ in range(4):
            self._build(epsilon, estimate, t, k)
            low, high, _ = self.bounds(epsilon)
            lower, upper = max(lower, low), min(upper, high)
            if upper - lower < max(1e-11, 100 * self.sharpest) or high > estimate - 2:
                break
            estimate = high
        return lower, upper

    def log_tail_bounds(self, loss: float) -> tuple[float, float]:
        """(lower, upper) around log P[L > loss; L finite], for loss of either sign.

        From the line of delta with the kernel 1/z where |M| falls fast enough. Else from delta itself, which is convex in
        r = e**epsilon with slope -Q[L > epsilon], so that difference quotients on either side bracket the second term of
        P[L > epsilon] = delta(epsilon) + r Q[L > epsilon].
        """
        low, high = self.log_delta_bounds(loss)
        if not self.line.smoothing:
            direct = self.bounds(loss, tail=True)[:2]
            if direct[1] - direct[0] < 1e-9:
                return direct
        lower, upper = low, 0.0  # the tail is never below delta
        for share in (0.03, 3e-3, 3e-4, 3e-5):  # of r
            near, far = self.log_delta_bounds(loss + np.log1p(-share)), self.log_delta_bounds(loss + np.log1p(share))
            rise = np.exp(near[1]) - np.exp(low)
            upper = min(upper, float(np.log(np.exp(high) + rise / share)))
            fall = np.exp(low) - np.exp(far[1])
            if fall > 0:
                lower = max(lower, float(np.log(np.exp(low) + fall / share)))
        return lower, upper

    def stays_below(self, epsilon: float, log_delta: float, line: Line | None) -> bool:
        """Whether log delta(epsilon) <= log_delta is proved cheaply: by Chernoff's bound, or by few nodes on another sum's line.

        The trapezoid rule is never below delta, whatever the line and the step: False says nothing, True is certain.
        """
        if line is None or line.smoothing or len(line.y) > FEW_NODES:
            t, k = self.coarse
            return bool((k - t * epsilon + log_chernoff(t)).min() <= log_delta)
        for loss, _ in self.parts:
            loss._expect(line.c, line.reach)
        self.line = Line(self.parts, line.c, line.period, len(line.y) - 1, 0.0)
        self.line.reach = line.reach
        total, error, _, factor = self.line.value(epsilon, 0.0)
        room = exp(min(log_delta - factor, 700.0)) * (1 - 1e-12) - total - error
        if room <= 0:
            return False
        rest = log(room) + factor  # what the integral beyond the last node may be
        drop = rest + line.c * epsilon + log(pi * line.y[-1]) - self.line.level
        self.line.modulus = float(self._modulus(line.c, line.y[-1:], drop)[0])
        return self._log_rest(epsilon, 0.0, False) <= rest

    def epsilon_bounds(self, log_delta: float, slack: float) -> tuple[float, float]:
        """(lower, upper) around the smallest epsilon >= 0 with log delta(epsilon) <= log_delta +- slack, for the finite part."""
        t, k = self._orders(lambda t, k: (k + log_chernoff(t) - log_delta) / t)
        upper = float(((k + log_chernoff(t) - log_delta + slack) / t).min())
        orders = len(t)
        t, k = self._closer(t, k, upper)
        if len(t) > orders:
            upper = float(((k + log_chernoff(t) - log_delta + slack) / t).min())
        lower, epsilon, width = 0.0, upper, np.inf
        for _ in range(4):
            if upper <= 0:
                return 0.0, 0.0
            try:
                self._build(epsilon, log_delta, t, k)
            except TooSteep:
                if width == np.inf:
                    raise
                break
            epsilon = self._newton(epsilon, log_delta)
            low, high, slope = self.bounds(epsilon)
            lower = max(lower, self._step(epsilon, log_delta + slack, low, slope, 0))
            upper = min(upper, self._step(epsilon, log_delta - slack, high, slope, 1))
            enough = 1e-9 if len(self.line.y) <= 4097 else 1e-6  # more digits would take many times as long
            if upper - lower < enough * upper or upper - lower > 0.5 * width:
                break
            width, self.counts = upper - lower, COUNTS[4 * self.counts[-1] >= COUNTS]
            for loss, _ in self.parts:
                loss._fine = True
        return lower, upper

    def chernoff(self, epsilon: float) -> float:
        """Chernoff's bound on log delta(epsilon)."""
        t, k = self.orders_at(epsilon)
        return min(float(np.min(k - t * epsilon + log_chernoff(t))), self.log_mass)

    def chernoff_epsilon(self, log_delta: float) -> float:
        """An epsilon that is enough at `log_delta`, by Chernoff's bound."""
        t, k = self._orders(lambda t, k: (k + log_chernoff(t) - log_delta) / t)
        return max(float(np.min((k + log_chernoff(t) - log_delta) / t)), 0.0) * (1 + 1e-14)

    def _newton(self, epsilon: float, log_delta: float) -> float:
        """Where the trapezoid sum equals the target; no bound, only a good place to try."""
        low, high = -1.0, inf
        for _ in range(80):
            total, error, slope, factor = self.line.value(epsilon, self.line.smoothing)
            if total <= 2 * error:  # far to the right the sum is all rounding error
                epsilon /= 1.5
                continue
            if slope >= 0:
                break
            gap = log(total) + factor - log_delta
            low, high = (epsilon, high) if gap > 0 else (low, epsilon)
            move = gap * total / slope
            new = max(epsilon - move, 0.0)
            if abs(move) <= 1e-11 * epsilon or (epsilon == 0 and gap <= 0):
                break
            # between atoms log delta is no parabola: halve where Newton leaves what is known
            epsilon = new if low < new < high or high == inf else (max(low, 0.0) + high) / 2
        return epsilon

    def _step(self, epsilon: float, log_delta: float, value: float, slope: float, side: int) -> float:
        """From `epsilon` and a bound there to where the bound of that side meets the target: proved below it, or above it."""
        if not (slope < 0 and np.isfinite(value)):
            return inf if side else -inf
        epsilon -= (value - log_delta) / slope
        step = (abs(value - log_delta) * 1e-3 + 1e-15) / -slope + 4e-16 * epsilon
        for _ in range(40):
            if not np.isfinite(epsilon):
                break
            epsilon = epsilon + step if side else epsilon - step
            if epsilon <= 0 and side == 0:
                return 0.0
            value = self.bounds(max(epsilon, 0.0))[side]
            if (value <= log_delta) if side else (value > log_delta):
                return max(epsilon, 0.0)
            step *= 2
        return inf if side else -inf
