"""Faults in whole rehearsals: what each costs, whose doing it is, storms and their seeds."""

import pytest

from poolkeeper.rehearsal.results import outcomes
from poolkeeper.rehearsal.values import Cause, End, Rehearsal
from poolkeeper.sandbox.clock import VirtualClock
from rehearsed import SETTINGS, subject


def struck(*texts: str, **fields: object) -> Rehearsal:
    chosen = subject(**{"partitions": 12, **fields})
    found = outcomes.with_faults(chosen, SETTINGS, texts).faulted
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "controller@50%",
        "poolkeeper@50%",
        "zookeeper@50%,for=1m",
        "slow=7:20Mi@20%,for=1m",
        "broker=1@30%,for=2m",
        "rack=a@30%,for=1m",
    ],
)
def test_the_run_lives_through(text):
    found = struck(text)
    assert (found.end, found.own_below_min_isr) == (End.FINISHED, 0)
    assert [fault.text for fault in found.faults] == [text]
    assert found.faults[0].later_s is not None
    assert found.faults[0].later_s > -1
    told = [h.text for h in found.happenings if h.kind == "Fault"]
    assert told == [text]


def test_a_target_that_is_away_stops_the_run_for_as_long():
    found = struck("broker=7@40%,for=10m")
    (fault,) = found.faults
    assert fault.stopped_s == pytest.approx(600, abs=60)
    assert fault.later_s is not None
    assert fault.later_s >= 540
    assert any("broker 7 is not live" in words for words in fault.stopped)
    assert fault.person == ()


def test_a_target_that_never_comes_back_needs_a_person():
    found = struck("broker=7@40%,for=ever")
    assert found.end is End.NEVER_ENDS
    assert found.faults[0].person[0] == "start broker 7, or drain what is gone for good"
    assert "broker 7 is not live" in found.reason


@pytest.mark.parametrize(
    "text", ["zookeeper@40%,for=40h", "broker=7@40%,for=40h", "rack=c@40%,for=40h"]
)
def test_a_long_absence_whose_end_is_known_is_lived_through(text):
    hours = struck(text)
    assert (hours.end, hours.own_below_min_isr) == (End.FINISHED, 0)
    assert hours.seconds == pytest.approx(40 * 3600, abs=600)


@pytest.mark.parametrize("text", ["zookeeper@40%,for=100000h", "broker=7@40%,for=100000h"])
def test_no_rehearsal_lasts_longer_than_it_may(text):
    found = struck(text)
    assert found.end is End.NEVER_ENDS
    assert "the run is not done after" in found.reason
    assert found.seconds == pytest.approx(SETTINGS.longest_s, rel=0.05)


def test_a_long_absence_of_zookeeper_costs_few_actions(monkeypatch):
    ran = 0
    step = VirtualClock._step

    def counted(clock: VirtualClock, end_ms: float) -> bool:
        nonlocal ran
        ran += 1
        return step(clock, end_ms)

    monkeypatch.setattr(VirtualClock, "_step", counted)
    struck("zookeeper@50%,for=1h")
    hour, ran = ran, 0
    struck("zookeeper@50%,for=100h")
    assert ran < 1.1 * hour


def test_a_target_whose_only_directory_fails_shuts_down_and_needs_a_person():
    found = struck("disk=7:/d1@40%")
    assert found.end is End.NEVER_ENDS
    assert "broker 7 is not live" in found.reason
    assert found.faults[0].person[0] == "replace /d1 of broker 7, and restart the broker"


def test_two_brokers_of_a_rack_are_waited_for_once():
    found = struck("rack=c@30%,for=10m", partitions=24)
    waits = {wait.reason: wait.seconds for wait in found.waits}
    assert waits["BrokerNotLive"] == pytest.approx(600, abs=60)


def test_what_the_fault_alone_does_to_min_isr_is_not_our_doing():
    found = struck("broker=1@40%,for=1m", "broker=2@40%,for=1m")
    assert {b.cause for b in found.below_min_isr} == {Cause.FAULT}
    assert found.own_below_min_isr == 0
    assert sum(fault.below_min_isr for fault in found.faults) > 0


def test_a_killed_poolkeeper_is_started_by_a_person_and_resumes():
    found = struck("poolkeeper@50%")
    assert found.faults[0].person == (
        "start `poolkeeper apply` again, unless an operator runs: that restarts itself",
    )
    assert [stage.number for stage in found.stages] == [1]


def test_a_storm_finds_its_worst_and_the_seed_replays_it():
    chosen = subject(partitions=6)
    plain = chosen.rehearse(SETTINGS)
    storm = outcomes.rehearse_storm(chosen, SETTINGS, plain, 4, 7)
    assert {seed for seed, _ in storm.runs} == {7, 8, 9, 10}
    seed, worst = storm.worst
    assert outcomes.badness(worst) == max(outcomes.badness(run) for _, run in storm.runs)
    again = outcomes.rehearse_storm(chosen, SETTINGS, plain, 1, seed)
    assert again.worst == (seed, worst)
