"""Draws a second of whole-number noise: dpnotes beside two public samplers, in one run.

    python benchmarks/samplers.py          # into benchmarks/measured.json; `make bench` brings the peers

Single-threaded; every number is the best of three. What differs besides speed:

* dpnotes draws from NumPy's PCG64 (its default, repeatable) or from the operating system (`system_rng`); exact laws;
* OpenDP draws from the operating system; exact laws; one call makes a vector of 10,000;
* diffprivlib calls once a number; its discrete Gaussian's time grows with sigma (1e9 is left out: it would not end), and its
  geometric noise is a rounded logarithm in floating point, not an exact law.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from accountants import save

from dpnotes import noise

SCALES = (1.0, 1e3, 1e9)
LAWS = ("discrete Gaussian", "discrete Laplace")


def ours(law: str, scale: float, rng: np.random.Generator) -> Callable[[int], object]:
    sample = noise.discrete_gaussian if law == LAWS[0] else noise.discrete_laplace
    return lambda n: sample(scale, n, rng=rng)


def opendp(law: str, scale: float) -> Callable[[int], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if law == LAWS[0]:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    else:
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    return lambda n: mechanism([0] * n)


def diffprivlib(law: str, scale: float) -> Callable[[int], object] | None:
    from diffprivlib.mechanisms import GaussianDiscrete, Geometric

    if law == LAWS[0] and scale > 1e4:
        return None
    mechanism = Geometric(epsilon=1 / scale, sensitivity=1)
    if law == LAWS[0]:
        mechanism = GaussianDiscrete(epsilon=0.5, delta=1e-5, sensitivity=1)
        mechanism._scale = scale
    return lambda n: [mechanism.randomise(0) for _ in range(n)]


def speed(draw: Callable[[int], object], largest: int) -> float:
    """Draws a second, in batches that last a quarter of a second or hold `largest` draws."""
    n, best = 10, 0.0
    draw(n)
    while True:
        start = time.process_time()
        draw(n)
        spent = time.process_time() - start
        if spent > 0.25 or n >= largest:
            break
        n = min(largest, max(2 * n, int(n * 0.3 / max(spent, 1e-6))))
    for _ in range(3):
        start = time.process_time()
        draw(n)
        best = max(best, n / (time.process_time() - start))
    return best


def rows() -> Iterator[tuple[str, float, dict[str, float | None]]]:
    peers = {"opendp": opendp, "diffprivlib": diffprivlib}
    for name in list(peers):
        try:
            version(name)
        except PackageNotFoundError:
            print(f"{name} is not installed: left out")
            del peers[name]
    for law in LAWS:
        for scale in SCALES:
            results: dict[str, float | None] = {
                "dpnotes": speed(ours(law, scale, np.random.default_rng(1)), 300_000),
                "dpnotes, system bits": speed(ours(law, scale, noise.system_rng()), 30_000)}
            for name, make in peers.items():
                draw = make(law, scale)
                results[name] = speed(draw, 10_000) if draw else None
            yield law, scale, results


def main() -> None:
    measured = []
    for law, scale, results in rows():
        measured.append({"law": law, "scale": scale, "draws a second": results})
        print(measured[-1], flush=True)
    names = ("numpy", "opendp", "diffprivlib")
    save("samplers", {"versions": {name: version(name) for name in names if _installed(name)}, "rows": measured})


def _installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
