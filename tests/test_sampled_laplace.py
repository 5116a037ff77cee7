"""Poisson-sampled Laplace noise: closed forms against quadrature, composition against atoms on either side and a grid."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from laws import assert_cdf

import dpnotes as dp
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, IndependentSum, LaplaceLoss, poisson_sampled_loss
from dpnotes.privacy_loss._sampled_laplace import PoissonLaplaceLoss

CASES = [(q, bound, direction) for q, bound in [(0.1, 1.0), (0.01, 5.0), (0.9, 2.0), (1e-4, 0.1)] for direction in ("remove", "add")]


def expectation(q, bound, direction, function, pieces=()):
    """E[function(L)] by mpmath's quadrature over the inner loss, under the first law of the pair."""
    mp.mp.dps = 30
    q, b = mp.mpf(q), mp.mpf(bound)

    def term(l):
        h = 1 - q + q * mp.e**l
        return function(mp.log(h)) * h if direction == "remove" else function(-mp.log(h))

    inside = mp.quad(lambda l: term(l) * mp.e ** (-(l + b) / 2) / 4, sorted({-b, b, *(p for p in pieces if -b < p < b)}))
    return inside + term(-b) / 2 + term(b) * mp.e**-b / 2


@pytest.mark.parametrize(("q", "bound", "direction"), CASES)
def test_readings_against_quadrature(q, bound, direction):
    loss = poisson_sampled_loss(LaplaceLoss(bound), q, direction)
    assert isinstance(loss, PoissonLaplaceLoss) and loss.swapped.swapped == loss
    for share in (0.02, 0.3, 0.6, 0.97):
        at = loss.minimum + share * (loss.maximum - loss.minimum)
        s = at if direction == "remove" else -at
        kink = mp.log((mp.e ** mp.mpf(s) - 1 + mp.mpf(q)) / mp.mpf(q))
        exact = expectation(q, bound, direction, lambda l, at=at: max(mp.mpf(0), 1 - mp.e ** (at - l)), [kink])
        assert loss.log_delta(at) == pytest.approx(float(mp.log(exact)), rel=1e-11, abs=1e-12)
        above = expectation(q, bound, direction, lambda l, at=at: mp.mpf(l > at), [kink])
        assert loss.tail(at) == pytest.approx(float(above), rel=1e-9) and loss.cdf(at) == pytest.approx(float(1 - above), rel=1e-9)
        assert loss.quantile(loss.cdf(at)) == pytest.approx(at, abs=1e-9 * (loss.maximum - loss.minimum))
    for t in (-30.0, -0.3, 0.5, 7.0, 2000.0):
        exact = mp.log(expectation(q, bound, direction, lambda l, t=t: mp.e ** (t * l), [0]))
        assert loss.log_mgf(t) == pytest.approx(float(exact), rel=1e-11, abs=1e-18)
    assert loss.mean() == pytest.approx(float(expectation(q, bound, direction, lambda l: l)), rel=1e-11)
    assert loss.renyi(1e13) == pytest.approx(loss.maximum, rel=1e-6) and loss.renyi(np.inf) == loss.maximum
    assert loss.delta(loss.maximum) == 0 and loss.tail(loss.minimum - 1e-9) == 1 and loss.cdf(loss.maximum) == 1
    assert_cdf(loss.sample(20_000, np.random.default_rng(5)), loss.cdf, width=1e-11)


@pytest.mark.parametrize(("q", "bound", "direction"), CASES)
def test_moments_on_a_line_keep_their_bound(q, bound, direction):
    loss, c = PoissonLaplaceLoss(q, bound, direction), 2.5
    z = c + 0.2j * np.arange(1000)
    value, error = loss._on_line(z)
    assert np.max(error) < 1e-9
    for j in (0, 1, 200, 999):
        pieces = mp.linspace(-bound, bound, int(z[j].imag * bound / 8) + 4)
        exact = expectation(q, bound, direction, lambda l, j=j: mp.e ** (mp.mpc(z[j]) * l), pieces)
        assert abs(mp.e ** mp.mpc(value[j]) / exact - 1) <= error[j]
    assert np.all(value.real[1:] <= loss._modulus(c, z.imag[1:]) + 1e-9)


