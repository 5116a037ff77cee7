"""Laplace, Gaussian, randomized response, thresholded count: laws, calibration, estimates, refusals."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpnotes.mechanisms import Gaussian, Laplace, Mechanism, RandomizedResponse, ThresholdedCount
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss

LN3 = float(np.log(3))
DATA = Path(__file__).parent / "data"
CASES = {c["id"]: c for c in json.loads((DATA / "cases.json").read_text(encoding="utf-8"))["cases"]}
ORACLES = {o["id"]: o for o in json.loads((DATA / "oracles.json").read_text(encoding="utf-8"))["oracles"]}
FALSE_ALARM = 1e-6  # of each statistical test, over seeds
BAD_POSITIVE = [0, -1, np.inf, np.nan, "1", None, True, 1j, [1.0], np.array([1.0, 2.0])]


def case(name: str, quantity: str) -> float:
    (value,) = [v["value"] for v in CASES[name]["values"] if v["quantity"] == quantity]
    return float(value)


# Laplace.
def test_laplace_is_pure_dp():
    for scale, sensitivity in [(1 / LN3, 1), (2, 3), (0.1, 0.25)]:
        mechanism = Laplace(scale, sensitivity)
        assert mechanism.epsilon == sensitivity / scale
        loss = mechanism.privacy_loss()
        assert isinstance(loss, LaplaceLoss) and loss.maximum == mechanism.epsilon and loss.epsilon(0) == mechanism.epsilon


def test_m21_scale_is_sensitivity_over_epsilon():
    mechanism = Laplace.for_epsilon(0.5, sensitivity=2)
    assert mechanism.scale == case("M21", "scale") and mechanism.sensitivity == 2


@given(epsilon=st.floats(1e-6, 1e6), sensitivity=st.floats(1e-6, 1e6))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_laplace_for_epsilon_never_exceeds_it(epsilon, sensitivity):
    mechanism = Laplace.for_epsilon(epsilon, sensitivity)
    assert epsilon * (1 - 5e-16) <= mechanism.epsilon <= epsilon  # 1 / (1 / 49) > 49 in floats


def test_m19_noise_shrinks_with_epsilon():
    assert Laplace.for_epsilon(30).scale * 2**0.5 == pytest.approx(case("M19", "Laplace std eps=30"), rel=1e-9)


# Gaussian.
@pytest.mark.parametrize(("id", "epsilon", "delta", "quantity"), [
    ("A07", 1, 1e-5, "sigma for eps=1"), ("A07", 20, 1e-5, "sigma for eps=20"), ("A07", 50, 1e-5, "sigma for eps=50"),
    ("A15", 0, 1e-6, "sigma(eps=0, delta=1e-6)"), ("M03", 10, 1e-5, "analytic sigma eps=10"),
    *[("A17", e, 1e-6, f"sigma eps={e}") for e in (1, 10, 20, 50, 100, 500)]])
def test_calibration_of_other_packages_bug_reports(id, epsilon, delta, quantity):
    mechanism = Gaussian.for_epsilon_delta(epsilon, delta)
    assert mechanism.sigma == pytest.approx(case(id, quantity), rel=1e-11)
    assert Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=2.5).sigma == pytest.approx(2.5 * mechanism.sigma, rel=1e-12)


@pytest.mark.parametrize("mu", [10, 100, 500])
def test_a08_mu_at_large_epsilon(mu):
    assert 1 / Gaussian.for_epsilon_delta(mu, 1e-5).sigma == pytest.approx(case("A08", f"mu for eps={mu}"), rel=1e-11)


def test_classic_calibration_needs_more():
    classic = float(ORACLES["gauss_sigma_classical_eps1_delta1e-5"]["value"])
    assert Gaussian.for_epsilon_delta(1, 1e-5).sigma < classic and Gaussian(classic).privacy_loss().delta(1) < 1e-5


@given(epsilon=st.one_of(st.just(0.0), st.floats(-6, 4).map(lambda x: 10.0**x)),
       delta=st.one_of(st.floats(-300, -0.001).map(lambda x: 10.0**x), st.floats(0.5, 0.999)),
       sensitivity=st.floats(-3, 3).map(lambda x: 10.0**x))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_calibrated_noise_suffices_and_hardly_less_does(epsilon, delta, sensitivity):
    mechanism = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity)
    assert mechanism.privacy_loss().delta(epsilon) <= delta
    assert mechanism.sensitivity == sensitivity
    with mp.workdps(500):
        mu = mp.mpf(sensitivity) / mp.mpf(mechanism.sigma)
        assert reference.Gaussian(mu).delta(epsilon) <= delta
        assert reference.Gaussian(mu * (1 + mp.mpf("1e-10"))).delta(epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-300), (1e300, 1e-5), (1e100, 0.5), (1e-300, 1e-300), (1e-300, 0.999999),
                                                (0, 5e-324)])
def test_calibration_far_out(epsilon, delta):
    mechanism = Gaussian.for_epsilon_delta(epsilon, delta)
    assert mechanism.sigma > 0 and mechanism.privacy_loss().delta(epsilon) <= delta


def test_gaussian_limits():
    assert Gaussian(0).privacy_loss().infinity_mass == 1.0 and Gaussian(np.inf).privacy_loss().maximum == 0.0
    assert Gaussian(0).release([1, 2], rng=np.random.default_rng(1)).tolist() == [1.0, 2.0]
    assert Gaussian(2, sensitivity=3).privacy_loss().mu == 1.5


# What both share.
ADDITIVE = [Laplace(2.0), Gaussian(2.0)]
additive = pytest.mark.parametrize("mechanism", ADDITIVE, ids=repr)


@additive
def test_release_has_the_law_it_says(mechanism):
    sample = mechanism.release(np.full(20_000, 7.0), rng=np.random.default_rng(31))
    law = stats.laplace(7, 2) if isinstance(mechanism, Laplace) else stats.norm(7, 2)
    assert stats.kstest(sample, law.cdf).pvalue > FALSE_ALARM


@additive
def test_release_m10(mechanism):
    one, two = (mechanism.release([1, 2, 3], rng=np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert len(set(one - [1, 2, 3])) == 3
    rng = np.random.default_rng(0)
    shared = np.concatenate([mechanism.release([1, 2, 3], rng=rng) for _ in range(2)])
    assert len(set(shared - [1, 2, 3, 1, 2, 3])) == 6
    assert mechanism.release(5) != mechanism.release(5)
    assert type(mechanism.release(5)) is float and mechanism.release(np.zeros((2, 3))).shape == (2, 3)
    assert mechanism.release([]).shape == (0,) and type(mechanism.release(2**70)) is float
    given = np.array([1.0, 2.0])
    mechanism.release(given)
    assert given.tolist() == [1.0, 2.0]


@additive
@pytest.mark.parametrize("bad", [np.nan, np.inf, "1", None, True, 1j, [1, np.nan], [True], {}, [[1], [1, 2]]])
def test_bad_value_before_any_randomness(mechanism, bad):
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=r"^value = "):
        mechanism.release(bad, rng=rng)
    assert rng.bit_generator.state == before
    with pytest.raises(ValueError, match=r"^rng = "):
        mechanism.release(1.0, rng=0)


@pytest.mark.parametrize("bad", BAD_POSITIVE)
def test_m20_bad_parameters(bad):
    def refused(name, make, *arguments, **named):
        with pytest.raises(ValueError, match=rf"^{name} = [\s\S]* is not allowed"):
            make(*arguments, **named)

    refused("scale", Laplace, bad)
    refused("sensitivity", Laplace, 1.0, bad)
    refused("sensitivity", Gaussian, 1.0, bad)
    refused("epsilon", Laplace.for_epsilon, bad)
    refused("sensitivity", Laplace.for_epsilon, 1.0, bad)
    refused("sensitivity", Gaussian.for_epsilon_delta, 1.0, 1e-5, bad)
    refused("delta", Gaussian.for_epsilon_delta, 1.0, bad)
    refused("epsilon", RandomizedResponse, bad)
    refused("scale", ThresholdedCount, bad, 3.0)
    refused("neighbors", Laplace, 1.0, neighbors=bad)
    refused("neighbors", Gaussian, 1.0, neighbors=bad)
    if not (isinstance(bad, (int, float)) and bad in (0, np.inf)):  # no noise, and endless noise, are meant
        refused("sigma", Gaussian, bad)
    if not (isinstance(bad, (int, float)) and bad == 0):
        refused("epsilon", Gaussian.for_epsilon_delta, bad, 1e-5)
    for k in (bad, 1, 2.0, 2**63, 2**62 + 1):
        refused("k", RandomizedResponse, 1.0, k)
    for delta in (-1e-9, 1.1, 1.0, 0.0):
        refused("delta", Gaussian.for_epsilon_delta, 1.0, delta)
    for threshold in (np.nan, np.inf, "3", None, [3.0], True):
        refused("threshold", ThresholdedCount, 1.0, threshold)


def test_neighbors_are_named():
    assert Laplace(1).neighbors == Gaussian(1).neighbors == ThresholdedCount(1, 3).neighbors == "add/remove one record"
    assert RandomizedResponse(1).neighbors == "replace one record"
    assert Laplace.for_epsilon(1, neighbors="replace one record").neighbors == "replace one record"
    assert Gaussian.for_epsilon_delta(1, 1e-5, neighbors="replace one record").neighbors == "replace one record"


def test_repr():
    assert repr(Laplace(2)) == "Laplace(scale=2, sensitivity=1)" and repr(Gaussian(2, 3)) == "Gaussian(sigma=2, sensitivity=3)"
    assert repr(RandomizedResponse(1, 4)) == "RandomizedResponse(epsilon=1, k=4)"
    assert repr(ThresholdedCount(1, 3.5)) == "ThresholdedCount(scale=1, threshold=3.5)"


def test_one_loss_or_a_list():
    class Two(Mechanism):
        def privacy_losses(self):
            return {"remove": GaussianLoss(1), "add": GaussianLoss(2)}

    with pytest.raises(ValueError, match=r"remove, add[\s\S]*privacy_losses\(\)"):
        Two().privacy_loss()
    assert isinstance(Gaussian(1).privacy_loss(), GaussianLoss) and list(Gaussian(1).privacy_losses()) == ["either"]


# Randomized response.
@pytest.mark.parametrize("k", [2, 3, 4, 100])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, LN3, 10.0, 800.0])
def test_response_probabilities(epsilon, k):
    mechanism = RandomizedResponse(epsilon, k)
    with mp.workdps(600):
        odds = mp.exp(mp.mpf(epsilon))
        truth, lie = float(odds / (odds + k - 1)), float(1 / (odds + k - 1))
    assert mechanism.truth == pytest.approx(truth, rel=1e-15) and mechanism.lie == pytest.approx(lie, rel=1e-14)
    assert mechanism.truth + (k - 1) * mechanism.lie == pytest.approx(1, rel=1e-15)
    loss = mechanism.privacy_loss()
    assert loss.maximum == epsilon == -loss.minimum and len(loss.losses) == (2 if k == 2 else 3)
    assert loss.delta(0) == pytest.approx(float(reference.randomized_response(epsilon, k).delta(0)), rel=1e-13)


def test_m04_a_lie_is_never_the_truth():
    mechanism = RandomizedResponse(LN3)
    assert mechanism.epsilon == pytest.approx(case("M04", "eps right"), rel=1e-12) and mechanism.truth == pytest.approx(0.75,
        rel=1e-15)
    answers = np.repeat([0, 1], 20_000)
    responses = mechanism.release(answers, rng=np.random.default_rng(32))
    assert stats.binomtest(int(np.sum(responses == answers)), 40_000, 0.75).pvalue > FALSE_ALARM


@pytest.mark.parametrize("k", [2, 3, 5])
def test_response_release_by_chi_square(k):
    mechanism, n = RandomizedResponse(0.8, k), 12_000
    for truth in range(k):
        responses = mechanism.release(np.full(n, truth), rng=np.random.default_rng(33 + truth))
        expected = np.where(np.arange(k) == truth, mechanism.truth, mechanism.lie) * n
        assert stats.chisquare(np.bincount(responses, minlength=k), expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("k", "answers"), [(2, [0, 1, 1, 1]), (2, [0]), (3, [0, 1, 1, 2]), (3, [2, 2, 2]), (4, [0, 3, 3]),
                                            (2, [1, 1, 1, 0, 0, 1, 0])])
@pytest.mark.parametrize("epsilon", [0.2, 1.3])
def test_response_estimates_by_enumeration(epsilon, k, answers):
    """Every possible list of responses with its probability: the estimate is unbiased, its standard error exact."""
    mechanism = RandomizedResponse(epsilon, k)
    truth = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    mean, second = np.zeros(k), np.zeros(k)
    for responses in product(range(k), repeat=len(answers)):
        chance = math.prod(truth if r == a else (1 - truth) / (k - 1) for r, a in zip(responses, answers, strict=True))
        estimate = mechanism.estimate_counts(responses)
        assert estimate.sum() == pytest.approx(len(answers), rel=1e-12)
        mean, second = mean + chance * estimate, second + chance * estimate**2
    counts = np.bincount(answers, minlength=k)
    np.testing.assert_allclose(mean, counts, rtol=0, atol=1e-11)
    np.testing.assert_allclose(mechanism.estimate_standard_errors(counts), np.sqrt(second - mean**2), rtol=1e-9)


def test_response_estimates_at_the_ends():
    assert RandomizedResponse(1e-12).estimate_counts([0, 1]).tolist() == [1.0, 1.0]
    # truth - lie is (e**epsilon - 1) / (e**epsilon + 1): half of epsilon when small, with all its digits.
    one = RandomizedResponse(1e-9).estimate_counts([1])
    assert one[1] == pytest.approx(0.5 + 1e9, rel=1e-14)
    assert RandomizedResponse(1e-300).estimate_counts([1])[1] == pytest.approx(1e300, rel=1e-14)
    assert RandomizedResponse(1e4).estimate_counts([0, 1, 1]).tolist() == [1.0, 2.0]
    assert RandomizedResponse(1e4).estimate_standard_errors([3, 4]).tolist() == [0.0, 0.0]
    assert RandomizedResponse(1.0, 3).estimate_counts(np.array([], dtype=int)).tolist() == [0.0, 0.0, 0.0]


def test_response_shapes():
    mechanism = RandomizedResponse(1.0, 4)
    assert type(mechanism.release(3)) is int and mechanism.release([[0, 1], [2, 3]]).shape == (2, 2)
    assert mechanism.release(np.array([], dtype=int)).shape == (0,)
    assert mechanism.estimate_counts(np.array([[0, 1], [2, 3]], dtype=np.uint8)).tolist() == pytest.approx([1.0] * 4)
    one, two = (mechanism.release(np.arange(4), rng=np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    many = RandomizedResponse(1e-9, 2**62)  # the largest k: sums of two answers still fit in 64 bits
    assert 0 <= many.release(2**62 - 1) < 2**62 and many.privacy_loss().maximum == 1e-9


@pytest.mark.parametrize("bad", [-1, 2, 1.0, [0.0, 1.0], "0", ["0"], [[0], [0, 1]], None, True, [True, False], [0, 1, 2], 2**70,
                                 np.uint64(2**64 - 1), np.nan, 1j])
def test_bad_answers_before_any_randomness(bad):
    mechanism, rng = RandomizedResponse(1.0), np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=r"^answers = "):
        mechanism.release(bad, rng=rng)
    assert rng.bit_generator.state == before
    with pytest.raises(ValueError, match=r"^responses = "):
        mechanism.estimate_counts(bad)
    with pytest.raises(ValueError, match=r"^rng = "):
        mechanism.release(1, rng=np.random)


@pytest.mark.parametrize("bad", [1.0, [1.0], [1, 2, 3], [-1, 2], [np.nan, 1], [np.inf, 1], "ab", None, [[1, 2]], [True, False]])
def test_bad_counts(bad):
    with pytest.raises(ValueError, match=r"^counts = "):
        RandomizedResponse(1.0).estimate_standard_errors(bad)


# Thresholded count.
def test_thresholded_count_of_document_001():  # F1.11
    mechanism = ThresholdedCount(scale=1 / LN3, threshold=3)
    assert mechanism.publication_probability(1) == pytest.approx(0.0555556, abs=5e-8)
    assert mechanism.publication_probability(0) == 0.0
    losses = mechanism.privacy_losses()
    assert losses["remove the only one"].infinity_mass == pytest.approx(1 / 18, rel=1e-14)
    assert losses["add the first one"].infinity_mass == 0.0
    assert losses["add the first one"].maximum == pytest.approx(-math.log(17 / 18), rel=1e-13)
    assert losses["any other change"].maximum == pytest.approx(LN3, rel=1e-15)
    with pytest.raises(ValueError, match="remove the only one, add the first one, any other change"):
        mechanism.privacy_loss()


@pytest.mark.parametrize(("count", "threshold"), [(1, 3.0), (5, 3.0), (3, 3.0), (2, -4.5)])
def test_publication_probability_by_sampling(count, threshold):
    mechanism, n, rng = ThresholdedCount(1.4, threshold), 10_000, np.random.default_rng(34)
    released = [mechanism.release(count, rng=rng) for _ in range(n)]
    published = np.array([r for r in released if r is not None])
    assert stats.binomtest(len(published), n, mechanism.publication_probability(count)).pvalue > FALSE_ALARM
    assert published.min() > threshold
    law, tail = stats.laplace(count, 1.4), mechanism.publication_probability(count)
    assert law.sf(threshold) == pytest.approx(tail, rel=1e-12)
    assert stats.kstest(published, lambda x: 1 - law.sf(np.maximum(x, threshold)) / tail).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("low", "threshold"), [(1, 3.0), (2, 3.0), (3, 3.0), (6, 3.0)])
def test_any_other_change_is_bounded_by_the_noisy_count(low, threshold):
    """The exact hockey stick of the output (a number above the threshold, or nothing), by quadrature, both orders."""
    mechanism = ThresholdedCount(1.4, threshold)
    bound = mechanism.privacy_losses()["any other change"]
    y = threshold + (np.arange(400_000) + 0.5) * 1e-4
    for one, other in ((low, low + 1), (low + 1, low)):
        p, q = stats.laplace(one, 1.4), stats.laplace(other, 1.4)
        for epsilon in (0.0, 0.2, 0.5, 1 / 1.4):
            exact = np.sum(np.maximum(p.pdf(y) - np.exp(epsilon) * q.pdf(y), 0)) * 1e-4
            exact += max(p.cdf(threshold) - np.exp(epsilon) * q.cdf(threshold), 0)
            assert exact <= bound.delta(epsilon) + 1e-6


def test_m24_a_threshold_is_never_rounded_down():
    quiet = ThresholdedCount(1e-9, 37.3)
    assert quiet.release(37) is None and quiet.publication_probability(37) == 0.0
    assert quiet.release(38) == pytest.approx(38, abs=1e-6) and quiet.publication_probability(38) == 1.0


def test_thresholded_count_far_out():
    for scale, threshold in ((1e-310, 3.0), (1e-310, -3.0), (1e308, 0.0), (1.0, 1e308), (1.0, -1e308), (1.0, 700.0)):
        mechanism = ThresholdedCount(scale, threshold)
        assert 0.0 <= mechanism.publication_probability(1) <= 1.0
        for loss in mechanism.privacy_losses().values():
            values = loss.epsilon([0.0, 1e-300, 1e-5, 0.5, 1.0])
            assert np.all(values[1:] <= values[:-1]) and values[-1] == 0.0
    assert ThresholdedCount(1.0, 3.0).release(0) is None and ThresholdedCount(1.0, -50.0).release(0) is None


@pytest.mark.parametrize("bad", [-1, 1.0, "1", None, True, np.nan, [1], 2**70])
def test_bad_true_count_before_any_randomness(bad):
    mechanism, rng = ThresholdedCount(1.0, 3.0), np.random.default_rng(0)
    before = rng.bit_generator.state
    for call in (mechanism.publication_probability, lambda value: mechanism.release(value, rng=rng)):
        with pytest.raises(ValueError, match=r"^true_count = "):
            call(bad)
    assert rng.bit_generator.state == before
    with pytest.raises(ValueError, match=r"^rng = "):
        mechanism.release(1, rng=1)


def test_losses_match_the_laws_drawn():
    """The claimed loss against the counts of many releases: a bridge from the mechanism to its privacy loss."""
    mechanism, n = RandomizedResponse(1.1, 3), 60_000
    loss = mechanism.privacy_loss()
    counts = np.bincount(mechanism.release(np.zeros(n, dtype=int), rng=np.random.default_rng(35)), minlength=3)
    # Under P (truth 0) the outputs 0, 1, 2 have losses epsilon, -epsilon and 0 against Q (truth 1).
    masses = np.diff(np.concatenate([[0.0], loss.cdf(np.array([-1.1, 0.0, 1.1]))]))
    assert isinstance(loss, DiscreteLoss)
    assert stats.chisquare(counts[[1, 2, 0]], masses * n).pvalue > FALSE_ALARM
