"""Exercises of chapter 17: from density to LDP."""

from __future__ import annotations

import numpy as np

from dpnotes.exercises._exercise import Exercise
from dpnotes.information_density import best_channel, ldp_to_pmc, ldp_to_pml, randomized_response_pmc

EXERCISES: dict[str, Exercise] = {
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
