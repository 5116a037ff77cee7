"""A book that is broken does not build, and the build says where. A small book of its own each time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from dpnotes import figures

ROOT = Path(__file__).resolve().parents[1]
NAME = next(name for name, spec in figures.all_figures().items() if spec.sliders)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """One page and one chapter, with this book's own settings."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    config["sphinx"]["local_extensions"] = {"dpframes": str(ROOT / "book" / "_ext")}
    config["bibtex_bibfiles"] = ["references.bib"]
    (tmp_path / "references.bib").write_text("@misc{one, author = {Me}, title = {It}, year = {2026}}\n")
    config["html"].pop("favicon", None)
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(config))
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: pages/index\nchapters:\n- file: deep/down/16_toy\n")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# Home\n\nWords.\n")
    (tmp_path / "deep" / "down").mkdir(parents=True)
    return tmp_path


def _chapter(book: Path, *cells: str) -> None:
    made = [nbformat.v4.new_markdown_cell("# 16. Toy"), *map(nbformat.v4.new_code_cell, cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=made), book / "deep" / "down" / "16_toy.ipynb")


def _build(book: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "tools" / "build.py", book], capture_output=True, text=True, cwd=book)


def test_a_good_book_builds_and_its_figures_move_at_any_depth(book: Path) -> None:
    _chapter(book, f"import dpnotes as dp\ndp.explore({NAME!r})", "dp.__version__")
    (book / "pages" / "index.md").write_text(
        f"# Home\n\nSee {{fig}}`{NAME}` and {{prf:ref}}`one`.\n\n:::{{prf:theorem}}\n:label: one\nOne.\n:::\n\n```{{dp-figure}} {NAME}\n```\n")
    result = _build(book)
    assert result.returncode == 0, result.stdout + result.stderr
    page = book / "_build" / "html" / "deep" / "down" / "16_toy.html"
    text = page.read_text("utf-8")
    assert "Figure 16.1." in text
    source = re.search(r'<img class="dp-picture[^>]*src="([^"]*)"', text)[1]
    assert (page.parent / source).is_file()
    data = json.loads(re.search(r'class="dp-frames">(.*?)</script>', text, re.S)[1])
    assert len(data["readouts"]) == (25 if len(data["values"]) == 1 else 49)
    home = (book / "_build" / "html" / "pages" / "index.html").read_text("utf-8")
    assert f'href="../deep/down/16_toy.html#fig-{NAME}">Figure 16.1</a>' in home
    before = {path: path.stat().st_mtime_ns for path in (book / "_build" / ".frames").rglob("*.webp")}
    again = _build(book)
    assert again.returncode == 0 and "0 to run" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in (book / "_build" / ".frames").rglob("*.webp")} == before
    assert page.read_text("utf-8") == text


@pytest.mark.parametrize("source", ["1 / 0", "import warnings; warnings.warn('old')"])
def test_a_failing_cell_stops_the_build_and_is_named(source: str, book: Path) -> None:
    _chapter(book, "print('fine')", source)
    result = _build(book)
    assert result.returncode != 0
    assert re.search(r"16_toy\.ipynb, cell 3\b", result.stderr), result.stderr
    assert not (book / "_build" / "html" / "index.html").exists()


@pytest.mark.parametrize(("text", "words"), [
    ("See [](#nowhere).\n\n```{no-such-directive}\n```\n", ["nowhere", "no-such-directive"]),  # what is suppressed is not told
    ("See {fig}`no-such-figure`.\n", ["no-such-figure"]),
])
def test_a_warning_stops_the_build(text: str, words: list[str], book: Path) -> None:
    _chapter(book, "1 + 1")
    (book / "pages" / "index.md").write_text(f"# Home\n\n{text}")
    result = _build(book)
    assert result.returncode != 0
    assert [word for word in words if word not in result.stdout + result.stderr] == []


def test_a_figure_that_fails_stops_the_build_and_is_named(book: Path) -> None:
    """Drawn in the cell at its start it is fine; one frame further it is not."""
    _chapter(book, f"import dpnotes as dp\ndp.explore({NAME!r})")
    broken = (f"from dpnotes import figures\nspec = figures.get({NAME!r})\nkeep = spec.function\n"
              "def function(axes, **parameters):\n"
              "    if parameters != spec.defaults:\n        raise RuntimeError('no ink')\n    return keep(axes, **parameters)\n"
              "object.__setattr__(spec, 'function', function)\n")
    (book / "sitecustomize.py").write_text("import sys\nif any('jupyter-book' in a for a in sys.argv + sys.orig_argv):\n"
                                           + "".join(f"    {line}\n" for line in broken.splitlines()))
    result = subprocess.run([sys.executable, ROOT / "tools" / "build.py", book], capture_output=True, text=True, cwd=book,
                            env=os.environ | {"PYTHONPATH": str(book)})
    assert result.returncode != 0
    assert f"figure {NAME} with" in result.stdout + result.stderr and "no ink" in result.stdout + result.stderr
