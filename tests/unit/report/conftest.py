"""Pages and Markdown are read as a browser and a forge do, and must mean what they say."""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
VOID = {"meta", "input"}
PAGE_OF_OURS = re.compile(r"(\.\./)?report-[0-9-]+(/[a-z0-9.-]+)?\.html")


@dataclass
class Page(HTMLParser):
    """What is in a page; reading it fails where elements are not balanced."""

    tags: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    children: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        self.tags.add(tag)
        self.attributes.update(names)
        self.children.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")

    @property
    def text(self) -> str:
        return "".join(self.texts)


def read(markup: str) -> Page:
    page = Page()
    page.feed(markup)
    page.close()
    assert page.open == []
    return page


def _check_policy(page: Page, markup: str) -> None:
    """A browser runs and styles exactly what is in the page, and asks nobody for anything."""
    (policy,) = [a["content"] for _, a in page.children if "http-equiv" in a]
    allowed = ["default-src 'none'"]
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        inside = re.findall(f"<{tag}>(.*?)</{tag}>", markup, re.DOTALL)
        assert len(inside) == sum(name == tag for name, _ in page.children) <= 1
        for content in inside:
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            allowed.append(f"{source} 'sha256-{digest}'")
    assert policy == "; ".join((*allowed, "base-uri 'none'", "form-action 'none'"))


@pytest.fixture(scope="session")
def read_page() -> Callable[[str], Page]:
    """Read a whole page and check what every page of ours must be."""

    def reading(markup: str) -> Page:
        assert markup.startswith('<!DOCTYPE html>\n<html lang="en">')
        page = read(markup)
        assert page.tags <= {
            *("html", "head", "meta", "title", "style", "body", "header", "main", "footer"),
            *("section", "h1", "h2", "p", "ul", "li", "b", "i", "span", "code", "div"),
            *("table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary"),
            *("figure", "figcaption", "svg", "desc", "path", "text"),
            *("a", "script", "label", "input", "output"),
        }
        # Nothing that loads, and nothing that runs but our own script: the page is complete.
        assert page.attributes <= {
            *("lang", "charset", "name", "content", "class", "scope", "role", "aria-label"),
            *("viewbox", "d", "x", "y", "text-anchor", "http-equiv", "href", "type", "hidden"),
            *("placeholder", "tabindex", "data-by", "data-o"),
        }
        for tag, attributes in page.children:
            if tag == "svg":
                assert attributes["role"] == "img"
                assert attributes["aria-label"]
            if "href" in attributes:
                assert tag == "a"
                assert PAGE_OF_OURS.fullmatch(attributes["href"])
        _check_policy(page, markup)
        assert "http" not in markup.partition("<style>")[2].partition("</style>")[0]
        counts = [sum(tag == wanted for tag, _ in page.children) for wanted in ("table", "caption")]
        assert counts[0] == counts[1]
        return page

    return reading


@pytest.fixture(scope="session")
def read_markdown() -> Callable[[str], Page]:
    """Render as a forge does, and check that there is only what we write."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

    def reading(markdown: str) -> Page:
        page = read(renderer.render(markdown))
        assert page.tags <= {
            *("h1", "h2", "p", "strong", "code", "ul", "li", "details", "summary"),
            *("table", "thead", "tbody", "tr", "th", "td"),
        }
        assert page.attributes <= {"style"}
        return page

    return reading


@pytest.fixture
def golden(update_golden: bool) -> Callable[[str, str], None]:
    """Compare with a file of `tests/golden/report`, or rewrite it."""

    def compare(name: str, written: str) -> None:
        if update_golden:
            (GOLDEN / name).write_text(written, encoding="utf-8")
        assert written == (GOLDEN / name).read_text(encoding="utf-8")

    return compare
