"""Sphinx extension of this book: pictures for `dp.show` and `dp.explore`, numbers by chapter, the gallery.

A cell (or the directive ``{dp-figure}``) leaves a `<figure class="dp-figure" data-dp-spec='...'>` in the page. When
the pages are written, this extension draws what the figures need into a store keyed by the sources of `dpnotes`,
copies it into the site and fills the figures in. A cached notebook therefore still gets its pictures.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import html
import inspect
import itertools
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

from docutils import nodes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

import dpnotes
from dpnotes import figures
from dpnotes.__main__ import command, export
from dpnotes.explorer import placeholder

logger = logging.getLogger(__name__)
DPI = 200  # twice the 640 CSS pixels at which a figure of 6.4 inches is shown
COLORS = 64
FIGURE = re.compile(r"""<figure class="dp-figure[^"]*"[^>]*? data-dp-spec='([^']*)'[^>]*>.*?</figure>""", re.S)
REFERENCE = re.compile(r"""<a class="dp-ref[^"]*"[^>]*? data-dp-ref="([^"]*)"[^>]*>.*?</a>""", re.S)
ASSETS = Path(__file__).parents[1] / "assets"


# What a figure on a page needs drawn ------------------------------------------------------------------------------------

class Shown:
    """One figure as a page shows it: which parameters, which sliders move over which values."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.description = description
        self.kind = description["kind"]
        self.spec = figures.get(description["name"])
        self.given = description.get("params", {})
        start = self.spec.parameters(**self.given)
        self.moving = [self.spec.sliders[name] for name in description.get("move", [])][:2]
        count = 17 if len(self.moving) == 1 else 7
        self.grids = [slider.grid(count, start[slider.parameter]) for slider in self.moving]
        self.at = [grid.index(start[slider.parameter]) for slider, grid in zip(self.moving, self.grids, strict=True)]
        key = json.dumps([self.spec.name, self.given, [slider.parameter for slider in self.moving]], sort_keys=True)
        self.folder = f"{self.spec.name}/{hashlib.sha256(key.encode()).hexdigest()[:8]}"

    def frames(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """File name and parameters of each frame."""
        for place in itertools.product(*(range(len(grid)) for grid in self.grids)):
            values = {s.parameter: grid[i] for s, grid, i in zip(self.moving, self.grids, place, strict=True)}
            yield "-".join(map(str, place)) or "still", self.given | values

    @property
    def taken(self) -> str:
        """Where the files to take away are: by the figure's name alone when it is the figure as registered."""
        return f"{self.folder}/{self.spec.name}" if self.given else self.spec.name

    @property
    def default(self) -> str:
        return "-".join(map(str, self.at)) or "still"


def sources_hash() -> str:
    """A change of the package or of the way its frames are drawn makes every picture new."""
    drawing = [version(name) for name in ("matplotlib", "numpy", "scipy", "pillow")]
    digest = hashlib.sha256(f"{drawing} {DPI} {COLORS} {inspect.getsource(draw_frame)}".encode())
    package = Path(dpnotes.__file__).parent
    for path in [*sorted(package.rglob("*.py")), *sorted((package / "data").glob("*.npz"))]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def write_atomically(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def draw_frame(job: tuple[str, dict[str, Any], Path]) -> str | None:
    """Draw one frame into the store with its sentence beside it; the message of what went wrong, if it did."""
    name, parameters, target = job
    try:
        figure, readout = figures.get(name).draw_with_readout(**parameters)
        figure.set_dpi(DPI)
        canvas, small = FigureCanvasAgg(figure), BytesIO()
        canvas.draw()
        picture = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba(), "raw", "RGBA", 0, 1).convert("RGB")
        few = picture.quantize(COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).convert("RGB")
        few.save(small, "WEBP", lossless=True, method=3)  # a quarter smaller than the tightest PNG
        write_atomically(target.with_suffix(".txt"), readout.encode())
        write_atomically(target.with_suffix(".webp"), small.getvalue())
    except Exception as error:
        return f"figure {name} with {parameters}: {type(error).__name__}: {error}"
    return None


def draw_exports(job: tuple[str, dict[str, Any], Path]) -> str | None:
    """The files a reader may take away: the same bytes as the command line writes."""
    name, parameters, target = job
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for suffix in ("svg", "csv", "pdf"):  # the last one written tells that all are there
            export(figures.get(name), target.with_suffix(f".{suffix}"), parameters)
    except Exception as error:
        return f"export of {name} with {parameters}: {type(error).__name__}: {error}"
    return None


