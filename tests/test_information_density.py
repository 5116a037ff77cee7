"""Leakage, cost and their adversaries on finite alphabets, against exact rational arithmetic."""

import json
import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dpnotes.information_density as density
from dpnotes.information_density import JointLaw
from dpnotes.mechanisms import RandomizedResponse

DATA = json.loads((Path(__file__).parent / "data" / "information_density.json").read_text())
INF = math.inf


def log(ratio):
    return math.log(ratio) if ratio > 0 else -INF


def close(a, b, tolerance=1e-12):
    return a == b or abs(a - b) <= tolerance * (1 + abs(b))


def rational_law(rng, zeros):
    """A prior and a channel in fractions; each entry of the channel is 0 with probability `zeros`."""

    def row(n, zeros):
        while True:
            weights = [0 if rng.random() < zeros else rng.randint(1, 40) for _ in range(n)]
            if sum(weights):
                return [Fraction(w, sum(weights)) for w in weights]

    k, m = rng.randint(2, 5), rng.randint(2, 5)
    return row(k, 0), [row(m, zeros) for _ in range(k)]


def exact_lifts(prior, channel):
    """Column by column: (P(y), lifts of y), for the outputs of positive probability."""
    for y, column in enumerate(zip(*channel, strict=True)):
        p_y = sum(p * c for p, c in zip(prior, column, strict=True))
        if p_y:
            yield y, p_y, [c / p_y for c in column], column


def floats(prior, channel):
    return JointLaw([float(p) for p in prior], [[float(c) for c in row] for row in channel])


@pytest.fixture(scope="module")
def laws():
    rng = random.Random(3003)
    return [rational_law(rng, zeros=(0.0, 0.0, 0.25)[i % 3]) for i in range(3000)]


def test_3000_random_channels_in_exact_rationals(laws):
    outcomes = ruled_out = conditioned = 0
    for prior, channel in laws:
        p = min(prior)
        law = floats(prior, channel)
        pml, pmc, ldp = law.pml(), law.pmc(), law.ldp()
        leak = Fraction(0)
        for y, p_y, lifts, column in exact_lifts(prior, channel):
            outcomes += 1
            top, bottom = max(lifts), min(lifts)
            leak += p_y * top
            # the mathematics, in exact arithmetic
            assert top >= 1 >= bottom
            assert top <= 1 / p
            assert top * min(column) == bottom * max(column)  # e**(PML + PMC) = e**LDP
            assert top <= (1 - bottom * (1 - p)) / p  # PMC bounds PML, always
            if top * (1 - p) < 1:  # PML bounds PMC, under its condition
                conditioned += 1
                assert bottom >= (1 - top * (1 - p)) / p
            if bottom > 0:
                ratio = top / bottom
                assert 1 / bottom <= 1 + (1 - p) * (ratio - 1)
                assert top <= ratio / (1 + p * (ratio - 1))
            else:
                ruled_out += 1
            # the package, against it
            assert close(pml[y], log(top)) and close(pmc[y], -log(bottom))
            assert close(ldp[y], pmc[y] + pml[y])
            assert close(law.output[y], float(p_y))
            p_min = float(p)
            # at the edge of its condition this map turns an ulp into infinity: give it the rounding of its argument
            assert density.pml_to_pmc(pml[y] + 1e-15, p_min) >= pmc[y] - 1e-12
            assert density.pmc_to_pml(pmc[y], p_min) >= pml[y] - 1e-12
            assert density.ldp_to_pmc(ldp[y], p_min) >= pmc[y] - 1e-12
            assert density.ldp_to_pml(ldp[y], p_min) >= pml[y] - 1e-12
        assert close(law.maximal_leakage(), log(leak))
        assert density.alip_to_ldp(*law.alip()) >= law.ldp_epsilon() - 1e-12
        assert law.lip_epsilon() == max(law.alip())
        assert law.mutual_information() <= law.maximal_leakage() + 1e-12 <= law.pml_epsilon() + 2e-12
    assert outcomes > 10_000 and ruled_out > 500 and conditioned > 1000  # every branch was taken


