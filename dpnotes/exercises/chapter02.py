"""Exercises of chapter 02: the privacy loss."""

from __future__ import annotations

import numpy as np

from dpnotes.exercises._exercise import Exercise
from dpnotes.mechanisms import Laplace, RandomizedResponse

LN3 = float(np.log(3))

EXERCISES: dict[str, Exercise] = {
    "loss-at-an-output": Exercise(
        2, lambda: ((1003 - 1001) ** 2 - (1003 - 1000) ** 2) / (2 * 2.0**2),
        "L is the difference of two logarithms of normal densities; the constants cancel.",
        {"The sign is turned: L is the logarithm of P over Q, and this output is likelier under Q.": lambda: 0.625,
         "Divide by 2σ², not by σ².": lambda: -1.25,
         "That is the gain exp(L).": lambda: np.exp(-0.625)}),
    "mean-loss-of-response": Exercise(
        2, lambda: RandomizedResponse(1.0).privacy_loss().mean(),
        "L is +ε with the probability of the truth and −ε otherwise. Weigh the two.",
        {"That is the largest loss, not the mean.": lambda: 1.0,
         "That is the mean of exp(L); the question asks for the mean of L.":
             lambda: np.exp(RandomizedResponse(1.0).privacy_loss().renyi(2))}),
    "mean-of-inverse-gain": Exercise(
        2, lambda: 1.0,
        "Write the mean under P as a sum of P(y) · Q(y)/P(y).",
        {"That is the mean of exp(L), the other way up.": lambda: np.exp(Laplace(1 / LN3).privacy_loss().renyi(2)),
         "That is the inverse of a mean. The mean of an inverse is something else.":
             lambda: np.exp(-Laplace(1 / LN3).privacy_loss().renyi(2))}),
    "laplace-loss-function": Exercise(
        2, lambda: lambda y, epsilon: epsilon * np.clip(1 - 2 * (np.asarray(y) - 1000), -1, 1),
        "log P(y) − log Q(y) = ε (|y − 1001| − |y − 1000|).",
        {"The sign is turned: left of 1000 the loss is +ε.":
             lambda: lambda y, epsilon: -epsilon * np.clip(1 - 2 * (np.asarray(y) - 1000), -1, 1),
         "The factor ε is missing: the noise has scale 1/ε.":
             lambda: lambda y, epsilon: np.clip(1 - 2 * (np.asarray(y) - 1000), -1, 1)},
        arguments=(np.array([990.0, 999.5, 1000.0, 1000.3, 1000.5, 1000.9, 1001.0, 1010.0]), 0.7)),
}
