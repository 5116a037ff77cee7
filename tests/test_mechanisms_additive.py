"""Laplace, Gaussian and their whole-number relatives: laws, losses, errors, costs, calibrations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from laws import ORACLES, assert_cdf, assert_frequencies, case
from scipy import stats
from scipy.integrate import quad

from dpnotes.conversions import rdp_curve_to_zcdp
from dpnotes.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, GridLaplace, Laplace, RandomizedResponse
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss

ALL = [Laplace(1.0), Laplace(0.2, 2.0), Gaussian(1.0), Gaussian(3.0, 2.0), DiscreteLaplace(1.0), DiscreteLaplace(2.5, 3),
       DiscreteGaussian(1.0), DiscreteGaussian(2.5, 2), GridLaplace(1.0, grid=0.25)]


def shift_loss(mechanism):
    """The loss of an output y when the answer is 0, against the answer at distance `sensitivity`."""
    d = mechanism.sensitivity
    if isinstance(mechanism, Gaussian | DiscreteGaussian):
        return lambda y: (d * d - 2 * y * d) / (2 * mechanism.sigma**2)
    return lambda y: (np.abs(y - d) - np.abs(y)) / float(mechanism.scale)


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
def test_loss_by_simulation(mechanism):
    """Losses computed from releases have the law that the closed form gives."""
    outputs = mechanism.release(np.zeros(20_000, int), rng=np.random.default_rng(20))
    loss = mechanism.privacy_loss()
    assert_cdf(shift_loss(mechanism)(outputs.astype(float)), loss.cdf, width=1e-11)


@pytest.mark.parametrize("mechanism", [m for m in ALL if isinstance(m, Laplace | Gaussian)], ids=repr)
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.7])
def test_delta_by_quadrature_in_output_space(mechanism, epsilon):
    d = mechanism.sensitivity
    law = stats.norm(scale=mechanism.sigma) if isinstance(mechanism, Gaussian) else stats.laplace(scale=mechanism.scale)
    crossing = d / 2 - epsilon * (mechanism.sigma**2 / d if isinstance(mechanism, Gaussian) else mechanism.scale / 2)
    value = quad(lambda y: max(law.pdf(y) - np.exp(epsilon) * law.pdf(y - d), 0.0), -40 * law.std(), d + 1,
                 points=sorted({0.0, d, max(crossing, -39 * law.std())}), epsabs=1e-12, limit=400)[0]
    assert mechanism.privacy_loss().delta(epsilon) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1), (0.3, 1), (2.5, 3), (10.0, 40), (Fraction(7, 3), 7)])
def test_discrete_laplace_loss_by_summation(scale, shift):
    x = np.arange(-4000, 4001)
    p = np.exp(-np.abs(x) / float(scale))
    p /= p.sum()
    loss = DiscreteLaplace(scale, shift).privacy_loss()
    for epsilon in (0.0, 0.2, 0.9, 1.9):
        assert loss.delta(epsilon) == pytest.approx(np.maximum(p[shift:] - np.exp(epsilon) * p[:-shift], 0).sum(), abs=1e-13)
        assert loss.swapped.delta(epsilon) == pytest.approx(loss.delta(epsilon), rel=1e-12, abs=1e-15)


def test_discrete_laplace_lies_on_the_continuous_curve():
    """At its lattice points delta equals the continuous Laplace's, and thinning the lattice only raises it."""
    fine = DiscreteLaplace(100.0, 240).privacy_loss()
    at = fine.losses[fine.losses >= 0]
    np.testing.assert_allclose(fine.delta(at), LaplaceLoss(2.4).delta(at), rtol=1e-12, atol=1e-15)
    thinned, whole = DiscreteLaplace(8e4, 81_920).privacy_loss(), LaplaceLoss(1.024)
    assert len(thinned.losses) <= 10_001
    assert DiscreteLaplace(8e4, 81_920).kinds["loss"] == "upper" and DiscreteLaplace(100.0, 240).kinds["loss"] == "exact"
    between = np.linspace(0, 1, 57)
    assert np.all(thinned.delta(between) >= whole.delta(between) * (1 - 1e-12))
    np.testing.assert_allclose(thinned.delta(between), whole.delta(between), rtol=1e-6)
    with pytest.raises(ValueError, match="divisor"):
        DiscreteLaplace(1.0, 1_000_003).privacy_loss()  # a prime number


