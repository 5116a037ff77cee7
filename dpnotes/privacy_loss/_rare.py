"""delta behind a wall of rare large losses: they are flagged, and counted in closed form.

Where few steps are ever sampled (q T small, sigma small, delta tiny), log M(t) turns up like a wall as soon as e**(t L) sees
a loss that occurs in one run of many, and the contour of `_inversion` needs orders on this side of the wall, whose period is
far longer than the epsilon asked for. Let every step of a sampled Gaussian raise a flag with probability
chi(x) = Phi((x - X) / w), a smooth step in its output x. That is drawn after the output and tells nothing, so that likelihood
ratios stay what they are, and delta(epsilon) = E[(1 - e**(epsilon - L))_+] is the sum of two parts.

* No flag. The law of the kept part of L is bounded by about the loss at X, put a little above epsilon: no wall is left, and
  its moments are integrals over x as before, with the entire weight 1 - chi. Along Im x = a its modulus grows by at most
  e**(a**2 / (2 w**2)), since |Phi(u + iv)| <= e**(v**2 / 2) Phi(u).
* Some flag. Then L > epsilon but for a sliver, so that the positive part does nothing: P[flag] - e**epsilon Q[flag], both in
  closed form. That is never too much, and too little by E[(e**(epsilon - L) - 1)_+; flag], which Markov's inequality bounds:
  (e**a - 1)_+ <= C e**(s a) for s > 1.

Where epsilon is many standard deviations of the small losses, the kept part itself is a heap of small losses and few jumps of
the size of epsilon, and no contour resolves the former. A second flag, between the two, tells them apart, and a sum over the
number n of jumps remains, with binomial coefficients, whose n-th term has the moments M_small**(T - n) M_jump**n, each with a
line of its own. M_jump dies soon, and no term but n = 0, for which Chernoff's bound is enough, needs the small losses resolved.

The integrals over x end where a smooth step has fallen below e**-60: beyond, the flag is taken as certain, which changes its
probabilities by a factor within 1e-26 of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, inf, log, log1p, sqrt

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._inversion import Inversion, TooSteep
from dpnotes.privacy_loss._sampled import PoissonGaussianLoss
from dpnotes.privacy_loss._sampled_moments import DIGITS, SHIFTS, Orders, _share, _turned, log_mixture
from dpnotes.privacy_loss._special import LOG_SQRT_2PI, UNIT, logsumexp
from dpnotes.privacy_loss._transform import log_chernoff

EDGE = 20.0  # widths of a smooth step from its middle to where it is cut off
MARGINS = np.array([0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0])
MOST_JUMPS = 40
SHARP = 1e-9  # relative excess that is asked for here
FEWER = np.unique(np.concatenate([np.arange(8.0, 64, 4), np.exp2(np.arange(6, 9.51, 0.25)).round()]))


class _KeptOrders(Orders):
    """The quadrature of a kept part: the weight carries Phi(sign (place - x) / width) for every smooth step."""

    def __init__(self, q, mu, c, y, steps) -> None:
        self.steps = steps  # (sign, place, width): sign 1 keeps what is left of the place
        self.blur = 1 + sum(width**-2 for _, _, width in steps)
        super().__init__(q, mu, True, c, y)

    def _log_kept(self, x):
        return sum(log_ndtr(sign * (place - x) / width) for sign, place, width in self.steps)

    def _missing(self) -> tuple[float, float] | None:
        if len(self.steps) > 1:
            return None
        (_, place, width), = self.steps
        return _flagged(self.q, self.mu, place, width)[:2]

    def _steepest(self):
        total = 0.0  # the slope of log Phi(u) is at most 1 + max(-u, 0)
        for sign, place, width in self.steps:
            u = sign * (place - self.x) / width
            total = total + (1 + np.maximum(-u, 0.0) + self.step / 2 / width) / width
        return total

    def _window(self):
        """The end depends on c alone, so that all of a line belongs to one measure."""
        low = min([place - 12 * width for sign, place, width in self.steps if sign < 0], default=-sqrt(2 * (DIGITS + 5)))
        falls = [(place, width) for sign, place, width in self.steps if sign > 0]
        for edge in np.arange(11.0, EDGE):
            high = min(place + edge * width for place, width in falls)
            if edge**2 / 2 > DIGITS + 10 + self.c * float(log_mixture(np.array(high), self.q, self.mu)):
                break
        else:
            high = min(place + EDGE * width for place, width in falls)
        return low, high

    def _log_at(self, x: float) -> float:
        """log of the integrand on the real line, relative to M(c)."""
        x = np.array([x])
        value = -x * x / 2 - LOG_SQRT_2PI + self.power * log_mixture(x, self.q, self.mu) + self._log_kept(x)
        return float(value[0]) - self.level

    def _outside(self):
        """log of bounds on what the ends contribute: where the window is cut, the upright pieces of the contour."""
        ends = self.x[0] - self.step / 2, self.x[-1] + self.step / 2
        left, right = (self._log_at(x) + log(2 * self.widest + 1) for x in ends)
        grown = self.blur * self.a**2 / 2 + self.y * _turned(_share(np.array(ends), self.q, self.mu), self.mu * self.a)[1]
        if any(sign < 0 for sign, _, _ in self.steps):  # upright pieces go up to Im x = a
            return left + float(grown[0]), right + float(grown[1])
        return super()._outside()[0], right + float(grown[1])

    def _outside_turned(self, a, y):
        return np.logaddexp(*self.outside) + self.blur * np.square(a) / 2

    def log_modulus(self, y: FloatArray) -> FloatArray:
        """As in `Orders`; but the line is shifted left of the last smooth step only, and comes down before it.

        There Phi is 1 to 1e-16 up to Im x = b. The sum is over cells: value at the node times e**(half a cell * the slope).
        """
        top = min(np.pi / (2 * self.mu), 9.5)
        falls = [(place, width) for sign, place, width in self.steps if sign > 0]
        rest = 1 + sum(width**-2 for sign, _, width in self.steps if sign < 0)
        x = self.step * np.round(np.arange(len(self.share_all)) + self.first)
        least = np.full(len(y), np.inf)
        whole = np.ones(len(x), bool)
        tried = [(b, rest, x + self.step < min(place - sqrt(b * b + 74 * width * width) for place, width in falls))
                 for b in SHIFTS * top / sqrt(max(1.0, rest / 4))]
        for b, growth, before in tried + [(b / sqrt(self.blur - 1), self.blur, whole) for b in (0.3, 1.0, 2.0, 4.0)]:
            if not before.any():
                continue
            size, argument = _turned(self.share_all, self.mu * b)
            share = np.minimum(self.share_all * np.exp(self.mu * self.step - size), 1.0)
            steep = (np.abs(x) + self.step + abs(self.power) * self.mu * share + self.steep_all) * self.step / 2
            log_terms = self.log_p_all + steep
            shifted = growth * b * b / 2 + log_terms[before] + self.power * size[before]
            fixed = 2 * exp(min(float(np.logaddexp(*self.outside)) + growth * b * b / 2, 50.0))
            if before is not whole:  # the upright piece and what is not shifted
                last = int(np.flatnonzero(before)[-1])
                fixed += exp(min(2 * log_terms[last] - self.log_p_all[last] + growth * b * b / 2, 700.0)) * b / self.step
                fixed += np.sum(np.exp(log_terms[~before]))
            with np.errstate(under="ignore"):
                inside = np.exp(shifted - np.multiply.outer(y, argument[before])).sum(axis=1)
            least = np.minimum(least, np.log(inside * (1 + 1e-12) + fixed))
        return self.level + np.minimum(least, 0.0) + 1e-15

    def _tilt(self, log_weight, x):
        self.share_all, self.first, self.steep_all = self.share, round(float(x[0]) / self.step), self._steepest()
        super()._tilt(log_weight, x)
        self.error += 1e-24

    def _strips(self, log_p, a, y):
        self.log_p_all = log_p
        return super()._strips(log_p, a, y)


def _flagged(q: float, mu: float, place: float, width: float) -> tuple[float, float, float]:
    """P[flag], P[flag] - Q[flag] and Q[flag] of one step."""
    spread = sqrt(1 + width * width)
    below, above = float(ndtr(-place / spread)), float(ndtr((mu - place) / spread))
    return below + q * (above - below), q * (above - below), below


class _Kept(PoissonGaussianLoss):
    """What the smooth steps keep of a sampled Gaussian's loss ("remove"): a measure of mass below 1."""

    _whole = False

    def __new__(cls, loss: PoissonGaussianLoss, steps: tuple) -> _Kept:
        return object.__new__(cls)

    def __init__(self, loss: PoissonGaussianLoss, steps) -> None:
        super().__init__(loss.q, loss.mu)
        self.steps = steps

    def _key(self):
        return self.q, self.mu, self.steps

    def _quadrature(self, c, y):
        return _KeptOrders(self.q, self.mu, c, y, self.steps)

    def _cumulant(self, t: FloatArray) -> FloatArray:
        """log M(t) for real t > 0, rounded up: the rule is exact to e**-50 since the modulus does not grow but by the blur."""
        blur = 1 + sum(width**-2 for _, _, width in self.steps)
        a = min(np.pi / (2 * self.mu), 9.5, sqrt(DIGITS / 2 / blur))
        step = 2 * np.pi * a / (DIGITS + 6 + blur * a * a / 2)
        low = min([place - 12 * width for sign, place, width in self.steps if sign < 0], default=-sqrt(2 * (DIGITS + 12)))
        high = min(place + EDGE * width for sign, place, width in self.steps if sign > 0)
        x = low + step * np.arange(np.ceil((high - low) / step) + 1)
        log_h = log_mixture(x, self.q, self.mu)
        kept = sum(log_ndtr(sign * (place - x) / width) for sign, place, width in self.steps)
        terms = -x * x / 2 - LOG_SQRT_2PI + log_h + kept + t[:, None] * log_h
        upright = blur * a * a / 2 + log(4 * a + 1)  # the contour's pieces at the ends; on the left there may be a tail instead
        left = terms[:, 0] + upright if any(sign < 0 for sign, _, _ in self.steps) else float(log_ndtr(low)) + 1.0
        ends = np.logaddexp(left, terms[:, -1] + upright)
        return np.logaddexp(logsumexp(terms) + log(step), ends) + 1e-14


