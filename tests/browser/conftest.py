"""One browser for all tests of this room, and the pages that it opens, written once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browser import pages
from browser.chromium import Chromium, Tab, chromium

AUDIT = Path(__file__).with_name("audit.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return the address of a page of `pages.PAGES`."""
    made: dict[str, str] = {}

    def address(name: str) -> str:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            file = folder / "shown.html"
            file.write_text(pages.PAGES[name](folder), encoding="utf-8")
            made[name] = file.as_uri()
        return made[name]

    return address


@pytest.fixture
def audited(browser: Chromium) -> Callable[[Tab], None]:
    """Put the functions of `audit.js` into the page that a tab shows."""

    def put(tab: Tab) -> None:
        tab.run(f"{AUDIT}\n0")

    return put