def test_vectors_are_covered_by_the_change_in_one_entry():
    """A change spread over several entries (same L1 norm) costs no more, at any epsilon."""
    for split in ([1, 1], [2, 1], [1, 1, 1]):
        for kind, scale in [(DiscreteLaplace, 2.0), (Laplace, 1.0)]:
            parts = [kind(scale, d).privacy_loss() for d in split]
            if kind is Laplace:  # on a fine lattice
                parts = [DiscreteLaplace(64 * scale, 64 * d).privacy_loss() for d in split]
            losses, masses = np.zeros(1), np.ones(1)
            for part in parts:
                losses = (losses[:, None] + part.losses).ravel()
                masses = (masses[:, None] * np.exp(part.log_masses)).ravel()
            together = DiscreteLoss.from_log_masses(losses, np.log(masses))
            epsilon = np.linspace(0, sum(split) / scale, 60)[:-1]
            assert np.all(together.delta(epsilon) <= kind(scale, sum(split)).privacy_loss().delta(epsilon) * (1 + 1e-3))


# Costs in the other currencies.

def test_oracles_of_costs():
    assert Laplace(1.0).renyi(2) == pytest.approx(ORACLES["laplace_rdp_a2_eps1"], rel=1e-13)
    assert Laplace(1.0).rho == pytest.approx(ORACLES["laplace_kl_eps1"], rel=1e-13)
    assert Gaussian(2.0).renyi(5) == pytest.approx(ORACLES["gauss_rdp_a5_s2"], rel=1e-14)
    assert DiscreteLaplace(1.0).renyi(2) == pytest.approx(ORACLES["pure_to_rdp_a2_eps1"], rel=1e-13)
    assert DiscreteLaplace(1.0).rho == pytest.approx(ORACLES["pure_to_zcdp_eps1"], rel=1e-13)
    assert DiscreteLaplace(1.0).mu == pytest.approx(ORACLES["pure_to_gdp_eps1"], rel=1e-13)


@pytest.mark.parametrize("mechanism", [m for m in ALL if np.isfinite(m.pure_epsilon)], ids=repr)
def test_pure_epsilon_and_rho(mechanism):
    """Every hockey stick ends at pure_epsilon; rho is above every renyi(alpha) / alpha, and the interval bound agrees."""
    loss = mechanism.privacy_loss()
    assert loss.delta(mechanism.pure_epsilon) == 0 < loss.delta(mechanism.pure_epsilon * 0.999)
    alpha = 1 + np.geomspace(1e-6, 1e4, 500)
    ratio = mechanism.renyi(alpha) / alpha
    assert np.all(ratio <= mechanism.rho * (1 + 1e-9))
    assert ratio.max() >= mechanism.rho * (1 - 1e-5)
    assert rdp_curve_to_zcdp(mechanism.renyi) == pytest.approx(mechanism.rho, rel=2e-8)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 10.0, 40.0])
def test_laplace_rho_and_mu_are_exact(epsilon):
    mechanism = Laplace(1 / epsilon)
    assert rdp_curve_to_zcdp(mechanism.renyi) == pytest.approx(mechanism.rho, rel=2e-8)
    e = np.linspace(0, epsilon, 400)
    above, below = GaussianLoss(mechanism.mu), GaussianLoss(mechanism.mu * (1 - 1e-6))
    assert np.all(mechanism.privacy_loss().delta(e) <= above.delta(e) * (1 + 1e-12) + 1e-16)
    assert mechanism.privacy_loss().delta(0.0) > below.delta(0.0)


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
def test_mu_is_enough(mechanism):
    e = np.linspace(0, 6, 100)
    assert np.all(mechanism.privacy_loss().delta(e) <= GaussianLoss(mechanism.mu).delta(e) * (1 + 1e-12) + 1e-16)