def can_flag(parts) -> bool:
    """Whether there is something to flag, and nothing in the way."""
    return any(_sampled(loss) for loss, _ in parts) and all(loss.infinity_mass == 0 for loss, _ in parts)


def _sampled(loss) -> bool:
    return type(loss) is PoissonGaussianLoss and loss._remove


class _Flags:
    """The outputs of the sampled parts at which a flag becomes likely: where the loss is `cut`, a little to the right."""

    def __init__(self, parts, cut: float) -> None:
        self.parts, self.steps = parts, {}
        log_none, log_ratio, tiny = 0.0, 0.0, []  # of no flag: log under Q, and log of P over Q
        for loss, k in parts:
            if _sampled(loss):
                width = min(0.04 * max(1.0, cut) / loss.mu, 1.0)  # losses rise like e**(mu x), and like mu x where they are large
                place = float(loss._output(np.array(cut))) + 8 * width
                _, more, below = _flagged(loss.q, loss.mu, place, width)
                self.steps[loss] = place, width
                log_none += k * log1p(-below)
                log_ratio += k * log1p(-more / (1 - below))
                tiny.append(log(k) + float(log_ndtr(-place / sqrt(1 + width * width))))
        self.q_flag, self.gap = -expm1(log_none), exp(log_none) * -expm1(log_ratio)  # Q[flag], and P[flag] less that
        self.log_union = float(logsumexp(tiny))  # log Q[flag] where that is tiny

    def closed(self, epsilon: float) -> tuple[float, float]:
        """P[flag] - e**epsilon Q[flag], and a bound on its rounding error."""
        if epsilon < 1:
            drop = expm1(epsilon) * self.q_flag
        else:
            drop = exp(min(epsilon + (self.log_union if self.log_union < -40 else log(self.q_flag)), 700.0))
            drop -= self.q_flag
        return self.gap - drop, UNIT * (40 + 8 * epsilon + 20 * max(-self.log_union, 0.0)) * (self.gap + abs(drop))

    def log_sliver(self, epsilon: float) -> float:
        """log of a bound on E[(e**(epsilon - L) - 1)_+; some flag], by Markov's inequality at the best of some powers s."""
        t = np.exp2(np.arange(-2.0, 60.0))  # s - 1
        whole, flagged = np.zeros(len(t)), np.full(len(t), -inf)
        for loss, k in self.parts:
            one = loss.swapped._cumulant(t)  # E_P[e**(-s L)] = E_Q[e**((1 - s) L)]
            if loss in self.steps:
                one = np.minimum(one, -t * log1p(-loss.q))
                flagged = np.logaddexp(flagged, log(k) + _log_flagged_moment(loss, *self.steps[loss], t) - one)
            whole += k * (one + 1e-14 * np.abs(one))
        log_c = (t + 1) * np.log(t / (t + 1)) - np.log(t)
        return float(np.min(log_c + (t + 1) * epsilon + whole + flagged))

    def kept(self) -> Inversion:
        """All parts without their flagged outputs."""
        made = Inversion([(_Kept(loss, ((1, *self.steps[loss]),)) if loss in self.steps else loss, k) for loss, k in self.parts])
        made.counts, made.sharpest = FEWER, SHARP
        return made


