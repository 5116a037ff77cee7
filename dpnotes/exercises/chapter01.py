"""Exercises of chapter 01: odds and neighbors."""

from __future__ import annotations

import numpy as np

from dpnotes.exercises._exercise import Exercise
from dpnotes.mechanisms import RandomizedResponse

LN3 = float(np.log(3))

EXERCISES: dict[str, Exercise] = {
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
}
