"""What all accountants share: a history, and the questions asked of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import ArrayLike

from dpnotes._validate import count, fail, probability, round_up, scalar


class Accountant(ABC):
    """A ledger of mechanisms run on the same data, and the guarantee they give together.

    A subclass supplies `_check`, which raises ValueError for what its theory cannot express and gives the reason,
    `epsilon_bounds` and `delta`, which check their arguments. `history` holds
    (mechanism, times) in the order of the calls; the order never changes a guarantee. Mechanisms may be chosen after
    seeing earlier results as long as their parameters were fixed beforehand.

    All mechanisms of one ledger speak of the same neighbors, the string ``mechanism.neighbors``: guarantees for different
    relations do not add up. A bare loss or guarantee without that attribute goes with any relation, and what the answer
    then means is the caller's to say.
    """

    kind = "upper bound"  # what `epsilon` returns: "exact", "upper bound" or "estimate"

    def __init__(self) -> None:
        self.history: list[tuple[Any, int]] = []
        self.neighbors: str | None = None

    def add(self, mechanism: Any, times: int = 1) -> Accountant:
        """Enter `times` independent runs of the mechanism; returns the ledger, so that calls can be chained.

        Nothing is stored when the mechanism is refused.
        """
        times = count("times", times)
        relation = getattr(mechanism, "neighbors", None)
        if None not in (relation, self.neighbors) and relation != self.neighbors:
            raise fail("mechanism", mechanism, f"about the neighbors of this ledger, {self.neighbors!r}, not {relation!r}: "
                       "guarantees for different neighbors do not compose")
        self._check(mechanism)
        self.neighbors = self.neighbors or relation
        self.history.append((mechanism, times))
        return self

    @abstractmethod
    def _check(self, mechanism: Any) -> None:
        """Raise ValueError, with the reason, for a mechanism that this theory cannot express. Changes nothing."""

    @abstractmethod
    def epsilon_bounds(self, delta: ArrayLike) -> tuple[Any, Any]:
        """(lower, upper) around the smallest epsilon >= 0 that this history allows at `delta`; lower is 0 where unknown."""

    def epsilon(self, delta: ArrayLike) -> Any:
        """An epsilon >= 0 with which the whole history is (epsilon, delta)-DP; inf where there is none."""
        return self.epsilon_bounds(delta)[1]

    @abstractmethod
    def delta(self, epsilon: ArrayLike) -> Any:
        """A delta with which the whole history is (epsilon, delta)-DP."""

    def _precision(self, delta: float) -> str:
        """How sharp the answer is, for `statement`: "" where only one side is known."""
        return ""

    def statement(self, delta: float) -> str:
        """The guarantee in one line: numbers, neighbors, sampling, which way it bounds."""
        delta = scalar("delta", probability("delta", delta))
        relation = self.neighbors or "neighbors as the losses were given"
        sampling = dict.fromkeys(getattr(mechanism, "sampling", None) for mechanism, _ in self.history)
        parts = [f"({round_up(float(self.epsilon(delta)))}, {delta:g})-DP", relation, *filter(None, sampling), self.kind,
                 self._precision(delta)]
        return ", ".join(filter(None, parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{times} x {mechanism!r}' for mechanism, times in self.history)})"
