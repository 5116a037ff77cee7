"""Noise samplers, each with an explicit NumPy generator.

These samplers return floating-point numbers. They are for teaching and simulation, not for releasing real data: the gaps
between floating-point numbers carry information about what the noise was added to, and an attacker who sees the low bits
of a noisy answer can rule out most inputs (Mironov 2012, On Significance of the Least Significant Bits for Differential
Privacy).
"""

from __future__ import annotations

import numpy as np

from dpnotes._validate import FloatArray, finite, generator, nonnegative, positive, scalar


def laplace(scale: float, size: int | tuple[int, ...] | None = None, *,
            rng: np.random.Generator | None = None) -> FloatArray | float:
    """Draws with density e**(-|x| / scale) / (2 scale): mean 0, standard deviation sqrt(2) * scale."""
    return generator(rng).laplace(0.0, scalar("scale", positive("scale", scale)), size)


def gaussian(sigma: float, size: int | tuple[int, ...] | None = None, *,
             rng: np.random.Generator | None = None) -> FloatArray | float:
    """Draws from the normal law with mean 0 and standard deviation sigma; 0 gives zeros."""
    return generator(rng).normal(0.0, scalar("sigma", nonnegative("sigma", finite("sigma", sigma))), size)
