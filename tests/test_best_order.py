"""The best order of a Rényi ledger against a dense search over orders, with moments that share nothing with the package."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from dpnotes import conversions as cv
from dpnotes.accountants import RDP, RenyiAccountant
from dpnotes.conversions._curves import search_delta, search_epsilon
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss, PoissonGaussianLoss

EPSILON = {"mironov": cv.rdp_to_epsilon_mironov, "cks": cv.rdp_to_epsilon_cks, "optimal": cv.rdp_to_epsilon}
DELTA = {"mironov": cv.rdp_to_delta_mironov, "cks": cv.rdp_to_delta_cks, "optimal": cv.rdp_to_delta}


def sampled(q, sigma, t, remove=True):
    """log E[e**(tL)] by a plain sum over x; where it is small, of E[e**(tL) - 1]."""
    mu = 1 / sigma
    step = min(0.03, 0.03 / mu) / np.sqrt(1 + (0 if remove else t.max() * mu * mu))
    x = np.arange(-14 - (0 if remove else t.max() * mu), 14 + (t.max() + 1 if remove else 0) * mu, step)
    log_h = np.logaddexp(np.log1p(-q), np.log(q) + mu * x - mu * mu / 2)
    gain, log_weight = t[:, None] * log_h * (1 if remove else -1), -x * x / 2 + (log_h if remove else 0)
    top, scale = (gain + log_weight).max(axis=1), np.exp(-x * x / 2).sum()
    whole = top + np.log(np.exp(gain + log_weight - top[:, None]).sum(axis=1) / scale)
    part = np.log1p(np.sum(np.exp(log_weight) * np.expm1(np.minimum(gain, 600.0)), axis=1) / scale)
    return np.where(whole > 0.1, whole, part)


def laplace(b, t):
    return t * b + np.log1p(t / (2 * t + 1) * np.expm1(-(2 * t + 1) * b))


def response(e, t):
    return np.logaddexp(t * e - np.log1p(np.exp(-e)), -t * e - np.log1p(np.exp(e)))


def pair(e):
    return DiscreteLoss.from_log_masses([e, -e], [-np.log1p(np.exp(-e)), -np.log1p(np.exp(e))])


CASES = {  # history, the moments of the sum by direction
    "DP-SGD": ([(PoissonGaussianLoss(256 / 60000, 1 / 1.1), 14062)], lambda t, r: 14062 * sampled(256 / 60000, 1.1, t, r)),
    "sampled, at a bend": ([(PoissonGaussianLoss(0.01, 1.0), 1000)], lambda t, r: 1000 * sampled(0.01, 1.0, t, r)),
    "rarely sampled": ([(PoissonGaussianLoss(1e-4, 1 / 0.6), 10**5)], lambda t, r: 10**5 * sampled(1e-4, 0.6, t, r)),
    "mostly sampled": ([(PoissonGaussianLoss(0.97, 0.2), 30)], lambda t, r: 30 * sampled(0.97, 5.0, t, r)),
    "little noise": ([(PoissonGaussianLoss(0.2, 1 / 0.3), 3)], lambda t, r: 3 * sampled(0.2, 0.3, t, r)),
    "Gaussian": ([(GaussianLoss(0.01), 7)], lambda t, r: 7 * t * (t + 1) * 5e-5),
    "Laplace": ([(LaplaceLoss(0.1), 1000)], lambda t, r: 1000 * laplace(0.1, t)),
    "responses": ([(pair(1.5), 40)], lambda t, r: 40 * response(1.5, t)),
    "mixture": ([(LaplaceLoss(0.3), 50), (GaussianLoss(0.2), 30), (pair(0.05), 900)],
                lambda t, r: 50 * laplace(0.3, t) + 30 * t * (t + 1) * 0.02 + 900 * response(0.05, t)),
}


@pytest.mark.parametrize("conversion", EPSILON)
@pytest.mark.parametrize("name", CASES)
def test_against_a_dense_search(name, conversion):
    history, moment = CASES[name]
    ledger = RenyiAccountant(conversion)
    for loss, times in history:
        ledger.add(loss, times)
    directions = (True, False) if isinstance(history[0][0], PoissonGaussianLoss) else (True,)
    for delta in (0.1, 1e-6, 1e-80):
        epsilon, order = ledger.epsilon(delta), ledger.best_order(delta)
        if order == np.inf:  # of pure mechanisms at a small delta
            assert epsilon == pytest.approx(sum(loss.maximum * times for loss, times in history), rel=1e-15)
            continue
        lower = 0.8 * epsilon + 0.02
        other, small = search_delta(ledger._curves(), lower, conversion)
        assert ledger.delta(lower) == small
        for found, at, convert, target in ((epsilon, order, EPSILON, delta), (small, other, DELTA, lower)):
            dense = -np.inf
            for remove in directions:
                u, least = np.log(at - 1) + np.linspace(-1, 1, 21), np.inf  # and closer and closer around the least
                for _ in range(4):
                    t = np.exp(u)
                    values = convert[conversion](1 + t, moment(t, remove) / t, target)
                    i = int(np.argmin(values))
                    least, u = min(least, values[i]), np.linspace(u[max(i - 1, 0)], u[min(i + 1, 20)], 21)
                dense = max(dense, least)
            # relative in epsilon; in delta relative in its logarithm, which moves by t times what epsilon does
            off, size = (found - dense, dense) if convert is EPSILON else (np.log(found / dense), 1 - np.log(dense))
            assert -1e-11 * size <= off <= 1e-9 * size, (target, found, dense)


def test_far_orders_walls_and_bends():
    for rho in (1e-16, 1e-8, 1e8, 1e16):  # orders from 1 + 1e-8 to 1e8, against the closed form
        assert cv.rdp_curve_to_epsilon(lambda a, r=rho: r * a, 1e-5, "mironov") == pytest.approx(
            rho + 2 * np.sqrt(rho * np.log(1e5)), rel=1e-11)
        assert cv.rdp_curve_to_delta(lambda a, r=rho: r * a, rho + 3 * np.sqrt(rho), "mironov") == pytest.approx(
            np.exp(-9 / 4), rel=1e-6 if rho < 1 else 1e-7)  # e**(-(epsilon - rho)**2 / (4 rho))
    for wall in (0.003, 1.0, 20.0):  # nothing is known beyond: the best order is the last one
        order, epsilon = search_epsilon([lambda a, w=wall: np.where(a - 1 <= w, 0.01 * a, np.inf)], 1e-30, "cks")
        last = cv.rdp_to_epsilon_cks(1 + wall, 0.01 * (1 + wall), 1e-30)
        assert last * (1 - 1e-12) <= epsilon <= last * (1 + 1e-6)
        assert order == pytest.approx(1 + wall, rel=1e-6)
    for conversion in EPSILON:  # the larger of two lines, which meet at the best order, 4: both sides are worse
        bent = cv.rdp_curve_to_epsilon(lambda a: np.maximum(0.5 * a, 4 * (a - 3.5)), 1e-6, conversion)
        assert bent == pytest.approx(EPSILON[conversion](4.0, 2.0, 1e-6), rel=1e-6)
    # and a ledger with such an entry
    ledger = RenyiAccountant("mironov").add(RDP(lambda a: np.where(a <= 3, 0.1 * a, np.inf))).add(GaussianLoss(1e-3))
    assert ledger.epsilon(1e-9) == pytest.approx(cv.rdp_to_epsilon_mironov(3, 0.3 + 1.5e-6, 1e-9), rel=1e-6)
    assert search_epsilon([lambda a: np.where(a < 2, 0.0, np.inf)], 1e-9, "optimal")[1] == 0


@pytest.mark.parametrize(("q", "mu"), [(1e-9, 0.5), (1e-4, 1 / 0.6), (0.01, 1.0), (0.3, 0.05), (0.6, 3.0), (1 - 1e-6, 0.5)])
def test_moments_of_the_sampled_gaussian_are_bounds(q, mu):
    """At whole t the "remove" moment is a binomial sum; the "add" one is integrated. Alone and among others, and after larger ones."""
    def remove(n):
        return mp.log(mp.fsum(mp.binomial(n + 1, k) * (1 - mp.mpf(q)) ** (n + 1 - k) * mp.mpf(q) ** k
                              * mp.exp(k * (k - 1) * mp.mpf(mu) ** 2 / 2) for k in range(n + 2)))

    def add(n):  # E[h**-n - 1 + n (h - 1)], so that nothing cancels
        def integrand(x):
            y = mp.mpf(q) * mp.expm1(mu * x - mp.mpf(mu) ** 2 / 2)
            return mp.npdf(x) * ((1 + y) ** -n - 1 + n * y)

        low = -12 - n * mu
        return mp.log1p(mp.quad(integrand, [low + (12 - low) * mp.mpf(k) / 24 for k in range(25)]))

    with mp.workdps(50):
        truth = {"remove": {n: remove(n) for n in (1, 2, 5, 9, 30, 60)}, "add": {n: add(n) for n in (1, 5, 30)}}
    for direction, values in truth.items():
        loss = PoissonGaussianLoss(q, mu, direction)
        many = dict(zip(values, loss._cumulant_above(np.array(list(values), dtype=float)), strict=True))
        for n, exact in values.items():
            alone = PoissonGaussianLoss(q, mu, direction)._cumulant_above(np.array([float(n)]))[0]
            for value, most in ((many[n], 1e-9), (alone, 1e-10), (loss._cumulant_above(np.array([float(n)]))[0], 1e-10)):
                assert 0 <= value - exact <= most * exact + 2e-21 * (1 + n) + 4e-15 * exact, (direction, n)


@pytest.mark.parametrize("loss", [LaplaceLoss(1e-7), LaplaceLoss(0.1), LaplaceLoss(30.0), pair(1e-4), pair(0.1), pair(20.0),
                                  DiscreteLoss.from_probabilities([0.1, 0.2, 0.7], [1e-9, 0.6, 0.4 - 1e-9])])
def test_quick_moments_are_bounds(loss):
    t = np.array([0.25, 1.0, 3.0, 40.0, 1e4])
    with mp.workdps(40):
        if isinstance(loss, LaplaceLoss):
            b = mp.mpf(loss.bound)
            exact = [mp.log(((s + 1) * mp.exp(s * b) + s * mp.exp(-(s + 1) * b)) / (2 * s + 1)) for s in map(mp.mpf, t)]
        else:
            mass = [mp.exp(mp.mpf(float(p))) for p in loss.log_masses]
            exact = [mp.log(mp.fsum(p * mp.exp(s * mp.mpf(float(x))) for p, x in zip(mass, loss.losses, strict=True)) / mp.fsum(mass))
                     for s in map(mp.mpf, t)]
        for value, truth in zip(loss._cumulant_above(t), exact, strict=True):
            assert -1e-11 * truth <= value - truth <= 1e-9 * truth