def test_discrete_gaussian_costs():
    mechanism = DiscreteGaussian(1.7, 2)
    alpha = np.array([1.0, 1.3, 2.0, 2.5, 7.0])
    assert np.all(mechanism.renyi(alpha) <= alpha * mechanism.rho * (1 + 1e-14))
    assert mechanism.renyi(2.0) == pytest.approx(2 * mechanism.rho, rel=1e-14)
    assert mechanism.pure_epsilon == np.inf and mechanism.mu == np.inf
    assert Gaussian(2.0).guarantees() == {"pure_epsilon": (np.inf, "exact"), "rho": (0.125, "exact"), "mu": (0.5, "exact")}


# Errors.

@pytest.mark.parametrize("mechanism", ALL, ids=repr)
def test_errors_by_simulation(mechanism):
    n = 60_000
    outputs = mechanism.release(np.zeros((n // 3, 3), int), rng=np.random.default_rng(21)).astype(float)
    spread = np.mean(outputs**2)
    assert abs(spread - mechanism.variance) < 5.5 * np.std(outputs**2) / np.sqrt(n)
    for confidence in (0.5, 0.95):
        w, all_three = mechanism.error(confidence), mechanism.error(confidence, size=3)
        hits = np.mean(np.abs(outputs) <= w)
        together = np.mean(np.max(np.abs(outputs), axis=1) <= all_three)
        assert hits > confidence - 5.5 * 0.5 / np.sqrt(n) and together > confidence - 5.5 * 0.5 / np.sqrt(n / 3)
        if isinstance(mechanism, Laplace | Gaussian):
            assert hits == pytest.approx(confidence, abs=5.5 * 0.5 / np.sqrt(n))
        elif not isinstance(mechanism, GridLaplace):  # the smallest whole number that does
            assert isinstance(w, int) and mechanism._beyond(w) <= 1 - confidence < mechanism._beyond(w - 1)
    assert mechanism.error(1.0) == np.inf
    with pytest.raises(ValueError, match="confidence"):
        mechanism.error(1.5)
    with pytest.raises(ValueError, match="size"):
        mechanism.error(0.5, size=0)


def test_closed_forms_of_errors():
    assert Laplace(2.0).error(0.95) == pytest.approx(2 * np.log(20), rel=1e-14)
    assert Gaussian(2.0).error(0.95) == pytest.approx(2 * 1.959963984540054, rel=1e-14)
    x = np.arange(-60, 61)
    for sigma in (0.3, 1.0, 2.9, 3.1):
        weights = np.exp(-(x**2) / (2 * sigma**2))
        assert DiscreteGaussian(sigma).variance == pytest.approx((x**2 * weights).sum() / weights.sum(), rel=1e-12)
    assert DiscreteGaussian(2.0).variance == pytest.approx(ORACLES["dgauss_var_s2_4"], rel=1e-13)
    assert DiscreteGaussian(0.5**0.5).variance == pytest.approx(ORACLES["dgauss_var_s2_0.5"], rel=1e-13)
    assert DiscreteLaplace(1e-4).standard_deviation < 1e-300 and DiscreteLaplace(1e-4).error(0.99) == 0


def test_m19_noise_follows_epsilon():
    std1, std30, laplace30 = case("M19")
    assert DiscreteLaplace.for_epsilon(1.0).standard_deviation == pytest.approx(std1, rel=1e-9)
    assert DiscreteLaplace.for_epsilon(30.0).standard_deviation == pytest.approx(std30, rel=1e-9)
    assert Laplace.for_epsilon(30.0).standard_deviation == pytest.approx(laplace30, rel=1e-9)


def test_m23_accuracy_to_scale_and_back():
    scale, tail1, tail2 = case("M23")
    found = DiscreteGaussian.for_error(1, confidence=0.9)  # P[|X| >= 2] = 0.1
    assert found.sigma == pytest.approx(scale, rel=1e-6)
    assert found.error(0.9) == 1 and DiscreteGaussian(found.sigma * 1.0001).error(0.9) == 2
    assert DiscreteGaussian(1.0)._beyond(1) == pytest.approx(tail1, rel=1e-9)
    assert DiscreteGaussian(2.0)._beyond(1) == pytest.approx(tail2, rel=1e-9)
    for width in (0, 3, 50):
        for kind in (DiscreteLaplace, DiscreteGaussian):
            assert kind.for_error(width, 0.95).error(0.95) == width
    for kind in (Laplace, Gaussian):
        assert kind.for_error(2.5, 0.9).error(0.9) == pytest.approx(2.5, rel=1e-14)


# Calibration: substitute back, and see that a little less noise is not enough.

@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.05, 1e-9), (6.0, 1e-3), (0.0, 0.1), (2.0, 0.4)])
@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteGaussian])
def test_for_epsilon_delta(kind, epsilon, delta):
    found = kind.for_epsilon_delta(epsilon, delta, 2, neighbors="replace one record")
    assert found.sensitivity == 2 and found.neighbors == "replace one record"
    assert found.privacy_loss().delta(epsilon) <= delta
    name = "scale" if kind is Laplace else "sigma"
    less = kind(getattr(found, name) * (1 - 1e-9), 2)
    assert less.privacy_loss().delta(epsilon) > delta


