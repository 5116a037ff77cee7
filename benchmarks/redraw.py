"""How long a live figure takes to follow its slider: ``python benchmarks/redraw.py [NAME ...]``.

Moves the first slider of each figure a hundred times, the way a hand drags it, and prints the median and the worst
time in milliseconds, from the new value to the new picture in the widget. The aim is 60 and 150.
"""

from __future__ import annotations

import statistics
import sys
import time

import dpnotes as dp
from dpnotes import figures


def redraw_times(name: str, moves: int = 100) -> list[float]:
    """Milliseconds of each redraw."""
    explorer = dp.explore(name)
    explorer._live()
    slider, times = next(iter(explorer._view.sliders.values())), []
    for step in range(moves):
        start = time.perf_counter()
        slider.value = type(slider.value)(slider.min + (slider.max - slider.min) * (step + 0.5) / moves)
        if (elapsed := 1e3 * (time.perf_counter() - start)) > 1:  # a whole-number slider stays put at some of the moves
            times.append(elapsed)
    return times


def main() -> None:
    names = sys.argv[1:] or [spec.name for spec in figures.all_figures().values() if spec.sliders]
    everything: list[float] = []
    for name in names:
        times = redraw_times(name)
        everything += times
        print(f"{name:<32} median {statistics.median(times):4.0f} ms   worst {max(times):4.0f} ms")
    print(f"{'all of them':<32} median {statistics.median(everything):4.0f} ms   worst {max(everything):4.0f} ms")


if __name__ == "__main__":
    main()
