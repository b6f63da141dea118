"""Faults of a rehearsal: what is asked for, what each does, storms and their seeds."""

from dataclasses import replace

import pytest

from poolkeeper.errors import InvalidInput
from poolkeeper.rehearsal import fault_specs
from poolkeeper.rehearsal.results import outcomes
from poolkeeper.rehearsal.values import Cause, End, FaultTarget, Rehearsal, RehearsedFault
from rehearsed import SETTINGS, seven, subject

RUN_S = 1000.0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            "broker=7@40%",
            RehearsedFault("", FaultTarget.BROKER, 400.0, 900.0, (7,)),
            id="a-broker",
        ),
        pytest.param(
            "rack=a@5m,for=1h",
            RehearsedFault("", FaultTarget.RACK, 300.0, 3600.0, (3, 6)),
            id="a-rack-for-an-hour",
        ),
        pytest.param(
            "broker=1@0%for=ever",
            RehearsedFault("", FaultTarget.BROKER, 0.0, None, (1,)),
            id="for-ever",
        ),
        pytest.param(
            "disk=3:/d1@10%",
            RehearsedFault("", FaultTarget.DISK, 100.0, None, (3,), "/d1"),
            id="a-disk",
        ),
        pytest.param(
            "slow=5:10Mi@1m",
            RehearsedFault("", FaultTarget.SLOW, 60.0, None, (5,), "", 10 * 1024**2),
            id="a-slow-broker",
        ),
        pytest.param(
            "zookeeper@10%,for=2m",
            RehearsedFault("", FaultTarget.ZOOKEEPER, 100.0, 120.0),
            id="zookeeper",
        ),
        pytest.param(
            "controller@100%",
            RehearsedFault("", FaultTarget.CONTROLLER, 1000.0),
            id="the-controller",
        ),
        pytest.param(
            "poolkeeper@30s", RehearsedFault("", FaultTarget.POOLKEEPER, 30.0), id="ourselves"
        ),
    ],
)
def test_a_fault_is_read(text, fault):
    assert fault_specs.parse([text], seven(), RUN_S) == (replace(fault, text=text),)


def test_all_that_is_wrong_with_faults_is_told_at_once():
    texts = {
        "broker=77@40%": "there is no broker '77' (live: 1, 2, 3, 4, 5 and 2 more)",
        "rack=z@1m": "there is no rack 'z' (there are: a, b, c)",
        "disk=3:/x@1m": "broker 3 has no directory '/x' (there are: /d1)",
        "broker=7@2h": "2h is beyond the run, which takes 16 min 40 s",
        "broker=7@140%": "140% is beyond the run (expected 0% to 100%)",
        "meteor@1m": "'meteor' is no fault (expected one of broker, rack, disk, slow, controller,"
        " zookeeper, poolkeeper)",
        "controller=1@1m": "controller takes no name",
        "broker@1m": "name what fails, as in broker=…@40%",
        "disk=3:/d1@1m,for=1m": "for=1m: a disk fault has no length",
        "zookeeper@1m,for=ever": "for=ever: say how long ZooKeeper is away",
        "broker=7": "expected WHAT@WHEN[,for=DURATION], such as broker=7@40% or"
        " zookeeper@10m,for=2m",
    }
    with pytest.raises(InvalidInput) as told:
        fault_specs.parse(texts, seven(), RUN_S)
    found = {p.field.removeprefix("--fail "): p.message for p in told.value.problems}
    assert found == texts


def struck(*texts: str, **fields: object) -> Rehearsal:
    found = outcomes.with_faults(subject(**fields), SETTINGS, texts).faulted
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
    chosen = subject(partitions=12)
    plain = chosen.rehearse(SETTINGS)
    storm = outcomes.storm(chosen, SETTINGS, plain, 4, 7)
    assert {seed for seed, _ in storm.runs} == {7, 8, 9, 10}
    seed, worst = storm.worst
    assert outcomes.badness(worst) == max(outcomes.badness(run) for _, run in storm.runs)
    again = outcomes.storm(chosen, SETTINGS, plain, 1, seed)
    assert again.worst == (seed, worst)