@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteGaussian])
@pytest.mark.parametrize("rho", [1e-6, 0.1, 5.0])
def test_for_rho(kind, rho):
    found = kind.for_rho(rho, 3)
    assert rho * (1 - 1e-12) < found.rho <= rho
    assert found.sensitivity == 3


@pytest.mark.parametrize("epsilon", [0.1, 1 / 3, 1.0986, 7.0])
def test_for_epsilon(epsilon):
    for kind, sensitivity in [(Laplace, 0.7), (DiscreteLaplace, 3), (GridLaplace, 0.75)]:
        found = kind.for_epsilon(epsilon, sensitivity)
        assert epsilon * (1 - 1e-14) <= found.pure_epsilon <= epsilon
    assert DiscreteLaplace.for_epsilon(epsilon, 3).scale == 3 / Fraction(epsilon)
    assert Gaussian.for_mu(epsilon).mu <= epsilon


def test_gaussian_oracles():
    assert Gaussian.for_epsilon_delta(1, 1e-5).sigma == pytest.approx(ORACLES["gauss_sigma_eps1_delta1e-5"], rel=1e-13)
    near_one = Gaussian.classic(np.nextafter(1.0, 0), 1e-5).sigma
    assert near_one == pytest.approx(ORACLES["gauss_sigma_classical_eps1_delta1e-5"], rel=1e-13)


def test_m03_the_classic_formula_refuses_epsilon_from_one():
    deltas, sigma10, loose = case("M03")[:3], case("M03")[3], case("M03")[4]
    for epsilon, exact in zip((8, 10, 20), deltas, strict=True):
        sigma = np.sqrt(2 * np.log(1.25 / 1e-5)) / epsilon
        assert Gaussian(sigma).privacy_loss().delta(epsilon) == pytest.approx(exact, rel=1e-5)
        with pytest.raises(ValueError, match=r"epsilon.*below 1"):
            Gaussian.classic(epsilon, 1e-5)
    assert deltas[0] < 1e-5 < deltas[1]  # at 8 it still suffices, at 10 it does not
    assert Gaussian(np.sqrt(2 * np.log(125)) / 8).privacy_loss().delta(8) == pytest.approx(loose, rel=1e-5)
    assert Gaussian.for_epsilon_delta(10, 1e-5).sigma == pytest.approx(sigma10, rel=1e-6)
    with pytest.raises(ValueError, match="epsilon"):
        Gaussian.classic(1.0, 1e-5)
    for epsilon in (0.01, 0.5, 0.99):
        assert Gaussian.classic(epsilon, 1e-5).privacy_loss().delta(epsilon) < 1e-5


