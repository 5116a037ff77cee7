"""The certified contour: brackets contain independently computed truths, and are as narrow as promised."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss, PoissonGaussianLoss, independent_sum
from dpnotes.privacy_loss._inversion import Inversion
from dpnotes.privacy_loss._special import turns
from dpnotes.privacy_loss._transform import log_chernoff, moments_from_delta

DATA = Path(__file__).parent / "data"
TRUTHS = json.loads((DATA / "accounting_truths.json").read_text(encoding="utf-8"))
SUMS = json.loads((DATA / "sum_truths.json").read_text(encoding="utf-8"))["truths"]


def response(epsilon):
    """Binary randomized response, from its losses."""
    return DiscreteLoss.from_log_masses([epsilon, -epsilon], [-np.logaddexp(0, -epsilon), -np.logaddexp(0, epsilon)])


def build(parts):
    kinds = {"sampled": PoissonGaussianLoss, "gaussian": GaussianLoss, "laplace": LaplaceLoss, "response": response}
    return independent_sum([(kinds[kind](*arguments), k) for kind, arguments, k in parts])


SAMPLED = {
    "d_mnist": (256 / 60000, 1.1, 14062, 1e-5),
    "f_tinyq": (1e-4, 0.6, 100_000, 1e-6),
    "o1_deep12": (0.01, 1.0, 1000, 1e-12),
}


@pytest.mark.parametrize("task", SAMPLED)
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_truths_of_sampled_tasks(task, direction):
    q, sigma, steps, delta = SAMPLED[task]
    truth = float(TRUTHS[task]["directions"][direction])
    lower, upper = PoissonGaussianLoss(q, 1 / sigma, direction).repeat(steps).epsilon_bounds(delta)
    assert lower <= truth * (1 + 1e-13) and truth * (1 - 1e-13) <= upper
    assert upper - lower <= 1e-9 * upper


def test_truths_of_gaussian_and_laplace_tasks():
    for task, loss in [
        ("a1_gauss_s1", GaussianLoss(1.0)),
        ("b_gauss20_s2", GaussianLoss(0.5).repeat(20)),
        ("h1_gauss_s100", GaussianLoss(0.01).repeat(10)),
        ("i_lap1000", LaplaceLoss(0.1).repeat(1000)),
    ]:
        lower, upper = loss.epsilon_bounds(TRUTHS[task]["delta"])
        truth = float(TRUTHS[task]["eps"])
        assert lower <= truth * (1 + 1e-15) and truth * (1 - 1e-15) <= upper and upper - lower <= 1e-9 * upper, task


@pytest.mark.parametrize("place", [0, 4, 9, 49, 99])
def test_truths_of_the_curve(place):
    steps, truth = TRUTHS["m_curve"]["Ts"][place], float(TRUTHS["m_curve"]["eps"][place])
    lower, upper = PoissonGaussianLoss(0.01, 1.0).repeat(steps).epsilon_bounds(1e-5)
    assert lower <= truth <= upper and upper - lower <= 1e-9 * upper


@pytest.mark.parametrize("task", range(len(SUMS)))
def test_random_tasks_bracket_the_mpmath_truth(task):
    """No violation is allowed; 1e-11 is the reference's own relative error in delta."""
    task = SUMS[task]
    loss, truth = build(task["parts"]), float(task["log_delta"])
    lower, upper = loss.log_delta_bounds(task["epsilon"])
    assert lower <= truth + 2e-11 and truth - 2e-11 <= upper
    if truth < -1e-9:
        low, high = loss.epsilon_bounds(np.exp(truth))
        near = 1e-9 * (1 + task["epsilon"]) if lower == upper else 0.0
        assert low <= task["epsilon"] * (1 + 1e-9) + near and task["epsilon"] * (1 - 1e-9) <= high + near


