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
from functools import lru_cache
from math import exp, expm1, inf, log, log1p, sqrt

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._sampled import PoissonGaussianLoss
from dpnotes.privacy_loss._sampled_moments import DIGITS, Orders, _log_one_plus, _share, _turned, log_mixture
from dpnotes.privacy_loss._special import LOG_SQRT_2PI, UNIT, TooSteep, log1mexp, log_gaussian_hockey_stick, logsumexp
from dpnotes.privacy_loss._transform import log_chernoff

EDGE = 20.0  # widths of a smooth step from its middle to where it is cut off
MARGINS = np.array([0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0])
JUMPS = np.array([0.35, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006])  # tried for the least jump, as fractions of epsilon
APART = 7.5  # widths
NARROW = 0.03
FEW = 20.0
POWERS = np.exp2(np.arange(-2.0, 60.0))
SHARP = 1e-9  # relative excess that is asked for here
ROOM = 40.0
TURNS = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01])
COARSE, FINE = 200, 3000
SEEN = 24.0  # e**-SEEN is not
ENOUGH = 1e-8
FEWER = np.unique(np.concatenate([np.arange(8.0, 64, 4), np.exp2(np.arange(6, 13.01, 0.25)).round()]))


class _KeptOrders(Orders):
    """The quadrature of a kept part: the weight carries Phi(sign (place - x) / width) for every smooth step."""

    def __init__(self, q, mu, c, y, steps) -> None:
        self.steps = steps  # (sign, place, width): sign 1 keeps what is left of the place
        self.blur = _blur(steps)
        super().__init__(q, mu, True, c, y)

    def _log_kept(self, x):
        return _log_kept(self.steps, x)

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
        low, high = _window(self.q, self.mu, self.steps, self.c)
        if self.y:  # even at the end the modulus grows by at most e**ROOM along the strip
            loss = float(log_mixture(np.array(high), self.q, self.mu))
            self.widest = min(self.widest, ROOM / (self.y * self.mu * min(loss, 1.0)))
        return low, high

    def _outside(self):
        """log of bounds on what the ends contribute: where the window is cut, the upright pieces of the contour."""
        ends = np.array([self.x[0] - self.step / 2, self.x[-1] + self.step / 2])
        upright = _log_terms(self.q, self.mu, self.steps, np.array([self.c]), ends)[0] - self.level + log(2 * self.widest + 1)
        upright += self.blur * self.a**2 / 2 + self.y * _turned(_share(ends, self.q, self.mu), self.mu * self.a)[1]
        return (float(upright[0]) if self.steps[0][0] < 0 else super()._outside()[0]), float(upright[1])

    def _outside_turned(self, a, y):
        return np.logaddexp(*self.outside) + self.blur * np.square(a) / 2

    def log_modulus(self, y: FloatArray) -> FloatArray:
        return np.minimum(_log_modulus(self.q, self.mu, self.steps, self.c, y, FINE), self.level + 1e-15)

    def _tilt(self, log_weight, x):
        super()._tilt(log_weight, x)
        self.error += 1e-24


def _log_kept(steps, x: FloatArray) -> FloatArray:
    return sum(log_ndtr(sign * (place - x) / width) for sign, place, width in steps)


def _blur(steps) -> float:
    """The density times all steps grows by at most e**(this a**2 / 2) on the way to Im x = a."""
    return 1 + sum(width**-2 for _, _, width in steps)


def _window(q: float, mu: float, steps, c: float) -> tuple[float, float]:
    """Where a kept part is cut off. The ends depend on c alone, so that all of a line belongs to one measure."""
    _, place, width = steps[-1]
    low = steps[0][1] - 12 * steps[0][2] if steps[0][0] < 0 else -sqrt(2 * (DIGITS + 12))
    for edge in np.arange(11.0, EDGE):
        if edge**2 / 2 > DIGITS + 10 + ROOM + c * float(log_mixture(np.array(place + edge * width), q, mu)):
            return low, place + edge * width
    return low, place + EDGE * width


def _log_terms(q: float, mu: float, steps, t: FloatArray, x: FloatArray) -> FloatArray:
    """log of the kept density times h**(t + 1), a row for every t."""
    return -x * x / 2 - LOG_SQRT_2PI + _log_kept(steps, x) + (t[:, None] + 1) * log_mixture(x, q, mu)


