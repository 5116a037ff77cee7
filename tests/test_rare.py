"""Behind a wall of rare large losses: brackets against mpmath and against the plain contour, their widths, and each bound in them."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpnotes.accountants import NumericalAccountant
from dpnotes.privacy_loss import GaussianLoss, PoissonGaussianLoss, _rare
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._kept import Kept, KeptOrders
from dpnotes.privacy_loss._rare import (
    _crossing,
    _Flags,
    _Jumps,
    _log_overlap,
    _Reading,
    rare_epsilon_bounds,
    rare_log_delta_bounds,
)

TRUTHS = json.loads((Path(__file__).parent / "data" / "rare_truths.json").read_text(encoding="utf-8"))["truths"]


@pytest.mark.parametrize("task", range(len(TRUTHS)))
def test_two_steps_against_mpmath(task):
    """No violation is allowed; 1e-11 is the reference's own relative error in delta."""
    task = TRUTHS[task]
    loss, truth = PoissonGaussianLoss(task["q"], 1 / task["sigma"]), float(task["log_delta"])
    for lower, upper in (rare_log_delta_bounds([(loss, 2)], task["epsilon"]), loss.repeat(2).log_delta_bounds(task["epsilon"])):
        assert lower <= truth + 2e-11 and truth - 2e-11 <= upper


def test_there_are_enough_truths():
    assert len(TRUTHS) >= 40


@pytest.mark.parametrize(("q", "sigma", "steps", "epsilon"), [
    (1e-3, 1.0, 1000, 0.3), (1e-4, 0.6, 100_000, 0.963), (0.01, 1.0, 100, 0.7), (0.003, 0.8, 300, 1.0)])
def test_the_same_as_the_plain_contour_where_that_is_sharp(q, sigma, steps, epsilon):
    parts = [(PoissonGaussianLoss(q, 1 / sigma), steps)]
    plain, rare = Inversion(parts).log_delta_bounds(epsilon), rare_log_delta_bounds(parts, epsilon)
    assert plain[1] - plain[0] < 1e-6 and rare[1] - rare[0] < 1e-6
    assert plain[0] <= rare[1] and rare[0] <= plain[1]


@pytest.mark.parametrize(("q", "sigma", "steps", "epsilon"), [
    (1e-5, 1.0, 1000, 0.01), (1e-6, 1.0, 1000, 1.5e-5), (1e-6, 1.0, 1000, 3e-5), (1e-5, 0.5, 1000, 0.06)])
def test_widths_behind_the_wall(q, sigma, steps, epsilon):
    """Before, the lower bound was 0 here, or the upper one a thousand times too large."""
    lower, upper = PoissonGaussianLoss(q, 1 / sigma).repeat(steps).log_delta_bounds(epsilon)
    assert -np.inf < lower <= upper <= lower + 1e-6


def test_epsilon_behind_the_wall():
    loss = PoissonGaussianLoss(1e-6, 1.0).repeat(1000)
    lower, upper = loss.epsilon_bounds(1e-5)
    assert 0 < lower <= upper <= lower * (1 + 1e-6)
    assert loss.log_delta_bounds(upper)[1] <= np.log(1e-5) + 1e-8 and loss.log_delta_bounds(lower)[0] >= np.log(1e-5) - 1e-8


def test_other_parts_are_welcome():
    parts = [(PoissonGaussianLoss(1e-3, 1.0), 500), (PoissonGaussianLoss(2e-3, 0.8), 300), (GaussianLoss(0.02), 1)]
    plain, rare = Inversion(parts).log_delta_bounds(0.5), rare_log_delta_bounds(parts, 0.5)
    assert plain[0] <= rare[1] and rare[0] <= plain[1] and rare[1] - rare[0] < 1e-6


@pytest.mark.parametrize("margin", [1e-3, 0.01, 0.03])
def test_what_the_flags_get_wrong_is_in_the_bracket(margin, monkeypatch):
    """With the flags too close to epsilon the sliver below it counts."""
    monkeypatch.setattr(_rare, "MARGINS", np.array([margin]))
    q, sigma, steps, epsilon = 1e-3, 1.0, 1000, 0.3
    exact = Inversion([(PoissonGaussianLoss(q, 1 / sigma), steps)]).log_delta_bounds(epsilon)
    parts = [(PoissonGaussianLoss(q, 1 / sigma), steps)]
    lower, upper = rare_log_delta_bounds(parts, epsilon)
    assert lower <= exact[1] and exact[0] <= upper


