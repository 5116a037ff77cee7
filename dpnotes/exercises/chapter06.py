"""Exercises of chapter 06: zero-concentrated differential privacy."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.accountants import ZCDPAccountant
from dpnotes.exercises._exercise import Exercise
from dpnotes.mechanisms import Gaussian
from dpnotes.privacy_loss import GaussianLoss

COUNTS = {4.0: 8, 2.0: 3}  # standard deviation of the noise: how many counts
CENSUS = 2.63, 1e-10

EXERCISES: dict[str, Exercise] = {
    "rho-of-a-mixed-ledger": Exercise(
        6, lambda: _ledger().rho,
        "One count costs 1/(2σ²). Add up over all releases, whatever their noise.",
        {"The 2 in the denominator of 1/(2σ²) is missing.": lambda: 2 * _ledger().rho,
         "Divide by twice the variance, not by twice the standard deviation.":
             lambda: sum(times / (2 * sigma) for sigma, times in COUNTS.items()),
         "Every release is charged: multiply by how many there are of each kind.":
             lambda: sum(1 / (2 * sigma**2) for sigma in COUNTS)}),
    "noise-for-a-rho-budget": Exercise(
        6, lambda: Gaussian.for_rho(0.5 / 50).sigma,
        "Each count may spend a fiftieth of ρ. Solve 1/(2σ²) = that share for σ.",
        {"That is the noise for one count: it would use up the whole budget.": lambda: Gaussian.for_rho(0.5).sigma,
         "Noise that grows in proportion to the number of counts is for pure DP. Here it is the variance that grows so.":
             lambda: 50 * Gaussian.for_rho(0.5).sigma,
         "A count costs 1/(2σ²), not 1/σ².": lambda: np.sqrt(2) * Gaussian.for_rho(0.5 / 50).sigma}),
    "slope-at-order-two": Exercise(
        6, lambda: (_coin().renyi(2) / 2, conversions.pure_to_zcdp(2.0)),
        "The first number needs the mean of exp(L) for L = ±2; the second is the largest slope, reached at order 1.",
        {"The first number is the divergence of order 2 itself. Divide by the order.":
             lambda: (_coin().renyi(2), conversions.pure_to_zcdp(2.0)),
         "The second number is an upper bound, ε²/2. The exact value has a tanh.": lambda: (_coin().renyi(2) / 2, 2.0),
         "The order is swapped: first what order 2 claims, then what is true.":
             lambda: (conversions.pure_to_zcdp(2.0), _coin().renyi(2) / 2)}),
    "tail-under-rho": Exercise(
        6, lambda: np.exp(-((1.5 - 0.125) ** 2) / (4 * 0.125)),
        "Put l and ρ into the upper-tail bound of the proposition on tails.",
        {"That is the tail of Gaussian noise with this ρ. The definition alone promises less.":
             lambda: GaussianLoss(0.5).tail(1.5),
         "The loss may have the mean ρ: subtract it from l first.": lambda: np.exp(-(1.5**2) / (4 * 0.125)),
         "That is the bound on the lower tail, which holds for any pair.": lambda: np.exp(-1.5)}),
    "census-in-epsilon": Exercise(
        6, lambda: conversions.zcdp_to_epsilon_bun_steinke(*CENSUS),
        "ε = ρ + 2 √(ρ ln(1/δ)).",
        {"The factor 2 before the root is missing.": lambda: CENSUS[0] + np.sqrt(CENSUS[0] * np.log(1 / CENSUS[1])),
         "The logarithm is the natural one.": lambda: CENSUS[0] + 2 * np.sqrt(CENSUS[0] * np.log10(1 / CENSUS[1])),
         "ρ itself is to be added: the mean of the loss.": lambda: 2 * np.sqrt(CENSUS[0] * np.log(1 / CENSUS[1])),
         "That is the better conversion. The question is about Bun and Steinke's formula.":
             lambda: conversions.zcdp_to_epsilon(*CENSUS, "cks")}),
    "largest-moment": Exercise(
        6, lambda: lambda t, rho: np.exp(t * (t + 1) * rho),
        "With t = α - 1: the divergence of order α is at most ρα, and t times it is the logarithm of the moment.",
        {"With exp(t²ρ) only a mechanism that reveals nothing would be left.": lambda: lambda t, rho: np.exp(t**2 * rho),
         "α is t + 1, not t - 1.": lambda: lambda t, rho: np.exp(t * (t - 1) * rho),
         "That bounds the mean of the gain, not the moment itself: take it to the power t.":
             lambda: lambda t, rho: np.exp((t + 1) * rho)},
        arguments=(np.array([0.1, 0.5, 1.5, 4.0]), 0.2)),
}


def _ledger() -> ZCDPAccountant:
    ledger = ZCDPAccountant()
    for sigma, times in COUNTS.items():
        ledger.add(Gaussian(sigma=sigma), times=times)
    return ledger


def _coin():
    return conversions.pure_to_loss(2.0)
