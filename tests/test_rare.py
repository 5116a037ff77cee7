"""Behind a wall of rare large losses: brackets against mpmath and against the plain contour, their widths, and each bound in them."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpnotes.accountants import NumericalAccountant
from dpnotes.privacy_loss import GaussianLoss, PoissonGaussianLoss, _rare
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._rare import _Flags, _Kept, _KeptOrders, rare_log_delta_bounds, solve_epsilon

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
    assert loss.log_delta_bounds(upper)[1] <= np.log(1e-5) + 1e-12 and loss.log_delta_bounds(lower)[0] >= np.log(1e-5) - 1e-12


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
    kept = _KeptOrders(loss.q, loss.mu, 1e-9, 0.0, ((1, place, width),)).ready()
    one = _Flags([(loss, 1)], 0.4)
    assert np.exp(kept.level) == pytest.approx(1 - one.gap - one.q_flag, rel=1e-9)


@pytest.mark.parametrize("steps", [((1, 3.0, 0.1),), ((-1, 2.0, 0.2), (1, 3.0, 0.1)), ((1, 2.0, 0.2), (1, 3.0, 0.1))])
def test_moments_and_modulus_of_kept_parts(steps):
    """Against a plain sum over a fine grid of outputs; the bound on |M| holds for all larger y."""
    from scipy.special import log_ndtr

    loss = PoissonGaussianLoss(0.01, 1.0)
    kept = _Kept(loss, steps)
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
    def bounds(epsilon):
        exact = GaussianLoss(1.0).log_delta(epsilon)
        return exact - 1e-4, exact + 1e-4

    lower, upper = solve_epsilon(bounds, np.log(1e-5), 9.0)
    exact = GaussianLoss(1.0).epsilon(1e-5)
    assert lower < exact < upper < lower * (1 + 1e-3)


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
