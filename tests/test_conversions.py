"""Conversions against values computed elsewhere, against each other, and against the mechanisms that make them tight."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import norm

from dpnotes import conversions as cv
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss

DATA = json.loads((Path(__file__).parent / "data" / "conversion_oracles.json").read_text(encoding="utf-8"))["oracles"]
VALUE = {entry["id"]: float(entry["value"]) for entry in DATA}

ORACLES = [
    ("gauss_delta_eps1_mu1", lambda: cv.gdp_to_delta(1, 1)),
    ("gauss_delta_eps0_mu1", lambda: cv.gdp_to_delta(1, 0)),
    ("gauss_delta_eps3_mu1", lambda: cv.gdp_to_delta(1, 3)),
    ("gauss_delta_eps2_mu0.5", lambda: cv.gdp_to_delta(0.5, 2)),
    ("gdp_tv_mu1", lambda: cv.gdp_to_delta(1.0, 0.0)),
    ("gauss_eps_delta1e-5_mu1", lambda: cv.gdp_to_epsilon(1, 1e-5)),
    ("gauss_eps_delta1e-6_mu0.5", lambda: cv.gdp_to_epsilon(0.5, 1e-6)),
    ("gauss_eps_delta1e-6_mu2.2360", lambda: cv.gdp_to_epsilon(5**0.5, 1e-6)),
    ("gauss_sigma_eps1_delta1e-5", lambda: 1 / cv.approx_to_gdp_mu(1, 1e-5)),
    ("gauss_rdp_a5_s2", lambda: cv.gdp_to_rdp(0.5, 5)),
    ("pure_to_rdp_a2_eps1", lambda: cv.pure_to_rdp(1, 2)),
    ("pure_to_rdp_a1.5_eps0.5", lambda: cv.pure_to_rdp(0.5, 1.5)),
    ("pure_to_zcdp_eps1", lambda: cv.pure_to_zcdp(1)),
    ("pure_to_approx_eps2_to_eps1", lambda: cv.pure_to_delta(2, 1)),
    ("pure_to_gdp_eps1", lambda: cv.pure_to_gdp(1)),
    ("rdp_to_dp_mironov_a2_g0.5_d1e-5", lambda: cv.rdp_to_epsilon_mironov(2, 0.5, 1e-5)),
    ("rdp_to_dp_cks_a2_g0.5_d1e-5", lambda: cv.rdp_to_epsilon_cks(2, 0.5, 1e-5)),
    ("rdp_to_dp_mironov_a10_g1.25_d1e-6", lambda: cv.rdp_to_epsilon_mironov(10, 1.25, 1e-6)),
    ("rdp_to_dp_cks_a10_g1.25_d1e-6", lambda: cv.rdp_to_epsilon_cks(10, 1.25, 1e-6)),
    ("rdp_to_dp_optimal_a2_g0.5_eps2", lambda: cv.rdp_to_delta(2, 0.5, 2)),
    ("zcdp_to_dp_bs_rho0.125_d1e-6", lambda: cv.zcdp_to_epsilon_bun_steinke(0.125, 1e-6)),
    ("zcdp_to_dp_bs_rho2.5_d1e-6", lambda: cv.zcdp_to_epsilon_bun_steinke(2.5, 1e-6)),
    ("zcdp_to_dp_cks_rho0.125_d1e-6", lambda: cv.zcdp_to_epsilon(0.125, 1e-6, "cks")),
    ("zcdp_to_dp_cks_rho1_d1e-6", lambda: cv.zcdp_to_epsilon(1, 1e-6, "cks")),
    ("zcdp_to_dp_cks_rho2.5_d1e-6", lambda: cv.zcdp_to_epsilon(2.5, 1e-6, "cks")),
    ("kov_k10_eps0.5_i3", lambda: cv.optimal_composition([(0.5, 0.0, 10)]).delta(2.0)),
    ("hetero_0.1_0.2_0.3_0.4_at0.6", lambda: cv.optimal_composition([(e, 0.0, 1) for e in (0.1, 0.2, 0.3, 0.4)]).delta(0.6)),
    ("drv_k20_eps0.1_d1e-6", lambda: cv.advanced_composition(0.1, 20, 1e-6)[0]),
    ("opt_k20_eps0.1_d1e-6", lambda: cv.optimal_composition([(0.1, 0.0, 20)]).epsilon(1e-6)),
    ("zcdp_route_k20_eps0.1_d1e-6", lambda: cv.zcdp_to_epsilon(20 * cv.pure_to_zcdp(0.1), 1e-6, "cks")),
    ("subsample_pure_q0.01_eps1", lambda: cv.amplify_by_sampling(1, 0, 0.01)[0]),
    ("shuffle_fmt21_n1e4_eps1_d1e-6", lambda: cv.shuffle_epsilon(1, 10_000, 1e-6)),
]


@pytest.mark.parametrize(("name", "compute"), ORACLES, ids=[name for name, _ in ORACLES])
def test_oracle(name, compute):
    assert compute() == pytest.approx(VALUE[name], rel=1e-12)


def test_third_branch_of_kov():
    # the oracle is the third branch alone; the theorem is the least of the three, here the plain sum
    drift, root = 20 * 0.1 * np.tanh(0.05), 0.1 * np.sqrt(2 * 20 * np.log(1e6))
    assert drift + root == pytest.approx(VALUE["kov34_k20_eps0.1_d1e-6"], rel=1e-12)
    assert cv.kov_closed_form(0.1, 20, 1e-6)[0] == 2.0
    assert cv.kov_closed_form(0.1, 2000, 1e-6)[0] == pytest.approx(2000 * 0.1 * np.tanh(0.05) + 0.1 * np.sqrt(
        4000 * min(np.log(1e6), np.log(np.e + np.sqrt(2000) * 0.1e6))), rel=1e-12)


def test_exhibits_of_the_notes():
    # 20 x 0.1-DP, delta = 1e-6: optimal <= zCDP <= third branch <= DRV; and the plain sum beats the zCDP route
    optimal, zcdp = VALUE["opt_k20_eps0.1_d1e-6"], VALUE["zcdp_route_k20_eps0.1_d1e-6"]
    assert optimal <= 2.0 <= zcdp <= VALUE["kov34_k20_eps0.1_d1e-6"] <= VALUE["drv_k20_eps0.1_d1e-6"]
    # Gaussian: exact <= optimal <= CKS <= Bun-Steinke = Mironov at its best order <= Mironov on a grid
    exact, best = cv.gdp_to_epsilon(5**0.5, 1e-6), cv.zcdp_to_epsilon(2.5, 1e-6)
    cks, mironov = cv.zcdp_to_epsilon(2.5, 1e-6, "cks"), cv.zcdp_to_epsilon(2.5, 1e-6, "mironov")
    orders = np.array([2, 4, 8, 16, 32])
    grid = cv.rdp_to_epsilon_mironov(orders, 2.5 * orders, 1e-6)
    assert exact < best <= cks < mironov < grid.min()
    assert mironov == pytest.approx(cv.zcdp_to_epsilon_bun_steinke(2.5, 1e-6), rel=1e-12)
    assert grid == pytest.approx([18.816, 14.605, 21.974, 40.921, 80.446], abs=6e-4)


def test_a_pure_mechanism_never_has_more():
    """Randomized response attains every bound for pure DP, and Laplace noise stays below each."""
    for epsilon in (1e-3, 0.3, 1.0, 4.0, 30.0):
        worst, laplace = cv.pure_to_loss(epsilon), LaplaceLoss(epsilon)
        target = np.linspace(0, epsilon, 7)
        assert cv.pure_to_delta(epsilon, target) == pytest.approx(worst.delta(target), rel=1e-11, abs=1e-15)
        assert np.all(laplace.delta(target) <= cv.pure_to_delta(epsilon, target) + 1e-15)
        assert cv.pure_to_epsilon(epsilon, cv.pure_to_delta(epsilon, 0.4 * epsilon)) == pytest.approx(0.4 * epsilon, rel=1e-9)
        alpha = np.array([1.0, 1.01, 2.0, 10.0, np.inf])
        rdp = cv.pure_to_rdp(epsilon, alpha)
        assert np.all(laplace.renyi(alpha) <= rdp * (1 + 1e-12))
        assert np.all(rdp[:-1] <= cv.pure_to_zcdp(epsilon) * alpha[:-1] * (1 + 1e-12))
        assert rdp[0] == pytest.approx(cv.pure_to_zcdp(epsilon), rel=1e-12)
        assert rdp[-1] == epsilon
        # its trade-off curve lies above the Gaussian one and touches it
        x = np.linspace(1e-9, 1 - 1e-9, 2001)
        gap = cv.approx_to_tradeoff(epsilon, 0.0, x) - cv.gdp_to_tradeoff(cv.pure_to_gdp(epsilon), x)
        fixed = 1 / (1 + np.exp(epsilon))
        assert gap.min() > -1e-12
        assert cv.gdp_to_tradeoff(cv.pure_to_gdp(epsilon), fixed) == pytest.approx(fixed, rel=1e-9)


def test_pure_to_gdp_in_both_tails():
    assert cv.pure_to_gdp(1e-9) == pytest.approx(1e-9 * np.sqrt(np.pi / 2), rel=1e-12)  # Phi(m/2) - 1/2 = tanh(e/2)/2
    for epsilon in (0.999, 1.001, 40.0, 900.0):
        assert log_ndtr(-cv.pure_to_gdp(epsilon) / 2) == pytest.approx(-np.logaddexp(0, epsilon), rel=1e-12)
    assert cv.pure_to_gdp([0.0, np.inf]).tolist() == [0.0, np.inf]


def _two_points(alpha, rdp):
    """The frontier q(p) of pairs with that Rényi divergence, by halving in log q: slow, and nothing shared with the package."""
    p = np.exp(np.linspace(np.log(1e-9), -1e-9, 20_001))

    def divergence(log_q):
        with np.errstate(divide="ignore"):
            rest = alpha * np.log1p(-p) + (1 - alpha) * np.log1p(-np.exp(log_q))
            return np.logaddexp(alpha * np.log(p) + (1 - alpha) * log_q, rest)

    low, high = np.log(p) * alpha / (alpha - 1) - rdp - 1, np.log(p)
    for _ in range(100):
        middle = (low + high) / 2
        over = divergence(middle) > (alpha - 1) * rdp
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return p, np.exp(high)


@pytest.mark.parametrize(("alpha", "rdp"), [(1.1, 0.5), (2, 0.5), (2, 1e-3), (3.3, 8.0), (30, 0.2), (500, 1.5)])
def test_optimal_conversion_against_a_search(alpha, rdp):
    p, q = _two_points(alpha, rdp)
    for delta in (1e-6, 1e-3, 0.05, 0.4):
        with np.errstate(divide="ignore"):
            searched = max(0.0, float(np.max(np.log(np.maximum(p - delta, 0)) - np.log(q))))
        epsilon = cv.rdp_to_epsilon(alpha, rdp, delta)
        assert searched - 1e-9 <= epsilon <= searched + 2e-5 * max(1, searched)
        assert epsilon <= cv.rdp_to_epsilon_cks(alpha, rdp, delta) + 1e-12
        assert cv.rdp_to_epsilon_cks(alpha, rdp, delta) <= cv.rdp_to_epsilon_mironov(alpha, rdp, delta) + 1e-12
        if epsilon > 1e-9:
            assert cv.rdp_to_delta(alpha, rdp, epsilon) == pytest.approx(delta, rel=1e-8)
    for epsilon in (0.0, 0.3, 3.0):
        searched = max(0.0, float(np.max(p - np.exp(epsilon) * q)))
        assert searched - 1e-12 <= cv.rdp_to_delta(alpha, rdp, epsilon) <= searched * (1 + 1e-4) + 1e-9
        assert cv.rdp_to_delta(alpha, rdp, epsilon) <= cv.rdp_to_delta_cks(alpha, rdp, epsilon) * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(p=st.floats(1e-6, 1 - 1e-6), q=st.floats(1e-6, 1 - 1e-6), alpha=st.floats(1.01, 200), epsilon=st.floats(0, 6))
def test_no_pair_exceeds_a_conversion(p, q, alpha, epsilon):
    loss = DiscreteLoss.from_probabilities([p, 1 - p], [q, 1 - q])
    rdp = max(loss.renyi(alpha), 0.0)
    for convert in (cv.rdp_to_delta, cv.rdp_to_delta_cks, cv.rdp_to_delta_mironov):
        assert loss.delta(epsilon) <= convert(alpha, rdp, epsilon) * (1 + 1e-7) + 1e-12


def test_ends_of_the_one_order_conversions():
    for convert in (cv.rdp_to_epsilon, cv.rdp_to_epsilon_cks, cv.rdp_to_epsilon_mironov):
        assert convert([2, 2, np.inf, 2, 2], [0.0, 1.0, 0.7, 1.0, np.inf], [0.0, 0.0, 0.0, 1.0, 0.1]).tolist() == [
            0.0, np.inf, 0.7, 0.0, np.inf]
        with pytest.raises(ValueError, match="alpha"):
            convert(1, 0.5, 1e-5)
        with pytest.raises(ValueError, match="rdp"):
            convert(2, -0.5, 1e-5)
        with pytest.raises(ValueError, match="delta"):
            convert(2, 0.5, 1.5)
    for convert in (cv.rdp_to_delta, cv.rdp_to_delta_cks, cv.rdp_to_delta_mironov):
        assert convert([2, np.inf, np.inf, 2], [0.0, 1.0, 1.0, 1.0], [0.0, 2.0, 0.5, np.inf]) == pytest.approx(
            [0.0, 0.0, 1 - np.exp(-0.5), 0.0])


def test_best_order_has_no_edge():
    # sigma = 50: best order about 179 (case A06); sigma = 1e4 and 1e-3: far out on either side
    for sigma in (1e-3, 0.3, 50.0, 1e4, 1e8):
        rho = 1 / (2 * sigma**2)
        closed = rho + 2 * np.sqrt(rho * np.log(1e5))
        assert cv.rdp_curve_to_epsilon(lambda a, r=rho: a * r, 1e-5, "mironov") == pytest.approx(closed, rel=1e-11)
        assert cv.best_order(lambda a, r=rho: a * r, 1e-5, "mironov") == pytest.approx(1 + np.sqrt(np.log(1e5) / rho), rel=1e-4)
    assert cv.rdp_curve_to_epsilon(LaplaceLoss(0.5).renyi, 0.0) == 0.5
    assert cv.best_order(LaplaceLoss(0.5).renyi, 1e-300) == np.inf


def test_rho_is_the_supremum_over_orders():
    assert cv.rdp_curve_to_zcdp(GaussianLoss(0.5).renyi) == pytest.approx(0.125, rel=1e-6)
    assert cv.rdp_curve_to_zcdp(cv.pure_to_loss(1.0).renyi) == pytest.approx(cv.pure_to_zcdp(1.0), rel=2e-8)
    # the loss whose mean is 0.0059 and whose rho is 1.18519, reached at order 3.41
    pair = DiscreteLoss.from_probabilities([0.999, 0.001], [1 - 1e-6, 1e-6])
    assert cv.rdp_curve_to_zcdp(pair.renyi) == pytest.approx(1.18519, abs=5e-6)
    assert pair.renyi(2) / 2 == pytest.approx(0.346074, abs=1e-6)  # what reading order 2 alone would claim
    alpha = 1 + np.geomspace(1e-6, 1e6, 200_001)
    for loss in (LaplaceLoss(0.2), LaplaceLoss(5.0), pair, cv.pure_to_loss(9.0)):
        taken = np.max(loss.renyi(alpha) / alpha)
        assert taken <= cv.rdp_curve_to_zcdp(loss.renyi) * (1 + 1e-10)
        assert cv.rdp_curve_to_zcdp(loss.renyi) <= taken * (1 + 1e-5)
    assert cv.rdp_curve_to_zcdp(cv.approx_to_loss(1.0, 1e-9).renyi) == np.inf


def test_zcdp_to_gdp_on_the_envelope_of_two_outcomes():
    """No pair with two outcomes that is rho-zCDP needs a larger mu; randomized response needs that much."""
    t = np.concatenate([[1e-7], np.geomspace(1e-4, 1e5, 400)])
    for rho in (0.01, 0.1, 0.5, 2.0, 20.0):
        z = np.linspace(-6, 12 + 4 * np.sqrt(rho), 121)

        def excess(mu, z=z, rho=rho):
            one, two = (log_ndtr(mu - z), log_ndtr(z - mu)), (log_ndtr(-z), log_ndtr(z))
            moments = [np.logaddexp(*(a[:, None] + t * (a - b)[:, None] for a, b in zip(*pair, strict=True)))
                       for pair in ((one, two), (two, one))]
            return np.max(np.maximum(*moments) / t - rho * (1 + t), axis=1)

        low, high = np.zeros(z.shape), np.full(z.shape, 4 * np.sqrt(2 * rho) + 4)
        for _ in range(45):
            middle = (low + high) / 2
            fits = excess(middle) <= 1e-9
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        mu = cv.zcdp_to_gdp(rho)
        assert high.max() <= mu * (1 + 1e-6)
        assert high.max() >= mu * 0.97  # and the grid comes near it
        epsilon = 2 * np.log(norm.cdf(mu / 2) / norm.sf(mu / 2)) / 2
        assert epsilon * np.tanh(epsilon / 2) == pytest.approx(rho, rel=1e-9)
        assert mu > np.sqrt(2 * rho)


def test_calibration_of_the_gaussian():
    # case A17 (delta 1e-6), A08 (delta 1e-5) and A15 (epsilon 0)
    sigma = [4.22467888933, 0.541086831818, 0.309084681219, 0.156592870392, 0.0978372239744, 0.0366926444865]
    epsilons = [1, 10, 20, 50, 100, 500]
    mu = cv.approx_to_gdp_mu(epsilons, 1e-6)
    assert 1 / mu == pytest.approx(sigma, rel=1e-9)
    assert np.all(cv.gdp_to_delta(mu, epsilons) <= 1e-6 * (1 + 1e-11))
    assert cv.approx_to_gdp_mu([10, 100, 500], 1e-5) == pytest.approx([2.00044562043, 10.5630187199, 27.6733118499], rel=1e-9)
    assert cv.gdp_to_epsilon([1, 5, 40], 1e-5) == pytest.approx([4.37717809568, 33.1037323359, 969.645591932], rel=1e-9)
    assert 1 / cv.approx_to_gdp_mu(0, 1e-6) == pytest.approx(398942.280401328, rel=1e-9)
    # delta = erf(mu / sqrt(8)) at epsilon 0, mu / sqrt(2 pi) when small; half of the losses exceed mu**2 / 2 when large
    assert cv.approx_to_gdp_mu(0, [1e-30, 1e-300]) == pytest.approx([np.sqrt(2 * np.pi) * d for d in (1e-30, 1e-300)], rel=1e-9)
    assert cv.approx_to_gdp_mu(1e30, 0.5) == pytest.approx(np.sqrt(2e30), rel=1e-9)
    with pytest.raises(ValueError, match="delta"):
        cv.approx_to_gdp_mu(1, 0)


def test_gaussian_rows_agree():
    mu = np.array([0.1, 1.0, 3.0])
    assert cv.gdp_to_zcdp(mu) == pytest.approx(mu**2 / 2)
    assert cv.gdp_to_rdp(mu, 2.5) == pytest.approx(2.5 * cv.gdp_to_zcdp(mu))
    assert cv.compose_gdp([3, 4, 12]) == 13.0
    assert cv.zcdp_to_rdp([0.0, 0.5], [np.inf, 3]).tolist() == [0.0, 1.5]


def test_tradeoff_duality():
    x = np.array([0.0, 1e-12, 1e-4, 0.05, 0.5, 0.9, 1.0])
    epsilon = np.array([-1.0, 0.0, 0.5, 3.0, 8.0])
    for loss, curve in ((GaussianLoss(1.3), lambda x: cv.gdp_to_tradeoff(1.3, x)),
                        (cv.approx_to_loss(0.7, 0.02), lambda x: cv.approx_to_tradeoff(0.7, 0.02, x)),
                        (cv.pure_to_loss(2.0), lambda x: cv.approx_to_tradeoff(2.0, 0.0, x))):
        assert cv.tradeoff_to_delta(curve, epsilon) == pytest.approx(loss.delta(epsilon), abs=3e-9)
        assert cv.delta_to_tradeoff(loss.delta, x) == pytest.approx(curve(x), abs=3e-9)
    assert cv.delta_to_tradeoff(cv.approx_to_loss(0, 0).delta, x) == pytest.approx(1 - x, abs=1e-12)


def test_the_worst_pair_of_approximate_dp():
    loss = cv.approx_to_loss(1.0, 1e-4)
    assert loss.epsilon(1e-4) == pytest.approx(1.0, abs=1e-9)
    assert loss.epsilon(0.99e-4) == np.inf
    assert loss.delta(0.0) == pytest.approx(cv.membership_advantage(1.0, 1e-4), rel=1e-12)
    assert cv.membership_advantage(0.0, 0.0) == 0
    rho, delta = cv.approx_to_zcdp(1.0, 1e-4)
    assert (rho, delta) == (cv.pure_to_zcdp(1.0), 1e-4)


def test_sampling_by_its_worst_pair():
    for epsilon, delta, q in ((1.0, 1e-3, 0.01), (3.0, 0.1, 0.5), (0.2, 0.0, 1.0), (2.0, 0.1, 0.0)):
        loss = cv.approx_to_loss(epsilon, delta)
        keep = np.append(np.exp(loss.log_masses), [delta, 0.0])
        other = np.append(np.exp(loss.log_masses - loss.losses), [0.0, delta])
        mixed = DiscreteLoss.from_probabilities((1 - q) * other + q * keep, other)
        smaller, less = cv.amplify_by_sampling(epsilon, delta, q)
        assert mixed.delta(smaller) == pytest.approx(less, abs=1e-14)
        if q and delta < 0.05:
            assert mixed.delta(smaller * 0.999) > less
    assert cv.amplify_by_sampling(1000.0, 0.0, 0.5)[0] == pytest.approx(1000 + np.log(0.5))
    # q e**epsilon = 2 at an epsilon whose exponential overflows
    assert cv.amplify_by_sampling(np.log(2) + 307 * np.log(10), 0.0, 1e-307)[0] == pytest.approx(np.log(3), rel=1e-9)
    assert cv.amplify_by_sampling(np.inf, 0.0, [0.0, 0.5])[0].tolist() == [0.0, np.inf]


def test_shuffling_and_its_condition():
    # the exact shuffled randomized response at n = 10,000 is far below (the notes' 0.0356588)
    assert cv.shuffle_epsilon(1.0, 10_000, 1e-6) > 0.0356588
    with pytest.raises(ValueError, match="epsilon0"):
        cv.shuffle_epsilon(5.0, 10_000, 1e-6)
    limit = np.log(10_000 / (16 * np.log(2e6)))
    assert cv.shuffle_epsilon(limit, 10_000, 1e-6) <= limit


def test_optimal_composition():
    # against the closed form of Kairouz, Oh and Viswanath (2015), Theorem 3.3, at its points epsilon = (k - 2i) e
    from math import comb

    for k, e in ((1, 0.3), (7, 0.5), (20, 1.5)):
        for i in range(k // 2 + 1):
            exact = sum(comb(k, l) * (np.exp((k - l) * e) - np.exp((k - 2 * i + l) * e)) for l in range(i)) / (1 + np.exp(e))**k
            assert cv.optimal_composition([(e, 0.0, k)]).delta((k - 2 * i) * e) == pytest.approx(exact, rel=1e-9, abs=1e-18)
    # different epsilons with deltas, against listing every outcome
    runs = [(0.3, 1e-3, 2), (0.7, 0.0, 1), (1.1, 2e-2, 1)]
    clean = np.prod([(1 - d) ** k for _, d, k in runs])
    epsilons = [e for e, _, k in runs for _ in range(k)]
    sums = np.array([sum(np.where(bits, epsilons, 0)) for bits in np.ndindex(2, 2, 2, 2)])
    for epsilon in (0.0, 0.5, 1.2):
        listed = np.sum(np.maximum(np.exp(sums) - np.exp(epsilon + sum(epsilons) - sums), 0)) / np.prod(1 + np.exp(epsilons))
        assert cv.optimal_composition(runs).delta(epsilon) == pytest.approx(1 - clean * (1 - listed), rel=1e-12)
    with pytest.raises(ValueError, match="exponential"):
        cv.optimal_composition([(0.1 + 0.001 * i, 0.0, 1) for i in range(22)])
    assert cv.optimal_composition([(1.0, 1.0, 1)]).epsilon(0.5) == np.inf
    assert cv.optimal_composition([]).epsilon(0.0) == 0.0


def test_many_equal_runs():
    # case A16, and a binomial of a million runs against its normal limit
    assert cv.optimal_composition([(1.0, 0.0, 500)]).epsilon(1e-5) == pytest.approx(311.7676046397, rel=1e-9)
    assert cv.optimal_composition([(0.1, 0.0, 100)]).epsilon(1e-5) == pytest.approx(4.30679137252, rel=1e-9)
    many = cv.optimal_composition([(1e-3, 0.0, 10**6)])
    assert many.epsilon(1e-6) == pytest.approx(cv.gdp_to_epsilon(1.0, 1e-6), rel=1e-3)


def test_binomial_weights():
    from scipy.stats import binom

    from dpnotes.conversions._composition import _log_binomial

    for k, epsilon in ((1, 0.5), (14, 3.0), (1000, 0.01), (10**5, 2.0)):
        i = np.arange(k + 1)
        p = 1 / (1 + np.exp(-epsilon))
        assert _log_binomial(i, k, epsilon) == pytest.approx(binom.logpmf(i, k, p), rel=1e-10, abs=1e-10)
        assert np.sum(np.exp(_log_binomial(i, k, epsilon))) == pytest.approx(1, abs=1e-12)


def test_advanced_against_basic():
    # case A16: the theorem is worse than the plain sum here, which is what the function must not hide
    assert cv.advanced_composition(1.0, 500, 1e-5)[0] == pytest.approx(966.439215544, rel=1e-10)
    assert cv.advanced_composition(0.1, 100, 1e-5)[0] == pytest.approx(5.85023509294, rel=1e-10)
    assert cv.advanced_composition(0.1, 100, 1e-5, 1e-7)[1] == pytest.approx(2e-5)
    assert cv.basic_composition([1.0] * 500) == (500.0, 0.0)
    assert cv.basic_composition([1.0, 2.0], [0.7, 0.6]) == (3.0, 1.0)
    with pytest.raises(ValueError, match="delta_prime"):
        cv.advanced_composition(0.1, 10, 0.0)


@pytest.mark.parametrize(("function", "good"), [
    (cv.pure_to_zcdp, [1.0]), (cv.pure_to_gdp, [1.0]), (cv.pure_to_delta, [1.0, 0.5]), (cv.pure_to_epsilon, [1.0, 0.5]),
    (cv.pure_to_rdp, [1.0, 2.0]), (cv.membership_advantage, [1.0, 0.1]), (cv.amplify_by_sampling, [1.0, 0.1, 0.1]),
    (cv.gdp_to_delta, [1.0, 1.0]), (cv.gdp_to_epsilon, [1.0, 0.1]), (cv.gdp_to_rdp, [1.0, 2.0]), (cv.gdp_to_zcdp, [1.0]),
    (cv.zcdp_to_rdp, [1.0, 2.0]), (cv.zcdp_to_epsilon_bun_steinke, [1.0, 0.1]), (cv.zcdp_to_epsilon, [1.0, 0.1]),
    (cv.zcdp_to_gdp, [1.0]), (cv.approx_to_tradeoff, [1.0, 0.1, 0.1]), (cv.gdp_to_tradeoff, [1.0, 0.1]),
    (cv.zcdp_to_delta, [1.0, 1.0]), (cv.approx_to_zcdp, [1.0, 0.1]), (cv.approx_to_gdp_mu, [1.0, 0.1])])
def test_arguments(function, good):
    result = np.array(function(*good))
    for place in range(len(good)):
        for bad in (np.nan, -0.5, "1", None, True):
            with pytest.raises(ValueError, match="is not allowed"):
                function(*good[:place], bad, *good[place + 1:])
        as_arrays = [np.full((2, 3), value) if i == place else value for i, value in enumerate(good)]
        assert np.array(function(*as_arrays)) == pytest.approx(np.broadcast_to(result[..., None, None], (*result.shape, 2, 3)))
    assert not isinstance(function(*good), np.generic)


@settings(max_examples=100, deadline=None)
@given(mu=st.floats(1e-3, 20), log_delta=st.floats(-500, -0.5))
def test_gaussian_round_trip(mu, log_delta):
    delta = float(np.exp(log_delta))
    epsilon = cv.gdp_to_epsilon(mu, delta)
    assert cv.gdp_to_delta(mu, epsilon) <= delta * (1 + 1e-10)
    if epsilon > 1e-6:
        assert cv.approx_to_gdp_mu(epsilon, delta) == pytest.approx(mu, rel=1e-9)
