"""Known guarantees as entries of a ledger, and how accountants read any entry.

An entry is a mechanism (it has `privacy_losses`), a bare `PrivacyLoss` (which enters together with its swap), or
one of the guarantees below. A guarantee offers the readings it supports and raises ValueError, with the reason, for the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions
from dpnotes._validate import FloatArray, at_least, fail, listed, nonnegative, plain, probability, scalar
from dpnotes.accountants._numerical import directed_losses, is_bounded_only
from dpnotes.conversions._renyi import Curve
from dpnotes.privacy_loss import GaussianLoss, LaplaceLoss, PrivacyLoss

EITHER = "either"  # the key of an entry with one loss, which speaks for all directions


class Guarantee:
    """What is known of a mechanism when its noise is not: one number or one curve."""

    neighbors: str | None = None
    _reason = ""

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """The loss that dominates every mechanism with this guarantee, where there is one."""
        raise ValueError(f"{self!r} has no privacy loss: {self._reason}")

    def renyi(self, alpha: ArrayLike) -> Any:
        """The largest Rényi divergence of order alpha that this guarantee allows; alpha at least 1, inf allowed."""
        (loss,) = self.privacy_losses().values()
        return loss.renyi(alpha)

    def __repr__(self) -> str:
        shown = {key: value for key, value in vars(self).items() if not key.startswith("_") and value is not None}
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in shown.items())})"


class PureDP(Guarantee):
    """A mechanism known to be epsilon-DP. Read exactly: its worst case is randomized response.

    Parameters
    ----------
    epsilon : in nats, at least 0. neighbors : the relation it holds for; without it, it goes with any.
    """

    def __init__(self, epsilon: float, *, neighbors: str | None = None) -> None:
        self.epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        self.neighbors = neighbors

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """Randomized response."""
        return {EITHER: conversions.pure_to_loss(self.epsilon)}


class ApproxDP(Guarantee):
    """A mechanism known to be (epsilon, delta)-DP. Its worst case shows everything with probability delta.

    >>> ApproxDP(1.0, 1e-4).privacy_losses()["either"].infinity_mass
    0.0001
    """

    def __init__(self, epsilon: float, delta: float, *, neighbors: str | None = None) -> None:
        self.epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        self.delta = scalar("delta", probability("delta", delta))
        self.neighbors = neighbors

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """Randomized response with a leak of probability delta."""
        return {EITHER: conversions.approx_to_loss(self.epsilon, self.delta)}


class GDP(Guarantee):
    """A mechanism known to be mu-GDP: at worst Gaussian noise with sensitivity / sigma = mu."""

    def __init__(self, mu: float, *, neighbors: str | None = None) -> None:
        self.mu = scalar("mu", nonnegative("mu", mu))
        self.neighbors = neighbors

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """Gaussian noise."""
        return {EITHER: GaussianLoss(self.mu)}


class ZCDP(Guarantee):
    """A mechanism known to be rho-zCDP: its Rényi curve lies below rho alpha. No one pair dominates all of them."""

    _reason = "no single pair of laws is the worst for zCDP at every epsilon; read it by its Rényi curve."

    def __init__(self, rho: float, *, neighbors: str | None = None) -> None:
        self.rho = scalar("rho", nonnegative("rho", rho))
        self.neighbors = neighbors

    def renyi(self, alpha: ArrayLike) -> Any:
        """The line: rho times alpha."""
        return conversions.zcdp_to_rdp(self.rho, alpha)


class RDP(Guarantee):
    """A mechanism known by a bound on its Rényi divergences.

    Parameters
    ----------
    curve : a function from arrays of orders, 1 and inf included, to divergences; or a mapping from orders to divergences,
        which holds for every smaller order too (divergences grow with the order) and says nothing (inf) of larger ones.

    >>> RDP({2: 0.5, 10: 1.25}).renyi([1.5, 2, 8, 11])
    array([0.5 , 0.5 , 1.25,  inf])
    """

    _reason = "no single pair of laws is the worst for a Rényi curve at every epsilon; read it by the curve."

    def __init__(self, curve: Curve | Mapping[float, float], *, neighbors: str | None = None) -> None:
        self.neighbors = neighbors
        self.curve = curve
        if isinstance(curve, Mapping):
            orders = at_least("curve", sorted(curve), 1.0)
            values = nonnegative("curve", [curve[order] for order in sorted(curve)])
            if orders.size == 0:
                raise fail("curve", curve, "a function, or a mapping with at least one order")
            values = np.minimum.accumulate(values[::-1])[::-1]  # a smaller bound at a larger order holds below it too
            self._table = orders, np.append(values, np.inf)
        elif callable(curve):
            self._table = None
        else:
            raise fail("curve", curve, "a function of the order, or a mapping from orders to divergences")

    @property
    def orders(self) -> tuple[float, ...]:
        """The orders of a mapping; empty for a function."""
        return () if self._table is None else tuple(self._table[0].tolist())

    def renyi(self, alpha: ArrayLike) -> Any:
        """The bound at these orders."""
        alpha = at_least("alpha", alpha, 1.0)
        if self._table is not None:
            orders, values = self._table
            return plain(values[np.searchsorted(orders, alpha, side="left")])
        return plain(nonnegative("curve", np.broadcast_to(self.curve(alpha), alpha.shape)))


class Parallel(Guarantee):
    """Mechanisms on disjoint parts of the data: together they cost what the dearest part costs.

    A record is in one part only, so that adding or removing it changes the input of one mechanism. Replacing a record can
    move it from one part to another, which costs both; with the neighbors "replace one record" this therefore
    needs `fixed_parts`, the promise that no replacement changes a record's part.

    Parameters
    ----------
    mechanisms : one a part, all about the same neighbors, all chosen before any answer is seen.
    fixed_parts : a replaced record stays in its part.

    References
    ----------
    McSherry (2009), Privacy Integrated Queries, for parallel composition.

    >>> Parallel([PureDP(0.5), PureDP(0.2)]).renyi(np.inf)
    0.5
    """

    def __init__(self, mechanisms: list[Any], *, fixed_parts: bool = False) -> None:
        self.mechanisms = list(mechanisms)
        relations = {relation for m in self.mechanisms if (relation := getattr(m, "neighbors", None)) is not None}
        if not self.mechanisms or len(relations) > 1:
            raise fail("mechanisms", mechanisms, "at least one mechanism, all about the same neighbors")
        self.neighbors = relations.pop() if relations else None
        if self.neighbors == "replace one record" and not fixed_parts:
            raise fail("mechanisms", mechanisms, "about adding or removing a record: a replaced record may change its part, and "
                       "then two parts pay (fixed_parts=True promises that it cannot)")

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """The loss of the dearest part, where one covers the others."""
        losses = [loss for mechanism in self.mechanisms for loss in directed_losses(mechanism).values()]
        for kind, size in ((GaussianLoss, lambda loss: loss.mu), (LaplaceLoss, lambda loss: loss.bound)):
            if all(isinstance(loss, kind) for loss in losses):
                return {EITHER: max(losses, key=size)}
        if all(loss == losses[0] for loss in losses):
            return {EITHER: losses[0]}
        raise ValueError(f"{self!r} has no one privacy loss: none of its parts covers the others at every epsilon; "
                         "read it by its Rényi curve or by pure DP.")

    def renyi(self, alpha: ArrayLike) -> Any:
        """The largest divergence of any part."""
        return plain(np.max([np.asarray(curve(alpha)) for m in self.mechanisms for curve in curves_of(m).values()], axis=0))


def own_number(entry: Any, currency: str) -> float:
    """What a mechanism says of itself for every direction, its `pure_epsilon`, `rho` or `mu`; inf where it says nothing.

    It can be below what its losses imply, and above: take the smaller.
    """
    return np.inf if isinstance(entry, PrivacyLoss) else float(getattr(entry, currency, np.inf))



def curves_of(entry: Any, read: Callable[[PrivacyLoss, ArrayLike], Any] = PrivacyLoss.renyi) -> dict[str, Curve]:
    """The Rényi curves of an entry by direction; of its losses, or its own where that is smaller."""
    if isinstance(entry, Guarantee):
        return {EITHER: entry.renyi}
    curves = {direction: partial(read, loss) for direction, loss in directed_losses(entry).items()}
    return {d: partial(_smaller, curve, entry.renyi) for d, curve in curves.items()} if is_bounded_only(entry) else curves


def _smaller(one: Curve, other: Curve, alpha: ArrayLike) -> Any:
    return plain(np.minimum(one(alpha), other(alpha)))


def quick_curves_of(entry: Any) -> dict[str, Curve]:
    """Upper bounds on the Rényi curves that take some orders at once, an array whose last entry alone may be inf."""
    return curves_of(entry, _quick_renyi)


def _quick_renyi(loss: PrivacyLoss, alpha: FloatArray) -> FloatArray:
    """At orders of which the last alone may be inf."""
    if loss.infinity_mass > 0:
        return np.full(alpha.shape, np.inf)
    if alpha[-1] == np.inf:
        return np.append(_quick_renyi(loss, alpha[:-1]), loss.maximum)
    t = alpha - 1
    return loss._cumulant_above(t) / t


def by_direction(history: list[tuple[Any, int]], read: Callable[[Any], dict[str, Any]]) -> list[list[tuple[Any, int]]]:
    """For every direction of the change, the readings of all entries with their times.

    Composition adds up within a direction; the larger direction is taken at the end. An entry with one reading speaks for
    every direction.
    """
    readings = [(read(entry), times) for entry, times in history if times]
    names = list(dict.fromkeys(name for reading, _ in readings if len(reading) > 1 for name in reading)) or [None]
    for reading, _ in readings:
        if len(reading) > 1 and set(reading) != set(names):
            raise ValueError(f"directions {listed(reading)} and {listed(map(str, names))} do not match: losses of "
                             "different directions do not add up")
    return [[(reading[name] if len(reading) > 1 else next(iter(reading.values())), times) for reading, times in readings]
            for name in names]

