"""The discrete Gaussian's privacy loss against sums in high precision, and its two ways of summing against each other."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from laws import ORACLES, assert_cdf

from dpnotes.privacy_loss import GaussianLoss, _lattice
from dpnotes.privacy_loss._lattice import DiscreteGaussianLoss


def reference(sigma, shift):
    """(probability, loss) of every whole number that counts, in 90 digits."""
    mp.mp.dps = 90
    reach = int(45 * sigma) + 45 + shift
    weights = [mp.e ** (-(mp.mpf(y) ** 2) / (2 * mp.mpf(sigma) ** 2)) for y in range(-reach, reach + 1)]
    total = mp.fsum(weights)
    return [(w / total, shift * (y + mp.mpf(shift) / 2) / mp.mpf(sigma) ** 2)
            for y, w in zip(range(-reach, reach + 1), weights, strict=True)]


@pytest.mark.parametrize(("sigma", "shift"), [(0.1, 1), (0.5, 1), (1.0, 1), (2.0, 3), (1.1, 5), (10.0, 1), (12.5, 30)])
def test_against_sums_in_high_precision(sigma, shift):
    loss, pairs = DiscreteGaussianLoss(sigma, shift), reference(sigma, shift)
    for epsilon in (0.0, 0.3, 1.0, 7.0, -0.5):
        if epsilon > pairs[-50][1]:
            continue  # beyond the reference
        exact = mp.log(mp.fsum(p * (1 - mp.e ** (epsilon - l)) for p, l in pairs if l > epsilon))
        assert abs(loss.log_delta(epsilon) - float(exact)) <= 4e-15 * (10 + abs(float(exact)))
        low, high = loss.log_delta_bounds(epsilon)
        assert low <= exact <= high
    for value in (-3.01, -0.2, 0.123, 2.02):
        exact = mp.fsum(p for p, l in pairs if l > value)
        assert loss.tail(value) == pytest.approx(float(exact), rel=1e-13)
        assert loss.cdf(value) == pytest.approx(float(mp.fsum(p for p, l in pairs if l <= value)), rel=1e-13)
    for t in (-3.2, -0.5, 0.37, 1.0, 4.6):
        exact = mp.log(mp.fsum(p * mp.e ** (t * l) for p, l in pairs))
        assert loss.log_mgf(t) == pytest.approx(float(exact), rel=1e-12, abs=1e-14)
    z = np.array([0.7 + 0.0j, 0.7 + 2.3j, 0.7 + 40.0j])
    value, error = loss._on_line(z)
    for zj, v, e in zip(z, value, error, strict=True):
        exact = mp.fsum(p * mp.e ** (mp.mpc(zj) * l) for p, l in pairs)
        assert abs(mp.e ** mp.mpc(v) / exact - 1) <= e
    assert loss.mean() == pytest.approx(float(mp.fsum(p * l for p, l in pairs)), rel=1e-14)


def test_oracles():
    loss = DiscreteGaussianLoss(0.5**0.5)
    assert loss.delta(1.0) == pytest.approx(ORACLES["dgauss_delta_s2_0.5_eps1"], rel=1e-13)
    assert loss.renyi(2.0) == pytest.approx(ORACLES["dgauss_rdp_s2_0.5_a2"], rel=1e-14)
    assert loss.renyi(2.5) < 2.5  # below alpha / (2 sigma**2) between whole orders


@pytest.mark.parametrize(("sigma", "shift"), [(1500.0, 1), (1500.0, 300), (3000.0, 9000), (2000.5, 100_000), (1001.0, 12_000)])
def test_integrals_with_corrections_agree_with_sums(monkeypatch, sigma, shift):
    """From sigma = 1000 on, Euler-Maclaurin; the sum over every whole number is the second route."""
    loss = DiscreteGaussianLoss(sigma, shift)
    points = np.concatenate([np.linspace(0, 1, 5), [8.0, 100.0], 3 * loss.step * np.array([0.3, 1.7])])
    short, tails = loss.log_delta(points), loss.tail(points)
    monkeypatch.setattr(_lattice, "_WIDE", np.inf)
    np.testing.assert_allclose(short, loss.log_delta(points), rtol=2e-15, atol=4e-15)
    np.testing.assert_allclose(tails, loss.tail(points), rtol=1e-13)


@pytest.mark.parametrize("sigma", [1e4, 1e6, 1e9, 2.0**60])
def test_large_sigma_tends_to_the_gaussian(sigma):
    shift = int(sigma)
    loss, limit = DiscreteGaussianLoss(sigma, shift), GaussianLoss(shift / sigma)
    for epsilon in (0.0, 0.5, 2.0, 10.0):
        assert loss.log_delta(epsilon) == pytest.approx(limit.log_delta(epsilon), rel=10 / sigma**2 + 1e-14, abs=1e-14)
    assert loss.epsilon(1e-5) == pytest.approx(limit.epsilon(1e-5), rel=1e-7)
    assert loss.tail(1.0) == pytest.approx(limit.tail(1.0), rel=1 / sigma)


def test_readings_hang_together():
    loss = DiscreteGaussianLoss(1.3, 2)
    u = np.array([0.01, 0.3, 0.5, 0.9, 0.999])
    values = loss.quantile(u)
    assert np.all(loss.cdf(values) >= u) and np.all(loss.cdf(values - loss.step / 2) < u)
    assert loss.quantile(0.0) == -np.inf and loss.quantile(1.0) == np.inf
    for delta in (1e-3, 1e-10):
        low, high = loss.epsilon_bounds(delta)
        assert low <= high <= low * (1 + 1e-12) and loss.delta(high) <= delta
    assert loss.delta(np.inf) == 0 and loss.delta(-np.inf) == 1 and loss.tail(np.inf) == 0 and loss.tail(-np.inf) == 1
    assert loss.epsilon(1.0) == 0 and loss.epsilon(0.0) == np.inf
    assert loss.renyi(np.inf) == np.inf and loss.renyi(1.0) == loss.mean()
    assert loss == DiscreteGaussianLoss(1.3, 2) or loss._key() == DiscreteGaussianLoss(1.3, 2)._key()
    assert_cdf(loss.sample(20_000, np.random.default_rng(1)), loss.cdf, width=1e-11)
    with pytest.raises(ValueError, match="shift"):
        DiscreteGaussianLoss(1.0, 0)
    with pytest.raises(ValueError, match="sigma"):
        DiscreteGaussianLoss(0.0)