def test_named_adversaries_attain_and_no_other_exceeds(laws):
    rng = np.random.default_rng(16)
    for prior, channel in laws[:1000]:
        law = floats(prior, channel)
        pml, pmc, k = law.pml(), law.pmc(), len(prior)
        possible = law.output > 0
        np.testing.assert_allclose(density.bettor(law).advantage(law), pml, atol=1e-12)
        np.testing.assert_allclose(density.burglar(law).advantage(law), pmc, atol=1e-12)
        assert density.bettor(law).before(law) == pytest.approx(1) == density.burglar(law).before(law)
        for y in np.flatnonzero(possible):
            assert close(density.guesser(law, y).advantage(law)[y], pml[y])
            assert close(density.doubter(law, y).advantage(law)[y], pmc[y])
        stakes = rng.exponential(size=(k, 4)) * (rng.random((k, 4)) < 0.7)
        bits = rng.dirichlet(np.full(4, 0.4), size=k)
        for threat, table, cap in (("gain", stakes, pml), ("cost", stakes, pmc), ("guess", bits, pml), ("error", bits, pmc)):
            advantage = density.Adversary("anyone", threat, table).advantage(law)
            assert np.all(advantage[possible] <= cap[possible] + 1e-9)


def test_doubter_and_guesser_keep_their_promise_in_rationals():
    prior, lifts = [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)], [Fraction(2), Fraction(1), Fraction(3, 5)]
    assert sum(p * lift for p, lift in zip(prior, lifts, strict=True)) == 1
    t = Fraction(1, 2) / prior[2]  # 1/2 / P(x*) with x* = 2, the least lifted
    assert t * prior[2] <= Fraction(1, 2) and t * prior[2] / (t * prior[2] * lifts[2]) == 1 / lifts[2]
    cells = [math.ceil(p / prior[0]) for p in prior]
    cells[0] = 1
    before = max(p / n for p, n in zip(prior, cells, strict=True))
    after = max(p * lift / n for p, lift, n in zip(prior, lifts, cells, strict=True))
    assert after / before == 2


def test_a_cost_adversary_with_something_free_gains_nothing():
    law = density.z_channel()
    free = density.Adversary("stays at home", "cost", [[1.0, 0.0], [1.0, 0.0]])
    assert free.before(law) == 0 and free.advantage(law).tolist() == [0.0, 0.0]
    safe = density.burglar(law)
    assert safe.advantage(law)[1] == INF and safe.choice(law, 1) == 0
    assert density.bettor(law).choice(law, 1) == 1


def test_post_processing_never_raises_a_worst_case(laws):
    rng = random.Random(5)
    for prior, channel in laws[:1000]:
        m, l = len(channel[0]), rng.randint(2, 4)
        twelfths = [rng.randint(0, 12) for _ in range(m)]
        kernel = [[Fraction(a, 12), Fraction(12 - a, 12)] + [Fraction(0)] * (l - 2) for a in twelfths]
        after = [[sum(row[y] * kernel[y][z] for y in range(m)) for z in range(l)] for row in channel]
        lifts_before = [lifts for _, _, lifts, _ in exact_lifts(prior, channel)]
        lifts_after = [lifts for _, _, lifts, _ in exact_lifts(prior, after)]
        assert max(map(max, lifts_after)) <= max(map(max, lifts_before))
        assert min(map(min, lifts_after)) >= min(map(min, lifts_before))
        if prior is laws[7][0]:
            law = floats(prior, channel).then([[float(v) for v in row] for row in kernel])
            np.testing.assert_allclose(law.channel, [[float(v) for v in row] for row in after], atol=1e-15)
            assert np.isnan(law.pml()).tolist() == [False, False] + [True] * (l - 2)


def test_an_output_that_says_nothing_may_round():
    rng = np.random.default_rng(1)
    for _ in range(200):  # rows add up to 1 only after rounding: a constant output must still be a law
        law = JointLaw(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(7), size=4))
        assert law.then(np.eye(2)[np.zeros(7, int)]).alip() == pytest.approx((0, 0), abs=1e-15)


