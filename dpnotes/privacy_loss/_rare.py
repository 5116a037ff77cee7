"""delta behind a wall of rare large losses: they are flagged and counted in closed form, the others told apart by their size.

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
  (e**a - 1)_+ <= C e**(s a) for s > 1. X is put as near to epsilon as this may be seen.

Where epsilon is many standard deviations of the small losses, the kept part itself is a heap of small losses and few jumps of
the size of epsilon, and no contour resolves the former. A second smooth step, below epsilon, tells jumps from small losses.
With their moments J and S, (S + J)**T - S**T is the part with at least one jump, on one line for all their numbers. For the
rest of its integral it is enough that J dies: |(a + b)**T - a**T| <= T |b| (|a| + |b|)**(T - 1). And what is made of small
losses alone, Chernoff's bound on S**T shows to be nothing. Here S is taken without the first step, so that 1 - S has a closed
form; what then is both small and flagged can only be too much in (S + J)**T - S**T, by at most T times its mass.

The integrals over x end where a smooth step has fallen below e**-60: beyond, the flag (or the jump) is taken as certain, which
changes probabilities by a factor within 1e-26 of 1.
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

EDGE = 20.0  # widths of a smooth step from its middle to where it is cut off, at most
ROOM = 40.0  # for the modulus to grow along a strip: e**ROOM
MARGINS = np.array([0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0])
JUMPS = np.array([0.35, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006])  # tried for the least jump, as fractions of epsilon
APART = 7.5  # widths between the least jump and epsilon, at least
NARROW = 0.03  # of epsilon is the loss within one width at the least jump, at most
TURNS = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01])  # shifts, as fractions of the widest
COARSE, FINE = 200, 3000  # cells a step: where J has to die at all, and where |M| is raised to a high power
NEAR = 4.0  # widths by which the normal density moves what a smooth step does, at most
THIN = 1e-3  # no step is thinner: its quadratures would be too long
FARTHEST = 300.0  # an output; beyond, quadratures would be too long
POWERS = np.exp2(np.arange(-2.0, 60.0))
SHARP = 1e-9  # relative excess that is asked for here
SEEN = 24.0  # e**-SEEN is not
ENOUGH = 1e-8  # relative width that is not narrowed further
FEWER = np.unique(np.concatenate([np.arange(8.0, 64, 4), np.exp2(np.arange(6, 13.01, 0.25)).round()]))


class _KeptOrders(Orders):
    """The quadrature of a kept part: the weight carries Phi(sign (place - x) / width) for every smooth step."""

    def __init__(self, q, mu, c, y, steps) -> None:
        self.steps, self.blur = steps, _blur(steps)
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
        if self.y:
            loss = float(log_mixture(np.array(high), self.q, self.mu))
            self.widest = min(self.widest, ROOM / (self.y * self.mu * min(loss, 1.0)))
        return low, high

    def _outside(self):
        """log of bounds on what the ends contribute: where the window is cut, the upright pieces of the contour."""
        ends = np.array([self.x[0] - self.step / 2, self.x[-1] + self.step / 2])
        upright = _log_terms(self.q, self.mu, self.steps, np.array([self.c]), ends)[0] - self.level + log(2 * self.widest + 1)
        upright += self.blur * self.a**2 / 2 + self.y * _turned(_share(ends, self.q, self.mu), self.mu * self.a)[1]
        return (float(upright[0]) if _is_cut(self.steps) else super()._outside()[0]), float(upright[1])

    def _outside_turned(self, a, y):
        return np.logaddexp(*self.outside) + self.blur * np.square(a) / 2

    def log_modulus(self, y: FloatArray) -> FloatArray:
        return np.minimum(_log_modulus(self.q, self.mu, self.steps, self.c, y, FINE), self.level + 1e-15)

    def _tilt(self, log_weight, x):
        super()._tilt(log_weight, x)
        self.error += 1e-24


# `steps` are (sign, place, width), from left to right; sign 1 keeps what is left of the place, and the last step has it.
def _log_kept(steps, x: FloatArray) -> FloatArray:
    return sum(log_ndtr(sign * (place - x) / width) for sign, place, width in steps)


def _blur(steps) -> float:
    """The normal density times all steps grows by at most e**(this a**2 / 2) on the way to Im x = a."""
    return 1 + sum(width**-2 for _, _, width in steps)


def _is_cut(steps) -> bool:
    """Whether the first step rises, so that the window is cut off on the left, too."""
    return steps[0][0] < 0


def _window(q: float, mu: float, steps, c: float) -> tuple[float, float]:
    """Where a kept part is cut off. The ends depend on c alone, so that all of a line belongs to one measure."""
    low = steps[0][1] - 17 * steps[0][2] if _is_cut(steps) else -sqrt(2 * (DIGITS + 12))
    _, place, width = steps[-1]
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
    pieces x + is, 0 < s < b. On them arg h is at least s min(arg h(x + ib) / b, mu times the share), whichever way it bends
    in s, so that the exponent is at most a convex function of s, and largest at an end.
    """
    low, high = _window(q, mu, steps, c)
    least = np.full(len(y), inf)
    for b in TURNS * min(np.pi / (2 * mu), 9.5):
        near = [place + (b + 13 * width) * np.linspace(-1, 1, count) for _, place, width in steps]
        x = np.unique(np.clip(np.concatenate([*near, np.linspace(low, high, count), [0.0]]), low, high))
        share = _share(x, q, mu)
        size, argument = _turned(share, mu * b)
        cell = np.log(np.diff(x)) + b * b / 2 - LOG_SQRT_2PI - np.minimum(np.abs(x[1:]), np.abs(x[:-1])) ** 2 / 2
        cell += (c + 1) * (log_mixture(x, q, mu) + size)[1:]
        bent, flat = np.full(2, b * b / 2), np.zeros(2)  # at the ends
        for sign, place, width in steps:
            u, grown = sign * (place - x) / width, (b / width) ** 2 / 2
            rising, falling = grown + log_ndtr(u), np.logaddexp(0.0, grown + log_ndtr(-u))
            cell += np.minimum(np.maximum(rising[1:], rising[:-1]), np.maximum(falling[1:], falling[:-1]))
            small = (falling < rising)[[0, -1]]
            bent, flat = bent + np.where(small, 0.0, grown), flat + np.where(small, (falling - log_ndtr(u))[[0, -1]], 0.0)
        total = logsumexp(cell - np.multiply.outer(y, argument[:-1]))
        upright = _log_terms(q, mu, steps, np.array([c]), x[[0, -1]])[0] + flat + log(b)
        upright = upright + np.maximum(bent - np.multiply.outer(y, np.minimum(argument, share * mu * b)[[0, -1]]), 0.0)
        if not _is_cut(steps):  # there the line goes on
            upright[:, 0] = b * b / 2 + log_ndtr(low) + 1e-9
        least = np.minimum(least, np.logaddexp(total, np.logaddexp(*upright.T)) + 1e-12)
    return least


