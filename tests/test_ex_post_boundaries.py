"""Boundaries, the two readings that are not valid, and how often paths cross them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from dpnotes.ex_post import (
    Boundary,
    BrownianMechanism,
    LinearBoundary,
    OneSidedMixture,
    RenyiExPost,
    StitchedBoundary,
    TwoSidedMixture,
    crossing_frequency,
    not_anytime_valid,
    renyi_to_probabilistic,
)

DATA = json.loads((Path(__file__).parent / "data" / "ex_post.json").read_text(encoding="utf-8"))
TABLE = DATA["boundaries_at_delta_1e-6_tuned_at_rho_1"]
ORACLES = {row["id"]: row for row in DATA["oracles"]}
CROSSING = {row["what"]: row["value"] for row in DATA["crossing_at_delta_0.05"]}
FIVE = np.geomspace(0.25, 4, 5)
# Six simulated frequencies are compared with known ones; 4 standard errors: a false alarm about once in 2,600 seeds.
SIGMAS = 4.0


def printed(curve, column, tolerance=5.1e-5):
    assert curve.epsilon(TABLE["rho"]) == pytest.approx(TABLE[column], abs=tolerance)


def test_the_table_to_its_printed_digits():
    printed(LinearBoundary.for_target(1.0, 1e-6), "linear")
    printed(not_anytime_valid.PostHocAlpha(1e-6), "post_hoc_alpha")
    printed(not_anytime_valid.PointwiseQuantile(1e-6), "pointwise")
    printed(OneSidedMixture(0.0674, 1e-6), "mixture_one_sided", 1.1e-3)  # the table's r is printed to three digits
    printed(TwoSidedMixture(0.0643, 1e-6), "mixture_two_sided", 1.1e-3)
    printed(StitchedBoundary(0.02, 1e-6, eta=2, s=1.4), "stitched")


def test_tuned_mixtures_to_the_printed_digits():
    one, two = OneSidedMixture.for_target(1.0, 1e-6), TwoSidedMixture.for_target(1.0, 1e-6)
    assert (one.r, two.r) == (pytest.approx(TABLE["r_one_sided"], abs=5e-5), pytest.approx(TABLE["r_two_sided"], abs=5e-5))
    printed(one, "mixture_one_sided")
    printed(two, "mixture_two_sided")
    assert LinearBoundary.for_target(1.0, 1e-6).alpha == pytest.approx(TABLE["alpha"], abs=5e-7)


@pytest.mark.parametrize("rho", [0.02, 1.0, 7.0])
@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_targets_are_minima(rho, delta):
    for best, others in (
            (LinearBoundary.for_target(rho, delta), lambda b: [LinearBoundary(1 + (b.alpha - 1) * f, delta) for f in (0.9, 1.1)]),
            (OneSidedMixture.for_target(rho, delta), lambda b: [OneSidedMixture(b.r * f, delta) for f in (0.9, 1.1)]),
            (TwoSidedMixture.for_target(rho, delta), lambda b: [TwoSidedMixture(b.r * f, delta) for f in (0.9, 1.1)]),
            (StitchedBoundary.for_target(rho, delta, smallest_rho=rho / 100),
             lambda b: [StitchedBoundary(b.m, delta, eta=b.eta * f, s=1 + (b.s - 1) * g)
                        for f in (0.97, 1.03) for g in (0.95, 1.05)])):
        assert all(best.epsilon(rho) < other.epsilon(rho) for other in others(best))


def test_oracle_of_the_one_sided_mixture():
    row = ORACLES["expost_mix1_L2_r0.07_d1e-6"]
    given = {key: float(value) for key, value in row["params"].items()}
    height = OneSidedMixture(given["r"], given["delta"]).height(given["Lambda"])
    assert height == pytest.approx(float(row["value"]), rel=1e-14)


@pytest.mark.parametrize(("time", "r", "delta"), [
    (2.0, 0.07, 1e-6), (0.01, 1.0, 0.05), (100.0, 0.2, 1e-3), (0.0, 1.0, 0.3), (1.0, 1.0, 0.999)])
def test_mixtures_by_integrating_the_martingale(time, r, delta):
    """At the boundary the mixture of e**(lambda w - lambda**2 t / 2) is 1/delta, by numerical integration."""
    def mixture(w, low):
        weight = (2 if low == 0 else 1) * math.sqrt(r / (2 * math.pi))
        return quad(lambda x: weight * np.exp(x * w - x * x * (time + r) / 2), low, 60 / math.sqrt(time + r), limit=400,
                    points=[w / (time + r)], epsabs=0, epsrel=1e-12)[0]

    assert mixture(OneSidedMixture(r, delta).height(time), 0) == pytest.approx(1 / delta, rel=1e-9)
    assert mixture(TwoSidedMixture(r, delta).height(time), -60 / math.sqrt(time + r)) == pytest.approx(1 / delta, rel=1e-9)


def test_closed_upper_bound_of_the_one_sided_mixture():
    t, r, delta = np.geomspace(1e-3, 1e3, 50), 0.3, 1e-4
    upper = np.sqrt(2 * (t + r) * np.log1p(np.sqrt((t + r) / r) / (2 * delta)))
    height = OneSidedMixture(r, delta).height(t)
    assert np.all(height <= upper) and np.all(height > 0.9 * upper) and np.all(height < TwoSidedMixture(r, delta).height(t))


def test_stitched_is_above_its_lines():
    """Epoch k has a line with crossing probability delta / (zeta(s) (k+1)**s); the boundary lies above each on its epoch."""
    from scipy.special import zeta

    m, delta, eta, s = 0.5, 0.01, 2.0, 1.4
    b, spent = StitchedBoundary(m, delta, eta=eta, s=s), 0.0
    for k in range(200):
        share = delta / (zeta(s) * (k + 1) ** s)
        spent += share
        t = np.linspace(m * eta**k, m * eta ** (k + 1), 50)
        slope = math.sqrt(math.log(1 / share) / 2) * eta ** (-k / 2 - 0.25) / math.sqrt(m)
        line = slope * t + math.log(1 / share) / (2 * slope)
        assert np.all(line <= b.height(t) * (1 + 1e-12))
        if k == 0:
            assert slope * m * 0.01 + math.log(1 / share) / (2 * slope) <= b.height(m * 0.01) == b.height(m)
    assert spent < delta


@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_the_line_is_the_renyi_bound(delta):
    rho = np.geomspace(1e-4, 1e3, 40)
    for alpha in (1.01, 2.0, 4.7169, 50.0):
        line, renyi = LinearBoundary(alpha, delta), RenyiExPost(alpha).gaussian_epsilon(rho)
        assert line.epsilon(rho) == pytest.approx(renyi_to_probabilistic(renyi, alpha, delta), rel=1e-13)
        assert math.exp(-2 * line.slope * line.start) == pytest.approx(delta, rel=1e-12)
    at_target = not_anytime_valid.PostHocAlpha(delta).epsilon(2.0)
    assert LinearBoundary.for_target(2.0, delta).epsilon(2.0) == pytest.approx(at_target, rel=1e-14)


def first_crossing(curve, times):
    """P[W >= curve at one of the times], by carrying the density of the surviving paths from time to time (no randomness)."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    points, masses, before = np.zeros(1), np.ones(1), 0.0
    for time in times:
        top, low, step = curve.height(time), -9 * math.sqrt(time), math.sqrt(time - before)
        grid = low + (nodes + 1) / 2 * (top - low)
        masses = (norm.pdf(grid[:, None], points[None, :], step) @ masses) * weights * (top - low) / 2
        points, before = grid, time
    return 1 - masses.sum()


