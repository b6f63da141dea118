"""Faults of a rehearsal: how they are asked for."""

from dataclasses import replace

import pytest

from poolkeeper.errors import InvalidInput
from poolkeeper.rehearsal import fault_specs
from poolkeeper.rehearsal.values import FaultTarget, RehearsedFault
from rehearsed import seven

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
        "disk=3:/d1@1m,for=1m": "for=1m: a disk fault takes no duration (leave for= out)",
        "zookeeper@1m,for=ever": "for=ever: say how long ZooKeeper is away",
        "broker=7": "expected WHAT@WHEN[,for=DURATION], such as broker=7@40% or"
        " zookeeper@10m,for=2m",
    }
    with pytest.raises(InvalidInput) as told:
        fault_specs.parse(texts, seven(), RUN_S)
    found = {p.field.removeprefix("--fail "): p.message for p in told.value.problems}
    assert found == texts
