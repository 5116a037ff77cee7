"""Sums of losses that all lie on one lattice: the inversion is exact there, whether |M| falls or not.

With loss values o + n h, M(c + iy) has the period 2 pi / h in y but for a turn, so that a finite sum over one period takes
the place of the integral. With N nodes z_j = c + 2 pi i j / (N h), x the first lattice point at or above epsilon, and
u = x - epsilon,

    (1/N) sum_j M(z_j) e**(-z_j x) K(z_j) = sum_k e**(c k N h) delta(epsilon + k N h),
    K(z) = sum_(i >= 0) e**(-z i h) (1 - e**(-u - i h)) = (a + b e**(-z h)) / ((1 - e**(-z h)) (1 - e**(-(z + 1) h))),

with a = 1 - e**-u and b = e**-u - e**-h: the k = 0 term is delta, the others are the excess that `Inversion` bounds, for the
period P = N h. Nothing is left out beyond the last node. Tail: K(z) = 1 / (1 - e**(-z h)) with x the first point above.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._atoms import FINEST, common_step
from dpnotes.privacy_loss._inversion import Inversion, Line
from dpnotes.privacy_loss._special import UNIT

MOST_NODES = 2**19


def common_lattice(parts: Iterable[tuple]) -> tuple[float, float, float] | None:
    """(a value of the sum, step, how far its values may be off) where every part has a lattice and they fit together."""
    parts = list(parts)
    own = [loss._lattice() for loss, _ in parts]
    if any(lattice is None for lattice in own):
        return None
    steps = np.array([step for _, step, _ in own])
    found = common_step(steps[np.isfinite(steps)], float(np.max(steps[np.isfinite(steps)], initial=0.0)))
    if found is None or np.isinf(found[0]):
        return None
    step, apart = found
    # a value n steps from the origin is n times as far off as the step; losses of one part are at most 1 / FINEST steps apart
    off = sum(k * (o + (apart * s / step / FINEST if apart and np.isfinite(s) else 0.0)) for (_, k), (_, s, o)
              in zip(parts, own, strict=True))
    return float(sum(k * origin for (_, k), (origin, _, _) in zip(parts, own, strict=True))), step, float(off)


class LatticeLine(Line):
    """The terms of the finite sum on one line, for parts given as (loss, copies)."""

    smoothing = 0.0

    def __init__(self, parts, c: float, lattice: tuple[float, float, float], nodes: int) -> None:
        self.origin, step, off = lattice
        self.c, self.step, self.period = c, step, nodes * step
        self.y = (2 * np.pi / self.period) * np.arange(nodes // 2 + 1)
        z = c + 1j * self.y
        log_m, relative = np.zeros(len(z), complex), np.abs(z) * off  # losses moved onto the lattice
        for loss, k in parts:
            value, error = loss._on_line(z, k)
            log_m += k * value
            relative += k * np.log1p(error) + UNIT * (2 * np.abs(k * value) + np.abs(log_m))
        self.level = float(log_m[0].real)
        with np.errstate(under="ignore"):
            m = np.exp(log_m - self.level) * (2 / nodes)
        m[0] /= 2
        m[-1] /= 2
        # (|m| (1 + error)) is what may be there where the error is larger than the value
        unsure = np.abs(m) * (np.expm1(np.minimum(relative, 600.0)) + 16 * UNIT)
        kept = np.abs(m) + unsure > 1e-19 * np.abs(m[0])
        self._dropped = 1e-19 * np.abs(m[0]) * len(m)  # of the sum of |m|
        self.z, self._m, self._unsure = z[kept], m[kept], unsure[kept]
        # 1 - e**(-z h), right to a few roundings: expm1 of a complex number loses digits near 2 pi i
        self._decay = np.exp(-self.z * step)
        self._poles = -np.expm1(-c * step) + np.exp(-c * step) * (2 * np.sin(self.z.imag * step / 2) ** 2
                                                                  + 1j * np.sin(self.z.imag * step))
        shifted = np.exp(-step)
        self._kernel = 1 / self._poles, 1 / (-np.expm1(-step) + shifted * self._poles)
        self._smallest = -np.expm1(-c * step), -np.expm1(-(c + 1) * step)

    def value(self, epsilon: float, smoothing: float, tail: bool = False) -> tuple[float, float, float, float]:
        """(sum, its error, its derivative in epsilon, log of the factor to multiply them by)."""
        place = (epsilon - self.origin) / self.step
        whole = np.floor(place) + 1 if tail else np.ceil(place)
        x = self.origin + self.step * whole
        u = min(max(self.step * (whole - place), 0.0), self.step)
        turn = np.exp(-1j * (x * self.z.imag))
        terms = self._m * turn * self._kernel[0]
        size = np.abs(terms)
        missed = self._dropped / self._smallest[0]
        if tail:
            total, slope = float(terms.real.sum()), 0.0
        else:
            terms, size = terms * self._kernel[1], size * np.abs(self._kernel[1])
            a, b = -np.expm1(-u), np.exp(-u) * -np.expm1(u - self.step)
            here, beyond = terms.real.sum(), (terms * self._decay).real.sum()
            total, slope = float(a * here + b * beyond), -float(np.exp(-u) * (here - beyond))
            size, missed = size * (a + b), missed / self._smallest[1] * (a + b)
        error = float(size @ (self._unsure / np.maximum(np.abs(self._m), 1e-300)
                              + UNIT * (30 + np.log2(len(size)) + 4 * np.abs(self.z.imag * x)))) + missed
        error += 4 * UNIT * float(np.sum(size)) * (abs(self.level) + self.c * abs(x) + 1)
        return total, error, slope, self.level - self.c * x


class LatticeInversion(Inversion):
    """Certified readings of a sum on a lattice; where the lattice is too fine for a finite sum, those of `Inversion`.

    lattice : (a value of the sum, step, off), from `common_lattice`.
    """

    def __init__(self, parts, log_mass: float, lattice: tuple[float, float, float]) -> None:
        super().__init__(parts, log_mass)
        self.origin, self.step, self.off = lattice

    def _build(self, epsilon: float, log_value: float, t: FloatArray, k: FloatArray) -> None:
        c, period, around, levels = self._choose(epsilon, log_value, t, k)
        least = period / self.step
        if least > MOST_NODES:
            super()._build(epsilon, log_value, t, k)
            return
        nodes = 1 << max(2, int(np.ceil(np.log2(max(least, 1.0)))))
        nodes = 3 * nodes // 4 if nodes >= 8 and 3 * nodes // 4 >= least else nodes
        line = self.line
        if not (isinstance(line, LatticeLine) and line.c == c and line.period == nodes * self.step):
            self.line = LatticeLine(self.parts, c, (self.origin, self.step, self.off), nodes)
        self.line.reach = self.line.y[-1]
        self.line.surround(around, levels, -np.inf)  # nothing is left out

    def _log_rest(self, epsilon: float, smoothing: float, tail: bool) -> float:
        return -np.inf if isinstance(self.line, LatticeLine) else super()._log_rest(epsilon, smoothing, tail)

    def _moved(self, epsilon: float) -> float:
        return self.off + 8 * UNIT * (abs(epsilon) + abs(self.origin))

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper) around log delta(epsilon) of the finite part."""
        lower, upper = super().log_delta_bounds(epsilon)
        if isinstance(self.line, LatticeLine):
            move = self._moved(epsilon)
            lower = min(lower, self.bounds(epsilon + move)[0])
            upper = max(upper, min(self.bounds(epsilon - move)[1], self.log_mass))
        return lower, upper

    def log_tail_bounds(self, loss: float) -> tuple[float, float]:
        """(lower, upper) around log P[L > loss; L finite]; at a lattice point its rounding decides, so that they differ there."""
        self.log_delta_bounds(loss)
        if not isinstance(self.line, LatticeLine):
            return super().log_tail_bounds(loss)
        move = self._moved(loss)
        return self.bounds(loss + move, tail=True)[0], min(self.bounds(loss - move, tail=True)[1], self.log_mass)

    def epsilon_bounds(self, log_delta: float, slack: float) -> tuple[float, float]:
        """(lower, upper) around the smallest epsilon >= 0 with log delta(epsilon) <= log_delta +- slack, for the finite part."""
        lower, upper = super().epsilon_bounds(log_delta, slack)
        if not isinstance(self.line, LatticeLine) or upper <= 0:
            return lower, upper
        move = self._moved(upper)
        return max(lower - move, 0.0), upper + move

    def _newton(self, epsilon: float, log_delta: float) -> float:
        if not isinstance(self.line, LatticeLine):
            return super()._newton(epsilon, log_delta)
        from scipy.optimize import brentq

        def excess(at: float) -> float:
            total, _, _, factor = self.line.value(at, 0.0)
            return np.log(total) + factor - log_delta if total > 0 else -1e3

        return 0.0 if excess(0.0) <= 0 else epsilon if excess(epsilon) >= 0 else float(brentq(excess, 0.0, epsilon, rtol=1e-15))