@pytest.mark.parametrize(("curve", "times", "what"), [
    (not_anytime_valid.PointwiseQuantile(0.05), FIVE[:1], "pointwise, 1 time"),
    (not_anytime_valid.PointwiseQuantile(0.05), FIVE, "pointwise, 5 geometric times from 0.25 to 4"),
    (not_anytime_valid.PointwiseQuantile(0.05), np.geomspace(1, 1000, 20), "pointwise, 20 geometric times over three decades"),
    (not_anytime_valid.PointwiseQuantile(0.05), np.geomspace(0.25, 4, 20), "pointwise, 20 geometric times from 0.25 to 4"),
    (not_anytime_valid.PostHocAlpha(0.05), FIVE, "post-hoc alpha, 5 geometric times from 0.25 to 4"),
    (LinearBoundary(4, 0.05), FIVE, "linear alpha=4, 5 geometric times from 0.25 to 4")])
def test_crossing_at_few_times_simulated_and_integrated(curve, times, what):
    exact = first_crossing(curve, times)
    assert exact == pytest.approx(CROSSING[what], abs=1.2e-3)  # those were simulated as well
    seen = crossing_frequency(curve, times, runs=200_000, rng=np.random.default_rng(20))
    assert abs(seen.value - exact) < SIGMAS * seen.standard_error < 0.005
    assert (seen.value > 0.05 + SIGMAS * seen.standard_error) == (what.startswith("pointwise, ") and len(times) > 1)


