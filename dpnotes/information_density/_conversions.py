"""From one currency to another: PML, PMC, LDP, and the closed forms of k-ary randomized response."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, count, fail, nonnegative, plain, probability


def log_mix(p: FloatArray, t: FloatArray) -> FloatArray:
    """log(1 + p (e**t - 1)), the logarithm of (1 - p) + p e**t, for p in [0, 1] and t in [-inf, inf], to full accuracy."""
    p, t = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(t, dtype=float))
    small = np.minimum(t, 30.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # p = 0 has no large-t branch, p = 1 no finite value at t = -inf
        near = np.log1p(p * np.expm1(small))
        far = t + np.log(p + (1 - p) * np.exp(-np.maximum(t, 30.0)))
    return np.where((t > 30) & (p > 0), far, near)


def _smallest_prior(p_min: ArrayLike) -> FloatArray:
    p = probability("p_min", p_min)
    if np.any((p == 0) | (p > 0.5)):
        raise fail("p_min", p_min, "above 0 and at most 1/2: the smallest of two or more prior probabilities")
    return p


def pml_to_pmc(epsilon_u: ArrayLike, p_min: ArrayLike) -> Any:
    """The PMC that epsilon_u-PML guarantees. Tight upper bound; inf, no guarantee, unless epsilon_u < -log(1 - p_min).

    log(p_min / (1 - e**epsilon_u (1 - p_min))), attained by `tight_pml_to_pmc`. From -log(1 - p_min) on, an output may rule
    the rarest secret out, as in the Z-channel.

    Parameters
    ----------
    epsilon_u : bound on the PML of every output, in nats, >= 0; scalar or array.
    p_min : smallest prior probability, 0 < p_min <= 1/2; scalar or array.

    References
    ----------
    arXiv 2407.01167.

    >>> pml_to_pmc([0.15, 0.3], 0.2).round(12).tolist()
    [1.042242269784, inf]
    """
    u, p = np.broadcast_arrays(nonnegative("epsilon_u", epsilon_u), _smallest_prior(p_min))
    within = u < -np.log1p(-p)
    left = np.where(within, -(1 - p) / p * np.expm1(np.where(within, u, 0.0)), -1.0)  # the lift left to the rarest secret, less 1
    with np.errstate(divide="ignore"):
        return plain(-np.log1p(np.maximum(left, -1.0)) + 0.0)


def pmc_to_pml(epsilon_l: ArrayLike, p_min: ArrayLike) -> Any:
    """The PML that epsilon_l-PMC guarantees. Tight upper bound, always finite: at most log(1 / p_min).

    log((1 - e**-epsilon_l (1 - p_min)) / p_min), attained by `tight_pmc_to_pml`.

    Parameters
    ----------
    epsilon_l : bound on the PMC of every output, in nats, >= 0; scalar or array, inf allowed.
    p_min : smallest prior probability, 0 < p_min <= 1/2; scalar or array.

    References
    ----------
    arXiv 2407.01167.

    >>> round(pmc_to_pml(0.5, 0.2), 6)
    0.945413
    """
    l, p = nonnegative("epsilon_l", epsilon_l), _smallest_prior(p_min)
    return plain(np.log1p(-(1 - p) / p * np.expm1(-l)))


def ldp_to_pmc(epsilon: ArrayLike, p_min: ArrayLike) -> Any:
    """The PMC that epsilon-LDP guarantees, for ANY mechanism. Tight upper bound, attained by `rarest_or_not`.

    log(1 + (1 - p_min) (e**epsilon - 1)). k-ary randomized response alone has the smaller `randomized_response_pmc`.

    Parameters
    ----------
    epsilon : LDP parameter, in nats, >= 0; scalar or array, inf allowed.
    p_min : smallest prior probability, 0 < p_min <= 1/2; scalar or array.

    >>> round(ldp_to_pmc(1.0, 0.2), 6), round(randomized_response_pmc(1.0, 0.5), 6)
    (0.86484, 0.620115)
    """
    return plain(log_mix(1 - _smallest_prior(p_min), nonnegative("epsilon", epsilon)))


def ldp_to_pml(epsilon: ArrayLike, p_min: ArrayLike) -> Any:
    """The PML that epsilon-LDP guarantees, for ANY mechanism. Tight upper bound, attained by `rarest_or_not`.

    epsilon - log(1 + p_min (e**epsilon - 1)); at most both epsilon and log(1 / p_min). Arguments as in `ldp_to_pmc`.

    >>> round(ldp_to_pml(1.0, 0.2), 8)
    0.70460547
    """
    return plain(-log_mix(1 - _smallest_prior(p_min), -nonnegative("epsilon", epsilon)))


def alip_to_ldp(epsilon_l: ArrayLike, epsilon_u: ArrayLike) -> Any:
    """The LDP that (epsilon_l, epsilon_u)-ALIP guarantees, their sum; no prior may be 0. Upper bound."""
    return plain(nonnegative("epsilon_l", epsilon_l) + nonnegative("epsilon_u", epsilon_u))


def randomized_response_pmc(epsilon: ArrayLike, prior: ArrayLike) -> Any:
    """PMC of each output of k-ary randomized response: log(1 + P(y) (e**epsilon - 1)). Exact; no bound for other mechanisms.

    Parameters
    ----------
    epsilon : e**epsilon is the odds of the truth against any one other answer; >= 0, inf allowed.
    prior : prior probability of the secret that equals the output; scalar or array. p_max gives the worst case.

    >>> randomized_response_pmc(1.0, [0.2, 0.3, 0.5]).round(8).tolist()
    [0.29539453, 0.41573522, 0.62011451]
    """
    return plain(log_mix(probability("prior", prior), nonnegative("epsilon", epsilon)))


def randomized_response_pml(epsilon: ArrayLike, prior: ArrayLike) -> Any:
    """PML of each output of k-ary randomized response: epsilon - log(1 + P(y) (e**epsilon - 1)). Exact.

    p_min gives the worst case, which is also the worst of all epsilon-LDP mechanisms. Arguments as in
    `randomized_response_pmc`; epsilon = inf gives log(1 / P(y)).
    """
    return plain(-log_mix(1 - probability("prior", prior), -nonnegative("epsilon", epsilon)))


def randomized_response_maximal_leakage(epsilon: ArrayLike, k: int) -> Any:
    """Maximal leakage log(k e**epsilon / (k - 1 + e**epsilon)) of k-ary randomized response. Exact; no prior enters.

    >>> round(randomized_response_maximal_leakage(1.0, 3), 10)
    0.5471675747
    """
    k = count("k", k, low=2)
    return plain(-log_mix(np.float64(1 - 1 / k), -nonnegative("epsilon", epsilon)))