def test_flags_and_kept_add_up():
    """E[(e**(epsilon - L) - 1)_+; flag] by samples of the sliver is below its bound; the masses of flag and kept make 1."""
    loss = PoissonGaussianLoss(0.05, 1.0)
    flags = _Flags([(loss, 3)], 0.4)
    place, width = flags.steps[loss]
    rng = np.random.default_rng(11)
    x = rng.standard_normal((2_000_000, 3))
    x += loss.mu * (rng.random(x.shape) < loss.q)
    from scipy.special import ndtr

    from dpnotes.privacy_loss._sampled_moments import log_mixture

    flag = (rng.random(x.shape) < ndtr((x - place) / width)).any(axis=1)
    total = log_mixture(x, loss.q, loss.mu).sum(axis=1)
    for epsilon in (0.5, 0.7):
        closed, noise = flags.closed(epsilon)
        gain = np.where(flag, -np.expm1(epsilon - total), 0.0)
        assert closed == pytest.approx(gain.mean(), abs=6 * gain.std() / len(gain) ** 0.5)
        sliver = np.where(flag, np.maximum(np.expm1(epsilon - total), 0.0), 0.0).mean()
        assert 0 < sliver <= np.exp(flags.log_sliver(epsilon)) and noise < 1e-12
    kept = KeptOrders(loss.q, loss.mu, 1e-9, 0.0, ((1, place, width),)).ready()
    one = _Flags([(loss, 1)], 0.4)
    assert np.exp(kept.level) == pytest.approx(1 - one.gap - one.q_flag, rel=1e-9)


@pytest.mark.parametrize("steps", [((1, 3.0, 0.1),), ((-1, 2.0, 0.2), (1, 3.0, 0.1)), ((-1, 1.5, 0.6), (1, 3.0, 0.05))])
def test_moments_and_modulus_of_kept_parts(steps):
    """Against a plain sum over a fine grid of outputs; the bound on |M| holds for all larger y."""
    from scipy.special import log_ndtr

    loss = PoissonGaussianLoss(0.01, 1.0)
    kept = Kept(loss, *steps)
    x = np.linspace(-12, 6, 200_001)
    from dpnotes.privacy_loss._sampled_moments import log_mixture

    l = log_mixture(x, loss.q, loss.mu)
    weight = np.exp(-x * x / 2 + l + sum(log_ndtr(s * (p - x) / w) for s, p, w in steps)) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    c, y = 6.0, np.array([0.0, 3.0, 20.0, 70.0, 200.0])
    exact = np.array([np.sum(weight * np.exp((c + 1j * v) * l)) for v in y])
    value, error = kept._at(c, 200.0).ready().on_line(y)
    assert np.exp(value) == pytest.approx(exact, rel=1e-8, abs=1e-10 * abs(exact[0])) and error.max() < 1e-6
    assert kept._cumulant(np.array([c]))[0] == pytest.approx(np.log(exact[0].real), abs=1e-9)
    at = np.geomspace(0.5, 200, 40)
    bound = kept._modulus(c, at, 100)
    size = np.log(np.abs([np.sum(weight * np.exp((c + 1j * v) * l)) for v in at]))
    assert np.all(np.maximum.accumulate(size[::-1])[::-1] <= bound + 1e-9) and np.all(np.diff(bound) <= 1e-9)


def test_solving_for_epsilon_proves_both_ends():
    exact = GaussianLoss(1.0)
    for side, start in ((-1e-4, 0.1), (1e-4, 8.0)):
        excess = lambda epsilon, side=side: exact.log_delta(epsilon) + side - np.log(1e-5)  # noqa: E731
        bad, good = _crossing(excess, start, 9.0)
        assert excess(bad) > 0 >= excess(good) and bad < good <= bad * (1 + 1e-11)
    assert _crossing(lambda _: 1.0, 1.0, 9.0)[1] == 9.0 and _crossing(lambda _: -1.0, 1.0, 9.0)[0] == 0.0
    assert _crossing(lambda _: np.nan, 1.0, 9.0)[0] == 0.0  # no number is no proof


