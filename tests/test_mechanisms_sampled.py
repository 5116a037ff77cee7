"""Poisson sampling and sampling without replacement."""

from __future__ import annotations

import numpy as np
import pytest
from laws import ORACLES

import dpnotes.privacy_loss
from dpnotes.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    RandomizedResponse,
    ThresholdedCount,
)
from dpnotes.privacy_loss import DiscreteLoss, poisson_sampled_loss

REPLACE = "replace one record"
needs_sampled_gaussian = pytest.mark.skipif(not hasattr(dpnotes.privacy_loss, "PoissonGaussianLoss"),
                                            reason="the sampled Gaussian's loss is not there yet")


def laws(mechanism, reach=4000):
    """(P, Q) on the whole numbers, at distance `sensitivity`."""
    x = np.arange(-reach, reach + 1)
    log_weights = (-((x / mechanism.sigma) ** 2) / 2 if isinstance(mechanism, DiscreteGaussian)
                   else -np.abs(x) / float(mechanism.scale))
    p = np.exp(log_weights)
    p /= p.sum()
    return np.roll(p, mechanism.sensitivity), p


def hockey_stick(p, q, epsilon):
    return np.maximum(p - np.exp(epsilon) * q, 0).sum()


@pytest.mark.parametrize("q", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("mechanism", [DiscreteLaplace(1.0), DiscreteLaplace(3.0, 2), DiscreteGaussian(1.5)], ids=repr)
def test_poisson_against_the_mixture(mechanism, q):
    """Both directions, from the mixture's probabilities themselves."""
    p, other = laws(mechanism)
    mixture = (1 - q) * other + q * p
    losses = mechanism.poisson_sampled(q).privacy_losses()
    assert set(losses) == {"remove", "add"}
    for epsilon in (0.0, 1e-3, 0.05, 0.4):
        for name, pair in [("remove", (mixture, other)), ("add", (other, mixture))]:
            exact = hockey_stick(*pair, epsilon)
            assert losses[name].delta(epsilon) >= exact * (1 - 1e-12) - 1e-16
            assert losses[name].delta(epsilon) == pytest.approx(exact, rel=1e-4, abs=1e-14)
            if isinstance(mechanism, DiscreteLaplace):
                assert losses[name].delta(epsilon) == pytest.approx(exact, rel=1e-11, abs=1e-15)


@needs_sampled_gaussian
def test_poisson_sampled_gaussian():
    losses = Gaussian(1.0).poisson_sampled(0.1).privacy_losses()
    assert losses["remove"].delta(1.0) == pytest.approx(ORACLES["poisson_gauss_delta_remove_q0.1_mu1_eps1"], rel=1e-12)
    assert losses["add"].delta(-np.log(0.9) + 1e-9) == 0
    sampled = Gaussian(1.0).poisson_sampled(0.1)
    assert sampled.rho <= 0.5 and sampled.mu <= 1.0 and sampled.pure_epsilon == np.inf
    assert sampled.kinds["loss"] == "exact"
    alpha = np.array([2.0, 8.0])
    assert np.all(sampled.renyi(alpha) <= alpha * sampled.rho)


@pytest.mark.parametrize("q", [0.01, 0.5])
@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_poisson_sampled_laplace_is_bounded_closely(q, scale):
    """delta = q delta(log(1 + (e**epsilon - 1) / q)) for removal; the chords are above it, by little."""
    mechanism = Laplace(scale)
    remove = mechanism.poisson_sampled(q).privacy_losses()["remove"]
    for epsilon in (0.0, 1e-3, 0.02, 0.3):
        exact = q * mechanism.privacy_loss().delta(np.log1p(np.expm1(epsilon) / q))
        assert exact * (1 - 1e-12) <= remove.delta(epsilon) <= exact * (1 + 2e-4) + 1e-15


def test_pure_epsilon_of_samples():
    expected = ORACLES["subsample_pure_q0.01_eps1"]
    for sampled in (Laplace(1.0).poisson_sampled(0.01), DiscreteLaplace(1.0).poisson_sampled(0.01),
                    RandomizedResponse(1.0).poisson_sampled(0.01), ExponentialMechanism(1.0).poisson_sampled(0.01),
                    Laplace(1.0, neighbors=REPLACE).sampled_without_replacement(1, 100)):
        assert sampled.pure_epsilon == pytest.approx(expected, rel=1e-12)
        top = max(loss.maximum for loss in sampled.privacy_losses().values())
        assert top == pytest.approx(expected, rel=1e-12)
        for currency, (value, _) in sampled.guarantees().items():
            assert value <= getattr(sampled.mechanism, currency)
        alpha = 1 + np.geomspace(1e-4, 1e3, 60)
        assert np.all(sampled.renyi(alpha) <= alpha * sampled.rho * (1 + 1e-9))
    assert Laplace(0.001).poisson_sampled(0.1).pure_epsilon == pytest.approx(1000 + np.log(0.1), rel=1e-14)


def test_limits_of_q():
    for mechanism in (Laplace(1.0), DiscreteLaplace(1.0), RandomizedResponse(1.0)):
        nothing = mechanism.poisson_sampled(0.0)
        assert all(loss.delta(0.0) == 0 for loss in nothing.privacy_losses().values()) and nothing.pure_epsilon == 0
        everything = mechanism.poisson_sampled(1.0).privacy_losses()
        for epsilon in (0.0, 0.5):
            for loss in everything.values():
                assert loss.delta(epsilon) == pytest.approx(mechanism.privacy_loss().delta(epsilon), rel=1e-4)
    some = Laplace(1.0, neighbors=REPLACE)
    assert some.sampled_without_replacement(0, 5).privacy_loss().maximum == 0
    assert some.sampled_without_replacement(5, 5).privacy_loss().delta(0.3) == some.privacy_loss().delta(0.3)


def test_distinguishing_events_survive_sampling():
    """The sampled pair of P with a secret output and Q without it: only a sampled record can show it."""
    p, q = np.array([0.1, 0.5, 0.4, 0.0]), np.array([0.0, 0.3, 0.5, 0.2])
    sampled = poisson_sampled_loss(DiscreteLoss.from_probabilities(p, q), 0.25)
    direct = DiscreteLoss.from_probabilities(0.75 * q + 0.25 * p, q)
    for epsilon in (-1.0, 0.0, 0.2, 1.0):
        assert sampled.delta(epsilon) == pytest.approx(direct.delta(epsilon), rel=1e-12)
        assert sampled.swapped.delta(epsilon) == pytest.approx(direct.swapped.delta(epsilon), rel=1e-12)
    assert sampled.infinity_mass == pytest.approx(0.025)


@pytest.mark.parametrize(("m", "n"), [(1, 4), (2, 5), (3, 4)])
def test_without_replacement_by_enumeration(m, n):
    """Noisy sums of m of n records from {0, 1}: all data, all neighbors, the exact mixture over subsets."""
    from itertools import combinations, product

    mechanism = DiscreteLaplace(2.0, 1, neighbors=REPLACE)  # a sum of records in {0, 1}
    loss, x = mechanism.sampled_without_replacement(m, n).privacy_loss(), np.arange(-400, 401)
    noise = np.exp(-np.abs(x) / 2)
    noise /= noise.sum()

    def law(data):
        subsets = list(combinations(range(n), m))
        return sum(np.roll(noise, sum(data[i] for i in subset)) for subset in subsets) / len(subsets)

    worst = 0.0
    for others in product([0, 1], repeat=n - 1):
        a, b = law((0, *others)), law((1, *others))
        for epsilon in (0.0, 0.01, 0.05, 0.1):
            for pair in ((a, b), (b, a)):
                exact = hockey_stick(*pair, epsilon)
                assert exact <= loss.delta(epsilon) * (1 + 1e-9) + 1e-15
                worst = max(worst, exact / loss.delta(epsilon) if epsilon == 0 else 0)
    assert worst > 0.6  # not far above the truth, either


@pytest.mark.parametrize("mechanism", [Laplace(1.0, 2.0, neighbors=REPLACE), Gaussian(1.0, 2.0, neighbors=REPLACE),
                                       RandomizedResponse(1.0), DiscreteGaussian(2.0, 3, neighbors=REPLACE)], ids=repr)
def test_without_replacement_curve(mechanism):
    sampled = mechanism.sampled_without_replacement(10, 200)
    loss, q = sampled.privacy_loss(), 0.05
    for epsilon in (0.0, 1e-4, 1e-3, 0.01, 0.05, 0.2):
        exact = q * mechanism.privacy_loss().delta(np.log1p(np.expm1(epsilon) / q))
        assert exact * (1 - 1e-11) <= loss.delta(epsilon) <= exact * (1 + 1e-3) + 1e-15
        below = -np.expm1(-epsilon) + np.exp(-epsilon) * loss.delta(epsilon)  # the mirror image
        assert loss.delta(-epsilon) == pytest.approx(below, rel=1e-12)
    masses = np.exp(loss.log_masses)
    assert masses.sum() + loss.infinity_mass == pytest.approx(1, abs=1e-12)
    assert sampled.renyi(2.0) <= mechanism.renyi(2.0)


def test_releases():
    rng = np.random.default_rng(50)
    records = np.tile([[0.6, -0.8], [1.0, 0.0]], (500, 1))
    sampled = Gaussian(1e-6).poisson_sampled(0.25)
    sums = np.array([sampled.release(records, rng=rng) for _ in range(400)])
    expected = 0.25 * records.sum(axis=0)
    spread = np.sqrt(0.25 * 0.75 * (records**2).sum(axis=0))
    assert np.all(np.abs(sums.mean(axis=0) - expected) < 5.5 * spread / 20)
    assert np.all(np.abs(sums.std(axis=0) / spread - 1) < 5.5 / np.sqrt(800))
    assert sampled.sampling == "Poisson sampling q=0.25"
    fixed = Gaussian(1e-9, 2.0, neighbors=REPLACE).sampled_without_replacement(7, 20)
    assert fixed.release(np.ones(20), rng=rng) == pytest.approx(7, abs=1e-6)
    draws = np.array([np.bincount(fixed.sample(rng=rng), minlength=20) for _ in range(2000)])
    assert draws.max() == 1 and np.all(draws.sum(axis=1) == 7)
    assert np.all(np.abs(draws.mean(axis=0) - 0.35) < 5.5 * np.sqrt(0.35 * 0.65 / 2000))
    whole = DiscreteLaplace(1e-3).poisson_sampled(0.5).release(np.ones(100, int), rng=rng)
    assert isinstance(whole, int) and 20 < whole < 80
    local = RandomizedResponse(8.0).poisson_sampled(0.5).release(np.ones(4000, int), rng=rng)
    assert local.shape == (4000,) and abs(local.mean() - 0.5) < 0.06


def test_refusals():
    with pytest.raises(ValueError, match="replace one record"):
        Gaussian(1.0).sampled_without_replacement(1, 2)
    with pytest.raises(ValueError, match="add/remove"):
        Gaussian(1.0, neighbors=REPLACE).poisson_sampled(0.1)
    for bad in (-0.1, 1.1, np.nan, "x", [0.1]):
        with pytest.raises(ValueError, match="q"):
            Laplace(1.0).poisson_sampled(bad)
    for m, n in [(3, 2), (-1, 2), (1.0, 2), (0, 0)]:
        with pytest.raises(ValueError, match=r"m|n"):
            Laplace(1.0, neighbors=REPLACE).sampled_without_replacement(m, n)
    with pytest.raises(ValueError, match="clipped"):
        Gaussian(1.0).poisson_sampled(0.1).release([[3.0, 4.0]])
    with pytest.raises(ValueError, match="clipped"):
        Laplace(1.0).poisson_sampled(0.1).release([[0.6, 0.6]])
    with pytest.raises(ValueError, match="cannot add up"):
        ExponentialMechanism(1.0).poisson_sampled(0.1).release([1.0])
    with pytest.raises(ValueError, match="privacy loss for each"):
        ThresholdedCount(1.0, 3.0).poisson_sampled(0.1)
    with pytest.raises(ValueError, match="rows"):
        Laplace(1.0, neighbors=REPLACE).sampled_without_replacement(1, 3).release([1.0])
