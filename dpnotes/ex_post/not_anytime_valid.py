"""Two readings of a Brownian release that are NOT valid when the stop depends on the data. For demonstrations of failure only.

They have the shape of a boundary, so that `crossing_frequency` can show how often they are crossed, and they are not
`Boundary` objects, so that no mechanism accepts them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from dpnotes._validate import FloatArray, nonnegative, open_probability, plain


class NotAnytimeValid(ABC):
    """A curve that is right at each single time fixed in advance and crossed far too often by a path that is watched."""

    def __init__(self, delta: float) -> None:
        self.delta = open_probability("delta", delta)

    @abstractmethod
    def _height(self, time: FloatArray) -> FloatArray: ...

    def height(self, time: ArrayLike) -> Any:
        """The curve at the time sensitivity**2 / sigma**2, at least 0; scalar or array."""
        return plain(self._height(nonnegative("time", time)))

    def epsilon(self, rho: ArrayLike) -> Any:
        """rho + height(2 rho): right at ONE level fixed in advance; not a bound at a stopping time."""
        rho = nonnegative("rho", rho)
        return plain(rho + np.asarray(self.height(2 * rho)))


class PostHocAlpha(NotAnytimeValid):
    """rho + 2 sqrt(rho log(1/delta)): the order alpha chosen after the stop, as if it had been fixed in advance. NOT valid.

    >>> round(PostHocAlpha(1e-6).epsilon(1.0), 4)
    8.4338
    """

    def _height(self, time: FloatArray) -> FloatArray:
        return np.sqrt(-2 * time * np.log(self.delta))


class PointwiseQuantile(NotAnytimeValid):
    """rho + sqrt(2 rho) times the normal quantile at 1 - delta: exact at one time, crossed anew at each further one. NOT valid.

    >>> round(PointwiseQuantile(1e-6).epsilon(1.0), 4)
    7.7224
    """

    def _height(self, time: FloatArray) -> FloatArray:
        return -np.sqrt(time) * ndtri(self.delta)
