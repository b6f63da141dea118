"""What a server puts around a page: the other places, and a script that keeps the page up to date.

The script asks the server that the page came from, and no other. Where the reader has selected a
text or is about to follow a link, the page stays as it is until the next news. What is open stays
open, what was scrolled stays there, and what has the focus keeps it. The line beside the places is
read out by screen readers when it changes, the page is not. Pages with many pictures are not
replaced under the reader's eyes: a link beside the places says that there is a newer one.

Without the script the browser loads the page again every `refresh_s`.
"""

from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.report.html.markup import element, text


class PageLink(NamedTuple):
    """A page to go to; `is_here`: it is this one."""

    label: str
    href: str
    is_here: bool = False


@frozen
class Frame:
    """The places, the path of the stream of events, and how often the page is loaded without it.

    `told` stands beside the places: when the page was made.
    """

    places: tuple[PageLink, ...]
    events: str
    refresh_s: int
    told: str = ""


def refresh(frame: Frame) -> str:
    """For the head: load the page again where no script runs."""
    return f'<noscript><meta http-equiv="refresh" content="{frame.refresh_s}"></noscript>'


def places(frame: Frame) -> str:
    """The list of places, with the line in which the script tells news."""
    links = (
        element(
            "li",
            element(
                "a",
                text(each.label),
                href=each.href,
                **({"aria_current": "page"} if each.is_here else {}),
            ),
        )
        for each in frame.places
    )
    skip = element("a", "Skip to the page", href="#page", class_="skip")
    news = element("p", element("output", text(frame.told)), class_="news")
    return element("nav", skip, element("ul", *links), news, aria_label="Pages")


def replaceable(frame: Frame, content: str) -> str:
    """The part of the page that news replace."""
    return element("div", content, id="page", tabindex="-1", data_events=frame.events)


CSS = """
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; align-items: baseline;
  margin: -1rem 0 1.2rem; padding-bottom: .5rem; border-bottom: 1px solid var(--line); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: 0;
  padding: 0; }
nav a { color: var(--soft); text-decoration: none; padding: .2rem 0; }
nav a:hover { color: var(--ink); text-decoration: underline; }
nav a[aria-current] { color: var(--ink); font-weight: 600;
  border-bottom: 2px solid var(--after); }
nav .news { margin: 0 0 0 auto; color: var(--soft); font-size: .88rem; }
nav .news.lost { color: var(--bad); }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
#page:focus { outline: none; }
@media print { nav { display: none; } }
"""

SCRIPT = """
"use strict";
(() => {
  const page = document.getElementById("page"), news = document.querySelector("nav .news");
  const told = news.querySelector("output");
  const AGAIN_MS = 10000;
  let newer = null;
  const tell = (text, lost) => {
    if (newer && !lost) told.replaceChildren(newer);
    else if (told.textContent !== text) told.textContent = text;
    news.classList.toggle("lost", Boolean(lost));
  };
  const reached = "a[href], summary, [tabindex]:not(#page)";
  const busy = () => {
    const selection = getSelection();
    return !selection.isCollapsed && page.contains(selection.anchorNode);
  };
  const replace = (markup) => {
    const all = (what) => Array.from(page.querySelectorAll(what));
    const open = all("details").map((each) => each.open);
    const scrolled = all(".scroll").map((each) => [each.scrollLeft, each.scrollTop]);
    const focus = all(reached).indexOf(document.activeElement);
    page.innerHTML = markup;
    all("details").forEach((each, n) => { each.open = open[n] ?? each.open; });
    all(".scroll").forEach((each, n) => {
      if (scrolled[n]) [each.scrollLeft, each.scrollTop] = scrolled[n];
    });
    if (focus >= 0) all(reached)[focus]?.focus({ preventScroll: true });
  };
  let waiting = null;
  const show = () => {
    if (waiting === null || busy()) return;
    document.title = waiting.title;
    replace(waiting.content);
    waiting = null;
  };
  const listen = () => {
    const source = new EventSource(page.dataset.events);
    source.addEventListener("page", (event) => { waiting = JSON.parse(event.data); show(); });
    source.addEventListener("seen", (event) => { tell(JSON.parse(event.data).told); show(); });
    source.addEventListener("newer", () => {
      newer = document.createElement("a");
      newer.href = location.pathname;
      newer.textContent = "there is a newer page";
      tell("");
    });
    source.addEventListener("error", () => {
      tell("not connected: this is what was seen before", true);
      if (source.readyState === EventSource.CLOSED) setTimeout(again, AGAIN_MS);
    });
  };
  const again = () => fetch(location.pathname, { method: "HEAD" })
    .then((answer) => { if (answer.ok) location.reload(); else setTimeout(again, AGAIN_MS); })
    .catch(() => setTimeout(again, AGAIN_MS));
  listen();
})();
"""