def three_steps(q, mu, epsilon, panels=90):
    """delta by Gauss-Legendre panels in two outputs and the closed form for the third step."""
    from scipy.special import log_ndtr

    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = np.linspace(-9.5, max(17.0, mu + 9.5), panels + 1)
    x = ((edges[1:] + edges[:-1])[:, None] / 2 + np.diff(edges)[:, None] / 2 * nodes).ravel()
    p = (np.diff(edges)[:, None] / 2 * weights).ravel() / np.sqrt(2 * np.pi)
    p *= (1 - q) * np.exp(-x * x / 2) + q * np.exp(-((x - mu) ** 2) / 2)
    loss = np.log1p(q * np.expm1(mu * x - mu * mu / 2))
    total = 0.0
    for i in range(0, len(x), 90):
        rest = epsilon - loss[i : i + 90, None] - loss
        ratio = np.expm1(rest) / q + 1  # of the third output's densities, where its loss is `rest`
        place = np.log(np.maximum(ratio, 1e-300)) / mu + mu / 2
        one = np.where(ratio > 0, q * (np.exp(log_ndtr(mu - place)) - ratio * np.exp(log_ndtr(-place))), -np.expm1(rest))
        total += p[i : i + 90] @ one @ p
    return total


@pytest.mark.parametrize(("q", "sigma", "epsilon"), [
    (2.86e-4, 1.34, 1.91e-3), (3.93e-6, 3.16, 2.07e-5), (1.44e-7, 2.43, 5.63e-7), (3.6e-4, 2.85, 7.33e-3), (4.6e-3, 1.78, 0.0196)])
def test_three_steps_by_quadrature(q, sigma, epsilon):
    exact, loss = np.log(three_steps(q, 1 / sigma, epsilon)), PoissonGaussianLoss(q, 1 / sigma)
    assert np.log(three_steps(q, 1 / sigma, epsilon, 130)) == pytest.approx(exact, abs=1e-10)
    for lower, upper in (rare_log_delta_bounds([(loss, 3)], epsilon), loss.repeat(3).log_delta_bounds(epsilon)):
        assert lower - 3e-10 <= exact <= upper + 3e-10 and upper - lower < 1e-6


def on_a_grid(q, mu, steps, epsilon, h):
    """delta of a law that covers: each loss split between its neighbors on a grid, so that E[e**-L] stays; powers by FFT."""
    n = 1 << int(np.ceil(np.log2(16 * epsilon / h)))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(-9, 16, 6001)
    x = ((edges[1:] + edges[:-1])[:, None] / 2 + np.diff(edges)[:, None] / 2 * nodes).ravel()
    mass = (np.diff(edges)[:, None] / 2 * weights).ravel() * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    ratio = q * np.expm1(mu * x - mu * mu / 2)
    kept = np.log1p(ratio) < 8 * epsilon
    lost, mass, ratio = float(np.sum((mass * (1 + ratio))[~kept])), mass[kept], ratio[kept]
    place = np.floor(np.log1p(ratio) / h).astype(int)
    share = (ratio - np.expm1(h * place)) / (np.expm1(h * (place + 1)) - np.expm1(h * place))
    one = np.bincount(place % n, mass * (1 - share), n) + np.bincount((place + 1) % n, mass * share, n)
    loss = h * np.fft.fftfreq(n, 1 / n)
    one = one * np.exp(loss)
    one[0] = 0.0  # the transform less 1, without what cancels
    law = np.fft.irfft(np.exp(steps * np.log1p(np.fft.rfft(one) - one.sum() - lost)), n)
    return float(np.sum((loss > epsilon) * -np.expm1(np.minimum(epsilon - loss, 0.0)) * law)) + steps * lost


def test_many_steps_on_a_grid():
    """The grid is never below, and its error is of second order in the step."""
    q, steps, epsilon = 1e-7, 100_000, 1.5613591844e-4
    coarse, fine = (on_a_grid(q, 1.0, steps, epsilon, h) for h in (4e-9, 2e-9))
    lower, upper = PoissonGaussianLoss(q, 1.0).repeat(steps).log_delta_bounds(epsilon)
    assert lower <= np.log(fine) <= np.log(coarse) and upper - lower < 1e-8
    assert np.log(fine - (coarse - fine) / 3) == pytest.approx(upper, abs=2e-5)


@pytest.mark.parametrize(("q", "sigma", "steps", "delta"), [(1e-7, 1.0, 100_000, 1e-9), (1e-8, 2.0, 1_000_000, 1e-12),
                                                            (1e-5, 1.0, 100, 1e-17), (3e-8, 0.5, 141_000, 1e-6), (5e-5, 1.7, 9, 1e-12)])