def test_choosing_alpha_after_the_stop_fails_with_many_levels():
    seen = crossing_frequency(not_anytime_valid.PostHocAlpha(0.05), np.geomspace(1e-12, 1e12, 2000), runs=40_000,
                              rng=np.random.default_rng(21))
    known = CROSSING["post-hoc alpha, 2000 geometric times over 24 decades"]
    assert abs(seen.value - known) < SIGMAS * seen.standard_error + 5e-4
    assert seen.value > 0.05 + 50 * seen.standard_error


@pytest.mark.parametrize("boundary", [
    LinearBoundary(4, 0.05), OneSidedMixture(1.0, 0.05), TwoSidedMixture(1.0, 0.05), StitchedBoundary(0.02, 0.05)])
def test_valid_boundaries_are_crossed_at_most_delta_of_the_time(boundary):
    seen = crossing_frequency(boundary, np.geomspace(1e-3, 1e4, 600), runs=20_000, rng=np.random.default_rng(22))
    assert 0.004 < seen.value <= 0.05 + SIGMAS * seen.standard_error


def test_the_line_is_crossed_with_probability_delta_in_continuous_time():
    """Between two looks a Brownian bridge crosses a line with probability e**(-2 gap gap' / dt): exact, and no path is missed."""
    line, rng, runs = LinearBoundary(4, 0.05), np.random.default_rng(23), 50_000
    times = np.geomspace(1e-2, 1e2, 60)
    path, survive, gap, before = np.zeros(runs), np.ones(runs), np.full(runs, line.start), 0.0
    for time in times:
        path = path + rng.normal(0, math.sqrt(time - before), runs)
        new = line.height(time) - path
        crossed = np.exp(-2 * np.maximum(gap, 0) * np.maximum(new, 0) / (time - before))
        survive, gap, before = survive * (1 - crossed), new, time
    assert abs(1 - survive.mean() - 0.05) < SIGMAS * survive.std() / math.sqrt(runs) < 0.005


def test_invalid_readings_are_kept_apart():
    for kind in (not_anytime_valid.PostHocAlpha, not_anytime_valid.PointwiseQuantile):
        assert not isinstance(kind(0.05), Boundary)
        with pytest.raises(ValueError, match="valid at every stopping time"):
            BrownianMechanism(0.0, boundary=kind(0.05))


def test_heights_take_arrays_and_refuse_what_is_no_time():
    for curve in (LinearBoundary(2, 0.1), OneSidedMixture(1, 0.1), TwoSidedMixture(1, 0.1), StitchedBoundary(1, 0.1),
                  not_anytime_valid.PostHocAlpha(0.1)):
        assert isinstance(curve.height(1), float) and curve.height([[1, 2]]).shape == (1, 2)
        for bad in (-1.0, math.nan):
            with pytest.raises(ValueError, match="time"):
                curve.height(bad)
            with pytest.raises(ValueError, match="rho"):
                curve.epsilon(bad)
    with pytest.raises(ValueError, match="time"):
        LinearBoundary(2, 0.1).height(math.inf)
    for delta in (0, 1, -1, math.nan):
        for make in (lambda d: LinearBoundary(2, d), lambda d: OneSidedMixture(1, d), lambda d: TwoSidedMixture(1, d),
                     lambda d: StitchedBoundary(1, d), not_anytime_valid.PostHocAlpha):
            with pytest.raises(ValueError, match="delta"):
                make(delta)
    for arguments in ({"eta": 1.0}, {"s": 0.5}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            StitchedBoundary(1, 0.1, **arguments)
    with pytest.raises(ValueError, match="smallest_rho"):
        StitchedBoundary.for_target(1.0, 0.1, smallest_rho=2.0)
    with pytest.raises(ValueError, match="alpha"):
        LinearBoundary(1.0, 0.1)
    for bad in ([2.0, 1.0], [[1.0]], [0.0, 1.0]):
        with pytest.raises(ValueError, match="times"):
            crossing_frequency(LinearBoundary(2, 0.1), bad)


def test_small_deltas_and_extreme_ratios_stay_finite():
    t = np.array([0.0, 1e-30, 1.0, 1e30])
    for make in (lambda d: OneSidedMixture(1e-10, d), lambda d: TwoSidedMixture(1e-10, d), lambda d: StitchedBoundary(1e-10, d)):
        for delta in (1e-300, 0.9999):
            assert np.isfinite(make(delta).height(t)).all()
    v = OneSidedMixture(1.0, 1e-9).height(3.0) / 2  # against a root search of the printed equation
    assert v == pytest.approx(brentq(lambda x: x * x / 2 + norm.logcdf(x) - math.log(2 / 2e-9), 0, 20, xtol=1e-14), rel=1e-12)
