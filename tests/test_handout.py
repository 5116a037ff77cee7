"""What a class gets has every exercise and no solution."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def _handout():
    spec = importlib.util.spec_from_file_location("handout", ROOT / "tools" / "handout.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_a_handout_keeps_the_questions_and_drops_the_answers(path: Path) -> None:
    before = nbformat.read(path, as_version=4)
    after = _handout().without_solutions(before)
    text = "\n".join(cell.source for cell in after.cells)
    everything = "\n".join(cell.source for cell in before.cells)
    assert text.count("{exercise}") == everything.count("{exercise}") >= (3 if path.name[0].isdigit() else 0)
    assert "{solution}" not in text
    assert not any(": right." in str(cell.get("outputs", "")) for cell in after.cells)
    assert len(before.cells) - len(after.cells) == 2 * everything.count("{exercise}")
    nbformat.validate(after)
