"""The whole-number samplers: laws, exactness, and the randomness under them."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from laws import P_LIMIT, assert_law, case
from scipy import stats

from dpnotes import noise

N = 100_000


@pytest.mark.parametrize("scale", [0.1, 0.5, 1, 2.7, Fraction(7, 3), 10, 55.5])
def test_discrete_laplace_law(scale):
    draws = noise.discrete_laplace(scale, N, rng=np.random.default_rng(10))
    assert draws.dtype == np.int64
    assert_law(draws, lambda x: -np.abs(x) / float(scale))


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.5, 1, 1.1, 3, Fraction(22, 7), 24.75, 90])
def test_discrete_gaussian_law(sigma):
    draws = noise.discrete_gaussian(sigma, N, rng=np.random.default_rng(11))
    assert draws.dtype == np.int64
    assert_law(draws, lambda x: -((x / float(sigma)) ** 2) / 2)


@pytest.mark.parametrize("scale", [1e4, 123456.789, 1e6, 1e9, 2.0**40, 2.0**55, 1e18, 10**30, 1e300])
def test_large_scales(scale):
    """Far above the lattice's step the laws are those of the continuous ones, to within what 10,000 draws can show."""
    rng = np.random.default_rng(12)
    for sample, law in [(noise.discrete_gaussian, stats.norm), (noise.discrete_laplace, stats.laplace)]:
        draws = sample(scale, 10_000, rng=rng)
        assert draws.dtype == (np.int64 if scale < 2**48 else object)
        assert stats.kstest(draws.astype(float) / float(scale), law.cdf).pvalue > P_LIMIT
        low_bits = np.array([int(x) % 16 for x in draws])  # the last digits are noise as well
        assert stats.chisquare(np.bincount(low_bits, minlength=16)).pvalue > P_LIMIT


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_the_digits_beyond_the_first_word(monkeypatch, bits):
    """With words of a few bits the fractions decide most tosses, not one in 2**31: the law stays the same."""
    monkeypatch.setattr(noise, "_BITS", bits)
    monkeypatch.setattr(noise, "_BASE", 1 << bits)
    rng = np.random.default_rng(13)
    assert_law(noise.discrete_laplace(2.5, 5000, rng=rng), lambda x: -np.abs(x) / 2.5)
    assert_law(noise.discrete_gaussian(Fraction(3, 2), 3000, rng=rng), lambda x: -((x / 1.5) ** 2) / 2)


