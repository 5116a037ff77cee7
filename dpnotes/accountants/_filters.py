"""Filters and odometers: budgets that hold when every next mechanism, its parameters too, depends on what came before.

Composition theorems fix the parameters beforehand. A filter lets an analyst choose them as results come in, and refuses what
would exceed the budget; an odometer refuses nothing and says at every moment what has been spent.

The theorem behind all of them. Given the past, let step n have a loss L_n with E[e**(t L_n) | past] <= e**(t (t+1) rho_n),
where rho_n may depend on the past. Then X_n = exp(t (L_1 + ... + L_n) - t (t+1) (rho_1 + ... + rho_n)) is a
supermartingale: the conditional mean of each new factor is at most 1. Where a filter keeps rho_1 + ... + rho_n <= rho at
every stop, optional stopping gives E[e**(t L)] <= e**(t (t+1) rho) for the total loss L and every t > 0: the whole
interaction is rho-zCDP, as if the parameters had been fixed. With one order, and rho_n replaced by that order's divergence,
the same proof gives the Rényi filter.
An (epsilon_n, delta_n)-DP step is, outside an event of conditional probability delta_n, epsilon_n-DP and so has
rho_n = epsilon_n tanh(epsilon_n / 2); the events together have probability at most the sum of the delta_n, which a second
budget bounds. For the odometer, Ville's inequality: X_n ever reaches 1/delta with probability at most delta.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dpnotes import conversions
from dpnotes._validate import at_least, fail, nonnegative, open_probability, positive, probability, scalar
from dpnotes.accountants._guarantees import curves_of

Amount = float | int | Fraction | Decimal


def exactly(name: str, value: Any) -> Fraction:
    """The amount as a fraction: a float stands for a short fraction that rounds to it, so 0.1 is 1/10 and 1/11 is 1/11.

    The fraction is the first convergent of the float's continued fraction that rounds to the float: what was typed, if that
    was a fraction with a denominator below 10**7 or so; off by less than half a unit in the float's last place. int, Fraction
    and Decimal are taken as they are.

    >>> exactly("epsilon", 0.1), exactly("epsilon", 1 / 11), sum(exactly("epsilon", 0.1) for _ in range(10))
    (Fraction(1, 10), Fraction(1, 11), Fraction(1, 1))
    """
    if isinstance(value, (Fraction, Decimal)) and np.isfinite(float(value)) and value >= 0:
        return Fraction(value)
    number = scalar(name, nonnegative(name, value))
    if np.isinf(number):
        raise fail(name, value, "finite")
    if isinstance(value, int) or number == 0:
        return Fraction(value if isinstance(value, int) else 0)
    here, half = Fraction(number), Fraction(np.spacing(number)) / 2
    # Walk down the continued fraction of the number until a convergent rounds to it.
    a, b, c, d, rest = 0, 1, 1, 0, here
    while True:
        whole = rest.numerator // rest.denominator
        a, b, c, d = c, d, a + whole * c, b + whole * d
        guess = Fraction(c, d)
        if abs(guess - here) < half and float(guess) == number:
            return guess
        rest = 1 / (rest - whole)


class Refused(ValueError):
    """A spend that would exceed the budget. Nothing was spent."""


class _Budget:
    """A total that is spent in exact arithmetic."""

    def __init__(self, name: str, total: Amount) -> None:
        self.name, self.total, self.spent = name, exactly(name, total), Fraction(0)

    def __repr__(self) -> str:
        return f"BasicFilter(remaining={float(self.remaining):g}, remaining_delta={float(self.remaining_delta):g})"

    @property
    def remaining(self) -> Fraction:
        return self.total - self.spent

    def take(self, *amounts: tuple[_Budget, Fraction]) -> None:
        """Spend from several budgets, or from none when one of them is short."""
        for budget, amount in amounts:
            if amount > budget.remaining:
                raise Refused(f"{budget.name} = {float(amount):.6g} is refused: {float(budget.remaining):.6g} of "
                              f"{float(budget.total):.6g} remain.")
        for budget, amount in amounts:
            budget.spent += amount


class BasicFilter:
    """Total (epsilon, delta) under full adaptivity by plain sums, in exact arithmetic. Exact for pure DP.

    Parameters
    ----------
    epsilon, delta : the budget; floats count as the short fraction that rounds to them (see `exactly`).

    References
    ----------
    Rogers, Roth, Ullman and Vadhan (2016), Privacy Odometers and Filters.

    >>> budget = BasicFilter(1)
    >>> for _ in range(10):
    ...     budget.spend(0.1)
    >>> float(budget.remaining)
    0.0
    >>> budget.spend(1e-6)
    Traceback (most recent call last):
    dpnotes.accountants._filters.Refused: epsilon = 1e-06 is refused: 0 of 1 remain.
    """

    def __init__(self, epsilon: Amount, delta: Amount = 0) -> None:
        self._epsilon, self._delta = _Budget("epsilon", epsilon), _Budget("delta", delta)

    @property
    def remaining(self) -> Fraction:
        """What is left of epsilon, exactly."""
        return self._epsilon.remaining

    @property
    def remaining_delta(self) -> Fraction:
        """What is left of delta, exactly."""
        return self._delta.remaining

    def spend(self, epsilon: Amount, delta: Amount = 0) -> None:
        """Pay for one (epsilon, delta)-DP step before running it; `Refused`, with nothing spent, when it does not fit."""
        self._epsilon.take((self._epsilon, exactly("epsilon", epsilon)), (self._delta, exactly("delta", delta)))

    def can(self, epsilon: Amount, delta: Amount = 0) -> bool:
        """Whether `spend` with these amounts would be accepted."""
        return exactly("epsilon", epsilon) <= self.remaining and exactly("delta", delta) <= self.remaining_delta


class RenyiFilter:
    """A budget of Rényi divergence at one order, fixed beforehand; the steps may be chosen adaptively, parameters included.

    When the interaction stops, by choice or refusal, it is (alpha, budget)-RDP: the theorem at the head of this module. The
    order must not be chosen after the fact; use `FullyAdaptiveFilter` where no order is natural.

    Parameters
    ----------
    alpha : order, above 1. budget : total divergence of that order, in nats.

    References
    ----------
    Feldman and Zrnic (2021), Individual Privacy Accounting via a Rényi Filter; Lécuyer (2021).

    >>> from dpnotes.privacy_loss import GaussianLoss
    >>> budget = RenyiFilter(alpha=4, budget=1.0)
    >>> budget.run(GaussianLoss(0.5))
    >>> float(budget.remaining), round(budget.epsilon(1e-5), 6)
    (0.5, 4.070841)
    """

    def __init__(self, alpha: float, budget: Amount) -> None:
        self.alpha = scalar("alpha", at_least("alpha", alpha, 1.0))
        if self.alpha == 1:
            raise fail("alpha", alpha, "above 1")
        self._budget = _Budget("divergence", budget)

    def __repr__(self) -> str:
        return f"RenyiFilter(alpha={self.alpha:g}, remaining={float(self.remaining):g})"

    @property
    def remaining(self) -> Fraction:
        """What is left, exactly."""
        return self._budget.remaining

    def spend(self, divergence: Amount) -> None:
        """Pay for a step with that divergence of order alpha; `Refused`, with nothing spent, when it does not fit."""
        self._budget.take((self._budget, exactly("divergence", divergence)))

    def run(self, mechanism: Any, times: int = 1) -> None:
        """Pay for a mechanism by its Rényi divergence in the worse direction."""
        largest = max(float(curve(self.alpha)) for curve in curves_of(mechanism).values())
        self._budget.take((self._budget, times * exactly("divergence", largest)))

    def epsilon(self, delta: float) -> float:
        """The epsilon of the whole budget at `delta`, whatever the steps were. Upper bound."""
        return float(conversions.rdp_to_epsilon(self.alpha, float(self._budget.total), delta))


class FullyAdaptiveFilter:
    """An (epsilon, delta) budget with the square-root saving of advanced composition, under full adaptivity.

    Each (epsilon_n, delta_n)-DP step costs epsilon_n tanh(epsilon_n / 2) of a zCDP budget rho, and delta_n of a budget for
    leaks; rho is the largest that zCDP's conversion turns into `epsilon` at delta - leaks. Since the cost is at most
    epsilon_n**2 / 2, it accepts whatever sqrt(2 log(1/delta') sum epsilon_n**2) + sum epsilon_n**2 / 2 <= epsilon does.

    Parameters
    ----------
    epsilon, delta : the guarantee of the whole interaction. leaks : the part of delta that steps may spend as theirs.

    References
    ----------
    Whitehouse, Ramdas, Rogers and Wu (2023), Fully-Adaptive Composition in Differential Privacy, for the filter with
    epsilon**2 / 2; the proof at the head of this module is for this one.

    >>> budget = FullyAdaptiveFilter(1.0, 1e-6)
    >>> steps = 0
    >>> while budget.can(0.01):
    ...     budget.spend(0.01)
    ...     steps += 1
    >>> steps   # plain sums allow 100
    487
    """

    def __init__(self, epsilon: float, delta: float, *, leaks: Amount = 0) -> None:
        self.epsilon = scalar("epsilon", positive("epsilon", epsilon))
        self.delta = scalar("delta", probability("delta", delta))
        self._leaks = _Budget("delta", leaks)
        slack = self.delta - float(self._leaks.total)
        if not 0 < slack < 1:
            raise fail("delta", delta, "above leaks and below 1: the zCDP budget needs a delta of its own")
        self._rho = _Budget("rho", zcdp_for(self.epsilon, slack))

    @property
    def rho(self) -> float:
        """The zCDP budget."""
        return float(self._rho.total)

    @property
    def remaining(self) -> float:
        """What is left of rho."""
        return float(self._rho.remaining)

    def spend(self, epsilon: float, delta: Amount = 0) -> None:
        """Pay for one (epsilon, delta)-DP step before running it; `Refused`, with nothing spent, when it does not fit."""
        self._rho.take((self._rho, _cost(epsilon)), (self._leaks, exactly("delta", delta)))

    def spend_rho(self, rho: Amount) -> None:
        """Pay for one rho-zCDP step, Gaussian noise for instance."""
        self._rho.take((self._rho, exactly("rho", rho)))

    def can(self, epsilon: float, delta: Amount = 0) -> bool:
        """Whether `spend` with these amounts would be accepted."""
        return _cost(epsilon) <= self._rho.remaining and exactly("delta", delta) <= self._leaks.remaining


def _cost(epsilon: float) -> Fraction:
    return exactly("epsilon", float(conversions.pure_to_zcdp(scalar("epsilon", nonnegative("epsilon", epsilon)))))


def zcdp_for(epsilon: float, delta: float) -> float:
    """The largest rho, rounded down, for which every rho-zCDP mechanism is (epsilon, delta)-DP by the conversion "cks".

    >>> round(zcdp_for(13.37365225280767, 1e-6), 9)
    2.5
    """
    low, high = 0.0, float(epsilon)  # rho <= epsilon in any useful conversion: the mean loss alone is rho
    while conversions.zcdp_to_epsilon(high, delta, "cks") < epsilon:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if conversions.zcdp_to_epsilon(middle, delta, "cks") <= epsilon else (low, middle)
    return low


class ZCDPOdometer:
    """A running bound on the privacy loss that holds at all moments together with probability 1 - delta.

    After steps of total rho_1 + ... + rho_n = v the loss so far is at most (1 + t) v + log(1/delta) / t, t fixed beforehand at
    its best for v = `target`. The bound never expires: it may be read after every step and the interaction stopped on
    account of it. It is a statement about the loss so far (probabilistic DP of the stopped interaction), so that stopping
    by a rule that reads it makes the interaction (epsilon, delta)-DP whenever the rule keeps the bound at or below epsilon.

    Parameters
    ----------
    delta : probability, between 0 and 1, that the bound is ever exceeded. target : the total rho at which it is tightest.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan (2016); Whitehouse et al. (2023); the proof is at the head of this module.

    >>> meter = ZCDPOdometer(delta=1e-6, target=2.5)
    >>> for _ in range(20):
    ...     meter.record_rho(0.125)
    >>> round(meter.bound, 10)
    14.2539400024
    """

    def __init__(self, delta: float, target: float) -> None:
        self.delta = open_probability("delta", delta)
        self.target = scalar("target", positive("target", target))
        self._slope = float(np.sqrt(-np.log(self.delta) / self.target))
        self._spent, self._leaked = Fraction(0), Fraction(0)

    def record(self, epsilon: float, delta: Amount = 0) -> None:
        """Enter one (epsilon, delta)-DP step."""
        leak = exactly("delta", delta)
        self._spent += _cost(epsilon)
        self._leaked += leak

    def record_rho(self, rho: Amount) -> None:
        """Enter one rho-zCDP step."""
        self._spent += exactly("rho", rho)

    @property
    def rho(self) -> float:
        """The zCDP cost so far."""
        return float(self._spent)

    @property
    def leaked(self) -> float:
        """The deltas of the steps so far; they add to the probability that the bound fails."""
        return float(self._leaked)

    @property
    def bound(self) -> float:
        """The largest loss so far, with probability 1 - delta - leaked at all moments together. 0 before the first step."""
        spent = self.rho
        return 0.0 if spent == 0 else (1 + self._slope) * spent - float(np.log(self.delta)) / self._slope
