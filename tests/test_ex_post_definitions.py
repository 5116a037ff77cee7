"""Definitions, finite pairs, post-processing, composition, conversions of dpnotes.ex_post."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from dpnotes.ex_post import (
    ApproximateExPost,
    Bounded,
    Filter,
    FinitePair,
    Odometer,
    ProbabilisticExPost,
    PureExPost,
    RenyiExPost,
    best_alpha,
    estimate_mean,
    renyi_to_approximate,
    renyi_to_probabilistic,
)
from dpnotes.privacy_loss import DiscreteLoss

DATA = json.loads((Path(__file__).parent / "data" / "ex_post.json").read_text(encoding="utf-8"))
ORACLES = {row["id"]: row for row in DATA["oracles"]}


def random_pair(rng, n=5, zeros=False):
    p, q = rng.dirichlet(np.full(n, 0.7)), rng.dirichlet(np.full(n, 0.7))
    if zeros and rng.random() < 0.5:
        q[0], q[1:] = 0.0, q[1:] / q[1:].sum()
    return FinitePair(p, q, rng.choice([0.0, 0.3, 1.0, 2.5], n))


def random_kernel(rng, n, m):
    kernel = rng.dirichlet(np.full(m, 0.5), n)
    return np.eye(m)[rng.integers(m, size=n)] if rng.random() < 0.3 else kernel  # functions are kernels, too


# --- the definitions -------------------------------------------------------------------------------------------------

def test_statistics_against_the_definitions_written_out():
    p, q, epsilon, alpha = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.1, 0.5]), np.array([0.1, 1.2, 0.4]), 2.5
    pair = FinitePair(p, q, epsilon)
    assert pair.mean(RenyiExPost(alpha)) == pytest.approx(np.sum(q * np.exp((1 - alpha) * epsilon) * (p / q) ** alpha), rel=1e-14)
    assert pair.mean(ProbabilisticExPost(0.1)) == pytest.approx(0.5, rel=1e-14)
    # P(S) <= integral of e**epsilon dQ + delta over every set S, by trying every set.
    sets = [[i for i in range(3) if mask >> i & 1] for mask in range(8)]
    worst = max(p[s].sum() - (np.exp(epsilon[s]) * q[s]).sum() for s in sets)
    assert pair.mean(ApproximateExPost(0.1)) == pytest.approx(worst, rel=1e-13)
    assert not PureExPost().holds(pair) and PureExPost().holds(FinitePair(p, q, 1.7))
    assert not PureExPost().holds(FinitePair(p, q, 1.6))


def test_a_constant_bound_gives_back_the_definitions_without_ex_post():
    rng = np.random.default_rng(1)
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        loss = DiscreteLoss.from_probabilities(p, q)
        e = 0.4
        assert FinitePair(p, q, loss.renyi(3.0)).mean(RenyiExPost(3)) == pytest.approx(1.0, rel=1e-12)
        assert FinitePair(p, q, e).mean(ApproximateExPost(0.1)) == pytest.approx(loss.delta(e), abs=1e-14)
        assert FinitePair(p, q, e).mean(ProbabilisticExPost(0.1)) == pytest.approx(loss.tail(e), abs=1e-14)


def test_both_directions_are_read():
    pair = FinitePair([0.5, 0.5], [0.5 * np.exp(-10), 1 - 0.5 * np.exp(-10)], [10, 0.1])
    assert pair.mean(PureExPost()) == 0 and pair.swapped.mean(PureExPost()) > 0.9
    assert not PureExPost().holds(pair)


def test_distinguishing_events_and_outputs_that_nobody_gives():
    pair = FinitePair([0.1, 0.9, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], 1.0)
    assert pair.losses.tolist()[0] == math.inf and pair.losses.tolist()[2:] == [-math.inf, -math.inf]
    assert pair.mean(RenyiExPost(2)) == math.inf
    assert pair.mean(ApproximateExPost(0.1)) == pytest.approx(0.1) and pair.mean(ProbabilisticExPost(0.1)) == pytest.approx(0.1)


def test_the_mean_loss_is_below_the_mean_bound():
    rng = np.random.default_rng(2)
    for _ in range(200):
        pair = made_valid(random_pair(rng), 2.0)
        assert np.sum(pair.p * pair.losses) <= np.sum(pair.p * pair.epsilon) + 1e-12


def made_valid(pair, alpha):
    """Raise all bounds until the pair satisfies the Rényi definition in its own direction, with equality."""
    lift = np.log(pair.mean(RenyiExPost(alpha))) / (alpha - 1)
    return FinitePair(pair.p, pair.q, pair.epsilon + max(0.0, lift))


def test_pure_implies_every_order_and_higher_orders_imply_lower_ones():
    rng = np.random.default_rng(3)
    for _ in range(500):
        pair, alpha = random_pair(rng), rng.uniform(1.1, 20)
        pure = FinitePair(pair.p, pair.q, np.maximum(np.abs(pair.losses), 0))
        assert PureExPost().holds(pure) and RenyiExPost(alpha).holds(pure)
        pair, beta = made_valid(pair, alpha), rng.uniform(1.001, alpha)
        assert pair.mean(RenyiExPost(beta)) <= 1 + 1e-12


# --- post-processing -------------------------------------------------------------------------------------------------

def test_two_thousand_random_kernels_never_raise_the_immune_readings():
    rng = np.random.default_rng(4)
    raised = 0
    for _ in range(2000):
        pair = random_pair(rng, zeros=True)
        after = pair.post_process(random_kernel(rng, 5, 3))
        for definition in (PureExPost(), ApproximateExPost(0.1), RenyiExPost(rng.uniform(1.05, 12))):
            before_mean, after_mean = pair.mean(definition), after.mean(definition)
            if definition == PureExPost():
                assert after_mean == 0 or before_mean > 0
            else:
                assert before_mean == math.inf or after_mean <= before_mean * (1 + 1e-12) + 1e-15
        raised += after.mean(ProbabilisticExPost(0.1)) > pair.mean(ProbabilisticExPost(0.1)) + 1e-9
    assert raised > 100  # and the probabilistic reading does rise: the check above can fail


def test_the_probabilistic_definition_breaks_under_a_merge():
    pair = FinitePair([0.05, 0.40, 0.55], [0.0, 0.20, 0.80], np.log(2))
    merged = pair.merge([0, 0, 1])
    assert ProbabilisticExPost(0.05).holds(pair)
    assert pair.mean(ProbabilisticExPost(0.05)) == pytest.approx(0.05, rel=1e-12)
    assert merged.mean(ProbabilisticExPost(0.05)) == pytest.approx(0.45, rel=1e-12)
    assert not ProbabilisticExPost(0.05).holds(merged) and not ProbabilisticExPost.survives_post_processing
    assert sorted(merged.losses.tolist())[-1] == pytest.approx(np.log(2.25), rel=1e-12)
    for one in (pair, merged):
        assert one.mean(ApproximateExPost(0.05)) == pytest.approx(0.05, rel=1e-12)
        assert ApproximateExPost(0.05).holds(one)


def test_bounds_may_be_rounded_up_and_not_down():
    pair = FinitePair([0.3, 0.7], [0.5, 0.5], [0.8, 0.4])
    assert pair.merge([0, 0]).epsilon.tolist() == [0.4, 0.8]  # outputs with different bounds stay apart
    up = pair.post_process([[1.0], [1.0]], epsilon=[0.8, 0.8])
    assert up.epsilon.tolist() == [0.8] and up.mean(RenyiExPost(2)) <= pair.mean(RenyiExPost(2))
    with pytest.raises(ValueError, match="rounding a bound down"):
        pair.post_process(np.eye(2), epsilon=[0.7, 0.4])
    with pytest.raises(ValueError, match="rounding a bound down"):
        Bounded(3.0, 0.5).post_process(abs, round_up_to=0.4)
    with pytest.raises(ValueError, match="rows of probabilities"):
        pair.post_process([[0.5], [1.0]])


def test_without_the_bound_in_the_output_the_best_bound_depends_on_the_neighbor():
    rng = np.random.default_rng(5)
    for _ in range(300):
        pair, kernel, alpha = made_valid(random_pair(rng), 3.0), random_kernel(rng, 5, 2), 3.0
        p, q = np.minimum(pair.p @ kernel, 1), np.minimum(pair.q @ kernel, 1)
        seen = (p > 0) | (q > 0)
        average = pair.averaged_bound(kernel)[seen]
        assert np.all(average <= pair.epsilon.max() + 1e-12)
        assert FinitePair(p[seen], q[seen], average).mean(RenyiExPost(alpha)) <= 1 + 1e-12
    first = FinitePair([0.5, 0.5], [0.9, 0.1], [0.0, 2.0]).averaged_bound([[1.0], [1.0]])
    assert first[0] == pytest.approx(np.log(0.9 + 0.1 * np.exp(2)), rel=1e-12)
    assert FinitePair([0.5, 0.5], [0.1, 0.9], [0.0, 2.0]).averaged_bound([[1.0], [1.0]])[0] > first[0] + 0.5


# --- composition -----------------------------------------------------------------------------------------------------

def test_fully_adaptive_composition_adds_the_bounds():
    rng = np.random.default_rng(6)
    for _ in range(200):
        alpha = rng.uniform(1.1, 6)
        first = made_valid(random_pair(rng, 3), alpha)
        seconds = [made_valid(random_pair(rng, 4), alpha) for _ in range(3)]
        both = first.then(seconds)
        assert both.mean(RenyiExPost(alpha)) <= 1 + 1e-12
        assert both.epsilon[:4] == pytest.approx(first.epsilon[0] + seconds[0].epsilon)
    pure = FinitePair([0.4, 0.6], [0.6, 0.4], [0.41, 0.41])
    assert PureExPost().holds(pure.then(pure)) and not PureExPost().holds(FinitePair(pure.p, pure.q, 0.4).then(pure))


def test_deltas_add_up():
    rng = np.random.default_rng(7)
    for _ in range(300):
        first, second = random_pair(rng, 3, zeros=True), random_pair(rng, 3, zeros=True)
        for kind in (ProbabilisticExPost, ApproximateExPost):
            deltas = [min(1.0, one.mean(kind(0))) for one in (first, second)]
            joint = kind(deltas[0]).compose(kind(deltas[1]))
            assert type(joint) is kind and first.then(second).mean(joint) <= joint.limit + 1e-12
    pair = FinitePair([0.1, 0.9], [0.0, 1.0], 0.0)  # independent distinguishing events: 1 - 0.9**2, little less than 0.2
    assert pair.then(pair).mean(ApproximateExPost(0.2)) == pytest.approx(0.19, rel=1e-12)


def test_parallel_composition_takes_the_larger_bound():
    """Part A decides which mechanism reads part B: whichever part differs, the larger of both bounds is enough."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        alpha = 2.5
        first = made_valid(random_pair(rng, 3), alpha)
        seconds = [made_valid(random_pair(rng, 3), alpha) for _ in range(3)]
        larger = np.concatenate([np.maximum(e, s.epsilon) for e, s in zip(first.epsilon, seconds, strict=True)])
        on_b = np.concatenate([s.p for s in seconds])
        a_differs = FinitePair(np.repeat(first.p, 3) * on_b, np.repeat(first.q, 3) * on_b, larger)
        b_differs = FinitePair(np.repeat(first.p, 3) * on_b,
                               np.repeat(first.p, 3) * np.concatenate([s.q for s in seconds]), larger)
        assert a_differs.mean(RenyiExPost(alpha)) <= 1 + 1e-12 and b_differs.mean(RenyiExPost(alpha)) <= 1 + 1e-12


