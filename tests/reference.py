"""The privacy loss done slowly: mpmath at many digits, straight from the two output laws, nothing shared with dpnotes.

A pair of laws gives P[L > e] and Q[L > e] for every e. By Neyman and Pearson the best event of the hockey stick is
{L > e}, so that delta(e) = P[L > e] - e**e Q[L > e], for negative e as well. Floats are taken as the exact numbers
they are; 60 digits leave room for every cancellation in the ranges the tests use.
"""

from __future__ import annotations

import mpmath as mp

DIGITS = 60


class Pair:
    """Two laws P and Q. Subclasses give `p_tail` and `q_tail`, the masses of {L > e}, and `moment`, E_P[e**(t L)]."""

    digits = DIGITS

    def delta(self, e):
        with mp.workdps(self.digits):
            e = mp.mpf(e)
            return self.p_tail(e) - mp.exp(e) * self.q_tail(e)

    def log_delta(self, e):
        with mp.workdps(self.digits):
            delta = self.delta(e)
            return mp.log(delta) if delta > 0 else mp.mpf("-inf")

    def tail(self, e):
        with mp.workdps(self.digits):
            return self.p_tail(mp.mpf(e))

    def log_mgf(self, t):
        with mp.workdps(self.digits):
            return mp.log(self.moment(mp.mpmathify(t)))

    def renyi(self, alpha):
        with mp.workdps(self.digits):
            alpha = mp.mpf(alpha)
            return self.log_mgf(alpha - 1) / (alpha - 1)


class Gaussian(Pair):
    """N(mu, 1) against N(0, 1). L > e where the output exceeds e/mu + mu/2."""

    def __init__(self, mu):
        self.mu = mp.mpf(mu)
        self.digits = DIGITS + max(0, int(-mp.log10(self.mu)))  # delta is about mu: what is left of halves

    def _above(self, y):
        return mp.erfc(y / mp.sqrt(2)) / 2

    def p_tail(self, e):
        return self._above(e / self.mu - self.mu / 2)

    def q_tail(self, e):
        return self._above(e / self.mu + self.mu / 2)

    def moment(self, t):
        return mp.exp(t * (t + 1) * self.mu**2 / 2)

    def mean(self):
        with mp.workdps(self.digits):
            return self.mu**2 / 2


class Laplace(Pair):
    """Centers 0 under P and d under Q, scale 1: L = |y - d| - |y| falls from d at y <= 0 to -d at y >= d."""

    def __init__(self, d):
        self.d = mp.mpf(d)

    def p_tail(self, e):
        if e >= self.d:
            return mp.mpf(0)
        return mp.mpf(1) if e < -self.d else 1 - mp.exp(-(self.d - e) / 2) / 2  # P[y < (d - e)/2]

    def q_tail(self, e):
        if e >= self.d:
            return mp.mpf(0)
        return mp.mpf(1) if e < -self.d else mp.exp((self.d - e) / 2 - self.d) / 2

    def moment(self, t):
        d, slope = self.d, 1 + 2 * t  # three pieces of the output axis: left of both, between, right of both
        between = d / 2 if slope == 0 else -mp.expm1(-slope * d) / (2 * slope)
        return mp.exp(t * d) / 2 + mp.exp(t * d) * between + mp.exp(-d - t * d) / 2

    def mean(self):
        with mp.workdps(self.digits):
            return self.d + mp.exp(-self.d) - 1


class Discrete(Pair):
    """Finitely many outputs with the given masses."""

    def __init__(self, p, q):
        self.pairs = [(mp.mpf(a), mp.mpf(b)) for a, b in zip(p, q, strict=True) if a > 0 or b > 0]

    def _mass(self, e, which):
        with mp.workdps(self.digits):
            factor = mp.exp(e)
            return mp.fsum(pair[which] for pair in self.pairs if pair[0] > factor * pair[1])

    def p_tail(self, e):
        return self._mass(e, 0)

    def q_tail(self, e):
        return self._mass(e, 1)

    def moment(self, t):
        return mp.fsum(a * (a / b) ** t for a, b in self.pairs if a > 0 and b > 0)

    def mean(self):
        with mp.workdps(self.digits):
            return mp.fsum(a * mp.log(a / b) for a, b in self.pairs if a > 0)

    def total_variation(self):
        with mp.workdps(self.digits):
            return mp.fsum(a - b for a, b in self.pairs if a > b)


def randomized_response(epsilon, k=2):
    """k-ary randomized response, the answers 0 and 1 being the true ones under P and Q."""
    with mp.workdps(DIGITS + int(epsilon) // 2):  # 1 / (e**epsilon + k - 1) must not vanish against 1
        odds = mp.exp(mp.mpf(epsilon))
        truth, lie = odds / (odds + k - 1), 1 / (odds + k - 1)
        return Discrete([truth, lie] + [lie] * (k - 2), [lie, truth] + [lie] * (k - 2))


def gaussian_by_quadrature(mu, function, kink=0):
    """E_P of a function of p/q for N(mu, 1) against N(0, 1), by integrating over the output; it may bend at p/q = e**kink."""
    points = sorted({mu - 12.0, mu - 4.0, mu, mu + 4.0, mu + 12.0, min(max(kink / mu + mu / 2, mu - 12), mu + 12)})
    return mp.quad(lambda y: mp.npdf(y, mu, 1) * function(mp.exp(mu * y - mp.mpf(mu) ** 2 / 2)), points)


def laplace_by_quadrature(d, function, kink=0):
    """E_P of a function of p/q for Laplace laws of scale 1 at distance d, by integrating over the output."""
    points = sorted({-40.0, -5.0, 0.0, float(d), min(max((d - kink) / 2, 0.0), d), d + 5.0, d + 40.0})
    return mp.quad(lambda y: mp.exp(-abs(y)) / 2 * function(mp.exp(abs(y - d) - abs(y))), points)
