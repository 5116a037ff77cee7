"""Ledgers for pure and for (epsilon, delta)-DP guarantees: the oldest way to add up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions
from dpnotes._validate import FloatArray, fail, nonnegative, plain, probability
from dpnotes.accountants._base import Accountant
from dpnotes.accountants._guarantees import ApproxDP, Guarantee, by_direction, curves_of, own_number
from dpnotes.accountants._numerical import directed_losses
from dpnotes.conversions._composition import drv_sum, kov_sum


def each(function: Callable[[float], float], argument: FloatArray) -> Any:
    """A function of one number, applied to every entry."""
    if argument.ndim == 0:
        return float(function(float(argument)))
    return np.array([function(float(x)) for x in argument.flat], dtype=float).reshape(argument.shape)


def largest_loss(entry: Any) -> dict[str, float]:
    """The pure epsilon of an entry by direction, inf where there is none."""
    own = own_number(entry, "pure_epsilon")
    return {direction: min(float(curve(np.inf)), own) for direction, curve in curves_of(entry).items()}


class PureAccountant(Accountant):
    """Pure DP: the largest losses add up. Exact when delta = 0 is asked; Gaussian noise has no pure epsilon and is refused.

    For delta > 0 it says what the total is worth at that delta if nothing else is known of the mechanisms
    (`conversions.pure_to_epsilon`), which gains little: other ledgers gain more.

    >>> from dpnotes.privacy_loss import LaplaceLoss
    >>> ledger = PureAccountant().add(LaplaceLoss(0.1), times=20)
    >>> ledger.epsilon()
    2.0
    """

    def _check(self, mechanism: Any) -> None:
        if not np.isfinite(max(largest_loss(mechanism).values())):
            raise fail("mechanism", mechanism, "bounded in its privacy loss: this one has outputs with arbitrarily large loss, "
                       "so no finite epsilon is true of it at delta = 0")

    @property
    def total(self) -> float:
        """The sum of the largest losses, in the worse direction."""
        return max(sum(times * value for value, times in direction) for direction in by_direction(self.history, largest_loss))

    def epsilon(self, delta: ArrayLike = 0.0) -> Any:
        """The pure epsilon of the whole history; at delta > 0 a little less."""
        return super().epsilon(delta)

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(0, upper)."""
        delta = probability("delta", delta)
        return plain(np.zeros(delta.shape)), conversions.pure_to_epsilon(self.total, delta)

    def delta(self, epsilon: ArrayLike) -> Any:
        """0 from the total epsilon on; below it what every mechanism with that epsilon has at most."""
        return conversions.pure_to_delta(self.total, epsilon)


class AdvancedAccountant(Accountant):
    """Composition of (epsilon, delta) guarantees by a theorem that knows nothing else of the mechanisms. Upper bound.

    A mechanism with a largest loss enters with that epsilon and delta 0, an `ApproxDP` with its own two numbers. Any other
    (Gaussian noise, a zCDP guarantee) enters with its epsilon at an equal share of part of the asked delta; the part is
    chosen, the best of nine. Every theorem is taken together with the plain sum, whichever is smaller.

    Parameters
    ----------
    theorem : "basic", the plain sum; "drv" (Dwork, Rothblum and Vadhan 2010); "kov", the closed form of Kairouz, Oh and
        Viswanath (2015), Theorem 3.4, and its like for different epsilons; "optimal", the exact worst case, whose cost is
        exponential in the number of different epsilons (about 20; repeats are cheap) and which then raises.

    >>> from dpnotes.privacy_loss import LaplaceLoss
    >>> ledger = AdvancedAccountant().add(LaplaceLoss(0.1), times=20)
    >>> round(ledger.epsilon(1e-6), 10)
    1.7886091174
    """

    def __init__(self, theorem: str = "optimal") -> None:
        super().__init__()
        if theorem not in ("basic", "drv", "kov", "optimal"):
            raise fail("theorem", theorem, "'basic', 'drv', 'kov' or 'optimal'")
        self.theorem = theorem

    def _check(self, mechanism: Any) -> None:
        curves_of(mechanism)

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(0, upper)."""
        delta = probability("delta", delta)
        return plain(np.zeros(delta.shape)), each(self._epsilon, delta)

    def delta(self, epsilon: ArrayLike) -> Any:
        """The smallest delta, to six digits and never below 1e-300 unless 0, at which `epsilon` is enough."""
        return each(self._delta, nonnegative("epsilon", epsilon))

    def _epsilon(self, delta: float) -> float:
        if delta >= 1:
            return 0.0
        hard, soft = self._sorted()
        if not soft:
            return self._compose(hard, delta)
        if delta == 0:
            return np.inf
        room = max(delta - sum(times * d for _, d, times in hard), 0.0)
        runs = sum(times for _, times in soft)
        best = np.inf
        for share in (1.0,) if self.theorem == "basic" else (1.0, *np.linspace(0.1, 0.9, 9)):
            part = share * room / runs
            read = [(_epsilon_at(entry, part), part, times) for entry, times in soft]
            best = min(best, self._compose(hard + read, delta))
        return best

    def _sorted(self) -> tuple[list[tuple[float, float, int]], list[tuple[Any, int]]]:
        """Entries that are an (epsilon, delta) by themselves, and those that need a share of delta to be one."""
        hard, soft = [], []
        for entry, times in self.history:
            largest = max(largest_loss(entry).values())
            if times and isinstance(entry, ApproxDP):
                hard.append((entry.epsilon, entry.delta, times))
            elif times and np.isfinite(largest):
                hard.append((largest, 0.0, times))
            elif times:
                soft.append((entry, times))
        return hard, soft

    def _compose(self, runs: list[tuple[float, float, int]], delta: float) -> float:
        epsilons, deltas, times = np.array(runs, dtype=float).reshape(-1, 3).T
        slack = delta - float(np.sum(times * deltas))
        # A share of the asked delta may add up to it exactly: forgive its rounding, for the plain sum only.
        plain_sum = float(np.sum(times * epsilons)) if slack >= -1e-12 * delta else np.inf
        if self.theorem == "basic" or not runs or not np.isfinite(plain_sum):
            return plain_sum
        if self.theorem == "optimal":
            return min(plain_sum, conversions.optimal_composition(runs).epsilon(delta))
        if slack <= 0:
            return plain_sum
        if self.theorem == "drv":
            return min(plain_sum, float(drv_sum(epsilons, times, slack)))
        drift = float(np.sum(times * conversions.pure_to_zcdp(epsilons)))
        return float(kov_sum(plain_sum, np.sum(times * epsilons**2), drift, slack))

    def _delta(self, epsilon: float) -> float:
        hard, soft = self._sorted()
        if self.theorem == "optimal" and not soft:
            return float(conversions.optimal_composition(hard).delta(epsilon))
        if self._epsilon(0.0) <= epsilon:
            return 0.0
        low, high = -690.0, 0.0  # logarithms
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self._epsilon(float(np.exp(middle))) <= epsilon else (middle, high)
        return float(np.exp(high))


def _epsilon_at(entry: Any, delta: float) -> float:
    """The epsilon of one run at that delta, in the worse direction."""
    try:
        return max(float(loss.epsilon(delta)) for loss in directed_losses(entry).values())
    except ValueError:
        if not isinstance(entry, Guarantee):
            raise
        return float(conversions.rdp_curve_to_epsilon(entry.renyi, delta, orders=getattr(entry, "orders", ())))