def test_definitions_of_the_whole():
    assert PureExPost().compose(RenyiExPost(3)) == RenyiExPost(3) == RenyiExPost(3).parallel(RenyiExPost(5))
    assert ProbabilisticExPost(0.1).compose(ProbabilisticExPost(0.2)).delta == pytest.approx(0.3)
    assert ProbabilisticExPost(0.1).parallel(ProbabilisticExPost(0.2)) == ProbabilisticExPost(0.2)
    assert ProbabilisticExPost(0.1).parallel(ApproximateExPost(0.05)) == ApproximateExPost(0.1)
    assert ProbabilisticExPost(0.7).compose(ProbabilisticExPost(0.7)).delta == 1.0
    with pytest.raises(ValueError, match="no common reading"):
        RenyiExPost(2).compose(ApproximateExPost(0.1))


def test_hiding_a_high_bound_leaks():
    tiny = 0.5 * np.exp(-10)
    pair = FinitePair([0.5, 0.5], [tiny, 1 - tiny], [10, 0.694])
    assert PureExPost().holds(pair)
    hidden = FinitePair(pair.p, pair.q, 1.0)  # "refused" instead of the first output, and the budget 1 reported
    assert hidden.losses[0] == pytest.approx(10) and not PureExPost().holds(hidden) and not RenyiExPost(2).holds(hidden)


