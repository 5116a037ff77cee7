"""Mechanism design: the channel that is most useful within given budgets, by linear programming."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult, linprog

from dpnotes._validate import FloatArray, fail, finite, nonnegative, scalar
from dpnotes.information_density._examples import _full
from dpnotes.information_density._joint import JointLaw

_MOST_SECRETS = 10
_SOLVER = {"method": "highs", "options": {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}}


def best_channel(prior: ArrayLike, score: ArrayLike | None = None, *, pmc: float = np.inf, pml: float = np.inf,
                 ldp: float = np.inf) -> tuple[JointLaw, float]:
    """The channel of largest expected score within the budgets, and that score. Optimal up to about 1e-8.

    The budgets are linear in the channel K once P(y) is written as the sum of P(x) K(y|x):
    e**-pmc P(y) <= K(y|x) <= e**pml P(y), and K(y|x) <= e**ldp K(y|x'). The constant channel always keeps to them.

    Parameters
    ----------
    prior : law of the secret, shape (k,), no zeros.
    score : what output y is worth when the secret is x, shape (k, m), finite. None is the identity: the score is then
        the probability that the output equals the secret.
    pmc, pml, ldp : budgets in nats, >= 0; inf is no budget. Together they are joint budgets. They are
        kept up to rounding: what the solver's tolerance exceeds is mixed away. Above 15 nats that may cost some score.

    >>> law, value = best_channel([0.2, 0.3, 0.5], ldp=1.0)
    >>> round(value, 6), round(law.ldp_epsilon(), 6)
    (0.584847, 1.0)
    """
    prior = _full(prior)
    k = len(prior)
    score = np.eye(k) if score is None else finite("score", score)
    if score.ndim != 2 or len(score) != k or score.size == 0:
        raise fail("score", score, f"a matrix with {k} rows, one a secret, and one column an output")
    pmc, pml, ldp = (scalar(name, nonnegative(name, value)) for name, value in (("pmc", pmc), ("pml", pml), ("ldp", ldp)))
    average, each = np.tile(prior, (k, 1)), np.eye(k)
    limits = []  # rows r with r . K(y|.) <= 0, the same for every output y
    if np.isfinite(pmc):
        limits.append(np.exp(-pmc) * average - each)
    if np.isfinite(pml):
        limits.append(np.exp(-pml) * each - average)
    if np.isfinite(ldp):
        limits.append(np.array([np.exp(-ldp) * each[x] - each[other] for x, other in itertools.permutations(range(k), 2)]))
    m = score.shape[1]
    # The unknowns are K(y|x), output by output: block y of each limit stands alone, the rows' sums run across blocks.
    limit = np.kron(np.eye(m), np.vstack(limits)) if limits else None
    solution = linprog(-(prior[:, None] * score).T.ravel(), A_ub=limit, b_ub=None if limit is None else np.zeros(len(limit)),
                       A_eq=np.tile(np.eye(k), m), b_eq=np.ones(k), bounds=(0, 1), **_SOLVER)
    law = _within(prior, solution, lambda x: x.reshape(m, k).T, pmc, pml, ldp)
    return law, float(np.sum(law.prior[:, None] * law.channel * score))


def most_informative_channel(prior: ArrayLike, *, pmc: float = np.inf, pml: float = np.inf,
                             ldp: float | None = None) -> tuple[JointLaw, float]:
    """The channel with the largest mutual information I(X; Y) within the budgets, and that information, in nats.

    Mutual information is convex in the lifts of an output, so a best channel uses extreme lifts only: for (pmc, pml) the
    corners of the polytope of posteriors, for ldp the lifts that take two values whose ratio is e**ldp. How often each is
    used is a linear program. Optimal up to about 1e-8, and within the budgets as for `best_channel`.

    Parameters
    ----------
    prior : law of the secret, shape (k,), no zeros, k <= 10 (there are about k 2**k corners).
    pmc, pml : budgets in nats, >= 0, inf allowed; or else
    ldp : budget in nats, >= 0 and finite; not together with the other two.

    >>> law, information = most_informative_channel([0.5, 0.5], ldp=np.log(3))
    >>> np.sort(law.channel).round(9).tolist(), round(information, 10)
    ([[0.25, 0.75], [0.25, 0.75]], 0.1308120359)
    """
    prior = _full(prior)
    if len(prior) > _MOST_SECRETS:
        raise fail("prior", prior, f"of length at most {_MOST_SECRETS}")
    if ldp is None:
        pmc, pml = (scalar(name, nonnegative(name, value)) for name, value in (("pmc", pmc), ("pml", pml)))
        lifts = posterior_corners(prior, pmc, pml) / prior
    elif pmc < np.inf or pml < np.inf:
        raise fail("ldp", ldp, "None when pmc or pml is given")
    else:
        ldp = scalar("ldp", nonnegative("ldp", finite("ldp", ldp)))
        patterns = np.exp(ldp * (np.array(list(itertools.product((0, 1), repeat=len(prior)))) - 1.0))
        lifts = patterns / (patterns @ prior)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.sum(np.where(lifts > 0, prior * lifts * np.log(lifts), 0.0), axis=1)
    solution = linprog(-information, A_eq=lifts.T, b_eq=np.ones(len(prior)), bounds=(0, None), **_SOLVER)
    cap = np.inf if ldp is None else ldp
    law = _within(prior, solution, lambda x: (x[:, None] * lifts).T, pmc, pml, cap)  # P(y) times the lift is P(y|x)
    law = JointLaw(law.prior, law.channel[:, law.output > 0])
    return law, law.mutual_information()


def _within(prior: FloatArray, solution: OptimizeResult, read: Callable, pmc: float, pml: float, ldp: float) -> JointLaw:
    """The solver's channel, cleaned of noise and pulled toward its mean P(y) until no budget is exceeded.

    With the share t of P(y), a lift r becomes (1 - t) r + t: each budget asks for a smallest t, 0 but for the solver's tolerance.
    """
    if solution.x is None:
        raise RuntimeError(f"the linear program was not solved: {solution.message}")
    channel = np.maximum(read(solution.x), 0.0)
    channel[:, prior @ channel < 1e-9] = 0.0
    law = JointLaw(prior, channel / channel.sum(axis=1, keepdims=True))
    lift = law.channel[:, law.output > 0] / law.output[law.output > 0]
    top, low = lift.max(axis=0), lift.min(axis=0)
    least, most, ratio = np.exp(-pmc), np.exp(min(pml, 700.0)), np.exp(min(ldp, 700.0))
    over = np.maximum(top - ratio * low, 0.0) if np.isfinite(ldp) else np.zeros(top.shape)
    shares = [np.maximum(least - low, 0) / np.maximum(1 - low, 1e-300), np.maximum(top - most, 0) / np.maximum(top - 1, 1e-300),
              over / np.maximum(over + ratio - 1, 1e-300)]
    t = np.max(shares)
    return JointLaw(prior, np.minimum((1 - t) * law.channel + t * law.output, 1.0))


def posterior_corners(prior: FloatArray, pmc: float, pml: float) -> FloatArray:
    """The corners of {q : q adds up to 1, e**-pmc P(x) <= q(x) <= e**pml P(x)}, one a row: all coordinates but one at a bound."""
    low, high = np.exp(-pmc) * prior, np.minimum(np.exp(min(pml, 700.0)) * prior, 1.0)
    corners = []
    for free in range(len(prior)):
        for choice in itertools.product((0, 1), repeat=len(prior) - 1):
            q = np.where(np.insert(choice, free, 0), high, low)
            q[free] = 1 - np.delete(q, free).sum()
            if low[free] - 1e-12 <= q[free] <= high[free] + 1e-12:
                corners.append(np.clip(q, low, high))
    return np.unique(np.round(corners, 15), axis=0)
