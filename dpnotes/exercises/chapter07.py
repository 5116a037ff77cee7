"""Exercises of chapter 07: the exchange table."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.exercises._exercise import Exercise
from dpnotes.privacy_loss import GaussianLoss

LN = float(np.log(1e5))

EXERCISES: dict[str, Exercise] = {
    "off-the-ledger": Exercise(
        7, lambda: conversions.rdp_to_epsilon_mironov(8, 0.9, 1e-5),
        "Add the fee: the natural logarithm of 1/δ, divided by the order minus one.",
        {"The fee is divided by α − 1, not by α.": lambda: 0.9 + LN / 8,
         "The logarithm is a natural one.": lambda: 0.9 + 5 / 7,
         "That is the sharper conversion, by the area; Markov's is asked for.":
             lambda: conversions.rdp_to_epsilon_cks(8, 0.9, 1e-5)}),
    "best-order-of-a-line": Exercise(
        7, lambda: 1 + np.sqrt(LN / 0.5),
        "First ρ of all the answers together, then the order at which the two terms that depend on it are equal.",
        {"That is α − 1.": lambda: np.sqrt(LN / 0.5),
         "The fraction under the root is upside down.": lambda: 1 + np.sqrt(0.5 / LN),
         "That is the ρ of one answer; add up all of them.": lambda: 1 + np.sqrt(LN / 0.005),
         "ρ has a 2 in its denominator.": lambda: 1 + np.sqrt(LN)}),
    "hundred-counts-exactly": Exercise(
        7, lambda: GaussianLoss(1.0).epsilon(1e-5),
        "For Gaussian noise the squares of μ add up; one Gaussian loss with that μ has an exact curve.",
        {"That is the zCDP formula, an upper bound.": lambda: conversions.zcdp_to_epsilon_bun_steinke(0.5, 1e-5),
         "That is the better zCDP conversion, still an upper bound.": lambda: conversions.zcdp_to_epsilon(0.5, 1e-5, "cks"),
         "That is one count.": lambda: GaussianLoss(0.1).epsilon(1e-5)}),
    "delta-of-the-serial-column": Exercise(
        7, lambda: 10 * GaussianLoss(0.5).delta(2.0),
        "Read the area of one answer at the ε that is charged for it; areas add up.",
        {"That is one answer. Areas add up like prices.": lambda: GaussianLoss(0.5).delta(2.0),
         "That is the width; the area is smaller.": lambda: 10 * GaussianLoss(0.5).tail(2.0)}),
    "where-the-saving-ends": Exercise(
        7, lambda: 1.5 * 2 * 3**2,
        "After many rounds the root is small against the term that is linear in k.",
        {"ρ has a 2 in its denominator.": lambda: 1.5 * 3**2,
         "That would be the ratio for σ = 2.": lambda: 1.5 * 8,
         "σ enters ρ with its square.": lambda: 1.5 * 2 * 3}),
    "write-the-exchange": Exercise(
        7, lambda: _report, "Work out the four terms at each order, and return the smallest total.",
        {"That is Markov's conversion. The two last terms are missing.": lambda: _by_markov,
         "That is the largest. Every order is valid, so take the smallest.": lambda: _largest},
        arguments=([2, 4, 8, 16, 32], [5.0, 10.0, 20.0, 40.0, 80.0], 1e-6)),
}


def _report(orders: list[float], divergences: list[float], delta: float) -> float:
    return float(np.min(conversions.rdp_to_epsilon_cks(orders, divergences, delta)))


def _by_markov(orders: list[float], divergences: list[float], delta: float) -> float:
    return float(np.min(conversions.rdp_to_epsilon_mironov(orders, divergences, delta)))


def _largest(orders: list[float], divergences: list[float], delta: float) -> float:
    return float(np.max(conversions.rdp_to_epsilon_cks(orders, divergences, delta)))
