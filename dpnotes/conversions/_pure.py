"""What pure and approximate DP are worth elsewhere: randomized response is the worst mechanism of its epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfinv, expit, log_expit, ndtri_exp

from dpnotes._validate import at_least, count, fail, nonnegative, open_probability, plain, probability, scalar
from dpnotes.privacy_loss import DiscreteLoss


def pure_to_delta(epsilon: ArrayLike, target: ArrayLike) -> Any:
    """The smallest delta at which every epsilon-DP mechanism is (target, delta)-DP. Exact, attained by randomized response.

    (e**epsilon - e**target) / (1 + e**epsilon) below epsilon, 0 from there on.

    Parameters
    ----------
    epsilon : pure-DP parameter in nats, at least 0; inf allowed. Scalar or array, broadcast with `target`.
    target : the smaller epsilon to be stated, at least 0.

    >>> round(pure_to_delta(2.0, 1.0), 12)
    0.556769941146
    """
    epsilon, target = np.broadcast_arrays(nonnegative("epsilon", epsilon), nonnegative("target", target))
    with np.errstate(invalid="ignore"):
        gap = np.where(target >= epsilon, 0.0, target - epsilon)
    return plain(-np.expm1(gap) * expit(epsilon))


def pure_to_epsilon(epsilon: ArrayLike, delta: ArrayLike) -> Any:
    """The smallest target at which every epsilon-DP mechanism is (target, delta)-DP, at least 0. Exact.

    The inverse of `pure_to_delta`: log(e**epsilon - delta (1 + e**epsilon)).

    >>> round(pure_to_epsilon(2.0, 0.5567699411459397), 12)
    1.0
    """
    epsilon, delta = np.broadcast_arrays(nonnegative("epsilon", epsilon), probability("delta", delta))
    share = np.minimum(delta / expit(epsilon), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        smaller = epsilon + np.log1p(-share)
    return plain(np.where(share >= 1, 0.0, np.maximum(smaller, 0.0)))


def pure_to_rdp(epsilon: ArrayLike, alpha: ArrayLike) -> Any:
    """The largest Rényi divergence of order alpha of an epsilon-DP mechanism. Exact, attained by randomized response.

    log((sinh(alpha epsilon) - sinh((alpha-1) epsilon)) / sinh(epsilon)) / (alpha - 1); epsilon tanh(epsilon/2) at alpha = 1,
    epsilon at alpha = inf. Never above epsilon, nor above `pure_to_zcdp(epsilon)` times alpha.

    Parameters
    ----------
    epsilon : pure-DP parameter in nats, at least 0; alpha : order, at least 1. Scalars or arrays.

    References
    ----------
    Mironov (2017), Proposition 5, for randomized response.

    >>> round(pure_to_rdp(1.0, 2), 12)
    0.735325664056
    """
    epsilon, alpha = np.broadcast_arrays(nonnegative("epsilon", epsilon), at_least("alpha", alpha, 1.0))
    values = [pure_to_loss(float(e)).renyi(float(a)) if e > 0 else 0.0 for e, a in zip(epsilon.flat, alpha.flat, strict=True)]
    return plain(np.array(values, dtype=float).reshape(epsilon.shape))


def pure_to_zcdp(epsilon: ArrayLike) -> Any:
    """The smallest rho for which every epsilon-DP mechanism is rho-zCDP. Exact.

    rho = epsilon tanh(epsilon / 2), attained by binary randomized response as alpha -> 1; at most epsilon**2 / 2.

    Parameters
    ----------
    epsilon : pure-DP parameter in nats, at least 0; scalar or array. inf gives inf.

    References
    ----------
    Bun and Steinke (2016), Proposition 1.4, for epsilon**2 / 2; the constant here follows from Kearns and Saul's inequality,
    E[e**(t (L - rho))] <= e**(t**2 rho) for a loss of two values.

    >>> round(pure_to_zcdp(1.0), 15)
    0.46211715726001
    """
    epsilon = nonnegative("epsilon", epsilon)
    return plain(epsilon * np.tanh(epsilon / 2))


def pure_to_gdp(epsilon: ArrayLike) -> Any:
    """The smallest mu for which every epsilon-DP mechanism is mu-GDP. Exact: -2 Phi^-1(1 / (1 + e**epsilon)).

    The trade-off curve of randomized response touches the Gaussian one at their common fixed point.

    References
    ----------
    Dong, Roth and Su (2022), Gaussian Differential Privacy.

    >>> round(pure_to_gdp(1.0), 12)
    1.232035385345
    """
    epsilon = nonnegative("epsilon", epsilon)
    small = 2 * np.sqrt(2) * erfinv(np.tanh(np.minimum(epsilon, 1.0) / 2))  # the same number without cancellation
    return plain(np.where(epsilon < 1, small, -2 * ndtri_exp(log_expit(-epsilon))))


def pure_to_loss(epsilon: float) -> DiscreteLoss:
    """The privacy loss that dominates every epsilon-DP pair: +epsilon with probability e**epsilon/(1+e**epsilon), else -epsilon.

    Exact (randomized response has it). epsilon = inf gives the loss of releasing the data.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), The Composition Theorem for Differential Privacy.
    """
    return approx_to_loss(epsilon, 0.0)


def approx_to_loss(epsilon: float, delta: float) -> DiscreteLoss:
    """The privacy loss that dominates every (epsilon, delta)-DP pair: infinite with probability delta, else as `pure_to_loss`.

    >>> loss = approx_to_loss(1.0, 1e-4)
    >>> loss.infinity_mass, round(loss.delta(1.0), 12)
    (0.0001, 0.0001)
    """
    epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
    delta = scalar("delta", probability("delta", delta))
    if np.isinf(epsilon) or delta == 1:
        return DiscreteLoss.from_log_masses([], [], 1.0, 1.0)
    losses = [epsilon, -epsilon] if epsilon else [0.0]
    log_masses = np.log1p(-delta) + (log_expit(losses) if epsilon else np.zeros(1))
    return DiscreteLoss.from_log_masses(losses, log_masses, delta, delta)


def approx_to_zcdp(epsilon: ArrayLike, delta: ArrayLike) -> tuple[Any, Any]:
    """(rho, delta): every (epsilon, delta)-DP mechanism is delta-approximately rho-zCDP, rho = epsilon tanh(epsilon / 2).

    Approximate DP with delta > 0 gives no Rényi, zCDP or GDP guarantee at all (the loss may be infinite); this is the
    nearest true statement: outside an event of probability delta the divergences stay below rho alpha. Upper bound.

    References
    ----------
    Bun and Steinke (2016), section 8, for approximate zCDP.
    """
    epsilon, delta = np.broadcast_arrays(nonnegative("epsilon", epsilon), probability("delta", delta))
    return plain(pure_to_zcdp(epsilon)), plain(delta.copy())


def membership_advantage(epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Any:
    """The most that a membership test gains, true minus false positive rate, on an (epsilon, delta)-DP mechanism. Exact.

    (e**epsilon - 1 + 2 delta) / (e**epsilon + 1), the total variation of the worst pair.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), whose worst pair it is.

    >>> round(membership_advantage(1.0, 1e-5), 12)
    0.462122536088
    """
    epsilon, delta = np.broadcast_arrays(nonnegative("epsilon", epsilon), probability("delta", delta))
    return plain(np.tanh(epsilon / 2) + 2 * delta * expit(-epsilon))


def amplify_by_sampling(epsilon: ArrayLike, delta: ArrayLike, q: ArrayLike) -> tuple[Any, Any]:
    """(epsilon, delta) of an (epsilon, delta)-DP mechanism run on a sample of rate q: (log(1 + q (e**epsilon - 1)), q delta).

    Tight for mechanisms of which only (epsilon, delta) is known. Poisson sampling with add/remove-one neighbors, or sampling
    without replacement of a share q with replace-one neighbors.

    References
    ----------
    Balle, Barthe and Gaboardi (2018), Privacy Amplification by Subsampling.

    >>> round(amplify_by_sampling(1.0, 0.0, 0.01)[0], 12)
    0.017036863236
    """
    epsilon, delta, q = np.broadcast_arrays(nonnegative("epsilon", epsilon), probability("delta", delta), probability("q", q))
    with np.errstate(divide="ignore", invalid="ignore"):
        large = np.where(q == 0, 0.0, np.logaddexp(np.log1p(-q), np.log(q) + epsilon))
    smaller = np.where(q == 1, epsilon, np.where(epsilon > 700, large, np.log1p(q * np.expm1(np.minimum(epsilon, 700.0)))))
    return plain(smaller), plain(q * delta)


def shuffle_epsilon(epsilon0: ArrayLike, n: int, delta: float) -> Any:
    """An epsilon at which shuffled reports of n people, each epsilon0-locally private, are (epsilon, delta)-DP. A loose bound.

    log(1 + tanh(epsilon0/2) (8 sqrt(e**epsilon0 log(4/delta)) / sqrt(n) + 8 e**epsilon0 / n)), proved for
    epsilon0 <= log(n / (16 log(2/delta))) only; outside that condition this raises. Neighbors replace one person's report.
    Binary randomized response at n = 10,000 and epsilon0 = 1 really has 0.0357 where this says 0.214.

    References
    ----------
    Feldman, McMillan and Talwar (2021), Hiding Among the Clones (the closed form is quoted from memory).

    >>> round(shuffle_epsilon(1.0, 10_000, 1e-6), 12)
    0.214025651931
    """
    epsilon0, n = nonnegative("epsilon0", epsilon0), count("n", n, 1)
    delta = open_probability("delta", delta)
    limit = np.log(n / (16 * np.log(2 / delta)))
    if np.any(epsilon0 > limit):
        raise fail("epsilon0", plain(epsilon0), f"at most log(n / (16 log(2/delta))) = {limit:.6g}, where the bound is proved")
    growth = 8 * np.sqrt(np.exp(epsilon0) * np.log(4 / delta) / n) + 8 * np.exp(epsilon0) / n
    return plain(np.minimum(np.log1p(np.tanh(epsilon0 / 2) * growth), epsilon0))
