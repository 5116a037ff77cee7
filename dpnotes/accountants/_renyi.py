"""Ledgers that add up Rényi divergences: order by order, by their slope, or as Gaussian noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions
from dpnotes._validate import at_least, fail, nonnegative, plain, probability, scalar
from dpnotes.accountants._base import Accountant
from dpnotes.accountants._guarantees import (
    GDP,
    ZCDP,
    Guarantee,
    PureDP,
    by_direction,
    curves_of,
    is_bounded_only,
    own_number,
    quick_curves_of,
)
from dpnotes.accountants._numerical import directed_losses
from dpnotes.accountants._pure import each
from dpnotes.conversions._curves import search_delta, search_epsilon
from dpnotes.conversions._renyi import TO_DELTA
from dpnotes.privacy_loss import GaussianLoss, PoissonGaussianLoss, PrivacyLoss


class RenyiAccountant(Accountant):
    """Rényi DP: divergences of the same order add up, for every real order above 1 and infinity. Upper bound.

    The order is chosen at the end, the best one on the whole half-line: no list of orders to fall off.

    Parameters
    ----------
    conversion : "mironov" (2017), "cks" (Canonne, Kamath and Steinke 2020) or "optimal" (Asoodeh et al. 2021, the best that
        one order allows), from loose to tight.
    orders : refused. Other libraries want a list of orders; here all are tried.

    References
    ----------
    Mironov (2017), Rényi Differential Privacy, Proposition 1.

    >>> ledger = RenyiAccountant("cks").add(GaussianLoss(0.5), times=20)
    >>> round(ledger.epsilon(1e-6), 8)
    13.37365225
    """

    def __init__(self, conversion: str = "optimal", *, orders: None = None) -> None:
        super().__init__()
        if orders is not None:
            raise fail("orders", orders, "left out: every real order above 1 is looked at, there is no list of them")
        if not isinstance(conversion, str) or conversion not in TO_DELTA:
            raise fail("conversion", conversion, f"one of {', '.join(TO_DELTA)}")
        self.conversion = conversion

    def _check(self, mechanism: Any) -> None:
        if isinstance(mechanism, (GaussianLoss, PoissonGaussianLoss)) and mechanism.infinity_mass == 0:
            return  # all moments are finite
        for curve in quick_curves_of(mechanism).values():
            if not np.isfinite(curve(np.array([1 + 1e-6]))).all():
                raise fail("mechanism", mechanism, "finite in at least one Rényi divergence: this one can show everything (its "
                           "loss is infinite with positive probability, or its noise is none), and every order above 1 sees that")

    def _curves(self, read: Any = quick_curves_of) -> list[Any]:
        def total(direction):
            return lambda alpha: sum([times * curve(alpha) for curve, times in direction]) if direction else np.zeros(alpha.shape)

        return [total(direction) for direction in by_direction(self.history, read)]

    def renyi(self, alpha: ArrayLike) -> Any:
        """The Rényi divergence of the whole history at these orders, at least 1, in the worse direction. Exact for losses."""
        alpha = at_least("alpha", list(alpha) if isinstance(alpha, Iterator) else alpha, 1.0)
        return plain(np.max([curve(alpha) for curve in self._curves(curves_of)], axis=0))

    def best_order(self, delta: float) -> float:
        """The order that gives the epsilon at `delta`, in the direction where it is larger; inf where pure DP is best."""
        delta = scalar("delta", probability("delta", delta))
        return self._search(search_epsilon, delta)[0]

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(0, upper)."""
        delta = probability("delta", delta)
        return plain(np.zeros(delta.shape)), each(self._epsilon, delta)

    def _epsilon(self, delta: float) -> float:
        return self._search(search_epsilon, delta)[1]

    def _search(self, search: Any, target: float) -> tuple[float, float]:
        """(order, value) in the direction where the best order gives more."""
        listed = [order for entry, _ in self.history for order in getattr(entry, "orders", ())]
        with np.errstate(over="ignore"):
            return search(self._curves(), target, self.conversion, listed)

    def delta(self, epsilon: ArrayLike) -> Any:
        """The best order's delta at `epsilon`; upper bound."""
        return each(lambda x: self._search(search_delta, x)[1], nonnegative("epsilon", epsilon))