def test_the_filter_tests_the_cap_before_the_step():
    ran = []

    def step(epsilon):
        ran.append(epsilon)
        return Bounded("output", epsilon)

    purse = Filter(PureExPost(), 1.0)
    assert purse.run(lambda: step(0.694), cap=10) is None and ran == []  # not run, whatever it would have returned
    assert purse.run(lambda: step(0.2), cap=0.9).epsilon == 0.2
    assert purse.spent == 0.2 and purse.epsilon == 1.0 and purse.remaining == pytest.approx(0.8)
    with pytest.raises(ValueError, match="cap"):
        purse.run(lambda: step(0.8), cap=0.5)
    assert purse.spent == pytest.approx(0.7)  # the broken step's cap is gone
    with pytest.raises(ZeroDivisionError):
        purse.run(lambda: step(1 / 0), cap=0.2)
    assert purse.remaining == pytest.approx(0.1)
    with pytest.raises(TypeError, match="cap"):
        purse.add(0.1)
    assert "epsilon = 1," in purse.statement()


@pytest.mark.parametrize(("share", "times", "budget"), [(1 / 11, 11, 1.0), (0.1, 10, 1.0), (0.1, 3, 0.3)])
def test_equal_shares_use_the_budget_up(share, times, budget):
    purse = Filter(RenyiExPost(2), budget)
    for _ in range(times):
        assert purse.run(lambda: Bounded(None, share), cap=share) is not None
    assert 0 <= purse.remaining <= 1e-12 and not purse.allows(1e-6) and purse.epsilon == pytest.approx(budget, abs=1e-12)


