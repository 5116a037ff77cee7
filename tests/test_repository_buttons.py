"""One setting holds the repository's address; the buttons that need it show only when it is set."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("address", "shown"), [("", False), ("https://example.org/a/book", True)])
def test_the_buttons_follow_the_address(address: str, shown: bool) -> None:
    spec = importlib.util.spec_from_file_location("dpframes", ROOT / "book" / "_ext" / "dpframes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = SimpleNamespace(html_theme_options={"repository_url": address, "use_issues_button": not shown})
    module.repository_buttons(None, config)
    buttons = [value for key, value in config.html_theme_options.items() if key.startswith("use_")]
    assert buttons == [shown] * 3


def test_the_address_is_written_in_one_place() -> None:
    settings = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert set(settings["repository"]) == {"url", "branch"}
    assert not any(key.startswith("use_") and key.endswith("_button") for key in settings["html"])
