"""When to stop: private checks, ReducedAboveThreshold, Algorithm 1, the accuracy-first loop."""

import inspect
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.signal import fftconvolve
from scipy.stats import binomtest, chisquare, laplace

from dpnotes.ex_post import (
    AboveThresholdCheck,
    AccuracyFirst,
    BrownianMechanism,
    FreshLaplace,
    GaussianCheck,
    LaplaceReduction,
    OneSidedMixture,
    ProbabilisticExPost,
    PublicCheck,
    PureExPost,
    ReducedAboveThresholdCheck,
    RenyiExPost,
    check_margin,
    doubling,
    estimate_mean,
    reduced_above_threshold,
)

DATA = json.loads((Path(__file__).parent / "data" / "ex_post.json").read_text(encoding="utf-8"))
LEVELS = DATA["reduced_above_threshold"]["levels"]


# --- ReducedAboveThreshold -------------------------------------------------------------------------------------------

GRID = np.linspace(-150, 150, 12_001)
STEP = GRID[1] - GRID[0]


def halting_probabilities(scores, levels=tuple(LEVELS), threshold=0.0):
    """P[halt at n] for every n, and P[never], by convolution on a grid (sensitivity 1).

    h_n(z) = P[all answers before n are "below" | zeta_n = z]: read backward, zeta_(n-1) is zeta_n with probability
    (eps_(n-1)/eps_n)**2, otherwise zeta_n plus Laplace noise of scale 2/eps_(n-1).
    """
    h, out = np.ones_like(GRID), []
    for n, (score, e) in enumerate(zip(scores, levels, strict=True)):
        if n:
            scale, stay = 2 / levels[n - 1], (levels[n - 1] / e) ** 2
            kernel = np.exp(-np.abs(GRID) / scale)
            wide = np.concatenate([np.full(GRID.size // 2, h[0]), h, np.full(GRID.size // 2, h[-1])])
            h = stay * h + (1 - stay) * fftconvolve(wide, kernel / kernel.sum(), mode="valid")
        law = np.exp(-np.abs(GRID) * e / 2) * e / 4 * STEP
        below = laplace(0, 4 / e).cdf(threshold + GRID - score)
        out.append(np.sum(law * h * (1 - below)))
        h = h * below
    return np.array([*out, np.sum(law * h)])


def test_reduced_above_threshold_stays_below_its_bounds():
    """Random and worst-looking neighbors, both directions: the log-ratio of halting at n is at most eps_n (eps_N/2 for never)."""
    rng, worst = np.random.default_rng(50), np.zeros(5)
    scores = ([0, 0, 0, 0], [-2, -2, -2, 2], [-5, -5, -5, -5], [3, 2, 1, 8], [-8, -4, -2, 6.0], [-60, -30, -15, 8])
    shifts = ([1, 1, 1, -1], [1, 1, -1, -1], [1, -1, -1, -1], [1, 1, 1, 1])
    pairs = [(np.array(u), np.array(u) + shift) for u in scores for shift in shifts]
    pairs += [(u, u + rng.choice([-1, 1], 4)) for u in rng.normal(0, 4, (12, 4))]
    for u, v in pairs:
        p, q = halting_probabilities(u), halting_probabilities(v)
        assert p.sum() == pytest.approx(1, abs=2e-3)
        worst = np.maximum(worst, np.abs(np.log(p / q)))
    bounds = np.array([*LEVELS, LEVELS[-1] / 2])
    assert np.all(worst <= bounds)
    assert np.all(worst[:4] > np.array(DATA["reduced_above_threshold"]["worst_log_ratios_seen"]) * 0.9)
    assert np.all(worst[1:4] > 0.3 * bounds[1:4])  # so a bound three times smaller would not pass


def test_reduced_above_threshold_runs_with_that_law():
    """Chi-square at level 1e-4 of 8,000 runs against the grid."""
    scores, rng = [-1.0, 0.5, 0.0, 1.0], np.random.default_rng(51)
    runs = [reduced_above_threshold(scores, 0.0, LEVELS, rng=rng) for _ in range(8_000)]
    seen = np.bincount([4 if run.output is None else run.output for run in runs], minlength=5)
    assert chisquare(seen, halting_probabilities(scores) / halting_probabilities(scores).sum() * 8_000).pvalue > 1e-4
    assert all(run.epsilon == LEVELS[3 if run.output is None else run.output] for run in runs)


def test_above_threshold_runs_with_its_law():
    """P[first answer yes] with scales 2 and 4 (2 where monotone) over epsilon, by integration; binomial tests at 1e-4."""
    for monotone, factor in ((False, 4), (True, 2)):
        exact = quad(lambda z, f=factor: laplace(0, 2).pdf(z) * laplace(0, f).sf(z + 1.0), -60, 60, points=[0, -1], limit=200)[0]
        rng = np.random.default_rng(52)
        yes = sum(AboveThresholdCheck(float, 1.5, epsilon=2.0, sensitivity=2.0, monotone=monotone, rng=rng).ask(0.5).passed
                  for _ in range(5_000))
        assert binomtest(yes, 5_000, exact).pvalue > 1e-4


def test_the_noise_on_the_threshold_is_drawn_once():
    """Five questions far from certain: "yes" at question 2 given "no" at 1, against integration over ONE threshold noise."""
    no = [quad(lambda z, k=k: laplace(0, 2).pdf(z) * laplace(0, 4).cdf(z + 1.0) ** k, -80, 80, points=[0, -1], limit=200)[0]
          for k in (1, 5)]
    rng, count, runs = np.random.default_rng(53), 0, 4_000
    for _ in range(runs):
        check = AboveThresholdCheck(float, 1.0, epsilon=1.0, sensitivity=1.0, rng=rng)
        count += not any(check.ask(0.0).passed for _ in range(5) if not check.finished)
    assert binomtest(count, runs, no[1]).pvalue > 1e-4
    assert binomtest(count, runs, no[0] ** 5).pvalue < 1e-6  # fresh threshold noise would be another law


# --- costs of the checks ---------------------------------------------------------------------------------------------

def test_costs():
    definition = RenyiExPost(4)
    gaussian = GaussianCheck(float, 0.5, sigma=0.02, sensitivity=0.001)
    sparse = AboveThresholdCheck(float, 1e9, epsilon=0.7, sensitivity=1.0)
    reduced = ReducedAboveThresholdCheck(float, 1e9, epsilons=[0.1, 0.3, 0.9], sensitivity=1.0)
    public = PublicCheck(bool)
    for check in (gaussian, sparse, reduced, public):
        assert check.epsilon(definition) == 0
    for asked, level in enumerate((0.1, 0.3, 0.9), 1):
        for check in (gaussian, sparse, reduced, public):
            check.ask(0.0)
        assert gaussian.epsilon(definition) == pytest.approx(asked * 4 * 0.001**2 / (2 * 0.02**2))
        assert sparse.epsilon(definition) == definition.pure_epsilon(0.7) < 0.7 == sparse.epsilon(PureExPost())
        assert reduced.epsilon(definition) == reduced.epsilon(PureExPost()) == level
        assert public.epsilon(definition) == 0
    with pytest.raises(RuntimeError, match="No level"):
        reduced.ask(0.0)
    with pytest.raises(ValueError, match="pure"):
        gaussian.epsilon(PureExPost())


def test_a_check_answers_yes_once():
    for check in checks(float, 0.0)[1:]:
        answer = check.ask(1e6)
        assert answer.passed is True and answer.value is None  # no number leaves the check
        with pytest.raises(RuntimeError, match="one positive answer"):
            check.ask(1e6)


def test_the_cost_is_counted_before_the_score_is_computed():
    for check in checks(lambda _: 1 / 0):
        with pytest.raises(ZeroDivisionError):
            check.ask(None)
        assert check.epsilon(RenyiExPost(2)) > 0


def test_margin():
    """With the margin, noise alone lifts one of 10 candidates over the threshold in at most beta of the runs."""
    margin, rng = check_margin(2.0, 10, 0.05), np.random.default_rng(54)
    lifted = rng.normal(0, 2.0, (50_000, 10)).max(axis=1) >= margin
    assert 0.005 < lifted.mean() < 0.05
    assert rng.normal(0, 2.0, (50_000, 10)).max(axis=1).mean() > 3  # without it, the best of ten is well above
    check = GaussianCheck(float, 0.8, sigma=1e-9, sensitivity=1.0, margin=0.1)
    assert not check.ask(0.85).passed and check.ask(0.95).passed


# --- Algorithm 1 -----------------------------------------------------------------------------------------------------

def simulated_algorithm_1(alpha, differs, runs, rng):
    """Log-losses and both bounds of Algorithm 1 with Gaussian checks; the neighbor differs in one of the two parts.

    The differing validation record moves the accuracy by its full sensitivity, in a direction that depends on the release.
    """
    sigmas, sigma_v, sensitivity_v = np.array([4.0, 2.5, 1.5, 1.0]), 0.3, 0.25
    path, time, loss_y, loss_c = np.zeros(runs), 0.0, np.zeros(runs), np.zeros(runs)
    running, asked, rho = np.ones(runs, bool), np.zeros(runs), np.zeros(runs)
    for sigma in sigmas:
        gained, time = sigma**-2 - time, sigma**-2
        step = np.sqrt(gained) * rng.standard_normal(runs)
        path = path + step
        y = 1.0 + path / time  # the value is 1 on the true data and 0 on a training neighbor
        noise = rng.standard_normal(runs)
        shift = sensitivity_v * np.where(y > 1, 1.0, -1.0)
        answer = 0.6 + 0.2 * np.tanh(y) + sigma_v * noise
        loss_y = np.where(running, loss_y + step + gained / 2, loss_y)
        mu = shift / sigma_v
        loss_c = np.where(running, loss_c + mu * noise + mu**2 / 2, loss_c)
        asked, rho = asked + running, np.where(running, time / 2, rho)
        running = running & (answer < 0.9)
    definition = RenyiExPost(alpha)
    bounds = definition.gaussian_epsilon(rho), definition.gaussian_epsilon(asked * sensitivity_v**2 / (2 * sigma_v**2))
    return {"train": loss_y, "validation": loss_c, "both": loss_y + loss_c}[differs], bounds


@pytest.mark.parametrize("alpha", [1.5, 2.0, 2.5])
def test_algorithm_1_is_right_whichever_part_differs(alpha):
    """The part's own bound: 1 within 4.5 standard errors (six estimates); the larger: at most 1; shared rows need the sum."""
    definition, rng = RenyiExPost(alpha), np.random.default_rng(55)
    for index, differs in enumerate(("train", "validation")):
        loss, bounds = simulated_algorithm_1(alpha, differs, 200_000, rng)
        own = estimate_mean(definition, loss, bounds[index])
        assert abs(own.value - 1) < 4.5 * own.standard_error < 0.1
        larger = estimate_mean(definition, loss, np.maximum(*bounds))
        assert larger.value <= 1 + 4.5 * larger.standard_error
    loss, bounds = simulated_algorithm_1(alpha, "both", 200_000, rng)
    total = estimate_mean(definition, loss, bounds[0] + bounds[1])
    too_small = estimate_mean(definition, loss, np.maximum(*bounds))
    assert abs(total.value - 1) < 4.5 * total.standard_error
    assert too_small.value > 1 + 4.5 * too_small.standard_error  # shared rows: the larger bound is NOT enough


# --- the loop --------------------------------------------------------------------------------------------------------

def brownian(**given):
    return BrownianMechanism(np.array([5.0, 3.0]), alpha=4.0, rng=np.random.default_rng(60), **given)


def checks(score=lambda candidate: 0.0, threshold=1e9, **given):
    return [GaussianCheck(score, threshold, sigma=0.5, sensitivity=0.1, **given),
            AboveThresholdCheck(score, threshold, epsilon=0.3, sensitivity=0.1, **given),
            ReducedAboveThresholdCheck(score, threshold, epsilons=doubling(0.05, 9), sensitivity=0.1, **given)]


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize(("rows", "join"), [("disjoint", max), ("overlapping", lambda a, b: a + b)])
def test_bounds_of_the_loop(kind, rows, join):
    loop = AccuracyFirst(brownian(), checks()[kind], [4, 2, 1], rows=rows, build=lambda y: y.sum())
    sigmas, levels = [4.0, 2.0, 1.0], [0.05, 0.1, 0.2]
    for number, step in enumerate(loop, 1):
        train = 4 / (2 * sigmas[number - 1] ** 2)
        check = [number * 4 * 0.01 / (2 * 0.25), RenyiExPost(4).pure_epsilon(0.3), levels[number - 1]][kind]
        assert step.number == number and step.level == sigmas[number - 1] and not step.passed
        assert step.epsilon == loop.epsilon == loop.outcome.epsilon == pytest.approx(join(train, check), rel=1e-12)
        assert step.result == step.output.sum()
    outcome = loop.outcome
    assert len(outcome.transcript) == 3 and not outcome.passed and outcome.definition == RenyiExPost(4)
    assert outcome.result == outcome.transcript[-1].result


def test_it_stops_at_the_first_pass_and_whenever_the_user_wants():
    loop = AccuracyFirst(brownian(), GaussianCheck(lambda y: 1.0, 0.5, sigma=1e-6, sensitivity=1e-9), [4, 2, 1], rows="disjoint")
    outcome = loop.run()
    assert outcome.passed and len(outcome.transcript) == 1 and outcome.epsilon == pytest.approx(4 / 32)
    assert list(loop) == [] and loop.epsilon == outcome.epsilon

    loop = AccuracyFirst(brownian(), checks()[0], [4, 2, 1, 0.5], rows="disjoint")
    assert loop.epsilon == 0 and loop.outcome.result is None and "nothing released" in loop.outcome.statement()
    for step in loop:
        if step.number == 2:
            break
    assert loop.outcome.epsilon == max(4 / 8, 2 * 4 * 0.01 / 0.5) and "2 steps; no pass so far" in loop.outcome.statement()
    assert next(loop).number == 3  # and going on is fine, too

    seen = []

    def interrupted(step):
        seen.append(str(step))
        if step.number == 2:
            raise KeyboardInterrupt
    outcome = AccuracyFirst(brownian(), checks()[1], [4, 2, 1], rows="disjoint").run(interrupted)
    assert len(outcome.transcript) == len(seen) == 2 and "step 2: level 2, not yet, epsilon so far" in seen[1]


def test_a_step_that_fails_half_way_is_paid_for():
    def failing(candidate):
        raise ZeroDivisionError
    for check in checks(failing):
        loop = AccuracyFirst(brownian(), check, [1.0], rows="overlapping")
        with pytest.raises(ZeroDivisionError):
            next(loop)
        assert loop.epsilon == pytest.approx(2.0 + check.epsilon(RenyiExPost(4))) and loop.epsilon > 2.0


def test_levels_may_be_chosen_from_the_transcript():
    def halve(transcript):
        if not transcript:
            return 4.0
        return transcript[-1].level / (2 if transcript[-1].output[0] > -1e9 else 3) if len(transcript) < 3 else None

    outcome = AccuracyFirst(brownian(), checks()[0], halve, rows="disjoint").run()
    assert [step.level for step in outcome.transcript] == [4.0, 2.0, 1.0]


def test_pure_loops_and_probabilistic_ones():
    pure = AccuracyFirst(LaplaceReduction(3.0), checks()[2], doubling(0.1, 3), rows="disjoint").run()
    assert pure.definition == PureExPost() and pure.epsilon == pytest.approx(0.4) and "pure ex-post" in pure.statement()
    fresh = AccuracyFirst(FreshLaplace(3.0), checks()[1], doubling(0.1, 3), rows="overlapping").run()
    assert fresh.epsilon == pytest.approx(0.7 + 0.3)
    noisy = GaussianCheck(lambda y: 0.0, 1e9, sigma=0.5, sensitivity=0.1, alpha=3)
    mixed = AccuracyFirst(LaplaceReduction(3.0), noisy, [0.1], rows="disjoint").run()
    assert mixed.definition == RenyiExPost(3) and mixed.epsilon == 0.1
    boundary = OneSidedMixture.for_target(1.0, 1e-6)
    wide = AccuracyFirst(BrownianMechanism(0.0, boundary=boundary), checks()[1], [2.0, 1.0], rows="overlapping").run()
    assert wide.definition == ProbabilisticExPost(1e-6) and wide.epsilon == pytest.approx(boundary.epsilon(0.5) + 0.3)
    assert "does NOT survive post-processing" in wide.statement()


def test_the_four_pitfalls_are_hard_to_commit():
    # A raw check.
    with pytest.raises(ValueError, match="raw answer from private rows"):
        AccuracyFirst(brownian(), lambda y: y.sum() > 3, [1.0], rows="disjoint")
    with pytest.raises(ValueError, match="sigma"):
        GaussianCheck(float, 0.5, sigma=0.0, sensitivity=0.1)
    # alpha after the stop: it is part of the release, and neither the outcome nor its statement takes another.
    assert "alpha" not in inspect.signature(AccuracyFirst).parameters
    outcome = AccuracyFirst(brownian(), checks()[0], [1.0], rows="disjoint").run()
    with pytest.raises(TypeError):
        outcome.statement(alpha=8)
    # Rows shared by release and check have to be declared.
    for rows in (None, "mostly disjoint"):
        with pytest.raises(ValueError, match="rows"):
            AccuracyFirst(brownian(), checks()[0], [1.0], rows=rows)
    # Upward noise among many checks: a margin is offered.
    assert "margin" in inspect.signature(GaussianCheck).parameters


def test_what_does_not_fit_together_is_refused_before_anything_is_released():
    with pytest.raises(ValueError, match="neighbors"):
        AccuracyFirst(brownian(), checks(neighbors="replace one record")[0], [1.0], rows="disjoint")
    with pytest.raises(ValueError, match="pure"):
        AccuracyFirst(LaplaceReduction(0.0), checks()[0], [1.0], rows="disjoint")
    with pytest.raises(ValueError, match="order"):
        AccuracyFirst(brownian(), GaussianCheck(float, 0, sigma=1, sensitivity=1, alpha=3), [1.0], rows="disjoint")
    with pytest.raises(ValueError, match="Rényi"):
        AccuracyFirst(BrownianMechanism(0.0, boundary=OneSidedMixture(1, 0.1)), checks()[0], [1.0], rows="disjoint")
    with pytest.raises(ValueError, match="release"):
        AccuracyFirst(lambda sigma: 1.0, checks()[0], [1.0], rows="disjoint")
    used, asked = brownian(), checks()[1]
    used.release(3.0)
    asked.ask(0.0)
    with pytest.raises(ValueError, match="not in its transcript"):
        AccuracyFirst(used, checks()[0], [1.0], rows="disjoint")
    with pytest.raises(ValueError, match="not in its transcript"):
        AccuracyFirst(brownian(), asked, [1.0], rows="disjoint")


def test_what_the_statement_says():
    replace = {"neighbors": "replace one record"}
    outcome = AccuracyFirst(brownian(**replace), checks(**replace)[1], [2.0], rows="disjoint").run()
    text = outcome.statement(delta=1e-6)
    for part in ("alpha = 4", "epsilon = 0.5", "upper bound", "replace one record", "survives post-processing", "disjoint",
                 "delta = 1e-06", "P[loss > 5.10518]", "1 steps", "no pass"):
        assert part in text
    with pytest.raises(ValueError, match="delta"):
        outcome.statement(delta=0)
    public = AccuracyFirst(brownian(), PublicCheck(lambda y: y[0] > -100), [2.0, 1.0])
    assert public.run().passed and public.epsilon == 0.5 and "reads nothing private" in public.outcome.statement()


@pytest.mark.parametrize("bad", [
    {"sensitivity": 0}, {"sensitivity": math.inf}, {"threshold": math.nan}, {"neighbors": "x"}, {"rng": 5}])
def test_bad_arguments_of_checks(bad):
    for make in (lambda **k: GaussianCheck(float, k.pop("threshold", 0.5), sigma=1, **({"sensitivity": 1} | k)),
                 lambda **k: AboveThresholdCheck(float, k.pop("threshold", 0.5), epsilon=1, **({"sensitivity": 1} | k)),
                 lambda **k: ReducedAboveThresholdCheck(float, k.pop("threshold", 0.5), epsilons=[1],
                                                        **({"sensitivity": 1} | k))):
        with pytest.raises(ValueError, match=next(iter(bad))):
            make(**bad)


def test_bad_scores_and_levels():
    with pytest.raises(ValueError, match="score"):
        GaussianCheck(0.9, 0.5, sigma=1, sensitivity=1)
    with pytest.raises(ValueError, match="score"):
        GaussianCheck(lambda y: math.nan, 0.5, sigma=1, sensitivity=1).ask(None)
    rising = ReducedAboveThresholdCheck(float, 1e9, epsilons=[1.0, 1.0], sensitivity=1)
    rising.ask(0.0)
    with pytest.raises(ValueError, match="rising"):
        rising.ask(0.0)
    for scores, epsilons in (([0, 0], [1]), ([0, 0], [2, 1]), ([0], [0])):
        with pytest.raises(ValueError, match="epsilons"):
            reduced_above_threshold(scores, 0.0, epsilons)
    with pytest.raises(ValueError, match="beta"):
        check_margin(1.0, 3, 0.0)
    with pytest.raises(ValueError, match="checks"):
        check_margin(1.0, 0, 0.1)
    with pytest.raises(ValueError, match="first"):
        doubling(0.0, 3)
