"""A loss from points of a privacy curve: its chords, which lie above it."""

from __future__ import annotations

import numpy as np

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss import DiscreteLoss


def loss_of_chords(epsilon: FloatArray, delta: FloatArray) -> DiscreteLoss:
    """The loss whose delta runs straight, as a function of e**epsilon, between these points; the same both ways.

    Delta is convex in e**epsilon, so that the chords of a curve lie above it, and the change of slope at a point is a mass
    under Q. What is left at the last point is charged as infinite.

    Parameters
    ----------
    epsilon : rising, the first one 0. delta : falling and convex in e**epsilon.

    References
    ----------
    Doroshenko et al. (2022), Connect the Dots.
    """
    step = np.diff(epsilon)
    beyond = (delta[:-1] - delta[1:]) / np.expm1(step)  # minus the slope, times e**epsilon of its left end
    mass = np.maximum(beyond * np.exp(step) - np.append(beyond[1:], 0.0), 0.0)  # under P, at epsilon[1:]
    mirror = mass * np.exp(-epsilon[1:])
    at_zero = max(1 - mass.sum() - mirror.sum() - delta[-1], 0.0)
    masses = np.concatenate([mirror, [at_zero], mass])
    kept = masses > 0
    losses = np.concatenate([-epsilon[1:], [0.0], epsilon[1:]])
    return DiscreteLoss.from_log_masses(losses[kept], np.log(masses[kept]), delta[-1], delta[-1])
