"""delta behind a wall of rare large losses: they are flagged and counted in closed form, the others told apart by their size.

Where few steps are ever sampled (q T small, sigma small, delta tiny), log M(t) turns up like a wall as soon as e**(t L) sees
a loss that occurs in one run of many, and the contour of `_inversion` needs orders on this side of the wall, whose period is
far longer than the epsilon asked for. Let every step of a sampled Gaussian raise a flag with probability
chi(x) = Phi((x - X) / w), a smooth step in its output x. That is drawn after the output and tells nothing, so that likelihood
ratios stay what they are, and delta(epsilon) = E[(1 - e**(epsilon - L))_+] is the sum of two parts.

* No flag. The law of the kept part of L is bounded by about the loss at X, put a little above epsilon: no wall is left, and
  its moments are integrals over x as before, with the entire weight 1 - chi (`_kept`).
* Some flag. Then L > epsilon but for a sliver, so that the positive part does nothing: P[flag] - e**epsilon Q[flag], both in
  closed form. That is never too much, and too little by E[(e**(epsilon - L) - 1)_+; flag], which Markov's inequality bounds:
  (e**a - 1)_+ <= C e**(s a) for s > 1. X is put as near to epsilon as this may be seen.

Where epsilon is many standard deviations of the small losses, the kept part itself is a heap of small losses and few jumps of
the size of epsilon, and no contour resolves the former. A second smooth step, below epsilon, tells jumps from small losses.
With their moments J and S, (S + J)**T - S**T is the part with at least one jump, on one line for all their numbers. For the
rest of its integral it is enough that J dies: |(a + b)**T - a**T| <= T |b| (|a| + |b|)**(T - 1). And what is made of small
losses alone, Chernoff's bound on S**T shows to be nothing. Here S is taken without the first step, so that 1 - S has a closed
form; what then is both small and flagged can only be too much in (S + J)**T - S**T, by at most T times its mass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, expm1, inf, log, log1p, sqrt

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._kept import Kept, flagged
from dpnotes.privacy_loss._sampled import PoissonGaussianLoss
from dpnotes.privacy_loss._sampled_moments import _log_one_plus, _share, log_mixture
from dpnotes.privacy_loss._special import UNIT, TooSteep, log1mexp, log_gaussian_hockey_stick, logsumexp

MARGINS = np.array([0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0])
JUMPS = np.array([0.35, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006])  # tried for the least jump, as fractions of epsilon
APART = 7.5  # widths between the least jump and epsilon, at least
NARROW = 0.03  # of epsilon is the loss within one width at the least jump, at most
NEAR = 4.0  # widths by which the normal density moves what a smooth step does, at most
THIN = 1e-3  # no step is thinner: its quadratures would be too long
FARTHEST = 300.0  # an output; beyond, quadratures would be too long
POWERS = np.exp2(np.arange(-2.0, 60.0))
SHARP = 1e-9  # relative excess that is asked for here
SEEN = 24.0  # e**-SEEN is not
SELDOM, STEEP = 3.0, 60.0
ENOUGH = 1e-8  # relative width that is not narrowed further
FEWER = np.unique(np.concatenate([np.arange(8.0, 64, 4), np.exp2(np.arange(6, 13.01, 0.25)).round()]))


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
        fall = [log(k) + jump._modulus(c, y) - np.logaddexp(small._cumulant(at), jump._cumulant(at))
                for small, jump, k in self.parts]
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
                _, more, below = flagged(loss.q, loss.mu, place, width)
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
            whole, marked = np.zeros(len(POWERS)), np.full(len(POWERS), -inf)
            for loss, k in self.parts:
                one = _inverse_moments(loss)
                if loss in self.steps:
                    marked = np.logaddexp(marked, log(k) + _log_flagged_moment(loss, *self.steps[loss], POWERS) - one)
                whole += k * (one + 1e-14 * np.abs(one))
            self._sliver = (POWERS + 1) * np.log(POWERS / (POWERS + 1)) - np.log(POWERS) + whole + marked
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
                self.kept = Inversion([(Kept(loss, (1, *steps[loss])) if _sampled(loss) else loss, k) for loss, k in parts])
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
            small.append((Kept(loss, (1, place, width), (1, end, fall)), k))
            parts.append((Kept(loss, (1, place, width)), Kept(loss, (-1, place, width), (1, end, fall)), k))
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


def is_seldom(parts) -> bool:
    """Whether few steps are ever sampled: elsewhere no wall is in the way."""
    return sum(k * loss.q for loss, k in parts if _sampled(loss)) < SELDOM


def is_steep(parts) -> bool:
    """Whether a sampled part has so little noise that lines and flags would take seconds and say next to nothing."""
    return any(loss.mu > (STEEP if loss._remove else 1e4) for loss, _ in parts if type(loss) is PoissonGaussianLoss)


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
