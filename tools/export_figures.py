"""Every figure as PDF and SVG with its numbers as CSV: ``python tools/export_figures.py [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from dpnotes import figures
from dpnotes.__main__ import export


def main() -> None:
    """Write them all, naming each as it goes."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "_build/figures")
    folder.mkdir(parents=True, exist_ok=True)
    for name, spec in figures.all_figures().items():
        print(f"  {name}", flush=True)
        for suffix in ("pdf", "svg", "csv"):
            export(spec, folder / f"{name}.{suffix}", dict(spec.defaults))
    print(f"\n{len(figures.all_figures())} figures in {folder}")


if __name__ == "__main__":
    main()
