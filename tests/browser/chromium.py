"""A headless Chromium, driven over its own protocol (DevTools), and what a page in it does.

A `Tab` keeps what its page asked the network for and what it said to the console. Keys are real
ones: they go through the browser as those of a keyboard do.
"""

import json
import re
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import websocket

from conditions import until

PACKAGES = "a browser is needed: apt-get install --no-install-recommends chromium"
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--remote-debugging-port=0"),
)
STARTS_S = 120.0
ANSWERS_S = 60.0
KEYS = {
    **{"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "PageDown": 34},
    **{"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40},
}
TEXTS = {"Enter": "\r"}


@contextmanager
def chromium(folder: Path) -> Iterator["Chromium"]:
    """Start a browser whose profile is a new folder in `folder`, and end it."""
    program = shutil.which("chromium")
    assert program is not None, PACKAGES
    profile, log = folder / "profile", folder / "chromium.log"
    words = (program, *OPTIONS, f"--user-data-dir={profile}")
    with log.open("wb") as said, subprocess.Popen(words, stdout=said, stderr=said) as process:
        try:
            found = until(
                lambda: re.search(r"listening on (ws://\S+)", log.read_text(errors="replace")),
                f"Chromium answers, or says in {log} why not",
                STARTS_S,
            )
            browser = Chromium(found[1])
            yield browser
            browser.close()
            process.wait(30)
        finally:
            process.kill()


class Chromium:
    """The connection to a browser; all tabs share it."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(
            address, timeout=ANSWERS_S, suppress_origin=True, enable_multithread=False
        )
        self._number = 0
        self._tabs: dict[str, Tab] = {}

    def call(self, method: str, session: str = "", **params: object) -> dict[str, Any]:
        """Return the browser's answer; what pages do meanwhile goes to their tabs."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps({**asked, **({"sessionId": session} if session else {})}))
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                return told["result"]

    def _next(self) -> dict[str, Any]:
        told = json.loads(self._socket.recv())
        tab = self._tabs.get(told.get("sessionId", ""))
        if tab is not None and "method" in told:
            tab.hear(told["method"], told["params"])
        return told

    @contextmanager
    def tab(self, width: int = 1280, scheme: str = "light") -> Iterator["Tab"]:
        """Give an empty page in a profile of its own, `width` pixels wide."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        tab = Tab(self, session["sessionId"])
        self._tabs[session["sessionId"]] = tab
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.resize(width)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        tab.call("Emulation.setEmulatedMedia", features=features)
        tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
        try:
            yield tab
        finally:
            del self._tabs[session["sessionId"]]
            self.call("Target.disposeBrowserContext", browserContextId=context)

    def close(self) -> None:
        self.call("Browser.close")
        self._socket.close()


class Tab:
    """A page: `requests` are the addresses that it asked for, `complaints` what it said."""

    HEIGHT = 900

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.loads = 0

    def call(self, method: str, **params: object) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, address: str) -> float:
        """Load a page; return the seconds until it was loaded and painted."""
        before, began = self.loads, time.monotonic()
        failed = self.call("Page.navigate", url=address).get("errorText")
        assert failed is None, (address, failed)
        self.until(lambda: self.loads > before, f"{address} is loaded")
        self.painted()
        return time.monotonic() - began

    def until(self, holds: Callable[[], object], what: str, patience_s: float = ANSWERS_S) -> None:
        """Wait for something of the page."""
        until(lambda: self.run("1") and holds(), what, patience_s)

    def run(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def painted(self) -> None:
        """Wait until all that was done can be seen."""
        self.run("new Promise((then) => requestAnimationFrame(() => setTimeout(then)))")

    def press(self, key: str, *, shift: bool = False) -> float:
        """Press a key; return the seconds until the page has answered and painted."""
        began = time.monotonic()
        said = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 * shift}
        written = {"text": TEXTS[key]} if key in TEXTS else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **said, **written)
        self.call("Input.dispatchKeyEvent", type="keyUp", **said)
        self.painted()
        return time.monotonic() - began

    def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="char", text=letter)

    def resize(self, width: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": self.HEIGHT, "deviceScaleFactor": 1, "mobile": False},
        )

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """Write what can be seen into a PNG, or the whole page."""
        taken = self.call(
            "Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole)
        )
        file.write_bytes(b64decode(taken["data"]))

    def _clip(self, whole: bool) -> dict[str, object]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {**size, "height": min(size["height"], 6000), "scale": 1}}