def _log_flagged_moment(loss, place: float, width: float, t: FloatArray) -> FloatArray:
    """log of a bound on E_Q[h**-t; flag] of one step, cell by cell: h and the flag's probability rise in x."""
    x = place + width * np.linspace(-40, 40, 321)
    log_cell = np.append(np.minimum(log_ndtr(x[1:]), log_ndtr(-x[:-1])), log_ndtr(-x[-1]))
    log_cell += np.append(log_ndtr((x[1:] - place) / width), 0.0)
    log_first = log_ndtr(x[0]) + log_ndtr((x[0] - place) / width)
    return np.logaddexp(logsumexp(log_cell - t[:, None] * log_mixture(x, loss.q, loss.mu)), log_first - t * log1p(-loss.q))


def rare_log_delta_bounds(parts, epsilon: float) -> tuple[float, float]:
    """(lower, upper) around log delta at `epsilon` >= 0 of the sum of parts, given as (loss, copies); `can_flag` of them."""
    scale = epsilon + sqrt(sum(k * (loss.q**2 if _sampled(loss) else 2 * min(loss.mean(), 1e100)) for loss, k in parts))
    tried = []
    for margin in MARGINS * scale:
        flags = _Flags(parts, epsilon + margin)
        (closed, noise), sliver = flags.closed(epsilon), flags.log_sliver(epsilon)
        tried.append((sliver, closed, noise, flags))
        if closed > 0 and sliver < log(closed) - 30:
            break
    sliver, closed, noise, flags = min(tried, key=lambda one: one[0])
    floor = log(closed - noise) if closed > noise else -inf
    lower, upper = _by_jumps(flags, epsilon, floor) or _kept_bounds(flags.kept(), epsilon)
    with np.errstate(divide="ignore"):
        low = np.logaddexp(lower, np.log(max(closed - noise, 0.0)))
        high = np.logaddexp.reduce([upper, np.log(max(closed, 0.0) + noise), sliver])
    return float(low) - 1e-14, min(float(high) + 1e-14, 0.0)


