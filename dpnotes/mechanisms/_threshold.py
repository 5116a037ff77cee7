"""A count that is published only when it is large: the standard example of distinguishing events."""

from __future__ import annotations

import numpy as np

from dpnotes import noise
from dpnotes._validate import count, finite, generator, positive, scalar
from dpnotes.mechanisms._base import Mechanism
from dpnotes.privacy_loss import DiscreteLoss, LaplaceLoss, PrivacyLoss


class ThresholdedCount(Mechanism):
    """The count of a category with Laplace noise, published only if it exceeds a threshold.

    A category that nobody belongs to cannot be listed, so it is never published. If one person belongs to it and the
    noise lifts the count over the threshold, the output betrays that person for certain: a distinguishing event.

    Parameters
    ----------
    scale : the noise's scale; every other change of one record costs at most 1 / scale.
    threshold : a category is published when count + noise > threshold. A fraction is kept, never rounded down.

    >>> round(ThresholdedCount(scale=1 / np.log(3), threshold=3).publication_probability(1), 12)
    0.055555555556
    """

    def __init__(self, scale: float, threshold: float) -> None:
        self.scale = scalar("scale", positive("scale", scale))
        self.threshold = scalar("threshold", finite("threshold", threshold))

    def publication_probability(self, true_count: int) -> float:
        """The probability that a category with that many people is published; 0 for an empty one."""
        true_count = count("true_count", true_count)
        gap = (self.threshold - true_count) / self.scale
        return 0.0 if true_count == 0 else float(0.5 * np.exp(-gap) if gap >= 0 else 1 - 0.5 * np.exp(gap))

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """Three entries: the only person of a category leaves or joins (exact), or anyone else does (an upper bound: the
        loss of the noisy count before the threshold, of which the output is a function).
        """
        p = self.publication_probability(1)
        alone = DiscreteLoss.from_probabilities([1 - p, p], [1.0, 0.0])
        return {"remove the only one": alone, "add the first one": alone.swapped, "any other change": LaplaceLoss(1 / self.scale)}

    def release(self, true_count: int, *, rng: np.random.Generator | None = None) -> float | None:
        """The noisy count, or None when nothing is published."""
        true_count, rng = count("true_count", true_count), generator(rng)
        noisy = true_count + noise.laplace(self.scale, rng=rng)
        return float(noisy) if true_count > 0 and noisy > self.threshold else None

    def __repr__(self) -> str:
        return f"ThresholdedCount(scale={self.scale:.6g}, threshold={self.threshold:g})"
