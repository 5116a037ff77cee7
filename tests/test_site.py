"""The built site as a reader's browser meets it. `make test` builds it first.

What needs a browser is one test a page, each in a fresh context, so that two workers share the pages (`-n 2`) and no test
finds a cache that another one has warmed.
"""

from __future__ import annotations

import hashlib
import html.parser
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from dpnotes import figures
from dpnotes.__main__ import export

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import build  # noqa: E402

PAGES = [f"{name}.html" for name in build.files_of(ROOT)]
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
every_page = pytest.mark.parametrize("name", PAGES)
every_chapter = pytest.mark.parametrize("name", CHAPTERS)


class Parsed(html.parser.HTMLParser):
    """Ids, addresses and pictures of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.loads: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        address = found.get("href") or found.get("src")
        if address:
            self.addresses.append(address)
            if tag != "a" and found.get("rel") not in ("canonical", "license"):
                self.loads.append(address)
        if tag == "img":
            self.images.append(found)


@pytest.fixture(scope="module")
def parsed(site: Path) -> dict[str, Parsed]:
    return {path.relative_to(site).as_posix(): Parsed(path) for path in site.rglob("*.html") if "_static" not in path.parts}


@pytest.fixture
def page(browser: object, request: pytest.FixtureRequest) -> Iterator[object]:
    """A tab of a context of its own; its settings come as the parameter of the fixture, where a test has some."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | getattr(request, "param", {}))
    yield context.new_page()
    context.close()


def opened(page: object, address: str) -> None:
    page.goto(address, wait_until="load")
    page.wait_for_function("!window.MathJax || !MathJax.startup || !MathJax.startup.promise || "
                           "MathJax.startup.promise.then(() => true)")


def test_every_page_of_the_table_of_contents_is_there(site: Path) -> None:
    assert PAGES[0] == "book/index.html"
    assert [page for page in PAGES if not (site / page).exists()] == []
    assert CHAPTERS


LARGEST = 1_000_000  # bytes of a page and its pictures, before a slider is touched


@every_page
@pytest.mark.parametrize(("way", "page"), [("http", {}), ("file", {"viewport": {"width": 400, "height": 800}})],
                         indirect=["page"], ids=["http", "file"])
