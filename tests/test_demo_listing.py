"""The demonstration of chapter 07 is the source's own program, and prints the source's own rows."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "notebooks" / "07_exchange_table.ipynb"
# sha256 of the syntax tree of the listing in document 004, its indentation restored and every string replaced by "words".
SOURCE = "140632a975367d09a099bc251998403df678f84c553487101eaa36257e12d4e4"
# What that program prints (run on its own, words aside): RDP, zCDP and serial epsilon after 1, 5, 10 and 20 rounds.
ROWS = [(1, 2.92, 2.75, 2.0), (5, 6.97, 6.5, 10.0), (10, 9.61, 9.56, 20.0), (20, 14.61, 14.25, 40.0)]


def listing() -> dict:
    cells = json.loads(PAGE.read_text("utf-8"))["cells"]
    (cell,) = [cell for cell in cells if cell["cell_type"] == "code" and "class PrivacyAccountant" in "".join(cell["source"])]
    return cell


def shape(node: object) -> object:
    """The syntax tree as nested tuples, with strings blanked and what is empty left out: the same in every version of Python."""
    if isinstance(node, ast.AST):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return "words"
        fields = ((name, shape(value)) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return (type(node).__name__, *fields)
    return tuple(map(shape, node)) if isinstance(node, list) else node


def skeleton(code: str) -> str:
    return hashlib.sha256(repr(shape(ast.parse(code))).encode()).hexdigest()


def test_nothing_but_words_and_layout_was_changed() -> None:
    code = "".join(listing()["source"])
    assert skeleton(code) == SOURCE
    assert skeleton(code.replace("rounds + 1", "rounds + 2")) != SOURCE


def test_it_prints_the_rows_of_the_source() -> None:
    printed = "".join(listing()["outputs"][0]["text"])
    rows = re.findall(r"round +(\d+): .*?eps=([\d.]+) .*?eps=([\d.]+) .*?eps=([\d.]+)", printed)
    assert [(int(r), *map(float, values)) for r, *values in rows] == ROWS
