"""What the kubelet says of a pod, what it starts next, and how it counts answers. No server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control_plane.kubelet import podspecs, probes, statuses
from control_plane.kubelet.podspecs import Probe
from control_plane.kubelet.probes import Tally
from control_plane.kubelet.runners import back_off_s
from control_plane.kubelet.statuses import Running, State, Terminated, View, Views, Waiting

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
RUNS = Running(EARLY)
DONE = Terminated(0, "Completed", "", EARLY, LATE)
BROKE = Terminated(1, "Error", "why", EARLY, LATE)
CRASHED = Waiting("CrashLoopBackOff")


def view(name: str, policy: str, state: State | None, **more: Any) -> View:
    """A container in a state; None: not told to start yet."""
    body = {"spec": {"restartPolicy": policy, "containers": [{"name": name, "image": "app"}]}}
    (container,) = podspecs.containers(body)
    if state is None:
        return View(container)
    return View(container, state, begun=True, **more)


def init(name: str, state: State | None, policy: str = "OnFailure", **more: Any) -> View:
    return view(name, policy, state, **more)


def main(state: State | None, policy: str = "Always", name: str = "main", **more: Any) -> View:
    return view(name, policy, state, **more)


@pytest.mark.parametrize(
    ("views", "phase", "due"),
    [
        pytest.param(Views((), (main(None),)), "Pending", ("main",), id="new"),
        pytest.param(
            Views((), (main(None), main(None, name="b"))),
            "Pending",
            ("main", "b"),
            id="both-at-once",
        ),
        pytest.param(Views((), (main(RUNS),)), "Running", (), id="running"),
        pytest.param(
            Views((), (main(RUNS), main(Waiting("ImagePullBackOff"), name="b"))),
            "Pending",
            (),
            id="one-never-ran",
        ),
        pytest.param(Views((), (main(CRASHED, last=BROKE),)), "Running", (), id="between-two-runs"),
        pytest.param(Views((), (main(BROKE),)), "Running", (), id="will-be-restarted"),
        pytest.param(Views((), (main(DONE, "OnFailure"),)), "Succeeded", (), id="done"),
        pytest.param(Views((), (main(BROKE, "Never"),)), "Failed", (), id="failed"),
        pytest.param(
            Views((), (main(DONE, "Never"), main(RUNS, "Never", "b"))), "Running", (), id="one-left"
        ),
        pytest.param(
            Views((), (main(DONE, "Never"), main(BROKE, "Never", "b"))),
            "Failed",
            (),
            id="one-of-two",
        ),
        pytest.param(
            Views((), (main(BROKE),), stopping=True), "Failed", (), id="stopped-while-failed"
        ),
        pytest.param(
            Views((), (main(None),), stopping=True), "Pending", (), id="stopped-before-it-ran"
        ),
        pytest.param(
            Views((init("one", None), init("two", None)), (main(None),)),
            "Pending",
            ("one",),
            id="init",
        ),
        pytest.param(
            Views((init("one", RUNS), init("two", None)), (main(None),)),
            "Pending",
            (),
            id="init-runs",
        ),
        pytest.param(
            Views((init("one", BROKE), init("two", None)), (main(None),)),
            "Pending",
            (),
            id="init-is-tried-again",
        ),
        pytest.param(
            Views((init("one", BROKE, "Never"),), (main(None, "Never"),)),
            "Failed",
            (),
            id="init-failed",
        ),
        pytest.param(
            Views((init("one", DONE), init("two", None)), (main(None),)),
            "Pending",
            ("two",),
            id="second",
        ),
        pytest.param(
            Views((init("one", DONE), init("two", DONE)), (main(None),)),
            "Pending",
            ("main",),
            id="mains",
        ),
        pytest.param(
            Views((init("side", RUNS, "Always"),), (main(None),)),
            "Pending",
            (),
            id="sidecar-starts",
        ),
        pytest.param(
            Views((init("side", RUNS, "Always", started=True),), (main(None),)),
            "Pending",
            ("main",),
            id="sidecar-has-started",
        ),
        pytest.param(
            Views((init("side", RUNS, "Always", started=True),), (main(DONE, "Never"),)),
            "Succeeded",
            (),
            id="a-sidecar-keeps-no-pod-alive",
        ),
    ],
)
def test_phase_and_what_to_start(views: Views, phase: str, due: tuple[str, ...]) -> None:
    assert (views.phase, statuses.due(views)) == (phase, due)


def status(views: Views, before: dict[str, Any], now: str) -> dict[str, Any]:
    return statuses.pod_status(views, before, "127.1.0.1", EARLY, now)


def condition(kind: str, holds: bool, since: str, reason: str | None = None) -> dict[str, Any]:
    return {"type": kind, "status": str(holds), "lastTransitionTime": since, "reason": reason}


def test_a_whole_status_and_the_one_after_it() -> None:
    first = status(Views((), (main(RUNS, started=True, pid=7),)), {}, EARLY)
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
    again = Views((), (main(RUNS, started=True, ready=True, pid=7, restarts=1, last=BROKE),))
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


def test_while_init_containers_run_the_others_say_so() -> None:
    found = status(Views((init("one", RUNS),), (main(None),)), {}, EARLY)
    assert found["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert found["initContainerStatuses"][0]["state"] == {"running": {"startedAt": EARLY}}
    assert found["conditions"][1] == condition(
        "Initialized", False, EARLY, "ContainersNotInitialized"
    )


def test_a_pod_that_stops_is_not_ready() -> None:
    ready = Views((), (main(RUNS, ready=True),), stopping=True)
    assert [each["status"] for each in status(ready, {}, EARLY)["conditions"]] == [
        "True",
        "True",
        "False",
        "False",
    ]


def verdicts(answers: str, failures: int, successes: int) -> str:
    """Return the verdict after each answer, `+` or `-`; `?` before the first verdict."""
    probe = Probe({}, 0, 1, 1, failures, successes)
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
