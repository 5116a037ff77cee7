"""Clamped sums, means, variances, histograms, quantiles; sensitivities by search over neighboring inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from laws import P_LIMIT, assert_frequencies, case
from scipy import stats

from dpnotes.mechanisms import (
    DiscreteLaplace,
    ThresholdedCount,
    bounded_sum,
    clamp,
    histogram_sensitivity,
    mean_sensitivity,
    private_histogram,
    private_mean,
    private_quantile,
    private_sum,
    private_variance,
    sum_sensitivity,
    variance_sensitivity,
    vector_sensitivity,
)
from dpnotes.mechanisms._queries import STEPS, _moments, _spread

REPLACE = "replace one record"


def neighbors(values, sizes, relation):
    """All pairs of databases from a few values, of those sizes."""
    for n in sizes:
        for data in product(values, repeat=n):
            if relation == REPLACE:
                for i, v in product(range(n), values):
                    yield np.array(data), np.array([*data[:i], v, *data[i + 1:]])
            else:
                for v in values:
                    yield np.array(data), np.array([*data, v])


@pytest.mark.parametrize("relation", ["add/remove one record", REPLACE])
@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 3.0), (2.0, 5.0), (-4.0, -1.0)])
def test_sum_sensitivity_by_search(relation, lower, upper):
    values = [lower - 5, lower, (lower + upper) / 3, upper, upper + 9]
    worst = max(abs(bounded_sum(a, lower, upper) - bounded_sum(b, lower, upper))
                for a, b in neighbors(values, (1, 2, 3), relation))
    assert worst == pytest.approx(sum_sensitivity(lower, upper, neighbors=relation), rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_mean_and_variance_sensitivity_by_search(n):
    values, means, variances = [0.0, 3.0, 7.0, 10.0], 0.0, 0.0
    for a, b in neighbors(values, (n,), REPLACE):
        means, variances = max(means, abs(a.mean() - b.mean())), max(variances, abs(a.var() - b.var()))
    assert means == pytest.approx(mean_sensitivity(0, 10, n), rel=1e-14)
    assert variances == pytest.approx(variance_sensitivity(0, 10, n), rel=1e-14)


@pytest.mark.parametrize("relation", ["add/remove one record", REPLACE])
def test_histogram_sensitivity_by_search(relation):
    worst = {1: 0.0, 2: 0.0}
    for a, b in neighbors([-1.0, 0.5, 1.5, 2.0, 9.0], (2, 3), relation):
        change = np.histogram(a, [0, 1, 2, 3])[0] - np.histogram(b, [0, 1, 2, 3])[0]
        worst = {norm: max(w, np.linalg.norm(change, norm)) for norm, w in worst.items()}
    for norm, w in worst.items():
        assert w == pytest.approx(histogram_sensitivity(norm=norm, neighbors=relation), rel=1e-14)


@pytest.mark.parametrize("relation", ["add/remove one record", REPLACE])
@pytest.mark.parametrize("level", [0.5, 0.1, 1.0])
def test_quantile_utility_sensitivity_by_search(level, relation):
    released = private_quantile([1.0], level, 0, 4, 1.0, neighbors=relation, rng=np.random.default_rng(0))

    def utility(data, x):
        return -abs(np.sum(data < x) - level * len(data))

    worst = max(abs(utility(a, x) - utility(b, x)) for a, b in neighbors([0.0, 1.0, 2.0, 4.0], (1, 2, 3), relation)
                for x in (0.5, 1.5, 3.0))
    assert worst <= released.mechanisms[0].sensitivity + 1e-12
    assert worst == pytest.approx(released.mechanisms[0].sensitivity)


def test_whole_number_sums_by_search():
    """The integers that are really summed move by no more than the sensitivities that the noise is made for."""
    for lower, upper in [(0.0, 10.0), (-1e-3, 2e-3), (1e16, 1e16 + 4)]:
        values = [lower - 1, lower, lower + (upper - lower) / 3, upper, upper + 1]
        worst = np.zeros(2)
        for a, b in neighbors(values, (1, 2), "add/remove one record"):
            change = np.subtract(_moments(a, lower, upper, 2)[0], _moments(b, lower, upper, 2)[0])
            worst = np.maximum(worst, np.abs(change))
        assert worst.tolist() == [STEPS, STEPS]


def test_m17_mean_with_known_and_unknown_n():
    sensitivity, worst = case("M17")
    assert mean_sensitivity(0, 10, n=100) == pytest.approx(sensitivity, rel=1e-12)
    found = max(abs(a.mean() - b.mean()) for a, b in neighbors([0.0, 10.0], (1, 2, 3, 4), "add/remove one record"))
    assert found == worst == 5.0  # what noise for 1 / n of the range would have to hide when n is private
    rng, values = np.random.default_rng(60), np.full(100, 3.0)
    known, unknown = (private_mean(values, 0, 10, 0.01, n=n, rng=rng) for n in (100, None))
    assert known.mechanisms[0].sensitivity / STEPS * 5 / 100 == pytest.approx(sensitivity, rel=1e-12)
    assert known.mechanisms[0].neighbors == REPLACE and [m.neighbors for m in unknown.mechanisms] == ["add/remove one record"] * 2
    assert {m.sensitivity for m in unknown.mechanisms} == {STEPS, 1}  # nothing depends on the true n
    for released in (known, unknown):
        assert sum(m.pure_epsilon for m in released.mechanisms) == pytest.approx(0.01, rel=1e-12)
        assert 0 <= released.value <= 10
    notes = set()
    for n in (100, None):
        for _ in range(60):
            released = private_variance(values, 0, 10, 0.01, n=n, rng=rng)
            assert np.isfinite(released.value) and 0 <= released.value <= 25
            notes.add(bool(released.note))
            assert ("reported as" in released.note) == (released.value in (0.0, 25.0))
            assert sum(m.pure_epsilon for m in released.mechanisms) == pytest.approx(0.01, rel=1e-12)
    assert True in notes
    with pytest.raises(ValueError, match="n = 99"):
        private_mean(values, 0, 10, 1.0, n=99)


def test_releases_are_near_the_truth_and_have_the_stated_spread():
    rng = np.random.default_rng(61)
    values = rng.uniform(-2, 12, 1000)  # some are clamped
    inside = clamp(values, 0, 10)

    def spread(release):
        return np.array([release().value for _ in range(400)])

    sums = spread(lambda: private_sum(values, 0, 10, 0.5, rng=rng))
    assert abs(sums.mean() - inside.sum()) < 5.5 * sums.std() / 20 + 0.01
    assert sums.std() == pytest.approx(np.sqrt(2) * 10 / 0.5, rel=0.3)
    swaps = spread(lambda: private_sum(values, -10, 10, 0.5, neighbors=REPLACE, rng=rng))
    assert swaps.std() == pytest.approx(np.sqrt(2) * 20 / 0.5, rel=0.3)
    means = spread(lambda: private_mean(values, 0, 10, 0.5, n=1000, rng=rng))
    assert abs(means.mean() - inside.mean()) < 5.5 * means.std() / 20 + 1e-5
    assert means.std() == pytest.approx(np.sqrt(2) * 0.01 / 0.5, rel=0.3)
    private_n = spread(lambda: private_mean(values, 0, 10, 0.5, rng=rng))
    assert abs(private_n.mean() - inside.mean()) < 5.5 * private_n.std() / 20 + 1e-3
    for n in (1000, None):
        variances = spread(lambda n=n: private_variance(values, 0, 10, 2.0, n=n, rng=rng))
        assert abs(variances.mean() - inside.var()) < 5.5 * variances.std() / 20 + 0.02
    with_n = spread(lambda: private_variance(values, 0, 10, 2.0, n=1000, rng=rng))
    assert with_n.std() == pytest.approx(np.sqrt(2) * variance_sensitivity(0, 10, 1000) / 2, rel=0.3)


def test_losses_of_the_helpers_can_be_read():
    values = np.linspace(0, 9, 40)
    for released in (private_sum(values, 0, 10, 1.0), private_sum(values, -3, 10, 1.0, neighbors=REPLACE),
                     private_mean(values, 0, 10, 1.0), private_mean(values, 0, 10, 1.0, n=40),
                     private_variance(values, 0, 10, 1.0), private_variance(values, 0, 10, 1.0, n=40),
                     private_histogram(values, [0, 5, 10], 1.0), private_quantile(values, 0.5, 0, 10, 1.0)):
        for mechanism in released.mechanisms:
            loss = mechanism.privacy_loss()
            assert loss.maximum == pytest.approx(mechanism.pure_epsilon, rel=1e-12) and loss.delta(0.0) > 0


def test_histogram():
    edges = [0.0, 1.0, 2.0, 3.0]
    values = np.repeat([0.5, 1.0, 3.0, 7.0], [100, 200, 300, 50])
    rng = np.random.default_rng(62)
    noise = np.array([private_histogram(values, edges, 1.0, rng=rng).value for _ in range(2000)]) - [100, 200, 300]
    x = np.arange(-100, 101)
    assert_frequencies(np.bincount(noise.ravel() + 100, minlength=201), np.exp(-np.abs(x)) * np.tanh(0.5))
    replaced = private_histogram(values, edges, 1.0, neighbors=REPLACE, rng=rng).mechanisms[0]
    assert replaced.sensitivity == 2 and replaced.scale == 2
    for bad in [[1.0], [0, 0, 1], [1, 0], [[0, 1]], [0, np.nan]]:
        with pytest.raises(ValueError, match="edges"):
            private_histogram(values, bad, 1.0)


def test_quantile_law():
    """The density is constant between records, in the proportions of the exponential mechanism."""
    values, rng = [1.0, 1.5, 1.5, 4.0], np.random.default_rng(63)
    draws = np.array([private_quantile(values, 0.5, 0, 5, 2.0, rng=rng).value for _ in range(6000)])
    ends, utilities = np.array([0, 1, 1.5, 1.5, 4, 5]), -np.abs(np.arange(5) - 2.0)
    weights = np.diff(ends) * np.exp(2.0 * utilities / (2 * 0.5))
    kept = [0, 1, 3, 4]
    assert_frequencies(np.histogram(draws, [0, 1, 1.5, 4, 5])[0], weights[kept] / weights.sum())
    middle = draws[(draws > 1.5) & (draws < 4)]
    assert stats.kstest((middle - 1.5) / 2.5, "uniform").pvalue > P_LIMIT
    assert 0 <= private_quantile([], 0.5, 0, 1, 1.0, rng=rng).value <= 1


def test_m08_sums_do_not_wrap():
    assert bounded_sum(np.full(2000, 2**31 - 1, dtype=np.int32), 0, 2**31) == 2000.0 * (2**31 - 1)
    assert bounded_sum(np.full(1000, 5, dtype=np.int8), 0, 10) == 5000.0
    released = private_sum(np.full(10, 2**62), 0, 2**62, 1.0, rng=np.random.default_rng(64))
    assert released.value == pytest.approx(10 * 2**62, rel=1.0) and released.value > 0


def test_m12_products_of_sensitivities_do_not_overflow():
    with pytest.raises(ValueError, match="largest"):
        vector_sensitivity(10, 1e308)
    assert vector_sensitivity(4, 2**62) == 2.0**64
    assert vector_sensitivity(9, 2.0, norm=2) == 6.0
    assert vector_sensitivity(9, 2.0, norm=1) == 18.0
    for bad in [0, -1, 1.5]:
        with pytest.raises(ValueError, match="entries"):
            vector_sensitivity(bad, 1.0)
    with pytest.raises(ValueError, match="norm"):
        vector_sensitivity(1, 1.0, norm=3)
    with pytest.raises(ValueError, match="sensitivity"):
        DiscreteLaplace(1.0, 2**64)


def test_m20_arguments():
    rng = np.random.default_rng(65)
    before = rng.bit_generator.state
    for release in (private_sum, private_mean, private_variance, lambda v, l, u, e, **k: private_quantile(v, 0.5, l, u, e, **k)):
        for bad in [0, -1, np.inf, np.nan, "1"]:
            with pytest.raises(ValueError, match="epsilon"):
                release([1.0], 0, 1, bad, rng=rng)
        for lower, upper in [(1, 1), (2, 1), (np.nan, 1), (-np.inf, 1), (-1.7e308, 1.7e308)]:
            with pytest.raises(ValueError, match=r"lower|upper"):
                release([1.0], lower, upper, 1.0, rng=rng)
        for bad in [[np.nan], [[1.0]], "abc", [True]]:
            with pytest.raises(ValueError, match="values"):
                release(bad, 0, 1, 1.0, rng=rng)
    with pytest.raises(ValueError, match="level"):
        private_quantile([1.0], 1.5, 0, 1, 1.0, rng=rng)
    with pytest.raises(ValueError, match="neighbors"):
        sum_sensitivity(0, 1, neighbors="both")
    assert rng.bit_generator.state == before


def test_m24_a_threshold_keeps_its_fraction():
    mechanism, rng = ThresholdedCount(scale=1e-3, threshold=37.3), np.random.default_rng(66)
    assert all(mechanism.release(37, rng=rng) is None for _ in range(200))
    assert all(mechanism.release(38, rng=rng) is not None for _ in range(200))


def test_thresholded_count():
    """Publication by simulation, and costs: no pure epsilon, no rho, a loss for each kind of change."""
    mechanism, rng = ThresholdedCount(scale=1.0, threshold=2.5), np.random.default_rng(67)
    for count in (0, 1, 3):
        published = np.mean([mechanism.release(count, rng=rng) is not None for _ in range(10_000)])
        p = mechanism.publication_probability(count)
        assert abs(published - p) <= 5.5 * np.sqrt(p * (1 - p) / 10_000)
    assert mechanism.pure_epsilon == np.inf and mechanism.rho == np.inf and mechanism.mu == np.inf
    assert mechanism.renyi(2.0) == np.inf
    worst = max(loss.delta(1.0) for loss in mechanism.privacy_losses().values())
    assert worst == pytest.approx(mechanism.publication_probability(1))


def test_bounds_too_wide_are_named():
    for helper in (private_mean, private_variance):
        for low, high, name in ((-1e308, 1e308, "lower"), (0.0, 1e200, "upper")):
            with pytest.raises(ValueError, match=f"{name} = .* between -1e\\+150 and 1e\\+150"):
                helper([1, 2], low, high, 1.0)
    with pytest.raises(ValueError, match="upper - lower overflows"):
        private_quantile([1, 2], 0.5, -1e308, 1e308, 1.0)
    assert np.isfinite(private_variance([1, 2], -1e150, 1e150, 1.0, rng=np.random.default_rng(0)).value)


def test_spread_of_equal_values_keeps_the_sensitivity():
    """Search over neighbors: a further record raises the number below any point by 0 or 1, also where the spreads overlap."""
    rng = np.random.default_rng(4)
    points = np.linspace(-2, 6, 801) + 1e-7
    for _ in range(200):
        values, width = rng.integers(0, 4, rng.integers(0, 12)).astype(float), rng.choice([0.0, 0.5, 1.0, 2.5])
        more = np.append(values, rng.integers(0, 4))
        rise = np.searchsorted(_spread(more, width), points) - np.searchsorted(_spread(values, width), points)
        assert rise.min() >= 0 and rise.max() <= 1


def test_quantile_of_tied_values_needs_a_width():
    """The median of a thousand equal records: noise between the bounds without a width, right to half of it with one.

    e**-100 or less of the law lies outside, so that a false alarm is out of the question.
    """
    values, rng = np.full(1000, 37.0), np.random.default_rng(2)
    loose = [private_quantile(values, 0.5, 0, 100, 1.0, rng=rng).value for _ in range(200)]
    close = [private_quantile(values, 0.5, 0, 100, 1.0, width=1.0, rng=rng).value for _ in range(200)]
    assert np.std(loose) > 15 and max(abs(v - 37) for v in close) <= 0.5
    assert "`width`" in private_quantile.__doc__
    with pytest.raises(ValueError, match="width"):
        private_quantile(values, 0.5, 0, 100, 1.0, width=-1.0)
