"""The event axis: outputs laid out by probability under P, the most telling first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss import PrivacyLoss


class Events(NamedTuple):
    """Points x in (0, 1) of the event axis, and at each the loss L and the gain e**L; the loss falls with x."""

    x: FloatArray
    loss: FloatArray
    gain: FloatArray


def event_axis(loss: PrivacyLoss, low: float = 0.0, high: float = 1.0, points: int = 800) -> Events:
    """The loss along the event axis between `low` and `high`: at x it is the loss that only a fraction x exceeds."""
    x = np.linspace(low, high, points + 1)[:-1] + (high - low) / (2 * points)
    values = np.asarray(loss.quantile(1 - x))
    return Events(x, values, np.exp(np.minimum(values, 700.0)))
