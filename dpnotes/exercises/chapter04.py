"""Exercises of chapter 04: composition."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.accountants import BasicFilter
from dpnotes.exercises._exercise import Exercise
from dpnotes.mechanisms import Gaussian, RandomizedResponse

EXERCISES: dict[str, Exercise] = {
    "price-of-a-morning": Exercise(
        4, lambda: conversions.basic_composition([0.3, 0.25, 0.7])[0],
        "Releases about the same people add up; rows of a table in which each person appears once do not.",
        {"A person is in one row of the table only: charge the table once.": lambda: 0.3 + 16 * 0.25 + 0.7,
         "That is the old bookkeeper, three times the top price.": lambda: 3 * 0.7,
         "Only the rows of the table are disjoint. The three releases add up.": lambda: 0.7}),
    "top-of-the-ladder": Exercise(
        4, lambda: float(np.exp(RandomizedResponse(0.5).privacy_loss().repeat(8).log_masses[-1])),
        "The loss is at its largest when every coin tells the truth.",
        {"That is one coin. All eight must tell the truth.": lambda: RandomizedResponse(0.5).truth,
         "That is the lowest rung, where every coin lies.": lambda: RandomizedResponse(0.5).lie ** 8}),
    "area-of-two-coins": Exercise(
        4, lambda: RandomizedResponse(np.log(3)).privacy_loss().repeat(2).delta(np.log(3)),
        "List the three possible losses with their probabilities, and weigh those above ε by how bad they are.",
        {"That is the width. Two truths are not infinitely bad: weigh them.":
             lambda: RandomizedResponse(np.log(3)).privacy_loss().repeat(2).tail(np.log(3)),
         "That is the area at ε = 0.": lambda: RandomizedResponse(np.log(3)).privacy_loss().repeat(2).delta(0.0)}),
    "drift-and-spread": Exercise(
        4, lambda: conversions.advanced_composition(0.05, 200, 1e-5)[0],
        "Spread: ε times the root of 2k ln(1/δ'). Drift: kε(exp(ε) − 1). Add the two.",
        {"The drift is missing.": lambda: 0.05 * np.sqrt(400 * np.log(1e5)),
         "The logarithm is a natural one.": lambda: 0.05 * np.sqrt(400 * 5) + 10 * np.expm1(0.05),
         "That has the smaller drift, with tanh(ε/2). Use the displayed one.":
             lambda: 0.05 * np.sqrt(400 * np.log(1e5)) + 10 * np.tanh(0.025),
         "The 2 under the root is missing.": lambda: 0.05 * np.sqrt(200 * np.log(1e5)) + 10 * np.expm1(0.05)}),
    "fair-shares-of-delta": Exercise(
        4, lambda: 10 * Gaussian(sigma=2).privacy_loss().epsilon(1e-7),
        "Divide δ among the ten first, then read the ε of one answer at its share.",
        {"With that each answer has the whole δ, and the total δ is ten times too large.":
             lambda: 10 * Gaussian(sigma=2).privacy_loss().epsilon(1e-6),
         "That is what the ten really cost; the plain sum is asked for.":
             lambda: Gaussian(sigma=2).privacy_loss().repeat(10).epsilon(1e-6),
         "That is one answer. There are ten.": lambda: Gaussian(sigma=2).privacy_loss().epsilon(1e-7)}),
    "write-a-filter": Exercise(
        4, lambda: _spent, "Compare each price with what is left, spend it or 0, and go on to the next.",
        {"A refusal ends nothing: the next price may still fit.": lambda: _until_refused,
         "Nothing was refused. The budget must never be exceeded.": lambda: lambda prices, budget: list(prices),
         "Prices that use the budget up exactly fit: count in fractions, or allow for rounding.": lambda: _in_floats},
        arguments=([0.1, 0.2, 0.5, 0.3, 0.05], 0.6)),
}


def _spent(prices: list[float], budget: float) -> list[float]:
    kept, taken = BasicFilter(budget), []
    for price in prices:
        fits = kept.can(price)
        kept.spend(price if fits else 0)
        taken.append(price if fits else 0.0)
    return taken


def _until_refused(prices: list[float], budget: float) -> list[float]:
    first = _spent(prices, budget).index(0.0)
    return [*prices[:first], *[0.0] * (len(prices) - first)]


def _in_floats(prices: list[float], budget: float) -> list[float]:
    total, taken = 0.0, []
    for price in prices:
        fits = total + price <= budget
        total += price * fits
        taken.append(price if fits else 0.0)
    return taken