def test_fixed_point_is_the_floor():
    """Long division in 64 bits against Python integers, and the same draws either way."""
    rng = np.random.default_rng(14)
    for bottom in [1, 3, 24200, 2 * 10**12, 2 * 10**16, 2**57 - 1, 2**61 - 1]:
        top = rng.integers(0, min(bottom * 1000, 2**62), 200)
        expected = [(int(t) << 31) // bottom for t in top]
        assert noise._fixed_point(top, bottom).tolist() == expected
        assert noise._fixed_point(top.astype(object), bottom).tolist() == expected


def test_bernoulli_exp_probability():
    for gamma in [Fraction(0), Fraction(1, 3), Fraction(1)]:
        fixed = np.full(N, int(gamma * 2**31))
        heads = noise._bernoulli_exp(fixed, lambda _, gamma=gamma: gamma, np.random.default_rng(15)).sum()
        p = float(np.exp(-float(gamma)))
        assert abs(heads - N * p) <= 5 * np.sqrt(N * p * (1 - p))  # 6e-7 of false alarms


def test_uniform_below():
    rng = np.random.default_rng(16)
    for n in [1, 2, 7, 2**31, 2**31 + 1, 10**25, 2**200]:
        draws = noise._uniform_below(n, 4000, rng)
        assert draws.min() >= 0 and draws.max() < n
        if n > 1000:
            assert stats.kstest(draws.astype(float) / n, "uniform").pvalue > P_LIMIT
    assert np.bincount(noise._uniform_below(7, 7000, rng)).min() > 800


def test_m06_small_scales_do_not_overflow():
    """M06: e**(1 / scale) overflows for small noise; here nothing does."""
    for scale in [1e-3, 1e-4, 1e-100, 5e-324, Fraction(1, 10**400)]:
        assert not noise.discrete_laplace(scale, 1000, rng=np.random.default_rng(1)).any()
        assert not noise.discrete_gaussian(scale, 1000, rng=np.random.default_rng(1)).any()
    assert case("M06") == [1.0]


def test_m07_geometric_noise_is_not_rounded_laplace():
    p0, p1, std, rounded = case("M07")
    draws = noise.discrete_laplace(1.0, 400_000, rng=np.random.default_rng(2))
    assert np.mean(draws == 0) == pytest.approx(p0, abs=5 * 8e-4)
    assert np.mean(draws == 1) == pytest.approx(p1, abs=5 * 6e-4)
    assert draws.std() == pytest.approx(std, rel=5 * 2e-3)
    assert abs(np.mean(draws == 0) - rounded) > 0.05


def test_m09_discrete_gaussian_at_all_sizes():
    var03, var05, var1, zero05, zero1 = case("M09")
    rng = np.random.default_rng(3)
    for sigma, variance in [(0.3, var03), (0.5, var05), (1.0, var1)]:
        draws = noise.discrete_gaussian(sigma, 100_000, rng=rng)
        error = np.sqrt(np.mean(draws.astype(float) ** 4) / draws.size)
        assert abs(np.mean(draws.astype(float) ** 2) - variance) < 5 * error
    assert np.mean(noise.discrete_gaussian(0.5, 100_000, rng=rng) == 0) == pytest.approx(zero05, abs=5 * 1.3e-3)
    assert np.mean(noise.discrete_gaussian(1.0, 100_000, rng=rng) == 0) == pytest.approx(zero1, abs=5 * 1.6e-3)
    for sigma in (1e6, 2.0**55):
        draws = noise.discrete_gaussian(sigma, 10_000, rng=rng).astype(float) / sigma
        assert abs(draws.mean()) < 5 / 100 and abs(draws.std() - 1) < 5 / np.sqrt(2e4)


def test_m10_seeds_and_shared_generators():
    same = [noise.discrete_laplace(5.0, 3, rng=np.random.default_rng(0)).tolist() for _ in range(2)]
    assert same[0] == same[1]
    rng = np.random.default_rng(0)
    first, second = noise.discrete_laplace(50.0, 20, rng=rng), noise.discrete_laplace(50.0, 20, rng=rng)
    assert first.tolist() != second.tolist() and len(set(first.tolist())) > 10
    assert "seed" in noise.__doc__


def test_shapes():
    rng = np.random.default_rng(4)
    for sample in (noise.discrete_laplace, noise.discrete_gaussian):
        assert type(sample(2.0, rng=rng)) is int
        assert type(sample(1e30, rng=rng)) is int
        assert sample(2.0, 0, rng=rng).shape == (0,)
        assert sample(2.0, (), rng=rng).shape == ()
        assert sample(2.0, (3, 4), rng=rng).shape == (3, 4)


def test_m20_arguments_are_checked_before_randomness():
    rng = np.random.default_rng(5)
    before = rng.bit_generator.state
    for sample, name in [(noise.laplace, "scale"), (noise.discrete_laplace, "scale"), (noise.discrete_gaussian, "sigma")]:
        for bad in [0, -1, np.inf, np.nan, "1", True, None, [1.0, 2.0]]:
            with pytest.raises(ValueError, match=name):
                sample(bad, 3, rng=rng)
    for sample in (noise.discrete_laplace, noise.discrete_gaussian):
        with pytest.raises(ValueError, match="0"):
            sample(Fraction(0), rng=rng)
        for bad in [-1, 2.5, (3, -1)]:
            with pytest.raises(ValueError, match="size"):
                sample(1.0, bad, rng=rng)
        with pytest.raises(ValueError, match="rng"):
            sample(1.0, rng=0)
    assert rng.bit_generator.state == before


def test_system_rng_laws():
    """Not repeatable, so that the limits are wide: together they raise a false alarm once in 10**8 runs."""
    rng = noise.system_rng()
    assert stats.kstest(rng.random(20_000), "uniform").pvalue > 1e-9
    assert stats.kstest(rng.normal(size=20_000), "norm").pvalue > 1e-9
    assert stats.kstest(rng.random(20_000, dtype=np.float32), "uniform").pvalue > 1e-9
    assert stats.chisquare(np.bincount(rng.integers(0, 7, 20_000))).pvalue > 1e-9
    assert abs(noise.discrete_gaussian(10.0, 5000, rng=rng).std() - 10) < 1
    assert not np.array_equal(noise.system_rng().integers(0, 2**63, 4), noise.system_rng().integers(0, 2**63, 4))


def test_system_rng_takes_every_bit_from_the_system(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda n: b"\xff" * n)
    ones = noise.system_rng()
    assert ones.integers(0, 2**31, 3).tolist() == [2**31 - 1] * 3
    assert ones.integers(0, 2**63, dtype=np.uint64) == 2**63 - 1
    assert ones.random() == 1 - 2.0**-53
    monkeypatch.setattr(os, "urandom", lambda n: bytes(range(1, n + 1)))
    counting = noise.system_rng()
    assert counting.integers(0, 2**64, dtype=np.uint64, endpoint=False) == int.from_bytes(bytes(range(1, 9)), "little")
    assert counting.bytes(4) == b"\x01\x02\x03\x04"


def test_m01_float_noise_leaks_through_its_low_bits():
    """M01: many outputs of value 1 plus float Laplace noise cannot come from value 0, and the spacing of floats tells."""
    rng = np.random.default_rng(7)
    outputs = 1.0 + noise.laplace(1.0, 100_000, rng=rng)
    near_zero = outputs[np.abs(outputs) < 0.01]
    coarse = np.mean(near_zero * 2.0**53 % 1 == 0)  # 1 + noise carries the spacing of numbers near 1: a multiple of 2**-53
    from_zero = noise.laplace(1.0, 100_000, rng=rng)
    fine = from_zero[np.abs(from_zero) < 0.01]
    assert coarse == 1.0
    assert np.mean(fine * 2.0**53 % 1 == 0) < 0.9
    assert "low bits" in noise.__doc__