def test_composition_chain_rule_and_conditional_bounds(laws):
    rng = np.random.default_rng(8)
    for prior, channel in laws[:300]:
        first = floats(prior, channel)
        k, m = first.channel.shape
        second = rng.dirichlet(np.ones(3), size=(m, k))  # adapts to the first output
        both = first.compose(second)
        assert close(both.channel.sum(), k)
        bounds = first.composition_bounds(second)
        for y in np.flatnonzero(first.output > 0):
            after = first.updated(int(y), second[y])
            np.testing.assert_allclose(both.density[:, 3 * y:3 * y + 3], first.density[:, y:y + 1] + after.density, atol=1e-11)
        pmc, pml = both.alip()
        assert pmc <= bounds[0] + 1e-11 and pml <= bounds[1] + 1e-11
        worst_second = max(JointLaw(first.prior, c).ldp_epsilon() for c in second)
        assert both.ldp_epsilon() <= first.ldp_epsilon() + worst_second + 1e-11  # LDP adds without a condition


def test_the_same_second_channel_for_every_first_output():
    law = density.randomized_response([0.2, 0.3, 0.5], 0.7)
    once = law.compose(law.channel)
    again = law.compose(np.stack([law.channel] * 3))
    np.testing.assert_array_equal(once.channel, again.channel)


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.2, 0.8], [0.2, 0.3, 0.5], [0.01, 0.04, 0.35, 0.6]])
@pytest.mark.parametrize("epsilon", [1e-6, 0.005, 0.15, 0.5, 1.0, 4.0])
def test_bounds_are_attained(prior, epsilon):
    p = min(prior)
    example = density.tight_pmc_to_pml(prior, epsilon)
    np.testing.assert_allclose(example.alip(), (epsilon, density.pmc_to_pml(epsilon, p)), rtol=1e-9, atol=1e-15)
    example = density.tight_pml_to_pmc(prior, epsilon)
    if epsilon < -math.log1p(-p):
        np.testing.assert_allclose(example.alip(), (density.pml_to_pmc(epsilon, p), epsilon), rtol=1e-8, atol=1e-15)
    else:
        assert example.pmc_epsilon() == INF == density.pml_to_pmc(epsilon, p)
        assert example.pml_epsilon() <= epsilon + 1e-15
    example = density.rarest_or_not(prior, epsilon)
    assert close(example.ldp_epsilon(), epsilon)
    np.testing.assert_allclose(example.alip(), (density.ldp_to_pmc(epsilon, p), density.ldp_to_pml(epsilon, p)), rtol=1e-9)


def test_the_condition_sits_at_minus_log_one_minus_p():
    edge = -math.log1p(-0.2)
    assert density.pml_to_pmc(edge, 0.2) == INF == density.pml_to_pmc(INF, 0.2)
    assert 20 < density.pml_to_pmc(edge * (1 - 1e-12), 0.2) < INF
    p = np.linspace(0.01, 0.5, 200)
    assert np.all(density.pml_to_pmc(-np.log1p(-p), p) == INF)
    assert density.pml_to_pmc(0, 0.2) == 0 == density.pmc_to_pml(0, 0.2)
    assert density.pmc_to_pml(INF, 0.2) == pytest.approx(math.log(5), rel=1e-15)
    assert density.ldp_to_pml(INF, 0.2) == pytest.approx(math.log(5), rel=1e-15)
    assert density.ldp_to_pmc(INF, 0.2) == INF
    assert density.ldp_to_pmc(1000.0, 0.2) == pytest.approx(1000 + math.log(0.8), rel=1e-14)
    assert density.ldp_to_pmc(1e-12, 0.2) == pytest.approx(0.8e-12, rel=1e-9)
    assert density.randomized_response_pmc(INF, [0.0, 0.5]).tolist() == [0.0, INF]
    assert density.pml_to_pmc([0.1, 0.2], 0.3).shape == (2,)
    assert isinstance(density.pml_to_pmc(0.1, np.float64(0.3)), float)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_randomized_response_in_rationals(k):
    rng = random.Random(k)
    for _ in range(100):
        odds = 1 + Fraction(rng.randint(1, 400), rng.randint(1, 100))
        weights = [rng.randint(1, 30) for _ in range(k)]
        prior = [Fraction(w, sum(weights)) for w in weights]
        channel = [[(odds if x == y else 1) / (k - 1 + odds) for y in range(k)] for x in range(k)]
        epsilon = math.log(odds)
        law = density.randomized_response([float(p) for p in prior], epsilon)
        np.testing.assert_allclose(law.channel, np.array(channel, dtype=float), rtol=1e-13)
        for y, p_y, lifts, _ in exact_lifts(prior, channel):
            assert 1 / min(lifts) == 1 + prior[y] * (odds - 1)
            assert max(lifts) == odds / (1 + prior[y] * (odds - 1))
            assert p_y == (1 + prior[y] * (odds - 1)) / (k - 1 + odds)
            assert close(density.randomized_response_pmc(epsilon, float(prior[y])), -log(min(lifts)))
            assert close(density.randomized_response_pml(epsilon, float(prior[y])), log(max(lifts)))
        assert close(law.maximal_leakage(), density.randomized_response_maximal_leakage(epsilon, k))
        assert close(law.ldp_epsilon(), epsilon)


