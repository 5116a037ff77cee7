"""From an ex-post Rényi bound to bounds with a delta."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, at_least, fail, inner_probability, nonnegative, plain, positive, probability
from dpnotes.conversions._renyi import TO_EPSILON


def renyi_to_probabilistic(epsilon: ArrayLike, alpha: ArrayLike, delta: ArrayLike) -> Any:
    """The bound e with P[L > e] <= delta, from an alpha-ex-post Rényi bound: epsilon + log(1/delta) / (alpha - 1). Upper bound.

    By Markov's inequality on e**((alpha - 1)(L - epsilon)). alpha and delta must be fixed before anything is released.

    Parameters
    ----------
    epsilon : the ex-post Rényi bound that came with the output, in nats, at least 0.
    alpha : its order, above 1 and finite.
    delta : between 0 and 1; 0 gives inf.

    >>> round(renyi_to_probabilistic(4.0, 4, 1e-6), 12)
    8.605170185988
    """
    return plain(TO_EPSILON["mironov"](*_arguments(epsilon, alpha, delta)))


def renyi_to_approximate(epsilon: ArrayLike, alpha: ArrayLike, delta: ArrayLike) -> Any:
    """The delta-approximate ex-post bound implied by an alpha-ex-post Rényi bound; immune to post-processing. Upper bound.

    max(0, epsilon + (log(1/delta) - log(alpha)) / (alpha - 1) + log(1 - 1/alpha)): the same shift of epsilon as in the
    conversion of ex-ante Rényi DP by Canonne, Kamath and Steinke (2020). alpha and delta must be fixed before any release.

    Parameters
    ----------
    epsilon : the ex-post Rényi bound that came with the output, in nats, at least 0.
    alpha : its order, above 1 and finite.
    delta : between 0 and 1; 0 gives inf.

    >>> round(renyi_to_approximate(4.0, 4, 1e-6), 12)
    7.855389993163
    """
    return plain(np.maximum(0.0, TO_EPSILON["cks"](*_arguments(epsilon, alpha, delta))))


def best_alpha(rho: ArrayLike, delta: ArrayLike) -> Any:
    """The order with the smallest probabilistic bound of Gaussian noise at a TARGET rho: 1 + sqrt(log(1/delta) / rho). Exact.

    Choose it before the first release. At the target the bound is rho + 2 sqrt(rho log(1/delta)); elsewhere it is a line.

    Parameters
    ----------
    rho : the target sensitivity**2 / (2 sigma**2), positive and finite.
    delta : above 0 and below 1.

    >>> best_alpha(1.0, 1e-6)
    4.716922188849838
    """
    return plain(1 + np.sqrt(-np.log(inner_probability("delta", delta)) / positive("rho", rho)))


def _arguments(epsilon: ArrayLike, alpha: ArrayLike, delta: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(alpha - 1, epsilon, log delta). The ends are not those of ex-ante RDP: epsilon 0 for one output promises nothing of the
    others, so that only the formulas are shared.
    """
    order = at_least("alpha", alpha, 1.0)
    if np.any((order == 1) | np.isinf(order)):
        raise fail("alpha", alpha, "above 1 and finite")
    with np.errstate(divide="ignore"):
        return order - 1, nonnegative("epsilon", epsilon), np.log(probability("delta", delta))
