"""The mould of a chapter: its parts are there, its exercises can be answered, its figures and claims are all used."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpnotes.exercises import EXERCISES
from dpnotes.figures import all_figures

ROOT = Path(__file__).parents[1]
CHAPTERS = {int(path.name[:2]): path for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))}
BY_NUMBER = pytest.mark.parametrize("number", CHAPTERS)


def cells(number: int) -> list[dict]:
    return json.loads(CHAPTERS[number].read_text())["cells"]


def source(number: int, kind: str) -> str:
    return "\n".join("".join(cell["source"]) for cell in cells(number) if cell["cell_type"] == kind)


def output_text(cell: dict) -> str:
    return "".join("".join(o.get("text", [])) + "".join(o.get("data", {}).get("text/plain", [])) for o in cell["outputs"])


@BY_NUMBER
def test_a_chapter_says_what_it_is_for_and_ends_with_a_summary(number: int) -> None:
    prose = source(number, "markdown")
    assert "After this chapter you can" in prose
    assert re.search(r"It takes about \d+ minutes", prose)
    for heading in ("## Exercises", "## Summary"):
        assert prose.count(f"\n{heading}\n") + prose.startswith(heading) == 1, heading
    assert "**References.**" in prose
    assert "What this number means" in prose or "What these numbers mean" in prose


@BY_NUMBER
def test_every_exercise_has_an_open_cell_and_a_solution_that_is_right(number: int) -> None:
    names = [name for name, exercise in EXERCISES.items() if exercise.chapter == number]
    assert len(names) >= 3
    code = [cell for cell in cells(number) if cell["cell_type"] == "code"]
    prose = source(number, "markdown")
    for name in names:
        said = [(output_text(cell), "solution" in cell["metadata"].get("tags", [])) for cell in code if f'"{name}"' in "".join(cell["source"])]
        assert [solved for _, solved in said] == [False, True], f"{name}: an open cell, then a solution"
        assert f"{name}: not answered yet" in said[0][0]
        assert said[1][0].startswith(f"{name}: right"), said[1][0]
        assert f":label: {name}" in prose and re.search(rf"\{{solution\}} {name}\b", prose)


@BY_NUMBER
def test_every_figure_of_the_chapter_is_shown_in_it(number: int) -> None:
    registered = {name for name, figure in all_figures().items() if figure.chapter == number}
    shown = set(re.findall(r'dp\.(?:show|explore)\(\s*"([\w-]+)"', source(number, "code")))
    assert registered <= shown, f"not shown: {registered - shown}"


DOCUMENTS = pytest.mark.parametrize(("document", "claims"), [(0, 34), (1, 22), (2, 28), (3, 21), (4, 34)])


@DOCUMENTS
def test_the_ledger_lists_every_claim_once_and_in_order(document: int, claims: int) -> None:
    ledger = (ROOT / "book" / "claims.md").read_text()
    assert re.findall(rf"^\| \*\*S{document}\.(\d+)\*\*", ledger, re.M) == [str(i) for i in range(1, claims + 1)]


@DOCUMENTS
def test_the_ledger_says_where_each_claim_is_taught(document: int, claims: int) -> None:
    rows = re.findall(rf"^\| \*\*S{document}\.(\d+)\*\* (.*) \|$", (ROOT / "book" / "claims.md").read_text(), re.M)
    assert len(rows) == claims
    open_here = [number for number, row in rows if not re.search(r"\{(?:prf:ref|fig|eq|doc)\}`", row.rsplit(" | ", 1)[1])]
    assert open_here == (["24"] if document == 2 else []), "experiments that come later"


@pytest.mark.parametrize(("document", "figures"), [(0, 6), (1, 11), (2, 4), (3, 5), (4, 7)])
def test_every_figure_of_a_document_is_drawn(document: int, figures: int) -> None:
    sources = {figure.source for figure in all_figures().values()}
    assert {f"F{document}.{i}" for i in range(1, figures + 1)} <= sources


@BY_NUMBER
def test_markdown_keeps_one_sentence_a_line(number: int) -> None:
    prose = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|^\|.*$", "", source(number, "markdown"), flags=re.S | re.M)
    two = [line for line in prose.splitlines() if re.search(r"[a-z]{3}[.?] [A-Z][a-z]", line) and not line.lstrip().startswith(("- ", ">"))]
    assert not two, two[:3]
