"""Exact checks on finitely many outputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, distribution, fail, nonnegative, probability
from dpnotes.ex_post._definitions import ExPostDefinition
from dpnotes.privacy_loss._special import logsumexp


class FinitePair:
    """The laws P and Q of a mechanism that returns (y, epsilon), on finitely many outputs, as ONE ordered pair.

    Parameters
    ----------
    p, q : probabilities of the outputs on the true data and on the neighbor, shape (n,), each adding up to 1 within 1e-9.
    epsilon : the bound that comes with each output, in nats, finite and at least 0; shape (n,) or one number for all.

    Definitions are about both ordered pairs: ``definition.holds(pair)`` reads `pair` and ``pair.swapped``.

    >>> from dpnotes.ex_post import ProbabilisticExPost
    >>> pair = FinitePair([0.05, 0.40, 0.55], [0.0, 0.20, 0.80], np.log(2))
    >>> ProbabilisticExPost(0.05).holds(pair), ProbabilisticExPost(0.05).holds(pair.merge([0, 0, 1]))
    (True, False)
    """

    def __init__(self, p: ArrayLike, q: ArrayLike, epsilon: ArrayLike) -> None:
        self.p, self.q = distribution("p", p), distribution("q", q)
        if self.p.shape != self.q.shape:
            raise fail("q", q, f"of the same length as p ({self.p.size})")
        self.epsilon = _bounds("epsilon", epsilon, self.p.size)

    @property
    def swapped(self) -> FinitePair:
        """The pair read the other way, (Q, P); the outputs keep their bounds."""
        return FinitePair(self.q, self.p, self.epsilon)

    @property
    def losses(self) -> FloatArray:
        """log p/q by output, shape (n,): inf where only P has mass, -inf where P has none."""
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(self.p), np.log(np.where(self.p > 0, self.q, 1.0))  # no output at all: -inf, not nan
        return log_p - log_q

    def mean(self, definition: ExPostDefinition) -> float:
        """E_P of the definition's statistic for this ordered pair: compare it with ``definition.limit``. Exact.

        0 or a probability for the pure and the probabilistic definition, the smallest delta for the approximate one, the
        mean wealth E_Q[W] for the Rényi one (inf if P has mass where Q has none).
        """
        seen = self.p > 0
        terms = np.log(self.p[seen]) + definition.log_statistic(self.losses[seen], self.epsilon[seen])
        with np.errstate(over="ignore"):
            return float(np.exp(logsumexp(terms)))

    def post_process(self, kernel: ArrayLike, *, epsilon: ArrayLike | None = None) -> FinitePair:
        """The pair after a random map of the outputs that carries the bounds along.

        Parameters
        ----------
        kernel : shape (n, m); row i gives the probabilities with which output i becomes each of m new outputs.
        epsilon : new bounds by old output, each at least the old one (rounding up); default: unchanged.

        The new outputs are the pairs (new output, bound) that can occur.
        """
        kernel = probability("kernel", kernel)
        if kernel.ndim != 2 or len(kernel) != self.p.size or np.any(np.abs(kernel.sum(axis=1) - 1) > 1e-9):
            raise fail("kernel", kernel, f"a matrix with {self.p.size} rows of probabilities that each add up to 1")
        bounds = self.epsilon if epsilon is None else _bounds("epsilon", epsilon, self.p.size)
        if np.any(bounds < self.epsilon):
            raise fail("epsilon", epsilon, "at least the old bound at every output: rounding a bound down breaks it")
        values, place = np.unique(bounds, return_inverse=True)
        lift = np.zeros((self.p.size, kernel.shape[1], values.size))
        lift[np.arange(self.p.size), :, place] = kernel
        p, q = (np.einsum("i,ijk->jk", mass, lift).ravel() for mass in (self.p, self.q))
        seen = (p > 0) | (q > 0)
        return FinitePair(p[seen], q[seen], np.broadcast_to(values, (kernel.shape[1], values.size)).ravel()[seen])

    def merge(self, groups: Sequence[int]) -> FinitePair:
        """Post-processing by a function: output i becomes number ``groups[i]``. Outputs with different bounds stay apart."""
        return self.post_process(np.eye(max(groups) + 1)[list(groups)])

    def averaged_bound(self, kernel: ArrayLike) -> FloatArray:
        """log E_Q[e**epsilon | new output], shape (m,): the best bound when post-processing may NOT carry epsilon along.

        It depends on Q, hence on the data, which is why the bound has to be part of the output. nan where Q has no mass.
        """
        kernel = probability("kernel", kernel)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log((self.q * np.exp(self.epsilon)) @ kernel) - np.log(self.q @ kernel)

    def then(self, second: FinitePair | Sequence[FinitePair]) -> FinitePair:
        """Adaptive composition: the joint pair when `second` (one pair, or one by output of the first) runs next; bounds add."""
        each = [second] * self.p.size if isinstance(second, FinitePair) else list(second)
        if len(each) != self.p.size:
            raise fail("second", len(each), f"one pair, or {self.p.size} pairs, one by output of the first")
        return FinitePair(np.concatenate([p * b.p for p, b in zip(self.p, each, strict=True)]),
                          np.concatenate([q * b.q for q, b in zip(self.q, each, strict=True)]),
                          np.concatenate([e + b.epsilon for e, b in zip(self.epsilon, each, strict=True)]))

    def __repr__(self) -> str:
        return f"FinitePair({self.p.size} outputs, epsilon from {self.epsilon.min():.6g} to {self.epsilon.max():.6g})"


def _bounds(name: str, epsilon: ArrayLike, size: int) -> FloatArray:
    array = nonnegative(name, epsilon)
    if array.shape not in ((), (size,)) or np.isinf(array).any():
        raise fail(name, epsilon, f"finite, at least 0, one number or {size} of them")
    return np.broadcast_to(array, (size,)).copy()