class ZCDPAccountant(Accountant):
    """Zero-concentrated DP: the whole history as one number rho, the largest slope of its Rényi curve. Upper bound.

    rho is the supremum over all orders of renyi(alpha) / alpha, taken after adding up; it is never read off one order.
    Mechanisms whose divergences outgrow every line (a leak of positive probability) are refused. The answer is what rho
    alone implies: for few pure mechanisms it can exceed their plain sum, which `PureAccountant` (and `dp.compare`) shows.

    Parameters
    ----------
    conversion : "bun-steinke" (2016, Proposition 1.3), "cks" or "optimal", from loose to tight.

    >>> ledger = ZCDPAccountant("bun-steinke").add(GaussianLoss(0.5), times=20)
    >>> ledger.rho, round(ledger.epsilon(1e-6), 10)
    (2.5, 14.2539400024)
    """

    def __init__(self, conversion: str = "optimal") -> None:
        super().__init__()
        if conversion not in ("bun-steinke", "cks", "optimal"):
            raise fail("conversion", conversion, "'bun-steinke', 'cks' or 'optimal'")
        self.conversion = conversion

    def _check(self, mechanism: Any) -> None:
        if not np.isfinite(max(_rho([(line, 1)]) for line in _lines(mechanism).values())):
            raise fail("mechanism", mechanism, "below a line rho alpha in its Rényi divergences at all orders: this one is not "
                       "(a leak of positive probability, or a curve known at finitely many orders only)")

    @property
    def rho(self) -> float:
        """The zCDP parameter of the whole history: exact for Gaussians and pure DP, else rounded up by about 1e-8 of itself."""
        return max(_rho(direction) for direction in by_direction(self.history, _lines))

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(0, upper)."""
        delta = probability("delta", delta)
        upper = (conversions.zcdp_to_epsilon_bun_steinke(self.rho, delta) if self.conversion == "bun-steinke"
                 else conversions.zcdp_to_epsilon(self.rho, delta, self.conversion))
        return plain(np.zeros(delta.shape)), upper

    def delta(self, epsilon: ArrayLike) -> Any:
        """The delta of rho at `epsilon`; upper bound. Bun and Steinke's is e**(-(epsilon - rho)**2 / (4 rho)), from rho on."""
        epsilon, rho = nonnegative("epsilon", epsilon), self.rho
        if self.conversion != "bun-steinke":
            return conversions.zcdp_to_delta(rho, epsilon, self.conversion)
        if rho == 0:
            return plain(np.zeros(epsilon.shape))
        return plain(np.exp(-np.square(np.maximum(epsilon - rho, 0.0)) / (4 * rho)))


def _lines(entry: Any) -> dict[str, Any]:
    """What zCDP sees of an entry by direction: a number, its rho, where one is known exactly; else its Rényi curve."""
    if isinstance(entry, ZCDP):
        return {"either": entry.rho}
    if isinstance(entry, PureDP):
        return {"either": conversions.pure_to_zcdp(entry.epsilon)}
    try:
        losses = directed_losses(entry)
    except ValueError:
        return curves_of(entry)
    unbounded = not all(np.isfinite(loss.maximum) for loss in losses.values())
    own = own_number(entry, "rho") if unbounded or is_bounded_only(entry) else np.inf
    return {direction: _line(loss, own) for direction, loss in losses.items()}


def _line(loss: PrivacyLoss, own: float) -> Any:
    if isinstance(loss, GaussianLoss):
        return loss.mu**2 / 2
    if isinstance(loss, PoissonGaussianLoss):  # convexity bounds it by the Gaussian not sampled, and large orders reach that
        return loss.mu**2 / 2
    # No order is large enough to see the slope of an unbounded loss: there the mechanism's own word is needed. For a bounded
    # one it is taken where it is sharper; else the curve, because the supremum of a sum can be below the sum of suprema.
    implied = np.inf if np.isinf(loss.maximum) or np.isinf(own) else conversions.rdp_curve_to_zcdp(loss.renyi)
    return own if own < implied * (1 - 1e-7) else loss.renyi


def _rho(direction: list[tuple[Any, int]]) -> float:
    known = float(sum(times * line for line, times in direction if not callable(line)))
    curves = [(line, times) for line, times in direction if callable(line)]
    if not curves or np.isinf(known):
        return known
    return known + conversions.rdp_curve_to_zcdp(lambda alpha: sum(times * np.asarray(curve(alpha)) for curve, times in curves))


