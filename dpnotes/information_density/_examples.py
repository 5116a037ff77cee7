"""Channels with a purpose: randomized response, the examples that attain a bound, the ones that break a belief."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, count, distribution, fail, nonnegative, probability, scalar
from dpnotes.information_density._joint import JointLaw


def _full(prior: ArrayLike) -> FloatArray:
    prior = distribution("prior", prior)
    if len(prior) < 2 or not prior.all():
        raise fail("prior", prior, "two or more probabilities above 0")
    return prior / prior.sum()


def randomized_response(prior: ArrayLike, epsilon: float) -> JointLaw:
    """k-ary randomized response: the truth with odds e**epsilon against any one other symbol. epsilon-LDP, exactly.

    Parameters
    ----------
    prior : law of the secret, shape (k,), k >= 2.
    epsilon : in nats, >= 0; inf tells the truth. Beyond 745, e**-epsilon is 0 in floating point.

    >>> randomized_response([0.2, 0.3, 0.5], 1.0)
    JointLaw(3 secrets, 3 outputs, PMC=0.620115, PML=0.704605, LDP=1)
    """
    prior, epsilon = distribution("prior", prior), scalar("epsilon", nonnegative("epsilon", epsilon))
    k, lie = count("len(prior)", len(prior), low=2), np.exp(-epsilon)
    return JointLaw(prior, (lie + (1 - lie) * np.eye(k)) / (1 + (k - 1) * lie))


def rarest_or_not(prior: ArrayLike, epsilon: float) -> JointLaw:
    """Binary randomized response on the question "is X the rarest secret?": output 0 leans to yes, output 1 to no.

    epsilon-LDP, and among all epsilon-LDP mechanisms it has the largest PMC (output 1) and the largest PML (output 0).

    >>> rarest_or_not([0.2, 0.3, 0.5], 1.0)
    JointLaw(3 secrets, 2 outputs, PMC=0.86484, PML=0.704605, LDP=1)
    """
    prior, epsilon = _full(prior), scalar("epsilon", nonnegative("epsilon", epsilon))
    truth, lie = 1 / (1 + np.exp(-epsilon)), np.exp(-epsilon) / (1 + np.exp(-epsilon))
    rarest = np.arange(len(prior)) == np.argmin(prior)
    return JointLaw(prior, np.where(rarest[:, None], [truth, lie], [lie, truth]))


def reveal(prior: ArrayLike, lam: float) -> JointLaw:
    """The secret itself with probability lam, otherwise a fresh draw from the prior.

    PMC is -log(1 - lam) for every output (two secrets or more), PML(y) = log(1 - lam + lam / P(y)): it grows without bound as
    secrets become rare, and for a secret with a density it is inf at every output.

    >>> reveal([0.2, 0.3, 0.5], 0.3)
    JointLaw(3 secrets, 3 outputs, PMC=0.356675, PML=0.788457, LDP=1.14513)
    """
    prior, lam = _full(prior), scalar("lam", probability("lam", lam))
    return JointLaw(prior, np.minimum(lam * np.eye(len(prior)) + (1 - lam) * prior, 1.0))


def z_channel(p: float = 0.5, flip: float = 0.5) -> JointLaw:
    """Secret 0 always gives output 0; secret 1 gives it with probability `flip`, otherwise output 1.

    Output 1 rules secret 0 out: PMC is inf while PML stays at most log(1 / p_min). `p` is the probability of secret 1.

    >>> z_channel()
    JointLaw(2 secrets, 2 outputs, PMC=inf, PML=0.693147, LDP=inf)
    """
    p, flip = scalar("p", probability("p", p)), scalar("flip", probability("flip", flip))
    return JointLaw([1 - p, p], [[1.0, 0.0], [flip, 1 - flip]])


def one_other(k: int = 3) -> JointLaw:
    """Uniform secret; the output is one of the k - 1 other symbols, at random. PML is log(k / (k - 1)), PMC inf.

    Composed with itself, for k = 3, it reveals the secret whenever the two outputs differ: the lift is then 3, above the
    product 1.5 * 1.5 of the bounds.

    >>> twice = one_other().compose(one_other().channel)
    >>> np.exp([one_other().pml_epsilon(), twice.pml_epsilon()]).round(12).tolist()
    [1.5, 3.0]
    """
    k = count("k", k, low=2)
    return JointLaw(np.full(k, 1 / k), (1 - np.eye(k)) / (k - 1))


def tight_pml_to_pmc(prior: ArrayLike, epsilon_u: float) -> JointLaw:
    """An epsilon_u-PML channel whose PMC is `pml_to_pmc`(epsilon_u, p_min): inf from epsilon_u = -log(1 - p_min) on.

    Output 0 lifts every secret but the rarest by e**epsilon_u, as far as the rarest secret can pay for it.
    """
    prior, u = _full(prior), scalar("epsilon_u", nonnegative("epsilon_u", epsilon_u))
    p = prior.min()
    if u >= -np.log1p(-p):
        return _two_outputs(prior, 1 / (1 - p), 0.0, p)
    high = np.exp(u)
    low = max(0.0, 1 - (1 - p) / p * np.expm1(u))
    # Output 1 must keep to epsilon_u: (1 - q low) / (1 - q) <= high. Half of the largest such q is safe.
    return _two_outputs(prior, high, low, (high - 1) / (high - low) / 2 if u > 0 else 0.5)


def tight_pmc_to_pml(prior: ArrayLike, epsilon_l: float) -> JointLaw:
    """An epsilon_l-PMC channel whose PML is `pmc_to_pml`(epsilon_l, p_min).

    Output 0 lowers every secret but the rarest to e**-epsilon_l, and the rarest takes what is left.
    """
    prior, l = _full(prior), scalar("epsilon_l", nonnegative("epsilon_l", epsilon_l))
    p, low = prior.min(), np.exp(-l)
    high = 1 - (1 - p) / p * np.expm1(-l)
    # Output 1 must keep to epsilon_l: (1 - q high) / (1 - q) >= low.
    return _two_outputs(prior, low, high, (1 - low) / (high - low) / 2 if l > 0 else 0.5)


def _two_outputs(prior: FloatArray, others: float, rarest: float, q: float) -> JointLaw:
    """Output 0 has probability q, lifts the rarest secret by `rarest` and each other one by `others`; output 1 is the rest."""
    lift = np.where(np.arange(len(prior)) == np.argmin(prior), rarest, others)
    return JointLaw(prior, np.stack([q * lift, 1 - q * lift], axis=1))
