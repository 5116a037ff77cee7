"""Exercises of chapter 05: Rényi differential privacy."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.accountants import RDP, RenyiAccountant
from dpnotes.exercises._exercise import Exercise
from dpnotes.mechanisms import Gaussian, RandomizedResponse, mean_sensitivity
from dpnotes.privacy_loss import DiscreteLoss

EXERCISES: dict[str, Exercise] = {
    "cubic-mean-of-a-coin": Exercise(
        5, lambda: np.exp(_coin().renyi(4)),
        "The gain is exp(1) with the truth's probability and exp(-1) otherwise. Cube, average, take the cube root.",
        {"That is the average of the cubes. Take the cube root.": lambda: np.exp(_coin().log_mgf(3.0)),
         "That is the quadratic mean. The cubic one belongs to order 4.": lambda: np.exp(_coin().renyi(3)),
         "That is the Rényi divergence. The mean is its exponential.": lambda: _coin().renyi(4),
         "The average is taken under P, where the gain exp(1) is the likelier one.": lambda: np.exp(_coin().log_mgf(2.0) / 3)}),
    "order-two-of-a-pair": Exercise(
        5, lambda: max(_uneven().renyi(2), _uneven().swapped.renyi(2)),
        "Sum P²/Q over the two answers and take the logarithm; then do it once more with P and Q exchanged.",
        {"That is one direction. The other is dearer.": lambda: min(_uneven().renyi(2), _uneven().swapped.renyi(2)),
         "That is the sum before the logarithm.": lambda: np.exp(_uneven().swapped.renyi(2)),
         "Each direction is a promise of its own: they do not add up.": lambda: _uneven().renyi(2) + _uneven().swapped.renyi(2)}),
    "mean-at-order-eight": Exercise(
        5, lambda: Gaussian(sigma=0.01, sensitivity=mean_sensitivity(0, 1, n=500)).renyi(8),
        "The mean of 500 values from the unit interval moves by at most 1/500. Square it, and the standard deviation too.",
        {"The 2 in the denominator is missing.": lambda: 8 * (1 / 500) ** 2 / 0.01**2,
         "Sensitivity and standard deviation enter squared.": lambda: 8 * (1 / 500) / (2 * 0.01),
         "A mean moves by one over n, not by 1.": lambda: Gaussian(sigma=0.01).renyi(8),
         "That is the slope. The order is a factor.": lambda: Gaussian(sigma=0.01, sensitivity=1 / 500).rho}),
    "loss-that-is-rarely-exceeded": Exercise(
        5, lambda: conversions.rdp_to_epsilon_mironov(8, 1.0, 1e-6),
        "Set exp(-(α - 1)(l - ε)) equal to the probability and solve for l.",
        {"Divide by α - 1, not by α.": lambda: 1 + np.log(1e6) / 8,
         "That is how far l lies above ε.": lambda: np.log(1e6) / 7}),
    "two-orders-one-ledger": Exercise(
        5, lambda: (_two_known().renyi(4), _two_known().renyi(8)),
        "A bound holds at every smaller order and says nothing of larger ones. Take, for each step, the nearest order above.",
        {"At order 8 the first step's bound for order 4 says nothing.": lambda: (0.8, 0.8),
         "Nothing says that the curve is straight between the orders 4 and 16.": lambda: (0.8, 1.0),
         "The second step's bound at order 8 holds at order 4 too, but it cannot be scaled down.": lambda: (0.55, 1.4)}),
    "best-order-by-hand": Exercise(
        5, lambda: (1 + np.sqrt(np.log(1e5) / _eight().rho), conversions.zcdp_to_epsilon_bun_steinke(_eight().rho, 1e-5)),
        "With a slope ρ for all queries together, ε(α) = ρα + ln(1/δ) / (α - 1). Set the derivative to zero.",
        {"The best value of α - 1 is that square root; the order is larger by 1.":
             lambda: (np.sqrt(np.log(1e5) / _eight().rho), conversions.zcdp_to_epsilon_bun_steinke(_eight().rho, 1e-5)),
         "There are 8 queries.": lambda: (1 + np.sqrt(np.log(1e5) * 32), conversions.zcdp_to_epsilon_bun_steinke(1 / 32, 1e-5))}),
}


def _coin() -> DiscreteLoss:
    return RandomizedResponse(1.0).privacy_loss()


def _uneven() -> DiscreteLoss:
    return DiscreteLoss.from_probabilities([0.9, 0.1], [0.5, 0.5])


def _two_known() -> RenyiAccountant:
    return RenyiAccountant().add(RDP({4: 0.3, 16: 0.9})).add(RDP({8: 0.5}))


def _eight() -> Gaussian:
    return Gaussian(sigma=4 / np.sqrt(8))  # eight queries of standard deviation 4 have the slope of this one