def _flagged(q: float, mu: float, place: float, width: float) -> tuple[float, float, float]:
    """P[flag], P[flag] - Q[flag] and Q[flag] of one step."""
    spread = sqrt(1 + width * width)
    below, above = float(ndtr(-place / spread)), float(ndtr((mu - place) / spread))
    return below + q * (above - below), q * (above - below), below


class _Kept(PoissonGaussianLoss):
    """What the smooth steps keep of a sampled Gaussian's loss ("remove"): a measure of mass below 1."""

    _whole = False

    def __new__(cls, loss: PoissonGaussianLoss, *steps: tuple) -> _Kept:
        return object.__new__(cls)

    def __init__(self, loss: PoissonGaussianLoss, *steps) -> None:
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
        terms = _log_terms(self.q, self.mu, self.steps, t, low + step * np.arange(np.ceil((high - low) / step) + 1))
        upright = blur * a * a / 2 + log(4 * a + 1)  # the contour's pieces at the ends; on the left there may be a tail instead
        left = terms[:, 0] + upright if _is_cut(self.steps) else float(log_ndtr(low)) + 1.0
        return np.logaddexp(logsumexp(terms) + log(step), np.logaddexp(left, terms[:, -1] + upright)) + 1e-14

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        if not _is_cut(self.steps):
            return super()._modulus(c, y, copies, drop)
        return np.minimum(_log_modulus(self.q, self.mu, self.steps, c, y, COARSE), self._cumulant(np.array([c])))


