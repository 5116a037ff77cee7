"""Exercises of chapter 16: leakage and cost."""

from __future__ import annotations

import numpy as np

from dpnotes.exercises._exercise import Exercise
from dpnotes.information_density import JointLaw, pmc_to_pml, pml_to_pmc, randomized_response_pmc

EXERCISES: dict[str, Exercise] = {
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
}


def _both_ends(law: JointLaw) -> tuple[float, float]:
    return law.pml(0), law.pmc(0)
