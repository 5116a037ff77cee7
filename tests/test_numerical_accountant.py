"""The numerical accountant: the cases from public bug reports, the properties every ledger has, calibration."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpnotes.accountants import NumericalAccountant, RenyiAccountant, q_for, sigma_for, times_for
from dpnotes.accountants._numerical import _worst_epsilon
from dpnotes.mechanisms import Gaussian
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss, PoissonGaussianLoss, PrivacyLoss
from dpnotes.privacy_loss._sums import proved_below

DATA = Path(__file__).parent / "data"
TRUTHS = json.loads((DATA / "accounting_truths.json").read_text(encoding="utf-8"))
CASES = {
    case["id"]: {row["quantity"]: row.get("value") for row in case["values"]}
    for case in json.loads((DATA / "numerical_cases.json").read_text(encoding="utf-8"))["cases"]
}


class Stub:
    """Stands for a mechanism: the accountants take anything with these two attributes."""

    def __init__(self, losses, neighbors="add/remove one record"):
        self.losses, self.neighbors = losses, neighbors

    def privacy_losses(self):
        return self.losses


def sampled(q, sigma):
    return Stub({d: PoissonGaussianLoss(q, 1 / sigma, d) for d in ("remove", "add")})


def ledger(*entries):
    made = NumericalAccountant()
    for mechanism, times in entries:
        made.add(mechanism, times)
    return made


@pytest.mark.parametrize(
    "task, q, sigma, steps",
    [("d_mnist", 256 / 60000, 1.1, 14062), ("f_tinyq", 1e-4, 0.6, 100_000), ("o1_deep12", 0.01, 1.0, 1000)],
)
def test_truths(task, q, sigma, steps):
    made = ledger((sampled(q, sigma), steps))
    lower, upper = made.epsilon_bounds(TRUTHS[task]["delta"])
    truth = float(TRUTHS[task]["eps"])
    assert lower <= truth <= upper == made.epsilon(TRUTHS[task]["delta"]) and upper - lower <= 1e-9 * upper


@pytest.mark.parametrize(
    "q, sigma, steps, delta, exact, tolerance",
    [
        (1024 / 50000, 1.54, 1464, 1e-5, CASES["A05"]["exact eps (PLD)"], 1e-3),
        (1.0, 2.0, 1, 1e-5, CASES["A02"]["exact eps"], 1e-10),
        (0.2, 3.0, 50, 1 / 48000, CASES["A09"]["exact eps (PLD)"], 1e-3),
        (0.2, 1.0, 10, 1e-5, CASES["A11"]["eps T=10"], 2e-3),
        (0.2, 1.0, 500, 1e-5, CASES["A11"]["eps T=500"], 3e-2),
        (0.08, 1.0, 100, 1e-5, CASES["A20"]["eps at q=0.08 (right)"], 1e-3),
        (0.01, 1.0, 100, 1e-5, CASES["A20"]["eps at q=0.01 (wrong)"], 1e-3),
        (0.01, 2.0, 1000, 1e-5, CASES["A21"]["exact eps delta=1e-5"], 1e-3),
        (250 / 60000, 1.1, 480, 1e-5, CASES["A22"]["exact eps"], 1e-3),
        (0.01, 4.0, 10_000, 1e-5, CASES["A23"]["exact T=10000"], 2e-3),
        (0.01, 4.0, 40_000, 1e-5, CASES["A23"]["exact T=40000"], 4e-3),
    ],
)
def test_cases(q, sigma, steps, delta, exact, tolerance):
    lower, upper = ledger((sampled(q, sigma), steps)).epsilon_bounds(delta)
    assert lower == pytest.approx(exact, abs=tolerance) and 0 <= upper - lower <= 1e-8 * upper


def test_case_a01_total_variation_below_delta():
    made = ledger((sampled(0.00105, 1.0), 1))
    assert made.epsilon_bounds(1e-3) == (0.0, 0.0)
    assert made.epsilon(1e-4) == pytest.approx(0.00240434001637, rel=1e-9)


def test_case_a09_the_clt_is_below():
    assert CASES["A09"]["CLT GDP eps (approximation)"] < ledger((sampled(0.2, 3.0), 50)).epsilon_bounds(1 / 48000)[0]


def test_case_a10_delta_below_float_noise():
    lower, upper = ledger((sampled(0.00033, 4.0), 10_000)).epsilon_bounds(1.1e-18)
    assert 0.0572 <= lower <= upper <= 0.0773 and upper - lower < 1e-4


def test_case_a16_pure_composition():
    def response(e):
        return DiscreteLoss.from_log_masses([e, -e], [-np.logaddexp(0, -e), -np.logaddexp(0, e)])

    assert ledger((response(1.0), 500)).epsilon(1e-5) == pytest.approx(CASES["A16"]["exact optimum k=500"], rel=1e-11)
    assert ledger((response(0.1), 100)).epsilon(1e-5) == pytest.approx(CASES["A16"]["k=100 eps=0.1 exact"], rel=1e-10)


def test_case_a25_limits():
    assert ledger().epsilon(1e-5) == 0.0 and ledger((sampled(0.1, 1.0), 0)).epsilon(0.0) == 0.0
    assert ledger((GaussianLoss(np.inf), 1)).epsilon(1e-5) == np.inf
    assert ledger((GaussianLoss(1.0), 1)).epsilon(0.0) == np.inf and ledger((GaussianLoss(1.0), 1)).epsilon(1.0) == 0.0
    assert (
        ledger((sampled(0.1, 1.0), 3)).epsilon_bounds(1.0) == (0.0, 0.0) and ledger((sampled(0.1, 1.0), 3)).epsilon(0.0) == np.inf
    )
    assert ledger((LaplaceLoss(0.5), 40)).epsilon(0.0) == pytest.approx(20.0)
    for bad in (1.5, -1e-9, np.nan, "x"):
        with pytest.raises(ValueError, match="delta"):
            ledger((GaussianLoss(1.0), 1)).epsilon(bad)
    for bad in (-1, 2.0, True):
        with pytest.raises(ValueError, match="times"):
            NumericalAccountant().add(GaussianLoss(1.0), bad)


def test_case_a30_mixed_history_in_any_order():
    one = ledger((GaussianLoss(1 / 3), 4), (GaussianLoss(1.0), 2))
    other = ledger((GaussianLoss(1.0), 1), (GaussianLoss(1 / 3), 4), (GaussianLoss(1.0), 1))
    assert one.privacy_losses()["either"].mu == pytest.approx(CASES["A30"]["mu total"], rel=1e-11)
    assert one.epsilon(1e-5) == pytest.approx(CASES["A30"]["eps"], rel=1e-11)
    assert one.epsilon(1e-5) == pytest.approx(other.epsilon(1e-5), rel=1e-14)


def test_directions_are_composed_apart():
    """A record removed is removed from every step: the larger is taken at the end, not step by step."""
    skew = DiscreteLoss.from_probabilities([0.7, 0.3], [0.5, 0.5])
    made = ledger((Stub({"remove": skew, "add": skew.swapped}), 3), (Stub({"remove": skew.swapped, "add": skew}), 3))
    exact = max((skew.repeat(3) + skew.swapped.repeat(3)).delta(0.5), (skew.swapped.repeat(3) + skew.repeat(3)).delta(0.5))
    assert made.delta(0.5) == pytest.approx(exact, rel=1e-12)
    both = ledger((sampled(0.01, 1.0), 1000), (GaussianLoss(0.1), 5))
    apart = [
        (PoissonGaussianLoss(0.01, 1.0, d).repeat(1000) + GaussianLoss(0.1).repeat(5)).epsilon(1e-6) for d in ("remove", "add")
    ]
    assert both.epsilon(1e-6) == max(apart) == apart[0] > apart[1]


def test_a_bare_loss_brings_its_swap():
    pair = DiscreteLoss.from_probabilities([0.05, 0.40, 0.55], [0.0, 0.20, 0.80])
    for entered in (pair, pair.swapped):
        assert ledger((entered, 1)).delta(0.0) >= max(pair.delta(0.0), pair.swapped.delta(0.0))
    assert set(ledger((PoissonGaussianLoss(0.1, 1.0, "add"), 2)).privacy_losses()) == {"remove", "add"}


def test_what_does_not_compose_raises():
    made = ledger((sampled(0.1, 1.0), 1))
    with pytest.raises(ValueError, match="neighbors"):
        made.add(Stub({"either": GaussianLoss(1.0)}, neighbors="replace one record"))
    with pytest.raises(ValueError, match="directions"):
        made.add(Stub({"up": LaplaceLoss(1.0), "down": LaplaceLoss(1.0)}))
    with pytest.raises(ValueError, match="privacy_losses"):
        made.add(0.5)
    assert len(made.history) == 1


def test_properties_of_a_ledger():
    entries = [(sampled(0.05, 1.2), 60), (LaplaceLoss(0.1), 7), (GaussianLoss(0.3), 2)]
    made, turned = ledger(*entries), ledger(*reversed(entries))
    epsilon = made.epsilon(1e-6)
    assert turned.epsilon(1e-6) == pytest.approx(epsilon, rel=1e-11)
    assert made.epsilon(1e-7) > epsilon > made.epsilon(1e-5)
    low, high = made.delta_bounds(epsilon)
    assert low <= 1e-6 * (1 + 1e-9) and high >= low and high == made.delta(epsilon)
    assert made.epsilon(np.array([1e-7, 1e-5])).shape == (2,)
    assert ledger(*entries, (GaussianLoss(0.0), 5)).epsilon(1e-6) == epsilon  # a loss of nothing costs nothing
    assert ledger(*entries, (GaussianLoss(0.1), 1)).epsilon(1e-6) > epsilon


def test_statement():
    text = ledger((sampled(256 / 60000, 1.1), 14062)).statement(delta=1e-5)
    assert text.startswith("(2.3816, 1e-05)-DP, add/remove one record, upper bound, within ")
    assert float(text.split("within ")[1].split()[0]) < 1e-9


def test_a_statement_from_losses_that_are_bounds_claims_no_exact_value():
    fixed = Gaussian(1.1, 2.0, neighbors="replace one record").sampled_without_replacement(256, 60_000)  # chords
    text = ledger((fixed, 1), (Gaussian(4.0, neighbors="replace one record"), 2)).statement(delta=1e-5)
    assert text.endswith("upper bound, from losses that are upper bounds themselves") and "exact" not in text
    assert "exact" in ledger((Gaussian(4.0), 2)).statement(delta=1e-5)


@pytest.mark.parametrize("places", [[0, 10, 99]])
def test_curve_over_steps(places):
    steps = [TRUTHS["m_curve"]["Ts"][i] for i in places]
    lower, upper = ledger((sampled(0.01, 1.0), 1)).epsilon_curve(steps, delta=1e-5)
    truth = np.array([float(TRUTHS["m_curve"]["eps"][i]) for i in places])
    assert np.all(lower <= truth) and np.all(truth <= upper) and np.all(upper - lower <= 1e-9 * upper)


@pytest.mark.parametrize("epsilon", [1, 20, 50])
def test_case_a07_calibration_keeps_its_promise(epsilon):
    sigma = sigma_for(epsilon, 1e-5)
    exact = CASES["A07"][f"sigma for eps={epsilon}"]
    assert GaussianLoss(1 / sigma).epsilon(1e-5) <= epsilon * (1 + 1e-13)
    assert exact * (1 - 1e-11) <= sigma <= exact * (1 + 1e-9)


def test_calibration_of_a_sampled_run():
    truth = float(TRUTHS["l_calib"]["sigma"])
    sigma = sigma_for(2.0, 1e-5, q=0.01, times=3000)
    assert truth * (1 - 1e-12) <= sigma <= truth * (1 + 1e-9)
    assert ledger((sampled(0.01, sigma), 3000)).log_delta_bounds(2.0)[1] <= np.log(1e-5)
    assert q_for(2.0, 1e-5, sigma=sigma, times=3000) == pytest.approx(0.01, rel=1e-9)
    assert q_for(2.0, 1e-5, sigma=sigma, times=3000) <= 0.01 * (1 + 1e-12)
    assert times_for(2.0, 1e-5, sampled(0.01, sigma * (1 + 1e-7)), most=10_000) == 3000


def test_calibration_limits():
    assert sigma_for(1.0, 1e-5, sensitivity=2.0) == pytest.approx(2 * sigma_for(1.0, 1e-5), rel=1e-9)
    assert sigma_for(0.0, 1e-6) == pytest.approx(CASES["A15"]["sigma(eps=0, delta=1e-6)"], rel=1e-9)
    assert sigma_for(1.0, 1e-5, times=0) == 0.0 and sigma_for(1.0, 1e-5, q=0.0) == 0.0
    assert q_for(100.0, 1e-5, sigma=5.0) == 1.0
    assert times_for(1.0, 1e-5, GaussianLoss(50.0)) == 0
    for arguments in [(-1.0, 1e-5), (np.inf, 1e-5), (1.0, 0.0), (1.0, 1.0), (np.nan, 0.5)]:
        with pytest.raises(ValueError, match="not allowed"):
            sigma_for(*arguments)


@pytest.mark.parametrize(("q", "sigma", "times", "delta"), [(0.004, 1.1, 14062, 1e-5), (0.01, 1.0, 100, 1e-5), (0.3, 2.0, 50, 1e-9)])
def test_the_larger_direction_counts_whichever_is_read_first(q, sigma, times, delta):
    remove, add = (PoissonGaussianLoss(q, 1 / sigma, direction).repeat(times) for direction in ("remove", "add"))
    bounds = [loss.epsilon_bounds(delta) for loss in (remove, add)]
    largest = max(low for low, _ in bounds), max(high for _, high in bounds)
    assert largest[0] == pytest.approx(bounds[0][0], rel=1e-12)  # here it is removal
    for order in ([remove, add], [add, remove]):
        assert _worst_epsilon(order, delta) == pytest.approx(largest, rel=1e-12)
    # at its own epsilon nothing is proved below delta, a little farther the smaller direction is
    assert not proved_below(remove, add, bounds[1][0], np.log(delta))
    assert not proved_below(add, remove, bounds[1][0] * (1 - 1e-6), np.log(delta))
    assert proved_below(add, remove, bounds[0][0], np.log(delta))


@pytest.mark.parametrize(("sigma", "q", "steps", "delta"), [
    (1.0, 1e-6, 1000, 1e-5), (1.0, 1e-6, 1000, 1e-100), (100.0, 1e-3, 1000, 1e-300), (0.5, 1e-5, 1000, 1e-6), (0.3, 1e-6, 1000, 1e-5)])
def test_behind_a_wall_of_rare_losses_the_upper_bound_is_never_above_the_renyi_route(sigma, q, steps, delta):
    """A fresh user's findings: there the inversion alone was up to ten thousand times above it, or raised."""
    parts = [(PoissonGaussianLoss(q, 1 / sigma, "remove"), steps)]
    numerical, renyi = NumericalAccountant(), RenyiAccountant()
    for loss, times in parts:
        numerical.add(loss, times)
        renyi.add(loss, times)
    lower, upper = numerical.epsilon_bounds(delta)
    assert lower <= upper <= renyi.epsilon(delta) * (1 + 1e-8)
    assert numerical.delta_bounds(upper)[0] <= delta