def test_randomized_response_at_the_ends():
    prior = [0.2, 0.3, 0.5]
    assert density.randomized_response(prior, 0).alip() == pytest.approx((0, 0), abs=1e-15)
    truth = density.randomized_response(prior, INF)
    assert truth.pmc_epsilon() == INF and truth.pml_epsilon() == pytest.approx(math.log(5))
    assert density.randomized_response_maximal_leakage(INF, 3) == pytest.approx(math.log(3))
    assert density.randomized_response(prior, 500.0).pmc_epsilon() == pytest.approx(500 + math.log(0.5))


def test_the_mechanism_and_the_channel_are_one():
    for epsilon, k in ((1e-9, 2), (1.0, 3), (30.0, 5)):
        law, mechanism = density.randomized_response(np.full(k, 1 / k), epsilon), RandomizedResponse(epsilon, k)
        assert law.channel[0, :2] == pytest.approx([mechanism.truth, mechanism.lie], rel=1e-13)
        assert law.ldp_epsilon() == pytest.approx(mechanism.privacy_loss().maximum, rel=1e-6)


def test_reveal_costs_the_same_for_every_secret_and_leaks_the_rare_ones():
    prior = np.array([1e-6, 0.2, 0.799999])
    law = density.reveal(prior, 0.3)
    np.testing.assert_allclose(law.pmc(), -math.log(0.7), rtol=1e-9)
    np.testing.assert_allclose(law.pml(), np.log(0.7 + 0.3 / prior), rtol=1e-9)
    assert density.reveal(prior, 1.0).pmc_epsilon() == INF and density.reveal(prior, 0.0).pml_epsilon() < 1e-15


def test_z_channel_shows_the_asymmetry_on_two_symbols():
    law = density.z_channel()
    assert law.pmc().tolist() == [pytest.approx(math.log(1.5)), INF]
    assert law.pml().tolist() == pytest.approx([math.log(4 / 3), math.log(2)])
    assert law.pmc_delta(10.0) == 0.25 and law.pmc_epsilon(0.25) == pytest.approx(math.log(1.5))
    assert law.pmc_epsilon(0.24) == INF and law.pmc_epsilon(1.0) == 0.0


def test_epsilon_delta_versions_are_each_others_inverse(laws):
    for prior, channel in laws[:200]:
        law = floats(prior, channel)
        leakage, cost = (law.pml_epsilon, law.pml_delta, law.pml()), (law.pmc_epsilon, law.pmc_delta, law.pmc())
        for epsilon_of, delta_of, values in (leakage, cost):
            values = values[law.output > 0]
            assert epsilon_of() == values.max() and delta_of(INF) == 0
            for delta in (0.0, 0.05, 0.3, 0.9):
                epsilon = epsilon_of(delta)
                assert delta_of(epsilon) <= delta + 1e-15
                assert epsilon == 0 or delta_of(math.nextafter(epsilon, 0)) > delta
        assert law.pml_epsilon([0.0, 0.5]).shape == (2,) == law.pml_delta([0.1, 0.2]).shape


