"""The page that sets the mechanisms side by side is the one its script writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_page_is_current():
    spec = importlib.util.spec_from_file_location("mechanism_table", ROOT / "tools" / "mechanism_table.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    stored = (ROOT / "book" / "mechanisms.md").read_text(encoding="utf-8")
    assert stored == script.page(), "run tools/mechanism_table.py"
    rows = [line.split(" | ") for line in stored.splitlines() if line.startswith("| `")]
    assert len(rows) == len(script.rows()) and all(len(row) == 8 for row in rows)