def test_where_total_variation_is_within_delta_epsilon_is_zero():
    ledger = NumericalAccountant().add(PoissonGaussianLoss(1e-6, 1 / 0.3, "remove"), 1000)
    assert ledger.epsilon_bounds(0.1) == (0.0, 0.0)


class WithoutErrorBound(LaplaceLoss):
    """A loss as a reader might write one: real moments, but no error bound for complex ones."""

    _on_line = PrivacyLoss._on_line


def test_a_loss_without_error_bounds_falls_back_on_its_orders():
    """Basic readings of the sum raise with the reason; the accountant answers by Rényi, above the exact value, and says so."""
    own = WithoutErrorBound(0.1)
    with pytest.raises(ValueError, match="WithoutErrorBound has no error bound for its complex moments"):
        (own + GaussianLoss(1.0)).epsilon_bounds(1e-6)
    made, exact = ledger((own, 1000)), ledger((LaplaceLoss(0.1), 1000)).epsilon(1e-6)
    lower, upper = made.epsilon_bounds(1e-6)
    assert 0 <= lower <= exact < upper <= RenyiAccountant().add(LaplaceLoss(0.1), 1000).epsilon(1e-6) * (1 + 1e-6)
    assert "may be loose" in made.statement(delta=1e-6)
    low, high = made.delta_bounds(19.0)
    assert low <= ledger((LaplaceLoss(0.1), 1000)).delta_bounds(19.0)[0] and 0 < high < 1e-3
    assert made.epsilon_bounds(1.0) == (0.0, 0.0) and made.epsilon(0.0) == pytest.approx(100.0)
    assert ledger((own, 2)).epsilon_bounds(0.2) == (0.0, 0.0)  # above the sum of total variations, 0.0975
