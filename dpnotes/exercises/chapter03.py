"""Exercises of chapter 03: what delta means."""

from __future__ import annotations

import numpy as np

from dpnotes.exercises._exercise import Exercise
from dpnotes.mechanisms import Gaussian
from dpnotes.privacy_loss import DiscreteLoss

LN3 = float(np.log(3))

EXERCISES: dict[str, Exercise] = {
    "width-of-gaussian": Exercise(
        3, lambda: Gaussian(sigma=2).privacy_loss().tail(1.0),
        "L is normal with mean 1/(2σ²) and standard deviation 1/σ.",
        {"That is the area δ. The width counts every bad event in full.": lambda: Gaussian(sigma=2).privacy_loss().delta(1.0),
         "That is P[L ≤ ε], the good events.": lambda: Gaussian(sigma=2).privacy_loss().cdf(1.0),
         "The mean of L is 1/(2σ²), not 0.": lambda: Gaussian(sigma=2).privacy_loss().tail(1.125)}),
    "area-of-gaussian": Exercise(
        3, lambda: Gaussian(sigma=2).privacy_loss().delta(1.0),
        "δ = P[S] − exp(ε) Q[S] for the set S of outputs with L > ε.",
        {"That is the width. Take exp(ε) Q[S] off.": lambda: Gaussian(sigma=2).privacy_loss().tail(1.0)}),
    "threshold-for-delta": Exercise(
        3, lambda: 1 + np.log(1 / (2 * 1e-6)) / LN3,
        "The only bad event is that a lone person is published: 1 + noise > threshold. Its probability must be at most δ.",
        {"The person counts 1 before any noise: the threshold must lie higher by 1.": lambda: np.log(1 / (2 * 1e-6)) / LN3,
         "Only half of the noise is positive.": lambda: 1 + np.log(1 / 1e-6) / LN3,
         "The scale is 1/ln 3, not ln 3.": lambda: 1 + np.log(1 / (2 * 1e-6)) * LN3}),
    "larger-direction": Exercise(
        3, lambda: max(_uneven().delta(np.log(1.5)), _uneven().swapped.delta(np.log(1.5))),
        "Compute P[S] − exp(ε) Q[S] for the best S, then again with P and Q swapped. Both orders are promised.",
        {"That is one direction. The other needs more.":
             lambda: min(_uneven().delta(np.log(1.5)), _uneven().swapped.delta(np.log(1.5))),
         "The two directions do not add up: each is a promise of its own.":
             lambda: _uneven().delta(np.log(1.5)) + _uneven().swapped.delta(np.log(1.5))}),
}


def _uneven() -> DiscreteLoss:
    return DiscreteLoss.from_probabilities([0.9, 0.1], [0.5, 0.5])