def test_some_truths_derived_anew():
    """The stored file is what its script says: one quick task of each route, worked out again."""
    pytest.importorskip("mpmath")
    import slow_reference

    with slow_reference.mp.workdps(34):
        for route in ("closed", "laplace", "response", "mixed", "contour"):
            few = [task for task in SUMS if task["route"] == route and all(k < 3000 for *_, k in task["parts"])]
            for task in few[:2]:
                assert float(slow_reference.truth(task)) == pytest.approx(float(task["log_delta"]), rel=1e-11)


def test_there_are_enough_truths():
    assert len(SUMS) >= 200 and {task["route"] for task in SUMS} == {"closed", "two", "laplace", "response", "mixed", "contour"}


@pytest.mark.parametrize(
    "q, sigma, steps, delta, truth, tolerance",
    [
        (0.01, 1.0, 1000, 1e-15, 4.854538, 1e-6),  # a peer: 10.589, another inf, a third an error
        (1e-5, 1.0, 10**6, 1e-7, 0.052546, 1e-6),  # peers: 0.117
        (1e-3, 1.0, 10**6, 1e-6, 6.694273, 1e-6),  # a peer: out of memory
        (1e-3, 2.0, 100, 1e-6, 0.018916, 1e-6),  # peers: 0.164 and 0.029
        (0.01, 1.0, 2, 1e-5, 0.245465976, 1e-9),  # few steps: the plain contour gave 0.24400
        (0.2, 0.5, 1000, 1e-5, 281.97, 1e-2),  # a peer: error after 17 s
    ],
)
def test_where_peers_fail(q, sigma, steps, delta, truth, tolerance):
    """accounting.md, section 6; the tolerance is the last digit printed there."""
    lower, upper = PoissonGaussianLoss(q, 1 / sigma).repeat(steps).epsilon_bounds(delta)
    assert lower - tolerance <= truth <= upper + tolerance
    assert upper - lower <= 1e-6 * upper


def test_gaussian_peers_failures():
    for mu, k, delta, truth in [
        (0.5, 20, 1e-15, 19.8314),
        (0.5, 20, 1e-16, 20.4662),
        (50.0, 1, 1e-5, 1462.285),
        (200.0, 1, 1e-5, 20851.99),
        (1e-4, 10**6, 1e-6, 0.396857),
        (1.0, 10, 1e-5, 17.856586830),
    ]:
        lower, upper = GaussianLoss(mu).repeat(k).epsilon_bounds(delta)
        assert lower == pytest.approx(truth, rel=3e-6) and upper - lower < 1e-9 * upper
    assert GaussianLoss(0.5).repeat(20).delta(60.0) == pytest.approx(3.19e-147, rel=2e-3)


@pytest.mark.parametrize("delta", [1e-30, 1e-100, 1e-300])
def test_deep_deltas(delta):
    loss = PoissonGaussianLoss(0.01, 1.0).repeat(1000)
    lower, upper = loss.epsilon_bounds(delta)
    assert 0 < lower <= upper <= lower * (1 + 1e-8)
    low, high = loss.log_delta_bounds(upper)
    assert low <= np.log(delta) + 1e-9 and high == pytest.approx(np.log(delta), abs=1e-7)


def test_a_gaussian_through_the_contour_equals_the_closed_form():
    for mu, k, delta in [(0.5, 20, 1e-5), (0.01, 10, 1e-5), (3.0, 1, 1e-8), (1.0, 4, 1e-200)]:
        exact = GaussianLoss(mu * k**0.5).epsilon(delta)
        lower, upper = Inversion([(GaussianLoss(mu), k)]).epsilon_bounds(np.log(delta), 1e-15)
        assert lower <= exact * (1 + 1e-14) and exact * (1 - 1e-14) <= upper and upper - lower < 1e-9 * upper


def test_smoothing_keeps_the_bracket_for_atoms():
    """Randomized response through the contour (its own route is the binomial sum): |M| never falls, so a Gaussian is added."""
    for e, k, epsilon in [(0.5, 10, 2.0), (1.0, 3, 0.5), (0.1, 100, 1.03)]:
        inversion = Inversion([(response(e), k)])
        lower, upper = inversion.log_delta_bounds(epsilon)
        exact = response(e).repeat(k).log_delta(epsilon)
        assert inversion.line.smoothing > 0
        assert lower <= exact <= upper and upper - lower < 1e-2


