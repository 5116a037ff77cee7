"""The command line: `dpnotes figures` and `dpnotes figure`."""

from __future__ import annotations

import csv
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from dpnotes import figures
from dpnotes.__main__ import VENUES, main

NAME = next(name for name, spec in figures.all_figures().items() if spec.sliders)
SPEC = figures.get(NAME)
PARAMETER, SLIDER = next(iter(SPEC.sliders.items()))


def test_list_names_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == list(figures.all_figures())


@pytest.mark.parametrize(("suffix", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_writes_each_format_and_the_same_bytes_twice(suffix: str, start: bytes, tmp_path: Path) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    assert main(["figure", NAME, "-o", str(first)]) == main(["figure", NAME, "-o", str(second)]) == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a.{suffix}", f"b.{suffix}"]


def test_data_is_what_is_drawn_to_the_last_digit(tmp_path: Path) -> None:
    target = tmp_path / "numbers.csv"
    assert main(["figure", NAME, "--data", str(target), "--set", f"{PARAMETER}={SLIDER.low}"]) == 0
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    told = {}
    for row in rows:
        columns = told.setdefault(row["series"], {"x": [], "y": []})
        columns["x"].append(float(row["x"]))
        columns["y"].append(float(row["y"]))
    assert told == SPEC.data(**{PARAMETER: SLIDER.low})


@pytest.mark.parametrize(("width", "inches"), [("3", 3.0), *VENUES.items()])
def test_width_in_inches_or_by_venue(width: str, inches: float, tmp_path: Path) -> None:
    target = tmp_path / "figure.png"
    assert main(["figure", NAME, "-o", str(target), "--width", width]) == 0
    pixels = struct.unpack(">I", target.read_bytes()[16:20])[0]
    assert pixels == pytest.approx(200 * inches, abs=1)


def test_themes_differ(tmp_path: Path) -> None:
    for theme in ("paper", "screen"):
        assert main(["figure", NAME, "-o", str(tmp_path / f"{theme}.svg"), "--theme", theme]) == 0
    assert (tmp_path / "paper.svg").read_bytes() != (tmp_path / "screen.svg").read_bytes()


def test_set_changes_the_figure(tmp_path: Path) -> None:
    main(["figure", NAME, "-o", str(tmp_path / "a.svg")])
    main(["figure", NAME, "-o", str(tmp_path / "b.svg"), "--set", f"{PARAMETER}={SLIDER.low}"])
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.svg").read_bytes()


def test_without_a_file_it_says_what_the_figure_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figure", NAME]) == 0
    told = capsys.readouterr().out
    for part in (SPEC.caption, SPEC.alt, PARAMETER, f"{SLIDER.low:g}", SPEC.source, "@misc{", "The dpnotes authors", "neurips"):
        assert part in told


@pytest.mark.parametrize(("arguments", "word"), [
    (["figure", "no-such", "-o", "x.pdf"], "name"),
    (["figure", NAME, "-o", "x.docx"], "--output"),
    (["figure", NAME, "-o", "x"], "--output"),
    (["figure", NAME, "--data", "x.txt"], "--data"),
    (["figure", NAME, "-o", "x.pdf", "--width", "wide"], "--width"),
    (["figure", NAME, "-o", "x.pdf", "--width", "0"], "width"),
    (["figure", NAME, "-o", "x.pdf", "--width", "nan"], "width"),
    (["figure", NAME, "-o", "x.pdf", "--set", "nonsense"], "--set"),
    (["figure", NAME, "-o", "x.pdf", "--set", "nonsense=1"], "nonsense"),
    (["figure", NAME, "-o", "x.pdf", "--set", f"{PARAMETER}=many"], PARAMETER),
    (["figure", NAME, "-o", "x.pdf", "--set", f"{PARAMETER}=1e9"], PARAMETER),
    (["figure", NAME, "-o", "x.pdf", "--theme", "neon"], "--theme"),
    (["figure", NAME, "-o", "no/such/folder/x.pdf"], "no/such/folder"),
    (["figure"], "NAME"),
    (["nonsense"], "COMMAND"),
    ([], "COMMAND"),
])
def test_a_wrong_argument_is_one_line_that_names_it(arguments: list[str], word: str, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = main(arguments)
    except SystemExit as stop:  # argparse leaves that way
        status = stop.code
    told = capsys.readouterr()
    assert status == 2
    assert told.out == ""
    assert len(told.err.splitlines()) == 1 and word in told.err
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "figure.svg"
    target.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", full)
    assert main(["figure", NAME, "-o", str(target)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
    assert target.read_text() == "before"


def test_module_and_console_script_are_the_same() -> None:
    script = Path(sys.executable).with_name("dpnotes")
    by_script = subprocess.run([script, "figures"], capture_output=True, text=True, check=True).stdout
    by_module = subprocess.run([sys.executable, "-m", "dpnotes", "figures"], capture_output=True, text=True, check=True).stdout
    assert by_script == by_module != ""


def test_nothing_is_written_when_one_of_two_names_is_wrong(tmp_path: Path) -> None:
    assert main(["figure", NAME, "-o", str(tmp_path / "a.jpg"), "--data", str(tmp_path / "a.csv")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_named_as_the_user_wrote_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "missing" / "a.pdf"
    assert main(["figure", NAME, "-o", str(target)]) == 2
    assert str(target) in capsys.readouterr().err
