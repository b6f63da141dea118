"""What the kubelet says of a pod, and how it counts answers. No server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control_plane.kubelet import podspecs, probes, statuses
from control_plane.kubelet.podspecs import Probe
from control_plane.kubelet.probes import Tally
from control_plane.kubelet.runners import back_off_s
from control_plane.kubelet.statuses import NOT_BEGUN, Running, State, Terminated, View, Waiting

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
RUNS = Running(EARLY)
DONE = Terminated(0, "Completed", "", EARLY, LATE)
BROKE = Terminated(1, "Error", "why", EARLY, LATE)
CRASHED = Waiting("CrashLoopBackOff")


def view(state: State, policy: str = "Always", **more: Any) -> View:
    """A container in a state."""
    body = {"spec": {"restartPolicy": policy, "containers": [{"name": "main", "image": "app"}]}}
    return View(podspecs.container(body), state, **more)


@pytest.mark.parametrize(
    ("found", "phase"),
    [
        pytest.param(view(NOT_BEGUN), "Pending", id="new"),
        pytest.param(view(Waiting("ImagePullBackOff")), "Pending", id="never-ran"),
        pytest.param(view(RUNS), "Running", id="running"),
        pytest.param(view(CRASHED, last=BROKE), "Running", id="between-two-runs"),
        pytest.param(view(BROKE), "Running", id="will-be-restarted"),
        pytest.param(view(DONE, "OnFailure"), "Succeeded", id="done"),
        pytest.param(view(BROKE, "Never"), "Failed", id="failed"),
        pytest.param(view(BROKE, stopping=True), "Failed", id="stopped-while-failed"),
        pytest.param(view(NOT_BEGUN, stopping=True), "Pending", id="stopped-before-it-ran"),
    ],
)
def test_phase(found: View, phase: str) -> None:
    assert found.phase == phase


def status(found: View, before: dict[str, Any], now: str) -> dict[str, Any]:
    return statuses.pod_status(found, before, "127.1.0.1", EARLY, now)


def condition(kind: str, holds: bool, since: str, reason: str | None = None) -> dict[str, Any]:
    return {"type": kind, "status": str(holds), "lastTransitionTime": since, "reason": reason}


def test_a_whole_status_and_the_one_after_it() -> None:
    first = status(view(RUNS, started=True, pid=7), {}, EARLY)
    container = {
        "name": "main",
        "image": "app",
        "imageID": "app",
        "containerID": "process://7",
        "ready": False,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": EARLY}},
        "lastState": {},
    }
    expected = {
        "phase": "Running",
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": "127.1.0.1",
        "podIPs": [{"ip": "127.1.0.1"}],
        "startTime": EARLY,
        "conditions": [
            condition("PodScheduled", True, EARLY),
            condition("Initialized", True, EARLY),
            condition("ContainersReady", False, EARLY, "ContainersNotReady"),
            condition("Ready", False, EARLY, "ContainersNotReady"),
        ],
        "containerStatuses": [container],
    }
    assert first == expected
    again = view(RUNS, started=True, ready=True, pid=7, restarts=1, last=BROKE)
    ended = {"exitCode": 1, "reason": "Error", "message": "why"}
    last = {"terminated": {**ended, "startedAt": EARLY, "finishedAt": LATE}}
    restarted = {**container, "ready": True, "restartCount": 1, "lastState": last}
    assert status(again, first, LATE) == {
        **expected,
        "conditions": [
            condition("PodScheduled", True, EARLY),
            condition("Initialized", True, EARLY),
            condition("ContainersReady", True, LATE),
            condition("Ready", True, LATE),
        ],
        "containerStatuses": [restarted],
    }


def test_a_pod_that_stops_is_not_ready() -> None:
    ready = view(RUNS, ready=True, stopping=True)
    assert [each["status"] for each in status(ready, {}, EARLY)["conditions"]] == [
        "True",
        "True",
        "False",
        "False",
    ]


def verdicts(answers: str, failures: int, successes: int) -> str:
    """Return the verdict after each answer, `+` or `-`; `?` before the first verdict."""
    probe = Probe("/", 80, 0, 1, 1, failures, successes)
    tally, said = Tally(), ""
    for each in answers:
        tally = probes.counted(tally, each == "+", probe)
        said += "?" if tally.verdict is None else "+" if tally.verdict else "-"
    return said


@pytest.mark.parametrize(
    ("answers", "failures", "successes", "expected"),
    [
        pytest.param("+", 3, 1, "+", id="one-success-is-enough"),
        pytest.param("+---+", 3, 1, "+++-+", id="three-failures-in-a-row"),
        pytest.param("+--+--+", 3, 1, "+++++++", id="a-success-between-starts-the-count-again"),
        pytest.param("---", 3, 1, "??-", id="no-verdict-before-the-threshold"),
        pytest.param("-+-++", 1, 2, "----+", id="two-successes-in-a-row"),
    ],
)
def test_verdicts(answers: str, failures: int, successes: int, expected: str) -> None:
    assert verdicts(answers, failures, successes) == expected


@given(st.text("+-", max_size=30), st.integers(1, 5), st.integers(1, 5))
def test_a_verdict_is_what_the_last_long_enough_row_said(
    answers: str, failures: int, successes: int
) -> None:
    for end in range(len(answers) + 1):
        seen = answers[:end]
        rows = {"-": "-" * failures, "+": "+" * successes}
        ends = {s: seen.rfind(row) + len(row) for s, row in rows.items() if row in seen}
        expected = max(ends, key=lambda sign: ends[sign], default="?")
        assert verdicts(seen, failures, successes)[-1:] == (expected if seen else "")


def test_back_off_doubles_up_to_ten_seconds() -> None:
    assert [back_off_s(crashes) for crashes in range(1, 9)] == [0, 0.5, 1, 2, 4, 8, 10, 10]