def _log_modulus(q: float, mu: float, steps, c: float, y: FloatArray, count: int) -> FloatArray:
    """log of a bound on |M(c + iv)| for all v >= y, by shifting the line of integration in x to Im x = b.

    There |h| and arg h rise in x, and |Phi(u + iv)| is at most e**(v**2 / 2) Phi(u) and at most 1 + e**(v**2 / 2) Phi(-u).
    The sum is over cells, each with the largest value that every factor has in it. Where the window is cut there are upright
    pieces x + is, 0 < s < b: arg h(x + is) >= s min(arg h(x + ib) / b, mu times the share), whichever way it bends, so that
    the exponent is at most a convex function of s, and largest at an end.
    """
    low, high = _window(q, mu, steps, c)
    least = np.full(len(y), inf)
    for b in TURNS * min(np.pi / (2 * mu), 9.5):
        near = [place + (b + 13 * width) * np.linspace(-1, 1, count) for _, place, width in steps]
        x = np.unique(np.clip(np.concatenate([*near, np.linspace(low, high, count), [0.0]]), low, high))
        share = _share(x, q, mu)
        size, argument = _turned(share, mu * b)
        log_h = log_mixture(x, q, mu)
        cell = np.log(np.diff(x)) + b * b / 2 - LOG_SQRT_2PI - np.minimum(np.abs(x[1:]), np.abs(x[:-1])) ** 2 / 2
        cell += (c + 1) * (log_h + size)[1:]
        for sign, place, width in steps:
            u, grown = sign * (place - x) / width, (b / width) ** 2 / 2
            up, down = np.maximum(u[1:], u[:-1]), np.minimum(u[1:], u[:-1])
            cell += np.minimum(grown + log_ndtr(up), np.logaddexp(0.0, grown + log_ndtr(-down)))
        total = logsumexp(cell - np.multiply.outer(y, argument[:-1]))
        for end in (0, -1):
            here = float(_log_terms(q, mu, steps, np.array([c]), x[[end]])[0, 0])
            if end == 0 and steps[0][0] > 0:  # the line goes on to the left
                total = np.logaddexp(total, b * b / 2 + float(log_ndtr(low)) + 1e-9)
                continue
            turned = y * min(argument[end], share[end] * mu * b)
            total = np.logaddexp(total, here + log(b) + np.maximum(0.0, _blur(steps) * b * b / 2 - turned))
        least = np.minimum(least, total + 1e-12)
    return least


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
        blur = _blur(self.steps)
        a = min(np.pi / (2 * self.mu), 9.5, sqrt(DIGITS / 2 / blur))
        step = 2 * np.pi * a / (DIGITS + 6 + blur * a * a / 2)
        low, high = _window(self.q, self.mu, self.steps, inf)
        x = low + step * np.arange(np.ceil((high - low) / step) + 1)
        terms = _log_terms(self.q, self.mu, self.steps, t, x)
        upright = blur * a * a / 2 + log(4 * a + 1)  # the contour's pieces at the ends; on the left there may be a tail instead
        left = terms[:, 0] + upright if self.steps[0][0] < 0 else float(log_ndtr(low)) + 1.0
        return np.logaddexp(logsumexp(terms) + log(step), np.logaddexp(left, terms[:, -1] + upright)) + 1e-14

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        if len(self.steps) == 1:
            return super()._modulus(c, y, copies, drop)
        return np.minimum(_log_modulus(self.q, self.mu, self.steps, c, y, COARSE), self._cumulant(np.array([c])))


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
        self._sliver: FloatArray | None = None

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
        if self._sliver is None:
            whole, flagged = np.zeros(len(POWERS)), np.full(len(POWERS), -inf)
            for loss, k in self.parts:
                one = _inverse_moments(loss)
                if loss in self.steps:
                    flagged = np.logaddexp(flagged, log(k) + _log_flagged_moment(loss, *self.steps[loss], POWERS) - one)
                whole += k * (one + 1e-14 * np.abs(one))
            self._sliver = (POWERS + 1) * np.log(POWERS / (POWERS + 1)) - np.log(POWERS) + whole + flagged
        return float(np.min(self._sliver + (POWERS + 1) * epsilon))

    def kept(self) -> Inversion:
        """All parts without their flagged outputs."""
        return _inversion([(_Kept(loss, ((1, *self.steps[loss]),)) if loss in self.steps else loss, k) for loss, k in self.parts])


