"""Guarantees side by side: one guarantee in every currency, and one history read by every accountant."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnotes import conversions
from dpnotes._validate import at_least, count, fail, probability, scalar
from dpnotes.accountants import (
    GDP,
    RDP,
    ZCDP,
    Accountant,
    AdvancedAccountant,
    ApproxDP,
    GDPAccountant,
    NumericalAccountant,
    PureAccountant,
    PureDP,
    RenyiAccountant,
    ZCDPAccountant,
)
from dpnotes.accountants._guarantees import curves_of, own_number
from dpnotes.accountants._numerical import directed_losses
from dpnotes.conversions._curves import search_epsilon
from dpnotes.privacy_loss import GaussianLoss, PrivacyLoss


class Table:
    """A small table of numbers and words: `print` it, let a notebook show it, or take the numbers out.

    ``table[row]`` is a row as a dict, ``table[row, column]`` one entry, ``table.rows`` all rows. Numbers keep all their digits;
    only the text is rounded.
    """

    def __init__(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> None:
        self.title, self.columns, self.note = title, list(columns), note
        self.rows = [dict(zip(self.columns, row, strict=True)) for row in rows]

    def __getitem__(self, key: Any) -> Any:
        name, column = key if isinstance(key, tuple) else (key, None)
        for row in self.rows:
            if row[self.columns[0]] == name:
                return row if column is None else row[column]
        raise KeyError(name)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _cells(self) -> list[list[str]]:
        return [[_text(row[column]) for column in self.columns] for row in self.rows]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(len(line[i]) for line in [self.columns, *cells]) for i in range(len(self.columns))]
        numeric = self._numeric()
        lines: list[str] = []
        start = sum(widths[:-1]) + 2 * len(widths[:-1])  # of the last column
        rules = ["-" * min(width, 60) for width in widths[:-1]] + ["-" * max(3, min(widths[-1], 60, 120 - start))]
        for line in [self.columns, rules, *cells]:
            padded = zip(line, widths, numeric, strict=True)
            row = "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in padded).rstrip()
            # The last column may hold a sentence: it goes on below its own start instead of past the page.
            lines += textwrap.wrap(row, 120, subsequent_indent=" " * start,
                                   break_long_words=False) if len(row) > 120 and start < 100 else [row]
        return "\n".join([self.title, "", *lines, *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        numeric = self._numeric()

        def line(cells, tag):
            styled = (f'<{tag} style="text-align:{"right" if right else "left"}">{html.escape(cell)}</{tag}>'
                      for cell, right in zip(cells, numeric, strict=True))
            return f"<tr>{''.join(styled)}</tr>"

        body = "".join(line(cells, "td") for cells in self._cells())
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return (f"<table><caption>{html.escape(self.title)}</caption><thead>{line(self.columns, 'th')}</thead>"
                f"<tbody>{body}</tbody></table>{note}")

    def _numeric(self) -> list[bool]:
        return [any(isinstance(row[column], float) for row in self.rows) for column in self.columns]


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if 1e-4 <= abs(value) < 1e6 or value == 0 or not np.isfinite(value) else f"{value:.5e}"
    return str(value)


def exchange(guarantee: Any, *, delta: float = 1e-6, alpha: ArrayLike = (2.0, 8.0, 32.0)) -> Table:
    """What one guarantee is worth in every other currency, how tight that is, and why some cells are empty.

    Parameters
    ----------
    guarantee : `PureDP`, `ApproxDP`, `RDP`, `ZCDP`, `GDP`, a mechanism, or a `PrivacyLoss`.
    delta : at which to state approximate DP, between 0 and 1. alpha : orders at which to state Rényi DP.

    Returns
    -------
    Table with columns currency, value (None where empty), kind ("exact", "tight", "upper bound", "estimate" or "none") and
    why, the conversion or the reason. Exact and tight: no smaller value holds for everything with this guarantee.

    >>> table = exchange(PureDP(1.0))
    >>> round(table["zCDP, rho", "value"], 6), round(table["Gaussian DP, mu", "value"], 6)
    (0.462117, 1.232035)
    """
    delta = scalar("delta", probability("delta", delta))
    orders = np.atleast_1d(at_least("alpha", alpha, 1.0))
    losses, no_loss = _losses(guarantee)
    curves, rows = curves_of(guarantee).values(), []

    def curve(alpha: ArrayLike) -> Any:
        return np.max([np.asarray(one(alpha)) for one in curves], axis=0)

    def row(currency: str, value: float | None, kind: str, why: str) -> None:
        none = value is None or np.isinf(value)
        rows.append((currency, None if none else float(value), "none" if none else kind, why))

    exact = losses and getattr(guarantee, "kinds", {}).get("loss", "exact") == "exact"
    known = "exact" if exact else "upper bound"
    largest = float(curve(np.inf))
    row("pure DP, epsilon", largest, known,
        "the largest privacy loss" if np.isfinite(largest) else _NO_PURE[_kind(guarantee)])
    name = f"approximate DP, epsilon at {delta:g}"
    if losses:
        epsilon = max(float(loss.epsilon(delta)) for loss in losses)
        leak = max(loss.infinity_mass for loss in losses)
        row(name, epsilon, known, "the hockey stick of the worst pair" if np.isfinite(epsilon) else
            "delta is below the probability of a leak" if leak > delta else "the loss is unbounded, and delta is 0")
    else:
        order, epsilon = search_epsilon([curve], delta, "optimal", getattr(guarantee, "orders", ()))
        row(name, epsilon, "upper bound", f"best order {order:.4g}, optimal conversion"
            if np.isfinite(epsilon) else "no order gives one")
    for order in orders:
        value = float(curve(order))
        kind = "tight" if isinstance(guarantee, ZCDP) else known
        known_as = "the moment of the worst pair" if losses else "Gaussian noise has it" if kind == "tight" else "as given"
        row(f"Rényi DP, order {order:g}", value, kind, known_as if np.isfinite(value) else _NO_RENYI[_kind(guarantee)])
    row("zCDP, rho", *_zcdp(guarantee, losses, known))
    row("Gaussian DP, mu", *_gdp(guarantee, losses, largest))
    advantage = max(loss.delta(0.0) for loss in losses) if losses else conversions.rdp_curve_to_delta(curve, 0.0)
    row("membership advantage", float(advantage), known, "delta at epsilon = 0")
    return Table(f"{guarantee!r} in every currency", ["currency", "value", "kind", "why"], rows, no_loss)


_LEAK = "a leak of probability delta makes every order above 1 infinite"
_NO_PURE = {"approx": "a leak of probability delta has infinite loss", "zcdp": "zCDP allows unbounded losses, as Gaussian ones",
            "rdp": "a Rényi bound at finite orders allows unbounded losses", "gdp": "Gaussian losses are unbounded",
            "other": "its loss is unbounded"}
_NO_RENYI = {"approx": _LEAK, "zcdp": "infinite", "rdp": "above the orders given", "gdp": "infinite",
             "other": "this moment is infinite"}


def _kind(guarantee: Any) -> str:
    for kind, name in ((ApproxDP, "approx"), (ZCDP, "zcdp"), (RDP, "rdp"), (GDP, "gdp")):
        if isinstance(guarantee, kind):
            return name
    return "other"


def _losses(guarantee: Any) -> tuple[list[PrivacyLoss], str]:
    if not isinstance(guarantee, PrivacyLoss) and not hasattr(guarantee, "privacy_losses"):
        raise fail("guarantee", guarantee, "a guarantee such as PureDP(1.0), a mechanism or a PrivacyLoss")
    try:
        return list(directed_losses(guarantee).values()), ""
    except ValueError as reason:
        return [], str(reason)


def _zcdp(guarantee: Any, losses: list[PrivacyLoss], known: str) -> tuple[float | None, str, str]:
    if isinstance(guarantee, PureDP):
        return float(conversions.pure_to_zcdp(guarantee.epsilon)), "exact", "epsilon tanh(epsilon/2), randomized response"
    if isinstance(guarantee, ZCDP):
        return guarantee.rho, "exact", "as given"
    try:
        rho = ZCDPAccountant().add(guarantee).rho
    except ValueError:
        if isinstance(guarantee, RDP):
            return None, "none", "finitely many orders bound no line through all of them"
        leak = any(loss.infinity_mass for loss in losses)
        return None, "none", f"{_LEAK}; outside it rho = epsilon tanh(epsilon/2)" if leak else "no line above its curve is known"
    if losses and all(isinstance(loss, GaussianLoss) for loss in losses):
        return rho, "exact", "mu**2 / 2"
    return rho, known, "the supremum over orders of renyi(alpha) / alpha"


def _gdp(guarantee: Any, losses: list[PrivacyLoss], largest: float) -> tuple[float | None, str, str]:
    if losses and all(isinstance(loss, GaussianLoss) for loss in losses):
        return max(loss.mu for loss in losses), "exact", "Gaussian noise"
    if isinstance(guarantee, ZCDP):
        return conversions.zcdp_to_gdp(guarantee.rho), "estimate", "randomized response of that rho; checked, not proved"
    own, implied = own_number(guarantee, "mu"), float(conversions.pure_to_gdp(largest))
    if own < implied * (1 - 1e-12):
        exact = getattr(guarantee, "kinds", {}).get("mu") == "exact"
        return own, "exact" if exact else "upper bound", "what the mechanism says of itself"
    if np.isfinite(largest):
        exact = isinstance(guarantee, PureDP)
        return implied, "exact" if exact else "upper bound", (
            "randomized response touches this Gaussian" if exact else "by way of its pure epsilon")
    return None, "none", {"approx": "a leak outweighs every Gaussian: its trade-off curve starts at 1 - delta",
                          "rdp": "a bound at finitely many orders allows heavier tails than any Gaussian's"}.get(
                              _kind(guarantee), "no Gaussian is known to cover it")


def _short(reason: ValueError) -> str:
    """An accountant's refusal without the parts that the table says already."""
    _, _, allowed = str(reason).partition(" must be ")
    return f"takes only what is {allowed}" if allowed else str(reason)