def test_m21_scale_is_sensitivity_over_epsilon():
    assert Laplace.for_epsilon(0.5, sensitivity=2).scale == case("M21")[0] == 4.0
    assert DiscreteLaplace.for_epsilon(0.5, sensitivity=2).scale == 4


def test_m22_noise_on_the_mean():
    """Noise for a sum of 100 records of norm 1, divided by 100, or noise for the mean: sigma * clip / n either way."""
    rng, n = np.random.default_rng(22), 100
    expected = case("M22")[0]
    sums = Gaussian(1.0, sensitivity=1.0).release(np.full(40_000, 50.0), rng=rng) / n
    means = Gaussian(1.0 / n, sensitivity=1.0 / n).release(np.full(40_000, 0.5), rng=rng)
    for released in (sums, means):
        assert released.mean() == pytest.approx(0.5, abs=5.5 * expected / 200)
        assert released.std() == pytest.approx(expected, rel=5.5 / np.sqrt(80_000))
    assert Gaussian(1.0 / n, 1.0 / n).privacy_loss() == Gaussian(1.0).privacy_loss() or Gaussian(1.0 / n, 1.0 / n).mu == 1.0


# Releases.

def test_m08_whole_numbers_never_wrap():
    rng = np.random.default_rng(23)
    top = 2**63 - 1
    outputs = [DiscreteLaplace(10.0).release(top, rng=rng) for _ in range(40)]
    assert all(type(x) is int and abs(x - top) < 500 for x in outputs) and max(outputs) > top
    array = DiscreteGaussian(10.0).release(np.array([top, -top - 1, 5]), rng=rng)
    assert [abs(int(x) - v) < 200 for x, v in zip(array, (top, -top - 1, 5), strict=True)] == [True] * 3
    small = DiscreteLaplace(10.0).release(np.full(50, 2**31 - 1, dtype=np.int32), rng=rng)
    assert small.dtype == np.int64 and small.min() > 2**31 - 600
    huge = DiscreteLaplace(1e18).release(np.full(2000, 2**62), rng=rng)
    assert all(isinstance(x, int) for x in huge) and max(huge) > 2**63
    assert DiscreteLaplace(10.0).release(np.uint64(2**64 - 1), rng=rng) > 2**63
    assert abs(DiscreteLaplace(2.0).release(10**40, rng=rng) - 10**40) < 200


def test_releases_have_the_right_shape_and_seed():
    for mechanism in ALL:
        one = [mechanism.release(3, rng=np.random.default_rng(0)) for _ in range(2)]
        assert one[0] == one[1] and np.isscalar(one[0])
        array = mechanism.release(np.arange(6).reshape(2, 3), rng=np.random.default_rng(0))
        assert array.shape == (2, 3)
        np.testing.assert_array_equal(array, mechanism.release(np.arange(6).reshape(2, 3), rng=np.random.default_rng(0)))
        rng = np.random.default_rng(0)
        many = [mechanism.release(0, rng=rng) for _ in range(30)]
        assert len(set(many)) > 2
        assert mechanism.release(np.zeros(0, int), rng=rng).shape == (0,)
        clamped = mechanism.release(np.zeros(400, int), clamp=(0, 0.5), rng=rng)
        assert clamped.min() == 0 and clamped.max() == 0.5
        with pytest.raises(ValueError, match="clamp"):
            mechanism.release(0, clamp=(1, 0))