class GDPAccountant(Accountant):
    """Gaussian DP: squares of mu add up. Exact for Gaussian noise, an upper bound for bounded losses; refuses the others.

    A mechanism enters with its own `mu`, or with the Gaussian that covers its largest loss (`conversions.pure_to_gdp`, which
    is dear) where that is less. The answer is what mu alone implies: for few pure mechanisms it can exceed their plain sum,
    which `PureAccountant` (and `dp.compare`) shows. What the central limit theorem says of any history is `estimate`: a
    number, not a guarantee.

    References
    ----------
    Dong, Roth and Su (2022), Gaussian Differential Privacy.

    >>> ledger = GDPAccountant().add(GaussianLoss(1 / 3), times=4).add(GaussianLoss(1.0), times=2)
    >>> round(ledger.mu, 10), round(ledger.epsilon(1e-5), 8)
    (1.5634719199, 7.41054148)
    """

    @property
    def kind(self) -> str:
        """Exact when every entry is Gaussian noise or a GDP guarantee."""
        gaussian = all(isinstance(loss, GaussianLoss) for entry, _ in self.history for loss in directed_losses(entry).values())
        return "exact, rounded up" if gaussian else "upper bound"

    def _check(self, mechanism: Any) -> None:
        if max(_mu(mechanism).values()) == np.inf and not _is_gaussian(mechanism):
            raise fail("mechanism", mechanism, "Gaussian noise or bounded in its privacy loss: this one has no known Gaussian "
                       "that covers it (`estimate` gives the central limit theorem's number)")

    @property
    def mu(self) -> float:
        """The Gaussian that covers the whole history, as the distance of its centers in standard deviations."""
        return max(float(np.sqrt(sum(times * mu**2 for mu, times in line))) for line in by_direction(self.history, _mu))

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper); lower is 0 unless all noise is Gaussian."""
        delta = probability("delta", delta)
        lower, upper = GaussianLoss(self.mu).epsilon_bounds(delta)
        return (lower if self.kind.startswith("exact") else plain(np.zeros(delta.shape))), upper

    def delta(self, epsilon: ArrayLike) -> Any:
        """The hockey stick of the Gaussian `mu`."""
        return conversions.gdp_to_delta(self.mu, epsilon)

    @staticmethod
    def estimate(history: list[tuple[Any, int]], delta: ArrayLike) -> Any:
        """The epsilon that the central limit theorem suggests. An estimate, often BELOW the true one: no guarantee.

        mu**2 is the sum of chi-square divergences e**D_2 - 1, in the worse direction; Gaussian noise enters exactly.

        References
        ----------
        Bu, Dong, Long and Su (2020), Deep Learning with Gaussian Differential Privacy, for sampled Gaussians.

        >>> from dpnotes.privacy_loss import LaplaceLoss
        >>> round(GDPAccountant.estimate([(LaplaceLoss(0.1), 1000)], 1e-6), 2)  # the true epsilon is 18.95
        19.04
        """
        def square(loss):
            return loss.mu**2 if isinstance(loss, GaussianLoss) else np.expm1(loss.renyi(2))

        def squares(entry):
            return {direction: square(loss) for direction, loss in directed_losses(entry).items()}

        total = max(sum(times * value for value, times in direction) for direction in by_direction(history, squares))
        return each(GaussianLoss(float(np.sqrt(total))).epsilon, probability("delta", delta))


def _is_gaussian(entry: Any) -> bool:
    return all(isinstance(loss, GaussianLoss) for loss in directed_losses(entry).values())


def _mu(entry: Any) -> dict[str, float]:
    """The covering Gaussian by direction, inf where there is none."""
    if isinstance(entry, GDP):
        return {"either": entry.mu}
    if isinstance(entry, Guarantee) and not isinstance(entry, PureDP):
        try:
            directed_losses(entry)
        except ValueError:
            return {"either": float(conversions.pure_to_gdp(max(0.0, entry.renyi(np.inf))))}
    losses = directed_losses(entry)
    covering = max(max(loss.maximum, -loss.minimum) for loss in losses.values())  # a Gaussian covers both orders at once
    implied, own = float(conversions.pure_to_gdp(max(covering, 0.0))), own_number(entry, "mu")
    return {d: min(loss.mu if isinstance(loss, GaussianLoss) else implied, own) for d, loss in losses.items()}
