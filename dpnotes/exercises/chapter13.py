"""Exercises of chapter 13: when to stop."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpnotes.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "both-sides": Exercise(
        13, lambda: max(4 / (2 * 2.0**2), 8 * 4 * (1 / 500) ** 2 / (2 * 0.01**2)),
        "Compute the bound of the release and the bound of all checks, each αρ. The rows are disjoint.",
        {"On disjoint rows the larger of the two counts, not the sum.":
             lambda: 4 / (2 * 2.0**2) + 8 * 4 * (1 / 500) ** 2 / (2 * 0.01**2),
         "That is the release alone. The checks cost more here.": lambda: 4 / (2 * 2.0**2),
         "That is one check. There were eight, and each answer costs.": lambda: 4 * (1 / 500) ** 2 / (2 * 0.01**2)}),
    "margin-of-checks": Exercise(
        13, lambda: _ex_post().check_margin(0.01, 30, 0.05),
        "σ √(2 ln(K/β)), with K the number of checks.",
        {"That is the margin for a single check. Among several, the luckiest passes.":
             lambda: _ex_post().check_margin(0.01, 1, 0.05),
         "The 2 under the root is missing.": lambda: _ex_post().check_margin(0.01, 30, 0.05) / np.sqrt(2)}),
    "questions-and-release": Exercise(
        13, lambda: 0.4 + 0.3,
        "Three questions were asked, and only the last one's level counts; then ask whether the rows are shared.",
        {"The larger one counts on disjoint rows. Here both look at the same rows.": lambda: 0.4,
         "The levels of the questions do not add up: the noise on the threshold is reduced.": lambda: 0.1 + 0.2 + 0.4 + 0.3,
         "The level of the fourth question was not used.": lambda: 0.8 + 0.3}),
    "doubled-until-good": Exercise(
        13, lambda: (0.05 * 2**5, sum(_ex_post().doubling(0.05, 6))),
        "The sixth level is the first one doubled five times; independent noise pays for all six.",
        {"The first level is level 1, so it was doubled one time less.": lambda: (0.05 * 2**6, sum(_ex_post().doubling(0.05, 7))),
         "In that order they are exchanged.": lambda: (sum(_ex_post().doubling(0.05, 6)), 0.05 * 2**5)}),
}


def _ex_post() -> Any:
    from dpnotes import ex_post  # on first use: `check` stays light for the chapters before

    return ex_post
