"""The built site as a reader's browser meets it. `make test` builds it first."""

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
def page(browser: object) -> Iterator[object]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
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


@pytest.mark.parametrize("way", ["http", "file"])
def test_no_console_error_and_no_outside_request(way: str, browser: object, site: Path, served: str) -> None:
    start = served if way == "http" else site.as_uri() + "/"
    problems = []
    context = browser.new_context()
    for name in PAGES:
        tab = context.new_page()
        tab.on("console", lambda m, name=name: m.type in ("error", "warning") and problems.append((name, m.text)))
        tab.on("pageerror", lambda error, name=name: problems.append((name, str(error))))
        tab.on("requestfailed", lambda r, name=name: problems.append((name, "failed", r.url)))
        tab.on("response", lambda r, name=name: r.status >= 400 and problems.append((name, r.status, r.url)))
        tab.on("request", lambda r, name=name: r.url.startswith((start, "data:", "blob:")) or problems.append((name, r.url)))
        opened(tab, start + name)
        for image in tab.locator("img").all():
            image.scroll_into_view_if_needed()
        tab.wait_for_load_state("networkidle")
        tab.close()
    context.close()
    assert problems == []


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


@pytest.mark.parametrize("name", CHAPTERS)
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(scheme: str, browser: object, site: Path) -> None:
    context, serious = browser.new_context(color_scheme=scheme), []
    for name in PAGES:
        tab = context.new_page()
        opened(tab, (site / name).as_uri())
        assert tab.evaluate("document.documentElement.dataset.theme") == scheme
        tab.add_style_tag(content="* { animation: none !important; transition: none !important; }")  # no half-faded text
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        only = {"runOnly": ["color-contrast"]} if scheme == "dark" else None  # all else is the same in both, and takes minutes
        for found in Axe().run(tab, options=only).response["violations"]:
            if found["impact"] in ("serious", "critical"):
                serious += [(name, found["id"], node["html"][:120]) for node in found["nodes"]]
        tab.close()
    context.close()
    assert serious == []


def test_a_small_screen_needs_no_sideways_scrolling(browser: object, site: Path) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800})
    widths = {}
    for name in PAGES:
        tab = context.new_page()
        opened(tab, (site / name).as_uri())
        widths[name] = tab.evaluate("document.documentElement.scrollWidth")
        tab.close()
    context.close()
    assert {name: width for name, width in widths.items() if width > 400} == {}


@pytest.mark.parametrize("name", CHAPTERS)
def test_paper_shows_no_sliders_and_everything_folded(name: str, page: object, site: Path) -> None:
    opened(page, (site / name).as_uri())
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for hidden in (".dp-sliders", ".dp-uses", ".bd-sidebar-primary"):
        assert [one for one in page.locator(hidden).all() if one.is_visible()] == [], hidden
    assert page.locator("article details:not([open]):not(.dp-uses)").count() == 0
    for content in page.locator("article .toggle > *, article details:not(.dp-uses) > *").all():
        assert content.is_visible(), content.evaluate("one => one.outerHTML.slice(0, 120)")
    pictures = page.locator("img.dp-picture").all()
    assert all(picture.is_visible() for picture in pictures) and (pictures or not Path(name).name[0].isdigit())


@pytest.mark.parametrize("name", [name for name in CHAPTERS if Path(name).name[0].isdigit()])
def test_numbers_carry_the_number_of_the_file(name: str, page: object, site: Path) -> None:
    chapter = int(Path(name).name[:2])
    opened(page, (site / name).as_uri())
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


def test_weight_of_pages(site: Path, page: object, capsys: pytest.CaptureFixture[str]) -> None:
    """What a page asks for before a slider is touched: its own part is judged, the theme's and MathJax's is printed."""
    for name in CHAPTERS:
        sizes: list[int] = []
        own: list[int] = []
        page.on("response", lambda r, s=sizes, o=own: (o if "_static" not in r.url else s).append(len(r.body())))
        opened(page, (site / name).as_uri())
        page.wait_for_load_state("networkidle")
        with capsys.disabled():
            print(f"\n    {name}: own {sum(own) / 1e3:.0f} kB, shared by all pages {sum(sizes) / 1e3:.0f} kB", end="")
        assert sum(own) < 1e6
