"""Budgets under full adaptivity: exact sums, and attacks that choose every step by what came before."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpnotes import conversions as cv
from dpnotes.accountants import BasicFilter, FullyAdaptiveFilter, Refused, RenyiFilter, ZCDPOdometer
from dpnotes.accountants._filters import exactly, zcdp_for
from dpnotes.mechanisms import Gaussian, Laplace


@pytest.mark.parametrize("shares", [2, 3, 7, 10, 11, 49, 97, 1000])
def test_equal_shares_fit_exactly(shares):
    """Case A32: all equal shares are accepted, the next small spend is not, and nothing is left."""
    for total in (1, 1.0, Fraction(1), Decimal("1")):
        budget = BasicFilter(total)
        for _ in range(shares):
            budget.spend(1 / shares)
        assert budget.remaining == 0
        assert not budget.can(1e-6)
        with pytest.raises(Refused, match="refused"):
            budget.spend(1e-6)
        assert budget.remaining == 0


def test_decimal_shares():
    budget = BasicFilter(0.3, 3e-6)
    for _ in range(3):
        budget.spend(0.1, 1e-6)
    assert (budget.remaining, budget.remaining_delta) == (0, 0)
    assert 0.1 + 0.1 + 0.1 > 0.3  # what floats would have said


def test_a_refusal_spends_nothing():
    budget = BasicFilter(1, 1e-6)
    with pytest.raises(Refused, match="delta"):
        budget.spend(0.5, 2e-6)
    assert (budget.remaining, budget.remaining_delta) == (1, Fraction(1, 10**6))


@given(st.fractions(min_value=0, max_value=1000, max_denominator=10**6))
def test_a_typed_fraction_is_read_back(fraction):
    assert exactly("epsilon", float(fraction)) == fraction


@given(st.floats(1e-300, 1e300))
def test_a_float_is_off_by_less_than_half_a_unit(number):
    assert float(exactly("epsilon", number)) == number
    assert abs(exactly("epsilon", number) - Fraction(number)) <= Fraction(np.spacing(number)) / 2


def test_arguments():
    for bad in (-0.1, np.nan, np.inf, "1", None, True, Fraction(-1, 2), [1, 2]):
        with pytest.raises(ValueError, match="is not allowed"):
            BasicFilter(bad)
        with pytest.raises(ValueError, match="is not allowed"):
            BasicFilter(1).spend(bad)
    for bad in (lambda: RenyiFilter(1.0, 1.0), lambda: RenyiFilter(np.nan, 1.0), lambda: FullyAdaptiveFilter(1.0, 0.0),
                lambda: FullyAdaptiveFilter(0.0, 1e-6), lambda: FullyAdaptiveFilter(1.0, 1e-6, leaks=1e-6),
                lambda: ZCDPOdometer(0.0, 1.0), lambda: ZCDPOdometer(1e-6, 0.0)):
        with pytest.raises(ValueError, match="is not allowed"):
            bad()


def test_renyi_filter():
    budget = RenyiFilter(alpha=8, budget=2)
    budget.run(Gaussian(sigma=2.0))  # 8 / 8 = 1
    budget.run(Gaussian(sigma=4.0), times=4)  # 4 times 8/32
    assert budget.remaining == 0
    with pytest.raises(Refused):
        budget.spend(1e-9)
    assert budget.epsilon(1e-6) == cv.rdp_to_epsilon(8, 2.0, 1e-6)
    assert RenyiFilter(np.inf, 1).remaining == 1
    pure = RenyiFilter(np.inf, 1)
    pure.run(Laplace(scale=2.0), times=2)
    assert pure.epsilon(0.0) == 1.0


def test_fully_adaptive_filter_accepts_what_the_half_square_rule_accepts():
    budget = FullyAdaptiveFilter(1.0, 1e-6)
    steps = 0
    while budget.can(0.01):
        budget.spend(0.01)
        steps += 1
    by_rule = next(n for n in range(1, 10_000)
                   if np.sqrt(2 * np.log(1e6) * n * 1e-4) + n * 1e-4 / 2 > 1.0) - 1
    assert by_rule < steps
    assert steps == int(zcdp_for(1.0, 1e-6) / (0.01 * np.tanh(0.005)))
    assert cv.zcdp_to_epsilon(steps * 0.01 * np.tanh(0.005), 1e-6, "cks") <= 1.0
    with pytest.raises(Refused):
        budget.spend(0.01)
    leaky = FullyAdaptiveFilter(1.0, 1e-6, leaks=2e-7)
    leaky.spend(0.01, 1e-7)
    leaky.spend(0.01, 1e-7)
    with pytest.raises(Refused, match="delta"):
        leaky.spend(0.01, 1e-9)
    assert leaky.rho == pytest.approx(zcdp_for(1.0, 8e-7))
    budget = FullyAdaptiveFilter(13.4, 1e-6)
    budget.spend_rho(2.5)
    assert budget.remaining == pytest.approx(budget.rho - 2.5)


def _adaptive_losses(rng, runs, can, spend, choose):
    """The total privacy loss of `runs` interactions with adaptively scaled Gaussian steps, until the budget refuses."""
    total = np.zeros(runs)
    for run in range(runs):
        state, loss = can(), 0.0
        while True:
            rho = choose(loss, state)
            if not spend(state, rho):
                break
            loss += rng.normal(rho, np.sqrt(2 * rho))  # the loss of Gaussian noise with that rho
        total[run] = loss
    return total


def test_an_adaptive_attack_stays_within_the_filter():
    """An analyst who doubles the stakes after large losses cannot beat the bound: P[L > epsilon] <= delta."""
    rho_total, delta, runs = 0.5, 0.05, 4000

    def spend(state, rho):
        if rho < 1e-3 or rho > state["left"]:
            return False
        state["left"] -= rho
        return True

    losses = _adaptive_losses(np.random.default_rng(7), runs, lambda: {"left": rho_total}, spend,
                              lambda loss, state: min(state["left"], 0.02 * 2 ** max(0, int(3 * loss))))
    epsilon = cv.zcdp_to_epsilon_bun_steinke(rho_total, delta)
    assert np.all(losses < 20)
    exceeded = np.mean(losses > epsilon)
    # the bound is 5 %; 4000 runs of a 5 % event exceed 5 % + 5 standard errors with probability 3e-7
    assert exceeded <= delta + 5 * np.sqrt(delta * (1 - delta) / runs)
    # moments: E exp(t L) <= exp(t (t+1) rho) at t = 1, whose estimate here has a relative error of a few percent
    assert np.mean(np.exp(losses)) <= np.exp(2 * rho_total) * 1.15


def test_odometer_holds_at_all_moments():
    """The running bound is crossed in at most a fraction delta of the interactions; one that is tuned too low is crossed more."""
    delta, runs, steps = 0.1, 4000, 200
    rng = np.random.default_rng(11)
    meter = ZCDPOdometer(delta, target=1.0)
    bounds = []
    for _ in range(steps):
        meter.record_rho(0.01)
        bounds.append(meter.bound)
    losses = np.cumsum(rng.normal(0.01, np.sqrt(0.02), (runs, steps)), axis=1)
    crossed = np.mean(np.any(losses > bounds, axis=1))
    assert crossed <= delta + 5 * np.sqrt(delta * (1 - delta) / runs)  # false alarm below 3e-7
    assert crossed >= delta / 2  # and the bound is not idle: Brownian motion would cross it with probability delta
    fixed = np.mean(np.any(losses > np.array(bounds) - 0.5, axis=1))
    assert fixed > delta + 5 * np.sqrt(delta * (1 - delta) / runs)


def test_odometer():
    meter = ZCDPOdometer(1e-6, target=2.5)
    assert meter.bound == 0.0
    meter.record(0.1, 1e-9)
    assert meter.rho == pytest.approx(0.1 * np.tanh(0.05))
    assert meter.leaked == 1e-9
    meter = ZCDPOdometer(1e-6, target=2.5)
    for _ in range(20):
        meter.record_rho(0.125)
    # at its target the bound is the conversion of Bun and Steinke, elsewhere above it
    assert meter.bound == pytest.approx(cv.zcdp_to_epsilon_bun_steinke(2.5, 1e-6), rel=1e-12)
    meter.record_rho(0.125)
    assert meter.bound > cv.zcdp_to_epsilon_bun_steinke(2.625, 1e-6)


def test_budget_of_a_conversion():
    for epsilon, delta in ((0.01, 1e-9), (1.0, 1e-6), (13.37365225280767, 1e-6), (30.0, 0.1)):
        rho = zcdp_for(epsilon, delta)
        assert cv.zcdp_to_epsilon(rho, delta, "cks") <= epsilon
        assert cv.zcdp_to_epsilon(rho * (1 + 1e-9), delta, "cks") >= epsilon * (1 - 1e-12)
