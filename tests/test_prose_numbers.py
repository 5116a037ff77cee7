"""Every number in a chapter's prose is computed on that page: it is the rounding of a number in a cell or its output."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

CHAPTERS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"(?<![\w.^/-])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])")
FENCE = re.compile(r"\s*(`{3,}|~{3,}|:{3,})\s*(?:\{([\w:-]+)\})?(.*)")
CODE = {"", "code", "code-block", "code-cell", "literalinclude", "bibliography"}
# Not claims about data: code, maths commands' sizes, links, citations, years in words.
NOT_PROSE = [re.compile(p, re.S) for p in (r"`[^`]*`", r"\{[\w:]+\}`[^`]*`", r":label:[^\n]*", r"\b(?:19|20)\d\d\b", r"(?m)^#+ .*$")]


def _cells(path: Path, kind: str) -> list[dict]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def _numbers(text: str) -> list[str]:
    return [found.rstrip(",").replace(",", "") for found in NUMBER.findall(text)]


def _without_code_blocks(text: str) -> str:
    """The text without blocks of code; of boxes, dropdowns and exercises the title and the words inside stay."""
    kept, fences = [], []  # fences: (marker, whether it holds code)
    for line in text.splitlines():
        marker, name, rest = match.groups() if (match := FENCE.match(line)) else ("", "", line)
        if marker and fences and marker.startswith(fences[-1][0]) and not name and not rest.strip():
            fences.pop()
        elif fences and fences[-1][1]:
            continue
        elif marker:
            fences.append((marker, (name or "") in CODE))
            kept.append("" if fences[-1][1] else rest)
        else:
            kept.append(line)
    return "\n".join(kept)


def prose_numbers(path: Path) -> list[str]:
    """The numbers of three or more significant digits that the prose states."""
    found = []
    for cell in _cells(path, "markdown"):
        text = _without_code_blocks("".join(cell["source"]))
        for pattern in NOT_PROSE:
            text = pattern.sub(" ", text)
        found += [n for n in _numbers(text) if len(Decimal(n).normalize().as_tuple().digits) >= 3 or "." in n]
    return found


def computed_numbers(path: Path) -> set[Decimal]:
    texts = []
    for cell in _cells(path, "code"):
        texts.append("".join(cell["source"]))
        for output in cell["outputs"]:
            texts.append("".join(output.get("text", [])) + "".join(output.get("data", {}).get("text/plain", [])))
    return {Decimal(n) for text in texts for n in _numbers(text)}


def is_rounding(stated: str, computed: Decimal) -> bool:
    value = Decimal(stated)
    half = Decimal(1).scaleb(value.as_tuple().exponent) / 2
    return abs(computed - value) <= half * (1 if "." in stated or "e" in stated else 0)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_every_number_in_the_prose_is_computed_on_the_page(path: Path) -> None:
    pool = computed_numbers(path)
    orphans = sorted({n for n in prose_numbers(path) if not any(is_rounding(n, c) for c in pool)})
    assert not orphans, f"{path.name}: no cell computes {', '.join(orphans)}"


def test_a_wrong_number_is_found(tmp_path: Path) -> None:
    cells = [{"cell_type": "markdown", "source": ["The width is 0.0533, of 1,234 rows; in 2018."]},
             {"cell_type": "code", "source": ["print(1234)"], "outputs": [{"text": ["0.0532445\n", "1234"]}]}]
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    with pytest.raises(AssertionError, match=r"computes 0\.0533\n"):
        test_every_number_in_the_prose_is_computed_on_the_page(path)


@pytest.mark.parametrize("text", ["```{admonition} Note\n:class: note\nIt is 0.25.\n```", "````{dropdown} Is it 0.25?\n```python\nx = 0.5\n```\n````",
                                  "````{solution} label\n```{literalinclude} file.py\n:lines: 125\n```\nNot `0.75` but 0.25.\n````", ":::{note}\n0.25\n:::",
                                  "```\n0.125\n```\n0.25"])
def test_numbers_in_boxes_count_and_numbers_in_code_do_not(text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}]}))
    assert prose_numbers(path) == ["0.25"]
