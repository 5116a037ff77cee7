"""Copies of the chapters without their solutions, for a class: ``python tools/handout.py [FOLDER]`` (``make handout``)."""

from __future__ import annotations

import argparse
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]


def without_solutions(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same chapter; the solution's text and the solution's code are left out, the exercise and its check stay."""
    def solves(cell: nbformat.NotebookNode) -> bool:
        return "solution" in cell.metadata.get("tags", []) or "{solution}" in cell.source

    copy = nbformat.from_dict(notebook)
    copy.cells = [cell for cell in copy.cells if not solves(cell)]
    return copy


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the chapters without their solutions.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "handout", help="default: _build/handout")
    target = parser.parse_args().folder
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        nbformat.write(without_solutions(nbformat.read(path, as_version=4)), target / path.name)
    print(f"chapters without solutions: {target}")


if __name__ == "__main__":
    main()
