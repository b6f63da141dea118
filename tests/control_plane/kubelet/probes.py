"""Asking a container how it is, and what to make of the answers.

A verdict changes only after enough answers of the other kind in a row (`counted`). Before the
first answer a container is not ready, alive, and, if it has a startup probe, not started; until it
is started nobody asks the other two. One thread asks one question, so that a slow answer delays no
other.
"""

import http.client
import socket
import ssl
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import Any

from control_plane.kubelet import podspecs
from control_plane.kubelet.environments import Missing
from control_plane.kubelet.podspecs import Container, Probe

# A command to execute in the container, its limit in seconds -> its exit code.
Execute = Callable[[list[str], float], int]


@dataclass(frozen=True, slots=True)
class Tally:
    """The verdict so far and how many answers against it came in a row; None: no verdict yet."""

    verdict: bool | None = None
    streak: int = 0
    latest: bool | None = None


def counted(tally: Tally, answer: bool, probe: Probe) -> Tally:
    """Count one more answer. With thresholds 3 and 1: good bad bad stays good, one more is bad."""
    streak = tally.streak + 1 if answer == tally.latest else 1
    enough = streak >= (probe.successes if answer else probe.failures)
    return Tally(answer if enough else tally.verdict, streak, answer)


def ask_regularly(
    probe: Probe, ask: Callable[[], bool], on_verdict: Callable[[bool], None], stop: Event
) -> None:
    """Ask until `stop`; pass on every verdict that differs from the one before."""
    tally = Tally()
    pause_s = probe.initial_delay_s
    while not stop.wait(pause_s):
        before, tally = tally, counted(tally, ask(), probe)
        if tally.verdict is not None and tally.verdict != before.verdict and not stop.is_set():
            on_verdict(tally.verdict)
        pause_s = probe.period_s


def answer(probe: Probe, container: Container, ip: str, execute: Execute) -> bool:
    """Ask once; every kind of failure to answer is a no."""
    try:
        match probe.action:
            case {"httpGet": get}:
                return 200 <= http_status(get, container, ip, probe.timeout_s) < 400
            case {"tcpSocket": opened}:
                return _connects(opened, container, ip, probe.timeout_s)
            case {"exec": run}:
                return execute(list(run["command"]), probe.timeout_s) == 0
    except (OSError, http.client.HTTPException, subprocess.TimeoutExpired, Missing):
        return False
    return False


def http_status(get: Mapping[str, Any], container: Container, ip: str, timeout_s: float) -> int:
    """Return the status that an httpGet action is answered with; certificates are not checked."""
    host, port = get.get("host") or ip, podspecs.port_number(container, get["port"])
    connection: http.client.HTTPConnection
    if get.get("scheme") == "HTTPS":
        unchecked = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=unchecked)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    headers = {each["name"]: each["value"] for each in get.get("httpHeaders", ())}
    with closing(connection):
        connection.request("GET", get.get("path") or "/", headers=headers)
        return connection.getresponse().status


def _connects(opened: Mapping[str, Any], container: Container, ip: str, timeout_s: float) -> bool:
    address = opened.get("host") or ip, podspecs.port_number(container, opened["port"])
    with socket.create_connection(address, timeout_s):
        return True
