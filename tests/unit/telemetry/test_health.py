"""Who is silent for too long, and as what the process is ready."""

import pytest

from poolkeeper.telemetry.health import ProbeResult, ProcessHealth


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


LOOP, LEASE = "loop of main", "lease"


@pytest.mark.parametrize(
    ("later_s", "expected"),
    [
        pytest.param(
            0, ProbeResult(True, "alive: 2 watched, none silent for too long"), id="at-once"
        ),
        pytest.param(
            10, ProbeResult(True, "alive: 2 watched, none silent for too long"), id="just-in-time"
        ),
        pytest.param(
            11,
            ProbeResult(False, "stuck\nlease: silent for 11 s, at most 10 s are expected"),
            id="each-has-its-own-patience",
        ),
        pytest.param(
            90,
            ProbeResult(
                False,
                "stuck\n"
                "lease: silent for 90 s, at most 10 s are expected\n"
                "loop of main: silent for 90 s, at most 60 s are expected",
            ),
            id="all-that-are-stuck-are-named",
        ),
    ],
)
def test_silence_of_more_than_was_said_is_being_stuck(
    later_s: float, expected: ProbeResult
) -> None:
    clock = Clock()
    health = ProcessHealth(clock)
    health.beat(LOOP, 60)
    health.beat(LEASE, 10)
    clock.now_s += later_s
    assert health.liveness() == expected


def test_a_beat_ends_the_silence_and_says_a_new_patience() -> None:
    clock = Clock()
    health = ProcessHealth(clock)
    health.beat(LOOP, 1)
    clock.now_s += 5
    assert not health.liveness().good
    health.beat(LOOP, 3)
    clock.now_s += 3
    assert health.liveness().good
    clock.now_s += 1
    assert health.liveness() == ProbeResult(
        False, "stuck\nloop of main: silent for 4 s, at most 3 s are expected"
    )


def test_who_ended_is_not_missed() -> None:
    clock = Clock()
    health = ProcessHealth(clock)
    health.beat(LOOP, 1)
    health.forget(LOOP)
    health.forget("never heard of")
    clock.now_s += 1000
    assert health.liveness() == ProbeResult(True, "alive: 0 watched, none silent for too long")


def test_readiness_is_what_the_process_says_last() -> None:
    health = ProcessHealth(Clock())
    said = [health.readiness()]
    health.unready("the CRD kafkaclusters.poolkeeper.dev is missing: kubectl apply -f crds/")
    said.append(health.readiness())
    health.ready("standby")
    said.append(health.readiness())
    health.ready("leader")
    said.append(health.readiness())
    health.unready("stopping")
    said.append(health.readiness())
    assert said == [
        ProbeResult(False, "not ready: starting"),
        ProbeResult(
            False,
            "not ready: the CRD kafkaclusters.poolkeeper.dev is missing: kubectl apply -f crds/",
        ),
        ProbeResult(True, "ready: standby"),
        ProbeResult(True, "ready: leader"),
        ProbeResult(False, "not ready: stopping"),
    ]
