"""`/healthz`, `/readyz`, `/metrics`: pages for the kubelet and Prometheus (`bounded_http`).

Answers are computed in the connection's thread: they must be quick and wait for nothing.
"""

import socket
import time
from collections.abc import Callable, Mapping
from typing import Self

from poolkeeper.bounded_http import (
    PATIENCE_S,
    BoundedHandler,
    BoundedServer,
    Page,
    listener_on,
)
from poolkeeper.telemetry.health import ProcessHealth

Pages = Mapping[str, Callable[[], Page]]


def pages(health: ProcessHealth, metrics: Callable[[], tuple[bytes, str]]) -> Pages:
    """Return the served pages; `metrics` returns the exposition and its content type."""

    def said(good: bool, text: str) -> Page:
        return Page(200 if good else 503, f"{text}\n".encode())

    def alive() -> Page:
        answer = health.liveness()
        return said(answer.good, answer.text)

    def ready() -> Page:
        answer = health.readiness()
        return said(answer.good, answer.text)

    return {"/healthz": alive, "/readyz": ready, "/metrics": lambda: Page(200, *metrics())}


class _ProbeHandler(BoundedHandler):
    """Answers from the served pages."""

    server: "ProbeServer"

    def answer(self) -> None:
        page = self.server.pages.get(self.path.split("?", 1)[0])
        if page is None:
            there = " ".join(sorted(self.server.pages))
            self.respond(Page(404, f"nothing here; there are {there}\n".encode()))
        else:
            self.respond(page())


class ProbeServer(BoundedServer):
    """Serves until closed; `address` is where it listens, with the actual port for port 0."""

    def __init__(
        self, listener: socket.socket, pages: Pages, patience_s: float, clock: Callable[[], float]
    ) -> None:
        super().__init__(listener, _ProbeHandler, "probes", patience_s, clock)
        self.pages = pages

    @classmethod
    def listening(
        cls,
        listen: str,
        pages: Pages,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """Start to serve on `HOST:PORT`; raises `Refused` or `Unavailable` if that cannot be."""
        return cls(listener_on(listen), pages, patience_s, clock).begin()
