"""The sampled Gaussian's loss: closed forms against quadrature and samples, limits, moments at any order."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpnotes.privacy_loss import DiscreteGaussianLoss, DiscreteLoss, GaussianLoss, PoissonGaussianLoss, poisson_sampled_loss
from dpnotes.privacy_loss._sampled_moments import Orders, log_mixture

DATA = json.loads((Path(__file__).parent / "data" / "numerical_cases.json").read_text(encoding="utf-8"))
ORACLES = {entry["id"]: float(entry["value"]) for entry in DATA["oracles"]}
CASES = {case["id"]: {row["quantity"]: row.get("value") for row in case["values"]} for case in DATA["cases"]}
GRID = [(0.1, 1.0), (0.01, 2.0), (0.9, 0.5), (0.3, 3.0), (1e-4, 1.0)]


def test_delta_oracle():
    assert PoissonGaussianLoss(0.1, 1.0).delta(1.0) == pytest.approx(
        ORACLES["poisson_gauss_delta_remove_q0.1_mu1_eps1"], rel=1e-13
    )


@pytest.mark.parametrize("q, mu", GRID)
def test_delta_by_quadrature(q, mu):
    """E_Q[(h - e**epsilon)_+] and E_Q[(1 - e**epsilon h)_+], straight from the definition."""

    def h(x):
        return 1 - q + q * np.exp(mu * x - mu * mu / 2)

    for epsilon in (-0.3, 0.0, 0.02, 0.5):
        for direction, gain in [
            ("remove", lambda x, e=epsilon: max(h(x) - np.exp(e), 0.0)),
            ("add", lambda x, e=epsilon: max(1 - np.exp(e) * h(x), 0.0)),
        ]:
            exact = sum(
                quad(lambda x, f=gain: f(x) * norm.pdf(x), a, a + 1, epsabs=0, epsrel=1e-12, limit=300)[0] for a in range(-12, 14)
            )
            assert PoissonGaussianLoss(q, mu, direction).delta(epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-17)


def test_limits():
    assert PoissonGaussianLoss(1.0, 0.5) == GaussianLoss(0.5)
    assert PoissonGaussianLoss(0.0, 0.5).maximum == 0.0 and PoissonGaussianLoss(0.3, 0.0).epsilon(1e-9) == 0.0
    remove, add = PoissonGaussianLoss(0.25, np.inf), PoissonGaussianLoss(0.25, np.inf, "add")
    assert isinstance(remove, DiscreteLoss) and remove.infinity_mass == 0.25
    assert add.infinity_mass == 0.0 and add.maximum == pytest.approx(-np.log(0.75))
    near = PoissonGaussianLoss(0.25, 60.0)
    assert near.delta(3.0) == pytest.approx(remove.delta(3.0), rel=1e-12)
    add = PoissonGaussianLoss(0.25, 1.0, "add")
    assert add.delta(-np.log(0.75)) == 0.0 and add.delta(0.28) > 0 and add.maximum == -np.log1p(-0.25)


@pytest.mark.parametrize(
    "arguments", [(-0.1, 1.0), (1.1, 1.0), (np.nan, 1.0), (0.1, -1.0), (0.1, np.nan), (0.1, 1.0, "replace"), (True, 1.0)]
)
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match="not allowed"):
        PoissonGaussianLoss(*arguments)


def test_case_a01():
    """Total variation below delta gives exactly 0; the order just above 1 gives the Kullback-Leibler limit."""
    case, loss = CASES["A01"], PoissonGaussianLoss(0.00105, 1.0)
    assert loss.delta(0.0) == pytest.approx(case["TV distance (= exact delta at eps 0)"], rel=1e-10)
    assert loss.renyi(1 + 1e-8) == pytest.approx(case["RDP at alpha=1+1e-8"], rel=1e-7)
    assert loss.renyi(1.0) == pytest.approx(case["RDP at alpha=1+1e-8"], rel=1e-7)
    assert loss.renyi(1.1) == pytest.approx(case["RDP at alpha=1.1"], rel=1e-10)
    assert loss.epsilon_bounds(1e-3) == (0.0, 0.0)
    assert loss.epsilon(1e-4) == pytest.approx(case["exact eps at delta=1e-4 (lower bound for any accountant)"], rel=1e-9)
    assert loss.epsilon(1e-5) == pytest.approx(case["exact eps at delta=1e-5"], rel=1e-9)


def test_cases_a03_and_a26_renyi_at_any_order():
    loss, case = PoissonGaussianLoss(0.01, 1.0), CASES["A03"]
    values = loss.renyi(np.array([1.0, 1.5, 2.0, 2.5, 10.9]))
    assert values == pytest.approx(
        [case[name] for name in ("KL (alpha->1)", "RDP 1.5", "RDP 2", "RDP 2.5", "RDP 10.9")], rel=1e-9
    )
    for (q, sigma, order), name in zip(
        [(0.01, 0.1, 64), (0.01, 0.05, 256), (0.001, 0.3, 512)], ("RDP 64", "RDP 256", "RDP 512"), strict=True
    ):
        assert PoissonGaussianLoss(q, 1 / sigma).renyi(order) == pytest.approx(CASES["A26"][name], rel=1e-11)


@pytest.mark.parametrize("q, mu", GRID)
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_moments_by_quadrature_at_complex_orders(q, mu, direction):
    loss = PoissonGaussianLoss(q, mu, direction)
    nodes, weights = np.polynomial.legendre.leggauss(60)  # on every unit interval
    x = np.concatenate([a + (nodes + 1) / 2 for a in range(-12, 12 + int(4 * mu) + 1)])
    weights = np.tile(weights / 2, len(x) // 60)
    l = log_mixture(x, q, mu)
    log_density, l = (norm.logpdf(x) + l, l) if direction == "remove" else (norm.logpdf(x), -l)
    for t in (0.5 + 0j, 2.0 + 3.0j, 1.0 - 2.0j, -0.4 + 0.7j):
        exact = np.sum(weights * np.exp(log_density + t * l))
        # where the terms cancel, what is right is the size of the sum of their moduli, M(Re t)
        assert np.exp(loss.log_mgf(t)) == pytest.approx(exact, rel=1e-9, abs=1e-12 * np.exp(loss.log_mgf(t.real)))
    assert loss.log_mgf(-1.0) == pytest.approx(0.0, abs=1e-14) and loss.log_mgf(0.0) == pytest.approx(0.0, abs=1e-14)
    assert loss.swapped.log_mgf(0.3) == pytest.approx(loss.log_mgf(-1.3), rel=1e-10, abs=1e-15)


def test_the_quadrature_bound_is_a_bound(monkeypatch):
    """A rule that is too coarse errs visibly, and less than it says; left to itself it is made finer."""
    for q, mu, c, remove in [(0.01, 1.0, 3.0, True), (0.3, 2.0, 2.0, True), (0.1, 1.0, 20.0, False)]:
        fine = Orders(q, mu, remove, c, 0.0).ready()
        coarse, left = (Orders(q, mu, remove, c, 0.0) for _ in range(2))
        left.step = coarse.step = 9 * coarse.step
        with monkeypatch.context() as patch:
            patch.setattr("dpnotes.privacy_loss._sampled_moments.MOST_RETRIED", 0)
            coarse.ready()
        assert left.ready().error < 1e-12 and left.step < coarse.step
        off = abs(np.expm1(coarse.level - fine.level))
        assert 1e-13 < off <= coarse.level_error


@pytest.mark.parametrize(("q", "mu", "copies", "delta"), [(7e-6, 0.5, 1000, 1e-5), (1e-6, 1.0, 1000, 1e-5), (1e-4, 1.0, 300, 1e-6)])
def test_rare_records_that_are_added(q, mu, copies, delta):
    """Against plain sums: the outputs at 40,001 places, their losses split over a grid of losses, convolved by FFT."""
    lower, upper = PoissonGaussianLoss(q, mu, "add").repeat(copies).epsilon_bounds(delta)
    assert upper - lower < 1e-5 * upper
    x = np.linspace(-9, 9, 40_001)
    p = norm.pdf(x) / norm.pdf(x).sum()  # without the record, which is P here
    loss = -np.log1p(q * np.expm1(mu * x - mu * mu / 2))
    step, size = -np.log1p(-q) / 200, 2**20
    place = (loss - loss.min()) / step
    whole = np.floor(place).astype(int)
    masses = np.zeros(size)
    np.add.at(masses, whole, p * (1 - (place - whole)))
    np.add.at(masses, whole + 1, p * (place - whole))
    kept = masses[: whole.max() + 2]
    mean = round(float(kept @ np.arange(len(kept))))  # start there, so that the sum stays within the window
    law = np.fft.irfft(np.fft.rfft(np.roll(masses, -mean)) ** copies, size)
    total = copies * (loss.min() + mean * step) + step * np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)
    for epsilon in (lower, upper):
        assert law @ np.maximum(0, -np.expm1(np.minimum(epsilon - total, 0))) == pytest.approx(delta, rel=2e-3)



@pytest.mark.parametrize("q, mu", [(0.1, 1.0), (0.9, 0.5), (0.3, 3.0)])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_law_agrees_with_samples(q, mu, direction):
    """400,000 samples, 5 standard errors."""
    loss = PoissonGaussianLoss(q, mu, direction)
    x = loss.sample(400_000, rng=np.random.default_rng(5))
    assert x.min() >= loss.minimum and x.max() <= loss.maximum
    assert x.mean() == pytest.approx(loss.mean(), abs=5 * x.std() / len(x) ** 0.5)
    for u in (0.1, 0.5, 0.99):
        l = loss.quantile(u)
        assert np.mean(x <= l) == pytest.approx(u, abs=5 * 0.5 / len(x) ** 0.5)
        assert loss.cdf(l) == pytest.approx(u, abs=1e-10) and loss.tail(l) == pytest.approx(1 - u, abs=1e-10)
    assert loss.cdf(loss.minimum - 1) == 0.0 and loss.tail(loss.maximum) == 0.0


@pytest.mark.parametrize("sigma", [0.02, 0.5, 1e4])
@pytest.mark.parametrize("q", [1e-6, 0.5, 1 - 1e-6])
def test_extremes_are_finite_and_monotone(q, sigma):
    for direction in ("remove", "add"):
        loss = PoissonGaussianLoss(q, 1 / sigma, direction)
        epsilon = np.array([-np.inf, -1e3, -1.0, 0.0, 1e-9, 0.1, 3.0, 1e3, 1e6, np.inf])
        values = loss.log_delta(epsilon)
        assert (
            values[0] == 0.0
            and values[-1] == -np.inf
            and np.all(np.diff(np.maximum(values, -1e300)) <= 1e-12)
            and not np.isnan(values).any()
        )
        assert 0 <= loss.mean() < np.inf
        assert loss.renyi(2.0) * (1 + 1e-13) >= loss.renyi(1.5) >= 0  # equal but for rounding where the largest loss decides


def test_log_delta_far_below_floats():
    loss = PoissonGaussianLoss(0.01, 1.0)
    epsilon = loss.epsilon(1e-300)
    assert loss.log_delta(epsilon) == pytest.approx(-300 * np.log(10), rel=1e-9)
    assert -1e6 < loss.log_delta(1000.0) < -1e5


def test_values_are_equal_hash_and_travel():
    loss = PoissonGaussianLoss(0.1, 1.0, "add")
    assert loss == PoissonGaussianLoss(0.1, 1.0, "add") != PoissonGaussianLoss(0.1, 1.0)
    assert hash(loss) == hash(PoissonGaussianLoss(0.1, 1.0, "add"))
    assert pickle.loads(pickle.dumps(loss)) == loss == copy.deepcopy(loss) and loss.swapped.swapped == loss


@pytest.mark.parametrize("q", [0.01, 0.4, 0.999])
def test_sampled_finite_pairs_from_their_probabilities(q):
    p, r = np.array([0.05, 0.40, 0.55, 0.0]), np.array([0.0, 0.20, 0.70, 0.10])
    pair, mixed = DiscreteLoss.from_probabilities(p, r), (1 - q) * r + q * p
    for direction, above, below in [("remove", mixed, r), ("add", r, mixed)]:
        loss = poisson_sampled_loss(pair, q, direction)
        for epsilon in (-0.5, 0.0, 0.003, 0.4):
            exact = np.maximum(above - np.exp(epsilon) * below, 0).sum()
            assert loss.delta(epsilon) == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_amplification_of_pure_dp():
    response = DiscreteLoss.from_log_masses([1.0, -1.0], [-np.logaddexp(0, -1.0), -np.logaddexp(0, 1.0)])
    assert poisson_sampled_loss(response, 0.01).maximum == pytest.approx(ORACLES["subsample_pure_q0.01_eps1"], rel=1e-13)


def test_limits_of_sampled_losses():
    pair = DiscreteLoss.from_probabilities([0.5, 0.5], [0.2, 0.8])
    assert poisson_sampled_loss(pair, 1.0) is pair and poisson_sampled_loss(pair, 0.0).maximum == 0.0
    assert poisson_sampled_loss(GaussianLoss(1.0), 0.1, "add") == PoissonGaussianLoss(0.1, 1.0, "add")
    with pytest.raises(ValueError, match="certified"):
        poisson_sampled_loss(DiscreteGaussianLoss(1.0), 0.1)
    with pytest.raises(ValueError, match="direction"):
        poisson_sampled_loss(pair, 0.1, "both")


def test_orders_far_beyond_use():
    """Huge orders: the closed form of the dominant power, or an upper bound, never a coarse quadrature."""
    loss = PoissonGaussianLoss(0.01, 1.0)
    for order in (100.0, 150.0, 1e4, 1e8):
        plain = (order * np.log(0.01) + order * (order - 1) / 2) / (order - 1)
        assert loss.renyi(order) == pytest.approx(plain, rel=1e-12)
    add = PoissonGaussianLoss(0.01, 1.0, "add")
    orders = np.array([2.0, 10.0, 1e3, 1e5, 1e8, 1e50, np.inf])
    values = add.renyi(orders)
    assert np.all(np.diff(values) >= -1e-15) and values[-1] == add.maximum and np.all(values <= add.maximum)
    wide = PoissonGaussianLoss(1e-6, 1e-4).renyi(np.array([2.0, 1e6, 1e9, 1e12]))
    assert np.all(np.isfinite(wide)) and np.all(np.diff(wide) > 0)