def _kept_bounds(kept: Inversion, epsilon: float) -> tuple[float, float]:
    try:
        return kept.log_delta_bounds(epsilon)
    except TooSteep:
        return -inf, _chernoff(kept, epsilon)


def _chernoff(kept: Inversion, epsilon: float) -> float:
    t, k = kept.coarse
    return float(np.nanmin(k - t * epsilon + log_chernoff(t)))


def _by_jumps(flags: _Flags, epsilon: float, floor: float) -> tuple[float, float] | None:
    """Bounds for the part without a flag, by the number of jumps; None where the jumps are not rare or not apart.

    floor : log of a lower bound on delta; what is far below it needs an upper bound only.
    """
    sampled = [(loss, k) for loss, k in flags.parts if loss in flags.steps]
    others = [(loss, k) for loss, k in flags.parts if loss not in flags.steps]
    if len(sampled) > 1 or epsilon == 0:
        return None
    (loss, k), = sampled
    cut, width = float(loss._output(np.array(epsilon / 25))), min(0.15 * max(1.0, epsilon / 25) / loss.mu, 1.0)
    spread = loss.q * sqrt(k * (1 + exp(min(loss.mu**2 + float(log_ndtr(cut - 2 * loss.mu)), 600.0))))
    jump, _, _ = _flagged(loss.q, loss.mu, cut, width)
    if k * jump > 3 or epsilon < 20 * spread:
        return None
    fall = (1, *flags.steps[loss])
    small, jumps = _Kept(loss, ((1, cut, width), fall)), _Kept(loss, ((-1, cut, width), fall))
    made = Inversion([(small, k), *others])
    lower, upper, log_ways = -inf, _chernoff(made, epsilon), 0.0
    for n in range(1, min(k, MOST_JUMPS) + 1):
        log_ways += log(k - n + 1) - log(n)
        mass, floor = log_ways + n * log(jump), max(floor, lower)
        if mass < floor - 30:
            return lower, float(np.logaddexp(upper, mass + 1))  # of n or more: jumps are at least halved by each further one
        parts = [(jumps, n), *others] + [(small, k - n)] * (k > n)
        made = Inversion(parts, n * log(jump))
        made.counts, made.sharpest = FEWER, SHARP
        low, high = -inf, _chernoff(made, epsilon)
        if high + log_ways > floor - 24:
            low, high = _kept_bounds(made, epsilon)
        lower, upper = float(np.logaddexp(lower, low + log_ways)), float(np.logaddexp(upper, high + log_ways))
    return lower, (upper if n == k else float(np.logaddexp(upper, mass + 1)))


