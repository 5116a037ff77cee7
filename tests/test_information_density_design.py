"""Designed channels: within their budgets, as good as theory says, and the same by a second linear program."""

import math

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, linprog

from dpnotes.information_density import JointLaw, best_channel, most_informative_channel, randomized_response
from dpnotes.information_density._design import _within, posterior_corners

INF = math.inf
PRIOR = np.array([0.2, 0.3, 0.5])


def within(law, pmc=INF, pml=INF, ldp=INF, slack=1e-12):
    assert law.pmc_epsilon() <= pmc + slack and law.pml_epsilon() <= pml + slack and law.ldp_epsilon() <= ldp + slack


@pytest.mark.parametrize("budgets", [(0.3, 0.4), (0.62, 0.7046), (INF, 0.5), (0.5, INF), (2.0, 0.1), (0.0, 1.0), (INF, INF)])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_best_score_by_two_linear_programs(k, budgets):
    """The second program chooses posteriors, corners of a polytope, and lets each take its best action."""
    rng = np.random.default_rng(17 + k)
    for _ in range(5):
        prior, score = rng.dirichlet(np.full(k, 3.0)), rng.normal(size=(k, 4))
        law, value = best_channel(prior, score, pmc=budgets[0], pml=budgets[1])
        within(law, *budgets)
        corners = posterior_corners(law.prior, *budgets)
        other = linprog(-np.max(corners @ score, axis=1), A_eq=corners.T, b_eq=law.prior, bounds=(0, None), method="highs")
        assert value == pytest.approx(-other.fun, abs=1e-8)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_randomized_response_is_the_best_ldp_channel_for_a_uniform_secret(k, epsilon):
    law, value = best_channel(np.full(k, 1 / k), ldp=epsilon)
    assert value == pytest.approx(math.exp(epsilon) / (k - 1 + math.exp(epsilon)), abs=1e-9)
    within(law, ldp=epsilon)


def test_at_equal_ldp_a_designed_channel_beats_randomized_response():
    rr = randomized_response(PRIOR, 1.0)
    own = float(PRIOR @ np.diag(rr.channel))
    law, value = best_channel(PRIOR, pmc=rr.pmc_epsilon(), pml=rr.pml_epsilon(), ldp=1.0)
    assert value > own + 0.008 and law.ldp_epsilon() <= 1 + 1e-9
    # never saying the rarest symbol, binary randomized response on the other two: 0.8 e / (1 + e)
    assert value == pytest.approx(0.8 * math.e / (1 + math.e), abs=1e-9)
    # with the same two budgets but no LDP constraint, more
    assert best_channel(PRIOR, pmc=rr.pmc_epsilon(), pml=rr.pml_epsilon())[1] > value + 0.02


def test_no_random_channel_within_the_budgets_is_better():
    rng = np.random.default_rng(4)
    score = rng.normal(size=(3, 3))
    best = best_channel(PRIOR, score, pmc=0.5, pml=0.4, ldp=0.8)
    best_information = most_informative_channel(PRIOR, pmc=0.5, pml=0.4)[1]
    ldp_information = most_informative_channel(PRIOR, ldp=0.8)[1]
    within(best[0], 0.5, 0.4, 0.8)
    checked = 0
    for _ in range(2000):
        wild, flat = rng.dirichlet(np.full(3, 0.3), size=3), rng.dirichlet(np.ones(3))
        share = rng.uniform(0.1, 0.6)
        law = JointLaw(PRIOR, share * wild + (1 - share) * flat)
        if law.ldp_epsilon() <= 0.8:
            checked += 1
            assert law.mutual_information() <= ldp_information + 1e-9
        if law.pmc_epsilon() <= 0.5 and law.pml_epsilon() <= 0.4:
            assert law.mutual_information() <= best_information + 1e-9
            if law.ldp_epsilon() <= 0.8:
                assert np.sum(PRIOR[:, None] * law.channel * score) <= best[1] + 1e-9
    assert checked > 50