def test_a_page_opens_without_errors_or_outside_requests(name: str, way: str, page: object, site: Path, served: str,
                                                         record_property: object) -> None:
    """From a server on a large screen, from the disk on a small one. What is asked for is weighed on the disk: caches do not count."""
    start = served if way == "http" else site.as_uri() + "/"
    problems, asked = [], set()
    page.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda r: problems.append(("failed", r.url)))
    page.on("response", lambda r: r.status >= 400 and problems.append((r.status, r.url)))
    page.on("request", lambda r: asked.add(r.url))
    opened(page, start + name)
    page.evaluate("""async () => {
        for (const image of document.images) {
            image.scrollIntoView();
            await new Promise(requestAnimationFrame);
        }
    }""")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("[...document.images].filter((one) => !one.complete || !one.naturalWidth).map((one) => one.src)") == []
    assert problems == []
    assert [url for url in asked if not url.startswith((start, "data:", "blob:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], "it scrolls sideways"
    files = {unquote(urlsplit(url).path.removeprefix(urlsplit(start).path)) for url in asked if url.startswith(start)}
    own, shared = (sum((site / file).stat().st_size for file in files if file.startswith("_static/") == theme) for theme in (False, True))
    assert name in files
    if name in CHAPTERS:
        record_property(f"weight of {name} ({way})", f"own {own / 1e3:.0f} kB, shared by all pages {shared / 1e3:.0f} kB")
        assert own < LARGEST


def test_no_page_names_another_host_to_load_from(parsed: dict[str, Parsed], site: Path) -> None:
    outside = {(name, a) for name, page in parsed.items() for a in page.loads if urlsplit(a).scheme in ("http", "https")}
    assert outside == set()
    hosts = re.compile(r"https?://[^\s\"'<>]*(?:unpkg|jsdelivr|cloudflare|googleapis|gstatic)[^\s\"'<>]*")
    assert [found for name in PAGES for found in hosts.findall((site / name).read_text("utf-8"))] == []


def test_links_anchors_and_pictures_lead_somewhere(parsed: dict[str, Parsed], site: Path) -> None:
    broken = []
    for name, page in parsed.items():
        for address in page.addresses:
            target = urlsplit(urljoin(f"site:///{name}", address).replace("site:///", "/", 1) if "://" not in address else address)
            if target.scheme or address.startswith(("data:", "mailto:", "javascript:")):
                continue
            path = unquote(urlsplit(urljoin(f"http://x/{name}", address)).path).lstrip("/")
            if not (site / path).is_file() or (target.fragment and path in parsed and unquote(target.fragment) not in parsed[path].ids):
                broken.append((name, address))
    assert broken == []


def test_every_picture_has_words(parsed: dict[str, Parsed]) -> None:
    assert [(n, i.get("src")) for n, page in parsed.items() for i in page.images if not (i.get("alt") or "").strip()] == []


@every_chapter
def test_every_slider_moves_its_picture(name: str, page: object, site: Path) -> None:
    opened(page, (site / name).as_uri())
    for figure in page.locator("figure.dp-explore").all():
        sliders, picture = figure.locator("input[type=range]").all(), figure.locator("img.dp-picture")
        at_first, reset = picture.get_attribute("src"), figure.locator(".dp-reset")
        assert sliders
        for slider in sliders:
            for act in (_by_key, _by_mouse):
                words = slider.get_attribute("aria-valuetext"), figure.locator(".dp-value").all_inner_texts()
                act(page, slider)
                page.wait_for_function("([image, old]) => image.getAttribute('src') !== old && image.complete && image.naturalWidth",
                                       arg=[picture.element_handle(), at_first], timeout=5000)
                assert slider.get_attribute("aria-valuetext") != words[0]
                assert figure.locator(".dp-value").all_inner_texts() != words[1]
                reset.click()
                page.wait_for_function("([image, old]) => image.getAttribute('src') === old",
                                       arg=[picture.element_handle(), at_first], timeout=5000)
                assert slider.get_attribute("aria-valuetext") == words[0]
            assert slider.evaluate("slider => slider.labels.length") == 1
        assert figure.locator(".dp-readout").get_attribute("aria-live") == "polite"


def _by_key(page: object, slider: object) -> None:
    slider.focus()
    page.keyboard.press("ArrowLeft" if slider.input_value() == slider.get_attribute("max") else "ArrowRight")


def _by_mouse(page: object, slider: object) -> None:
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    share = int(slider.input_value()) / int(slider.get_attribute("max"))
    page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + (0.9 if share < 0.5 else 0.1) * box["width"], box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()


def test_the_book_has_something_that_moves(parsed: dict[str, Parsed], site: Path) -> None:
    assert sum((site / name).read_text("utf-8").count('class="dp-figure dp-explore"') for name in CHAPTERS) >= 1


def test_frames_that_sliders_ask_for_are_all_there(site: Path) -> None:
    import itertools
    import json

    for name in PAGES:
        for text in re.findall(r'class="dp-frames">(.*?)</script>', (site / name).read_text("utf-8"), re.S):
            data = json.loads(text)
            keys = ["-".join(map(str, place)) for place in itertools.product(*(range(len(v)) for v in data["values"]))]
            assert sorted(keys) == sorted(data["readouts"])
            folder = (site / name).parent / data["base"]
            assert [key for key in keys if not (folder / f"{key}.webp").is_file()] == []
            pictures = {hashlib.sha256((folder / f"{key}.webp").read_bytes()).digest() for key in keys}
            assert len(pictures) > 1, f"{name}: the frames of {data['base']} are all the same picture"


# Marks the text whose contrast is to be measured: of all that has the same color, size and grounds, the three longest (axe
# says nothing about a single character). A page of code has thousands of spans of a few dozen kinds.
MARK = """() => {
    const texts = new Set(), seen = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.data.trim()) texts.add(walker.currentNode.parentElement);
    const length = (element) => element.textContent.trim().length;
    for (const element of [...texts].sort((one, other) => length(other) - length(one))) {
        if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        const own = getComputedStyle(element), look = [own.color, own.fontSize, own.fontWeight, own.textShadow];
        for (let ground = element; ground; ground = ground.parentElement) {
            const { backgroundColor, backgroundImage, opacity, filter, position, clip, clipPath } = getComputedStyle(ground);
            look.push(backgroundColor, backgroundImage, opacity, filter, position, clip, clipPath);
        }
        const key = look.join(), count = (seen.get(key) ?? 0) + 1;
        seen.set(key, count);
        if (count <= 3) element.dataset.look = "";
    }
    return seen.size;
}"""


@every_page
@pytest.mark.parametrize("page", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=["light", "dark"])
def test_axe_finds_nothing_serious(name: str, page: object, site: Path, request: pytest.FixtureRequest) -> None:
    scheme = request.node.callspec.params["page"]["color_scheme"]
    opened(page, (site / name).as_uri())
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.add_style_tag(content="* { animation: none !important; transition: none !important; }")  # no half-faded text
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate(MARK) > 10
    page.evaluate(Axe().axe_script)
    page.evaluate("axe.configure({ rules: [{ id: 'color-contrast', selector: '[data-look]' }] })")
    only = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}  # all else is the same in both
    results = page.evaluate("options => axe.run(options)", only | {"resultTypes": ["violations"]})
    assert "color-contrast" in [one["id"] for one in results["passes"] + results["violations"]]
    assert [(one["id"], node["html"][:120]) for one in results["violations"] if one["impact"] in ("serious", "critical")
            for node in one["nodes"]] == []


@every_chapter
def test_paper_shows_no_sliders_and_everything_folded(name: str, page: object, site: Path) -> None:
    opened(page, (site / name).as_uri())
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for hidden in (".dp-sliders", ".dp-uses", ".bd-sidebar-primary"):
        assert [one for one in page.locator(hidden).all() if one.is_visible()] == [], hidden
    assert page.locator("article details:not([open]):not(.dp-uses)").count() == 0
    assert page.locator("article .toggle > *, article details:not(.dp-uses) > *").evaluate_all("""all => all.filter((one) => {
        const { width, height } = one.getBoundingClientRect();
        return !width || !height || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    }).map((one) => one.outerHTML.slice(0, 120))""") == []
    pictures = page.locator("img.dp-picture").all()
    assert all(picture.is_visible() for picture in pictures) and (pictures or not Path(name).name[0].isdigit())


@pytest.mark.parametrize("page", [{"java_script_enabled": False}], indirect=True, ids=["without scripts"])
@pytest.mark.parametrize("name", [name for name in CHAPTERS if Path(name).name[0].isdigit()])
def test_numbers_carry_the_number_of_the_file(name: str, page: object, site: Path) -> None:
    chapter = int(Path(name).name[:2])
    page.goto((site / name).as_uri())
    assert page.locator("h1").first.inner_text().startswith(f"{chapter}. ")
    numbers = page.locator(".dp-number, .proof > .admonition-title .caption-number, .exercise > .admonition-title .caption-number")
    for text in numbers.all_inner_texts():
        assert re.search(rf"\b{chapter}\.\d+\b", text) or text.strip() in ("Proof",), text


def test_files_to_take_away_are_those_of_the_command_line(site: Path, tmp_path: Path) -> None:
    spec = next(iter(figures.all_figures().values()))
    for suffix in ("pdf", "svg", "csv"):
        export(spec, tmp_path / f"figure.{suffix}", {})
        assert (site / "_figures" / f"{spec.name}.{suffix}").read_bytes() == (tmp_path / f"figure.{suffix}").read_bytes()


def test_the_gallery_has_every_figure(parsed: dict[str, Parsed]) -> None:
    assert {f"fig-{name}" for name in figures.all_figures()} <= parsed["book/gallery.html"].ids