@lru_cache(maxsize=32)
def _inverse_moments(loss) -> FloatArray:
    """log E_P[e**(-s L)] = log E_Q[e**((1 - s) L)], rounded up, for the powers s = 1 + POWERS."""
    one = loss.swapped._cumulant(POWERS)
    return np.minimum(one, -POWERS * log1p(-loss.q)) if _sampled(loss) else one


def _inversion(parts, log_mass: float = 0.0) -> Inversion:
    made = Inversion(parts, log_mass)
    made.counts, made.sharpest = FEWER, SHARP
    return made


def _log_flagged_moment(loss, place: float, width: float, t: FloatArray) -> FloatArray:
    """log of a bound on E_Q[h**-t; flag] of one step, cell by cell: h and the flag's probability rise in x."""
    x = place + width * np.linspace(-40, 40, 321)
    log_cell = np.append(np.minimum(log_ndtr(x[1:]), log_ndtr(-x[:-1])), log_ndtr(-x[-1]))
    log_cell += np.append(log_ndtr((x[1:] - place) / width), 0.0)
    log_first = log_ndtr(x[0]) + log_ndtr((x[0] - place) / width)
    return np.logaddexp(logsumexp(log_cell - t[:, None] * log_mixture(x, loss.q, loss.mu)), log_first - t * log1p(-loss.q))


