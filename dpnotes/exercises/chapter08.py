"""Exercises of chapter 08: numerical accounting."""

from __future__ import annotations

import numpy as np

from dpnotes.accountants import times_for
from dpnotes.conversions import pure_to_loss
from dpnotes.exercises._exercise import Exercise
from dpnotes.privacy_loss import GaussianLoss

EXERCISES: dict[str, Exercise] = {
    "rounded-by-hand": Exercise(
        8, lambda: (_rounded(0.5, -0.5), _rounded(1.0, 0.0)),
        "Move both values to the grid, list the three sums with their probabilities, weigh each sum l > 0.5 by 1 − exp(0.5 − l).",
        {"Those are probabilities that the sum exceeds 0.5. Weigh each sum by how bad it is.": lambda: (0.36, 0.84),
         "The first number must be the smaller one: rounding down.": lambda: (_rounded(1.0, 0.0), _rounded(0.5, -0.5)),
         "Round each loss before you add; rounding the sums is another, narrower bracket.":
             lambda: (0.36 * -np.expm1(-0.5), 0.36 * -np.expm1(-1.0))}),
    "chernoff-at-best-order": Exercise(
        8, lambda: np.exp(-((4 - 0.5) ** 2) / 2),
        "Set the derivative of t (t + 1)/2 − 4 t to zero, and put that t back.",
        {"That is the exact δ, which the bound exceeds.": lambda: GaussianLoss(1.0).delta(4.0),
         "K(t) is t (t + 1)/2, not t²/2: the mean of the loss is missing.": lambda: np.exp(-8.0),
         "Those are all terms of h; leave out t ln t − (1 + t) ln(1 + t).": lambda: np.exp(_best_height(4.0))}),
    "period-for-excess": Exercise(
        8, lambda: np.log1p(1e12) / 2,
        "The copies on the left add at most 1/(exp(cR) − 1). Set that to the excess allowed.",
        {"That is cR. Divide by c.": lambda: np.log1p(1e12),
         "Divide by c, do not multiply.": lambda: 2 * np.log1p(1e12)}),
    "mixed-ledger-delta": Exercise(
        8, lambda: (GaussianLoss(1.0) + pure_to_loss(0.5)).delta(1.0),
        "Condition on the randomized response: its loss is +1/2 or −1/2. What is left is the Gaussian's delta curve elsewhere.",
        {"That charges the randomized response its largest loss every time.": lambda: GaussianLoss(1.0).delta(0.5),
         "That leaves the case out in which the randomized response misleads.":
             lambda: np.exp(0.5) / (1 + np.exp(0.5)) * GaussianLoss(1.0).delta(0.5),
         "That is the Gaussian alone.": lambda: GaussianLoss(1.0).delta(1.0)}),
    "queries-within-budget": Exercise(
        8, lambda: times_for(1.0, 1e-6, GaussianLoss(1 / 20)),
        "n queries make a Gaussian with μ = √n/20. Find the largest μ that is (1, 10⁻⁶)-DP.",
        {"One more than the budget allows: round down.": lambda: times_for(1.0, 1e-6, GaussianLoss(1 / 20)) + 1,
         "μ grows with the square root of the number of queries.": lambda: np.floor(20 * _largest_mu())}),
}


def _rounded(high: float, low: float) -> float:
    """delta(0.5) of two copies of a loss that is `high` with probability 0.6, else `low`."""
    sums, masses = np.array([2 * high, high + low, 2 * low]), np.array([0.36, 0.48, 0.16])
    return float(masses @ np.maximum(0.0, -np.expm1(np.minimum(0.5 - sums, 0.0))))


def _best_height(epsilon: float) -> float:
    t = epsilon - 0.5
    return t * (t + 1) / 2 - t * epsilon + t * np.log(t) - (1 + t) * np.log1p(t)


def _largest_mu() -> float:
    from dpnotes.conversions import approx_to_gdp_mu

    return float(approx_to_gdp_mu(1.0, 1e-6))
