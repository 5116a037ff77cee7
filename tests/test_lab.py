"""A chapter in JupyterLab: run all its cells, drag a slider, see the picture change."""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from dpnotes import explorer, figures

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "test"


@pytest.fixture(scope="module")
def chapter() -> Path:
    """The first chapter with a slider."""
    return next(path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if "dp.explore(" in path.read_text("utf-8"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, chapter: Path) -> Iterator[str]:
    """A server on a copy of the chapter that has not run yet, with settings of its own."""
    folder = tmp_path_factory.mktemp("lab")
    text = re.sub(r'"execution_count": \d+', '"execution_count": null', chapter.read_text("utf-8"))
    (folder / chapter.name).write_text(text, "utf-8")
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


def test_run_all_then_drag_a_slider(lab: str, chapter: Path, browser: object, record_property: object) -> None:
    """Step by step every picture comes; in a fast drag some may be left out, but they keep coming and the last one is right."""
    spec = figures.get(re.search(r'dp\.explore\(\\"([\w-]+)', chapter.read_text("utf-8"))[1])
    first = next(iter(spec.sliders.values()))
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
    # It scrolls to the last cell while it runs: a slider pressed before the end would be moved away from the mouse.
    cells = sum(cell["cell_type"] == "code" for cell in json.loads(chapter.read_text("utf-8"))["cells"])
    page.locator(f'.jp-InputPrompt:text-is("[{cells}]:")').wait_for(state="attached", timeout=120_000)
    picture, words = view.locator("img").first, view.locator(".widget-html").first
    picture.wait_for(timeout=60_000)
    shown(page, words, spec, {})
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    track = grasped(page, view)
    picture.evaluate("""image => {
        window.drawn = [];
        new MutationObserver(() => drawn.push(performance.now())).observe(image, { attributeFilter: ["src"] });
    }""")
    waits = []
    for share in np.linspace(0.05, 0.95, 10):
        before, begun = page.evaluate("drawn.length"), time.perf_counter()
        track(share)
        page.wait_for_function("before => drawn.length > before", arg=before, timeout=60_000)
        waits.append(1e3 * (time.perf_counter() - begun))
    page.evaluate("drawn.length = 0")
    for step in range(600):  # to and fro, not waiting for anything
        track(0.5 + 0.45 * np.sin(step / 8))
        page.wait_for_timeout(15)
        if step >= 100 and page.evaluate("drawn.length") >= 10:
            break
    times = page.evaluate("drawn")
    assert len(times) >= 10, "the picture stays behind while the slider moves"
    track(1.2)
    page.mouse.up()
    shown(page, words, spec, {first.parameter: first.high})
    assert view.locator("img").count() == 1
    record_property("a slider in JupyterLab", f"a step is drawn after {statistics.median(waits):.0f} ms (worst {max(waits):.0f}); in a fast "
                    f"drag a picture comes every {statistics.median(np.diff(times)):.0f} ms (worst {max(np.diff(times)):.0f})")
    view.get_by_role("button", name="Reset").click()
    shown(page, words, spec, {})
    page.wait_for_timeout(1000)  # it stays there: the browser rounds no value to a step of its own
    shown(page, words, spec, {})
    context.close()


def shown(page: object, words: object, spec: figures.FigureSpec, values: dict[str, float]) -> None:
    """Waits for the sentence of the figure at these values, and for the very picture that belongs to it."""
    from playwright.sync_api import expect

    png, sentence = explorer._draw(spec, values)
    expect(words).to_have_text(sentence, timeout=60_000)
    page.wait_for_function("""async (wanted) => {
        const png = new Uint8Array(await (await fetch(document.querySelector(".dp-explore img").src)).arrayBuffer());
        return png.length === wanted.length && png.every((one, place) => one === wanted[place]);
    }""", arg=list(png), timeout=60_000)


def grasped(page: object, view: object) -> Callable[[float], None]:
    """Press on the first slider's handle, again if the page shifted just then; gives what moves it to a share of its track."""
    handle, base = view.locator(".noUi-handle").first, view.locator(".noUi-base").first
    for _ in range(20):
        handle.scroll_into_view_if_needed()
        handle.hover()
        page.mouse.down()
        if view.locator(".noUi-active").count():
            box = base.bounding_box()
            return lambda share: page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        page.mouse.up()
    return pytest.fail("the handle of the slider cannot be grasped")
