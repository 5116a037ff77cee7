"""Run notebooks from first cell to last; store or check their outputs. ``python tools/notebooks.py [--check] [FILES]``.

What is stored is words and numbers only: no pictures (the site's build makes those), no widget state, no times.
Two runs then give the same file, and `pytest --nbval` can compare it strictly.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

KEPT_TYPES = ("text/plain", "text/html", "text/latex", "text/markdown")
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
ROOT = Path(__file__).resolve().parents[1]


class NotebookError(Exception):
    """Says which notebook and which cell, and what happened there."""


def execute(path: Path, timeout: int = 120) -> tuple[nbformat.NotebookNode, float]:
    """The notebook after a run in its own folder, and the seconds it took. A cell that fails or warns is an error."""
    notebook, start = nbformat.read(path, as_version=4), time.perf_counter()
    client = NotebookClient(notebook, timeout=timeout, kernel_name="python3", record_timing=False, coalesce_streams=True,
                            extra_arguments=["--log-level=ERROR"], resources={"metadata": {"path": str(path.parent)}})
    try:
        client.execute(env=os.environ | {"DPNOTES_STATIC": "1"})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise NotebookError(_where(path, notebook, error)) from None
    for position, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise NotebookError(f"{_name(path)}, cell {position} wrote to stderr:\n{output.text.strip()}")
    return notebook, time.perf_counter() - start


def _where(path: Path, notebook: nbformat.NotebookNode, error: Exception) -> str:
    for position, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return f"{_name(path)}, cell {position} failed with {output.ename}: {output.evalue}\n{_indent(cell.source)}"
    ran = [p for p, cell in enumerate(notebook.cells, 1) if cell.cell_type == "code" and cell.execution_count]
    return f"{_name(path)}, cell {ran[-1] if ran else 1} or the one after: {type(error).__name__}: {str(error).splitlines()[0]}"


def _indent(source: str) -> str:
    return "\n".join(f"    {line}" for line in source.splitlines())


def _name(path: Path) -> str:
    return os.path.relpath(path)


def execute_all(paths: Iterable[Path], workers: int = 2) -> Iterator[tuple[Path, nbformat.NotebookNode, float]]:
    """Run notebooks side by side (each has its own kernel process) and yield them in order; all errors come at the end."""
    errors = []
    with ThreadPoolExecutor(workers) as pool:
        for path, future in [(path, pool.submit(execute, path)) for path in paths]:
            try:
                notebook, seconds = future.result()
            except NotebookError as error:
                print(f"  {_name(path):<44} failed", flush=True)
                errors.append(str(error))
                continue
            print(f"  {_name(path):<44} {seconds:5.1f} s", flush=True)
            yield path, notebook, seconds
    if errors:
        raise NotebookError("\n\n".join(errors))


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with text outputs only, and with metadata that does not depend on who ran it."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    ran = 0
    for position, cell in enumerate(notebook.cells, 1):
        cell.setdefault("id", f"cell-{position:02d}")
        for key in ("execution", "ExecuteTime", "collapsed", "scrolled"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            ran += 1
            cell.execution_count = ran
            cell.outputs = [kept for kept in map(_text_only, cell.outputs) if kept]
    return notebook


def _text_only(output: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    if output.output_type not in ("execute_result", "display_data"):
        return None
    output.data = {kind: text for kind, text in output.data.items() if kind in KEPT_TYPES}
    output.metadata = {}
    if "execution_count" in output:
        output.execution_count = None
    return output if output.data else None


def text_of(notebook: nbformat.NotebookNode) -> str:
    """The notebook as it is stored."""
    return nbformat.writes(notebook, indent=1).rstrip("\n") + "\n"


def main() -> int:
    """Store the outputs of the given notebooks (all of `notebooks/` without any), or with --check name the stale ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a stored output is not what a run gives")
    options = parser.parse_args()
    stale = []
    try:
        for path, notebook, _ in execute_all(options.files or sorted((ROOT / "notebooks").glob("*.ipynb"))):
            text = text_of(numbered(clean(notebook)))
            if text == path.read_text("utf-8"):
                continue
            stale.append(path)
            if not options.check:
                _write(path, text)
    except NotebookError as error:
        print(error, file=sys.stderr)
        return 1
    for path in stale:
        print(f"{'stale' if options.check else 'stored'}: {_name(path)}")
    return 1 if stale and options.check else 0


def numbered(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The number of an output is the number of its cell."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "execute_result":
                output.execution_count = cell.execution_count
    return notebook


def _write(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)


if __name__ == "__main__":
    sys.exit(main())
