"""Mechanisms on a random sample of the records: whoever might not have been looked at is better hidden."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions
from dpnotes._validate import at_least, count, fail, finite, generator, plain, probability, scalar
from dpnotes.mechanisms._additive import Additive, Gaussian
from dpnotes.mechanisms._base import NEIGHBORS, Mechanism
from dpnotes.mechanisms._chords import loss_of_chords
from dpnotes.mechanisms._discrete import Discrete, DiscreteGaussian, DiscreteLaplace
from dpnotes.mechanisms._local import RandomizedResponse
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss, PrivacyLoss, poisson_sampled_loss
from dpnotes.privacy_loss._lattice import DiscreteGaussianLoss
from dpnotes.privacy_loss._sampled import LARGEST_LAPLACE
from dpnotes.privacy_loss._special import logsumexp


class Sampled(Mechanism):
    """What both kinds of sampling share. Sampling never makes a guarantee worse, so those of the mechanism stay true."""

    kinds: ClassVar[dict[str, str]] = dict.fromkeys(Mechanism.kinds, "upper")
    mechanism: Mechanism
    q: float

    @property
    def pure_epsilon(self) -> float:
        """log(1 + q (e**epsilon - 1)) for a mechanism that is epsilon-DP."""
        return float(conversions.amplify_by_sampling(self.mechanism.pure_epsilon, 0.0, self.q)[0])

    @property
    def rho(self) -> float:
        """The smaller of the mechanism's own and what `pure_epsilon` implies. An upper bound."""
        return min(self.mechanism.rho, float(conversions.pure_to_zcdp(self.pure_epsilon)))

    @property
    def mu(self) -> float:
        """The smaller of the mechanism's own and what `pure_epsilon` implies. An upper bound."""
        return min(self.mechanism.mu, super().mu)

    def renyi(self, alpha: ArrayLike) -> Any:
        """The smaller of that of `privacy_losses` and the mechanism's own. An upper bound."""
        alpha = at_least("alpha", alpha, 1.0)
        return plain(np.minimum(super().renyi(alpha), self.mechanism.renyi(alpha)))

    @property
    def _contributions(self) -> tuple[Additive, int]:
        if not isinstance(self.mechanism, Additive):
            raise ValueError(f"{self!r} cannot add up records: only mechanisms that add noise to a sum can")
        return self.mechanism, 2 if isinstance(self.mechanism, Gaussian | DiscreteGaussian) else 1

    def _noisy_sum(self, records: ArrayLike, sample: Callable[[int], np.ndarray], limit: float,
                   rng: np.random.Generator) -> Any:
        mechanism, order = self._contributions
        rows = finite("records", records)
        if rows.ndim not in (1, 2):
            raise fail("records", records, "an array with one row for each record, shape (n,) or (n, d)")
        sizes = np.abs(rows) if rows.ndim == 1 else np.linalg.norm(rows, order, axis=1)
        if np.any(sizes > limit * (1 + 1e-12)):
            raise fail("records", records, f"clipped to norm {limit:g}, so that the sensitivity holds")
        total = rows[sample(len(rows))].sum(axis=0)
        return mechanism.release(total.astype(np.int64) if isinstance(mechanism, Discrete) else total, rng=rng)


