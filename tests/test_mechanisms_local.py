"""Randomized response, unary encoding, shuffling."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from laws import ORACLES, assert_frequencies
from scipy import stats

from dpnotes.accountants import NumericalAccountant
from dpnotes.mechanisms import RandomizedResponse, ShuffledRandomizedResponse, UnaryEncoding
from dpnotes.privacy_loss import DiscreteLoss

N = 40_000


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (0.3, 2), (2.0, 5), (1.0, 40)])
def test_randomized_response_law_and_loss(epsilon, k):
    mechanism = RandomizedResponse(epsilon, k)
    channel = np.full((k, k), mechanism.lie)
    np.fill_diagonal(channel, mechanism.truth)
    np.testing.assert_allclose(channel.sum(axis=1), 1, rtol=1e-14)
    for answer in (0, k - 1):
        reports = mechanism.release(np.full(N, answer), rng=np.random.default_rng(30))
        assert_frequencies(np.bincount(reports, minlength=k), channel[answer])
    exact, loss = DiscreteLoss.from_probabilities(channel[0], channel[1]), mechanism.privacy_loss()
    for e in np.linspace(0, epsilon, 7):
        assert loss.delta(e) == pytest.approx(exact.delta(e), abs=1e-14)
    assert mechanism.pure_epsilon == epsilon
    alpha = 1 + np.geomspace(1e-5, 1e3, 300)
    assert np.all(exact.renyi(alpha) / alpha <= mechanism.rho * (1 + 1e-9)) and exact.mean() <= mechanism.rho


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (2.0, 4)])
def test_unary_encoding_law_and_loss(epsilon, k, symmetric):
    mechanism = UnaryEncoding(epsilon, k, symmetric=symmetric)
    outputs = np.array(list(product([False, True], repeat=k)))

    def law(answer):
        ones = np.where(np.arange(k) == answer, mechanism.p, mechanism.q)
        return np.prod(np.where(outputs, ones, 1 - ones), axis=1)

    bits = mechanism.release(np.full(N, 1), rng=np.random.default_rng(31))
    assert_frequencies(np.bincount(bits @ (1 << np.arange(k)[::-1]), minlength=2**k), law(1))
    exact, loss = DiscreteLoss.from_probabilities(law(0), law(1)), mechanism.privacy_loss()
    for e in np.linspace(0, epsilon * 0.999, 7):
        assert loss.delta(e) == pytest.approx(exact.delta(e), abs=1e-14)
        assert loss.swapped.delta(e) == pytest.approx(exact.delta(e), abs=1e-14)
    assert exact.maximum == pytest.approx(epsilon, rel=1e-12) and mechanism.pure_epsilon == epsilon
    assert mechanism.renyi(3.0) == pytest.approx(exact.renyi(3.0), rel=1e-12)


@pytest.mark.parametrize("mechanism", [RandomizedResponse(1.0, 4), RandomizedResponse(0.5), UnaryEncoding(1.0, 4),
                                       UnaryEncoding(1.0, 4, symmetric=True)], ids=repr)
def test_debiased_estimates(mechanism):
    """Mean, standard error and error bound of the estimates over 2000 collections from the same 500 people."""
    counts = np.array([250, 250] if mechanism.k == 2 else [250, 150, 100, 0])
    answers, rng, n = np.repeat(np.arange(mechanism.k), counts), np.random.default_rng(32), counts.sum()
    estimates = np.array([mechanism.estimate_counts(mechanism.release(answers, rng=rng)) for _ in range(2000)])
    errors = mechanism.estimate_standard_errors(counts)
    assert np.all(np.abs(estimates.mean(axis=0) - counts) < 5.5 * errors / np.sqrt(2000))
    assert np.all(np.abs(estimates.std(axis=0) / errors - 1) < 5.5 / np.sqrt(4000) * 1.1)
    for confidence in (0.5, 0.95):
        assert np.all(np.mean(np.abs(estimates - counts) <= n * mechanism.error(n, confidence), axis=0) >= confidence)
    if isinstance(mechanism, RandomizedResponse):
        np.testing.assert_allclose(estimates.sum(axis=1), n, rtol=1e-9)


def test_optimized_unary_encoding_beats_randomized_response_for_many_answers():
    counts = np.zeros(200)
    counts[0] = 1000
    rare = [m.estimate_standard_errors(counts)[5] for m in (UnaryEncoding(1.0, 200), UnaryEncoding(1.0, 200, symmetric=True),
                                                           RandomizedResponse(1.0, 200))]
    assert rare[0] < rare[1] < rare[2]
    assert rare[0] ** 2 == pytest.approx(1000 * 4 * np.e / (np.e - 1) ** 2, rel=1e-12)  # Wang et al. (2017)


def test_arguments():
    for kind in (RandomizedResponse, lambda e: UnaryEncoding(e, 3), lambda e: ShuffledRandomizedResponse(e, 5)):
        for bad in [0, -1, np.inf, np.nan, "1", [1.0]]:
            with pytest.raises(ValueError, match="epsilon"):
                kind(bad)
    for bad in [1, 0, 2.0, "3", True]:
        with pytest.raises(ValueError, match="k"):
            UnaryEncoding(1.0, bad)
    mechanism = UnaryEncoding(1.0, 3)
    for bad in [[3], [-1], [0.5], ["a"]]:
        with pytest.raises(ValueError, match="answers"):
            mechanism.release(bad)
    for bad in [[0, 1, 1], np.ones((2, 4), bool)]:
        with pytest.raises(ValueError, match="bits"):
            mechanism.estimate_counts(bad)
    with pytest.raises(ValueError, match="counts"):
        mechanism.estimate_standard_errors([1, 2])
    assert mechanism.release(np.zeros((2, 5), int)).shape == (2, 5, 3)


# Shuffling.

def test_shuffled_oracles():
    mechanism = ShuffledRandomizedResponse(1.0, 10)
    assert mechanism.loss(0).delta(0.5) == pytest.approx(ORACLES["shuffle_rr_n10_eps1_at0.5"], rel=1e-13)
    assert mechanism.loss(0).swapped.delta(0.5) == pytest.approx(0.0181116, abs=5e-8)
    assert mechanism.delta(0.5) == pytest.approx(0.0214977, abs=5e-8)


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 1), (1.0, 6), (2.5, 7), (0.2, 5)])
def test_shuffled_by_enumeration(epsilon, n):
    """All answers of the others, all 2**n reports, both orders."""
    truth = 1 / (1 + np.exp(-epsilon))
    reports = np.array(list(product([0, 1], repeat=n)))

    def law(answers):
        p = np.prod(np.where(reports == answers, truth, 1 - truth), axis=1)
        return np.bincount(reports.sum(axis=1), p, minlength=n + 1)

    mechanism, e = ShuffledRandomizedResponse(epsilon, n), epsilon / 3
    worst = 0.0
    for others in product([0, 1], repeat=n - 1):
        one, zero = law(np.array([*others, 1])), law(np.array([*others, 0]))
        losses = DiscreteLoss.from_probabilities(one, zero), DiscreteLoss.from_probabilities(zero, one)
        worst = max(worst, *(loss.delta(e) for loss in losses))
        assert mechanism.loss(sum(others)).delta(e) == pytest.approx(losses[0].delta(e), abs=1e-14)
        assert mechanism.loss(sum(others)).swapped.delta(e) == pytest.approx(losses[1].delta(e), abs=1e-14)
    assert mechanism.delta(e) == pytest.approx(worst, rel=1e-12)
    covering = mechanism.privacy_loss()
    assert worst <= covering.delta(e) <= worst * (1 + 1e-5)
    assert covering.maximum == pytest.approx(mechanism.pure_epsilon, rel=1e-12)
    for others in range(n):
        loss, points = mechanism.loss(others), np.linspace(-epsilon, epsilon, 37)
        assert np.all(loss.delta(points) <= covering.delta(points) * (1 + 1e-12) + 1e-15)
        assert np.all(loss.swapped.delta(points) <= covering.delta(points) * (1 + 1e-12) + 1e-15)


def test_shuffled_rounds_whose_others_differ():
    """Two rounds with different answers of the others lose more than any two with the same: the ledger must cover them."""
    mechanism = ShuffledRandomizedResponse(1.0, 3)
    e = 0.8656410256410256
    same = max(mechanism.loss(j).repeat(2).delta(e) for j in range(3))
    mixed = max((mechanism.loss(i) + mechanism.loss(j)).delta(e) for i in range(3) for j in range(3))
    assert mixed > 1.2 * same
    upper = NumericalAccountant().add(mechanism, 2).delta(e)
    assert mixed <= upper <= 1.2 * mixed
    assert mechanism.kinds["loss"] == "upper" and set(mechanism.privacy_losses()) == {"either"}
    assert mechanism.renyi(3.0) == pytest.approx(max(mechanism.loss(j).renyi(3.0) for j in range(3)))


def test_a_thousand_people_shuffled_in_ten_rounds():
    """Between ten rounds with the same answers, below, and the pure sum; the covering loss is close to the former."""
    mechanism = ShuffledRandomizedResponse(1.0, 1000)
    lower, upper = NumericalAccountant().add(mechanism, 10).epsilon_bounds(1e-6)
    below = max(mechanism.loss(j).repeat(10).epsilon_bounds(1e-6)[0] for j in (0, 999))
    assert below <= upper <= below * 1.01 and lower <= upper <= lower * (1 + 1e-6)


@pytest.mark.parametrize(("n", "delta"), [(10, 0.02), (100, 1e-4), (520, 1e-6)])
def test_shuffled_epsilon_is_the_inverse(n, delta):
    mechanism = ShuffledRandomizedResponse(1.0, n)
    epsilon = mechanism.epsilon(delta)
    assert mechanism.delta(epsilon * (1 + 1e-12)) <= delta * (1 + 1e-10) and mechanism.delta(epsilon * (1 - 1e-6)) > delta
    assert epsilon < 1.0 and mechanism.epsilon(1.0) == 0


def test_shuffling_long_columns():
    """The windowed convolution of n > 500 against the full one, and n = 10,000 below the closed-form bound."""
    mechanism = ShuffledRandomizedResponse(1.0, 700)
    p, q = mechanism._pair(123)
    rest = np.convolve(stats.binom.pmf(np.arange(124), 123, mechanism.response.truth),
                       stats.binom.pmf(np.arange(577), 576, mechanism.response.lie))
    more, same = np.append(0.0, rest), np.append(rest, 0.0)
    np.testing.assert_allclose(p, mechanism.response.truth * more + mechanism.response.lie * same, rtol=1e-12, atol=1e-35)
    np.testing.assert_allclose(q, mechanism.response.lie * more + mechanism.response.truth * same, rtol=1e-12, atol=1e-35)
    big = ShuffledRandomizedResponse(1.0, 10_000)
    readings = []
    for others in (0, 5000, 9998):
        p, q = big._pair(others)
        seen = (p > 1e-30) & (q > 0)
        readings.append(DiscreteLoss.from_log_masses(np.log(p[seen] / q[seen]), np.log(p[seen])).epsilon(1e-6))
    assert max(readings) == pytest.approx(0.0356588, abs=2e-4)  # theory.md 5.2 has 0.0356588 for all of them
    assert max(readings) < ORACLES["shuffle_fmt21_n1e4_eps1_d1e-6"]
    with pytest.raises(ValueError, match="delta\\(epsilon\\)"):
        big.privacy_losses()


def test_shuffled_release():
    mechanism, rng = ShuffledRandomizedResponse(1.0, 8), np.random.default_rng(33)
    answers = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    counts = np.bincount([mechanism.release(answers, rng=rng) for _ in range(20_000)], minlength=9)
    truth = mechanism.response.truth
    law = np.convolve(stats.binom.pmf(np.arange(4), 3, truth), stats.binom.pmf(np.arange(6), 5, 1 - truth))
    assert_frequencies(counts, law)
    estimates = np.array([mechanism.estimate_count(c) for c in range(9)])
    assert law @ estimates == pytest.approx(3, rel=1e-12)
    assert law[np.abs(estimates - 3) <= mechanism.error(0.9)].sum() >= 0.9
    with pytest.raises(ValueError, match="answers"):
        mechanism.release([0, 1])
    with pytest.raises(ValueError, match="others"):
        mechanism.loss(8)
