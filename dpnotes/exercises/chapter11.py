"""Exercises of chapter 11: bounds as outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpnotes.exercises._exercise import Exercise

LN3 = float(np.log(3))

EXERCISES: dict[str, Exercise] = {
    "bound-after-merging": Exercise(
        11, lambda: float(_ex_post().FinitePair([0.5, 0.5], [0.3, 0.7], [0.5, 2.0]).averaged_bound([[1.0], [1.0]])[0]),
        "Average exp(E) over the two outputs with Q's probabilities, then take the logarithm.",
        {"That is the mean of the bounds. Average exp(E), then take the logarithm.": lambda: 0.3 * 0.5 + 0.7 * 2,
         "That bound needs no data, but with Q known a smaller one follows.": lambda: 2.0,
         "The probabilities are exchanged.": lambda: np.log(0.7 * np.exp(0.5) + 0.3 * np.exp(2))}),
    "width-after-merging": Exercise(
        11, lambda: _drop().merge([0, 0, 1]).mean(_ex_post().ProbabilisticExPost(0.01)),
        "Merge first. Then see on which side of the bound the loss of the new output lies.",
        {"That was the probability before the merge, and it is the area, before and after.": lambda: 0.01,
         "Output a is merged with b and goes over the edge with it.": lambda: 0.30}),
    "smallest-fair-claim": Exercise(
        11, lambda: np.log(2.25) - np.log(11 / 12),
        "Write E_Q[W] as a sum over the two outputs, with the bound of the first as the unknown, and set it to 1.",
        {"That is the constant bound for both outputs. The second returns 0.": lambda: np.log(2.25 + 1 / 12),
         "That makes the first term alone equal to 1; the second pays something, too.": lambda: np.log(2.25),
         "That is the loss of the first output. The bet also pays on the second.": lambda: LN3}),
    "quote-with-delta": Exercise(
        11, lambda: _ex_post().renyi_to_approximate(1.2, 10, 1e-6),
        "Add (ln(1/δ) − ln α)/(α − 1) + ln(1 − 1/α) to the bound.",
        {"That is the probabilistic bound, which does not survive post-processing.":
             lambda: _ex_post().renyi_to_probabilistic(1.2, 10, 1e-6),
         "The last term, ln(1 − 1/α), is missing.": lambda: 1.2 + (np.log(1e6) - np.log(10)) / 9,
         "Divide by α − 1, not by α.": lambda: 1.2 + (np.log(1e6) - np.log(10)) / 10 + np.log(0.9)}),
}


def _ex_post() -> Any:
    from dpnotes import ex_post  # on first use: `check` stays light for the chapters before

    return ex_post


def _drop() -> Any:
    """Three outputs with the bound ln 3: a drop beyond it, one exactly at it, the rest."""
    return _ex_post().FinitePair([0.01, 0.30, 0.69], [0.0, 0.10, 0.90], LN3)
