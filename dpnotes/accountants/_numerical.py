"""The numerical accountant: the exact law of the composed privacy loss, read with certified bounds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import count, fail, nonnegative, plain, probability, scalar
from dpnotes.accountants._base import Accountant
from dpnotes.privacy_loss import IndependentSum, PrivacyLoss, independent_sum
from dpnotes.privacy_loss._sums import proved_below

WIDE = 1e-3  # relative width of a bracket from which the Rényi route and the sum of total variations are asked, too


def directed_losses(mechanism: Any) -> dict[str, PrivacyLoss]:
    """The losses of a mechanism, or of a bare loss, by direction; one entry where one covers both."""
    if isinstance(mechanism, PrivacyLoss):
        swapped = mechanism.swapped
        if swapped == mechanism:
            return {"either": mechanism}
        direction = getattr(mechanism, "direction", None)
        if direction in ("remove", "add"):
            return {direction: mechanism, {"remove": "add", "add": "remove"}[direction]: swapped}
        return {"forward": mechanism, "backward": swapped}
    losses = getattr(mechanism, "privacy_losses", None)
    if not callable(losses):
        raise fail("mechanism", mechanism, "a PrivacyLoss or something with privacy_losses(): the numerical accountant "
                   "composes the privacy loss itself, so that a bare guarantee must come as the loss that dominates it")
    return losses()


def is_bounded_only(entry: Any) -> bool:
    """Whether a mechanism's losses are upper bounds (its `kinds` says so): its own `renyi` and `rho` can then be sharper."""
    return getattr(entry, "kinds", {}).get("loss") == "upper"


def _parts(loss: PrivacyLoss) -> tuple[tuple[PrivacyLoss, int], ...]:
    return loss.parts if isinstance(loss, IndependentSum) else ((loss, 1),)


def _total_variation(loss: PrivacyLoss) -> float:
    """At least the delta at epsilon = 0: total variations of independent parts add up at most."""
    return float(sum(k * part.delta(0.0) for part, k in _parts(loss)))


def _by_orders(loss: PrivacyLoss, reading: str, at: float) -> float:
    """The reading ("epsilon" or "delta") of a Rényi ledger of the same parts: no wall of rare large losses can spoil it."""
    from dpnotes.accountants._renyi import RenyiAccountant

    ledger = RenyiAccountant()
    try:
        for part, k in _parts(loss):
            ledger.add(part, k)
        with np.errstate(all="ignore"):
            return float(getattr(ledger, reading)(at))
    except ValueError:  # no finite moment, so that route says nothing
        return np.inf


def _epsilon_bounds(loss: PrivacyLoss, delta: float) -> tuple[float, float]:
    """The loss's own bounds; where they are wide, two other routes to an upper bound are asked as well."""
    try:
        with np.errstate(all="ignore"):
            lower, upper = loss._epsilon_bounds(delta)
    except (ArithmeticError, ValueError):  # the inversion has left the range of floats, and says nothing
        lower, upper = 0.0, np.inf
    if 0 < delta < 1 and not upper - lower <= WIDE * upper < np.inf:
        if _total_variation(loss) * (1 + 1e-9) <= delta:
            return 0.0, 0.0
        upper = float(np.fmin(upper, _by_orders(loss, "epsilon", delta) * (1 + 1e-9)))
    return lower, max(lower, upper)


def _log_delta_bounds(loss: PrivacyLoss, epsilon: float) -> tuple[float, float]:
    """The same for the logarithm of delta."""
    try:
        with np.errstate(all="ignore"):
            lower, upper = loss.log_delta_bounds(epsilon)
    except (ArithmeticError, ValueError):
        lower, upper = -np.inf, 0.0
    if np.isfinite(epsilon) and upper > -np.inf and not upper - lower <= WIDE:
        others = [_total_variation(loss), _by_orders(loss, "delta", epsilon)]
        # a 0 may be the rounding of the largest loss, but for a loss without one it is less than any float
        sure = [max(other, 1e-290) for other in others if other < 1 and (other > 0 or loss.maximum == np.inf)]
        upper = min([upper, *(float(np.log(other)) + 1e-9 for other in sure)])
    return lower, max(lower, upper)


def _worst_epsilon(losses: list[PrivacyLoss], delta: float) -> tuple[float, float]:
    """The largest epsilon bounds, skipping a direction only where its delta is proved to be smaller."""
    lower, upper = _epsilon_bounds(losses[0], delta)
    for before, other in pairwise(losses):
        if not 0 < delta < 1 or not proved_below(other, before, lower, float(np.log(delta))):
            own = _epsilon_bounds(other, delta)
            lower, upper = max(lower, own[0]), max(upper, own[1])
    return lower, upper


def _worst_log_delta(losses: list[PrivacyLoss], epsilon: float) -> tuple[float, float]:
    """The same for delta."""
    lower, upper = _log_delta_bounds(losses[0], epsilon)
    for before, other in pairwise(losses):
        if not proved_below(other, before, epsilon, lower):
            own = _log_delta_bounds(other, epsilon)
            lower, upper = max(lower, own[0]), max(upper, own[1])
    return lower, upper


