"""Truths behind the wall of rare large losses: two steps of a sampled Gaussian, by quadrature in mpmath.

delta of two steps is E_P[delta_1(epsilon - L)], with the closed form of `slow_reference.sampled` for the other step. Run as
``python tests/slow_reference_rare.py`` to write tests/data/rare_truths.json anew (some minutes). Sampling rates from 1e-8 to
1e-2, sigma from 0.2 to 4, epsilon from the size of q up to 20; nothing is asked of the package.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mpmath import mp, mpf
from slow_reference import log_h, loguniform, round3, sampled

OUT = Path(__file__).parent / "data" / "rare_truths.json"


def two_steps(q, mu, e):
    """By pieces of one unit from -20 to 20 beyond the output whose loss is epsilon, and at the edge of the other step."""
    def place(loss):
        return mp.log((mp.exp(loss) - 1 + q) / q) / mu + mu / 2

    def density(x):
        return ((1 - q) * mp.npdf(x) + q * mp.npdf(x - mu)) * sampled(q, mu, "remove", e - log_h(q, mu, x))

    values = []
    for n in (1, 2):  # pieces of a unit, then of half a unit
        edge = place(e - mp.log(1 - q))  # infinitely flat from the left
        near = {edge - mpf(2) ** -k / n for k in range(1, 16)} | {edge + mpf(2) ** -k / n for k in range(1, 8)}
        pieces = sorted({mpf(i) / n for i in range(-20 * n, n * (int(place(e)) + 21))} | {place(e), edge} | near)
        values.append(sum(mp.quad(density, [a, b], method="gauss-legendre", maxdegree=5) for a, b in itertools.pairwise(pieces)))
    if abs(values[0] - values[1]) > mpf(10) ** -13 * values[1]:
        raise ValueError("quadrature does not settle")
    return values[1]


def main(count: int = 50, seed: int = 20261130) -> None:
    mp.dps = 34
    rng, rows = random.Random(seed), []
    while len(rows) < count:
        q, sigma = round3(loguniform(rng, 1e-8, 1e-2)), round3(loguniform(rng, 0.2, 4))
        epsilon = round3(loguniform(rng, max(q, 1e-6), 20))
        try:
            value = two_steps(mpf(q), 1 / mpf(sigma), mpf(epsilon))
        except ValueError:
            continue
        if not value > mpf(10) ** -100:
            continue
        rows.append({"q": q, "sigma": sigma, "epsilon": epsilon, "log_delta": mp.nstr(mp.log(value), 18)})
        print(len(rows), rows[-1], flush=True)
        OUT.write_text(json.dumps({"source": "tests/slow_reference_rare.py (mpmath): two steps, removal; log_delta is right to 1e-11",
                                   "truths": rows}, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
