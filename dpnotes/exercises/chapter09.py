"""Exercises of chapter 09: Gaussian DP and trade-off curves."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.exercises._exercise import Exercise

CORNERS = np.array([[0.0, 1.0], [0.1, 0.5], [0.6, 0.1], [1.0, 0.0]])

EXERCISES: dict[str, Exercise] = {
    "miss-rate-of-a-test": Exercise(
        9, lambda: conversions.gdp_to_tradeoff(0.5, 0.05),
        "μ is the sensitivity over σ, and the curve is Φ(Φ⁻¹(1 − x) − μ).",
        {"That is the power. A miss is what remains to 1.": lambda: 1 - conversions.gdp_to_tradeoff(0.5, 0.05),
         "μ is the sensitivity divided by σ, not multiplied.": lambda: conversions.gdp_to_tradeoff(2.0, 0.05)}),
    "gaussian-of-three": Exercise(
        9, lambda: conversions.compose_gdp([1.0, 0.5, 0.5]),
        "Turn every σ into its μ first; then squares add up.",
        {"Squares add up, not the numbers themselves.": lambda: 2.0,
         "That is the square of μ.": lambda: 1.5,
         "Those are the σ. Turn each into μ = 1/σ first.": lambda: 3.0}),
    "delta-from-corners": Exercise(
        9, lambda: float(np.max(1 - CORNERS[:, 1] - 2 * CORNERS[:, 0])),
        "δ is the largest value of 1 − f(x) − exp(ε) x, and for a broken line a corner attains it.",
        {"That is the advantage, with 1 in place of exp(ε).": lambda: float(np.max(1 - CORNERS[:, 1] - CORNERS[:, 0])),
         "exp(ε) multiplies x, the type I error.": lambda: float(np.max(1 - CORNERS[:, 0] - 2 * CORNERS[:, 1]))}),
    "true-positives-at-low-rate": Exercise(
        9, lambda: (1 - conversions.gdp_to_tradeoff(1.0, 1e-3), 1 - conversions.approx_to_tradeoff(2.0, 1e-5, 1e-3)),
        "Power is 1 − f(x). For a small x the steep line of the (ε, δ) curve counts.",
        {"Those are the misses. Power is what remains to 1.":
             lambda: (conversions.gdp_to_tradeoff(1.0, 1e-3), conversions.approx_to_tradeoff(2.0, 1e-5, 1e-3)),
         "The order is: Gaussian noise first.":
             lambda: (1 - conversions.approx_to_tradeoff(2.0, 1e-5, 1e-3), 1 - conversions.gdp_to_tradeoff(1.0, 1e-3))}),
    "gaussian-that-covers": Exercise(
        9, lambda: conversions.pure_to_gdp(0.5),
        "Randomized response's corner lies at 1/(1 + exp(ε)) on both axes; the Gaussian must pass through it.",
        {"Φ(−μ/2) is the corner, so μ is twice as large.": lambda: conversions.pure_to_gdp(0.5) / 2,
         "That is the Gaussian with the same ρ. It does not cover randomized response.":
             lambda: np.sqrt(2 * conversions.pure_to_zcdp(0.5)),
         "ε and μ are not the same number.": lambda: 0.5}),
}
