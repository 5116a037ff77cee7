"""Noise on bounded data and general spaces: closed forms against quadrature, grids and symbols."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from scipy import integrate

from dpnotes.information_density import ClaytonMixture, GaussianNoise, LaplaceNoise, PointPrior, UniformPrior, mean_cost

POINTS = PointPrior([-1.0, 0.25, 2.0], [0.2, 0.7, 0.1])
UNIFORM = UniformPrior(-1.0, 2.0)
OUTPUTS = np.array([-30.0, -1.0, -0.4, 0.25, 0.5, 1.3, 2.0, 2.5, 9.0])


def log_mean(prior, log_noise, y):
    """log E e**log_noise(y - X) at 30 digits."""
    with mp.workdps(30):
        if isinstance(prior, PointPrior):
            atoms = zip(prior.probabilities, prior.points, strict=True)
            total = mp.fsum(mp.mpf(float(p)) * mp.exp(log_noise(mp.mpf(y) - x)) for p, x in atoms)
        else:
            near, width = min(max(y, prior.low), prior.high), prior.high - prior.low  # where the integrand peaks
            steps = [side * width / 2**j for j in range(14) for side in (-1, 1)]
            cuts = sorted({prior.low, prior.high, near, *(near + s for s in steps if prior.low < near + s < prior.high)})
            total = mp.quad(lambda x: mp.exp(log_noise(mp.mpf(y) - x)), cuts) / (prior.high - prior.low)
        return float(mp.log(total))


@pytest.mark.parametrize("prior", [POINTS, UNIFORM])
@pytest.mark.parametrize("size", [0.2, 1.0, 30.0])
@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise])
def test_leakage_and_cost_by_quadrature(prior, size, kind):
    laplace = kind is LaplaceNoise
    noise = kind(prior, scale=size) if laplace else kind(prior, sigma=size)

    def log_noise(distance):
        return -abs(distance) / size if laplace else -((distance / size) ** 2) / 2

    support = prior.points if prior is POINTS else np.linspace(-1, 2, 601)
    for y in OUTPUTS:
        average = log_mean(prior, log_noise, y)
        density = np.array([log_noise(y - x) - average for x in support])
        grid = 0 if prior is POINTS else 3 / 600 / size * (1 if laplace else (abs(y) + 2) / size)
        assert noise.pmc(y) == pytest.approx(-density.min(), rel=1e-12, abs=1e-13)
        assert density.max() - 1e-12 * (1 + abs(average)) <= noise.pml(y) <= density.max() + grid + 1e-12 * (1 + abs(average))
    np.testing.assert_allclose(noise.pmc(OUTPUTS), [noise.pmc(float(y)) for y in OUTPUTS])
    np.testing.assert_allclose(noise.density(support[1], OUTPUTS), [noise.density(support[1], float(y)) for y in OUTPUTS])


@pytest.mark.parametrize("prior", [POINTS, UNIFORM, PointPrior([0, 0.5, 1], [0.49, 0.02, 0.49])])
@pytest.mark.parametrize("scale", [0.05, 0.7, 5.0])
def test_laplace_worst_cases_are_attained_and_not_exceeded(prior, scale):
    noise, y = LaplaceNoise(prior, scale=scale), np.unique(np.append(np.linspace(-6, 7, 4001), [-1, 0.25, 2.0, 0, 0.5, 1]))
    assert np.max(noise.pmc(y)) == pytest.approx(noise.pmc_epsilon(), rel=1e-12)
    assert np.max(noise.pml(y)) == pytest.approx(noise.pml_epsilon(), rel=1e-12)
    assert noise.pmc_epsilon() < noise.ldp_epsilon()  # strictly
    outside = np.array([prior.low - 1, prior.high + 3])
    np.testing.assert_allclose(noise.pmc(outside) + noise.pml(outside), noise.ldp_epsilon(), rtol=1e-12)
    # mean m: the cap, and the secret on the two ends that attains it
    mean = float(np.dot(prior.points, prior.probabilities)) if isinstance(prior, PointPrior) else 0.5
    cap, share = noise.pmc_cap(mean), (mean - prior.low) / (prior.high - prior.low)
    assert noise.pmc_epsilon() <= cap * (1 + 1e-12)
    ends = PointPrior([prior.low, prior.high], [1 - share, share])
    assert LaplaceNoise(ends, scale=scale).pmc_epsilon() == pytest.approx(cap, rel=1e-12)


def test_pml_may_be_largest_in_the_middle_of_the_data():
    noise = LaplaceNoise(PointPrior([0, 0.5, 1], [0.49, 0.02, 0.49]), scale=0.05)
    assert noise.pml_epsilon() == noise.pml(0.5) > noise.pml(1.0)


@pytest.mark.parametrize("secret", ["entry", "database", "copies"])
def test_mean_of_two_entries_by_enumeration(secret):
    points, weights, b, n = np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.5, 0.3]), 0.3, 2
    pair = np.array([(i, j) for i in range(3) for j in range(3)])
    p = weights[pair].prod(axis=1)
    if secret == "copies":
        p = np.where(pair[:, 0] == pair[:, 1], weights[pair[:, 0]], 0)
    y = np.linspace(-2, 3, 2001)[:, None]
    likelihood = np.exp(-np.abs(y - points[pair].mean(axis=1)) / b)  # of each database
    p_y = likelihood @ p
    if secret == "database":
        given = likelihood
    else:
        given = np.stack([(likelihood * p)[:, pair[:, 0] == i].sum(axis=1) / p[pair[:, 0] == i].sum() for i in range(3)], axis=1)
    worst = np.log(np.max(p_y[:, None] / given))
    prior = PointPrior(points, weights)
    assert mean_cost(prior, b, n, secret) == pytest.approx(worst, rel=1e-12)
    assert mean_cost(prior, b, n, secret) < (1 / (n * b) if secret == "entry" else 1 / b)


def test_mean_cost_orders_and_limits():
    one = UniformPrior(0, 1)
    entry, database, copies = (mean_cost(one, 0.2, 5, secret) for secret in ("entry", "database", "copies"))
    assert entry < 1 < database < copies < 5  # one entry's bound is broken by the database; the database's is not
    assert mean_cost(one, 0.2) == mean_cost(one, 0.2, 1, "database") == mean_cost(one, 0.2, 7, "copies")
    assert mean_cost(one, 1e-3, 1) == pytest.approx(1000 - math.log(1000), rel=1e-9)
    assert mean_cost(one, 1e10, 1) == pytest.approx(0.5e-10, rel=1e-6)
    assert mean_cost(PointPrior([3.0], [1.0]), 0.2) == 0


@pytest.mark.parametrize("prior", [POINTS, UNIFORM])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_gaussian_tail_of_the_cost(prior, sigma):
    noise = GaussianNoise(prior, sigma=sigma)
    y = np.linspace(-1 - 12 * sigma, 2 + 12 * sigma, 400_001)
    weight = np.exp(noise._log_mean(y)) / (sigma * math.sqrt(2 * math.pi))
    assert integrate.trapezoid(weight, y) == pytest.approx(1, abs=1e-9)
    assert np.all(np.diff(noise.pmc(y), 2) > -1e-9)  # convex, so the bad outputs are two tails
    for epsilon in (0.0, 0.2, 1.0, 3.0):
        delta = integrate.trapezoid(np.where(noise.pmc(y) > epsilon, weight, 0), y)
        assert noise.pmc_delta(epsilon) == pytest.approx(delta, abs=5e-5)
    assert noise.pmc_epsilon() == math.inf and noise.pmc_delta(math.inf) == 0
    deltas = [noise.pmc_delta(e) for e in np.linspace(0, 8, 30)]
    assert np.all(np.diff(deltas) <= 1e-15) and deltas[-1] > 0  # no epsilon is enough


def test_gaussian_leakage_is_bounded_for_points_and_not_for_a_density():
    assert GaussianNoise(POINTS, sigma=1.0).pml(60.0) == pytest.approx(math.log(10), rel=1e-6)
    assert np.all(GaussianNoise(POINTS, sigma=1.0).pml(np.linspace(-60, 60, 999)) <= math.log(10) + 1e-9)
    assert np.diff(GaussianNoise(UNIFORM, sigma=1.0).pml([10.0, 100.0, 1000.0])) == pytest.approx([math.log(10)] * 2, abs=0.3)
    constant = GaussianNoise(PointPrior([1.0], [1.0]), sigma=1.0)
    assert constant.pmc_delta(0.0) == 0 == constant.pmc_epsilon()


@pytest.mark.parametrize("theta", [0.1, 0.5, 1.0, 2.5, 8.0])
@pytest.mark.parametrize("lam", [0.05, 0.3, 1.0])
def test_clayton_closed_forms_against_a_grid(theta, lam):
    mixture = ClaytonMixture(lam, theta)
    # The maximum over x, on a grid in the logarithm of x, and nearby.
    for y in (1e-5, 0.02, 0.3, 0.5, 0.7, 0.95, 1.0):
        x = np.exp(np.linspace(-60, 0, 60_001))
        lifts = mixture.lift(x, y)
        assert np.max(np.log(lifts)) <= mixture.pml(y) + 1e-12
        assert np.max(np.log(lifts)) == pytest.approx(mixture.pml(y), abs=1e-5)
        best = mixture.best_secret(y)
        assert np.log(mixture.lift(best, y)) == pytest.approx(mixture.pml(y), abs=1e-11) or best < 1e-280
        assert np.min(lifts) >= 1 - lam
        if lam < 1 and theta >= 0.5:
            assert -np.log(mixture.lift(1e-60, y)) == pytest.approx(mixture.pmc(y), abs=1e-6)
        # both marginals are uniform: the lift has mean 1 (here over x = e**s)
        if theta <= 1:
            def weight(s, y=y):
                return float(np.exp(s) * mixture.lift(np.exp(s), y))

            mass = integrate.quad(weight, -80, 0, limit=400, points=[np.log(best)])[0]
            assert mass == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("theta", [0.3, 1.0, 4.0])
def test_clayton_tail_is_where_the_leakage_is_large(theta):
    mixture = ClaytonMixture(0.3, theta)
    y = (np.arange(400_000) + 0.5) / 400_000
    pml = mixture.pml(y)
    for epsilon in (0.0, 0.05, 0.1, 0.2, 0.26, 0.5, 1.0, 2.5):
        assert mixture.pml_delta(epsilon) == pytest.approx(np.mean(pml > epsilon), abs=6e-6)
    for delta in (0.5, 0.01, 1e-6, 1e-100):
        assert mixture.pml_delta(mixture.pml_epsilon(delta)) == pytest.approx(delta, rel=1e-9)
    assert mixture.pml_epsilon(0.0) == math.inf and mixture.pml_epsilon(1.0) == 0 == mixture.pml_delta(math.inf)


def test_clayton_limits():
    independent, dependent = ClaytonMixture(0.0), ClaytonMixture(1.0)
    assert independent.pml(0.01) == 0 == independent.pml_delta(0.0) == independent.pml_epsilon(0.0)
    assert independent.pmc_epsilon() == 0 and dependent.pmc_epsilon() == math.inf
    assert ClaytonMixture(0.3).pml(1e-250) == pytest.approx(math.log(0.3 * 8 / 27) + 250 * math.log(10), rel=1e-12)
    assert ClaytonMixture(0.3).pmc([0.2, 0.4]).shape == (2,)


def test_clayton_in_symbols():
    u, v, t = sp.symbols("u v t", positive=True)
    c = (1 + t) * (u * v) ** (-(1 + t)) * (u**-t + v**-t - 1) ** (-(2 + 1 / t))
    copula = (u**-t + v**-t - 1) ** (-1 / t)
    assert sp.simplify(sp.diff(copula, u, v) / c) == 1  # c is the density of Clayton's copula, so its marginals are uniform
    w, z = sp.symbols("w z", positive=True)  # u**-t and v**-t
    log_c = sp.log(1 + t) + (1 + t) / t * (sp.log(w) + sp.log(z)) - (2 + 1 / t) * sp.log(w + z - 1)
    assert sp.simplify(sp.expand_log(log_c.subs({w: u**-t, z: v**-t}) - sp.log(c), force=True)) == 0
    best = (1 + t) * (z - 1) / t
    assert sp.simplify(sp.diff(log_c, w).subs(w, best)) == 0
    # and it is a maximum
    assert sp.simplify(sp.diff(log_c, w, 2).subs(w, best)).subs({t: 2, z: 3}) < 0
    assert sp.simplify(c.subs(t, 1) - 2 * u * v / (u + v - u * v) ** 3) == 0
    top = c.subs(t, 1).subs(u, v / (2 * (1 - v)))
    assert sp.simplify(top - sp.Rational(8, 27) / (v * (1 - v))) == 0  # theta = 1: 8/27 / (y (1 - y)), for y <= 2/3
    assert sp.simplify(c.subs(u, 1) - (1 + t) * v**t) == 0
    k = (t / (1 + t)) ** (1 / t)
    constant = (1 + t) * k ** (-(1 + t)) * ((1 + 2 * t) / t) ** (-(2 + 1 / t))
    for theta in (sp.Rational(1, 3), 1, 4):
        assert ClaytonMixture(0.3, float(theta))._peak == pytest.approx(float(constant.subs(t, theta)), rel=1e-13)


def test_laplace_in_symbols():
    y, x, b = sp.symbols("y x b", positive=True)
    inside = sp.integrate(sp.exp(-(y - x) / b), (x, 0, y)) + sp.integrate(sp.exp(-(x - y) / b), (x, y, 1))
    assert sp.simplify(inside - b * (2 - sp.exp(-y / b) - sp.exp(-(1 - y) / b))) == 0
    moment = sp.integrate(sp.exp(x / b), (x, 0, 1))
    noise = LaplaceNoise(UniformPrior(0, 1), scale=0.5)
    assert float(sp.log(moment.subs(b, sp.Rational(1, 2)))) == pytest.approx(noise.pmc_epsilon(), rel=1e-14)
    half = noise.pmc(0.5)  # farthest end 1/2 away: 1 + log(1 - 1/e)
    assert half == pytest.approx(float(sp.log(inside.subs({y: sp.Rational(1, 2), b: sp.Rational(1, 2)})) + 1), rel=1e-13)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: PointPrior([0, 1], [0.5, 0.6]), "probabilities"),
    (lambda: PointPrior([0, 1, 2], [0.5, 0.5]), "points"),
    (lambda: PointPrior([0, math.inf], [0.5, 0.5]), "points"),
    (lambda: UniformPrior(1, 1), "high"),
    (lambda: UniformPrior(0, math.inf), "high"),
    (lambda: LaplaceNoise(UNIFORM, scale=0), "scale = 0"),
    (lambda: LaplaceNoise(UNIFORM, scale=-1), "scale = -1"),
    (lambda: GaussianNoise(UNIFORM, sigma=math.inf), "sigma"),
    (lambda: LaplaceNoise(UNIFORM, scale=1).pmc(math.nan), "y = nan"),
    (lambda: LaplaceNoise(UNIFORM, scale=1).pmc_cap(3.0), "mean = 3"),
    (lambda: GaussianNoise(UNIFORM, sigma=1).pmc_delta(-1), "epsilon"),
    (lambda: mean_cost(UNIFORM, 1, 0), "n = 0"),
    (lambda: mean_cost(UNIFORM, 1, 2, "someone"), "secret"),
    (lambda: ClaytonMixture(1.2), "lam"),
    (lambda: ClaytonMixture(0.3, 0), "theta"),
    (lambda: ClaytonMixture().pml(0.0), "y = 0.0 .*above 0"),
    (lambda: ClaytonMixture().lift(1.5, 0.5), "x = 1.5"),
    (lambda: ClaytonMixture().pml_epsilon(-0.1), "delta"),
])
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
