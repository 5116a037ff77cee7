"""Build the book: run the notebooks that need it, two at a time, then the site. ``python tools/build.py [BOOK]``.

Jupyter's execution cache knows a notebook by the text of its cells only. Here a change of `dpnotes`, of its data or of
the pinned versions empties the cache, so that no page shows what an older package printed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn

sys.path.insert(0, str(Path(__file__).parent))
from notebooks import ROOT, NotebookError, execute_all


def package_key() -> str:
    """Changes with anything, besides its own text, that may change what a notebook prints."""
    digest = hashlib.sha256(sys.version.encode())
    for path in [*sorted((ROOT / "dpnotes").rglob("*")), ROOT / "requirements.txt", ROOT / "tools" / "notebooks.py"]:
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def files_of(book: Path) -> list[str]:
    """Every page of the table of contents, without its suffix, in order."""
    def files(node: object) -> list[str]:
        if isinstance(node, dict):
            own = [node[key].rsplit(".", 1)[0] for key in ("root", "file") if key in node]
            return own + [name for value in node.values() for name in files(value)]
        return [name for item in node for name in files(item)] if isinstance(node, list) else []

    return files(yaml.safe_load((book / "_toc.yml").read_text("utf-8")))


def notebooks_of(book: Path) -> list[Path]:
    """The notebooks among them."""
    return [path for name in files_of(book) if (path := book / f"{name}.ipynb").exists()]


def run_notebooks(book: Path) -> None:
    """Fill the execution cache that Jupyter Book reads; notebooks it holds already do not run again."""
    folder, key = book / "_build" / ".jupyter_cache", package_key()
    stamp = folder.with_name(".jupyter_cache_key")
    if not stamp.exists() or stamp.read_text() != key:
        shutil.rmtree(folder, ignore_errors=True)
    cache, waiting = get_cache(folder), []
    for path in notebooks_of(book):
        try:
            cache.match_cache_notebook(nbformat.read(path, as_version=4))
        except KeyError:
            waiting.append(path)
    stamp.parent.mkdir(exist_ok=True, parents=True)
    stamp.write_text(key)
    print(f"1/2  notebooks: {len(waiting)} to run", flush=True)
    for path, notebook, seconds in execute_all(waiting):
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def main() -> int:
    """0 when every cell ran and Sphinx had nothing to warn of."""
    book, start = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve(), time.perf_counter()
    try:
        run_notebooks(book)
    except NotebookError as error:
        print(f"\nA notebook failed.\n\n{error}", file=sys.stderr)
        return 1
    print("2/2  pages", flush=True)
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    failed = subprocess.run([jupyter_book, "build", book, "-W", "--keep-going", "-n", "--quiet"],
                            env=os.environ | {"DPNOTES_STATIC": "1"}).returncode
    home = book / "_build" / "html" / "index.html"
    if failed or not home.exists():
        print("\nThe pages have a warning or an error; see above.", file=sys.stderr)
        return 1
    print(f"\nBuilt in {time.perf_counter() - start:.0f} s. Open {home.as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