class _Jumps:
    """M = prod (S + J)**k - prod S**k of kept parts S and J, given as (S, J, k): what one jump or more give, as one loss."""

    _most_nodes, _fine = 2**17, False

    def __init__(self, parts) -> None:
        self.parts = parts

    def _expect(self, c: float, y: float) -> None:
        for small, jump, _ in self.parts:
            small._expect(c, y)
            jump._expect(c, y)

    def _real(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log of prod S**k, of prod (1 + J / S)**k and of the latter's logarithm, where every S and J is rounded up."""
        base, more, tiny = np.zeros(len(t)), np.zeros(len(t)), []
        for small, jump, k in self.parts:
            s, j = small._cumulant(t), jump._cumulant(t)
            ratio = j - s + 1e-14 * (np.abs(j) + np.abs(s))
            base += k * (s + 1e-14 * np.abs(s))
            more += k * np.logaddexp(0.0, ratio)
            tiny.append(log(k) + ratio)  # an upper bound, and sharp where J is far below S
        return base, more, np.where(more < 1e-12, logsumexp(tiny, axis=0), np.log(np.maximum(more, 1e-12)))

    def _cumulant(self, t: FloatArray) -> FloatArray:
        base, more, log_more = self._real(t)
        return base + np.where(more < 1e-12, log_more, more + log1mexp(-np.maximum(more, 1e-12))) + 2e-12

    def _modulus(self, c: float, y: FloatArray, copies: int = 1, drop: float = -38.0) -> FloatArray:
        """|prod (a + b)**k - prod a**k| <= prod (|a| + |b|)**k times the sum of k |b| / (|a| + |b|), and rises in |a| and |b|."""
        at = np.array([c])
        base, more, _ = self._real(at)
        fall = [log(k) + jump._modulus(c, y) - np.logaddexp(small._cumulant(at), jump._cumulant(at)) for small, jump, k in self.parts]
        return base + more + logsumexp(fall, axis=0) + 1e-12

    def _on_line(self, z: np.ndarray, copies: int = 1) -> tuple[np.ndarray, FloatArray]:
        """By log1p and expm1, so that few jumps are right to their own size."""
        base, more = np.zeros(len(z), complex), np.zeros(len(z), complex)  # log prod S**k, log prod (1 + J / S)**k
        unsure, largest, wrong, rounding = np.zeros((4, len(z)))
        for small, jump, k in self.parts:
            (s, s_error), (j, j_error) = small._on_line(z, k), jump._on_line(z)
            ratio = np.exp(j - s)
            off = np.expm1(np.minimum(np.log1p(j_error) - np.log1p(-np.minimum(s_error, 0.999)), 600.0))
            off = np.abs(ratio) * (np.where(s_error < 0.999, off, inf) + UNIT * (40 + 4 * np.abs(s) + 4 * np.abs(j)))
            one = _log_one_plus(ratio.real, ratio.imag)
            base, more = base + k * s, more + k * one
            unsure += k * np.log1p(s_error) + UNIT * 4 * (np.abs(k * s) + np.abs(base))
            size = np.abs(1 + ratio) + off  # |u**k - v**k| <= k |u - v| max(|u|, |v|)**(k - 1)
            largest += k * np.log(size)
            wrong += k * (off / size)
            rounding += UNIT * 8 * (np.abs(k * one) + np.abs(more))
        if not more.real.max() < 600:
            raise TooSteep
        grown, turned = np.exp(more.real), 2 * np.sin(more.imag / 2) ** 2
        value = np.expm1(more.real) - grown * turned + 1j * grown * np.sin(more.imag)
        error = np.exp(np.minimum(largest, 690.0)) * (wrong + rounding) * 1.01
        error += UNIT * 16 * (np.abs(np.expm1(more.real)) + grown * turned + np.abs(value)) + 1e-300
        value = np.where(np.abs(value) < 1e-3 * error, 1e-3 * error, value)  # a number that is all error, and not 0
        unsure += np.log1p(1.002 * error / np.abs(value))
        return base + np.log(value), np.expm1(np.minimum(unsure, 690.0))


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
                place = float(loss._output(np.array(cut)))
                # losses rise like e**(mu x), and like mu x where they are large
                width = min(0.04 * max(1.0, cut) / loss.mu, 1.0, NEAR / max(place, 1e-9))
                place += 8 * width
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


@lru_cache(maxsize=32)
def _inverse_moments(loss) -> FloatArray:
    """log E_P[e**(-s L)] = log E_Q[e**((1 - s) L)], rounded up, for the powers s = 1 + POWERS."""
    one = loss.swapped._cumulant(POWERS)
    return np.minimum(one, -POWERS * log1p(-loss.q)) if _sampled(loss) else one


def _log_flagged_moment(loss, place: float, width: float, t: FloatArray) -> FloatArray:
    """log of a bound on E_Q[h**-t; flag] of one step, cell by cell: h and the flag's probability rise in x."""
    near = place + width * np.linspace(-40, 40, 321)
    x = np.append(np.linspace(min(-12.0, near[0] - 1), near[0], 201)[:-1], near)
    log_cell = np.append(np.minimum(log_ndtr(x[1:]), log_ndtr(-x[:-1])), log_ndtr(-x[-1]))
    log_cell += np.append(log_ndtr((x[1:] - place) / width), 0.0)
    log_first = log_ndtr(x[0]) + log_ndtr((x[0] - place) / width)
    return np.logaddexp(logsumexp(log_cell - t[:, None] * log_mixture(x, loss.q, loss.mu)), log_first - t * log1p(-loss.q))


def _log_overlap(loss, place: float, width: float, end: float, fall: float) -> float:
    """log of a bound on P[Phi((place - x) / width) Phi((x - end) / fall)], of being small and flagged; inf where there is none.

    The output x and a normal variable for either step lie in a convex set: in a half-space at its distance from their center.
    """
    total = -inf
    for center, weight in ((0.0, 1.0), (loss.mu, loss.q)):
        a, b = place - center, end - center
        x = (a / width**2 + b / fall**2) / (1 + width**-2 + fall**-2)  # the nearest point of the set, if between a and b
        if not a <= x <= b:
            return inf
        distance = sqrt(x * x + ((x - a) / width) ** 2 + ((b - x) / fall) ** 2)
        total = np.logaddexp(total, log(weight) + float(log_ndtr(-distance)) + 1e-9)
    return float(total)


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf


class _Reading:
    """delta on both sides near one epsilon, where it is about e**log_delta, of parts (loss, copies) that `can_flag`."""

    def __init__(self, parts, epsilon: float, log_delta: float) -> None:
        self.parts, self.flags, least = parts, None, log_delta - SEEN
        scale = epsilon + sqrt(sum(k * (loss.q**2 if _sampled(loss) else 2 * min(loss.mean(), 1e100)) for loss, k in parts))
        for margin in MARGINS * scale:
            flags = _Flags(parts, epsilon + margin)
            if max(place for place, _ in flags.steps.values()) > FARTHEST:
                break
            self.flags = flags
            if flags.log_sliver(epsilon) < least:
                break
        if self.flags is None:
            raise TooSteep
        # Small losses end a line at about 9 / their spread, jumps at about 70 / (cut log(epsilon / cut)): the shorter line first.
        first = JUMPS * -np.log(JUMPS) * epsilon > APART * float(spread(parts, np.array([epsilon]))[0])
        tried = []
        for share in [*JUMPS[first], None, *(JUMPS[~first] if epsilon > 0 else [])]:
            if share is None:
                self.jumpless, self.log_overlap, steps = None, -inf, self.flags.steps
                self.kept = Inversion([(_Kept(loss, (1, *steps[loss])) if _sampled(loss) else loss, k) for loss, k in parts])
            elif not self._tell_apart(epsilon * share, epsilon, least):
                continue
            self.kept.counts, self.kept.sharpest = FEWER, SHARP
            try:
                self.kept._build(epsilon, log_delta, *self.kept.orders_at(epsilon))
            except TooSteep:
                self.kept.line = None
            low, high = self.bounds(epsilon)
            tried.append((high - low, len(tried), self.kept, self.jumpless, self.log_overlap))
            if high - low < 100 * ENOUGH:
                break
        _, _, self.kept, self.jumpless, self.log_overlap = min(tried)

    def _tell_apart(self, cut: float, epsilon: float, least: float) -> bool:
        """Small losses from jumps, at `cut`. Whether small losses alone are shown to be below e**least at epsilon.

        Near epsilon, what is still small falls faster than e**(t L) rises at the order t that shows this.
        """
        others = [(loss, k) for loss, k in self.parts if not _sampled(loss)]
        small, parts, masses, overlaps = [], [], [], []
        for loss, (end, fall) in self.flags.steps.items():
            k = next(k for other, k in self.parts if other is loss)
            place, large = loss._output(np.array([cut, epsilon])).tolist()
            slope, steep = loss.mu * _share(np.array([place, large]), loss.q, loss.mu)
            width = min((large - place) / APART, NARROW * epsilon / slope, APART / max(-least * steep / epsilon - large, 1e-9))
            width = float(min(width, 1.0, NEAR / place))
            if width < THIN:
                return False
            at = log_ndtr(np.array([-place, loss.mu - place]) / sqrt(1 + width * width))
            masses.append(log(k) + np.logaddexp(at[0], log(loss.q) + at[1]))  # at least P[jump]
            overlaps.append(log(k) + _log_overlap(loss, place, width, end, fall))
            small.append((_Kept(loss, (1, place, width), (1, end, fall)), k))
            parts.append((_Kept(loss, (1, place, width)), _Kept(loss, (-1, place, width), (1, end, fall)), k))
        self.log_overlap, self.jumpless = float(logsumexp(overlaps)), Inversion([*small, *others])
        self.kept = Inversion([(_Jumps(parts), 1), *others], min(float(logsumexp(masses)) + 1e-12, 0.0))
        return self.log_overlap < least and self.jumpless.chernoff(epsilon) < least

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) around log delta at any epsilon >= 0."""
        closed, noise = self.flags.closed(epsilon)
        lower, upper = (-inf, self.kept.chernoff(epsilon)) if self.kept.line is None else self.kept.bounds(epsilon)[:2]
        if self.jumpless is not None:
            upper = np.logaddexp(upper, self.jumpless.chernoff(epsilon))
        low = float(np.logaddexp(lower, _log(closed - noise)))
        low += _log(-expm1(min(self.log_overlap - low, 0.0))) if low > -inf else 0.0
        high = float(np.logaddexp.reduce([upper, _log(max(closed, 0.0) + noise), self.flags.log_sliver(epsilon)]))
        return low - 1e-14, min(high + 1e-14, 0.0) if high < 0 else 0.0

    def solve(self, log_delta: float, start: float, highest: float) -> tuple[float, float]:
        """(lower, upper) around the epsilon at which log delta is `log_delta`; `highest` is enough for sure."""
        lower = _crossing(lambda epsilon: self.bounds(epsilon)[0] - log_delta, start, highest)[0]
        return lower, _crossing(lambda epsilon: self.bounds(epsilon)[1] - log_delta, max(start, lower), highest)[1]


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


def spread(parts, epsilon: FloatArray) -> FloatArray:
    """About the standard deviation of all losses that are small against epsilon."""
    square = np.full(len(epsilon), 1e-300)
    for loss, k in parts:
        if _sampled(loss):
            x = loss._output(np.minimum(epsilon / 4 + 1e-300, 1.0))  # beyond, the variance of L is not that of e**L
            beyond = np.exp(np.minimum(loss.mu**2 + log_ndtr(x - 2 * loss.mu), 600.0))
            square += k * loss.q**2 * np.maximum(beyond - 2 * ndtr(x - loss.mu) + ndtr(x), 0.0)
        else:
            square += k * 2 * min(loss.mean(), 1e100)
    return np.sqrt(square)


def guess(parts, epsilon: FloatArray) -> FloatArray:
    """About log delta: one large loss, or many small ones."""
    large = epsilon
    for _ in range(3):
        large = np.maximum(epsilon, 4 * spread(parts, large))
    single = [log(k) + loss._log_delta(large) for loss, k in parts if _sampled(loss)]
    return np.minimum(np.logaddexp(logsumexp(single, axis=0), log_gaussian_hockey_stick(epsilon, spread(parts, large))), 0.0)


def rare_log_delta_bounds(parts, epsilon: float) -> tuple[float, float]:
    """(lower, upper) around log delta at `epsilon` >= 0 of the sum of parts, given as (loss, copies); `can_flag` of them."""
    lower, upper, near = -inf, 0.0, float(guess(parts, np.array([epsilon]))[0])
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
    near = float(grid[min(int(np.searchsorted(-guess(parts, grid), -log_delta)), 600)])
    lower, upper = 0.0, highest
    for _ in range(6):
        low, high = _Reading(parts, near, log_delta).solve(log_delta, near, highest)
        lower, upper = max(lower, low), min(upper, high)
        if upper - lower <= ENOUGH * upper or abs(upper - near) < 0.01 * near:
            break
        near = upper
    return lower, upper
