"""Stands in for the operator where a test is about the chart: answers probes, ends on SIGTERM.

Run as the operator is: `standin.py run --kubernetes … --listen=HOST:PORT …`. It refuses to start
where it is root, may write next to its own file, or may not write to /tmp.
"""

import os
import signal
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Probes(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path in ("/healthz", "/readyz", "/metrics") else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()


def main(arguments: list[str]) -> None:
    print("started with", *arguments, flush=True)
    assert arguments[:2] == ["run", "--kubernetes"]
    assert os.getuid() == 65532, f"user is {os.getuid()}"
    with tempfile.NamedTemporaryFile(dir="/tmp"):
        pass
    try:
        Path(__file__).with_name("written").touch()
    except OSError as refused:
        print("the root is read-only:", refused, flush=True)
    else:
        sys.exit("the root file system can be written")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listen = dict(one.lstrip("-").split("=", 1) for one in arguments[2:])["listen"]
    host, _, port = listen.rpartition(":")
    ThreadingHTTPServer((host, int(port)), Probes).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
