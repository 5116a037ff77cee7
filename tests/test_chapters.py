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


def test_the_ledger_lists_every_claim_of_the_first_document() -> None:
    ledger = (ROOT / "book" / "claims.md").read_text()
    assert re.findall(r"^\| \*\*S1\.(\d+)\*\*", ledger, re.M) == [str(i) for i in range(1, 23)]


def test_the_ledger_lists_every_claim_of_the_document_on_accuracy_first() -> None:
    ledger = (ROOT / "book" / "claims.md").read_text()
    claims = re.findall(r"^\| \*\*S2\.(\d+)\*\* (.*) \|$", ledger, re.M)
    assert [number for number, _ in claims] == [str(i) for i in range(1, 29)]
    taught = {number: re.search(r"\{(?:prf:ref|fig|eq|doc)\}`", row.rsplit(" | ", 1)[1]) for number, row in claims}
    assert [number for number, role in taught.items() if not role] == ["24"], "experiments that come later"


def test_every_figure_of_the_document_on_accuracy_first_is_drawn() -> None:
    sources = {figure.source for figure in all_figures().values()}
    assert {f"F2.{i}" for i in range(1, 5)} <= sources


def test_the_ledger_lists_every_claim_of_the_fourth_document() -> None:
    ledger = (ROOT / "book" / "claims.md").read_text()
    assert re.findall(r"^\| \*\*S3\.(\d+)\*\*", ledger, re.M) == [str(i) for i in range(1, 22)]


def test_every_figure_of_the_fourth_document_is_drawn() -> None:
    sources = {figure.source for figure in all_figures().values()}
    assert {f"F3.{i}" for i in range(1, 6)} <= sources


def test_every_figure_of_the_first_document_is_drawn() -> None:
    sources = {figure.source for figure in all_figures().values()}
    assert {f"F1.{i}" for i in range(1, 12)} <= sources


@BY_NUMBER
def test_markdown_keeps_one_sentence_a_line(number: int) -> None:
    prose = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|^\|.*$", "", source(number, "markdown"), flags=re.S | re.M)
    two = [line for line in prose.splitlines() if re.search(r"[a-z]{3}[.?] [A-Z][a-z]", line) and not line.lstrip().startswith(("- ", ">"))]
    assert not two, two[:3]
