"""Statistical tests that several test files share.

Seeds are fixed, so that a pass is a pass forever. `P_LIMIT` is the false-alarm rate of one test at a fresh seed; the suite has
about a hundred of them, so that a change of seed raises a false alarm once in 10,000 times.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy import stats

P_LIMIT = 1e-6

DATA = Path(__file__).parent / "data"
CASES = {entry["id"]: entry for entry in json.loads((DATA / "cases.json").read_text(encoding="utf-8"))["cases"]}
ORACLES = {entry["id"]: float(entry["value"])
           for entry in json.loads((DATA / "oracles.json").read_text(encoding="utf-8"))["oracles"] if "value" in entry}


def case(name: str) -> list[float]:
    """The values of a case, in order."""
    return [value["value"] for value in CASES[name]["values"]]


def assert_frequencies(counts, probabilities) -> None:
    """Chi-square test of counts against probabilities; cells with an expected count below 10 are pooled."""
    counts, expected = np.asarray(counts, float), np.asarray(probabilities, float) * np.sum(counts)
    assert counts[expected == 0].sum() == 0
    small = expected < 10
    if small.any():
        counts = np.append(counts[~small], counts[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
        if expected[-1] < 1:
            assert counts[-1] < 12  # P[Poisson(1) >= 12] < 1e-9
            counts, expected = counts[:-1], expected[:-1]
    if len(counts) > 1:
        chi2 = np.sum((counts - expected) ** 2 / expected)
        assert stats.chi2.sf(chi2, len(counts) - 1) > P_LIMIT


def assert_law(draws, log_weights) -> None:
    """Chi-square test of whole-number draws against P(x) proportional to e**log_weights(x) on -4000 ... 4000."""
    x = np.arange(-4000, 4001)
    weights = np.exp(log_weights(x))
    draws = np.asarray(draws).astype(np.int64)
    assert np.abs(draws).max() <= 4000
    assert_frequencies(np.bincount(draws + 4000, minlength=x.size), weights / weights.sum())


def assert_cdf(draws, cdf, width: float = 0.0) -> None:
    """Kolmogorov-Smirnov test of draws from a law with this cdf, atoms allowed (then it is conservative).

    width : draws and atoms within it of each other count as equal.
    """
    draws = np.sort(np.asarray(draws, float))
    if width:
        draws = np.round(draws / width) * width
    values, last = np.unique(draws[::-1], return_index=True)
    reached = (draws.size - last) / draws.size
    # Massart's constant in the inequality of Dvoretzky, Kiefer and Wolfowitz
    assert np.max(np.abs(reached - cdf(values + width))) < np.sqrt(np.log(2 / P_LIMIT) / (2 * draws.size))
