"""Write book/accounting_benchmark.md from benchmarks/measured.json, the numbers of the last `make bench`."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "book" / "accounting_benchmark.md"
MEASURED = HERE / "measured.json"


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def relative(value: float | None) -> str:
    """One digit of a relative distance; what is below 1e-15 is rounding."""
    if value is None or value == float("inf"):
        return "-" if value is None else "infinite"
    return "0" if abs(value) < 1e-15 else f"{value:.0e}"


def versions(names: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in names.items() if name != "dpnotes")


def tasks(measured: dict) -> str:
    libraries = [name for name in measured["versions"] if name not in ("python", "numpy")]
    peers = libraries[1:]
    by_task: dict[str, dict[str, dict]] = {}
    for row in measured["tasks"]:
        by_task.setdefault(row["task"], {})[row["library"]] = row
    head = ["task", "$\\delta$", "dpnotes, ms", "width", "off", *(f"{peer}, ms" if i == 0 else f"{peer} {i}" for peer in peers
                                                                 for i in (0, "ratio", "off"))]
    rows = []
    for task, results in by_task.items():
        ours = results["dpnotes"]
        line = [task, f"{ours['delta']:g}", number(ours["milliseconds"])]
        line += [relative(ours["width"]), relative(ours["above the truth"])]
        for peer in peers:
            theirs = results.get(peer)
            if theirs is None or theirs["milliseconds"] is None:
                line += [theirs["note"].split(":")[0] if theirs else "-", "-", "-"]
                continue
            line += [number(theirs["milliseconds"]), number(theirs["milliseconds"] / ours["milliseconds"]),
                     relative(theirs["above the truth"])]
        rows.append(line)
    return table(head, rows)


def growth(measured: dict) -> str:
    parts = []
    for what in dict.fromkeys(row["grows with"] for row in measured["growth"]):
        rows = [[f"{row['value']:,}", number(row["milliseconds"]), f"{row['epsilon']:.9g}", relative(row["relative width"])]
                for row in measured["growth"] if row["grows with"] == what]
        parts.append(f"### {what[0].upper()}{what[1:]}\n\n"
                     + table([what.split(" (")[0], "ms", "$\\varepsilon$, upper bound", "width"], rows))
    return "\n\n".join(parts)


def samplers(measured: dict) -> str:
    names = list(measured["rows"][0]["draws a second"])
    rows = []
    for row in measured["rows"]:
        speeds = row["draws a second"]
        line = [row["law"], f"{row['scale']:g}", number(speeds["dpnotes"])]
        for name in names[1:]:
            line += ["-", "-"] if speeds[name] is None else [number(speeds[name]), number(speeds["dpnotes"] / speeds[name])]
        rows.append(line)
    return table(["law", "scale", "dpnotes", *(name if i == 0 else "ratio" for name in names[1:] for i in (0, 1))], rows)


def page(measured: dict) -> str:
    accounts, draws = measured["accountants"], measured["samplers"]
    return rf"""(accounting-benchmark)=
# The accountant and its peers, timed

<!-- Written by benchmarks/page.py from benchmarks/measured.json: run make bench. -->

`make bench` measures this page again, in a Python environment of its own, so that no peer touches the book's.
All numbers are from one session on one core, with nothing else to do.
Every library and task has a process of its own.
A time is the processor's, the median of warm calls: nine or more over at least a tenth of a second, none after 0.7 seconds.
Every call starts from scratch.

## Numerical accountants

The task is to find $\varepsilon$ at the given $\delta$, unless it says otherwise.
"DP-SGD" is Gaussian noise on Poisson samples with rate $q$, for neighbors that differ in one record.
For dpnotes, "width" is the relative width of its certified bracket, and "off" how far its upper bound is above the truth.
The truth comes from two independent computations in high precision, where there is one.
For a peer, "ratio" is its time over ours, and a negative "off" is an upper bound below the truth: no bound.
"Rényi accountant alone" is the best order's epsilon, one upper bound without a width, beside that of dp-accounting's own.
dp-accounting is Google's, elsewhere read by its PLD accountant at its own grid.
prv-accountant is Microsoft's, with its own error of 0.01.
A dash means that the library does not do the task, or that there is no truth to compare with.

{tasks(accounts)}

Versions: {versions(accounts['versions'])}.
Opacus is measured too where it is installed; it needs torch, and the extra `bench` leaves both out.

## How the time grows

{growth(accounts)}

## Samplers of whole-number noise

Draws a second, the best of three; "ratio" is ours over theirs.
dpnotes draws from NumPy's generator, or from the operating system ("system bits"); both laws are exact.
OpenDP draws from the operating system, in vectors of 10,000; its laws are exact too.
diffprivlib makes one call a number, and its geometric noise is a rounded logarithm, not an exact law.
Its discrete Gaussian at scale $10^9$ is left out, because its time grows with the scale.

{samplers(draws)}

Versions: {versions(draws['versions'])}.
"""


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(MEASURED.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"wrote {PAGE.name}")
