"""A secret, an output, their joint law on finite alphabets, and everything the information density says about it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, as_array, count, distribution, fail, nonnegative, plain, probability
from dpnotes.privacy_loss import DiscreteLoss


def stochastic(name: str, value: ArrayLike, rows: int | None = None) -> FloatArray:
    """A matrix whose rows are laws: probabilities that add up to 1 within 1e-9, and are then made to add up exactly."""
    array = probability(name, value)
    if array.ndim != 2 or array.size == 0 or (rows is not None and len(array) != rows):
        raise fail(name, value, f"a matrix with {'' if rows is None else f'{rows} '}rows, one law of the output for each secret")
    sums = array.sum(axis=1)
    if np.max(np.abs(sums - 1)) > 1e-9:
        row = int(np.argmax(np.abs(sums - 1)))
        raise fail(name, value, f"a matrix whose rows add up to 1 (row {row} adds up to {sums[row]:.12g})")
    return array / sums[:, None]


class JointLaw:
    """The joint law of a secret X and an output Y on finite alphabets, as a prior and a channel. Exact up to rounding.

    The information density i(x; y) = log P(y|x) / P(y) = log P(x|y) / P(x) compares what is believed of x after the
    output with what was believed before. Its largest value over x is the pointwise maximal leakage (PML) of the output
    y, minus its smallest value the pointwise maximal cost (PMC). Infinite values are ordinary: PMC is inf where the
    output rules a secret out. All values are in nats.

    Parameters
    ----------
    prior : law of the secret, shape (k,), adds up to 1 within 1e-9. A secret of probability 0 counts for nothing in PML
        and PMC, which are essential suprema under the prior; LDP reads its row of the channel all the same.
    channel : shape (k, m); row x is the law of the output when the secret is x.

    An output of probability 0 has no posterior: its values are nan, and the worst cases leave it out.

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund and Oechtering, Information Density Bounds for Privacy, arXiv 2407.01167.

    >>> law = JointLaw([0.2, 0.3, 0.5], [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    >>> law.pmc().round(6).tolist(), law.pml().round(6).tolist()
    ([0.336472, 0.470004, 0.693147], [0.76214, 0.628609, 0.405465])
    >>> bool(np.allclose(law.ldp(), law.pmc() + law.pml()))
    True
    """

    def __init__(self, prior: ArrayLike, channel: ArrayLike) -> None:
        prior = distribution("prior", prior)
        self.prior = prior / prior.sum()
        self.channel = stochastic("channel", channel, len(prior))
        self.output = self.prior @ self.channel
        for array in (self.prior, self.channel, self.output):  # what is computed from them is kept
            array.flags.writeable = False

    @classmethod
    def from_joint(cls, joint: ArrayLike) -> JointLaw:
        """From the matrix of P(x, y), shape (k, m), which adds up to 1; every row must have some probability.

        >>> JointLaw.from_joint([[0.5, 0.0], [0.25, 0.25]]).channel.tolist()
        [[1.0, 0.0], [0.5, 0.5]]
        """
        array = probability("joint", joint)
        if array.ndim != 2 or array.size == 0 or abs(array.sum() - 1) > 1e-9 or not array.sum(axis=1).all():
            raise fail("joint", joint, "a matrix of probabilities that adds up to 1 and has no row of zeros")
        prior = array.sum(axis=1)
        return cls(prior, array / prior[:, None])

    # The density.
    @cached_property
    def density(self) -> FloatArray:
        """i(x; y) in nats, shape (k, m): -inf where y rules x out, nan in columns of outputs that never come."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self.channel) - np.log(np.where(self.output > 0, self.output, np.nan))

    @cached_property
    def posterior(self) -> FloatArray:
        """P(x|y), shape (k, m), one column an output; nan in columns of outputs that never come."""
        return self.prior[:, None] * self.channel / np.where(self.output > 0, self.output, np.nan)

    # Readings of one output.
    def pml(self, y: ArrayLike | None = None) -> Any:
        """Pointwise maximal leakage max_x i(x; y), of every output, shape (m,), or of the output(s) with index y. Exact.

        Never negative, at most log(1 / p_min). The best adversary is `bettor` (by gains) or `guesser` (by guessing).
        """
        return self._at(y, np.maximum(self.density[self.prior > 0].max(axis=0), 0.0))

    def pmc(self, y: ArrayLike | None = None) -> Any:
        """Pointwise maximal cost -min_x i(x; y), of every output or of the output(s) with index y; may be inf. Exact.

        Never negative. The best adversary is `burglar` (by costs) or `doubter` (by wrong guesses).
        """
        return self._at(y, np.maximum(-self.density[self.prior > 0].min(axis=0), 0.0))

    def ldp(self, y: ArrayLike | None = None) -> Any:
        """log of max_x P(y|x) / min_x P(y|x), over all rows of the channel, whatever their prior. Exact; may be inf.

        With a prior that has no zero it is exactly ``pmc(y) + pml(y)``, and otherwise at least that.
        """
        top, bottom = self.channel.max(axis=0), self.channel.min(axis=0)
        with np.errstate(divide="ignore"):
            return self._at(y, np.log(np.where(top > 0, top, np.nan)) - np.log(bottom))

    def _at(self, y: ArrayLike | None, values: FloatArray) -> Any:
        if y is None:
            return values
        index = as_array("y", y, f"the index of an output, 0 to {len(values) - 1}")
        if index.dtype.kind not in "iu" or index.size == 0 or index.min() < 0 or index.max() >= len(values):
            raise fail("y", y, f"the index of an output, 0 to {len(values) - 1}")
        return plain(values[index])

    # Readings of the whole channel.
    def pml_epsilon(self, delta: ArrayLike = 0.0) -> Any:
        """The smallest epsilon of an (epsilon, delta)-PML guarantee: P_Y[PML(X -> Y) > epsilon] <= delta. Exact.

        delta = 0 gives the worst case over the outputs that can come.
        """
        return self._smallest(self.pml(), delta)

    def pmc_epsilon(self, delta: ArrayLike = 0.0) -> Any:
        """The smallest epsilon with P_Y[PMC(X -> Y) > epsilon] <= delta; delta = 0 gives the worst case. Exact; may be inf."""
        return self._smallest(self.pmc(), delta)

    def pml_delta(self, epsilon: ArrayLike) -> Any:
        """P_Y[PML(X -> Y) > epsilon]: the probability of an output that leaks more than epsilon >= 0 nats. Exact."""
        return self._tail(self.pml(), epsilon)

    def pmc_delta(self, epsilon: ArrayLike) -> Any:
        """P_Y[PMC(X -> Y) > epsilon]: the probability of an output that costs more than epsilon >= 0 nats. Exact."""
        return self._tail(self.pmc(), epsilon)

    def _tail(self, values: FloatArray, epsilon: ArrayLike) -> Any:
        return plain(np.sum(self.output * (values > nonnegative("epsilon", epsilon)[..., None]), axis=-1))

    def _smallest(self, values: FloatArray, delta: ArrayLike) -> Any:
        delta = probability("delta", delta)
        candidates = np.unique(np.append(values[self.output > 0], 0.0))
        tails = np.sum(self.output * (values > candidates[:, None]), axis=-1)  # falls to 0 at the largest candidate
        # 1e-15 forgives the rounding of the added masses
        return plain(candidates[np.argmax(tails <= delta[..., None] + 1e-15 * (delta > 0)[..., None], axis=-1)])

    def ldp_epsilon(self) -> float:
        """The smallest epsilon for which the channel is epsilon-LDP: P(y|x) <= e**epsilon P(y|x') for all x, x', y. Exact."""
        return float(np.nanmax(self.ldp()))

    def alip(self) -> tuple[float, float]:
        """(epsilon_l, epsilon_u), the tight budgets of asymmetric local information privacy: worst PMC, worst PML."""
        return self.pmc_epsilon(), self.pml_epsilon()

    def lip_epsilon(self) -> float:
        """The smallest epsilon of local information privacy, |i(x; y)| <= epsilon: the larger of worst PMC and worst PML."""
        return max(self.alip())

    def maximal_leakage(self) -> float:
        """log of E_Y[e**PML(X -> Y)], which is log of the sum over y of max_x P(y|x), x in the support. Exact."""
        return float(max(np.log(self.channel[self.prior > 0].max(axis=0).sum()), 0.0))

    def mutual_information(self) -> float:
        """E[i(X; Y)] in nats: the average where the other readings take the extremes."""
        joint = self.prior[:, None] * self.channel
        return float(max(np.sum(joint[joint > 0] * self.density[joint > 0]), 0.0))

    def privacy_loss(self, x: int, other: int) -> DiscreteLoss:
        """The privacy-loss random variable of the pair of secrets (x, other): L = i(x; Y) - i(other; Y) under X = x."""
        k = len(self.prior)
        for name, value in (("x", x), ("other", other)):
            if count(name, value) >= k:
                raise fail(name, value, f"the index of a secret, 0 to {k - 1}")
        return DiscreteLoss.from_probabilities(self.channel[x], self.channel[other])

    # More channels.
    def then(self, channel: ArrayLike) -> JointLaw:
        """Post-processing X - Y - Z: the law of X and Z, where row y of `channel`, shape (m, l), is the law of Z given y.

        No worst case grows, since each P(z|x) is an average of the P(y|x).
        """
        after = self.channel @ stochastic("channel", channel, self.channel.shape[1])
        return JointLaw(self.prior, np.minimum(after, 1.0))  # a sum that is 1 may round to above 1

    def compose(self, second: ArrayLike) -> JointLaw:
        """The law of X and the pair (Y1, Y2); output number y1 * m2 + y2 is the pair (y1, y2).

        Parameters
        ----------
        second : channel of the second output, shape (k, m2); or shape (m1, k, m2), one channel for each first output
            (the second mechanism then adapts to the first output). Given X, and Y1 where it adapts, Y2 is fresh.

        LDP bounds add. PML and PMC bounds add only when the second bound holds with the first posterior as its prior:
        see `composition_bounds`.
        """
        second = self._second(second)
        return JointLaw(self.prior, np.einsum("xy,yxz->xyz", self.channel, second).reshape(len(self.prior), -1))

    def updated(self, y: int, channel: ArrayLike) -> JointLaw:
        """The law of X and the output of `channel`, for one who has seen output y and so has its posterior as prior."""
        if np.isnan(posterior := self.posterior[:, self._at(y, np.arange(len(self.output)))]).any():
            raise fail("y", y, "an output of positive probability")
        return JointLaw(posterior, channel)

    def composition_bounds(self, second: ArrayLike) -> tuple[float, float]:
        """(PMC, PML) upper bounds for `compose`, by the chain rule i(x; y1, y2) = i(x; y1) + i(x; y2 | y1).

        The second terms are read with the prior P(x|y1). With the original prior the sums are no bounds.
        """
        bounds = []
        for y, channel in enumerate(self._second(second)):
            if self.output[y] > 0:
                after = self.updated(y, channel)
                bounds.append((self.pmc(y) + after.pmc_epsilon(), self.pml(y) + after.pml_epsilon()))
        return tuple(float(max(column)) for column in zip(*bounds, strict=True))

    def _second(self, second: ArrayLike) -> FloatArray:
        (k, m), array = self.channel.shape, probability("second", second)
        if array.ndim == 2:
            array = np.broadcast_to(array, (m, *array.shape))
        if array.ndim != 3 or len(array) != m:
            raise fail("second", second, f"a channel with {k} rows, or an array of {m} of them")
        return np.array([stochastic("second", channel, k) for channel in array])

    def __repr__(self) -> str:
        (k, m), (pmc, pml) = self.channel.shape, self.alip()
        return f"JointLaw({k} secrets, {m} outputs, PMC={pmc:.6g}, PML={pml:.6g}, LDP={self.ldp_epsilon():.6g})"