def test_privacy_loss_is_a_difference_of_two_densities():
    law = density.randomized_response([0.2, 0.3, 0.5], 1.0)
    loss = law.privacy_loss(0, 2)
    np.testing.assert_allclose(np.unique((law.density[0] - law.density[2]).round(12)), loss.losses, atol=1e-12)
    assert loss.maximum == pytest.approx(law.ldp_epsilon())
    assert density.z_channel().privacy_loss(1, 0).infinity_mass == 0.5


def test_joint_matrix_and_null_symbols():
    law = JointLaw.from_joint([[0.5, 0.0], [0.25, 0.25]])
    assert law.prior.tolist() == [0.5, 0.5] and law.alip()[0] == INF
    # an output that never comes: nan there, left out of the worst cases, as is the secret that never is
    law = JointLaw([0.5, 0.5, 0.0], [[0.5, 0.5, 0], [0.25, 0.75, 0], [0, 0, 1]])
    assert np.isnan([law.pml(2), law.pmc(2)]).all() and np.isnan([law.density[:, 2], law.posterior[:, 2]]).all()
    assert law.alip() == pytest.approx((math.log(1.5), math.log(4 / 3)))
    assert law.ldp()[0] == INF  # LDP asks for every row, also of secrets of prior 0
    assert np.isnan(density.bettor(law).advantage(law)[2]) and density.bettor(law).advantage(law)[0] == pytest.approx(law.pml(0))
    assert density.burglar(law).advantage(law)[1] == pytest.approx(law.pmc(1))
    assert law.maximal_leakage() == pytest.approx(math.log(0.5 + 0.75))
    assert np.isnan(JointLaw([0.5, 0.5], [[1, 0], [1, 0]]).ldp()[1])
    one = JointLaw([1.0], [[0.3, 0.7]])
    # what a secret of prior 0 would do to an output that does come, the essential supremum does not see
    unseen = JointLaw([0.5, 0.5, 0.0], [[0.5, 0.5], [0.4, 0.6], [1.0, 0.0]])
    assert unseen.pml(0) == pytest.approx(math.log(0.5 / 0.45)) and unseen.pmc(1) == pytest.approx(math.log(1.1))
    assert one.alip() == (0, 0) and one.mutual_information() == 0
    with pytest.raises(ValueError, match="positive probability"):
        density.guesser(law, 2)
    with pytest.raises(ValueError, match="positive probability"):
        law.updated(2, law.channel)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: JointLaw([0.5, 0.6], np.eye(2)), "prior = .*add up to 1"),
    (lambda: JointLaw([1.5, -0.5], np.eye(2)), "prior = .*between 0 and 1"),
    (lambda: JointLaw([0.5, 0.5], [[0.5, 0.5], [0.5, 0.4]]), "channel = .*row 1 adds up to 0.9"),
    (lambda: JointLaw([0.5, 0.5], [[1.5, -0.5], [0.5, 0.5]]), "channel = .*between 0 and 1"),
    (lambda: JointLaw([0.5, 0.5], [[np.nan, 1], [0, 1]]), "channel = .*not NaN"),
    (lambda: JointLaw([0.5, 0.5], np.eye(3)), "(?s)channel = .*2 rows"),
    (lambda: JointLaw([0.5, 0.5], [0.5, 0.5]), "channel = .*matrix"),
    (lambda: JointLaw([[0.5, 0.5]], np.eye(2)), "prior = .*one-dimensional"),
    (lambda: JointLaw.from_joint([[0.5, 0.5], [0, 0]]), "joint = .*no row of zeros"),
    (lambda: JointLaw.from_joint([[0.5, 0.1], [0.1, 0.1]]), "joint = .*adds up to 1"),
    (lambda: density.z_channel().pml(2), "y = 2 .*0 to 1"),
    (lambda: density.z_channel().pml(0.5), "y = 0.5"),
    (lambda: density.z_channel().pml([[0], [0, 1]]), "y = "),
    (lambda: JointLaw([0.5, 0.5], [[0.5, 0.5], [1.0]]), "channel = "),
    (lambda: density.z_channel().pml_epsilon(-0.1), "delta"),
    (lambda: density.z_channel().pml_delta(-0.1), "epsilon"),
    (lambda: density.z_channel().privacy_loss(0, 2), "other = 2"),
    (lambda: density.z_channel().then(np.eye(3)), "channel"),
    (lambda: density.z_channel().compose(np.ones((3, 2, 2)) / 2), "second"),
    (lambda: density.z_channel().compose(np.eye(3)), "second = "),
    (lambda: density.pml_to_pmc(-1, 0.2), "epsilon_u = -1"),
    (lambda: density.pml_to_pmc(1, 0.6), "p_min = 0.6 .*at most 1/2"),
    (lambda: density.pmc_to_pml(1, 0.0), "p_min = 0.0"),
    (lambda: density.ldp_to_pmc(float("nan"), 0.2), "epsilon = nan"),
    (lambda: density.randomized_response_maximal_leakage(1, 1), "k = 1"),
    (lambda: density.randomized_response([1.0], 1), "2"),
    (lambda: density.randomized_response([0.5, 0.5], [1, 2]), "epsilon"),
    (lambda: density.reveal([0.5, 0.5, 0.0], 0.5), "prior = .*above 0"),
    (lambda: density.one_other(1), "k = 1"),
    (lambda: density.Adversary("a", "hope", np.eye(2)), "threat = 'hope'"),
    (lambda: density.Adversary("a", "gain", [[1, -1]]), "table"),
    (lambda: density.Adversary("a", "guess", [[0.5, 0.4]]), "table"),
    (lambda: density.Adversary("a", "gain", np.eye(3)).advantage(density.z_channel()), "3"),
    (lambda: density.guesser(JointLaw([1e-6, 1 - 1e-6], np.eye(2)), 0), "1e-5"),
])
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_oracles():
    value = {entry["id"]: float(entry["value"]) for entry in DATA["oracles"]}
    law = density.randomized_response([0.2, 0.3, 0.5], 1.0)
    uniform = density.LaplaceNoise(density.UniformPrior(0, 1), scale=0.5)
    got = {"rr3_pmc": law.pmc_epsilon(), "rr3_pml": law.pml_epsilon(), "pml_to_pmc": density.pml_to_pmc(0.15, 0.2),
           "laplace_pmc_uniform": uniform.pmc_epsilon(), "clayton_pmc": density.ClaytonMixture(0.3, 1.0).pmc_epsilon()}
    assert got == pytest.approx(value, rel=1e-13, abs=0)


