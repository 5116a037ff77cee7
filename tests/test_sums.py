"""Sums of independent losses: closed forms against oracles, brackets against each other, readings against samples."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from dpnotes.privacy_loss import (
    DiscreteLoss,
    GaussianLoss,
    IndependentSum,
    LaplaceLoss,
    PoissonGaussianLoss,
    independent_sum,
    poisson_sampled_loss,
)
from dpnotes.privacy_loss._sums import ExactSum, _all_sums, _compositions, _log_multinomial

ORACLES = {
    entry["id"]: float(entry["value"])
    for entry in json.loads((Path(__file__).parent / "data" / "numerical_cases.json").read_text(encoding="utf-8"))["oracles"]
}


def response(epsilon):
    return DiscreteLoss.from_log_masses([epsilon, -epsilon], [-np.logaddexp(0, -epsilon), -np.logaddexp(0, epsilon)])


def leaky(epsilon, delta):
    """The worst (epsilon, delta)-DP pair: mass delta on a distinguishing event, randomized response on the rest."""
    p = (1 - delta) / (1 + np.exp(-epsilon))
    return DiscreteLoss.from_probabilities([p, 1 - delta - p, delta, 0.0], [1 - delta - p, p, 0.0, delta])


def inside(bounds, truth, slack=1e-14):
    lower, upper = bounds
    return lower <= truth * (1 + slack) and truth * (1 - slack) <= upper


@pytest.mark.parametrize(
    "loss, epsilon, oracle",
    [
        (LaplaceLoss(1.0).repeat(2), 1.0, "laplace2_delta_eps1"),
        (LaplaceLoss(1.0).repeat(6), 2.0, "laplace6_delta_eps2"),
        (response(0.5).repeat(10), 2.0, "kov_k10_eps0.5_i3"),
        (response(0.1) + response(0.2) + response(0.3) + response(0.4), 0.6, "hetero_0.1_0.2_0.3_0.4_at0.6"),
    ],
)
def test_delta_oracles(loss, epsilon, oracle):
    lower, upper = np.exp(loss.log_delta_bounds(epsilon))
    assert inside((lower, upper), ORACLES[oracle]) and upper - lower < 1e-9 * upper
    assert loss.delta(epsilon) >= ORACLES[oracle] * (1 - 1e-14)


def test_epsilon_oracle():
    lower, upper = response(0.1).repeat(20).epsilon_bounds(1e-6)
    assert inside((lower, upper), ORACLES["opt_k20_eps0.1_d1e-6"]) and upper - lower < 1e-9


def test_two_laplaces_through_smoothing_too():
    """The general route, by way of IndependentSum itself, brackets what the closed form says."""
    general = IndependentSum([(LaplaceLoss(1.0), 2)])
    lower, upper = np.exp(general.log_delta_bounds(1.0))
    assert lower <= ORACLES["laplace2_delta_eps1"] <= upper and upper - lower < 1e-7


def test_merging():
    gaussian = GaussianLoss(3.0) + GaussianLoss(4.0)
    assert isinstance(gaussian, GaussianLoss) and gaussian.mu == 5.0
    assert GaussianLoss(1.0).repeat(0).maximum == 0.0 and GaussianLoss(1.0).repeat(0).delta(0.0) == 0.0
    laplace = LaplaceLoss(1.0)
    assert laplace.repeat(1) is laplace
    nested = (laplace.repeat(20) + GaussianLoss(1.0)) + (laplace + PoissonGaussianLoss(0.1, 1.0)).repeat(3)
    assert dict(nested.parts) == {LaplaceLoss(1.0): 23, GaussianLoss(1.0): 1, PoissonGaussianLoss(0.1, 1.0): 3}
    assert nested == independent_sum(reversed(nested.parts)) and hash(nested) == hash(independent_sum(reversed(nested.parts)))
    assert nested.swapped.swapped == nested
    assert independent_sum([(GaussianLoss(np.inf), 2), (laplace, 1)]).infinity_mass == 1.0


@pytest.mark.parametrize("bad", [-1, 1.5, True, "2"])
def test_copies_are_whole(bad):
    with pytest.raises(ValueError, match="not allowed"):
        LaplaceLoss(1.0).repeat(bad)


def test_infinite_losses_add_up():
    """Case A28: ten (1, 1e-4) steps. Below the mass at infinity no epsilon will do."""
    loss = leaky(1.0, 1e-4).repeat(10)
    assert loss.infinity_mass == pytest.approx(0.000999550119979, rel=1e-11)
    assert loss.epsilon(1e-5) == np.inf
    assert loss.epsilon(1e-2) == pytest.approx(9.76854438250584, rel=1e-12)
    mixed = leaky(1.0, 1e-4).repeat(10) + GaussianLoss(0.1)
    assert mixed.infinity_mass == pytest.approx(0.000999550119979, rel=1e-11) and mixed.epsilon(1e-5) == np.inf
    low, high = mixed.epsilon_bounds(1e-2)
    assert 9.7 < low <= high < 9.85 and high - low < 1e-9
    assert mixed.mean() == np.inf and mixed.delta(0.0) >= loss.delta(0.0)


@pytest.mark.parametrize("e, k, delta", [(1.0, 500, 1e-5), (0.1, 100, 1e-5), (0.01, 30_000, 1e-6), (0.3, 7, 1e-3)])
def test_randomized_response_is_a_binomial_sum(e, k, delta):
    loss = response(e).repeat(k)
    i = np.arange(k + 1)
    losses, masses = (2 * i - k) * e, binom.pmf(i, k, 1 / (1 + np.exp(-e)))
    for epsilon in loss.epsilon_bounds(delta):
        exact = np.sum(masses * -np.expm1(np.minimum(epsilon - losses, 0)))
        assert exact == pytest.approx(delta, rel=1e-9)


def test_multinomial_error_bound():
    rng = np.random.default_rng(7)
    for n, p in [(5, [0.3, 0.7]), (1519, [0.978, 0.022]), (30, [0.2, 0.3, 0.5])]:
        counts = _compositions(n, len(p))
        log_masses, error = _log_multinomial(n, counts, np.log(p))
        assert np.exp(log_masses).sum() == pytest.approx(1.0, abs=error)
        if len(p) == 2:
            pick = rng.integers(0, n + 1, 50)
            assert np.max(np.abs(log_masses[pick] - binom.logpmf(counts[pick, 0], n, p[0]))) < 1e-10


def test_lattice_convolution_equals_enumeration():
    x = np.arange(-4, 6)
    p, q = np.exp(-((x - 1.0) ** 2) / 8), np.exp(-(x**2) / 8)
    pair = DiscreteLoss.from_log_masses(np.log(p / p.sum()) - np.log(q / q.sum()), np.log(p / p.sum()))
    by_lattice = _all_sums([(pair, 5)])
    once, enumerated = pair, pair
    for _ in range(4):
        losses = (enumerated.losses[:, None] + once.losses).ravel()
        enumerated = DiscreteLoss(losses, (enumerated.log_masses[:, None] + once.log_masses).ravel(), 0.0, 0.0)
    for epsilon in (0.0, 0.7, 2.3, 4.0):
        low, high = by_lattice.log_delta_bounds(epsilon)
        assert low - 1e-12 <= enumerated.log_delta(epsilon) <= high + 1e-12 and high - low < 1e-10
    assert isinstance(by_lattice, ExactSum) and len(by_lattice.losses) < 60


@pytest.mark.parametrize("atoms, copies", [(1, 9), (3, 4), (4, 5), (5, 7)])
def test_few_values_off_a_lattice_are_added_up_exactly(atoms, copies):
    masses = np.random.default_rng(atoms).dirichlet(np.ones(atoms + 1))
    pair = DiscreteLoss.from_probabilities(masses, np.append(np.random.default_rng(atoms + 9).dirichlet(np.ones(atoms)), 0.0))
    total = pair.repeat(copies)
    assert isinstance(total, ExactSum)
    losses, weights = np.zeros(1), np.ones(1)
    for _ in range(copies):
        losses = np.add.outer(losses, pair.losses).ravel()
        weights = np.multiply.outer(weights, np.exp(pair.log_masses)).ravel()
    for epsilon in (0.0, 0.7, 2.3):
        exact = weights @ np.maximum(0.0, -np.expm1(np.minimum(epsilon - losses, 0.0))) + 1 - (1 - masses[-1]) ** copies
        low, high = np.exp(total.log_delta_bounds(epsilon))
        assert low * (1 - 1e-13) <= exact <= high * (1 + 1e-13) and high - low < 1e-11


def test_hundred_discrete_gaussians():
    """accounting.md: sigma 2, a hundred copies, at 1e-6 the lattice value 35.567536."""
    x = np.arange(-60, 62)
    log_p, log_q = -((x - 1.0) ** 2) / 8, -(x**2) / 8.0
    total = np.log(np.sum(np.exp(log_q)))
    pair = DiscreteLoss.from_log_masses(log_p - log_q, log_p - total)
    lower, upper = pair.repeat(100).epsilon_bounds(1e-6)
    assert lower == pytest.approx(35.567536, abs=1e-6) and upper - lower < 1e-9


SUMS = [
    LaplaceLoss(1.0).repeat(3),
    LaplaceLoss(0.3).repeat(40),
    LaplaceLoss(1.0) + GaussianLoss(0.5),
    PoissonGaussianLoss(0.2, 1.0).repeat(20),
    PoissonGaussianLoss(0.2, 1.0, "add").repeat(20) + GaussianLoss(0.2),
]


@pytest.mark.parametrize("loss", SUMS)
def test_readings_agree_with_samples(loss):
    """400,000 samples, 5 standard errors: each of about 10 checks gives a false alarm less than once in a million seeds."""
    x = loss.sample(400_000, rng=np.random.default_rng(11))
    assert x.mean() == pytest.approx(loss.mean(), abs=5 * x.std() / len(x) ** 0.5)
    for place in (-0.5, 0.0, 0.8):
        epsilon = loss.mean() + place * x.std()
        above = np.mean(x > epsilon)
        assert loss.tail(epsilon) >= above - 5 * (above / len(x)) ** 0.5
        assert loss.tail(epsilon) <= above + 5 * (above / len(x)) ** 0.5 + 1e-5
        assert loss.cdf(epsilon) == pytest.approx(1 - loss.tail(epsilon), abs=1e-12)
        gain = np.maximum(0, -np.expm1(epsilon - x))
        assert loss.delta(epsilon) == pytest.approx(gain.mean(), abs=5 * gain.std() / len(x) ** 0.5)
    u = 0.3
    assert np.mean(x <= loss.quantile(u)) == pytest.approx(u, abs=5 * 0.46 / len(x) ** 0.5 + 1e-5)


@pytest.mark.parametrize("loss", SUMS)
def test_the_two_orders_of_a_pair_tell_the_same_story(loss):
    """delta(e) = 1 - e**e + e**e delta'(-e), and log M'(t) = log M(-1 - t)."""
    for epsilon in (-1.3, -0.2, 0.4):
        here, there = loss.delta(epsilon), loss.swapped.delta(-epsilon)
        assert here == pytest.approx(1 - np.exp(epsilon) + np.exp(epsilon) * there, abs=1e-7)
    assert loss.swapped.log_mgf(0.7) == pytest.approx(loss.log_mgf(-1.7), rel=1e-11, abs=1e-13)
    assert loss.renyi(2.0) == pytest.approx(sum(k * part.renyi(2.0) for part, k in loss.parts), rel=1e-13)


@pytest.mark.parametrize("loss", SUMS)
def test_delta_and_epsilon_are_inverse_and_monotone(loss):
    deltas = np.array([1e-9, 1e-5, 1e-2])
    lower, upper = loss.epsilon_bounds(deltas)
    assert np.all(lower <= upper) and np.all(np.diff(upper) <= 0)
    for delta, low, high in zip(deltas, lower, upper, strict=True):
        assert loss.log_delta_bounds(high)[0] <= np.log(delta) + 1e-12
        assert loss.log_delta_bounds(low)[1] >= np.log(delta) - 1e-12
    assert loss.epsilon(1.0) == 0.0
    assert loss.epsilon(0.0) == loss.maximum


@pytest.mark.parametrize(
    ("loss", "epsilon", "log_delta"),
    [(DiscreteLoss.from_probabilities([0.25, 0.75], [0.875, 0.125]) + LaplaceLoss(2.561023047791775), 4.35278251701983, -38.65),
     (poisson_sampled_loss(LaplaceLoss(3.7091843353570195), 0.9583294513489758).repeat(2), 7.335370630671732, -36.998)],
)
def test_just_below_the_largest_sum_delta_is_not_0(loss, epsilon, log_delta):
    """The largest loss is a rounded number; truths by quadrature in interval arithmetic."""
    lower, upper = loss.log_delta_bounds(epsilon)
    assert lower <= log_delta <= upper


def test_added_records_with_little_noise():
    """Truths by quadrature of the closed form at 30 digits: the moments of added records near mu."""
    for mu, epsilon, log_delta in ((9.0, 5.0, -0.558719471099844), (12.0, 5.0, -0.558718001799294)):
        lower, upper = (GaussianLoss(3.5) + PoissonGaussianLoss(0.4, mu, "add")).log_delta_bounds(epsilon)
        assert lower <= log_delta <= upper < lower + 1e-10


def test_noise_too_small_for_a_line_is_answered_at_once():
    for mu in (1e4, 1e100, 1e200):
        lower, upper = PoissonGaussianLoss(0.01, mu).repeat(10).epsilon_bounds(1e-5)
        assert lower <= upper and upper > mu
