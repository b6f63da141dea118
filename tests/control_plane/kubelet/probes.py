"""Asking a container how it is, and what to make of the answers.

A verdict changes only after enough answers of the other kind in a row (`counted`). Before the
first answer a container is not ready, alive, and, if it has a startup probe, not started; until it
is started nobody asks the other two. One thread asks one question, so that a slow answer delays no
other.
"""

import http.client
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from threading import Event

from control_plane.kubelet import podspecs
from control_plane.kubelet.environments import Missing
from control_plane.kubelet.podspecs import Container, Probe


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


def answer(probe: Probe, container: Container, ip: str) -> bool:
    """Ask once; every kind of failure to answer is a no."""
    try:
        port = podspecs.port_number(container, probe.port)
        connection = http.client.HTTPConnection(ip, port, timeout=probe.timeout_s)
        with closing(connection):
            connection.request("GET", probe.path)
            return 200 <= connection.getresponse().status < 400
    except (OSError, http.client.HTTPException, Missing):
        return False