def test_numbers_printed_in_the_notes():
    rr2, rr3 = density.randomized_response([0.5, 0.5], 1.0), density.randomized_response([0.2, 0.3, 0.5], 1.0)
    other = density.one_other(3)
    unit, two = density.UniformPrior(0, 1), density.PointPrior([0, 1], [0.5, 0.5])
    laplace, gauss = density.LaplaceNoise(unit, scale=0.5), density.GaussianNoise(two, sigma=1)
    clayton = density.ClaytonMixture(0.3, 1)
    got = {
        "rr2 pmc": rr2.pmc_epsilon(), "rr2 twice pmc": rr2.compose(rr2.channel).pmc_epsilon(),
        "rr2 twice pmc, wrong sum": 2 * rr2.pmc_epsilon(),
        "one_other twice lift": math.exp(other.compose(other.channel).pml_epsilon()),
        "one_other lift squared": math.exp(2 * other.pml_epsilon()),
        "pmc_to_pml(.5, .2)": density.pmc_to_pml(0.5, 0.2),
        "any mechanism pmc": density.rarest_or_not([0.2, 0.3, 0.5], 1).pmc_epsilon(),
        "round trip 1": density.pml_to_pmc(0.15, 0.2), "round trip 2": density.pmc_to_pml(density.pml_to_pmc(0.15, 0.2), 0.2),
        "rr3 pml": rr3.pml_epsilon(), "laplace ldp": laplace.ldp_epsilon(),
        "laplace two points": density.LaplaceNoise(density.PointPrior([0, 1], [0.9, 0.1]), scale=1).pmc_epsilon(),
        "gauss pmc 5": gauss.pmc(5), "gauss pmc 10": gauss.pmc(10), "gauss pml limit": gauss.pml(40.0),
        "clayton pmc": clayton.pmc(0.1),
        "z pml": density.z_channel().pml_epsilon(),
    }
    got |= {f"rr3 pmc {y}": rr3.pmc(y) for y in range(3)}
    got |= {f"laplace pmc {y}": laplace.pmc(float(y)) for y in ("0", ".25", ".5")}
    got |= {f"laplace pml {y}": laplace.pml(float(y)) for y in ("0", ".25", ".5")}
    got |= {f"mean {secret}": density.mean_cost(unit, 0.2, 5, secret) for secret in ("entry", "database", "copies")}
    got |= {f"clayton pml {y}": clayton.pml(float(y)) for y in (".5", ".1", ".01", ".001", "1e-6")}
    got |= {f"clayton tail {t}": clayton.pml_delta(t) for t in (1, 2, 3, 5)}
    assert set(got) == {entry["name"] for entry in DATA["printed"]}
    for entry in DATA["printed"]:
        assert abs(got[entry["name"]] - entry["value"]) <= 0.51 * 10.0 ** -entry["digits"], entry["name"]
    assert laplace.pmc([-3.0, 7.0]) == pytest.approx([laplace.pmc(0.0)] * 2)
    assert laplace.pml(0.75) == pytest.approx(laplace.pml(0.25))