class PoissonSampled(Sampled):
    """A mechanism on the records that a coin keeps: each record is in the sample with probability q, independently.

    The neighbors add or remove one record. With (P, Q) the laws with and without it in the sample, the pair is
    (1 - q) Q + q P against Q when it is removed, and the reverse when it is added; the two losses differ, and a guarantee
    needs both.

    Parameters
    ----------
    mechanism : one whose neighbors add or remove one record, with the same loss both ways. For `RandomizedResponse`, which
        replaces, an absent person is one who reports as if holding the answer 0.
    q : the probability with which a record is in the sample.

    References
    ----------
    Balle, Barthe and Gaboardi (2018), Privacy Amplification by Subsampling; Zhu, Dong and Wang (2022), Optimal Accounting of
    Differential Privacy via Characteristic Function.

    >>> from dpnotes.mechanisms import Laplace
    >>> round(Laplace(scale=1.0).poisson_sampled(q=0.01).pure_epsilon, 12)
    0.017036863236
    """

    neighbors = NEIGHBORS[0]

    def __init__(self, mechanism: Mechanism, q: float) -> None:
        self.q = scalar("q", probability("q", q))
        if not isinstance(mechanism, Mechanism):
            raise fail("mechanism", mechanism, "a mechanism")
        if mechanism.neighbors != NEIGHBORS[0] and not isinstance(mechanism, RandomizedResponse):
            raise fail("mechanism", mechanism, f"one whose neighbors {NEIGHBORS[0]}, for Poisson sampling")
        self.mechanism = mechanism
        exact = mechanism.kinds["loss"] == "exact" and _sampled_exactly(mechanism.privacy_loss())
        self.kinds = Mechanism.kinds | {"rho": "upper"} if exact else Sampled.kinds

    @property
    def sampling(self) -> str:
        """The words for a statement."""
        return f"Poisson sampling q={self.q:.6g}"

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """Two entries, "remove" and "add". Exact for Gaussian and Laplace noise and for losses with finitely many values; for
        others, a loss with finitely many values that dominates theirs takes its place, an upper bound.
        """
        loss = self.mechanism.privacy_loss()
        loss = loss if _sampled_exactly(loss) else _with_atoms(loss)
        return {direction: poisson_sampled_loss(loss, self.q, direction) for direction in ("remove", "add")}

    def sample(self, n: int, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """Which of n records are in the sample: booleans, shape (n,)."""
        return generator(rng).random(count("n", n)) < self.q

    def release(self, records: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The noisy sum of the sampled records, shape (n,) or (n, d), each of norm at most the sensitivity (else ValueError);
        for randomized response, the randomized answers, shape (n,).
        """
        rng = generator(rng)
        if isinstance(self.mechanism, RandomizedResponse):
            answers = self.mechanism._answers("records", records)
            kept = self.sample(answers.size, rng=rng).reshape(answers.shape)
            return self.mechanism.release(np.where(kept, answers, 0), rng=rng)
        return self._noisy_sum(records, lambda n: self.sample(n, rng=rng), self._contributions[0].sensitivity, rng)

    def __repr__(self) -> str:
        return f"{self.mechanism!r}.poisson_sampled(q={self.q:.6g})"


class SampledWithoutReplacement(Sampled):
    """A mechanism on m of n records, every subset of that size equally likely. The neighbors replace one record; n is public.

    With q = m / n and delta the mechanism's own curve, delta'(log(1 + q (e**epsilon - 1))) <= q delta(epsilon) for
    epsilon >= 0, and the mirror image below 0. `privacy_losses` has that curve (for Gaussian noise, chords of it): an upper
    bound, good for composition too.

    Parameters
    ----------
    mechanism : one whose neighbors replace one record, with the same loss both ways (for a sum of records of norm at most C,
        the sensitivity is then 2 C).
    m, n : sizes of the sample and of the data.

    References
    ----------
    Balle, Barthe and Gaboardi (2018), Privacy Amplification by Subsampling; for composition, Zhu, Dong and Wang (2022), Optimal
    Accounting of Differential Privacy via Characteristic Function; chords: Doroshenko et al. (2022), Connect the Dots.

    >>> from dpnotes.mechanisms import Laplace
    >>> sampled = Laplace(1.0, neighbors="replace one record").sampled_without_replacement(m=1, n=100)
    >>> round(sampled.pure_epsilon, 12)
    0.017036863236
    """

    neighbors = NEIGHBORS[1]

    def __init__(self, mechanism: Mechanism, m: int, n: int) -> None:
        if not isinstance(mechanism, Mechanism):
            raise fail("mechanism", mechanism, "a mechanism")
        if mechanism.neighbors != NEIGHBORS[1]:
            raise fail("mechanism", mechanism, f"one whose neighbors {NEIGHBORS[1]}: adding a record to a sample of fixed size "
                       "pushes another one out")
        self.mechanism, self.n = mechanism, count("n", n, 1)
        self.m = count("m", m)
        if self.m > self.n:
            raise fail("m", m, f"at most n, {n}")
        self.q = self.m / self.n

    @property
    def sampling(self) -> str:
        """The words for a statement."""
        return f"{self.m} of {self.n} records without replacement"

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """One entry for both directions, an upper bound."""
        loss = self.mechanism.privacy_loss()
        if self.q == 1:
            return {"either": loss}
        return {"either": _sampled_curve(loss if isinstance(loss, GaussianLoss) else _with_atoms(loss), self.q)}

    def sample(self, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """The positions of the sampled records, shape (m,)."""
        return generator(rng).choice(self.n, self.m, replace=False, shuffle=False)

    def release(self, records: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The noisy sum of the sampled records, shape (n,) or (n, d), each of norm at most half the sensitivity."""
        rng = generator(rng)
        if np.shape(records)[:1] != (self.n,):
            raise fail("records", records, f"an array with {self.n} rows, one for each record")
        return self._noisy_sum(records, lambda n: self.sample(rng=rng), self._contributions[0].sensitivity / 2, rng)

    def __repr__(self) -> str:
        return f"{self.mechanism!r}.sampled_without_replacement(m={self.m}, n={self.n})"


def _sampled_exactly(loss: PrivacyLoss) -> bool:
    laplace = isinstance(loss, LaplaceLoss) and (loss.bound <= LARGEST_LAPLACE or np.isinf(loss.bound))
    return laplace or isinstance(loss, GaussianLoss | DiscreteLoss)


def _with_atoms(loss: PrivacyLoss) -> DiscreteLoss:
    """A loss with finitely many values whose delta is never below that of `loss`, which is the same both ways.

    For Laplace noise, the discrete Laplace with the same largest loss in 256 steps; for the discrete Gaussian up to sigma 20,
    its own values with what lies 12 sigma out, 1e-32, charged as infinite; for the rest, chords.
    """
    if isinstance(loss, DiscreteLoss):
        return loss
    if isinstance(loss, LaplaceLoss) and 0 < loss.bound < np.inf:
        return DiscreteLaplace(Fraction(256) / Fraction(loss.bound), 256).privacy_loss()
    if isinstance(loss, DiscreteGaussianLoss) and loss.sigma <= 20:
        reach = int(12 * loss.sigma) + loss.shift + 1
        y = np.arange(-reach, reach + 1)
        log_masses = -((y / loss.sigma) ** 2) / 2
        log_masses -= logsumexp(log_masses)
        return DiscreteLoss.from_log_masses(loss.step * (y + loss.shift / 2), log_masses, 1e-31, 1e-31)
    return _sampled_curve(loss, 1.0)


def _sampled_curve(loss: PrivacyLoss, q: float, points: int = 300) -> DiscreteLoss:
    """A loss whose delta is never below q delta(log(1 + (e**epsilon - 1) / q)) for epsilon >= 0, the same both ways.

    Where delta has corners only, they are the points, and the chords are the curve. Elsewhere, what is left beyond the last
    point, where delta < 1e-30, is charged as infinite.
    """
    if q == 0 or loss.maximum == 0:
        return DiscreteLoss.from_log_masses([0.0], [0.0])
    if isinstance(loss, DiscreteLoss):
        inner = np.concatenate([[0.0], loss.losses[loss.losses > 0]])
        epsilon = conversions.amplify_by_sampling(inner, 0.0, q)[0]
    else:
        last = float(loss.epsilon(1e-30))
        end = conversions.amplify_by_sampling(last, 0.0, q)[0]
        epsilon = np.concatenate([[0.0], np.geomspace(min(q * loss.delta(0.0), end) / 10, end, points)])
        inner = np.minimum(np.where(epsilon < 600, np.log1p(np.expm1(np.minimum(epsilon, 600.0)) / q), epsilon - np.log(q)), last)
    delta = q * np.exp(np.asarray(loss.log_delta_bounds(inner)[1]))
    delta[-1] = q * loss.infinity_mass if inner[-1] >= loss.maximum or isinstance(loss, DiscreteLoss) else delta[-1]
    return loss_of_chords(epsilon, delta)
