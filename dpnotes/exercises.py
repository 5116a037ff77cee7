"""The checks behind the exercises: `check(name, answer)` says right or wrong and why, and never shows the answer.

An exercise holds a function that computes the right answer, so that no answer is typed anywhere, and the mistakes worth
telling apart, each as a wrong answer that a slip would give. What a reader sees is worded here, from a code.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from dpnotes._validate import fail
from dpnotes.information_density import (
    JointLaw,
    best_channel,
    ldp_to_pmc,
    ldp_to_pml,
    pmc_to_pml,
    pml_to_pmc,
    randomized_response_pmc,
)
from dpnotes.mechanisms import Gaussian, Laplace, RandomizedResponse
from dpnotes.privacy_loss import DiscreteLoss

LN3 = float(np.log(3))


@dataclass(frozen=True)
class Exercise:
    """One question. `answer` computes the truth; each of `mistakes` maps a wrong value to what went wrong."""

    chapter: int
    answer: Callable[[], Any]
    hint: str
    mistakes: dict[str, Callable[[], Any]] = field(default_factory=dict)
    arguments: tuple | None = None  # given where the answer is a function: what to call it with


EXERCISES: dict[str, Exercise] = {
    # Chapter 01
    "posterior-from-odds": Exercise(
        1, lambda: 0.1 * np.exp(1.5) / (0.9 + 0.1 * np.exp(1.5)),
        "Turn the prior into odds, multiply the odds, and turn back: p = odds / (1 + odds).",
        {"That multiplies the probability. The guarantee multiplies the odds.": lambda: 0.1 * np.exp(1.5),
         "Those are the odds. The question asks for a probability.": lambda: np.exp(1.5) / 9}),
    "truth-of-four": Exercise(
        1, lambda: RandomizedResponse(1.0, k=4).truth,
        "The odds of the truth against any one lie are exp(ε); there are three lies to share the rest.",
        {"That is the probability for two answers. With four there are three lies.": lambda: RandomizedResponse(1.0).truth,
         "That is the probability of one given lie.": lambda: RandomizedResponse(1.0, k=4).lie}),
    "debias-by-hand": Exercise(
        1, lambda: RandomizedResponse(LN3).estimate_counts(np.repeat([0, 1], [28_842, 20_000]))[1],
        "Expected reports = truth × count + lie × (n − count). Solve for the count.",
        {"That is what was reported. Some of it is lies.": lambda: 20_000,
         "Only the truth-tellers were corrected for; the lies of the others are still in it.": lambda: 20_000 / 0.75}),
    "sensitivity-two-ways": Exercise(
        1, lambda: (90.0, 72.0),
        "Adding or removing a record changes the sum by that record's value; replacing one, by a difference of two values.",
        {"In that order the relations are swapped.": lambda: (72.0, 90.0),
         "An added record need not differ from anything: its whole value counts.": lambda: (72.0, 72.0),
         "A replacement takes one value away as it brings another.": lambda: (90.0, 90.0),
         "Adding and taking away at once cannot exceed the range.": lambda: (90.0, 180.0)}),
    # Chapter 02
    "loss-at-an-output": Exercise(
        2, lambda: ((1003 - 1001) ** 2 - (1003 - 1000) ** 2) / (2 * 2.0**2),
        "L is the difference of two logarithms of normal densities; the constants cancel.",
        {"The sign is turned: L is the logarithm of P over Q, and this output is likelier under Q.": lambda: 0.625,
         "Divide by 2σ², not by σ².": lambda: -1.25,
         "That is the gain exp(L).": lambda: np.exp(-0.625)}),
    "mean-loss-of-response": Exercise(
        2, lambda: RandomizedResponse(1.0).privacy_loss().mean(),
        "L is +ε with the probability of the truth and −ε otherwise. Weigh the two.",
        {"That is the largest loss, not the mean.": lambda: 1.0,
         "That is the mean of exp(L); the question asks for the mean of L.":
             lambda: np.exp(RandomizedResponse(1.0).privacy_loss().renyi(2))}),
    "mean-of-inverse-gain": Exercise(
        2, lambda: 1.0,
        "Write the mean under P as a sum of P(y) · Q(y)/P(y).",
        {"That is the mean of exp(L), the other way up.": lambda: np.exp(Laplace(1 / LN3).privacy_loss().renyi(2)),
         "That is the inverse of a mean. The mean of an inverse is something else.":
             lambda: np.exp(-Laplace(1 / LN3).privacy_loss().renyi(2))}),
    "laplace-loss-function": Exercise(
        2, lambda: lambda y, epsilon: epsilon * np.clip(1 - 2 * (np.asarray(y) - 1000), -1, 1),
        "log P(y) − log Q(y) = ε (|y − 1001| − |y − 1000|).",
        {"The sign is turned: left of 1000 the loss is +ε.":
             lambda: lambda y, epsilon: -epsilon * np.clip(1 - 2 * (np.asarray(y) - 1000), -1, 1),
         "The factor ε is missing: the noise has scale 1/ε.":
             lambda: lambda y, epsilon: np.clip(1 - 2 * (np.asarray(y) - 1000), -1, 1)},
        arguments=(np.array([990.0, 999.5, 1000.0, 1000.3, 1000.5, 1000.9, 1001.0, 1010.0]), 0.7)),
    # Chapter 03
    "width-of-gaussian": Exercise(
        3, lambda: Gaussian(sigma=2).privacy_loss().tail(1.0),
        "L is normal with mean 1/(2σ²) and standard deviation 1/σ.",
        {"That is the area δ. The width counts every bad event in full.": lambda: Gaussian(sigma=2).privacy_loss().delta(1.0),
         "That is P[L ≤ ε], the good events.": lambda: Gaussian(sigma=2).privacy_loss().cdf(1.0),
         "The mean of L is 1/(2σ²), not 0.": lambda: Gaussian(sigma=2).privacy_loss().tail(1.125)}),
    "area-of-gaussian": Exercise(
        3, lambda: Gaussian(sigma=2).privacy_loss().delta(1.0),
        "δ = P[S] − exp(ε) Q[S] for the set S of outputs with L > ε.",
        {"That is the width. Take exp(ε) Q[S] off.": lambda: Gaussian(sigma=2).privacy_loss().tail(1.0)}),
    "threshold-for-delta": Exercise(
        3, lambda: 1 + np.log(1 / (2 * 1e-6)) / LN3,
        "The only bad event is that a lone person is published: 1 + noise > threshold. Its probability must be at most δ.",
        {"The person counts 1 before any noise: the threshold must lie higher by 1.": lambda: np.log(1 / (2 * 1e-6)) / LN3,
         "Only half of the noise is positive.": lambda: 1 + np.log(1 / 1e-6) / LN3,
         "The scale is 1/ln 3, not ln 3.": lambda: 1 + np.log(1 / (2 * 1e-6)) * LN3}),
    "larger-direction": Exercise(
        3, lambda: max(_uneven().delta(np.log(1.5)), _uneven().swapped.delta(np.log(1.5))),
        "Compute P[S] − exp(ε) Q[S] for the best S, then again with P and Q swapped. Both orders are promised.",
        {"That is one direction. The other needs more.":
             lambda: min(_uneven().delta(np.log(1.5)), _uneven().swapped.delta(np.log(1.5))),
         "The two directions do not add up: each is a promise of its own.":
             lambda: _uneven().delta(np.log(1.5)) + _uneven().swapped.delta(np.log(1.5))}),
    # Chapter 11
    "bound-after-merging": Exercise(
        11, lambda: float(_ex_post().FinitePair([0.5, 0.5], [0.3, 0.7], [0.5, 2.0]).averaged_bound([[1.0], [1.0]])[0]),
        "Average exp(E) over the two outputs with Q's probabilities, then take the logarithm.",
        {"That is the mean of the bounds. Average exp(E), then take the logarithm.": lambda: 0.3 * 0.5 + 0.7 * 2,
         "That bound needs no data, but with Q known a smaller one follows.": lambda: 2.0,
         "The probabilities are exchanged.": lambda: np.log(0.7 * np.exp(0.5) + 0.3 * np.exp(2))}),
    "width-after-merging": Exercise(
        11, lambda: _drop().merge([0, 0, 1]).mean(_ex_post().ProbabilisticExPost(0.01)),
        "Merge first. Then see on which side of the bound the loss of the new output lies.",
        {"That was the probability before the merge, and it is the area, before and after.": lambda: 0.01,
         "Output a is merged with b and goes over the edge with it.": lambda: 0.30}),
    "smallest-fair-claim": Exercise(
        11, lambda: np.log(2.25) - np.log(11 / 12),
        "Write E_Q[W] as a sum over the two outputs, with the bound of the first as the unknown, and set it to 1.",
        {"That is the constant bound for both outputs. The second returns 0.": lambda: np.log(2.25 + 1 / 12),
         "That makes the first term alone equal to 1; the second pays something, too.": lambda: np.log(2.25),
         "That is the loss of the first output. The bet also pays on the second.": lambda: LN3}),
    "quote-with-delta": Exercise(
        11, lambda: _ex_post().renyi_to_approximate(1.2, 10, 1e-6),
        "Add (ln(1/δ) − ln α)/(α − 1) + ln(1 − 1/α) to the bound.",
        {"That is the probabilistic bound, which does not survive post-processing.":
             lambda: _ex_post().renyi_to_probabilistic(1.2, 10, 1e-6),
         "The last term, ln(1 − 1/α), is missing.": lambda: 1.2 + (np.log(1e6) - np.log(10)) / 9,
         "Divide by α − 1, not by α.": lambda: 1.2 + (np.log(1e6) - np.log(10)) / 10 + np.log(0.9)}),
    # Chapter 12
    "fresh-noise": Exercise(
        12, lambda: (2.0**-2 - 3.0**-2) ** -0.5,
        "Precisions add: that of the fresh noise is 1/σ₂² − 1/σ₁².",
        {"Variances are not what is subtracted. Precisions are.": lambda: np.sqrt(3.0**2 - 2.0**2),
         "That would be a release that ignores the first one.": lambda: 2.0,
         "That is the variance. The question asks for the standard deviation.": lambda: 1 / (2.0**-2 - 3.0**-2)}),
    "averaging-releases": Exercise(
        12, lambda: 0.2**2 * 4 + 0.8**2 * 1 + 2 * 0.2 * 0.8 * 1,
        "The weights are 1/5 and 4/5, and the covariance of the two releases is the variance of the later one.",
        {"That would be right if the two were independent. The second release contains the first.": lambda: 1 / (1 / 4 + 1),
         "That is the variance of the second release alone. The average is worse.": lambda: 1.0}),
    "stay-put": Exercise(
        12, lambda: (0.5 / 0.8) ** 2,
        "The probability is the square of the ratio of the two levels.",
        {"That is the ratio of the levels. It has to be squared.": lambda: 0.5 / 0.8,
         "That is the probability of a move.": lambda: 1 - (0.5 / 0.8) ** 2}),
    "order-for-target": Exercise(
        12, lambda: (_ex_post().best_alpha(0.5, 1e-5), _ex_post().LinearBoundary.for_target(0.5, 1e-5).epsilon(0.5)),
        "Minimize α ρ + ln(1/δ)/(α − 1) over α; the derivative is zero where (α − 1)² = ln(1/δ)/ρ.",
        {"The order is α, not α − 1.":
             lambda: (_ex_post().best_alpha(0.5, 1e-5) - 1, _ex_post().LinearBoundary.for_target(0.5, 1e-5).epsilon(0.5)),
         "The second number is the Rényi bound αρ. Read it at δ.":
             lambda: (_ex_post().best_alpha(0.5, 1e-5), 0.5 * _ex_post().best_alpha(0.5, 1e-5))}),
    # Chapter 13
    "both-sides": Exercise(
        13, lambda: max(4 / (2 * 2.0**2), 8 * 4 * (1 / 500) ** 2 / (2 * 0.01**2)),
        "Compute the bound of the release and the bound of all checks, each αρ. The rows are disjoint.",
        {"On disjoint rows the larger of the two counts, not the sum.":
             lambda: 4 / (2 * 2.0**2) + 8 * 4 * (1 / 500) ** 2 / (2 * 0.01**2),
         "That is the release alone. The checks cost more here.": lambda: 4 / (2 * 2.0**2),
         "That is one check. There were eight, and each answer costs.": lambda: 4 * (1 / 500) ** 2 / (2 * 0.01**2)}),
    "margin-of-checks": Exercise(
        13, lambda: _ex_post().check_margin(0.01, 30, 0.05),
        "σ √(2 ln(K/β)), with K the number of checks.",
        {"That is the margin for a single check. Among several, the luckiest passes.":
             lambda: _ex_post().check_margin(0.01, 1, 0.05),
         "The 2 under the root is missing.": lambda: _ex_post().check_margin(0.01, 30, 0.05) / np.sqrt(2)}),
    "questions-and-release": Exercise(
        13, lambda: 0.4 + 0.3,
        "Three questions were asked, and only the last one's level counts; then ask whether the rows are shared.",
        {"The larger one counts on disjoint rows. Here both look at the same rows.": lambda: 0.4,
         "The levels of the questions do not add up: the noise on the threshold is reduced.": lambda: 0.1 + 0.2 + 0.4 + 0.3,
         "The level of the fourth question was not used.": lambda: 0.8 + 0.3}),
    "doubled-until-good": Exercise(
        13, lambda: (0.05 * 2**5, sum(_ex_post().doubling(0.05, 6))),
        "The sixth level is the first one doubled five times; independent noise pays for all six.",
        {"The first level is level 1, so it was doubled one time less.": lambda: (0.05 * 2**6, sum(_ex_post().doubling(0.05, 7))),
         "In that order they are exchanged.": lambda: (sum(_ex_post().doubling(0.05, 6)), 0.05 * 2**5)}),
    # Chapter 16
    "both-ends-of-density": Exercise(
        16, lambda: _both_ends(JointLaw([0.1, 0.9], [[0.8, 0.2], [0.4, 0.6]])),
        "Find P[output 0], divide both rows' probabilities by it, and take logarithms; PMC is minus the smaller one.",
        {"In that order leakage and cost are swapped.": lambda: _both_ends(JointLaw([0.1, 0.9], [[0.8, 0.2], [0.4, 0.6]]))[::-1],
         "PMC is minus the smallest density, so that it is never negative.": lambda: (np.log(0.8 / 0.44), np.log(0.4 / 0.44)),
         "Those are lifts. The question asks for logarithms.": lambda: (0.8 / 0.44, 0.44 / 0.4),
         "The output's probability weighs the rows by the prior, not equally.": lambda: (np.log(0.8 / 0.6), np.log(0.6 / 0.4))}),
    "savings-of-an-insurer": Exercise(
        16, lambda: np.log(0.45 / (1 - 0.30 / 0.36)),
        "For both times compare the best guess with declining. A guess is wrong with probability 1 minus its belief.",
        {"Before the output, declining is cheaper than the best guess.": lambda: np.log(0.5 / (1 - 0.30 / 0.36)),
         "That is the most any adversary saves, the PMC. This one saves less.": lambda: np.log(3.6),
         "That is after over before; saving is before over after.": lambda: np.log((1 - 0.30 / 0.36) / 0.45),
         "That is a difference of costs. The question asks for the logarithm of a ratio.": lambda: 0.45 - (1 - 0.30 / 0.36)}),
    "cost-from-leakage": Exercise(
        16, lambda: pml_to_pmc(0.1, 0.25),
        "Check the condition, then use the first part of the theorem on conversions with the smallest prior probability.",
        {"That is the way back, from cost to leakage.": lambda: pmc_to_pml(0.1, 0.25),
         "That is the factor. The question asks for its logarithm.": lambda: np.exp(pml_to_pmc(0.1, 0.25)),
         "The smallest prior probability stands in the numerator, the rest of the prior at the factor.":
             lambda: np.log(0.75 / (1 - np.exp(0.1) * 0.25))}),
    "leakage-that-says-nothing": Exercise(
        16, lambda: -np.log(1 - 0.05),
        "The others together have 1 − p. Find the factor with which they fill everything.",
        {"That is the most that can leak at all.": lambda: -np.log(0.05),
         "That is the factor. The question asks for its logarithm.": lambda: 1 / 0.95}),
    "response-within-a-cost": Exercise(
        16, lambda: np.log(1 + np.expm1(0.5) / 0.5),
        "The worst cost of randomized response is at the commonest secret. Set the formula equal to the budget.",
        {"That takes the rarest secret; the commonest costs most.": lambda: np.log(1 + np.expm1(0.5) / 0.2),
         "That is safe for every LDP mechanism. Randomized response with three answers may use more.":
             lambda: np.log(1 + np.expm1(0.5) / 0.8),
         "That is the cost at this ε. The question asks for the ε of this cost.": lambda: randomized_response_pmc(0.5, 0.5)}),
    # Chapter 17
    "cost-of-any-mechanism": Exercise(
        17, lambda: ldp_to_pmc(0.5, 0.1),
        "The mechanism is not known: use the theorem for every LDP mechanism, with the smallest prior probability.",
        {"That holds for randomized response, and nobody said it was that.": lambda: randomized_response_pmc(0.5, 0.6),
         "That is true and can be sharpened: the prior is known.": lambda: 0.5,
         "That is the bound for leakage.": lambda: ldp_to_pml(0.5, 0.1),
         "Everything but the rarest secret speaks against it: take 1 − p.": lambda: randomized_response_pmc(0.5, 0.1)}),
    "cost-of-a-noisy-bit": Exercise(
        17, lambda: np.log(0.05 + 0.95 * np.exp(0.5)),
        "The worst outputs lie outside [0, 1]. Compare both sides, and take the logarithm of a mean.",
        {"That is the other side. The larger of the two counts.": lambda: np.log(0.95 + 0.05 * np.exp(0.5)),
         "That is the LDP parameter, a bound that only a constant secret would reach.": lambda: 0.5,
         "The scale divides the range: the exponent is 1/2.": lambda: np.log(0.05 + 0.95 * np.exp(2.0))}),
    "entry-or-database": Exercise(
        17, lambda: (np.log(np.expm1(2) / 2), 10 * np.log(np.expm1(2) / 2)),
        "For one entry the range is 1/10. For the database the entries are independent, so that moments multiply.",
        {"Those are bounds. The question asks for exact values.": lambda: (2.0, 20.0),
         "The whole database is exposed more than one entry.": lambda: (np.log(np.expm1(2) / 2), np.log(np.expm1(2) / 2)),
         "That divides the worst cost of a single number by ten; the exponent has to be divided.":
             lambda: (np.log(np.expm1(20) / 20) / 10, np.log(np.expm1(20) / 20)),
         "In that order the two are swapped.": lambda: (10 * np.log(np.expm1(2) / 2), np.log(np.expm1(2) / 2))}),
    "cost-of-three-answers": Exercise(
        17, lambda: randomized_response_pmc(1.5, 0.7),
        "Three answers that agree act like one answer with 3ε. Take the value that costs more.",
        {"Costs for the original prior do not add.": lambda: 3 * randomized_response_pmc(0.5, 0.7),
         "That is the LDP of the three answers, a bound.": lambda: 1.5,
         "The commoner value costs more when the answers name it.": lambda: randomized_response_pmc(1.5, 0.3)}),
    "leakage-of-a-rare-secret": Exercise(
        17, lambda: np.log(1 - 0.002 + 0.002 * 10_000),
        "Divide the posterior of the symbol that came out by its prior, and take the logarithm.",
        {"That is the cost.": lambda: -np.log(1 - 0.002),
         "That is the leakage of telling the truth always.": lambda: np.log(10_000.0),
         "That is the lift. The question asks for its logarithm.": lambda: 1 - 0.002 + 0.002 * 10_000}),
    "design-under-leakage": Exercise(
        17, lambda: best_channel([0.2, 0.3, 0.5], pml=0.3)[1],
        "Use best_channel with a budget for pml only.",
        {"That is the constant answer; the budget allows more.": lambda: 0.5,
         "No channel lifts the commonest secret at every output: beliefs average to the prior.": lambda: 0.5 * np.exp(0.3)}),
}


def _both_ends(law: JointLaw) -> tuple[float, float]:
    return law.pml(0), law.pmc(0)


def _uneven() -> DiscreteLoss:
    return DiscreteLoss.from_probabilities([0.9, 0.1], [0.5, 0.5])


def _ex_post() -> Any:
    from dpnotes import ex_post  # on first use: `check` stays light for the chapters before

    return ex_post


def _drop() -> Any:
    """Three outputs with the bound ln 3: a drop beyond it, one exactly at it, the rest."""
    return _ex_post().FinitePair([0.01, 0.30, 0.69], [0.0, 0.10, 0.90], LN3)


@dataclass(frozen=True)
class Verdict:
    """What `check` says. `code` is "open", "right", "near", "mistake" or "wrong"."""

    name: str
    code: str
    why: str = ""

    def __str__(self) -> str:
        words = {"open": "not answered yet", "right": "right", "near": "nearly: give at least four digits",
                 "mistake": "not yet", "wrong": "not yet"}[self.code]
        return f"{self.name}: {words}. {self.why}".strip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sign = {"open": "○", "right": "✓", "near": "≈"}.get(self.code, "✗")
        return f'<div class="dp-verdict dp-verdict-{self.code}"><span aria-hidden="true">{sign}</span> {escape(str(self))}</div>'


def check(name: str, answer: Any = None) -> Verdict:
    """Check an answer to the exercise `name`: a number, a tuple or array of numbers, or a function, as the question asks.

    With no answer (None or ...) it says so and does not raise. Numbers are compared to a relative 1e-4, so four right
    digits pass. An unknown name is a ValueError that suggests the nearest one.
    """
    if not isinstance(name, str) or name not in EXERCISES:
        near = difflib.get_close_matches(str(name), EXERCISES, n=1)
        raise fail("name", name, "the name of an exercise" + (f" (did you mean {near[0]!r}?)" if near else ""))
    exercise = EXERCISES[name]
    if answer is None or answer is ...:
        return Verdict(name, "open")
    truth = exercise.answer()
    try:
        given = _values(answer, exercise)
    except Exception as error:  # the reader's own function may raise anything
        return Verdict(name, "wrong", f"The answer could not be read: {type(error).__name__}: {error}.")
    expected = _values(truth, exercise)
    if given.shape != expected.shape:
        wanted = {0: "one number"}.get(expected.ndim, f"{expected.size} numbers")
        return Verdict(name, "wrong", f"The answer should be {wanted}.")
    if _close(given, expected, 1e-4):
        return Verdict(name, "right")
    for why, mistake in exercise.mistakes.items():
        if _close(given, _values(mistake(), exercise), 1e-3):
            return Verdict(name, "mistake", why)
    if _close(given, expected, 2e-2):
        return Verdict(name, "near")
    return Verdict(name, "wrong", exercise.hint)


def _values(answer: Any, exercise: Exercise) -> np.ndarray:
    if exercise.arguments is not None:
        if not callable(answer):
            raise TypeError("a function is asked for")
        answer = answer(*exercise.arguments)
    if np.asarray(answer).dtype.kind not in "iufO":  # neither True nor "1" is the number 1 here
        raise TypeError("real numbers are asked for")
    return np.asarray(answer, dtype=float)


def _close(given: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return bool(np.allclose(given, expected, rtol=tolerance, atol=1e-9))
