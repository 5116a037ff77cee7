"""What is stored in the notebooks: words and numbers of one clean run, nothing that depends on who ran it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import build  # noqa: E402

import notebooks  # noqa: E402

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def _read(path: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def test_every_notebook_is_in_the_table_of_contents() -> None:
    assert NOTEBOOKS
    assert sorted(build.notebooks_of(ROOT)) == NOTEBOOKS


def test_chapters_come_in_the_order_of_their_numbers() -> None:
    numbers = [path.name[:2] for path in build.notebooks_of(ROOT) if path.name[0].isdigit()]  # others belong to a part, not to a place
    assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)


@every_notebook
def test_one_title_with_the_number_of_the_file(path: Path) -> None:
    text = "\n".join(re.sub(r"(?ms)^(`{3,}|~{3,}).*?^\1", "", cell.source) for cell in _read(path).cells
                     if cell.cell_type == "markdown")
    titles = re.findall(r"(?m)^# (.*)", text)
    assert len(titles) == 1
    numbered = re.match(r"(\d+)\. ", titles[0])
    assert (numbered and int(numbered[1])) == (int(path.name[:2]) if path.name[0].isdigit() else None)


@every_notebook
def test_kernel_and_metadata_are_plain(path: Path) -> None:
    notebook = _read(path)
    assert notebook.metadata == {"kernelspec": notebooks.KERNEL, "language_info": {"name": "python"}}
    assert "widgets" not in notebook.metadata
    assert all("execution" not in cell.metadata for cell in notebook.cells)


@every_notebook
def test_outputs_are_words_of_one_clean_run(path: Path) -> None:
    cells = [cell for cell in _read(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run `make notebooks`"
    for cell in cells:
        assert cell.source.strip(), "an empty code cell"
        for output in cell.outputs:
            assert output.output_type != "error"
            if output.output_type == "stream":
                assert output.name == "stdout"
                continue
            assert set(output.data) <= set(notebooks.KEPT_TYPES)
            text = "".join(output.data.get("text/plain", ""))
            assert not re.search(r"<.* at 0x[0-9a-f]+>|^Text\(|<Figure size", text), text
    assert "data:image" not in path.read_text("utf-8") and "image/png" not in path.read_text("utf-8")


@every_notebook
def test_the_stored_file_is_what_the_tool_writes(path: Path) -> None:
    notebook = _read(path)
    assert notebooks.text_of(notebooks.numbered(notebooks.clean(notebook))) == path.read_text("utf-8"), "run `make notebooks`"


@every_notebook
def test_no_cell_defines_what_the_package_has(path: Path) -> None:
    import dpnotes

    defined = re.findall(r"(?m)^(?:def|class) (\w+)", "\n".join(c.source for c in _read(path).cells if c.cell_type == "code"))
    assert set(defined) & set(dpnotes.__all__) == set()


def _notebook(folder: Path, *sources: str) -> Path:
    path = folder / "02_toy.ipynb"
    cells = [nbformat.v4.new_markdown_cell("# 2. Toy"), *map(nbformat.v4.new_code_cell, sources)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def _tool(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "tools" / "notebooks.py", *arguments], capture_output=True, text=True)


def test_store_then_check_then_stale(tmp_path: Path) -> None:
    path = _notebook(tmp_path, "print(1 + 1)", "import random; print(random.random())")
    assert _tool(path).returncode == 0
    first = json.loads(path.read_text())
    assert first["cells"][1]["outputs"][0]["text"] == ["2\n"]
    checked = _tool("--check", path)
    assert checked.returncode == 1 and "stale" in checked.stdout
    assert json.loads(path.read_text()) == first, "--check writes nothing"


@pytest.mark.parametrize(("source", "words"), [
    ("1 / 0", "ZeroDivisionError"),
    ("import warnings; warnings.warn('old')", "wrote to stderr"),
    ("import os; os._exit(1)", "Dead"),
])
def test_a_cell_that_fails_or_warns_is_named(source: str, words: str, tmp_path: Path) -> None:
    path = _notebook(tmp_path, "print('fine')", source)
    before = path.read_text()
    result = _tool(path)
    assert result.returncode == 1
    assert re.search(rf"02_toy\.ipynb, cell [23]\b.*{words}", result.stderr, re.S), result.stderr
    assert path.read_text() == before


def test_pictures_are_not_stored(tmp_path: Path) -> None:
    path = _notebook(tmp_path, "%matplotlib inline\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\nplt.show()")
    assert _tool(path).returncode == 0
    assert "image/png" not in path.read_text()
