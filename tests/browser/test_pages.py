"""Pages that are files, in a real browser: they say nothing, ask nobody, and are for everybody.

How long the large ones take is measured and printed (`-rP` shows it); what is asserted is far above
it, and far below what somebody would call frozen.
"""

import json
import time
from pathlib import Path

import pytest

from browser import looks, pages
from browser.chromium import Chromium

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

OPENS_S, ANSWERS_S = 30.0, 5.0
TEXTS_MIN = 50
BAD = """<!DOCTYPE html><title>bad</title><style>
.soft { color: #999 } button:focus { outline: none } .wide { width: 3000px }</style>
<p class=soft>soft</p><button>b</button><div class=wide>.</div>
<svg viewBox="0 0 100 20" width=100><path d="M0 0h50v20h-50z" fill="#888"></path>
<text x=2 y=10 fill="#777" font-size=6>in a bar</text><text x=4 y=10 font-size=6>over it</text>
</svg>
<img src="missing.png" alt=""><script>console.error("I complain")</script>"""
LARGEST = """Array.from(document.querySelectorAll("table"))
  .reduce((a, b) => (b.tBodies[0].rows.length > a.tBodies[0].rows.length ? b : a))"""
ORDER = """Array.from(document.querySelector({table}).tBodies[0].rows,
  (row) => row.cells[{column}].dataset.o ?? row.cells[{column}].textContent)"""


def test_a_bad_page_is_found_out(browser, audited, tmp_path):
    file = tmp_path / "bad.html"
    file.write_text(BAD)
    with browser.tab() as tab:
        tab.open(file.as_uri())
        audited(tab)
        assert any("I complain" in each for each in tab.complaints)
        assert [Path(each).name for each in tab.requests] == ["bad.html", "missing.png"]
        poor = [said for ratio, said, _ in tab.run("poolkeeperAudit.contrasts()") if ratio < 4.5]
        assert sorted(poor) == ["in a bar", "soft"]
        assert tab.run("poolkeeperAudit.overlaps()") == [["in a bar", "over it"]]
        assert tab.run("poolkeeperAudit.sizes()")[0] == [6, "in a bar"]
        with pytest.raises(AssertionError, match="pixels wide"):
            looks.check_layout(tab, 360)
        with pytest.raises(AssertionError, match="outline"):
            looks.walk_focus(tab)


@pytest.mark.parametrize("name", pages.PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_asks_nobody_complains_of_nothing_and_can_be_read(
    browser, audited, page, name, scheme
):
    with browser.tab(scheme=scheme) as tab:
        tab.open(page(name))
        audited(tab)
        dark = tab.run('matchMedia("(prefers-color-scheme: dark)").matches')
        assert dark is (scheme == "dark")
        looks.check_contrast(tab, TEXTS_MIN)
        assert (tab.requests, tab.complaints) == ([page(name)], [])


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_fits_a_phone_and_a_desk_and_is_walked_by_keyboard(browser, audited, page, name):
    with browser.tab() as tab:
        tab.open(page(name))
        audited(tab)
        looks.check_layout(tab, 360)
        looks.check_layout(tab, 1280)
        reached = looks.walk_focus(tab)
        assert len(reached) >= tab.run('document.querySelectorAll("summary, a, button").length') > 0
        looks.check_layout(tab, 360)
        assert tab.complaints == []


@pytest.mark.parametrize("width", [360, 1280])
def test_arrow_keys_move_a_rehearsal_through_time(browser, page, width):
    with browser.tab(width) as tab:
        tab.open(page("rehearsal"))
        moments = tab.run(
            'Array.from(document.querySelectorAll(".scrub li"), (e) => e.textContent)'
        )
        assert len(moments) > 50

        def shown() -> tuple[str, str, list[bool]]:
            """What the slider says twice, and whether each cursor is in sight."""
            return tab.run("""(() => {
              const slider = document.querySelector(".scrub input");
              const seen = Array.from(document.querySelectorAll(".cursor"), (cursor) => {
                const line = cursor.getBoundingClientRect();
                const frame = cursor.closest(".scroll").getBoundingClientRect();
                return line.left >= frame.left && line.right <= frame.right;
              });
              return [document.querySelector(".scrub output").textContent,
                slider.getAttribute("aria-valuetext"), seen];
            })()""")

        tab.press("Tab")
        assert tab.run("document.activeElement.type") == "range"
        place = 0
        keys = ["ArrowRight"] * 3 + ["ArrowLeft", "ArrowUp", "ArrowDown", "End", "Home"]
        steps = {"ArrowRight": 1, "ArrowUp": 1, "ArrowLeft": -1, "ArrowDown": -1}
        for key in keys:
            tab.press(key)
            place = {"End": len(moments) - 1, "Home": 0}.get(key, place + steps.get(key, 0))
            assert shown() == [moments[place], moments[place], [True, True]], key
        assert any("broker=7@40%,for=10m begins" in each for each in moments)
        assert tab.complaints == []


def test_a_table_is_sorted_and_its_rows_are_found_by_keyboard(browser, page):
    with browser.tab() as tab:
        tab.open(page("fleet"))
        tab.press("Tab")
        assert tab.run("document.activeElement.type") == "search"
        tab.write("main")
        tab.until(lambda: tab.run("location.hash") == "#main", "the rows were found")
        told = tab.run('document.querySelector(".find output").textContent')
        shown, _, of = told.removesuffix(" rows").partition(" of ")
        assert 0 < int(shown) < int(of)
        tab.run("""document.querySelector(".find input").value = "";
          document.querySelector(".find input").dispatchEvent(new Event("input"))""")
        table, column = '"table:has(th:nth-child(3) button)"', 0
        read = ORDER.format(table=table, column=column)
        before = tab.run(read)
        tab.press("Tab")
        assert tab.run(f'document.activeElement.closest("table").matches({table})')
        for said, backwards in (("ascending", False), ("descending", True)):
            tab.press("Enter")
            head = 'document.activeElement.closest("th").getAttribute("aria-sort")'
            assert tab.run(head) == said
            assert tab.run(read) == sorted(before, reverse=backwards)
        assert tab.complaints == []


@pytest.mark.parametrize("name", pages.LARGE)
def test_a_large_page_opens_and_answers_keys(browser: Chromium, tmp_path, name):
    file = tmp_path / "large.html"
    file.write_text(pages.LARGE[name](), encoding="utf-8")
    with browser.tab() as tab:
        opened_s = tab.open(file.as_uri())
        took = {key: tab.press(key) for key in ("Tab", "ArrowRight", "PageDown", "End", "Home")}
        told = {"page": name, "KiB": file.stat().st_size >> 10, "opens": opened_s, **took}
        if tab.run('document.querySelector(".find") !== null'):
            began = time.monotonic()
            tab.write("cluster-0777")
            tab.until(lambda: "0777" in tab.run("location.hash"), "the rows were found")
            told["find"] = time.monotonic() - began
            tab.run(f"{LARGEST}.tHead.querySelector('button').focus()")
            took["sort"] = told["sort"] = tab.press("Enter")
            assert tab.run(f"{LARGEST}.tHead.querySelector('th').ariaSort") == "ascending"
        print(
            json.dumps(
                {
                    key: each if key in ("page", "KiB") else round(each, 3)
                    for key, each in told.items()
                }
            )
        )
        assert opened_s < OPENS_S
        assert {key: each for key, each in took.items() if each >= ANSWERS_S} == {}
        assert (tab.requests, tab.complaints) == ([file.as_uri()], [])