class NumericalAccountant(Accountant):
    """Composes the privacy losses themselves and reads (epsilon, delta) off the sum. Bounds: lower <= exact <= upper.

    `epsilon` and `delta` return the upper bound, `epsilon_bounds` and `delta_bounds` both. What is bounded is the tight
    value for the losses entered: the largest over the directions of the change, each composed on its own, because a record
    that was removed was removed from every step. The width says how sharp the answer is; nothing is assumed about it.
    Where a mechanism's losses are upper bounds themselves (`kinds`), the lower bound is one for these losses only.

    A mechanism with one loss (or a bare loss equal to its own swap) serves in every direction. Any other bare loss enters
    together with its swap.

    References
    ----------
    Sommer, Meiser and Mohammadi (2019) for composition as a sum of losses; bounds as in `dpnotes.privacy_loss._inversion`.

    >>> from dpnotes.privacy_loss import PoissonGaussianLoss
    >>> ledger = NumericalAccountant().add(PoissonGaussianLoss(256 / 60000, 1 / 1.1), times=14062)
    >>> round(ledger.epsilon(delta=1e-5), 9)
    2.381596921
    """

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[tuple[dict[str, PrivacyLoss], int]] = []
        self._directions: set[str] = set()
        self._composed: dict[str, PrivacyLoss] | None = None

    def _check(self, mechanism: Any) -> None:
        losses = self._entering = directed_losses(mechanism)
        if len(losses) > 1 and self._directions and set(losses) != self._directions:
            raise fail("mechanism", mechanism, f"given in the directions of this ledger, {', '.join(sorted(self._directions))}, "
                       f"not {', '.join(sorted(losses))}")

    def add(self, mechanism: Any, times: int = 1) -> NumericalAccountant:
        """Enter `times` independent runs of a mechanism, or of a bare PrivacyLoss; returns the ledger."""
        super().add(mechanism, times)
        losses = self._entering
        if len(losses) > 1:
            self._directions = set(losses)
        self._parts.append((losses, self.history[-1][1]))
        self._composed = None
        return self

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """The composed loss in each direction."""
        if self._composed is None:
            names = sorted(self._directions, reverse=True) or ["either"]
            composed = {}
            for name in names:
                parts = [(losses[name] if len(losses) > 1 else next(iter(losses.values())), k) for losses, k in self._parts]
                composed[name] = independent_sum(parts)
            self._composed = composed
        return self._composed

    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper) around the smallest epsilon >= 0 that is enough at `delta` for the losses entered.

        A mechanism whose `kinds` calls its loss "upper" enters a loss that covers its own; only `upper` holds for it then.
        """
        delta = probability("delta", delta)
        losses = list(self.privacy_losses().values())
        pairs = np.array([_worst_epsilon(losses, float(d)) for d in delta.flat]).reshape(*delta.shape, 2)
        return plain(pairs[..., 0]), plain(pairs[..., 1])

    def log_delta_bounds(self, epsilon: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper) around the natural logarithm of the smallest delta, right far below the smallest float."""
        epsilon = nonnegative("epsilon", epsilon)
        losses = list(self.privacy_losses().values())
        pairs = np.array([_worst_log_delta(losses, float(e)) for e in epsilon.flat]).reshape(*epsilon.shape, 2)
        return plain(pairs[..., 0]), plain(pairs[..., 1])

    def delta_bounds(self, epsilon: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper) around the smallest delta that is enough at `epsilon` >= 0."""
        lower, upper = self.log_delta_bounds(epsilon)
        return plain(np.exp(lower)), plain(np.exp(upper))

    def delta(self, epsilon: ArrayLike) -> Any:
        """The smallest delta at `epsilon` >= 0, rounded up."""
        return self.delta_bounds(epsilon)[1]

    def epsilon_curve(self, times: ArrayLike, *, delta: float) -> tuple[Any, Any]:
        """(lower, upper) around epsilon when the whole history is run each of these numbers of times, at one delta.

        Parameters
        ----------
        times : whole numbers, at least 0, shape (n,).
        delta : the one delta, between 0 and 1.
        """
        delta = scalar("delta", probability("delta", delta))
        counts = [count("times", k) for k in np.asarray(times).ravel().tolist()]
        losses = self.privacy_losses().values()
        bounds = np.array([_worst_epsilon([loss.repeat(k) for loss in losses], delta) for k in counts]).reshape(-1, 2)
        return bounds[:, 0], bounds[:, 1]

    def _precision(self, delta: float) -> str:
        if any(is_bounded_only(entry) for entry, _ in self.history):
            return "from losses that are upper bounds themselves"  # how near the bracket is to the truth is then unknown
        lower, upper = self.epsilon_bounds(delta)
        if upper == lower:
            return "exact"
        if not np.isfinite(upper):
            return ""
        width = (upper - lower) / upper
        if width > WIDE:
            return f"may be loose: the exact value lies between {lower:.6g} and this"
        return f"within {width:.0e} of the exact value"
