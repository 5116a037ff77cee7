"""Sums of losses with many atoms: moments against mpmath, brackets against exact enumeration and plain convolution."""

from __future__ import annotations

from math import comb, factorial

import mpmath as mp
import numpy as np
import pytest

from dpnotes.privacy_loss import DiscreteGaussianLoss, DiscreteLoss, IndependentSum, LaplaceLoss
from dpnotes.privacy_loss._atoms import common_step, line_moments
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._lattice_inversion import LatticeInversion, LatticeLine, common_lattice
from dpnotes.privacy_loss._sampled_laplace import PoissonLaplaceLoss
from dpnotes.privacy_loss._sums import _compositions

EPSILONS = (0.0, 0.3, 1.1, 2.9)


def random_pair(seed):
    """A finite pair with, by turns, distinguishing events on either side, equal losses, a lattice, tiny losses."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    q = rng.dirichlet(np.ones(n))
    if seed % 3 == 1:  # losses on a lattice
        p = q * np.exp(rng.choice([-2, -1, 0, 1, 3], n) * rng.uniform(0.1, 0.8))
        p /= p.sum()
    else:
        p = rng.dirichlet(np.ones(n)) if seed % 4 else q * np.exp(rng.normal(scale=1e-3, size=n))
        p /= p.sum()
    if seed % 5 == 2:
        p, q = np.append(p * 0.999, [0.001, 0.0]), np.append(q * 0.9, [0.0, 0.1])
    if seed % 5 == 3:  # two outputs with one loss
        p, q = np.append(p[1:], [p[0] / 2, p[0] / 2]), np.append(q[1:], [q[0] / 2, q[0] / 2])
    return p, q


class Enumerated:
    """The sum of `times` losses from every way to draw the outputs, in 40 digits."""

    def __init__(self, p, q, times):
        mp.mp.dps = 40
        p, q = ([mp.mpf(float(v)) for v in law] for law in (p, q))
        self.leak = 1 - (1 - sum(a for a, b in zip(p, q, strict=True) if b == 0) / sum(p)) ** times
        finite = [(a / sum(p), a / b) for a, b in zip(p, q, strict=True) if a > 0 and b > 0]
        powers = [([a**k / factorial(k) for k in range(times + 1)], [r**k for k in range(times + 1)]) for a, r in finite]
        self.pairs = []
        for counts in _compositions(times, len(finite)).tolist():
            mass, ratio = mp.mpf(factorial(times)), mp.mpf(1)
            for k, (masses, ratios) in zip(counts, powers, strict=True):
                mass, ratio = mass * masses[k], ratio * ratios[k]
            self.pairs.append((mass, ratio))

    def delta(self, epsilon):
        e = mp.e ** mp.mpf(epsilon)
        return self.leak + mp.fsum(mass * (1 - e / ratio) for mass, ratio in self.pairs if ratio > e)


@pytest.mark.parametrize("seed", range(66))
def test_brackets_hold_against_enumeration(seed):
    p, q = random_pair(seed)
    times = (2, 4, 9)[seed // 3 % 3]
    for one, other in ((p, q), (q, p)):
        loss = DiscreteLoss.from_probabilities(one, other)
        if not len(loss.losses):
            continue
        exact, total = Enumerated(one, other, times), IndependentSum([(loss, times)])  # the general route, whatever the public one is
        for epsilon in EPSILONS:
            low, high = total.log_delta_bounds(epsilon)
            truth, slack = exact.delta(epsilon), mp.mpf("1e-12")  # of probabilities that add up to 1 but for rounding
            assert mp.e ** mp.mpf(low) * (1 - slack) - slack / 100 <= truth <= mp.e ** mp.mpf(high) * (1 + slack) + slack / 100
        for delta in (0.03, 1e-4, 1e-9):
            lower, upper = total.epsilon_bounds(delta)
            if np.isinf(upper):
                assert total.infinity_mass > delta
                continue
            assert exact.delta(upper) <= delta * (1 + 1e-9)
            assert lower == 0 or exact.delta(max(lower * (1 - 1e-13) - 1e-13, 0)) >= delta * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_many_copies_against_plain_convolution(seed):
    """Positive masses on a lattice, 64 copies by np.convolve, loses only a few roundings: an independent route."""
    rng = np.random.default_rng(100 + seed)
    n, step = int(rng.integers(20, 300)), 0.37 / 2**seed
    q = np.convolve(rng.dirichlet(np.ones(n)), [0.25, 0.5, 0.25])
    losses = step * (np.arange(len(q)) - len(q) / 2 + rng.uniform())
    p = q * np.exp(losses)
    losses, p = losses - np.log(p.sum()), p / p.sum()
    loss, total, first = DiscreteLoss.from_log_masses(losses, np.log(p)), p, losses[0]
    for _ in range(6):
        total, first = np.convolve(total, total), 2 * first
    sums = first + step * np.arange(len(total))
    composed = loss.repeat(64)
    assert isinstance(composed._solver, LatticeInversion)
    for epsilon in (0.0, composed.mean(), composed.mean() + 30 * step):
        if epsilon >= composed.maximum:
            continue
        exact = np.log(np.sum(total * -np.expm1(np.minimum(epsilon - sums, 0.0))))
        low, high = composed.log_delta_bounds(epsilon)
        assert low - 1e-11 <= exact <= high + 1e-11 and high - low < 1e-9
        beyond = np.log(np.sum(total[sums > epsilon]))
        low, high = composed._log_tail_bounds(epsilon + step / 3)
        assert low - 1e-11 <= np.log(np.sum(total[sums > epsilon + step / 3])) <= high + 1e-11 and high - low < 1e-9
        assert composed._log_tail_bounds(epsilon)[1] >= beyond - 1e-11


@pytest.mark.parametrize("seed", range(4))
def test_many_atoms_off_any_lattice(seed):
    """Losses rounded up, or down, to a fine lattice give bounds by plain convolution that the bracket must overlap; it is narrow."""
    rng = np.random.default_rng(seed)
    n, times, fine = 400, (3, 8, 30, 100)[seed], 2.0**-12
    p = rng.dirichlet(np.full(n, 3.0))
    q = p * np.exp(rng.normal(scale=0.2 / times**0.5, size=n))
    loss = DiscreteLoss.from_probabilities(p, q / q.sum())
    composed = loss.repeat(times)
    assert type(composed._solver) is Inversion
    at = loss.mean() * times + 0.3
    bounds = []
    for turn in (np.floor, np.ceil):
        steps = turn(loss.losses / fine).astype(int)
        one = np.bincount(steps - steps.min(), np.exp(loss.log_masses))
        total = np.ones(1)
        for _ in range(times):
            total = np.convolve(total, one)
        sums = fine * (times * steps.min() + np.arange(len(total)))
        bounds.append(np.sum(total * -np.expm1(np.minimum(at - sums, 0.0))))
    low, high = np.exp(composed.log_delta_bounds(at))
    assert bounds[0] <= high and low <= bounds[1]
    lower, upper = composed.epsilon_bounds(1e-5)
    assert 0 < lower <= upper <= lower * (1 + 3e-6)


@pytest.mark.parametrize(("lattice", "count"), [(False, 2**14 + 1), (True, 2**13 + 1), (False, 1000)])
def test_moments_of_many_atoms(lattice, count):
    rng = np.random.default_rng(3)
    losses = 0.01 * np.arange(300) - 1 if lattice else np.sort(rng.normal(size=300))
    log_masses, c = np.log(rng.dirichlet(np.ones(300))), 2.3
    z = c + 1j * (2 * np.pi / 0.02 / (count - 1) if lattice else 0.3) * np.arange(count)
    loss = DiscreteLoss(losses, log_masses, 0.0, 0.0)
    value, error = line_moments(losses, log_masses, z, loss._moment, float(loss._cumulant(z[:1].real)[0]))
    mp.mp.dps = 30
    for j in [0, 5, 63, 64, 65, 200, *rng.integers(66, count, 25), count - 1]:
        exact = mp.fsum(mp.exp(mp.mpf(float(m)) + mp.mpc(z[j]) * mp.mpf(float(l)))
                        for l, m in zip(losses, log_masses, strict=True))
        assert abs(mp.exp(mp.mpc(value[j])) / exact - 1) <= error[j]
    assert np.median(error * np.exp(value.real - value[0].real)) < 1e-10


def test_lattices_are_found():
    assert common_step(np.array([0.0, 2.0, 5.0]), 5.0) == (1.0, 0.0)
    assert common_step(np.array([0.0, 1.0, np.sqrt(2)]), 2.0) is None
    assert common_step(np.zeros(2), 1.0) == (np.inf, 0.0)
    halves = DiscreteLoss.from_log_masses([0.5, -0.5], [-np.logaddexp(0, -0.5), -np.logaddexp(0, 0.5)])
    thirds = DiscreteLoss.from_log_masses([1.5, -1.5], [-np.logaddexp(0, -1.5), -np.logaddexp(0, 1.5)])
    origin, step, off = common_lattice([(halves, 2), (thirds, 3)])
    assert step == 1.0 and (origin - 0.5) % 1.0 == 0.0 and off < 1e-8
    assert common_lattice([(halves, 2), (LaplaceLoss(1.0), 1)]) is None


def test_hundred_narrow_discrete_gaussians():
    """sigma 0.3, a hundred copies: values 100/9 apart. The exact sum by enumeration of three values and a bound on the rest."""
    loss = DiscreteGaussianLoss(0.3).repeat(100)
    lower, upper = loss.epsilon_bounds(1e-6)
    assert isinstance(loss._solver.line, LatticeLine) and 0 < lower <= upper <= lower * (1 + 1e-12)
    y = np.arange(-8, 9)
    weights = np.exp(-((y / 0.3) ** 2) / 2)
    total = np.ones(1)
    for _ in range(100):
        total = np.convolve(total, weights / weights.sum())
    sums = (np.arange(len(total)) - 800 + 50) / 0.09
    for epsilon in (lower, upper):
        assert np.sum(total * -np.expm1(np.minimum(epsilon - sums, 0.0))) == pytest.approx(1e-6, rel=1e-9)


def test_two_lattices_together():
    """Discrete Gaussians and randomized response on multiples of one step; enumeration with np.convolve."""
    gaussian = DiscreteGaussianLoss(2.0)  # step 1/4, offset 1/8
    response = DiscreteLoss.from_log_masses([0.5, -0.5], [-np.logaddexp(0, -0.5), -np.logaddexp(0, 0.5)])
    made = gaussian.repeat(20) + response.repeat(30)
    assert isinstance(made._solver, LatticeInversion)
    y = np.arange(-40, 41)
    one = np.exp(-(y**2) / 8.0)
    total = np.ones(1)
    for _ in range(20):
        total = np.convolve(total, one / one.sum())
    k = np.arange(31)
    binomial = np.array([comb(30, int(i)) for i in k]) * np.exp(k * 0.5) / (1 + np.exp(0.5)) ** 30
    spread = np.zeros(121)
    spread[4 * k] = binomial
    total = np.convolve(total, spread)
    sums = 0.25 * (np.arange(len(total)) - 800 - 60) + 2.5
    for epsilon in (0.0, 3.1, 9.0):
        exact = np.log(np.sum(total * -np.expm1(np.minimum(epsilon - sums, 0.0))))
        low, high = made.log_delta_bounds(epsilon)
        assert low - 1e-12 <= exact <= high + 1e-12 and high - low < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_epsilon_of_few_copies_off_any_lattice(seed):
    """All sums by numpy, sorted: between atoms delta is far from smooth, and Newton alone runs away."""
    rng = np.random.default_rng(seed)
    n, times = ((50, 3), (30, 3), (120, 2))[seed % 3]
    p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    loss = DiscreteLoss.from_probabilities(p, q)
    sums, masses = np.zeros(1), np.ones(1)
    for _ in range(times):
        sums, masses = np.add.outer(sums, loss.losses).ravel(), np.multiply.outer(masses, np.exp(loss.log_masses)).ravel()
    for delta in (0.1, 1e-3, 1e-5, 1e-8):
        lower, upper = IndependentSum([(loss, times)]).epsilon_bounds(delta)
        assert 0 < lower <= upper <= lower * (1 + 1e-3)
        for epsilon, side in ((lower * (1 - 1e-12), 1), (upper * (1 + 1e-12), -1)):
            assert side * (np.sum(masses * -np.expm1(np.minimum(epsilon - sums, 0.0))) - delta) >= -1e-9 * delta


@pytest.mark.parametrize("loss", [LaplaceLoss(1.0), PoissonLaplaceLoss(0.3, 1.0, "remove"), PoissonLaplaceLoss(0.3, 1.0, "add"),
                                  DiscreteLoss.from_probabilities([0.5, 0.2, 0.3], [0.2, 0.35, 0.45])])
def test_next_to_the_largest_loss(loss):
    """There the law is its last atom: delta = mass (1 - e**(epsilon - largest))."""
    total, mass = IndependentSum([(loss, 14)]), loss.tail(np.nextafter(loss.maximum, 0) - 1e-12) ** 14
    delta = 1e-9 * mass
    lower, upper = total.epsilon_bounds(delta)
    exact = total.maximum + np.log1p(-delta / mass)
    assert lower <= exact * (1 + 1e-14) and exact * (1 - 1e-14) <= upper and upper - lower < 1e-8
    low, high = total.log_delta_bounds(exact)
    assert low <= np.log(delta) + 1e-4 and np.log(delta) - 1e-4 <= high and low > np.log(delta) - 1e-4


def test_finite_losses_below_zero():
    """Beyond the mass at infinity nothing is above epsilon = 0: the answer is 0, not the largest finite loss."""
    loss = DiscreteLoss.from_probabilities([0.1, 0.9], [0.0, 1.0])
    total = IndependentSum([(loss, 3)])
    assert total.epsilon_bounds(0.3) == (0.0, 0.0) and total.epsilon(0.2) == np.inf
    assert total.delta(0.0) == pytest.approx(1 - 0.9**3)
