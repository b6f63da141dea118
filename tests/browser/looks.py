"""What a page must look like for everybody, by the measures of `audit.js`, which is in it."""

from browser.chromium import Tab

CONTRAST = 4.5
"""Between a text and what is behind it."""
FOCUS_CONTRAST, FOCUS_PX = 3.0, 2.0
LETTERS_PX = 10.5
FOCUSES_MAX = 400


def check_contrast(tab: Tab, texts_min: int) -> None:
    """Every text can be read, those of closed parts as well."""
    _fold(tab, is_open=True)
    found = tab.run("poolkeeperAudit.contrasts()")
    assert len(found) >= texts_min
    assert [each for each in found if each[0] < CONTRAST] == []


def _fold(tab: Tab, *, is_open: bool) -> None:
    said = str(is_open).lower()
    tab.run(f'document.querySelectorAll("details").forEach((each) => {{ each.open = {said}; }})')


def check_layout(tab: Tab, width: int) -> None:
    """The page is as wide as the screen, its letters are large enough, none covers another."""
    tab.resize(width)
    tab.painted()
    wide, room = tab.run("[document.documentElement.scrollWidth, innerWidth]")
    assert (room, wide <= room) == (width, True), f"{wide} pixels wide on {room}"
    small = [each for each in tab.run("poolkeeperAudit.sizes()") if each[0] < LETTERS_PX]
    assert small == []
    assert tab.run("poolkeeperAudit.overlaps()") == []


def walk_focus(tab: Tab) -> list[str]:
    """Go through the page by Tab, open what is folded; return what had the focus, in order.

    The focus goes down the page, and can be seen wherever it is.
    """
    _fold(tab, is_open=False)
    tab.run("scrollTo(0, 0); document.activeElement.blur()")
    names: list[str] = []
    before = -1
    for _ in range(FOCUSES_MAX):
        tab.press("Tab")
        found = tab.run("poolkeeperAudit.focused()")
        if found is None or found["number"] < before:
            break
        assert found["seen"], found
        assert found["outline"] >= FOCUS_PX, found
        assert found["contrast"] >= FOCUS_CONTRAST, found
        names.append(found["name"])
        before = found["number"]
        if found["name"].startswith("summary "):
            tab.press("Enter")
            assert tab.run("document.activeElement.parentElement.open")
    else:
        raise AssertionError(f"the focus does not come to the end: {names[-3:]}")
    return names
