"""Exponential mechanism, permute-and-flip, noisy maxima; sparse vectors, right and broken."""

from __future__ import annotations

from itertools import product

import mpmath as mp
import numpy as np
import pytest
from laws import assert_frequencies, case

from dpnotes.mechanisms import AboveThreshold, ExponentialMechanism, PermuteAndFlip, ReportNoisyMax, SparseVector, broken
from dpnotes.privacy_loss import DiscreteLoss

KINDS = [ExponentialMechanism, PermuteAndFlip, ReportNoisyMax, lambda *a, **k: ReportNoisyMax(*a, noise="exponential", **k),
         lambda *a, **k: ReportNoisyMax(*a, noise="gumbel", **k)]
UTILITIES = np.array([0.0, 1.0, 3.0, 2.5, -4.0, 3.0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("monotone", [False, True])
def test_laws_by_simulation(kind, monotone):
    mechanism, rng = kind(1.3, 0.8, monotone=monotone), np.random.default_rng(40)
    probabilities = mechanism.probabilities(UTILITIES)
    assert probabilities.sum() == pytest.approx(1, rel=1e-12)
    choices = [mechanism.release(UTILITIES, rng=rng) for _ in range(10_000)]
    assert all(type(c) is int for c in choices[:5])
    assert_frequencies(np.bincount(choices, minlength=6), probabilities)
    assert mechanism.scale == pytest.approx((1 if monotone else 2) * 0.8 / 1.3, rel=1e-15)


def test_permute_and_flip_by_enumeration():
    """Its closed form against all orders of five candidates; the same as exponential noise."""
    from itertools import permutations

    u = np.array([0.0, -0.7, 0.0, -2.0, -9.0])
    q, expected = np.exp(u / 2), np.zeros(5)
    for order in permutations(range(5)):
        tails = 1.0
        for j in order:
            expected[j] += tails * q[j] / 120
            tails *= 1 - q[j]
    np.testing.assert_allclose(PermuteAndFlip(1.0).probabilities(u), expected, rtol=1e-13)
    np.testing.assert_allclose(ReportNoisyMax(1.0, noise="exponential").probabilities(u), expected, rtol=1e-13)


def test_laplace_maximum_by_quadrature():
    mp.mp.dps = 30
    u = [0.0, -0.7, -3.0, -40.0]

    def cdf(x):
        return mp.e**x / 2 if x < 0 else 1 - mp.e**-x / 2

    probabilities = ReportNoisyMax(2.0).probabilities(u)  # scale 1
    for j in range(4):
        value = mp.quad(lambda x, j=j: mp.e ** -abs(x - u[j]) / 2 * mp.fprod(cdf(x - u[i]) for i in range(4) if i != j),
                        [-120, *sorted(u), 5, 60])
        assert probabilities[j] == pytest.approx(float(value), rel=1e-10)


def test_m16_three_noises_three_laws():
    exponential, laplace, flip = case("M16")
    assert ExponentialMechanism(1.0).probabilities([0, 1])[1] == pytest.approx(exponential, rel=1e-9)
    assert ReportNoisyMax(1.0, noise="gumbel").probabilities([0, 1])[1] == pytest.approx(exponential, rel=1e-9)
    assert ReportNoisyMax(1.0).probabilities([0, 1])[1] == pytest.approx(laplace, rel=1e-9)
    assert ReportNoisyMax(1.0, noise="exponential").probabilities([0, 1])[1] == pytest.approx(flip, rel=1e-9)
    assert PermuteAndFlip(1.0).probabilities([0, 1])[1] == pytest.approx(flip, rel=1e-9)


def test_m05_weights_in_log_space():
    first, second = case("M05")
    mechanism = ExponentialMechanism(1.0)
    np.testing.assert_allclose(mechanism.probabilities([0, -2000, -2001], [0, 1, 1]), first, rtol=1e-9)
    np.testing.assert_allclose(ExponentialMechanism(2.0).probabilities([1000, 1001, 999]), second, rtol=1e-9)
    rng = np.random.default_rng(41)
    assert {mechanism.release([0, -2000, -2001], [0, 1, 1], rng=rng) for _ in range(50)} == {1, 2}
    for bad in [[1, 1], [0, 0, 0], [1, -1, 1], [1, np.nan, 1]]:
        with pytest.raises(ValueError, match="measure"):
            mechanism.probabilities([0, 1, 2], bad)
    for bad in [[], [[1, 2]], [np.nan], ["a"], 3.0]:
        with pytest.raises(ValueError, match="utilities"):
            mechanism.release(bad)


def test_a31_permute_and_flip_has_no_bounded_range():
    """Scores [1, -1] against [0, 0] at epsilon 2: only the exponential mechanism keeps rho = epsilon**2 / 8."""
    claimed, exponential, flip = case("A31")
    divergences = []
    for kind in (ExponentialMechanism, PermuteAndFlip):
        p, q = kind(2.0).probabilities([1, -1]), kind(2.0).probabilities([0, 0])
        divergences.append(max(DiscreteLoss.from_probabilities(*pair).renyi(2.0) for pair in [(p, q), (q, p)]))
    assert divergences == pytest.approx([exponential, flip], rel=1e-9)
    assert 2 * ExponentialMechanism(2.0).rho == claimed and ReportNoisyMax(2.0, noise="gumbel").rho == claimed / 2
    for mechanism in (PermuteAndFlip(2.0), ReportNoisyMax(2.0), ReportNoisyMax(2.0, noise="exponential")):
        assert mechanism.rho == pytest.approx(2 * np.tanh(1.0), rel=1e-14)  # at most epsilon**2 / 2
        assert mechanism.renyi(2.0) >= flip
    assert ExponentialMechanism(2.0).renyi(2.0) == claimed
    assert ExponentialMechanism.for_rho(0.3).rho <= 0.3 < ExponentialMechanism.for_rho(0.3).rho * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("monotone", [False, True])
def test_guarantees_by_search_over_neighbors(kind, monotone):
    """All utilities on a small lattice and all allowed changes of them: no loss above epsilon, no divergence above the bound."""
    epsilon = 1.7
    mechanism = kind(epsilon, 1.0, monotone=monotone)
    moves = [m for m in product([-1.0, 0.0, 1.0], repeat=3) if not monotone or min(m) >= 0]
    alpha = np.array([1.0, 1.5, 2.0, 4.0, 30.0])
    bound, largest, widest = mechanism.renyi(alpha), 0.0, 0.0
    for u in product([0.0, 1.0, 3.0], repeat=2):
        p = mechanism.probabilities([0.0, *u])
        for move in moves:
            q = mechanism.probabilities(np.array([0.0, *u]) + move)
            losses = np.log(p / q)
            largest, widest = max(largest, np.abs(losses).max()), max(widest, np.ptp(losses))
            for loss in (DiscreteLoss.from_probabilities(p, q), DiscreteLoss.from_probabilities(q, p)):
                assert np.all(loss.renyi(alpha) <= bound * (1 + 1e-9))
    assert 0.6 * epsilon < largest <= epsilon * (1 + 1e-9)
    if "gumbel" in repr(getattr(mechanism, "noise", "")) or isinstance(mechanism, ExponentialMechanism):
        assert widest <= epsilon * (1 + 1e-9)
    elif not monotone:
        assert widest > 1.02 * epsilon  # no bounded range


@pytest.mark.parametrize("kind", KINDS)
def test_selection_error(kind):
    mechanism = kind(1.0)
    probabilities, gaps = mechanism.probabilities(UTILITIES), 3.0 - UTILITIES
    for confidence in (0.3, 0.8, 0.99):
        gap = mechanism.error(UTILITIES, confidence)
        assert probabilities[gaps <= gap].sum() >= confidence - 1e-12
        assert gap == 0 or probabilities[gaps < gap].sum() < confidence
    assert PermuteAndFlip(1.0).probabilities(UTILITIES) @ gaps < ExponentialMechanism(1.0).probabilities(UTILITIES) @ gaps
    with pytest.raises(ValueError, match="epsilon"):
        kind(0.0)
    with pytest.raises(ValueError, match="sensitivity"):
        kind(1.0, -1.0)
    with pytest.raises(ValueError, match="noise"):
        ReportNoisyMax(1.0, noise="cauchy")


# Sparse vectors.

def test_m14_log_ratios():
    lap4_1, lap4_5, lap4_20, lap2_5, lap2_20, unscaled, scaled = case("M14")
    right = AboveThreshold(1.0)
    assert (right.threshold_scale, right.query_scale) == (2.0, 4.0)
    for k, expected in [(1, lap4_1), (5, lap4_5), (20, lap4_20)]:
        values, neighbor, answers, _ = broken.HalfQueryNoise(1.0).violation(k)
        ratio = right.log_probability(values, answers, 0.0) - right.log_probability(neighbor, answers, 0.0)
        assert ratio == pytest.approx(expected, rel=1e-5) and ratio <= 1
    for k, expected in [(5, lap2_5), (20, lap2_20)]:
        assert broken.HalfQueryNoise(1.0).violation(k).log_ratio == pytest.approx(expected, rel=1e-5)
    values, neighbor, answers, ratio = broken.UnscaledQueryNoise(1.0, cutoff=10).violation(noes=10)
    assert ratio == pytest.approx(unscaled, rel=1e-5)
    scaled_right = SparseVector(1.0, cutoff=10)
    ratio = scaled_right.log_probability(values, answers, 0.0) - scaled_right.log_probability(neighbor, answers, 0.0)
    assert ratio == pytest.approx(scaled, rel=1e-4)


@pytest.mark.parametrize("variant", broken.VARIANTS)
def test_every_broken_variant_is_caught(variant):
    for epsilon in (0.5, 1.0, 3.0):
        mechanism = variant(epsilon)
        values, neighbor, answers, ratio = mechanism.violation(*([] if variant is not broken.NumericAnswers else [20]))
        assert ratio > epsilon * 1.2
        assert np.max(np.abs(values - neighbor)) <= 1 and values.shape == answers.shape
        assert "claimed" in repr(mechanism)
    if variant is not broken.NumericAnswers:
        yes = int(np.sum(answers))
        assert yes <= mechanism.cutoff
        output = mechanism.release(values, 0.0, rng=np.random.default_rng(42))
        assert output.dtype == bool and output.size <= values.size


def test_broken_without_bound():
    for variant in (broken.NoCutoff, broken.NumericAnswers):
        ratios = [variant(1.0).violation(k).log_ratio for k in (5, 10, 20, 40)]
        assert np.all(np.diff(ratios) > 0.9)
    assert broken.NoQueryNoise(1.0).violation().log_ratio == np.inf
    assert broken.UnscaledQueryNoise(1.0, 2).violation().log_ratio > 1
    with pytest.raises(ValueError, match="cutoff"):
        broken.UnscaledQueryNoise(1.0, 1)


def test_numeric_answers_density_by_simulation():
    """P[three noes, then a yes with a published value below 1] from the density and from releases."""
    mechanism, rng = broken.NumericAnswers(2.0), np.random.default_rng(43)
    values = [0.0, 0.0, 0.0, 0.5]
    points = np.linspace(-60, 1, 1001)
    expected = np.trapezoid([np.exp(mechanism.log_density(values, y)) for y in points], points)
    outputs = [mechanism.release(values, 0.0, rng=rng) for _ in range(8000)]
    found = np.mean([o[:3] == [None] * 3 and len(o) == 4 and o[3] is not None and o[3] < 1 for o in outputs])
    assert found == pytest.approx(expected, abs=5.5 * np.sqrt(expected / 8000) + 1e-3 * expected)


@pytest.mark.parametrize("mechanism", [AboveThreshold(1.0), SparseVector(2.0, 2, threshold_share=0.3),
                                       SparseVector(1.0, monotone=True)], ids=["above", "two", "monotone"])
def test_sparse_vector_law(mechanism):
    values, threshold, rng = [0.0, 2.0, -1.0, 3.0], 1.0, np.random.default_rng(44)
    outputs = [tuple(mechanism.release(values, threshold, rng=rng).tolist()) for _ in range(6000)]
    possible = [a for m in range(1, 5) for a in product([False, True], repeat=m)
                if (sum(a) == mechanism.cutoff and a[-1]) or (m == 4 and sum(a) < mechanism.cutoff)]
    probabilities = [np.exp(mechanism.log_probability(values, a, threshold)) for a in possible]
    assert sum(probabilities) == pytest.approx(1, rel=1e-9)
    assert set(outputs) <= set(possible)
    assert_frequencies([outputs.count(a) for a in possible], probabilities)


@pytest.mark.parametrize(("cutoff", "monotone"), [(1, False), (2, False), (1, True), (2, True)])
def test_sparse_vector_guarantee_by_search(cutoff, monotone):
    mechanism, largest = SparseVector(1.0, cutoff, monotone=monotone), 0.0
    moves = [m for m in product([-1.0, 0.0, 1.0], repeat=4) if not monotone or min(m) >= 0 or max(m) <= 0]
    for answers in ([False, False, False, True], [False, True, False, True][-4:]):
        if sum(answers) > cutoff:
            continue
        for values in ([0.0] * 4, [0.0, 1.0, -1.0, 2.0]):
            p = mechanism.log_probability(values, answers, 0.5)
            for move in moves:
                largest = max(largest, abs(p - mechanism.log_probability(np.add(values, move), answers, 0.5)))
    assert 0.4 < largest <= 1.0


def test_m13_tokens_only_and_exactly_c_yeses():
    mechanism, rng = SparseVector(1.0, cutoff=3), np.random.default_rng(45)
    for _ in range(20):
        answers = mechanism.release(rng.normal(0, 5, 100), 0.0, rng=rng)
        assert answers.dtype == bool and answers.sum() == 3 and answers[-1] and answers.size <= 100
    few = mechanism.release([-1e6] * 7, 0.0, rng=rng)
    assert few.tolist() == [False] * 7

    def endless():
        while True:
            yield 100.0

    assert mechanism.release(endless(), 0.0, rng=rng).sum() == 3


def test_sparse_vector_error():
    mechanism, rng, k = AboveThreshold(1.0), np.random.default_rng(46), 20
    w = mechanism.error(k, 0.9)
    noise = np.abs(rng.laplace(0, 2, 50_000)) + np.abs(rng.laplace(0, 4, (50_000, k))).max(axis=1)
    assert np.mean(noise <= w) == pytest.approx(0.9, abs=5.5 * 0.3 / np.sqrt(50_000))
    wrong = 0
    for _ in range(800):
        answers = mechanism.release([-w] * (k - 1) + [w], 0.0, rng=rng)
        wrong += answers.tolist() != [False] * (k - 1) + [True]
    assert wrong / 800 <= 0.1 + 5.5 * 0.3 / np.sqrt(800)


def test_sparse_vector_arguments():
    for bad in [0, -1, np.nan, "1"]:
        with pytest.raises(ValueError, match="epsilon"):
            SparseVector(bad)
    for bad in [0, 1.5, "2"]:
        with pytest.raises(ValueError, match="cutoff"):
            SparseVector(1.0, bad)
    with pytest.raises(ValueError, match="threshold_share"):
        SparseVector(1.0, threshold_share=1.0)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    for values, threshold, name in [([np.nan], 0.0, "values"), ([1.0], np.inf, "threshold"), (["a"], 0.0, "values")]:
        with pytest.raises(ValueError, match=name):
            AboveThreshold(1.0).release(values, threshold, rng=rng)
    assert rng.bit_generator.state == before
    with pytest.raises(ValueError, match="answers"):
        AboveThreshold(1.0).log_probability([1.0], [1], 0.0)
    assert AboveThreshold(1.0).guarantees()["rho"] == (pytest.approx(np.tanh(0.5)), "upper")


@pytest.mark.parametrize("mechanism", [ExponentialMechanism(1.0), PermuteAndFlip(1.0), ReportNoisyMax(1.0),
                                       ReportNoisyMax(1.0, noise="exponential"), ReportNoisyMax(1.0, noise="gumbel")])
def test_utilities_of_any_size(mechanism):
    """Differences overflow (a warning is an error here): the far ones are never chosen."""
    utilities = [1e308, -1e308, 1e308, 0.0]
    np.testing.assert_allclose(mechanism.probabilities(utilities), [0.5, 0, 0.5, 0], atol=1e-12)
    assert all(mechanism.release(utilities, rng=np.random.default_rng(seed)) in (0, 2) for seed in range(20))
    assert mechanism.error(utilities) == 0