def test_the_accountant_is_sharp_in_both_directions(q, sigma, steps, delta):
    """Some of these were off by factors of 4 to 8 and took ten seconds."""
    lower, upper = NumericalAccountant().add(PoissonGaussianLoss(q, 1 / sigma), steps).epsilon_bounds(delta)
    assert 0 < lower <= upper <= lower * (1 + 2e-8)
    for loss in (PoissonGaussianLoss(q, 1 / sigma).repeat(steps), PoissonGaussianLoss(q, 1 / sigma, "add").repeat(steps)):
        low, high = loss.epsilon_bounds(delta)
        assert 0 < low <= high <= low * (1 + 2e-8) and high <= upper * (1 + 1e-7)
        assert loss.log_delta_bounds(high)[1] <= np.log(delta) + 1e-6 and loss.log_delta_bounds(low)[0] >= np.log(delta) - 1e-6


def test_an_upper_bound_that_is_no_number_is_none():
    """At orders far out the nodes overflowed, and epsilon of 100 added records came out as 0."""
    loss = PoissonGaussianLoss(1e-5, 1.0, "add").repeat(100)
    lower, upper = loss.epsilon_bounds(1e-17)
    assert 5e-4 < lower <= upper < 6e-4 and loss.log_delta_bounds(0.9 * lower)[0] > np.log(1e-17)


@pytest.mark.parametrize("values", [(np.nan, np.nan), (-3e-20, -1e-20), (np.nan, 0.0)])
def test_a_reading_that_is_no_number_bounds_nothing(values, monkeypatch):
    made = Inversion([(PoissonGaussianLoss(0.01, 1.0), 100)])
    made.log_delta_bounds(0.5)
    monkeypatch.setattr(Inversion, "_reading", lambda *_: (*values, -3.0, -1.0))
    assert made.bounds(0.5)[:2] == (-np.inf, np.inf)


def test_total_variation_is_that_of_the_swapped_pair():
    loss = PoissonGaussianLoss(1e-7, 1 / 2.7).repeat(40_000)
    assert loss.log_delta_bounds(0.0) == pytest.approx(loss.swapped.log_delta_bounds(0.0), abs=1e-9)
    assert loss.epsilon_bounds(np.exp(loss.log_delta_bounds(0.0)[1]) * (1 + 1e-6)) == (0.0, 0.0)


def test_a_tail_after_an_epsilon():
    loss = PoissonGaussianLoss(1e-5, 2.0).repeat(1000)
    first = loss.tail(0.4)
    loss.epsilon(1e-8)
    assert loss.tail(0.4) == pytest.approx(first, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 0.03])
def test_two_kinds_of_steps_and_another_loss(epsilon):
    """Jumps of either kind on one line, against the plain contour."""
    parts = [(PoissonGaussianLoss(1e-3, 1.0), 40), (PoissonGaussianLoss(3e-3, 0.7), 30), (GaussianLoss(0.01), 1)]
    plain, rare = Inversion(parts).log_delta_bounds(epsilon), rare_log_delta_bounds(parts, epsilon)
    assert plain[0] <= rare[1] and rare[0] <= plain[1] and rare[1] - rare[0] < 1e-6


def test_epsilon_of_parts_behind_the_wall():
    parts = [(PoissonGaussianLoss(1e-5, 1.0), 50), (PoissonGaussianLoss(1e-6, 2.0), 100)]
    lower, upper = rare_epsilon_bounds(parts, np.log(1e-12), 5.0)
    assert 0 < lower <= upper <= lower * (1 + 1e-7)
    assert rare_log_delta_bounds(parts, upper)[1] <= np.log(1e-12) + 1e-6


def test_jumps_are_what_is_left_of_a_power():
    """M, its error and the bound beyond, against a direct sum; few jumps are right to their own size."""
    from scipy.special import log_ndtr

    from dpnotes.privacy_loss._sampled_moments import log_mixture

    loss, k, step = PoissonGaussianLoss(1e-4, 1.0), 50, (5.0, 0.2)
    made = _Jumps([(Kept(loss, (1, *step)), Kept(loss, (-1, *step), (1, 9.0, 0.1)), k)])
    x = np.linspace(-12, 11, 400_001)
    l = log_mixture(x, loss.q, loss.mu)
    weight = np.exp(-x * x / 2 + l) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    small = weight * np.exp(log_ndtr((step[0] - x) / step[1]))
    jump = weight * np.exp(log_ndtr((x - step[0]) / step[1]) + log_ndtr((9.0 - x) / 0.1))
    z = 20.0 + 1j * 500.0 * np.arange(12)
    s, j = (np.array([np.sum(part * np.exp(t * l)) for t in z]) for part in (small, jump))
    exact = s**k * np.expm1(k * np.log1p(j / s))
    value, error = made._on_line(z)
    assert np.abs(np.exp(value) - exact).max() < 1e-9 * exact[0].real and (error * np.abs(exact)).max() < 1e-9 * exact[0].real
    assert np.abs(j[0]) < 1e-4 and made._cumulant(np.array([20.0]))[0] == pytest.approx(np.log(exact[0].real), abs=1e-9)
    bound = made._modulus(20.0, z.imag[1:])
    largest = np.maximum.accumulate(np.log(np.abs(exact))[::-1])[::-1]
    assert np.all(largest[1:] <= bound + 1e-9) and bound[-1] < bound[0] - 1