def test_chernoff_constant_is_a_bound():
    losses, t = np.geomspace(1e-4, 30, 3000), np.array([0.01, 0.3, 1.0, 7.0, 300.0])[:, None]
    with np.errstate(divide="ignore"):
        height = np.log(-np.expm1(-losses)) - t * losses
    assert np.all(height <= log_chernoff(t) + 1e-12)
    assert np.all(np.max(height, axis=1) > log_chernoff(t[:, 0]) - 1e-2)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_two_routes_to_the_moments_agree_within_their_bounds(direction):
    loss = PoissonGaussianLoss(0.01, 1.0, direction)
    z = 5 + 0.6j * np.arange(201)
    direct, direct_error = loss._on_line(z)
    transformed, error = moments_from_delta(loss, z)
    gap = np.abs(np.exp(transformed - direct) - 1)
    assert np.all(gap <= error + direct_error) and gap.max() < 1e-11
    assert np.all(direct.real <= loss._modulus(5.0, z.imag[1:2])[0] + 1e-9) or direct.real[0] > direct.real[1:].max()


def test_modulus_bound_holds_and_falls():
    for loss in (PoissonGaussianLoss(0.01, 1.0), PoissonGaussianLoss(0.3, 2.0, "add"), LaplaceLoss(1.0), GaussianLoss(0.7)):
        y = np.linspace(0.5, 60, 120)
        bound = loss._modulus(2.0, y)
        assert np.all(loss.log_mgf(2.0 + 1j * y).real <= bound + 1e-12)
        assert np.all(np.diff(bound) <= 1e-9)


@pytest.mark.parametrize("sharp", [1e-1, 1e-3, 1e-6])
def test_the_bracket_holds_where_the_errors_are_large(sharp, monkeypatch):
    """With a short period and few nodes the excess and the rest are no longer negligible: the bounds must carry them."""
    from dpnotes.privacy_loss import _inversion

    monkeypatch.setattr(_inversion, "SHARPEST", sharp)
    monkeypatch.setattr(_inversion, "COUNTS", np.arange(2.0, 400))
    widths = []
    for parts, exact in [([(GaussianLoss(0.5), 20)], GaussianLoss(0.5 * 20**0.5)), ([(GaussianLoss(1.0), 3)], GaussianLoss(3**0.5))]:
        for epsilon in (1.0, 4.0, 12.0):
            lower, upper = Inversion(parts).log_delta_bounds(epsilon)
            assert lower <= exact.log_delta(epsilon) <= upper
            widths.append(upper - lower)
    assert max(widths) > sharp / 100
    for direction in ("remove", "add"):
        loss = PoissonGaussianLoss(256 / 60000, 1 / 1.1, direction).repeat(14062)
        low, high = loss.epsilon_bounds(1e-5)
        assert low <= float(TRUTHS["d_mnist"]["directions"][direction]) <= high


