"""Write book/mechanisms.md: the mechanisms side by side, every number computed by the package.

`python tools/mechanism_table.py` writes the page; with `--check` it only says whether the stored page is current.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dpnotes.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    GridLaplace,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    ShuffledRandomizedResponse,
    SparseVector,
    ThresholdedCount,
    UnaryEncoding,
)

PAGE = Path(__file__).resolve().parents[1] / "book" / "mechanisms.md"
UTILITIES = np.array([0.0, -5.0, -5.0, -10.0, -10.0, -10.0, -20.0, -20.0, -20.0, -20.0])
CONFIDENCE = 0.95

Row = tuple[str, Mechanism, str, float | int | str, str]


def additive(mechanism: Mechanism) -> float | int:
    return mechanism.error(CONFIDENCE)


def rows() -> list[Row]:
    gaussian, discrete = Gaussian.for_epsilon_delta(1, 1e-5), DiscreteGaussian.for_epsilon_delta(1, 1e-5)
    local, many, unary = RandomizedResponse(1.0), RandomizedResponse(1.0, 100), UnaryEncoding(1.0, 100)
    picks = [ExponentialMechanism(1.0), PermuteAndFlip(1.0), ReportNoisyMax(1.0)]
    above, three, shuffled = AboveThreshold(1.0), SparseVector(1.0, cutoff=3), ShuffledRandomizedResponse(1.0, 100)
    n = 10_000
    return [
        ("`Laplace`", Laplace(1.0), "atoms at $\\pm 1$, a density between", additive(Laplace(1.0)),
         "Dwork, McSherry, Nissim and Smith (2006)"),
        ("`DiscreteLaplace`", DiscreteLaplace(1.0), "$\\pm 1$", additive(DiscreteLaplace(1.0)),
         "Ghosh, Roughgarden and Sundararajan (2009)"),
        ("`GridLaplace`, grid $2^{-10}$", GridLaplace(1.0), "1025 values from $-1$ to 1", additive(GridLaplace(1.0)),
         "the discrete Laplace, scaled"),
        (f"`Gaussian`, $\\sigma$ = {gaussian.sigma:.4f}", gaussian, "normal, mean $\\mu^2/2$, variance $\\mu^2$",
         additive(gaussian), "Balle and Wang (2018)"),
        (f"`DiscreteGaussian`, $\\sigma$ = {discrete.sigma:.4f}", discrete, "a lattice of step $1/\\sigma^2$",
         additive(discrete), "Canonne, Kamath and Steinke (2020)"),
        ("`RandomizedResponse`, 2 answers", local, "$\\pm 1$", local.error(n), "Warner (1965)"),
        ("`RandomizedResponse`, 100 answers", many, "$\\pm 1$, 0", many.error(n), "Kairouz, Oh and Viswanath (2014)"),
        ("`UnaryEncoding`, 100 answers", unary, "$\\pm 1$, 0 half of the time", unary.error(n),
         "Wang, Blocki, Li and Jha (2017)"),
        ("`ShuffledRandomizedResponse`, 100 people", shuffled, "the largest over the others' numbers of ones",
         shuffled.error(CONFIDENCE), "Cheu et al. (2019)"),
        *((f"`{type(pick).__name__}`", pick, "that of `RandomizedResponse`", pick.error(UTILITIES, CONFIDENCE), source)
          for pick, source in zip(picks, ("McSherry and Talwar (2007)", "McKenna and Sheldon (2020)", "Dwork and Roth (2014)"),
                                  strict=True)),
        ("`AboveThreshold`, 100 queries", above, "that of `RandomizedResponse`", above.error(100, CONFIDENCE),
         "Dwork et al. (2009)"),
        ("`SparseVector`, 3 yeses of 100 queries", three, "that of `RandomizedResponse`", three.error(100, CONFIDENCE),
         "Lyu, Su and Li (2017)"),
        ("`ThresholdedCount`, threshold 10", ThresholdedCount(1.0, 10.0), "infinite with probability $e^{-9}/2$", "-",
         "an example of distinguishing events"),
    ]


def cell(value: float, kind: str) -> str:
    return "none" if np.isinf(value) else f"{'' if kind == 'exact' else '≤ '}{value:.4f}"


def page() -> str:
    head = ["mechanism", "privacy loss", "pure $\\varepsilon$", "zCDP $\\rho$", "RDP at $\\alpha = 2$", "GDP $\\mu$",
            "error, 95 %", "source"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for name, mechanism, loss, error, source in rows():
        costs = mechanism.guarantees()
        shown = [cell(*costs["pure_epsilon"]), cell(*costs["rho"]), cell(mechanism.renyi(2.0), mechanism.kinds["renyi"]),
                 cell(*costs["mu"])]
        bound = "" if mechanism.kinds["loss"] == "exact" else "at most "
        off = error if isinstance(error, str) else f"{error:d}" if isinstance(error, int) else f"{error:.4g}"
        lines.append("| " + " | ".join([name, bound + loss, *shown, off, source]) + " |")
    return TEXT.replace("@TABLE@", "\n".join(lines))


TEXT = """(mechanisms)=
# Mechanisms side by side

<!-- Written by tools/mechanism_table.py: change it there. -->

Every mechanism of the package, made as accurate as $\\varepsilon = 1$ allows at sensitivity 1, and what it costs in each \
currency.
Gaussian noise has no pure $\\varepsilon$; it is calibrated to $\\varepsilon = 1$ and $\\delta = 10^{-5}$.
A number without a sign is the best possible constant, rounded.
"≤" marks an upper bound, and "none" means that there is no finite number, or none that is known.

@TABLE@

## What these numbers mean

The neighbors add or remove one record; for randomized response, unary encoding and shuffling they replace one person's answer.
The error answers the question how far off the answer will be.

- For noise on a number it is the half-width $w$ such that the noise stays within $\\pm w$ with probability at least 0.95.
- For answers that each person randomizes it is a half-width for the estimated share of one answer among 10,000 people, and \
for the shuffled count a half-width for the estimated number of people among 100.
  Both are upper bounds, by Hoeffding's inequality or Bernstein's.
- For a choice it is the gap to the best candidate that is not exceeded with probability 0.95, for ten candidates whose \
utilities lie 0, 5, 5, 10, 10, 10, 20, 20, 20 and 20 below the best.
- For a sparse vector it is the distance from the threshold beyond which all 100 answers are right with probability at least \
0.95.

The exponential mechanism's $\\rho$ is at most $\\varepsilon^2/8$, because its losses lie in a window of length $\\varepsilon$.
Permute-and-flip and the noisy maximum with Laplace noise have no such window.
They pay $\\varepsilon \\tanh(\\varepsilon/2)$, nearly four times as much.
"""


def main() -> int:
    if "--check" in sys.argv[1:]:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        print(f"{PAGE.name} is {'current' if current else 'out of date: run tools/mechanism_table.py'}")
        return 0 if current else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