def test_m01_the_grid_is_common_to_all_inputs():
    mechanism, rng = GridLaplace(1.0, grid=2.0**-10), np.random.default_rng(24)
    for value in (0.0, 1.0, 0.1, np.pi):
        outputs = mechanism.release(np.full(2000, value), rng=rng)
        assert np.all(outputs * 1024 % 1 == 0)
    coarse = GridLaplace(1e-9, grid=0.25)
    assert coarse.release([0.3, 0.375, -0.375, 5.1]).tolist() == [0.25, 0.5, -0.25, 5.0]  # halves go up on either side
    assert GridLaplace(1.0, sensitivity=0.3, grid=0.25).epsilon == 0.5  # two steps
    assert GridLaplace(1.0, sensitivity=0.5, grid=0.25).epsilon == 0.5
    steps = np.floor(np.random.default_rng(1).normal(size=500) / 0.25 + 0.5)
    moved = np.floor((np.random.default_rng(1).normal(size=500) + 0.3) / 0.25 + 0.5)
    assert np.max(np.abs(moved - steps)) == 2
    with pytest.raises(ValueError, match="grid"):
        GridLaplace(1.0, grid=0.1)


def test_discrete_release_law():
    outputs = DiscreteLaplace(1.5).release(np.full(40_000, 7), rng=np.random.default_rng(25))
    x = np.arange(-200, 201)
    p = np.exp(-np.abs(x) / 1.5)
    assert_frequencies(np.bincount(outputs - 7 + 200, minlength=401), p / p.sum())


@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, GridLaplace])
def test_m20_arguments(kind):
    for bad in [0, -1, np.inf, np.nan, "1", True, None, [1.0, 2.0]]:
        if not (kind is Gaussian and bad in (0, np.inf)):  # no noise, and all noise, are decided limits
            with pytest.raises(ValueError, match=r"sigma|scale"):
                kind(bad)
    for bad in [0, -1, np.nan, "1", [1, 2]]:
        with pytest.raises(ValueError, match="sensitivity"):
            kind(1.0, bad)
    with pytest.raises(ValueError, match="neighbors"):
        kind(1.0, neighbors="both")
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    for bad in [np.nan, "1", None, True]:
        with pytest.raises(ValueError, match="value"):
            kind(1.0).release(bad, rng=rng)
    with pytest.raises(ValueError, match="rng"):
        kind(1.0).release(1, rng=5)
    assert rng.bit_generator.state == before
    if kind in (DiscreteLaplace, DiscreteGaussian):
        for bad in (1.5, [1.0], 2.0):
            with pytest.raises(ValueError, match="value"):
                kind(1.0).release(bad)
        with pytest.raises(ValueError, match="sensitivity"):
            kind(1.0, 1.5)
    for name in ("for_epsilon_delta", "for_epsilon", "for_rho"):
        calibrate = getattr(kind, name, None)
        for bad in [0, -1, np.inf, np.nan, "1"]:
            if calibrate and not (bad == 0 and name == "for_epsilon_delta"):
                with pytest.raises(ValueError, match=r"epsilon|rho"):
                    calibrate(bad, *([1e-5] if name == "for_epsilon_delta" else []))
    if hasattr(kind, "for_epsilon_delta"):
        for bad in [-1e-9, 1.1, 0, 1, np.nan, "1"]:
            with pytest.raises(ValueError, match="delta"):
                kind.for_epsilon_delta(1.0, bad)


def test_m04_randomized_response_keeps_its_word():
    right, bug = case("M04")
    mechanism = RandomizedResponse.for_truth(0.75)
    assert mechanism.pure_epsilon == pytest.approx(right, rel=1e-9) and mechanism.truth == pytest.approx(0.75, rel=1e-12)
    assert np.log(0.875 / 0.125) == pytest.approx(bug, rel=1e-9)  # redrawing over both answers would tell the truth that often
    answers = mechanism.release(np.zeros(100_000, int), rng=np.random.default_rng(26))
    assert np.mean(answers == 0) == pytest.approx(0.75, abs=5.5 * 0.43 / np.sqrt(1e5))
    coin = RandomizedResponse.for_truth(0.5)
    assert coin.pure_epsilon == 0 and coin.privacy_loss().delta(0.0) == 0
    with pytest.raises(ValueError, match="no estimate"):
        coin.estimate_counts([0, 1])
    for bad in (0.4, 1.0, -1, np.nan, "x"):
        with pytest.raises(ValueError, match="truth"):
            RandomizedResponse.for_truth(bad)