def draw_missing(shown: list[Shown], store: Path) -> None:
    frames = {store / s.folder / f"{key}.webp": (s.spec.name, values) for s in shown for key, values in s.frames()}
    missing = [(name, values, path) for path, (name, values) in frames.items() if not path.exists()]
    exports = {s.taken: (s.spec.name, s.given, store / s.taken) for s in shown if not (store / f"{s.taken}.pdf").exists()}
    if not missing and not exports:
        return
    total = len(missing) + len(exports)
    errors = []
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        frame_errors = pool.map(draw_frame, missing, chunksize=8)
        export_errors = pool.map(draw_exports, exports.values())
        for done, error in enumerate(itertools.chain(frame_errors, export_errors), 1):
            errors += [error] if error else []
            if done % 100 == 0 or done == total:  # a print, since a quiet build does not show what Sphinx would log
                print(f"  pictures {done} of {total}", flush=True)
    if errors:
        raise ExtensionError("figures failed:\n  " + "\n  ".join(errors))


# The page ----------------------------------------------------------------------------------------------------------------

def figure_html(shown: Shown, store: Path, site: str, identifier: str, number: str) -> str:
    """The figure as the page holds it. `site` is the way from the page to the site's folder of pictures."""
    spec, base = shown.spec, f"{site}{shown.folder}/"
    width, height = (round(inches * DPI / 2) for inches in spec.size)
    readout = (store / shown.folder / f"{shown.default}.txt").read_text("utf-8")
    sliders = "".join(_slider_html(identifier, *pair) for pair in zip(shown.moving, shown.grids, shown.at, strict=True))
    data = ""
    if shown.moving:
        texts = {key: (store / shown.folder / f"{key}.txt").read_text("utf-8") for key, _ in shown.frames()}
        start = spec.parameters(**shown.given)
        held = [f"{s.label} = {start[name]:.4g}" for name, s in spec.sliders.items() if s not in shown.moving]
        note = f'<p class="dp-held">Held still on this page: {_e("; ".join(held))}. All move in JupyterLab.</p>' if held else ""
        sliders = f'<div class="dp-sliders" hidden>{sliders}<button type="button" class="dp-reset">Reset</button>{note}</div>'
        payload = {"base": base, "values": shown.grids, "readouts": texts}
        safe = json.dumps(payload, ensure_ascii=False).replace("</", "<\\/")
        data = f'<script type="application/json" class="dp-frames">{safe}</script>'
    attribute = json.dumps(shown.description, sort_keys=True).replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;")
    label = f'<span class="dp-number">Figure {number}.</span> ' if number else ""
    loading = ' loading="lazy"' if shown.kind == "gallery" else ""  # elsewhere paper must not wait for pictures
    name = f'<p class="dp-name"><code>{spec.name}</code> ({_e(_origin(spec.source))})</p>' if shown.kind == "gallery" else ""
    return (
        f"<figure class=\"dp-figure dp-{shown.kind}\" id=\"{identifier}\" data-dp-spec='{attribute}'>{name}{sliders}"
        f'<img class="dp-picture dark-light" src="{base}{shown.default}.webp" alt="{html.escape(spec.alt)}" '
        f'width="{width}" height="{height}"{loading}>'
        f'<p class="dp-readout"{" aria-live=polite" if shown.moving else ""}>{_e(readout)}</p>'
        f"<figcaption>{label}{_e(spec.caption)}</figcaption>{_uses_html(shown, site)}{data}</figure>"
    )


def _origin(source: str) -> str:
    """A source figure by its id, or what else the register says about where a figure comes from."""
    return f"source figure {source}" if re.fullmatch(r"F\d+\.\d+", source) else source


def _e(text: str) -> str:
    return html.escape(text, quote=False)


def _slider_html(identifier: str, slider: figures.Slider, grid: list[float], at: int) -> str:
    own = f"{identifier}-{slider.parameter}"
    ends = [f'<span class="dp-end">{_e(text)}</span>' if text else "" for text in (slider.low_end, slider.high_end)]
    return (
        f'<div class="dp-slider"><label for="{own}">{_e(slider.label)}</label>'
        f'<output for="{own}" class="dp-value">{grid[at]:.4g}</output>'
        f'<span class="dp-track">{ends[0]}<input type="range" id="{own}" min="0" max="{len(grid) - 1}" step="1" value="{at}" '
        f'data-start="{at}" aria-valuetext="{grid[at]:.4g}">{ends[1]}</span></div>'
    )