def solve_epsilon(bounds: Callable[[float], tuple[float, float]], log_delta: float, highest: float) -> tuple[float, float]:
    """(lower, upper) around the smallest epsilon >= 0 with log delta(epsilon) <= `log_delta`; `highest` is enough for sure."""
    known: dict[float, tuple[float, float]] = {}

    def gap(u: float) -> float:
        if u not in known:
            known[u] = bounds(exp(u))
        return max(known[u][1], -1e6) - log_delta

    from scipy.optimize import brentq

    top = good = log(highest)
    known[top], bad = (-inf, log_delta - 1e-9), None
    for place in top - np.array([0.3, 1, 2, 3.5, 6, 9, 13, 17, 21, 25, 30, 35, 40]):
        if gap(place) <= 0:
            good = place
        elif good < top or known[place][0] > log_delta or len(known) > 6:
            bad = place
            break
    if bad is None:
        return 0.0, exp(good)
    brentq(gap, bad, good, xtol=1e-3, rtol=1e-12, maxiter=20, disp=False)  # all it has looked at is in `known`
    for _ in range(4):  # secant steps to where the middle of the bracket meets the target
        near = sorted(known, key=lambda u: abs(sum(known[u]) / 2 - log_delta))[:2]
        values = [sum(known[u]) / 2 for u in near]
        slope = min((values[1] - values[0]) / (near[1] - near[0]), -1e-6) if np.isfinite(sum(values)) else -1.0
        step = (values[0] - log_delta) / -slope
        if not 1e-12 < abs(step) < 0.1 or abs(values[0] - log_delta) < 0.1 * (known[near[0]][1] - known[near[0]][0]):
            break
        gap(near[0] + step)
    ends = []
    for side in (0, 1):
        u = max((v for v in known if known[v][0] > log_delta), default=-inf) if side == 0 else (
            min(v for v in known if known[v][1] <= log_delta))
        trial = near[0]
        step = (abs(known[near[0]][side] - log_delta) * 1.05 + 1e-13) / -slope
        for _ in range(3):
            trial, step = (trial + step, 3 * step) if side else (trial - step, 3 * step)
            if not (bad < trial < good):
                break
            gap(trial)
            if (known[trial][1] <= log_delta) if side else (known[trial][0] > log_delta):
                u = min(u, trial) if side else max(u, trial)
                break
        ends.append(exp(u))
    return ends[0], min(ends[1], highest)