class TestDerivations:
    """What the chapters derive, in symbols."""

    p, e, U, L = sp.symbols("p e U L", positive=True)  # p_min, e**epsilon, e**epsilon_u, e**-epsilon_l

    def test_the_two_maps(self):
        p, U, L = self.p, self.U, self.L
        lowest = sp.solve(sp.Eq(p * self.e + (1 - p) * U, 1), self.e)[0]  # the lift left to the rarest secret
        assert sp.simplify(1 / lowest - p / (1 - U * (1 - p))) == 0
        highest = sp.solve(sp.Eq(p * self.e + (1 - p) * L, 1), self.e)[0]
        assert sp.simplify(highest - (1 - L * (1 - p)) / p) == 0
        assert sp.simplify(sp.solve(lowest, U)[0] - 1 / (1 - p)) == 0
        there_and_back = highest.subs(L, lowest)
        assert sp.simplify(there_and_back.subs(p, sp.Rational(1, 2)) - U) == 0
        # inverse of each other only at p = 1/2 (U = 1, no leakage at all, is the other root)
        assert set(sp.solve(sp.numer(sp.together(there_and_back - U)), p)) == {sp.Rational(1, 2)}
        assert sp.simplify((lowest + U).subs(p, sp.Rational(1, 2))) == 2

    def test_ldp_bounds_come_from_the_two_extreme_columns(self):
        p, e = self.p, self.e
        assert sp.simplify((p * 1 + (1 - p) * e) - (1 + (1 - p) * (e - 1))) == 0  # P(y) / min, rarest secret low
        assert sp.simplify(e / (p * e + 1 - p) - e / (1 + p * (e - 1))) == 0  # max / P(y), rarest secret high
        larger, smaller = 1 + (1 - p) * (e - 1), e / (1 + p * (e - 1))  # PMC's bound is the larger of the two
        assert sp.simplify((larger / smaller - 1) * e - p * (1 - p) * (e - 1) ** 2) == 0

    def test_randomized_response(self):
        e, k, p = self.e, sp.symbols("k", positive=True), self.p
        p_y = (p * e + (1 - p)) / (k - 1 + e)
        assert sp.simplify(p_y / (1 / (k - 1 + e)) - (1 + p * (e - 1))) == 0
        assert sp.simplify((e / (k - 1 + e)) / p_y - e / (1 + p * (e - 1))) == 0
        assert sp.simplify(k * (e / (k - 1 + e)) - 1 / (1 - (1 - 1 / k) * (1 - 1 / e))) == 0  # the form the code uses

    def test_twice_randomized_response_exceeds_the_sum(self):
        e = self.e
        once, twice = (1 + e) / 2, (1 + e**2) / 2
        assert sp.factor(twice - once**2) == (e - 1) ** 2 / 4
