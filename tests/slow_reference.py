"""Truths for sums of losses, by routes that share no code and, but for one, no formula with the package. Slow: mpmath.

Run as ``python tests/slow_reference.py`` to write tests/data/sum_truths.json anew (half an hour or more). Each task has a
list of parts, an epsilon, and log delta at that epsilon with the route that gave it:

* one sampled Gaussian: the closed form; two or one plus another law: quadrature of the closed form over the other's loss;
* Laplace copies: the piecewise exponential polynomial of the sum, by inclusion and exclusion, at 400 digits;
* randomized response, alone or with one continuous part: the binomial sum of the rest's delta;
* many sampled Gaussians: the contour integral with an mpmath quadrature inside, at 34 digits, all steps halved until two
  results agree to 1e-12. The formula is the package's, the line, steps, stopping rules and arithmetic are not.
"""

# ruff: noqa: B023, E731
from __future__ import annotations

import itertools
import json
import random
import sys
import time
from pathlib import Path

from mpmath import mp, mpc, mpf

OUT = Path(__file__).parent / "data" / "sum_truths.json"


def phi_c(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def gaussian(mu, e):
    """Hockey stick of N(mu, 1) against N(0, 1) at any real e."""
    return phi_c(e / mu - mu / 2) - mp.exp(e) * phi_c(e / mu + mu / 2)


def sampled(q, mu, direction, e):
    if direction == "add":  # swap: delta'(e) = 1 - exp(e) + exp(e) delta(-e); digits are cheap here
        with mp.workdps(mp.dps + 60):
            return 1 - mp.exp(e) + mp.exp(e) * sampled(q, mu, "remove", -e)
    inner = 1 + (mp.exp(e) - 1) / q
    return 1 - mp.exp(e) if inner <= 0 else q * gaussian(mu, mp.log(inner))


def log_h(q, mu, x):
    return mp.log(1 - q + q * mp.exp(mu * x - mu * mu / 2))


def checked(f, points):
    """mp.quad over the pieces, halved until two results agree to 1e-14; ValueError where they never do."""
    points = sorted(set(points))
    last = None
    size = max(abs(f((a + b) / 2)) for a, b in itertools.pairwise(points)) or mpf(1)  # mp.quad is content with absolute digits
    for _ in range(6):
        value = size * mp.quad(lambda x: f(x) / size, points)
        if last is not None and abs(value - last) <= mpf(10) ** -14 * abs(value):
            return value
        last, points = value, sorted([*points, *((a + b) / 2 for a, b in itertools.pairwise(points))])
    raise ValueError("quadrature does not settle")


def edges(losses, e):
    """Where a sampled Gaussian's delta, read at e - l, has its infinitely flat edge: the values of l."""
    found = []
    for kind, arguments, _ in losses:
        if kind == "sampled":
            q, _, direction = arguments
            found.append(e - mp.log(1 - q) * (1 if direction == "remove" else -1))
    return found


def over_sampled(q, mu, direction, inner, e, flat=()):
    """E[inner(e - L)] for the loss L of a sampled Gaussian, by quadrature over the output."""
    density = mp.npdf
    insides = [(mp.exp(l if direction == "remove" else -l) - 1 + q) / q for l in flat]
    places = [mp.log(inside) / mu + mu / 2 for inside in insides if inside > 0]
    low, high = mpf(-14), max([mpf(14), mu + 14] + [x + 10 for x in places])  # one large loss makes up for all of e
    pieces = {mpf(low + 2 * i) for i in range(int((high - low) / 2) + 1)} | {high} | {x for x in places if x > low}
    pieces |= {x + sign * mpf(2) ** -k for x in places if x > low + 2 for k in range(20) for sign in (-1, 1)}
    if direction == "remove":
        f = lambda x: ((1 - q) * density(x) + q * density(x - mu)) * inner(e - log_h(q, mu, x))
    else:
        f = lambda x: density(x) * inner(e + log_h(q, mu, x))
    return checked(f, pieces)


def laplace_terms(b, k):
    """The law of the sum of k Laplace losses: {(shift): polynomial} pieces are left implicit, as powers of the transform.

    M(z) = (e^{zb} (1 + 1/(2z+1)) + e^{-(z+1)b} (1 - 1/(2z+1))) / 2, expanded: sum of coefficient * e^{z a} / (2z+1)^n.
    """
    terms = {}
    for i in range(k + 1):
        # i factors take the second part
        for n1 in range(k - i + 1):
            for n2 in range(i + 1):
                c = mp.binomial(k, i) * mp.binomial(k - i, n1) * mp.binomial(i, n2) * (-1) ** n2 / mpf(2) ** k * mp.exp(-b * i)
                key = (k - 2 * i, n1 + n2)
                terms[key] = terms.get(key, 0) + c
    return terms


def laplace(b, k, e):
    """delta of k Laplace copies at e, by residues: for a > e each term e^{z(a-e)}/((2z+1)^n z(z+1)) closes to the left."""
    with mp.workdps(400):
        total = mpf(0)
        for (shift, n), c in laplace_terms(b, k).items():
            w = shift * b - e
            if w <= 0:
                continue
            # residues at 0, -1 and -1/2
            value = mpf(1) - mp.exp(-w) * (mpf(-1)) ** n
            if n:
                # at z = -1/2 + u: 1/(2u)^n e^{-w/2} e^{wu} / (u^2 - 1/4): coefficient of u^{n-1}
                coefficient = sum(w**m / mp.factorial(m) * -mpf(4) ** ((n - 1 - m) // 2 + 1) for m in range(n) if (n - 1 - m) % 2 == 0)
                value += mp.exp(-w / 2) * coefficient / mpf(2) ** n
            total += c * value
        return +total


def over_laplace(b, inner, e, flat=()):
    """E[inner(e - L)] for one Laplace loss: two atoms and a density."""
    density = lambda l: mp.exp((l - b) / 2) / 4 * inner(e - l)
    pieces = [*mp.linspace(-b, b, 5), *(l for l in flat if -b < l < b)]
    return inner(e - b) / 2 + mp.exp(-b) / 2 * inner(e + b) + checked(density, pieces)


def response(eps, k, inner, e):
    """E[inner(e - L)] for k randomized responses."""
    p = 1 / (1 + mp.exp(-eps))
    return sum(mp.binomial(k, i) * p**i * (1 - p) ** (k - i) * inner(e - (2 * i - k) * eps) for i in range(k + 1))


def step(e):
    return max(mpf(0), 1 - mp.exp(e))


def moments(q, mu, direction, zs, s):
    """M at all zs (one real part) by the trapezoid rule in x with step s, minus 1 computed without cancellation."""
    c = zs[0].real
    power = c + 1 if direction == "remove" else -c
    right = max(power * mu, mu, 0) + mp.sqrt(2 * (90 + abs(c) * mp.log(1 / q) + 20))
    left = mp.sqrt(2 * 100)
    if direction == "add":
        left = right = mp.sqrt(2 * (100 - c * mp.log(1 - q)))
    n = int((left + right) / s) + 1
    totals = [mpc(0)] * len(zs)
    h_step = (zs[1] - zs[0]) if len(zs) > 1 else mpc(0)
    for i in range(n + 1):
        x = -left + i * s
        l = log_h(q, mu, x)
        weight = mp.exp(-x * x / 2)
        sign = 1
        if direction == "remove":
            weight *= mp.exp(l)
        else:
            sign = -1
        value, turn = weight * mp.exp(sign * zs[0] * l), mp.exp(sign * h_step * l)
        for j in range(len(zs)):
            totals[j] += value
            value *= turn
    factor = s / mp.sqrt(2 * mp.pi)
    return [t * factor for t in totals]


def contour(parts, e, c, digits=12):
    """delta by the line integral, steps halved until two results agree."""
    last = None
    s = min(mpf(1) / 5, min(1 / (5 * mu) for _, mu, _, _ in parts)) if parts else mpf(1)
    for attempt in range(6):
        # period of the line: start from the size needed for e^{-c P} and double
        period = (mp.log(10) * (digits + 4) + 30) / c * (1.5 ** attempt)
        step_y = 2 * mp.pi / period
        n, total, block = 0, mpf(0), 24
        quiet = 0
        while True:
            zs = [mpc(c, (n + j) * step_y) for j in range(block)]
            logs = [mpc(0)] * block
            for q, mu, direction, k in parts:
                values = moments(q, mu, direction, zs, s / (1.6 ** attempt))
                logs = [a + k * mp.log(v) for a, v in zip(logs, values, strict=True)]
            largest = mpf(0)
            for j, z in enumerate(zs):
                term = mp.exp(logs[j] - z * e) / (z * (z + 1))
                total += term.real * (mpf(1) / 2 if n + j == 0 else 1)
                largest = max(largest, abs(term))
            n += block
            if largest < abs(total) * mpf(10) ** (-digits - 3) or n > 1500:
                quiet += 1
                if quiet == 2 or n > 1500:
                    break
        if n > 1500:
            return None  # too slow a route for this one
        value = total * step_y / mp.pi
        if last is not None and abs(value / last - 1) < mpf(10) ** -digits:
            return value
        last = value
    return None


def truth(task):
    """log delta for a task, or None where no route applies or none converged."""
    e = mpf(task["epsilon"])
    parts = [(kind, [mpf(a) if not isinstance(a, str) else a for a in arguments], k) for kind, arguments, k in task["parts"]]
    inner = step
    lone = {kind: (arguments, k) for kind, arguments, k in parts}
    route = task["route"]
    if route == "closed":
        (q, mu, direction), _ = lone["sampled"]
        value = sampled(q, mu, direction, e)
    elif route == "two":
        (q, mu, direction), _ = lone["sampled"]
        value = over_sampled(q, mu, direction, lambda x: sampled(q, mu, direction, x), e, edges(parts, e))
    elif route == "laplace":
        (b,), k = lone["laplace"]
        value = laplace(b, k, e)
    elif route == "response":
        (eps,), k = lone["response"]
        value = response(eps, k, step, e)
    elif route == "mixed":
        inner = step
        if "gaussian" in lone:
            (mu,), k = lone["gaussian"]
            total = mu * mp.sqrt(k)
            inner = lambda x: gaussian(total, x)
        if "sampled" in lone:
            (q, mu, direction), _ = lone["sampled"]
            if inner is step:
                inner = lambda x: sampled(q, mu, direction, x)
            else:
                smooth = inner
                inner = lambda x: over_sampled(q, mu, direction, smooth, x)
        if "laplace" in lone:
            (b,), _ = lone["laplace"]
            before = inner
            inner = lambda x: over_laplace(b, before, x, edges(parts, x))
        if "response" in lone:
            (eps,), k = lone["response"]
            value = response(eps, k, inner, e)
        else:
            value = inner(e)
    elif route == "contour":
        value = contour([(*arguments, k) for kind, arguments, k in parts], e, mpf(task["c"]))
    return None if value is None or value <= 0 else mp.log(value)


def loguniform(rng, low, high):
    import math

    return math.exp(rng.uniform(math.log(low), math.log(high)))


def round3(x):
    return float(f"{x:.3g}")


def draw(seed=20240607):
    """About 260 tasks; the package is asked only where to look (epsilon, c), never for the answer."""
    from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss, PoissonGaussianLoss, independent_sum

    rng = random.Random(seed)
    tasks = []

    def build(parts):
        import numpy as np

        made = []
        for kind, a, k in parts:
            loss = {"sampled": lambda: PoissonGaussianLoss(*a), "gaussian": lambda: GaussianLoss(*a), "laplace": lambda: LaplaceLoss(*a),
                    "response": lambda: DiscreteLoss.from_log_masses([a[0], -a[0]], [-np.logaddexp(0, -a[0]), -np.logaddexp(0, a[0])])}[kind]()
            made.append((loss, k))
        return independent_sum(made)

    def put(route, parts, deltas):
        loss = build(parts)
        delta = loguniform(rng, *deltas)
        try:
            epsilon = loss.epsilon(delta)
        except Exception as error:  # the place is only a suggestion
            print("no place for", parts, error)
            return
        epsilon = round3(epsilon * rng.uniform(0.8, 1.0))
        if not 0 <= epsilon < 1e6:
            return
        task = {"route": route, "parts": parts, "epsilon": epsilon}
        if route == "contour":
            line = loss._solver.line if hasattr(loss, "_solver") else None
            if line is None:
                return
            task["c"] = float(f"{line.c * 0.8:.3g}")
        tasks.append(task)

    def q_any():
        return round3(loguniform(rng, 1e-6, 1)) if rng.random() < 0.7 else 1 - round3(loguniform(rng, 1e-6, 0.3))

    for _ in range(70):
        mu = 1 / round3(loguniform(rng, 0.02, 1e4))
        put("closed", [["sampled", [q_any(), mu, rng.choice(["remove", "add"])], 1]], (1e-12, 0.1))
    for _ in range(40):
        mu = 1 / round3(loguniform(rng, 0.5, 30))
        put("two", [["sampled", [q_any(), mu, rng.choice(["remove", "remove", "add"])], 2]], (1e-10, 0.1))
    for _ in range(30):
        put("laplace", [["laplace", [round3(loguniform(rng, 0.01, 5))], rng.choice([2, 2, 3, 4, 6, 8, 12, 20, 30, 40])]], (1e-9, 0.3))
    for _ in range(30):
        put("response", [["response", [round3(loguniform(rng, 0.01, 4))], int(loguniform(rng, 2, 2000))]], (1e-12, 0.3))
    for _ in range(14):
        put("mixed", [["response", [round3(loguniform(rng, 0.05, 2))], rng.randint(1, 30)], ["gaussian", [round3(loguniform(rng, 0.05, 2))], rng.randint(1, 9)]], (1e-9, 0.2))
        put("mixed", [["laplace", [round3(loguniform(rng, 0.05, 2))], 1], ["gaussian", [round3(loguniform(rng, 0.05, 2))], rng.randint(1, 9)]], (1e-9, 0.2))
        put("mixed", [["response", [round3(loguniform(rng, 0.05, 2))], rng.randint(1, 9)],
                      ["sampled", [round3(loguniform(rng, 1e-3, 0.5)), 1 / round3(loguniform(rng, 0.6, 9)), rng.choice(["remove", "add"])], 1]], (1e-7, 0.1))
        put("mixed", [["laplace", [round3(loguniform(rng, 0.05, 2))], 1],
                      ["sampled", [round3(loguniform(rng, 1e-3, 0.5)), 1 / round3(loguniform(rng, 0.6, 9)), rng.choice(["remove", "add"])], 1]], (1e-7, 0.1))
        put("mixed", [["gaussian", [round3(loguniform(rng, 0.05, 1))], 1],
                      ["sampled", [q_any(), 1 / round3(loguniform(rng, 0.6, 9)), rng.choice(["remove", "add"])], 1]], (1e-7, 0.1))
    for _ in range(60):
        q = q_any()
        steps = int(loguniform(rng, 30, 1e7))
        spread = rng.uniform(0.3, 3)  # q sqrt(steps) stays where epsilon is interesting
        q = min(q, round3(spread / steps**0.5))
        put("contour", [["sampled", [q, 1 / round3(loguniform(rng, 0.7, 40)), rng.choice(["remove", "remove", "add"])], steps]], (1e-12, 1e-2))
    return tasks


def main():
    mp.dps = 34
    start, rows = time.time(), []
    tasks = draw()
    print(len(tasks), "tasks", time.time() - start, flush=True)
    for i, task in enumerate(tasks):
        began = time.time()
        try:
            value = truth(task)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            print("failed", task, error, flush=True)
            continue
        if value is None or value < -650:
            print("no truth", task, flush=True)
            continue
        rows.append({**task, "log_delta": mp.nstr(value, 18)})
        print(i, task["route"], f"{time.time() - began:.1f}s", flush=True)
        if i % 10 == 9 or i == len(tasks) - 1:
            OUT.write_text(json.dumps({"source": "tests/slow_reference.py (mpmath); log_delta is the natural logarithm of delta at epsilon, "
                                       "right to 1e-11 relative in delta or better", "truths": rows}, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    main()
