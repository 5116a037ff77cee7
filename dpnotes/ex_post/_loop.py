"""Release, check, repeat with less noise until it is good enough: a loop with a valid bound whenever it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dpnotes._validate import fail, round_up
from dpnotes.ex_post._checks import Check, GaussianCheck, PublicCheck
from dpnotes.ex_post._composition import describe
from dpnotes.ex_post._definitions import ExPostDefinition
from dpnotes.ex_post._reduction import ReducibleRelease

ROWS = ("disjoint", "overlapping")


@dataclass(frozen=True)
class Step:
    """One turn of the loop: everything in it may be published at the bound `epsilon`, which covers all turns so far."""

    number: int
    level: float
    output: Any
    result: Any
    passed: bool
    answer: float | None
    epsilon: float

    def __str__(self) -> str:
        said = "" if self.answer is None else f", noisy score {self.answer:.4g}"
        verdict = "passed" if self.passed else "not yet"
        return f"step {self.number}: level {self.level:g}{said}, {verdict}, epsilon so far {round_up(self.epsilon, 6)}"


@dataclass(frozen=True)
class Outcome:
    """What the loop has to show: the latest result, whether it passed, the bound for all that was released, the transcript."""

    result: Any
    passed: bool
    epsilon: float
    definition: ExPostDefinition
    neighbors: str
    release_epsilon: float
    check_epsilon: float
    rows: str | None
    transcript: tuple[Step, ...]

    def statement(self, delta: float | None = None) -> str:
        """Which definition, numbers, neighbors, and which way it bounds. `delta`, fixed in advance, adds what that implies."""
        parts = {"disjoint": "the larger of the two (disjoint rows)", "overlapping": "the sum of the two (shared rows)",
                 None: "the release alone (the check reads nothing private)"}[self.rows]
        ended = "stopped at the first pass" if self.passed else "no pass so far" if self.transcript else "nothing released"
        meaning = describe(self.definition, self.epsilon, self.neighbors, delta)
        release, checks = round_up(self.release_epsilon, 6), round_up(self.check_epsilon, 6)
        return (f"{meaning} From the release {release} and the checks {checks}: {parts}. It covers all"
                f" {len(self.transcript)} steps; {ended}.")


class AccuracyFirst:
    """Releases at one level after another until a check passes; wherever it is stopped, what it shows has a valid bound.

    Iterate over it for one `Step` at a time and stop whenever you like, or call `run`. `outcome` is valid at any moment.

    Parameters
    ----------
    release : a `BrownianMechanism` (levels are falling sigmas), a `LaplaceReduction` or a `FreshLaplace` (rising epsilons), or
        a `ReducibleRelease` of your own. Its definition, alpha included, is fixed before the first release.
    check : a `GaussianCheck`, an `AboveThresholdCheck`, a `ReducedAboveThresholdCheck`, or a `PublicCheck`. A plain function
        is refused: without noise, one held-out record can decide the answer, and that is an infinite loss.
    levels : an iterable, or a function of the transcript so far (a tuple of steps) that gives the next level or None.
    rows : "disjoint" if no record is both behind the release and behind the check (the bound is then the larger of the two);
        "overlapping" otherwise (the sum). Has to be said, except with a `PublicCheck`.
    build : makes the result (a model, synthetic data) from a release; must not look at the data. Default: the release itself.

    >>> import numpy as np
    >>> from dpnotes.ex_post import BrownianMechanism
    >>> count = BrownianMechanism(1000.0, alpha=4.0, rng=np.random.default_rng(1))
    >>> close = PublicCheck(lambda noisy: noisy > 50 * count.sigma)
    >>> loop = AccuracyFirst(count, close, [64, 32, 16, 8, 4])
    >>> for step in loop: print(step)
    step 1: level 64, not yet, epsilon so far 0.000488282
    step 2: level 32, not yet, epsilon so far 0.00195313
    step 3: level 16, passed, epsilon so far 0.0078125
    >>> print(loop.outcome.statement())
    alpha-ex-post Rényi DP, alpha = 4: epsilon = 0.0078125, an upper bound on the privacy loss in this definition's sense;
    add/remove one record; survives post-processing. From the release 0.0078125 and the checks 0: the release alone
    (the check reads nothing private). It covers all 3 steps; stopped at the first pass.
    """

    def __init__(self, release: ReducibleRelease, check: Check,
                 levels: Iterable[float] | Callable[[tuple[Step, ...]], float | None], *,
                 rows: str | None = None, build: Callable[[Any], Any] | None = None) -> None:
        if not isinstance(release, ReducibleRelease):
            raise fail("release", release, "a BrownianMechanism, LaplaceReduction, FreshLaplace or other ReducibleRelease")
        if not isinstance(check, Check):
            raise fail("check", check, "a check that pays for its answers (GaussianCheck, AboveThresholdCheck, "
                       "ReducedAboveThresholdCheck), or a PublicCheck: a raw answer from private rows has no bound")
        if isinstance(check, PublicCheck):
            rows = None
        elif rows not in ROWS:
            raise fail("rows", rows, "'disjoint' (no record is behind both the release and the check) or 'overlapping'")
        if check.neighbors not in (None, release.neighbors):
            raise fail("check", check, f"about the neighbors of the release, {release.neighbors!r}, not {check.neighbors!r}")
        if getattr(check, "asked", 0) or release.epsilon:
            raise fail("release" if release.epsilon else "check", release if release.epsilon else check,
                       "new: what was released before this loop is not in its transcript")
        self._release, self._check, self._rows, self._build = release, check, rows, build
        self._levels, self._steps, self._over = levels if callable(levels) else iter(levels), [], False
        self._definition, self._check_definition = self._agree(release, check)

    @staticmethod
    def _agree(release: ReducibleRelease, check: Check) -> tuple[ExPostDefinition, ExPostDefinition]:
        """The definition of the whole, and the one in which the check's cost is read."""
        theirs = check.definition
        if theirs is None:
            theirs = release.definition
            if isinstance(check, GaussianCheck):
                check.epsilon(theirs)  # raises where the release has no order either
            return theirs, theirs
        whole = release.definition.compose(theirs)
        if getattr(release.definition, "alpha", None) not in (None, getattr(whole, "alpha", None)) or \
                getattr(theirs, "alpha", None) not in (None, getattr(whole, "alpha", None)):
            raise fail("check", check, f"of the release's order: {theirs} beside {release.definition}")
        return whole, (whole if hasattr(whole, "alpha") else theirs)

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        """One release and one check."""
        level = None if self._over else self._next_level()
        if level is None:
            self._over = True
            raise StopIteration
        output = self._release.release(level).output
        result = output if self._build is None else self._build(output)
        answer = self._check.ask(result)
        self._over = answer.passed
        self._steps.append(Step(len(self._steps) + 1, float(level), output, result, answer.passed, answer.value, self.epsilon))
        return self._steps[-1]

    def _next_level(self) -> float | None:
        return self._levels(tuple(self._steps)) if callable(self._levels) else next(self._levels, None)

    def run(self, progress: Callable[[Step], Any] | None = None) -> Outcome:
        """To the first pass or the last level; `progress` is called with each step. Interrupting it (Ctrl-C) is a way to stop."""
        try:
            for step in self:
                if progress is not None:
                    progress(step)
        except KeyboardInterrupt:
            pass
        return self.outcome

    @property
    def epsilon(self) -> float:
        """The bound for everything released and answered so far, also by a step that failed half-way. Upper bound."""
        release, check = self._release.epsilon, self._check.epsilon(self._check_definition)
        return release + check if self._rows == "overlapping" else max(release, check)

    @property
    def outcome(self) -> Outcome:
        """A valid statement about everything the loop has shown, at any moment."""
        last = self._steps[-1] if self._steps else None
        return Outcome(last.result if last else None, bool(last and last.passed), self.epsilon, self._definition,
                       self._release.neighbors, self._release.epsilon, self._check.epsilon(self._check_definition), self._rows,
                       tuple(self._steps))
