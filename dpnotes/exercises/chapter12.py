"""Exercises of chapter 12: noise that can be reduced."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpnotes.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
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
}


def _ex_post() -> Any:
    from dpnotes import ex_post  # on first use: `check` stays light for the chapters before

    return ex_post