@pytest.mark.parametrize("epsilon", [1e-6, 8.0, 14.0, 22.0, 40.0])
def test_budgets_are_kept_where_the_solver_is_coarse(epsilon):
    law, value = best_channel(np.full(4, 0.25), ldp=epsilon)
    within(law, ldp=epsilon, slack=1e-9)
    assert value == pytest.approx(1 / (1 + 3 * math.exp(-epsilon)), abs=1e-6)
    within(best_channel(PRIOR, pmc=epsilon, pml=0.6)[0], pmc=epsilon, pml=0.6, slack=1e-9)
    within(most_informative_channel(PRIOR, ldp=epsilon)[0], ldp=epsilon, slack=1e-9)
    within(most_informative_channel(PRIOR, pmc=epsilon, pml=0.6)[0], pmc=epsilon, pml=0.6, slack=1e-9)


def test_noise_of_the_solver_is_no_output():
    # an output of probability 1e-12 whose lifts are noise must be dropped, not believed
    noisy = OptimizeResult(x=np.array([[0.6, 0.4, 1e-12], [0.4, 0.6, 0.0]]), message="")
    law = _within(np.array([0.5, 0.5]), noisy, lambda x: x.copy(), pmc=INF, pml=INF, ldp=0.5)
    assert law.output[2] == 0 and law.ldp_epsilon() == pytest.approx(math.log(1.5), rel=1e-9)
    with pytest.raises(RuntimeError, match="not solved: no reason"):
        _within(np.array([0.5, 0.5]), OptimizeResult(x=None, message="no reason"), np.asarray, INF, INF, INF)


def test_no_budget_and_no_room():
    law, value = best_channel(PRIOR)
    assert value == pytest.approx(1) and law.mutual_information() == pytest.approx(-np.sum(PRIOR * np.log(PRIOR)))
    for none in ({"pmc": 0.0}, {"pml": 0.0}, {"ldp": 0.0}):
        law, value = best_channel(PRIOR, **none)
        assert value == pytest.approx(0.5) and law.mutual_information() < 1e-9
        assert most_informative_channel(PRIOR, **none)[1] < 1e-12
    assert most_informative_channel(PRIOR)[1] == pytest.approx(-np.sum(PRIOR * np.log(PRIOR)))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_most_informative_channels(epsilon):
    for prior in (PRIOR, np.array([0.02, 0.08, 0.4, 0.5])):
        law, information = most_informative_channel(prior, ldp=epsilon)
        within(law, ldp=epsilon)
        assert information >= randomized_response(prior, epsilon).mutual_information() - 1e-12
        # within the budgets of the LDP channel, but without its LDP constraint, there is at least as much to tell
        wide, more = most_informative_channel(prior, pmc=law.pmc_epsilon(), pml=law.pml_epsilon())
        within(wide, law.pmc_epsilon(), law.pml_epsilon())
        assert more >= information - 1e-9
    # two secrets: binary randomized response, whatever the prior
    _, information = most_informative_channel([0.3, 0.7], ldp=epsilon)
    assert information == pytest.approx(randomized_response([0.3, 0.7], epsilon).mutual_information(), abs=1e-12)


def test_corners_lie_in_the_polytope():
    corners = posterior_corners(PRIOR, 0.4, 0.3)
    lift = corners / PRIOR
    assert np.allclose(corners.sum(axis=1), 1) and lift.min() >= math.exp(-0.4) - 1e-12 and lift.max() <= math.exp(0.3) + 1e-12
    at_bound = np.isclose(lift, math.exp(-0.4)) | np.isclose(lift, math.exp(0.3))
    assert np.all(at_bound.sum(axis=1) >= 2) and 3 <= len(corners) <= 6


@pytest.mark.parametrize(("call", "words"), [
    (lambda: best_channel([0.5, 0.5, 0.0]), "prior"),
    (lambda: best_channel(PRIOR, np.eye(2)), "score"),
    (lambda: best_channel(PRIOR, [[np.inf] * 3] * 3), "score"),
    (lambda: best_channel(PRIOR, pmc=-0.1), "pmc = -0.1"),
    (lambda: best_channel(PRIOR, pml=[0.1, 0.2]), "pml"),
    (lambda: best_channel(PRIOR, ldp=np.nan), "ldp = nan"),
    (lambda: most_informative_channel(PRIOR, ldp=INF), "ldp = inf"),
    (lambda: most_informative_channel(PRIOR, ldp=1, pmc=1), "ldp = 1"),
    (lambda: most_informative_channel(np.full(11, 1 / 11)), "prior"),
])
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
