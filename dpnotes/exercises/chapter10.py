"""Exercises of chapter 10: sampling and DP-SGD."""

from __future__ import annotations

import numpy as np

from dpnotes.accountants import NumericalAccountant
from dpnotes.exercises._exercise import Exercise
from dpnotes.mechanisms import Gaussian, Laplace

EXERCISES: dict[str, Exercise] = {
    "amplify-with-a-coin": Exercise(
        10, lambda: Laplace(0.5).poisson_sampled(0.05).pure_epsilon,
        "The largest gain is 1 − q + q exp(ε): the batch does not hold you, or it does and the gain is the largest there is.",
        {"That is qε, near the truth for small ε only.": lambda: 0.05 * 2,
         "Where the batch does not hold you, the gain is 1 with probability 1 − q, not 1 with certainty.":
             lambda: np.log1p(0.05 * np.exp(2)),
         "That is the gain. Take its logarithm.": lambda: 1 + 0.05 * np.expm1(2)}),
    "delta-of-one-step": Exercise(
        10, lambda: (_step().privacy_losses()["remove"].delta(0.1), _step().privacy_losses()["add"].delta(0.1)),
        "For the first, take the Gaussian's δ at log(1 + (exp(ε) − 1)/q), times q. For the second, compare ε with −log(1 − q).",
        {"In that order the directions are swapped.": lambda: (0.0, _step().privacy_losses()["remove"].delta(0.1)),
         "The Gaussian's δ has to be taken at a larger ε, log(1 + (exp(ε) − 1)/q).":
             lambda: (0.05 * Gaussian(2.0).privacy_loss().delta(0.1), 0.0),
         "The two directions differ: the loss of an added record cannot exceed −log(1 − q).":
             lambda: (_step().privacy_losses()["remove"].delta(0.1),) * 2}),
    "rate-of-a-run": Exercise(
        10, lambda: (16 * 32 / 51_200, 10 * 51_200 / (16 * 32)),
        "Noise is added once an update. The rate belongs to all records that go into one update, and steps are updates.",
        {"That takes micro-batches for batches. The noise is added once for all of them.": lambda: (16 / 51_200, 32_000.0),
         "The steps are right; the rate is that of one micro-batch.": lambda: (16 / 51_200, 1000.0),
         "The rate is right; the steps are micro-batches.": lambda: (0.01, 32_000.0)}),
    "order-two-of-a-step": Exercise(
        10, lambda: Gaussian(sigma=1.0, sensitivity=0.5).poisson_sampled(0.02).renyi(2),
        "First the noise multiplier. Then the sum has three terms, and its binomial weights add up to one.",
        {"The noise multiplier is the standard deviation divided by the clip norm.": lambda: np.log1p(0.02**2 * np.expm1(1.0)),
         "That is the divergence without sampling.": lambda: Gaussian(1.0, 0.5).renyi(2),
         "Both the rate's square and the difference to 1 count: the term for k = 2 replaces a 1.":
             lambda: np.log1p(0.02**2 * np.exp(0.25))}),
    "order-of-storage": Exercise(
        10, lambda: Gaussian(sigma=3.0 / np.sqrt(9)).privacy_loss().epsilon(1e-5),
        "Each pass uses the record in one step, and everybody can know which. Nine Gaussians without sampling compose to one.",
        {"That is the claim for Poisson batches. These batches are known.":
             lambda: NumericalAccountant().add(Gaussian(3.0).poisson_sampled(0.01), 900).epsilon(1e-5),
         "That is one pass.": lambda: Gaussian(3.0).privacy_loss().epsilon(1e-5),
         "A record is in one batch a pass, not in all of them.":
             lambda: Gaussian(3.0 / np.sqrt(900)).privacy_loss().epsilon(1e-5)}),
}


def _step():
    return Gaussian(sigma=2.0).poisson_sampled(0.05)