def test_odometer():
    spent = Odometer(RenyiExPost(4))
    for _ in range(10):
        spent.add(0.1)
    assert spent.epsilon == 1.0
    assert "alpha = 4" in spent.statement() and "add/remove" in spent.statement() and "survives" in spent.statement()
    assert "P[loss > 5.60518]" in spent.statement(delta=1e-6)  # 1 + ln(10**6) / 3 = 5.6051701..., and a bound is rounded up
    with pytest.raises(AttributeError):
        spent.definition = RenyiExPost(8)
    with pytest.raises(ValueError, match="definition"):
        Odometer(ProbabilisticExPost(0.1))
    for bad in (-0.1, math.inf, math.nan, [0.1, 0.2]):
        with pytest.raises(ValueError, match="epsilon"):
            spent.add(bad)
    with pytest.raises(ValueError, match="delta"):
        Odometer(PureExPost()).statement(delta=1e-6)


# --- conversions -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["expost_linear_a4_rho0.5", "expost_linear_a4_rho1"])
def test_oracle_of_the_probabilistic_conversion(name):
    given = {key: float(value) for key, value in ORACLES[name]["params"].items()}
    epsilon = RenyiExPost(given["alpha"]).gaussian_epsilon(given["rho"])
    value = float(ORACLES[name]["value"])
    assert renyi_to_probabilistic(epsilon, given["alpha"], given["delta"]) == pytest.approx(value, rel=1e-14)


def test_oracle_of_the_best_order():
    value = float(ORACLES["expost_alpha_star_rho1_d1e-6"]["value"])
    assert best_alpha(1, 1e-6) == pytest.approx(value, rel=1e-14)
    orders = np.linspace(value - 1, value + 1, 2001)
    assert orders[np.argmin(renyi_to_probabilistic(orders * 1.0, orders, 1e-6))] == pytest.approx(value, abs=1e-3)


def test_conversions_hold_on_random_pairs():
    rng = np.random.default_rng(9)
    for _ in range(1500):
        alpha, delta = rng.uniform(1.05, 10), 10 ** rng.uniform(-3, -0.3)
        pair = made_valid(random_pair(rng), alpha)
        for convert, kind in ((renyi_to_probabilistic, ProbabilisticExPost), (renyi_to_approximate, ApproximateExPost)):
            assert FinitePair(pair.p, pair.q, convert(pair.epsilon, alpha, delta)).mean(kind(delta)) <= delta + 1e-12


