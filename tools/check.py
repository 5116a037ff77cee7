"""Every check of the project, one after the other; all run even when one fails. ``make test`` calls this.

Two processes work on each long step: a notebook stays with one of them, a page of the site is a test of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=120", "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
         "-n", "2", "--dist", "loadfile", "-o", "addopts=", "-W", "default", "-q", "notebooks"]
TWO = ["-n", "2", "--dist", "worksteal"]
STEPS = {
    "ruff": [BIN / "ruff", "check", "."],
    "import layers": [BIN / "lint-imports"],
    "package, tools and doctests": [sys.executable, "-m", "pytest", "-q", *TWO, "-m", "not site and not lab"],
    "notebooks": [sys.executable, "-m", "pytest", *NBVAL],
    "site in Chromium": [sys.executable, "-m", "pytest", "-q", *TWO, "-m", "site"],
    "JupyterLab in Chromium": [sys.executable, "-m", "pytest", "-q", "-m", "lab"],
}


def main() -> int:
    """0 when every step passed; otherwise the steps that did not, by name."""
    failed = []
    for name, command in STEPS.items():
        print(f"\n==> {name}", flush=True)
        start = time.perf_counter()
        environment = os.environ | ({"DPNOTES_STATIC": "1"} if name == "notebooks" else {})
        if subprocess.run(list(map(str, command)), cwd=ROOT, env=environment).returncode:
            failed.append(name)
        print(f"    {time.perf_counter() - start:.0f} s", flush=True)
    print("\nFailed: " + ", ".join(failed) if failed else "\nEverything passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