def test_overlap_by_samples():
    """P[small and flagged] below its bound, where the steps are close enough for samples to see it."""
    loss, rng = PoissonGaussianLoss(0.2, 1.0), np.random.default_rng(5)
    x = rng.standard_normal(2_000_000)
    x += loss.mu * (rng.random(len(x)) < loss.q)
    from scipy.special import ndtr

    mean = np.mean(ndtr((1.5 - x) / 0.5) * ndtr((x - 2.5) / 0.3))
    bound = np.exp(_log_overlap(loss, 1.5, 0.5, 2.5, 0.3))
    assert mean < bound < 100 * mean
    assert _log_overlap(loss, 2.5, 0.5, 1.5, 0.3) == np.inf  # not apart


def test_a_reading_holds_away_from_where_it_was_made():
    loss = PoissonGaussianLoss(1e-5, 1.0)
    reading = _Reading([(loss, 100)], 0.02, -37.0)
    assert reading.jumpless is not None
    for epsilon in (1e-3, 0.01, 0.018, 0.022, 0.05, 0.3):
        near, far = loss.repeat(100).log_delta_bounds(epsilon), reading.bounds(epsilon)
        assert far[0] <= near[1] and near[0] <= far[1]


@pytest.mark.parametrize(("q", "mu", "c"), [(1e-4, 1 / 0.6, 3.4), (0.01, 1.0, 8.0), (0.01, 1.0, 6.7), (0.004, 0.9, 6.7)])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_the_variance_bounds_the_modulus_near_the_axis(q, mu, c, direction):
    """For all larger y, at no point below |M|; without the fourth moments or the drop of rare losses it is."""
    loss = PoissonGaussianLoss(q, mu, direction)
    orders = loss._at(c, 100.0).ready()
    y = np.geomspace(0.05, 100.0, 300)
    size = loss.log_mgf(c + 1j * y).real
    largest = np.maximum.accumulate(size[::-1])[::-1]
    bound = orders.log_modulus_near(y)
    assert np.all(largest <= bound + 1e-13) and np.all(np.diff(bound) <= 0)
    fall, bounded = orders.level - size, orders.level - bound
    near = (y < 0.5) & (fall > 1e-9)
    assert np.all(bounded[near] >= 0.15 * fall[near])  # it is of use


def test_the_accountant_is_sharp_behind_the_wall():
    ledger = NumericalAccountant().add(PoissonGaussianLoss(1e-5, 1.0), 1000)
    lower, upper = ledger.delta_bounds(0.01)
    assert 0 < lower <= upper <= lower * (1 + 1e-6)


@pytest.mark.parametrize(("q", "mu", "c", "reach"), [(0.01, 1.0, 6.7, 3.0), (1e-4, 1 / 0.6, 3.4, 60.0), (0.004, 0.9, 6.7, 8.0)])
def test_what_is_carried_back_from_the_shifts_is_a_bound(q, mu, c, reach):
    """1 - cos(n u) <= n**2 (1 - cos u): without the square it is none."""
    loss = PoissonGaussianLoss(q, mu)
    orders = loss._at(c, reach).ready()
    y = np.geomspace(orders.y, 20 * orders.y, 200)
    assert np.max(loss.log_mgf(c + 1j * y).real) - orders.level <= orders.log_carried() < 0


def test_the_sampling_rate_of_a_promise_behind_the_wall():
    """On its way the search reads delta down to e**-1000, where a smoothed line once gave a lower bound of infinity."""
    from dpnotes.accountants import q_for

    q = q_for(1e-4, 1e-12, sigma=2.0, times=10**6)
    lower, upper = PoissonGaussianLoss(q, 0.5).repeat(10**6).log_delta_bounds(1e-4)
    assert np.log(1e-12) - 1e-7 < lower <= upper <= np.log(1e-12)
    lower, upper = PoissonGaussianLoss(1.3e-14, 0.5).repeat(10**6).log_delta_bounds(1e-4)
    assert lower <= -1000 and lower <= upper < -700