@pytest.mark.parametrize("alpha", [1.5, 4.0])
def test_conversions_are_attained(alpha):
    """All the wealth on one output, and none where the bound is huge: then Markov's inequality is an equality."""
    top, mass = 2.0, np.exp(-2.0 * (alpha - 1))
    pair = FinitePair([mass, 1 - mass], [mass * np.exp(-top - 0.5), 1 - mass * np.exp(-top - 0.5)], [0.5, 400.0])
    assert pair.mean(RenyiExPost(alpha)) == pytest.approx(1.0, rel=1e-12)
    below = renyi_to_probabilistic(pair.epsilon, alpha, mass * 1.001)  # P[L > bound] is the whole mass, just below delta
    assert FinitePair(pair.p, pair.q, below).mean(ProbabilisticExPost(0.1)) == pytest.approx(mass, rel=1e-12)
    delta = mass / alpha
    exact = FinitePair(pair.p, pair.q, renyi_to_approximate(pair.epsilon, alpha, delta))
    assert exact.mean(ApproximateExPost(delta)) == pytest.approx(delta, rel=1e-12)


def test_conversion_limits():
    assert renyi_to_probabilistic(1.0, 2, 0.0) == math.inf and renyi_to_probabilistic(1.0, 2, 1.0) == 1.0
    assert renyi_to_approximate(0.0, 2, 0.9) == 0.0
    assert renyi_to_approximate([1.0, 2.0], 4, 1e-6).shape == (2,)
    for bad in (1.0, 0.5, math.inf, math.nan):
        with pytest.raises(ValueError, match="alpha"):
            renyi_to_probabilistic(1.0, bad, 0.1)
        with pytest.raises(ValueError, match="alpha"):
            RenyiExPost(bad)
    for bad in (0.0, 1.0, -0.1):
        with pytest.raises(ValueError, match="delta"):
            best_alpha(1.0, bad)
    with pytest.raises(ValueError, match="rho"):
        best_alpha(0.0, 0.1)


def test_renyi_bound_of_a_pure_mechanism():
    sinh = np.sinh
    for alpha, e in ((2.0, 1.0), (4.0, 0.3), (20.0, 2.0)):
        closed = np.log((sinh(alpha * e) - sinh((alpha - 1) * e)) / sinh(e)) / (alpha - 1)
        assert RenyiExPost(alpha).pure_epsilon(e) == pytest.approx(closed, rel=1e-12)
    assert RenyiExPost(2).pure_epsilon(1.0) == pytest.approx(0.7353256640555192, rel=1e-14)
    assert RenyiExPost(2).pure_epsilon(0.0) == 0.0


# --- by simulation ---------------------------------------------------------------------------------------------------

def test_estimates_agree_with_the_exact_means():
    """Both ways of drawing; five definitions' means within 4.5 standard errors (false alarm about 5e-5 for all)."""
    rng, n = np.random.default_rng(10), 100_000
    pair = FinitePair([0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.1, 0.7, 0.4])
    for definition in (ProbabilisticExPost(0.1), ApproximateExPost(0.1), RenyiExPost(2.5)):
        for source, law in (("P", pair.p), ("Q", pair.q)):
            seen = rng.choice(3, n, p=law)
            estimate = estimate_mean(definition, pair.losses[seen], pair.epsilon[seen], drawn_from=source)
            assert estimate.runs == n and 0 < estimate.standard_error < 0.02
            assert abs(estimate.value - pair.mean(definition)) < 4.5 * estimate.standard_error
    with pytest.raises(ValueError, match="drawn_from"):
        estimate_mean(PureExPost(), [0.0], 0.0, drawn_from="R")


def test_a_gaussian_at_its_bound_by_simulation():
    mu, alpha, rng = 0.5, 2.5, np.random.default_rng(11)
    x = rng.normal(0.0, 1.0, 200_000)  # drawn on the neighbor
    loss = norm.logpdf(x, mu) - norm.logpdf(x)
    estimate = estimate_mean(RenyiExPost(alpha), loss, RenyiExPost(alpha).gaussian_epsilon(mu**2 / 2), drawn_from="Q")
    assert abs(estimate.value - 1) < 4.5 * estimate.standard_error < 0.05


@pytest.mark.parametrize(("p", "q", "epsilon", "name"), [
    ([0.5, 0.6], [0.5, 0.5], 1.0, "p"), ([0.5, 0.5], [1.0], 1.0, "q"), ([0.5, 0.5], [0.5, 0.5], -1.0, "epsilon"),
    ([0.5, 0.5], [0.5, 0.5], [1.0, math.inf], "epsilon"), ([0.5, 0.5], [0.5, 0.5], [1.0] * 3, "epsilon")])
def test_bad_pairs(p, q, epsilon, name):
    with pytest.raises(ValueError, match=name):
        FinitePair(p, q, epsilon)
