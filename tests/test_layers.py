"""The floors of the house, as pyproject.toml states them, and what `import dpnotes` may cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_floors_hold() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_importing_the_package_loads_neither_figures_nor_widgets() -> None:
    code = ("import sys, dpnotes; heavy = {'matplotlib', 'ipywidgets', 'IPython', 'dpnotes.figures', 'dpnotes.explorer', 'scipy.stats'};"
            "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_every_public_name_is_there() -> None:
    import dpnotes

    assert [name for name in dpnotes.__all__ if not hasattr(dpnotes, name)] == []
    assert callable(dpnotes.explore) and callable(dpnotes.show)
