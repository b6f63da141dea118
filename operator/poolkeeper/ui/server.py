"""Serves the pages, read-only, to whoever has the token: on 127.0.0.1 unless told otherwise.

Every request is checked in this order: its method (GET or HEAD), its Host, its token, its address.
An address with the token answers with the cookie and leads on without the token: so that it is
neither in the browser's history nor told to anybody, and so that the cookie, which no other site
may send, is there from the next request on. Nothing that a request holds is written anywhere.

`bounded_http` bounds connections and their time; at most `bounded_http.HELD_MAX` streams of events
are open at one time, and a viewer beyond that loads its page again now and then.
"""

import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from poolkeeper.bounded_http import BoundedHandler, BoundedServer, Page, listener_on
from poolkeeper.errors import PoolkeeperError
from poolkeeper.report.html.markup import element
from poolkeeper.report.html.page import digest
from poolkeeper.report.html.script import SCRIPT
from poolkeeper.ui import access, events
from poolkeeper.ui.access import Access
from poolkeeper.ui.registry import LivePages, View

HOST = "127.0.0.1"
PATIENCE_S = 30.0
"""How long a connection may take, the first look and a page of megabytes included."""
SEND_S = 10.0
"""How long a viewer may take no piece of a stream."""
END_S = 3.0
HTML = "text/html; charset=utf-8"
FLEET = "/fleet"
ALIVE = "/healthz"
"""Answered to everybody: a kubelet has no token."""

CLOSED_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
FILE_POLICY = f"{CLOSED_POLICY}; style-src 'unsafe-inline'; script-src {digest(SCRIPT)}"
"""Of files that were written before: their style, and the one script that reports have."""
ALWAYS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_OTHER_HOST = Page(403, b"this server answers as 127.0.0.1 or localhost only\n")
_NO_TOKEN = Page(403, b"open the address that `poolkeeper ui` printed: it has the token\n")
_NO_TOKEN_OF_OTHERS = Page(403, b"open this address with ?token= and the token behind it\n")
_NO_STREAM = Page(503, b"too many pages are open; this one is loaded again now and then\n")
_NOTHING = Page(404, b"there is no such page\n")


class _SiteHandler(BoundedHandler):
    """Answers from the site."""

    server: "LiveServer"

    def answer(self) -> None:
        path, _, query = self.path.partition("?")
        if not self.server.access.admits(self.headers.get_all("Host", [])):
            self._send(_OTHER_HOST)
        elif path == ALIVE:
            self._send(Page(200, b"serving\n"))
        elif self.server.access.is_in_query(query):
            known = path in self.server.site.views  # else a link could lead to another host
            to = path if known else self.server.site.home
            self._send(_onward(to), {"Set-Cookie": self.server.access.set_cookie})
        elif not any(map(self.server.access.is_in_cookies, self.headers.get_all("Cookie", []))):
            self._refuse()
        else:
            self._route(path, query)

    def _route(self, path: str, query: str) -> None:
        site = self.server.site
        base, _, last = path.rpartition("/")
        if path == "/":
            self._send(_onward(site.home))
        elif path in site.views:
            markup, policy = site.views[path].whole()
            policy = f"{policy}; frame-ancestors 'none'"
            self._send(Page(200, markup.encode("utf-8", "replace"), HTML), _policy(policy))
        elif last == "events" and base in site.views:
            self._stream(site.views[base], query.rpartition("shown=")[2])
        elif site.fleet and (path == FLEET or path.startswith(f"{FLEET}/")):
            self._fleet(path.removeprefix(FLEET).removeprefix("/"))
        else:
            self._send(_NOTHING)

    def _fleet(self, name: str) -> None:
        fleet = self.server.site.fleet
        assert fleet is not None, "asked for only where there is one"
        try:
            if not name:
                latest = fleet.latest()
                none = Page(404, b"there is no report yet: `poolkeeper fleet report` makes it\n")
                self._send(_onward(f"{FLEET}/{latest}") if latest else none)
                return
            file = fleet.read(name)
        except PoolkeeperError as error:
            self._send(Page(502, f"{error}\n".encode()))
            return
        if file is None:
            self._send(_NOTHING)
        else:
            self._send(Page(200, file.body, file.content_type), _policy(FILE_POLICY))

    def _stream(self, view: View, mark: str) -> None:
        """Send events until the viewer goes, the server ends, or it shows another page here."""
        if self.headers.get("Sec-Fetch-Site", "") in access.FOREIGN_SITES:
            self._refuse()  # another page shall not use up the streams
            return
        if self.command == "HEAD":
            self._send(Page(200, b"", events.CONTENT_TYPE))
            return
        if not self.server.hold(self.connection, events.STREAM_S + SEND_S):
            self._send(_NO_STREAM, {"Retry-After": "10"})
            return
        self.connection.settimeout(SEND_S)
        self.begin(200, {"Content-Type": events.CONTENT_TYPE, **ALWAYS, **_policy(CLOSED_POLICY)})
        for piece in events.stream(view, mark, lambda: not self.server.shows(view)):
            self.wfile.write(piece)

    def _refuse(self) -> None:
        self._send(_NO_TOKEN_OF_OTHERS if self.server.access.by_any_name else _NO_TOKEN)

    def _send(self, page: Page, headers: Mapping[str, str] | None = None) -> None:
        self.respond(page, {**ALWAYS, **_policy(CLOSED_POLICY), **(headers or {})})