def on_both_sides(loss, cells):
    """Finite laws below and above in the order of hockey sticks: cells merged to one output, and split to their ends."""
    edges = np.linspace(loss.minimum, loss.maximum, cells + 1)
    # P[L > edge], and Q[L > edge] = e**-edge (P[L > edge] - delta(edge)); the ends are atoms
    p = np.array([loss.tail(e) for e in edges[:-1]])
    q = np.exp(-edges[:-1]) * (p - np.array([loss.delta(e) for e in edges[:-1]]))
    atoms = np.array([1 - p[0], loss.tail(np.nextafter(loss.maximum, 0) - 1e-13)])
    p, q = -np.diff(np.append(p, atoms[1])), -np.diff(np.append(q, atoms[1] * np.exp(-loss.maximum)))
    ends = np.array([loss.minimum, loss.maximum])
    merged = np.concatenate([np.log(p / q), ends]), np.concatenate([p, atoms])
    upper = (p - q * np.exp(edges[:-1])) / -np.expm1(edges[:-1] - edges[1:])
    split = np.concatenate([edges[:-1], edges[1:], ends]), np.concatenate([p - upper, upper, atoms])
    return [DiscreteLoss(l, np.log(np.maximum(m, 1e-300)), 0.0, 0.0) for l, m in (merged, split)]


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("times", [2, 12, 60])
def test_composition_between_finite_laws(direction, times):
    loss = PoissonLaplaceLoss(0.2, 1.0, direction)
    below, above = (IndependentSum([(finite, times)]) for finite in on_both_sides(loss, 400))
    composed = loss.repeat(times)
    for epsilon in (0.05 * composed.maximum, composed.mean() + 0.1):
        low, high = composed.log_delta_bounds(epsilon)
        assert below.log_delta_bounds(epsilon)[0] <= high and low <= above.log_delta_bounds(epsilon)[1]
        assert high - low < 1e-4
        assert above.log_delta_bounds(epsilon)[1] - below.log_delta_bounds(epsilon)[0] < 2e-2  # so that the test can fail


def test_accountants_take_it():
    sampled = dp.Laplace(1.0).poisson_sampled(0.1)
    assert sampled.kinds["loss"] == "exact" and set(sampled.privacy_losses()) == {"remove", "add"}
    ledger, orders = dp.NumericalAccountant().add(sampled, 100), dp.RenyiAccountant().add(sampled, 100)
    lower, upper = ledger.epsilon_bounds(1e-5)
    assert 0 < lower <= upper <= lower * (1 + 1e-6) and upper < orders.epsilon(1e-5) < 1.2 * upper
    for alpha in (1.0, 1.7, 2.0, 33.3, np.inf):
        exact = [loss.renyi(alpha) for loss in sampled.privacy_losses().values()]
        assert orders.renyi(alpha) == pytest.approx(100 * max(exact))
    # the same pair through 257 atoms that dominate it
    dominating = dp.DiscreteLaplace(256.0, 256).poisson_sampled(0.1)
    assert upper <= dp.NumericalAccountant().add(dominating, 100).epsilon(1e-5) <= upper * (1 + 1e-5)


def test_limits():
    laplace = LaplaceLoss(1.0)
    assert poisson_sampled_loss(laplace, 0.0).maximum == 0 and poisson_sampled_loss(laplace, 1.0) == laplace
    assert isinstance(poisson_sampled_loss(LaplaceLoss(0.0), 0.3), GaussianLoss)
    assert poisson_sampled_loss(LaplaceLoss(np.inf), 0.3).infinity_mass == pytest.approx(0.3)
    assert poisson_sampled_loss(LaplaceLoss(np.inf), 0.3, "add").infinity_mass == 0
    with pytest.raises(ValueError, match="at most 700"):
        poisson_sampled_loss(LaplaceLoss(701.0), 0.3)
    assert dp.Laplace(1e-3).poisson_sampled(0.5).privacy_losses()["remove"].maximum == pytest.approx(1000 + np.log(0.5))


@pytest.mark.parametrize(
    ("q", "bound", "epsilon", "log_delta"),
    [(0.2838422953403827, 7.335699009077232, 6.078005824682672, -20.7028444216357),
     (0.8353683065094445, 16.65379762701508, 16.473915072600395, -23.1671641620),
     (0.6801104945333099, 24.89131674235509, 24.50581674031075, -36.2490669)],
)
def test_close_to_the_largest_loss_the_bracket_carries_its_rounding(q, bound, epsilon, log_delta):
    """Truths by interval arithmetic on the closed form."""
    lower, upper = PoissonLaplaceLoss(q, bound, "remove").log_delta_bounds(epsilon)
    assert lower <= log_delta <= upper


def test_moments_begin_at_the_edge_itself():
    """With a tiny q the inner loss near the edge loses its digits; the truths are mpmath integrals at 40 digits."""
    tiny = PoissonLaplaceLoss(1.3358431919674704e-08, 15.098998947092136, "add") + GaussianLoss(0.0036751263564010215)
    lower, upper = tiny.log_delta_bounds(0.054013729569562095)
    assert lower <= -119.889516393717688 <= upper < lower + 1e-10
    other = PoissonLaplaceLoss(0.0014466635353089078, 9.411957799714406, "remove") + GaussianLoss(2.9189161543319284)
    lower, upper = other.log_delta_bounds(10.390143384002677)
    assert lower <= -4.65827475836617128 <= upper < lower + 1e-11
