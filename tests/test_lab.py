"""A chapter in JupyterLab: run all its cells, drag a slider, see the picture change."""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "test"


@pytest.fixture(scope="module")
def chapter() -> Path:
    """The first chapter with a slider."""
    return next(path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if "dp.explore(" in path.read_text("utf-8"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, chapter: Path) -> Iterator[str]:
    """A server on a copy of the chapter, with settings of its own."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copy(chapter, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    environment = {key: value for key, value in os.environ.items() if key != "DPNOTES_STATIC"} | {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    command = [Path(sys.executable).with_name("jupyter-lab"), "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
               f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"]
    with (folder / "log.txt").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
        try:
            for _ in range(240):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token={TOKEN}", timeout=2):
                        break
                except OSError:
                    assert server.poll() is None, (folder / "log.txt").read_text()
                    time.sleep(0.25)
            else:
                pytest.fail("JupyterLab did not start:\n" + (folder / "log.txt").read_text())
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


def test_run_all_then_drag_a_slider(lab: str, chapter: Path, browser: object, capsys: pytest.CaptureFixture[str]) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(f"{lab}/lab/tree/{chapter.name}?token={TOKEN}")
    page.locator(".jp-Notebook").wait_for(timeout=60_000)
    page.locator('#jp-main-statusbar :text("| Idle")').first.wait_for(timeout=60_000)
    page.locator('.lm-MenuBar-itemLabel:has-text("Run")').click()
    page.locator('.lm-Menu-itemLabel:text-is("Run All Cells")').click()
    view = page.locator(".dp-explore").first
    try:
        view.wait_for(state="attached", timeout=120_000)
    except Exception:
        page.screenshot(path=ROOT / "_build" / "lab-failed.png")
        raise
    view.scroll_into_view_if_needed()
    handle, picture = view.locator(".noUi-handle").first, view.locator("img").first
    picture.wait_for(timeout=20_000)
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    start = picture.get_attribute("src")
    words = view.locator(".widget-html").first.inner_text()
    box, track = handle.bounding_box(), view.locator(".noUi-base").first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    times = []
    for step in range(100):
        before = picture.get_attribute("src")
        begun = time.perf_counter()
        page.mouse.move(track["x"] + track["width"] * (step + 1) / 101, y)
        try:
            page.wait_for_function("([image, old]) => image.src !== old", arg=[picture.element_handle(), before], timeout=400)
            times.append(1e3 * (time.perf_counter() - begun))
        except Exception:  # this move was less than a step of the slider
            continue
    page.mouse.up()
    assert picture.get_attribute("src") != start
    assert view.locator(".widget-html").first.inner_text() != words
    assert view.locator("img").count() == 1
    with capsys.disabled():
        print(f"\n    a drag in JupyterLab, mouse to picture: {len(times)} of 100 moves redrew, "
              f"median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms")
    view.get_by_role("button", name="Reset").click()
    page.wait_for_function("([one, words]) => one.innerText === words", arg=[view.locator(".widget-html").first.element_handle(), words])
    context.close()
