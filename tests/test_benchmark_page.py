"""The published benchmark is the page of the stored numbers, names every task, and says which versions were measured."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(name):
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured():
    return json.loads((ROOT / "benchmarks" / "measured.json").read_text(encoding="utf-8"))


def stored():
    return (ROOT / "book" / "accounting_benchmark.md").read_text(encoding="utf-8")


def test_the_page_is_that_of_the_stored_numbers(measured):
    assert stored() == script("page").page(measured), "run benchmarks/page.py"


def test_the_page_names_every_task_and_version(measured):
    accountants = script("accountants")
    for task in {**accountants.TASKS, **accountants.EXTRA}:
        assert f"| {task} |" in stored()
    for part in ("accountants", "samplers"):
        for library, version in measured[part]["versions"].items():
            assert library == "dpnotes" or f"{library} {version}" in stored()
    assert {"dp-accounting", "prv-accountant"} <= set(measured["accountants"]["versions"])


def test_our_bracket_holds_the_truth_in_the_stored_numbers(measured):
    ours = [row for row in measured["accountants"]["tasks"] if row["library"] == "dpnotes"]
    known = [row for row in ours if row["above the truth"] is not None]
    assert len(known) == 9 and all(-1e-15 <= row["above the truth"] < 1e-8 for row in known)
    assert all(not row["note"] for row in ours)