def _uses_html(shown: Shown, site: str) -> str:
    name = shown.spec.name
    links = " ".join(f'<a href="{site}{shown.taken}.{suffix}" download>{text}</a>'
                     for suffix, text in (("pdf", "PDF"), ("svg", "SVG"), ("csv", "data (CSV)")))
    line = command(shown.spec, f"{name}.pdf", shown.given)
    return (f'<details class="dp-uses"><summary>Use this figure</summary><p>{links}</p><p><code>{_e(line)}</code></p>'
            f"<p>In words: {_e(shown.spec.alt)}</p></details>")


def chapter_of(page: str) -> int | None:
    """Chapter files carry their number: notebooks/16_leakage is chapter 16, wherever it stands in the table of contents."""
    found = re.match(r"(\d\d)_", Path(page).name)
    return int(found[1]) if found else None


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Draw, copy, and fill in every page's figures and references to figures."""
    if exception is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    store = Path(app.outdir).parent / ".frames" / sources_hash()
    pages = {path: path.read_text("utf-8") for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    found = {path: [Shown(json.loads(html.unescape(m[1]))) for m in FIGURE.finditer(text)] for path, text in pages.items()}
    shown = [s for on_page in found.values() for s in on_page]
    draw_missing(shown, store)
    places: dict[str, tuple[str, str]] = {}  # figure -> (number, address from the root of the site), where it first appears
    plans: dict[Path, list[tuple[Shown, str, str]]] = {}
    for path, on_page in found.items():
        page, plan, seen = path.relative_to(site).as_posix(), [], {}
        chapter = chapter_of(page)
        for position, s in enumerate(on_page, 1):
            seen[s.spec.name] = seen.get(s.spec.name, 0) + 1
            identifier = f"fig-{s.spec.name}" + (f"-{seen[s.spec.name]}" if seen[s.spec.name] > 1 else "")
            number = f"{chapter}.{position}" if chapter else ""
            plan.append((s, identifier, number))
            if chapter:
                places.setdefault(s.spec.name, (number, f"{page}#{identifier}"))
        plans[path] = plan
    for path, text in pages.items():
        up = "../" * (len(path.relative_to(site).parts) - 1)
        filled = iter([figure_html(s, store, f"{up}_figures/", identifier, number) for s, identifier, number in plans[path]])
        new = FIGURE.sub(lambda _, filled=filled: next(filled), text)
        new = REFERENCE.sub(functools.partial(_resolve, places=places, up=up, page=path), new)
        # The entries of this list are not listitems, so it may not say that it is a list.
        new = new.replace('<div role="list" class="citation-list">', '<div class="citation-list">')
        if new != text:
            write_atomically(path, new.encode())
    _copy(shown, store, site / "_figures")
    for old in store.parent.iterdir():
        if old != store:
            shutil.rmtree(old, ignore_errors=True)


def _resolve(match: re.Match[str], places: dict[str, tuple[str, str]], up: str, page: Path) -> str:
    name = match[1]
    if name not in places:
        raise ExtensionError(f"{page.name}: {{fig}}`{name}` refers to a figure that no chapter shows")
    number, address = places[name]
    return f'<a class="dp-ref reference internal" data-dp-ref="{name}" href="{up}{address}">Figure {number}</a>'


def _copy(shown: list[Shown], store: Path, target: Path) -> None:
    """What pages use, as hard links where the disk allows; what no page uses any more goes."""
    frames = {f"{s.folder}/{key}.webp" for s in shown for key, _ in s.frames()}
    wanted = frames | {f"{s.taken}.{suffix}" for s in shown for suffix in ("pdf", "svg", "csv")}
    for old in [path for path in target.rglob("*") if path.is_file()]:
        if old.relative_to(target).as_posix() not in wanted:
            old.unlink()
    for name in wanted:
        source, new = store / name, target / name
        if new.exists() and new.samefile(source):
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        try:
            new.hardlink_to(source)
        except OSError:
            shutil.copyfile(source, new)


# Directives and roles ----------------------------------------------------------------------------------------------------

class FigureDirective(SphinxDirective):
    """``{dp-figure} name`` shows a figure on a page without code; with ``:move:`` it has sliders."""

    required_arguments = 1
    option_spec = {"move": lambda text: (text or "").split()}  # noqa: RUF012  Sphinx's own way

    def run(self) -> list[nodes.Node]:
        spec = figures.get(self.arguments[0])
        description = {"name": spec.name, "kind": "show", "params": {}}
        if "move" in self.options:
            description |= {"kind": "explore", "move": self.options["move"] or list(spec.sliders)[:2]}
        return [nodes.raw("", placeholder(description), format="html")]


class GalleryDirective(SphinxDirective):
    """Every registered figure, chapter by chapter, as stills. Read again at each build, so that it never lags behind."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        found: list[nodes.Node] = []
        for chapter, specs in itertools.groupby(figures.all_figures().values(), key=lambda spec: spec.chapter):
            section = nodes.section(ids=[f"figures-of-chapter-{chapter}"])
            section += nodes.title("", f"Chapter {chapter}")
            for spec in specs:
                section += nodes.raw("", placeholder({"name": spec.name, "kind": "gallery", "params": {}}), format="html")
            found.append(section)
        return found or [nodes.paragraph("", "No figure is registered yet.")]


class VersionsDirective(SphinxDirective):
    """The versions of what built these pages, as a table."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        names = ["dpnotes", "numpy", "scipy", "matplotlib", "sympy", "jupyterlab", "jupyter-book", "sphinx", "nbval"]
        rows = [("Python", platform.python_version())] + [(name, version(name)) for name in names]
        rows += [("figures registered", str(len(figures.all_figures()))), ("key of the pictures", sources_hash())]
        cells = "".join(f'<tr><th scope="row">{_e(name)}</th><td>{_e(value)}</td></tr>' for name, value in rows)
        return [nodes.raw("", f'<table class="dp-versions"><tbody>{cells}</tbody></table>', format="html")]


class FigureRole(SphinxRole):
    """``{fig}`name``` is a link that reads "Figure 2.3"; the number is filled in when all pages are there."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name = html.escape(self.text)
        return [nodes.raw("", f'<a class="dp-ref" data-dp-ref="{name}">figure {name}</a>', format="html")], []


# Sphinx ------------------------------------------------------------------------------------------------------------------

def restore_numbers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Before Sphinx counts again: its own count, or it would take every page for changed."""
    env.toc_fignumbers = getattr(env, "dp_counted", env.toc_fignumbers)
    return []


def number_by_chapter(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Definition 16.2 is the second one of file 16, whichever chapters are missing before it."""
    env.dp_counted = copy.deepcopy(env.toc_fignumbers)
    for page, kinds in env.toc_fignumbers.items():
        chapter = chapter_of(page)
        for numbers in kinds.values():
            for position, identifier in enumerate(sorted(numbers, key=numbers.__getitem__), 1):
                numbers[identifier] = (chapter, position) if chapter else (position,)
    return []


def repository_buttons(app: Sphinx, config: Any) -> None:
    """The address of the repository is one setting: the buttons that need it come and go with it."""
    known = bool(config.html_theme_options.get("repository_url"))
    config.html_theme_options |= dict.fromkeys(("use_repository_button", "use_issues_button", "use_edit_page_button"), known)


def before_reading(app: Sphinx) -> None:
    """Without sphinx-thebe, whose only trace here would be the address of an outside host in every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [one for one in listeners if not one.handler.__module__.startswith("sphinx_thebe")]
    app.registry.css_files[:] = [one for one in app.registry.css_files if "thebe" not in str(one[0])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", lambda app, config: config.html_static_path.append(str(ASSETS)))
    app.connect("config-inited", repository_buttons)
    app.add_css_file("dp.css")
    app.add_js_file("dp-explore.js", defer="defer")
    app.add_directive("dp-figure", FigureDirective)
    app.add_directive("dp-gallery", GalleryDirective)
    app.add_directive("dp-versions", VersionsDirective)
    app.add_role("fig", FigureRole())
    app.connect("builder-inited", before_reading)
    app.connect("env-get-updated", restore_numbers, priority=100)
    app.connect("env-get-updated", number_by_chapter, priority=900)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