# The accountants of `compare`, from the oldest to the sharpest.
ROUTES: list[tuple[str, Callable[[], Accountant]]] = [
    ("pure, plain sum", PureAccountant),
    ("(epsilon, delta), plain sum", lambda: AdvancedAccountant("basic")),
    ("advanced, Dwork-Rothblum-Vadhan", lambda: AdvancedAccountant("drv")),
    ("advanced, Kairouz-Oh-Viswanath", lambda: AdvancedAccountant("kov")),
    ("advanced, optimal", lambda: AdvancedAccountant("optimal")),
    ("Rényi, Mironov", lambda: RenyiAccountant("mironov")),
    ("Rényi, Canonne-Kamath-Steinke", lambda: RenyiAccountant("cks")),
    ("Rényi, optimal", lambda: RenyiAccountant("optimal")),
    ("zCDP, Bun-Steinke", lambda: ZCDPAccountant("bun-steinke")),
    ("zCDP, Canonne-Kamath-Steinke", lambda: ZCDPAccountant("cks")),
    ("Gaussian DP", GDPAccountant),
    ("numerical", NumericalAccountant),
]


def compare(history: Iterable[tuple[Any, int]] | Accountant, delta: float, *, repeats: Sequence[int] = (1,)) -> Table:
    """One history read by every accountant: the epsilon of each at `delta`, from the oldest route to the sharpest.

    Parameters
    ----------
    history : pairs (mechanism, times), or an accountant, whose history is read.
    delta : total failure probability, between 0 and 1, the same for every route.
    repeats : each column reads the whole history run that many times.

    Returns
    -------
    Table with a column "epsilon" (one repeat) or "x1", "x5", ... and the columns kind and why; None and the reason where a
    route cannot read the history. Every number but an "estimate" is an upper bound on the true epsilon.

    >>> table = compare([(GaussianLoss(0.5), 1)], 1e-6, repeats=(1, 5, 10, 20))
    >>> [round(table["Gaussian DP", column], 6) for column in ("x1", "x5", "x10", "x20")]
    [2.254085, 5.55086, 8.306225, 12.595247]
    """
    delta = scalar("delta", probability("delta", delta))
    try:
        entries = [(mechanism, count("times", times)) for mechanism, times in
                   (history.history if isinstance(history, Accountant) else history)]
    except TypeError:
        raise fail("history", history, "a list of (mechanism, times) pairs, or an accountant") from None
    repeats = [count("repeats", k) for k in repeats]
    rows = []
    for name, make in ROUTES:
        values, kind, why = [], "none", ""
        for k in repeats:
            try:
                ledger = make()
                for mechanism, times in entries:
                    ledger.add(mechanism, k * times)
                values.append(float(ledger.epsilon(delta)))
                kind = ledger.kind
            except ValueError as reason:
                values.append(None)
                why = _short(reason)
        rows.append((name, *values, kind, why))
    try:
        estimates = [float(GDPAccountant.estimate([(m, k * times) for m, times in entries], delta)) for k in repeats]
        rows.append(("central limit theorem", *estimates, "estimate", "may lie below the true epsilon"))
    except ValueError as reason:
        rows.append(("central limit theorem", *[None] * len(repeats), "none", _short(reason)))
    columns = ["epsilon"] if len(repeats) == 1 else [f"x{k}" for k in repeats]
    return Table(f"epsilon at delta = {delta:g}", ["accountant", *columns, "kind", "why"], rows)