class _Jumps:
    """M = prod (S + J)**k - prod S**k of kept parts S and J, given as (S, J, k): what one jump or more contribute, as one loss."""

    _most_nodes, _fine = 2**17, False

    def __init__(self, parts) -> None:
        self.parts = parts

    def _expect(self, c: float, y: float) -> None:
        for small, jump, _ in self.parts:
            small._expect(c, y)
            jump._expect(c, y)

    def _real(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log of prod S**k and of prod (1 + J / S)**k, where every S and J is rounded up."""
        base, more = np.zeros(len(t)), np.zeros(len(t))
        for small, jump, k in self.parts:
            s, j = small._cumulant(t), jump._cumulant(t)
            base += k * (s + 1e-14 * np.abs(s))
            more += k * np.logaddexp(0.0, j - s + 1e-14 * (np.abs(j) + np.abs(s)))
        return base, more

    def _cumulant(self, t: FloatArray) -> FloatArray:
        base, more = self._real(t)
        return base + more + log1mexp(-more) + 1e-12

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        """|prod (a + b)**k - prod a**k| <= sum of k |b| (|a| + |b|)**(k - 1) times the other factors: only J need die."""
        base, more = self._real(np.array([c]))
        fall = np.full(len(y), -inf)
        for small, jump, k in self.parts:
            whole = np.logaddexp(*(part._cumulant(np.array([c])) for part in (small, jump)))
            fall = np.logaddexp(fall, log(k) + jump._modulus(c, y) - whole)
        return base + more + fall + 1e-12

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        """By expm1 and log1p, so that few jumps are right to their own size."""
        base, more = np.zeros(len(z), complex), np.zeros(len(z), complex)
        unsure, largest, wrong, rounding = np.zeros((4, len(z)))
        for small, jump, k in self.parts:
            (s, s_error), (j, j_error) = small._on_line(z, k), jump._on_line(z)
            ratio = np.exp(j - s)
            off = np.expm1(np.minimum(np.log1p(s_error) + np.log1p(j_error), 600.0)) + UNIT * (40 + 4 * np.abs(s) + 4 * np.abs(j))
            off *= np.abs(ratio)
            one = _log_one_plus(ratio.real, ratio.imag)
            base, more = base + k * s, more + k * one
            unsure += k * np.log1p(s_error) + UNIT * 4 * (np.abs(k * s) + np.abs(base))
            size = np.abs(1 + ratio) + off  # |u**k - v**k| <= k |u - v| max(|u|, |v|)**(k - 1)
            largest += k * np.log(size)
            wrong += k * off / size
            rounding += UNIT * 8 * (np.abs(k * one) + np.abs(more))
        if more.real.max() > 600:
            raise TooSteep
        grown, turned = np.exp(more.real), 2 * np.sin(more.imag / 2) ** 2
        value = np.expm1(more.real) - grown * turned + 1j * grown * np.sin(more.imag)
        error = np.exp(np.minimum(largest, 690.0)) * (wrong + rounding) * 1.01 + UNIT * 16 * (np.abs(np.expm1(more.real)) + grown * turned)
        value = np.where(value == 0, 1e-300, value)
        unsure += np.log1p((error + UNIT * 16 * np.abs(value)) / np.abs(value))
        return base + np.log(value), np.expm1(np.minimum(unsure, 690.0))


class _Reading:
    """delta on both sides near one epsilon, where it is about e**log_delta, of parts that `can_flag`."""

    def __init__(self, parts, epsilon: float, log_delta: float) -> None:
        scale = epsilon + sqrt(sum(k * (loss.q**2 if _sampled(loss) else 2 * min(loss.mean(), 1e100)) for loss, k in parts))
        for margin in MARGINS * scale:
            self.flags = _Flags(parts, epsilon + margin)
            if self.flags.log_sliver(epsilon) < log_delta - SEEN:
                break
        self.jumpless, self.log_overlap, self.kept = None, -inf, None
        spread = float(_spread(parts, np.array([epsilon]))[0])
        for share in JUMPS[JUMPS * -np.log(JUMPS) / APART * epsilon > spread]:
            self._tell_apart(epsilon * share, epsilon)
            if self.kept is not None and self._jumpless(epsilon) < log_delta - SEEN:
                break
        else:
            self.jumpless, self.log_overlap, self.kept = None, -inf, self.flags.kept()
        t, k = self.kept._orders(lambda t, k: k - t * epsilon + log_chernoff(t))
        try:
            self.kept._build(epsilon, log_delta, t, k)
        except TooSteep:
            self.kept.line = None

    def _tell_apart(self, cut: float, epsilon: float) -> None:
        """Small losses from jumps, at `cut`, so that those near epsilon are jumps."""
        parts, others, small, masses, overlaps = [], [], [], [], []
        self.kept = None
        for loss, k in self.flags.parts:
            if loss not in self.flags.steps:
                others.append((loss, k))
                continue
            end, fall = self.flags.steps[loss]
            place, large = loss._output(np.array([cut, epsilon])).tolist()
            slope = loss.mu * float(_share(np.array(place), loss.q, loss.mu))
            width = min((large - place) / APART, NARROW * epsilon / slope, 1.0)
            masses.append(log(k) + log(_flagged(loss.q, loss.mu, place, width)[0]))
            overlaps.append(log(k) + _log_overlap(loss, place, width, end, fall))
            small.append((_Kept(loss, ((1, place, width), (1, end, fall))), k))
            parts.append((_Kept(loss, ((1, place, width),)), _Kept(loss, ((-1, place, width), (1, end, fall))), k))
        self.log_overlap = float(logsumexp(overlaps))
        if self.log_overlap < 0:
            self.jumpless = Inversion([*small, *others])
            self.kept = _inversion([(_Jumps(parts), 1), *others], min(float(logsumexp(masses)) + 1e-12, 0.0))

    def _jumpless(self, epsilon: float) -> float:
        t, k = self.jumpless._orders(lambda t, k: k - t * epsilon + log_chernoff(t))
        return float(np.min(k - t * epsilon + log_chernoff(t)))

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) around log delta at any epsilon >= 0."""
        closed, noise = self.flags.closed(epsilon)
        if self.kept.line is None:
            t, k = self.kept.coarse
            lower, upper = -inf, float(np.nanmin(k - t * epsilon + log_chernoff(t)))
        else:
            lower, upper, _ = self.kept.bounds(epsilon)
        if self.jumpless is not None:
            upper = np.logaddexp(upper, self._jumpless(epsilon))
        low = np.logaddexp(lower, _log(closed - noise))
        low += _log(1 - exp(min(self.log_overlap - low, 0.0)))
        high = np.logaddexp.reduce([upper, _log(max(closed, 0.0) + noise), self.flags.log_sliver(epsilon)])
        return float(low) - 1e-14, min(float(high) + 1e-14, 0.0)

    def solve(self, log_delta: float, start: float, highest: float) -> tuple[float, float]:
        """(lower, upper) around the epsilon at which log delta is `log_delta`; `highest` is enough for sure."""
        lower = _crossing(lambda epsilon: self.bounds(epsilon)[0] - log_delta, start, highest)[0]
        return lower, _crossing(lambda epsilon: self.bounds(epsilon)[1] - log_delta, max(start, lower), highest)[1]


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf


def _log_overlap(loss, place: float, width: float, end: float, fall: float) -> float:
    """log of a bound on E[Phi((place - x) / width) Phi((x - end) / fall)], under P and Q; inf where there is none.

    A normal x and two more for the steps lie in a convex set, which a half-space at its distance from the origin contains.
    """
    worst = -inf
    for center, weight in ((0.0, 1.0), (loss.mu, loss.q)):
        a, b = place - center, end - center
        x = (a / width**2 + b / fall**2) / (1 + width**-2 + fall**-2)
        if not a <= x <= b:
            return inf
        distance = sqrt(x * x + ((x - a) / width) ** 2 + ((b - x) / fall) ** 2)
        worst = np.logaddexp(worst, log(weight) + float(log_ndtr(-distance)) + 1e-9)
    return float(worst)


def _crossing(excess: Callable[[float], float], start: float, highest: float) -> tuple[float, float]:
    """Two neighbors: excess > 0 at the first (or it is 0), excess <= 0 at the second (or it is `highest`). False position."""
    bad, good, above, below, at, factor, kept = 0.0, highest, inf, -inf, start, 1.01, 0
    for step in range(100):
        value = min(max(excess(at), -1e3), 1e3)
        if value > 0:
            bad, above, below, kept = at, value, below / (2 if kept > 0 else 1), 1
        else:
            good, below, above, kept = at, value, above / (2 if kept < 0 else 1), -1
        width = 1e-12 * good
        if good - bad <= width or (bad == 0 and good < 1e-9 * start):
            break
        if bad == 0 or below == -inf:
            at, factor = (bad * factor if bad else good / factor), min(factor**1.5, 1e3)
            if at >= highest:
                at = (bad + highest) / 2
        else:
            share = 0.5 if step % 4 == 3 else above / (above - below)
            at = min(max(bad + share * (good - bad), bad + width / 2), good - width / 2)
    return bad, good


def _spread(parts, epsilon: FloatArray) -> FloatArray:
    """About the standard deviation of all losses that are small against epsilon."""
    square = np.full(len(epsilon), 1e-300)
    for loss, k in parts:
        if _sampled(loss):
            x = loss._output(epsilon / 4 + 1e-300)
            beyond = np.exp(np.minimum(loss.mu**2 + log_ndtr(x - 2 * loss.mu), 600.0))
            square += k * loss.q**2 * np.maximum(beyond - 2 * ndtr(x - loss.mu) + ndtr(x), 0.0)
        else:
            square += k * 2 * min(loss.mean(), 1e100)
    return np.sqrt(square)


def _guess(parts, epsilon: FloatArray) -> FloatArray:
    """About log delta: one large loss, or many small ones."""
    single = [log(k) + loss._log_delta(epsilon) for loss, k in parts if _sampled(loss)]
    return np.minimum(np.logaddexp(logsumexp(single, axis=0), log_gaussian_hockey_stick(epsilon, _spread(parts, epsilon))), 0.0)


def behind_wall(parts, epsilon: float, log_delta: float | None = None) -> bool:
    """Whether losses are few and large at `epsilon`, or Chernoff's bound there, `log_delta`, is far above a guess at delta."""
    few = epsilon > FEW * float(_spread(parts, np.array([epsilon]))[0])
    return few or (log_delta is not None and float(_guess(parts, np.array([epsilon / 2]))[0]) < log_delta)


def rare_log_delta_bounds(parts, epsilon: float) -> tuple[float, float]:
    """(lower, upper) around log delta at `epsilon` >= 0 of the sum of parts, given as (loss, copies); `can_flag` of them."""
    lower, upper, near = -inf, 0.0, float(_guess(parts, np.array([epsilon]))[0])
    for _ in range(4):
        low, high = _Reading(parts, epsilon, near).bounds(epsilon)
        lower, upper = max(lower, low), min(upper, high)
        if upper - lower < ENOUGH or abs(high - near) < 1:
            break
        near = high
    return lower, upper


def rare_epsilon_bounds(parts, log_delta: float, highest: float) -> tuple[float, float]:
    """(lower, upper) around the smallest epsilon >= 0 with log delta(epsilon) <= `log_delta`; `highest` is enough for sure."""
    grid = highest * np.exp(np.linspace(-30.0, 0.0, 601))
    near = float(grid[min(int(np.searchsorted(-_guess(parts, grid), -log_delta)), 600)])
    lower, upper = 0.0, highest
    for _ in range(5):
        low, high = _Reading(parts, near, log_delta).solve(log_delta, near, highest)
        lower, upper = max(lower, low), min(upper, high)
        if upper - lower <= ENOUGH * upper or abs(upper - near) < 0.01 * near:
            break
        near = upper
    return lower, upper
