"""Noise that can be reduced: Brownian mechanism, Laplace noise reduction, the doubling baseline."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, chisquare, kstest, laplace, norm

from dpnotes.ex_post import (
    BrownianMechanism,
    FreshLaplace,
    LaplaceReduction,
    OneSidedMixture,
    ProbabilisticExPost,
    PureExPost,
    RenyiExPost,
    doubling,
    estimate_mean,
    laplace_walk,
    simulate_stopping,
)

DATA = json.loads((Path(__file__).parent / "data" / "ex_post.json").read_text(encoding="utf-8"))
ORACLES = {row["id"]: row for row in DATA["oracles"]}
LEVELS = [4.0, 2.0, 1.0, 0.5]


# --- Brownian mechanism ----------------------------------------------------------------------------------------------

def test_releases_are_the_precision_weighted_average_of_fresh_gaussians():
    value = np.array([3.0, -1.0])
    ours, same = BrownianMechanism(value, alpha=2, rng=np.random.default_rng(30)), np.random.default_rng(30)
    fresh, before = [], math.inf
    for sigma in LEVELS:
        s = (sigma**-2 - before**-2) ** -0.5
        fresh.append((value + s * same.standard_normal(2), s**-2.0))
        expected = sum(z * w for z, w in fresh) / sum(w for _, w in fresh)
        assert ours.release(sigma).output == pytest.approx(expected, rel=1e-12)
        before = sigma


def test_covariances_of_the_releases():
    """Cov(y_i, y_j) = sigma_j**2 for i < j; 10 entries within 4.5 standard errors (false alarm below 1e-4)."""
    n = 100_000
    mechanism = BrownianMechanism(np.full(n, 7.0), alpha=2, rng=np.random.default_rng(31))
    y = np.array([mechanism.release(sigma).output for sigma in LEVELS]) - 7.0
    for i in range(4):
        for j in range(i, 4):
            product = y[i] * y[j]
            assert abs(product.mean() - LEVELS[j] ** 2) < 4.5 * product.std() / math.sqrt(n)
    averaged = (np.array(LEVELS)[:, None] ** -2.0 * y).sum(axis=0) / np.sum(np.array(LEVELS) ** -2.0)
    assert averaged.var() == pytest.approx(0.3078200692, rel=0.02)  # averaging the releases counts early noise twice
    assert y[3].var() == pytest.approx(0.25, rel=0.02)


def test_bounds_of_the_brownian_mechanism():
    mechanism = BrownianMechanism(0.0, sensitivity=3.0, alpha=2.5)
    assert mechanism.epsilon == 0.0 and mechanism.definition == RenyiExPost(2.5)
    for sigma in LEVELS:
        released = mechanism.release(sigma)
        assert released.epsilon == mechanism.epsilon == pytest.approx(2.5 * 9 / (2 * sigma**2), rel=1e-14)
        assert isinstance(released.output, float) and mechanism.sigma == sigma
        assert mechanism.rho == pytest.approx(9 / (2 * sigma**2))
    fresh_rhos = 4.5 * np.diff(np.array([0.0, *LEVELS]) ** np.array([1.0, -2, -2, -2, -2]))
    assert fresh_rhos.sum() == pytest.approx(mechanism.rho)
    boundary = OneSidedMixture.for_target(1.0, 1e-6)
    other = BrownianMechanism(0.0, boundary=boundary)
    assert other.definition == ProbabilisticExPost(1e-6) and other.epsilon == 0.0
    assert other.release(1.0).epsilon == boundary.epsilon(0.5)


def test_a_level_that_does_not_lower_the_noise_is_refused():
    mechanism = BrownianMechanism(0.0, alpha=2, rng=np.random.default_rng(0))
    mechanism.release(1.0)
    state = mechanism._rng.bit_generator.state
    for bad in (1.0, 2.0, math.nextafter(1.0, 0.0), 0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="sigma"):
            mechanism.release(bad)
    assert mechanism._rng.bit_generator.state == state and mechanism.rho == 0.5


def test_alpha_is_fixed_before_the_first_release():
    mechanism = BrownianMechanism(0.0, alpha=2)
    with pytest.raises(AttributeError):
        mechanism.definition = RenyiExPost(3)
    with pytest.raises(AttributeError):
        mechanism.definition.alpha = 3
    for arguments in ({}, {"alpha": 2, "boundary": OneSidedMixture(1, 0.1)}, {"alpha": 1.0}):
        with pytest.raises(ValueError, match="alpha"):
            BrownianMechanism(0.0, **arguments)
    with pytest.raises(ValueError, match="neighbors"):
        BrownianMechanism(0.0, alpha=2, neighbors="whoever")
    with pytest.raises(ValueError, match="sensitivity"):
        BrownianMechanism(0.0, 0.0, alpha=2)
    with pytest.raises(ValueError, match="value"):
        BrownianMechanism([0.0, math.nan], alpha=2)


def mean_wealth(alpha, distance, second_level, stop_above):
    """E_Q[W] of two levels, the second chosen from the first release, stopped after the first if it is above `stop_above`.

    Written out with the densities of the fresh Gaussians z_1, z_2 (values 0 and `distance`), by Gauss-Legendre quadrature.
    """
    definition, first = RenyiExPost(alpha), 2.0
    nodes, weights = np.polynomial.legendre.leggauss(300)

    def integrate(f, low, high):
        x = low + (nodes + 1) / 2 * (high - low)
        return np.sum(weights * (high - low) / 2 * np.array([f(v) for v in x])) if high > low else 0.0

    def log_ratio(z, s):
        return norm.logpdf(z, distance, s) - norm.logpdf(z, 0.0, s)

    def wealth(loss, sigma):
        return np.exp(definition.log_statistic(loss, definition.gaussian_epsilon(1 / (2 * sigma**2))) + loss)

    def go_on(z1):
        sigma = second_level(z1)
        s = (sigma**-2 - first**-2) ** -0.5
        z2 = alpha * distance + s * 14 * nodes
        return np.sum(14 * s * weights * norm.pdf(z2, 0.0, s) * wealth(log_ratio(z1, first) + log_ratio(z2, s), sigma))

    low, high = -14 * first, alpha * distance + 14 * first
    return (integrate(lambda z: norm.pdf(z, 0, first) * wealth(log_ratio(z, first), first), stop_above, high)
            + integrate(lambda z: norm.pdf(z, 0, first) * go_on(z), low, stop_above))


@pytest.mark.parametrize("alpha", [1.5, 2.0, 5.0, 10.0])
def test_nobody_wins_on_average_and_at_full_distance_nobody_loses(alpha):
    def adaptive(z1):
        return 1.0 / (1 + 0.3 * np.tanh(z1))

    assert mean_wealth(alpha, 1.0, adaptive, 0.3) == pytest.approx(1.0, abs=1e-10)
    assert mean_wealth(alpha, 1.0, adaptive, -1.0) == pytest.approx(1.0, abs=1e-10)
    near, nearer = mean_wealth(alpha, 0.5, adaptive, 0.3), mean_wealth(alpha, 0.1, adaptive, 0.3)
    assert nearer < near < 1 - 1e-3


COIN = np.random.default_rng(33)
RULES = {
    "never": lambda y: np.zeros(y.shape[1], bool),
    "at once": lambda y: np.ones(y.shape[1], bool),
    "high": lambda y: y[-1] > 0.6,
    "low": lambda y: y[-1] < 0.2,
    "agreeing": lambda y: (len(y) > 1) & (np.abs(y[-1] - y[max(len(y) - 2, 0)]) < 0.5),
    "when the bet pays": lambda y: y.mean(axis=0) > 0.8,
    "a coin": lambda y: COIN.random(y.shape[1]) < 0.4,
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("alpha", [1.5, 3.0])
def test_every_stopping_rule_by_simulation(name, alpha):
    """14 estimates at distance 1 within 4.5 standard errors of 1 (false alarm about 1e-4 for all), and below 1 nearer."""
    sigmas = [4.0, 3.0, 2.0, 1.5, 1.2]
    seen = simulate_stopping(RULES[name], sigmas, alpha, runs=60_000, rng=np.random.default_rng(34))
    assert abs(seen.value - 1) < 4.5 * seen.standard_error < 0.1
    near = simulate_stopping(RULES[name], sigmas, alpha, distance=0.5, runs=60_000, rng=np.random.default_rng(35))
    assert near.value + 4.5 * near.standard_error < 1


@pytest.mark.parametrize(("name", "stop"), [("at once", 2.0), ("never", 1.0)])
def test_the_simulation_stops_where_the_rule_says(name, stop):
    """Nearer than the sensitivity the mean is e**(-alpha (alpha - 1) (1 - distance**2) / (2 sigma**2)) at a fixed stop."""
    alpha, distance = 1.5, 0.5
    seen = simulate_stopping(RULES[name], [2.0, 1.5, 1.0], alpha, distance=distance, runs=60_000, rng=np.random.default_rng(45))
    exact = np.exp(-alpha * (alpha - 1) * (1 - distance**2) / (2 * stop**2))
    assert abs(seen.value - exact) < 4.5 * seen.standard_error < 0.01


def test_a_bound_that_is_too_small_loses_the_bet():
    """The estimate can fail: a bound of 0.9 alpha rho makes the wealth grow."""
    loss = np.random.default_rng(36).normal(0.5, 1.0, 100_000)  # a Gaussian at distance 1 and sigma 1, under P
    seen = estimate_mean(RenyiExPost(2.0), loss, 0.9 * RenyiExPost(2.0).gaussian_epsilon(0.5))
    assert seen.value > 1 + 4.5 * seen.standard_error
    with pytest.raises(ValueError, match="distance"):
        simulate_stopping(RULES["never"], [2, 1], 2, distance=1.5)
    with pytest.raises(ValueError, match="sigmas"):
        simulate_stopping(RULES["never"], [1, 2], 2)


# --- Laplace noise reduction -----------------------------------------------------------------------------------------

def test_marginals_and_ties():
    """Five levels: KS at level 1e-4 each, ties by exact binomial tests at 1e-4: a false alarm in about 1e-3 of seeds."""
    n, epsilons = 40_000, [0.1, 0.2, 0.5, 0.6, 3.0]
    reduction = LaplaceReduction(np.full(n, 2.0), sensitivity=3.0, rng=np.random.default_rng(37))
    before = None
    for index, epsilon in enumerate(epsilons):
        y = reduction.release(epsilon).output
        assert kstest(y, laplace(2.0, 3.0 / epsilon).cdf).pvalue > 1e-4
        if before is not None:
            expected = (epsilons[index - 1] / epsilon) ** 2
            assert binomtest(int(np.sum(y == before)), n, expected).pvalue > 1e-4
        before = y


def test_oracle_of_the_tie_probability():
    row = ORACLES["nr_laplace_stay"]
    e1, e2 = float(row["params"]["eps1"]), float(row["params"]["eps2"])
    integral = quad(lambda v: 2 * e1 / 2 * np.exp(-e1 * v) * e1 / e2 * np.exp(-(e2 - e1) * v), 0, np.inf)[0]
    assert integral == pytest.approx(float(row["value"]), rel=1e-10)
    v1 = np.random.default_rng(38).laplace(0, 1 / e1, 200_000)
    stays = int(np.sum(laplace_walk(v1, 1 / e1, 1 / e2, rng=np.random.default_rng(39)) == v1))
    assert binomtest(stays, 200_000, float(row["value"])).pvalue > 1e-4


@pytest.mark.parametrize("v", [0.0, 0.7, -5.0])
def test_the_forward_step_has_the_stated_law(v):
    """From one starting point: 30 bins by numerical integration of the stated density, chi-square at level 1e-4."""
    e, f, n = 0.5, 1.1, 60_000
    x = laplace_walk(np.full(n, v), 1 / e, 1 / f, rng=np.random.default_rng(40))
    edges = np.concatenate([[-np.inf], np.linspace(-7, 3, 29), [np.inf]])

    def mass(a, b):
        kinks = [kink for kink in (0.0, v) if a < kink < b]
        return quad(lambda t: np.exp(-f * np.abs(t) - e * np.abs(v - t)), a, b, points=kinks or None)[0]

    masses = np.array([mass(a, b) for a, b in itertools.pairwise(np.clip(edges, -60, 60))])
    moved = x[x != v]
    stay = e / f * np.exp(-(f - e) * abs(v))
    assert binomtest(n - moved.size, n, stay).pvalue > 1e-4
    keep = masses / masses.sum() * moved.size > 5
    seen = np.histogram(moved, edges)[0]
    expected = masses[keep] / masses[keep].sum() * seen[keep].sum()
    assert chisquare(seen[keep], expected).pvalue > 1e-4


def test_forward_and_backward_walks_have_one_joint_law():
    """Backward: the last noise first, then stay with probability (e_j/e_(j+1))**2 or add Laplace noise. Binned, chi-square."""
    n, e = 60_000, (0.3, 0.5, 1.2)
    rng = np.random.default_rng(41)
    v3 = rng.laplace(0, 1 / e[2], n)
    v2 = v3 + np.where(rng.random(n) < (e[1] / e[2]) ** 2, 0, rng.laplace(0, 1 / e[1], n))
    v1 = v2 + np.where(rng.random(n) < (e[0] / e[1]) ** 2, 0, rng.laplace(0, 1 / e[0], n))
    w1 = rng.laplace(0, 1 / e[0], n)
    w2 = laplace_walk(w1, 1 / e[0], 1 / e[1], rng=rng)
    w3 = laplace_walk(w2, 1 / e[1], 1 / e[2], rng=rng)
    cuts = np.array([-2.0, -0.3, 0.3, 2.0])

    def table(a, b, c):
        code = np.searchsorted(cuts, a) * 25 + np.searchsorted(cuts, b) * 5 + np.searchsorted(cuts, c)
        return np.bincount(code * 4 + (a == b) * 2 + (b == c), minlength=500)

    back, forth = table(v1, v2, v3), table(w1, w2, w3)
    keep = back + forth > 10
    pooled = (back + forth)[keep] / 2
    statistic = np.sum((back[keep] - pooled) ** 2 / pooled + (forth[keep] - pooled) ** 2 / pooled)
    degrees = keep.sum() - 1
    assert statistic < degrees + 4.5 * math.sqrt(2 * degrees) + 10  # beyond the 1e-5 point of this chi-square


def test_the_ratio_of_what_was_released_is_that_of_the_last_release():
    """Density of two releases by the forward walk, for centers 0 and 1: log-ratio at most the last epsilon, attained."""
    e, f = 0.4, 1.0

    def log_density(y1, y2, center):  # the moved part: the law of v times the step's law of x given v, up to a constant
        v, x = y1 - center, y2 - center
        return -f * abs(x) - e * abs(v - x)

    rng = np.random.default_rng(42)
    y = rng.normal(0, 3, (2000, 2))
    gaps = np.array([log_density(a, b, 0.0) - log_density(a, b, 1.0) for a, b in y])
    assert np.max(np.abs(gaps)) == pytest.approx(f, rel=1e-12)
    stay = np.array([-e * abs(v) - (f - e) * abs(v) + e * abs(v - 1) + (f - e) * abs(v - 1) for v in y[:, 0]])
    assert np.max(np.abs(stay)) == pytest.approx(f, rel=1e-12)


def test_laplace_reduction_bounds_and_refusals():
    reduction = LaplaceReduction([1.0, 2.0], rng=np.random.default_rng(43))
    assert reduction.definition == PureExPost() and reduction.epsilon == 0.0
    for epsilon in (0.1, 0.11, 5.0):
        released = reduction.release(epsilon)
        assert released.epsilon == epsilon == reduction.epsilon and released.output.shape == (2,)
    for bad in (5.0, 1.0, 0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="epsilon"):
            reduction.release(bad)
    with pytest.raises(ValueError, match="new_scale"):
        laplace_walk(0.0, 1.0, 2.0)
    same = laplace_walk(np.ones(50), 1.0, 1.0, rng=np.random.default_rng(0))
    assert np.all(same == 1.0)


def test_doubling_costs_less_than_twice_the_last():
    levels = list(doubling(0.05, 8))
    assert levels[-1] == 0.05 * 128 and sum(levels) < 2 * levels[-1]
    fresh = FreshLaplace(np.zeros(20_000), rng=np.random.default_rng(44))
    outputs = [fresh.release(level) for level in (0.5, 1.0)]
    assert [released.epsilon for released in outputs] == [0.5, 1.5] and fresh.definition == PureExPost()
    assert abs(np.corrcoef(outputs[0].output, outputs[1].output)[0, 1]) < 0.04  # independent, unlike the reduction
    assert kstest(outputs[1].output, laplace(0, 1).cdf).pvalue > 1e-4
