"""Adding up bounds that are only known once a step has run."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpnotes._validate import fail, nonnegative, open_probability, positive, round_up, scalar
from dpnotes.ex_post._conversions import renyi_to_approximate, renyi_to_probabilistic
from dpnotes.ex_post._definitions import Bounded, ExPostDefinition, RenyiExPost
from dpnotes.mechanisms._base import NEIGHBORS, neighbor_relation

# Shares like 11 times 1/11 add up to a little more than 1 in floating point; so little is taken for rounding.
ROUNDING = 1e-12


class Odometer:
    """The running sum of ex-post bounds on the same data: valid whenever one looks, with everything chosen as one goes along.

    Each next mechanism, its noise and its levels may depend on all outputs and bounds so far, and so may the decision to
    stop. All steps must satisfy the one definition that is fixed here (a Rényi order cannot be chosen afterwards); a pure
    step satisfies every Rényi definition with its own epsilon.

    Parameters
    ----------
    definition : `PureExPost()` or `RenyiExPost(alpha)`. For the two definitions with a delta, deltas add up as well: make
        one of them per step and join them with ``compose``.
    neighbors : the relation of every step.

    >>> spent = Odometer(RenyiExPost(4))
    >>> spent.add(0.5); spent.add(0.25)
    >>> spent.epsilon
    0.75
    """

    def __init__(self, definition: ExPostDefinition, *, neighbors: str = NEIGHBORS[0]) -> None:
        if not isinstance(definition, ExPostDefinition) or hasattr(definition, "delta"):
            raise fail("definition", definition, "PureExPost() or RenyiExPost(alpha)")
        self._definition, self.neighbors = definition, neighbor_relation(neighbors)
        self._spent: list[float] = []

    @property
    def definition(self) -> ExPostDefinition:
        return self._definition

    def add(self, epsilon: float) -> None:
        """Count the bound that a step has returned, in nats, finite and at least 0."""
        epsilon = scalar("epsilon", nonnegative("epsilon", epsilon))
        if math.isinf(epsilon):
            raise fail("epsilon", epsilon, "finite")
        self._spent.append(epsilon)

    @property
    def epsilon(self) -> float:
        """The sum of the bounds so far, correctly rounded. An upper bound for everything released."""
        return math.fsum(self._spent)

    def statement(self, delta: float | None = None) -> str:
        """What the sum means. With a delta fixed in advance, also as a bound with that delta."""
        return describe(self._definition, self.epsilon, self.neighbors, delta)


class Filter(Odometer):
    """A budget for steps whose cost is known only afterwards: a step runs only if its CAP still fits.

    The test is on a cap known before the step, never on the bound realized after it: hiding an output because its bound
    came out too high tells that it did. What is reported is the budget, a constant: for `RenyiExPost(alpha)` the whole
    interaction is then ordinary (alpha, budget)-Rényi DP, for `PureExPost()` ordinary budget-DP.

    Parameters
    ----------
    budget : the most that all bounds together may reach, positive. A sum that exceeds it by less than 1e-12 of it is rounding.

    >>> from dpnotes.ex_post import PureExPost
    >>> purse = Filter(PureExPost(), 1.0)
    >>> purse.run(lambda: Bounded("first", 0.2), cap=0.5)      # 0.2 is charged, as it is part of what was released
    Bounded(output='first', epsilon=0.2)
    >>> purse.run(lambda: Bounded("second", 0.1), cap=0.9) is None
    True
    """

    def __init__(self, definition: ExPostDefinition, budget: float, *, neighbors: str = NEIGHBORS[0]) -> None:
        super().__init__(definition, neighbors=neighbors)
        self.budget = scalar("budget", positive("budget", budget))

    def allows(self, cap: float) -> bool:
        """Whether a step with this cap may still run."""
        cap = scalar("cap", nonnegative("cap", cap))
        return math.fsum([*self._spent, cap]) <= self.budget * (1 + ROUNDING)

    def run(self, step: Callable[[], Bounded], *, cap: float) -> Bounded | None:
        """Run the step and charge the bound it returns, or return None without running it if its cap does not fit.

        A step that returns more than its cap is an error: its cap was none, and the cap is charged.
        """
        if not self.allows(cap):
            return None
        self._spent.append(float(cap))  # should the step fail half-way, its cap is spent
        result = step()
        if not 0 <= result.epsilon <= cap:
            raise fail("cap", cap, f"at least every bound the step can return; it returned {result.epsilon!r}")
        self._spent[-1] = float(result.epsilon)
        return result

    def add(self, epsilon: float) -> None:
        """Refused: a filter decides before a step runs."""
        raise TypeError("a Filter charges the steps it runs: use run(step, cap=...)")

    @property
    def spent(self) -> float:
        """The sum of the bounds realized so far."""
        return math.fsum(self._spent)

    @property
    def remaining(self) -> float:
        """The largest cap that still fits, at least 0."""
        return max(0.0, math.fsum([self.budget, *(-epsilon for epsilon in self._spent)]))

    @property
    def epsilon(self) -> float:
        """The bound of the whole interaction: the budget (or the sum, where rounding put it above)."""
        return max(self.budget, self.spent)


def describe(definition: ExPostDefinition, epsilon: float, neighbors: str, delta: float | None = None) -> str:
    """One line: which definition, its numbers, the neighbors, which way it bounds; with a delta, what that implies."""
    immune = "survives post-processing" if definition.survives_post_processing else "does NOT survive post-processing"
    text = (f"{definition}: epsilon = {round_up(epsilon, 6)}, an upper bound on the privacy loss in this definition's sense;"
            f" {neighbors}; {immune}.")
    if delta is None:
        return text
    if not isinstance(definition, RenyiExPost):
        raise fail("delta", delta, f"left out: {definition} is not read at another delta")
    delta = open_probability("delta", delta)
    wide, immune = (convert(epsilon, definition.alpha, delta) for convert in (renyi_to_probabilistic, renyi_to_approximate))
    return (f"{text} With delta = {delta:g} fixed in advance: P[loss > {round_up(wide, 6)}] <= delta, and delta-approximate"
            f" ex-post epsilon = {round_up(immune, 6)}.")