@pytest.mark.parametrize("count", [2, 4, 6, 8])
def test_the_rest_beyond_the_last_node_is_in_the_bracket(count):
    from dpnotes.privacy_loss._inversion import Line

    parts, exact, epsilon = [(GaussianLoss(0.5), 20)], GaussianLoss(0.5 * 20**0.5), 4.0
    inversion = Inversion(parts)
    inversion.log_delta_bounds(epsilon)
    whole = inversion.line
    few = Line(parts, whole.c, whole.period, count, 0.0)
    few.surround(whole.t, whole.k, float(inversion._modulus(whole.c, few.y[-1:])[0]))
    inversion.line = few
    total, error, _, factor = few.value(epsilon, 0.0)
    assert abs(total * np.exp(factor) - exact.delta(epsilon)) > 2 * error * np.exp(factor)  # there is something to bound
    lower, upper, _ = inversion.bounds(epsilon)
    assert lower <= exact.log_delta(epsilon) <= upper


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_what_folds_over_in_the_transform_is_in_its_bound(direction, monkeypatch):
    from dpnotes.privacy_loss import _transform

    monkeypatch.setattr(_transform, "FINEST", 1)
    loss = PoissonGaussianLoss(0.05, 1.0, direction)
    z = 5 + 0.6j * np.arange(33)
    direct, direct_error = loss._on_line(z)
    coarse, error = moments_from_delta(loss, z)
    gap = np.abs(np.exp(coarse - direct) - 1)
    assert np.all(gap <= error + direct_error) and gap.max() > 100 * direct_error.max()


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("q", "mu", "c", "step"), [(0.01, 1.0, 5.0, 0.4), (1e-4, 1.6, 3.4, 0.36), (0.5, 0.3, 40.0, 0.3)])
def test_sums_on_a_grid_are_those_of_the_slower_route(direction, q, mu, c, step):
    orders = PoissonGaussianLoss(q, mu, direction)._at(c, 60 * step).ready()
    slow, slow_error = orders.on_line(step * np.arange(60))
    quick, quick_error = orders.on_grid(step, 60)
    gap = np.abs(np.expm1(quick - slow))
    assert np.all(gap <= slow_error + quick_error) and np.all(quick_error < 10 * slow_error + 1e-13)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_tilted_samples_of_delta_are_within_their_bound(direction):
    """Against 400 binary digits, at random q and mu, close to the edge of the loss and far from it."""
    mp = pytest.importorskip("mpmath").mp
    rng, tightest = np.random.default_rng(20261130), 0.0
    with mp.workprec(400):
        for _ in range(40):
            q, mu = float(10 ** rng.uniform(-8, -1e-3)), float(10 ** rng.uniform(-3, 2.3))
            loss = PoissonGaussianLoss(q, mu, direction)
            low, high = max(loss.minimum, -50.0), min(loss.maximum, float(rng.uniform(0.1, 60)))
            share = np.concatenate([rng.uniform(0, 1, 6), 10 ** rng.uniform(-12, 0, 3), 1 - 10 ** rng.uniform(-12, 0, 3)])
            l = np.clip(np.sort(low + (high - low) * share), loss.minimum, loss.maximum)
            tilt = rng.uniform(0, 3) * (l - l[0])
            value, error = loss._tilted_delta(l, tilt)
            for x, t, v, e in zip(l.tolist(), tilt.tolist(), value.tolist(), error.tolist(), strict=True):
                true = mp.exp(mp.mpf(t)) * _sampled_hockey_stick(mp, mp.mpf(q), mp.mpf(mu), direction, mp.mpf(x))
                gap, allowed = abs(v - true), e + 2.0**-53 * (3 * t + 8) * abs(true) + mp.mpf(10) ** -300
                assert gap <= allowed, (q, mu, x)
                tightest = max(tightest, float(gap / allowed))
    assert tightest > 0.01  # the bound is about rounding, not about everything


def _sampled_hockey_stick(mp, q, mu, direction, l):
    """delta(l) of one sampled Gaussian step from its definition, by the output at which the loss is l."""
    below = mp.exp(l if direction == "remove" else -l) - 1 + q
    if below <= 0:  # outside the range of the loss
        return 1 - mp.exp(l) if direction == "remove" else mp.mpf(0)
    x = mp.log(below / q) / mu + mu / 2
    if direction == "remove":
        return q * mp.ncdf(mu - x) - below * mp.ncdf(-x)
    return (1 - (1 - q) * mp.exp(l)) * mp.ncdf(x) - q * mp.exp(l) * mp.ncdf(x - mu)


def test_turns_are_right_to_their_roundings():
    mp = pytest.importorskip("mpmath").mp
    rng = np.random.default_rng(7)
    angle = np.concatenate([rng.normal(size=200) * 10.0 ** rng.integers(-8, 5, 200), np.pi / 2 * np.arange(1, 60)])
    with mp.workprec(200):
        for a, turned in zip(angle.tolist(), turns(angle).tolist(), strict=True):
            true = mp.expm1(2j * mp.mpf(a))
            assert abs(mp.mpc(turned) - true) <= 12 * 2.0**-53 * abs(true)
