"""The numerical accountant beside its peers: the same tasks, one core, fresh processes, medians.

    make bench                                # both benchmarks in a Python of their own, and the page
    python benchmarks/accountants.py          # dpnotes and whatever peers are installed, into benchmarks/measured.json

Peers (extra "bench"): dp-accounting (PLD) and prv-accountant; opacus (prv) joins where it is installed, which needs torch.
A missing one is left out. Every (library, task) pair runs in its own process on one thread: one cold call, then warm calls
until 0.7 seconds are over, or nine of them and 0.1 seconds. Times are the processor's, so that other work counts little.
Every call builds its losses anew, so that no call reads what an earlier one has kept.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRUTHS = json.loads((ROOT / "tests" / "data" / "accounting_truths.json").read_text(encoding="utf-8"))
MEASURED = Path(__file__).with_name("measured.json")
LIMIT = 300  # seconds for one process

# name: (kind, parameters, delta, key of the truth)
TASKS = {
    "a1 one Gaussian, sigma 1": ("gaussian", (1.0, 1), 1e-5, "a1_gauss_s1"),
    "b 20 Gaussians, sigma 2": ("gaussian", (2.0, 20), 1e-5, "b_gauss20_s2"),
    "d DP-SGD q=256/60000, sigma 1.1, 14,062 steps": ("sampled", (256 / 60000, 1.1, 14062), 1e-5, "d_mnist"),
    "f DP-SGD q=1e-4, sigma 0.6, 100,000 steps": ("sampled", (1e-4, 0.6, 100_000), 1e-6, "f_tinyq"),
    "h1 10 Gaussians, sigma 100": ("gaussian", (100.0, 10), 1e-5, "h1_gauss_s100"),
    "i 1000 Laplace, scale 10": ("laplace", (10.0, 1000), 1e-6, "i_lap1000"),
    "l sigma for epsilon 2, q=0.01, 3000 steps": ("calibrate", (0.01, 3000), 1e-5, "l_calib"),
    "m curve, 100 numbers of steps to 10,000": ("curve", (0.01, 1.0), 1e-5, "m_curve"),
    "o1 DP-SGD q=0.01, sigma 1, 1000 steps": ("sampled", (0.01, 1.0, 1000), 1e-12, "o1_deep12"),
}
EXTRA = {  # no published truth: time and width of our own bracket
    "o2 the same at 1e-15": ("sampled", (0.01, 1.0, 1000), 1e-15, None),
    "the same at 1e-100": ("sampled", (0.01, 1.0, 1000), 1e-100, None),
    "few steps: q=0.01, sigma 1, 2 steps": ("sampled", (0.01, 1.0, 2), 1e-5, None),
    "few steps: q=0.01, sigma 0.5, 20 steps": ("sampled", (0.01, 0.5, 20), 1e-5, None),
    "few steps: q=0.01, sigma 1, 100 steps": ("sampled", (0.01, 1.0, 100), 1e-5, None),
    "few steps: q=0.01, sigma 0.5, 5 steps": ("sampled", (0.01, 0.5, 5), 1e-5, None),
    "rare losses: q=0.001, sigma 0.5, 20 steps": ("sampled", (1e-3, 0.5, 20), 1e-8, None),
    "rare losses: q=1e-7, sigma 1, 100,000 steps": ("sampled", (1e-7, 1.0, 100_000), 1e-9, None),
    "j 500 randomized responses, epsilon 0.1": ("response", (0.1, 500), 1e-5, None),
    "2 Laplace, scale 1": ("laplace", (1.0, 2), 1e-3, None),
    # orders alone, "cks" and the default conversion: an upper bound on the truth of d, b and i, which it does not reach
    "Rényi accountant alone: DP-SGD d, cks": ("rdp", ("sampled", (256 / 60000, 1.1, 14062), "cks"), 1e-5, None),
    "Rényi accountant alone: DP-SGD d, optimal": ("rdp", ("sampled", (256 / 60000, 1.1, 14062), "optimal"), 1e-5, None),
    "Rényi accountant alone: 20 Gaussians, sigma 2": ("rdp", ("gaussian", (2.0, 20), "optimal"), 1e-5, None),
    "Rényi accountant alone: 1000 Laplace, scale 10": ("rdp", ("laplace", (10.0, 1000), "optimal"), 1e-6, None),
}


def dpnotes_call(kind, p, delta):
    import numpy as np

    from dpnotes.accountants import NumericalAccountant, RenyiAccountant, sigma_for
    from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss, PoissonGaussianLoss

    def bounds(loss, k):
        return NumericalAccountant().add(loss, k).epsilon_bounds(delta)

    if kind == "rdp":  # one side only
        kind, p, conversion = p

        def bounds(loss, k):
            return None, RenyiAccountant(conversion).add(loss, k).epsilon(delta)

    if kind == "gaussian":
        return lambda: bounds(GaussianLoss(1 / p[0]), p[1])
    if kind == "laplace":
        return lambda: bounds(LaplaceLoss(1 / p[0]), p[1])
    if kind == "response":
        pair = DiscreteLoss.from_log_masses([p[0], -p[0]], [-np.logaddexp(0, -p[0]), -np.logaddexp(0, p[0])])
        return lambda: bounds(pair, p[1])
    if kind == "sampled":
        return lambda: bounds(PoissonGaussianLoss(p[0], 1 / p[1]), p[2])
    if kind == "calibrate":
        return lambda: (np.nan, sigma_for(2.0, delta, q=p[0], times=p[1]))
    return lambda: (
        NumericalAccountant().add(PoissonGaussianLoss(p[0], 1 / p[1])).epsilon_curve(range(100, 10001, 100), delta=delta)
    )


def dp_accounting_call(kind, p, delta):
    import dp_accounting as d
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    accountant = PLDAccountant
    if kind == "rdp":  # at its own list of orders, by its own conversion
        accountant, (kind, p, _) = RdpAccountant, p

    def epsilon(event, k=1):
        return accountant().compose(event, k).get_epsilon(delta)

    def step(q, sigma):
        return d.PoissonSampledDpEvent(q, d.GaussianDpEvent(sigma))

    if kind == "gaussian":
        return lambda: (None, epsilon(d.GaussianDpEvent(p[0]), p[1]))
    if kind == "laplace":
        return lambda: (None, epsilon(d.LaplaceDpEvent(p[0]), p[1]))
    if kind == "sampled":
        return lambda: (None, epsilon(step(p[0], p[1]), p[2]))
    if kind == "calibrate":
        return lambda: (
            None,
            d.calibrate_dp_mechanism(PLDAccountant, lambda s: d.SelfComposedDpEvent(step(p[0], s), p[1]), 2.0, delta, tol=1e-6),
        )
    if kind == "curve":
        return lambda: (None, [epsilon(step(p[0], p[1]), k) for k in range(100, 10001, 100)])
    return None


def prv_call(kind, p, delta):
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import GaussianMechanism, LaplaceMechanism, PoissonSubsampledGaussianMechanism

    def epsilon(prv, k):
        low, _, high = PRVAccountant(
            prvs=[prv], max_self_compositions=[k], eps_error=0.01, delta_error=delta / 1000
        ).compute_epsilon(delta, [k])
        return low, high

    if kind == "gaussian":
        return lambda: epsilon(GaussianMechanism(p[0]), p[1])
    if kind == "laplace":
        return lambda: epsilon(LaplaceMechanism(mu=1 / p[0]), p[1])
    if kind == "sampled":
        return lambda: epsilon(PoissonSubsampledGaussianMechanism(sampling_probability=p[0], noise_multiplier=p[1]), p[2])
    return None


def opacus_call(kind, p, delta):
    from opacus.accountants import PRVAccountant

    def epsilon(q, sigma, k):
        accountant = PRVAccountant()
        accountant.history = [(sigma, q, k)]
        return None, accountant.get_epsilon(delta=delta)

    if kind == "gaussian":
        return lambda: epsilon(1.0, *p)
    return (lambda: epsilon(*p)) if kind == "sampled" else None


CALLS = {
    "dpnotes": ("dpnotes", dpnotes_call),
    "dp-accounting": ("dp_accounting", dp_accounting_call),
    "prv-accountant": ("prv_accountant", prv_call),
    "opacus": ("opacus", opacus_call),
}


def worker(library, task):
    """One process: prints a JSON line with cold and warm times and the bounds."""
    kind, p, delta, _ = {**TASKS, **EXTRA}[task]
    call = CALLS[library][1](kind, p, delta)
    if call is None:
        print(json.dumps({"skipped": True}))
        return
    began = time.process_time()
    low, high = call()
    cold, warm = time.process_time() - began, []
    while (len(warm) < 9 or sum(warm) < 0.1) and sum(warm) + cold < 0.7:
        began = time.process_time()
        call()
        warm.append(time.process_time() - began)

    def plain(v):
        return None if v is None else [float(x) for x in v] if hasattr(v, "__len__") else float(v)

    print(json.dumps({"cold": cold, "warm": statistics.median(warm or [cold]), "lower": plain(low), "upper": plain(high)}))


def run(library, task):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, "--worker", library, task],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env=environment,
            cwd=ROOT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"over {LIMIT} s"}
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:80] if done.stderr.strip() else "failed"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def off(result, key):
    """Largest relative distance of the upper bound above the truth; negative means below: no bound."""
    if result.get("upper") == float("inf"):
        return result["upper"]
    if key is None or result.get("upper") is None:
        return None
    truth = TRUTHS[key].get("eps", TRUTHS[key].get("sigma"))
    upper = result["upper"]
    if isinstance(truth, list):
        return max((u / float(t) - 1 for u, t in zip(upper, truth, strict=True)), key=abs)
    return upper / float(truth) - 1


def width(result):
    low, high = result.get("lower"), result.get("upper")
    if low is None or high is None or low != low:
        return None
    if isinstance(high, list):
        return max((h - l) / h for l, h in zip(low, high, strict=True))
    return (high - low) / high if high else 0.0


def growth():
    """How our time grows: with the steps, with the number of distinct mechanisms, with 1/delta."""
    from dpnotes.accountants import NumericalAccountant
    from dpnotes.privacy_loss import PoissonGaussianLoss

    rows = []

    def timed(what, value, make, delta=1e-5):
        times = []
        for _ in range(5):
            began = time.process_time()
            low, high = make().epsilon_bounds(delta)
            times.append(time.process_time() - began)
        rows.append(
            {
                "grows with": what,
                "value": value,
                "milliseconds": round(statistics.median(times) * 1e3, 3),
                "epsilon": high,
                "relative width": (high - low) / high if high else 0.0,
            }
        )

    for steps in (10, 100, 1000, 10**4, 10**5, 10**6, 10**7):
        q = 0.3 / steps**0.5
        timed(
            "steps (q = 0.3 / sqrt(steps), sigma = 1)",
            steps,
            lambda q=q, k=steps: NumericalAccountant().add(PoissonGaussianLoss(q, 1.0), k),
        )
    for distinct in (1, 2, 4, 8, 16, 32, 64, 128):

        def many(n=distinct):
            made = NumericalAccountant()
            for i in range(n):
                made.add(PoissonGaussianLoss(0.01, 1 / (1 + i / n)), 2048 // n)
            return made

        timed("distinct mechanisms (2048 steps, q = 0.01, sigma from 1 to 2)", distinct, many)
    for digits in (2, 5, 10, 20, 50, 100, 200, 300):
        timed(
            "digits of 1/delta (q = 0.01, sigma = 1, 1000 steps)",
            digits,
            lambda: NumericalAccountant().add(PoissonGaussianLoss(0.01, 1.0), 1000),
            10.0**-digits,
        )
    return rows


def save(part, measured):
    """Put one benchmark's numbers into the file that holds them all."""
    stored = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    MEASURED.write_text(json.dumps(stored | {part: measured}, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--no-peers", action="store_true", help="dpnotes alone; nothing is stored")
    arguments = parser.parse_args()
    if arguments.worker:
        worker(*arguments.worker)
        return
    versions = {"dpnotes": "this checkout"}
    for library in () if arguments.no_peers else [name for name in CALLS if name != "dpnotes"]:
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            print(f"{library} is not installed: left out")
    rows = []
    for task, (_, _, delta, key) in {**TASKS, **EXTRA}.items():
        for library in versions:
            result = run(library, task)
            if result.get("skipped"):
                continue
            rows.append(
                {
                    "task": task,
                    "delta": delta,
                    "library": library,
                    "milliseconds": None if "warm" not in result else result["warm"] * 1e3,
                    "above the truth": off(result, key),
                    "width": width(result),
                    "note": result.get("error", ""),
                }
            )
            print(rows[-1], flush=True)
    python = {"python": platform.python_version(), "numpy": importlib.metadata.version("numpy")}
    measured = {"versions": versions | python, "tasks": rows, "growth": growth()}
    if not arguments.no_peers:
        save("accountants", measured)


if __name__ == "__main__":
    main()