def _policy(policy: str) -> dict[str, str]:
    return {"Content-Security-Policy": policy}


def _onward(path: str) -> Page:
    """A page that leads on; after a redirect browsers would take the next request for foreign."""
    meta = element("meta", http_equiv="refresh", content=f"0; url={path}")
    head = '<meta charset="utf-8">' + meta.removesuffix("</meta>") + "<title>Poolkeeper</title>"
    body = element("a", "on to the page", href=path)
    page = element("html", element("head", head), element("body", body), lang="en")
    return Page(200, f"<!DOCTYPE html>\n{page}\n".encode("utf-8", "replace"), HTML)


class LiveServer(BoundedServer):
    """Serves until closed; `url` is the address to open, with the token."""

    def __init__(
        self, listener: socket.socket, site: LivePages, token: str, *, by_any_name: bool = False
    ) -> None:
        super().__init__(listener, _SiteHandler, "pages", PATIENCE_S)
        self.site = site
        self.access = Access(token, self.address[1], by_any_name)
        self._ending = False

    @classmethod
    def listening(cls, port: int, site: LivePages) -> Self:
        """Start to serve on a port of 127.0.0.1, 0 for any; raises `Unavailable`."""
        return cls(listener_on(f"{HOST}:{port}"), site, access.new_token()).begin()

    @classmethod
    def open_to_others(cls, listen: str, site: LivePages, token: str) -> Self:
        """Start to serve on `HOST:PORT` whoever has this token; raises as `listener_on`."""
        return cls(listener_on(listen), site, token, by_any_name=True).begin()

    def show(self, site: LivePages) -> None:
        """Show other pages from now on, and end the looks of those before."""
        before, self.site = self.site, site
        before.close(END_S)

    def admit(self, token: str, site: LivePages) -> None:
        """Serve whoever has this token, and nobody else, from now on; `site` as `show` has it."""
        self.access = replace(self.access, token=token)
        self.show(site)

    @property
    def url(self) -> str:
        """The address that is printed."""
        return f"http://{HOST}:{self.address[1]}/?{access.QUERY}={self.access.token}"

    def shows(self, view: View) -> bool:
        """Whether this view is still the page at its address; its looks have ended if it is not."""
        return not self._ending and self.site.views.get(view.path) is view

    def close(self) -> None:
        """Stop listening, end all streams and looks."""
        self._ending = True
        super().close()
        self.site.close(END_S)
