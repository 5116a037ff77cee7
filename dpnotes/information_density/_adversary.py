"""The adversaries behind the two numbers: those who want to win, and those who want to avoid a loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpnotes._validate import FloatArray, fail, finite, nonnegative
from dpnotes.information_density._joint import JointLaw, stochastic

_THREATS = ("gain", "cost", "guess", "error")


@dataclass(frozen=True, eq=False)  # it holds arrays
class Adversary:
    """One adversary: what is at stake, and for how much; `advantage` says what an output does for this adversary.

    Parameters
    ----------
    name : what to call it.
    threat : "gain" takes the action of largest expected gain, "cost" the one of smallest expected cost; "guess" names
        the likeliest value of a randomized function U of the secret and counts right guesses, "error" counts wrong ones.
    table : for "gain" and "cost" the stakes, shape (k, actions), finite and >= 0, entry (x, w) if the secret is x and the
        action w; for "guess" and "error" the law of U, shape (k, values), row x given X = x.

    For every adversary ``advantage(law)`` is at most ``law.pml()`` (gain, guess) or ``law.pmc()`` (cost, error).

    References
    ----------
    Gains and guesses: Saeidian, Cervia, Oechtering and Skoglund (2023), Pointwise Maximal Leakage. Costs and errors:
    arXiv 2407.01167.

    >>> law = JointLaw([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]])
    >>> timid = Adversary("wrong is 1, asking is 0.4", "cost", [[0, 1, 0.4], [1, 0, 0.4]])
    >>> timid.before(law), timid.after(law).tolist(), timid.advantage(law).round(6).tolist()
    (0.4, [0.25, 0.25], [0.470004, 0.470004])
    """

    name: str
    threat: str
    table: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        if self.threat not in _THREATS:
            raise fail("threat", self.threat, f"one of {', '.join(_THREATS)}")
        if self.threat in ("guess", "error"):
            table = stochastic("table", self.table)
        else:
            table = nonnegative("table", finite("table", self.table))
            if table.ndim != 2 or table.size == 0:
                raise fail("table", self.table, "a matrix, one row a secret and one column an action")
        object.__setattr__(self, "table", table)

    def before(self, law: JointLaw) -> float:
        """The best expected gain (probability of a right guess), or least cost (of a wrong one), knowing the prior only."""
        return float(self._best(law, law.prior[:, None])[0])

    def after(self, law: JointLaw) -> FloatArray:
        """The same, knowing the output: one value an output, shape (m,); nan for outputs that never come."""
        return self._best(law, law.posterior)

    def advantage(self, law: JointLaw) -> FloatArray:
        """log of after / before for gains and guesses, of before / after for costs and errors; shape (m,), inf allowed.

        Where both are 0 there was nothing to gain or to save: 0.
        """
        before, after = self.before(law), self.after(law)
        if before == 0:
            return np.where(np.isnan(after), np.nan, 0.0)
        with np.errstate(divide="ignore"):
            ratio = np.log(after) - np.log(before)
        return ratio if self.threat in ("gain", "guess") else -ratio

    def choice(self, law: JointLaw, y: int | None = None) -> int:
        """The action (or the value of U) that the adversary takes: before any output, or after output y."""
        beliefs = law.prior if y is None else law.posterior[:, y]
        expected = beliefs @ self.table
        return int(np.argmin(expected) if self.threat == "cost" else np.argmax(expected))

    def _best(self, law: JointLaw, beliefs: FloatArray) -> FloatArray:
        if len(self.table) != len(law.prior):
            raise fail("law", law, f"a law with as many secrets as the adversary's table has rows ({len(self.table)})")
        expected = np.sort(self.table.T @ beliefs, axis=0)
        # A wrong guess has the probability of all values but the likeliest: added up, not subtracted from 1.
        return {"cost": expected[0], "error": expected[:-1].sum(axis=0)}.get(self.threat, expected[-1])


def _stakes(law: JointLaw) -> FloatArray:
    """1 / P(x) if the secret is the named one: at these odds every action is worth 1 before the output comes."""
    support = np.flatnonzero(law.prior)
    table = np.zeros((len(law.prior), len(support)))
    table[support, np.arange(len(support))] = 1 / law.prior[support]
    return table


def bettor(law: JointLaw) -> Adversary:
    """Bets on one secret at fair odds 1 / P(x): attains PML on every output at once.

    Before the output each bet is worth 1, after it the bet on x is worth the lift e**i(x; y). The bettor takes the largest.

    >>> law = JointLaw([0.2, 0.8], [[0.9, 0.1], [0.3, 0.7]])
    >>> bool(np.allclose(bettor(law).advantage(law), law.pml()))
    True
    """
    return Adversary("bettor", "gain", _stakes(law))


def burglar(law: JointLaw) -> Adversary:
    """Enters one room and pays 1 / P(x) if the guard (the secret) is there: attains PMC on every output at once.

    The bettor's table read as costs. Before the output each room costs 1, after it room x costs the lift e**i(x; y); the
    burglar takes the smallest. Where an output rules a room out, the burglar is safe and PMC is inf.
    """
    return Adversary("burglar", "cost", _stakes(law))


def guesser(law: JointLaw, y: int) -> Adversary:
    """Guesses a randomized function U of the secret, and gains on output y exactly PML: right guesses, after against before.

    U is x* where X = x*, the secret of largest lift; every other secret is split evenly over so many values that none is
    likelier than x*. Needs P(x*) >= 1e-5, because U has more than 1 / P(x*) values.
    """
    star = _extreme(law, y, np.nanargmax)
    if law.prior[star] < 1e-5:
        raise fail("y", y, f"an output whose best secret has prior at least 1e-5, not {law.prior[star]:.3g}")
    cells = np.maximum(np.ceil(law.prior / law.prior[star] - 1e-9), 1).astype(int)  # a ratio of 1 + rounding is one cell
    start = np.concatenate([[0], np.cumsum(cells)])
    table = np.zeros((len(cells), start[-1]))
    for x, n in enumerate(cells):
        table[x, start[x]:start[x + 1]] = 1 / n
    return Adversary("guesser", "guess", table)


def doubter(law: JointLaw, y: int) -> Adversary:
    """Guesses whether a bit U is 1, and on output y the probability of being wrong falls by exactly the factor e**PMC.

    U is 1 with probability t where X = x*, the secret of smallest lift, else 0; t P(x*) <= 1/2 makes "0" the guess
    both before and after, so that the guess is wrong exactly when U = 1.
    """
    star = _extreme(law, y, np.nanargmin)
    table = np.tile([1.0, 0.0], (len(law.prior), 1))
    t = min(1.0, 0.5 / law.prior[star])
    table[star] = 1 - t, t
    return Adversary("doubter", "error", table)


def _extreme(law: JointLaw, y: int, pick: np.ufunc) -> int:
    if np.isnan(law.pml(y)):
        raise fail("y", y, "an output of positive probability")
    return int(pick(np.where(law.prior > 0, law.density[:, y], np.nan)))
