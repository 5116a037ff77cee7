"""README's commands, as written, in a clean copy of the tree. (`.ci/run` on a clean clone does the long ones for real.)"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", README, re.S)
SHELL = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git would give a stranger."""
    target = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                            check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


@pytest.mark.parametrize("command", [line for line in SHELL if line.startswith("make ")])
def test_make_commands_resolve_and_set_up_first(command: str, copy: Path) -> None:
    told = subprocess.run([*command.split(), "-n"], cwd=copy, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "-m venv .venv" in told.stdout and "pip install" in told.stdout


def test_raw_lines_are_those_of_the_makefile(copy: Path) -> None:
    told = subprocess.run(["make", "-n", "book"], cwd=copy, capture_output=True, text=True, check=True).stdout
    venv, build = README.split("### Without make")[1].split("```sh\n")[1].split("```")[0].strip().splitlines()
    for part in (*venv.split(" && "), build):
        words = part.replace("python -m pip install", "").split()
        assert all(word in told for word in words), part


def test_python_example_runs(copy: Path) -> None:
    code = next(block for kind, block in BLOCKS if kind == "python")
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=copy, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("command", [line for line in SHELL if line.startswith("dpnotes ")])
def test_dpnotes_commands_run(command: str, copy: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(command, shell=True, cwd=copy, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr, result.stderr
    for name in re.findall(r"(?:-o|--data) (\S+)", command):
        assert (copy / name).stat().st_size > 0


def test_links_of_markdown_files_lead_somewhere() -> None:
    broken = []
    for path in ROOT.glob("*.md"):
        for address in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text("utf-8")):
            if "://" not in address and not (path.parent / address).exists():
                broken.append((path.name, address))
    assert broken == []


def test_old_python_is_told_so(copy: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    result = subprocess.run(["make", "book", f"PYTHON={old}"], cwd=copy, capture_output=True, text=True)
    assert result.returncode != 0
    assert "Python 3.11 or newer" in result.stdout + result.stderr


def test_python_without_venv_is_told_so(copy: Path, tmp_path: Path) -> None:
    bare = tmp_path / "python3"
    bare.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexit 0\n')
    bare.chmod(0o755)
    result = subprocess.run(["make", "book", f"PYTHON={bare}"], cwd=copy, capture_output=True, text=True)
    assert result.returncode != 0
    assert "apt install python3-venv" in result.stdout + result.stderr


def test_citation_and_versions_agree() -> None:
    import dpnotes

    assert f"version: {dpnotes.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_no_path_of_a_machine_in_the_tree(copy: Path) -> None:
    needle = re.compile(rb"/(?:work|root|home)/[a-z]")
    found = [str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file() and path.suffix in
             (".py", ".md", ".yml", ".toml", ".txt", ".ipynb", ".js", ".css", ".json", ".cfg", ".cff", ".bib")
             and path.name != "test_readme.py" and needle.search(path.read_bytes())]
    assert found == []
