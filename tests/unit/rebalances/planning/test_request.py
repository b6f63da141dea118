from dataclasses import replace

import pytest
from hypothesis import given

from builders import desired, pool_spec
from laws import examples
from poolkeeper.errors import Refused
from poolkeeper.fleet.schedule.budget import Budget, RatedWindow
from poolkeeper.model.specs import SourceLocation, Window
from poolkeeper.rebalances.planning.request import (
    ClusterRequest,
    PlanningDeadlines,
    RebalanceRequest,
)
from unit.planning.instances import instances

POOL = pool_spec("fast", 1, 2, 3)
DESIRED = desired(POOL)
QUESTION = RebalanceRequest((ClusterRequest(DESIRED, ("fast",)),), 1_700_000_000_000)
FULL = replace(
    QUESTION,
    budget=Budget(1 << 30, {"north": 5}, (RatedWindow(Window("0 22 * * *", 60), 7),), 2),
    sites={"main": "north"},
    patience=PlanningDeadlines(1.5, 20.0),
)


def test_the_text():
    assert QUESTION.to_json() == (
        '{"value":{"asked":[{"desired":{"cluster":{"name":"main","zookeeper":{"connect":"zk:2181"}'
        '},"pools":[{"brokers":[1,2,3],"cluster":"main","name":"fast"}]},"pools":["fast"]}],'
        '"now_ms":1700000000000},"version":1}'
    )


@pytest.mark.parametrize("question", [QUESTION, FULL], ids=["plain", "with-a-budget"])
def test_reading_gives_back_what_was_written(question):
    assert RebalanceRequest.from_json(question.to_json()) == question


@examples(15)
@given(instances())
def test_any_declaration_survives(instance):
    question = RebalanceRequest((ClusterRequest(instance[0]),), 1)
    again = RebalanceRequest.from_json(question.to_json())
    assert again == question
    assert again.digest == question.digest


def test_digests_name_what_is_asked_and_not_where_it_is_written():
    elsewhere = replace(DESIRED, pools=(replace(POOL, source=SourceLocation("pools.yaml", 3)),))
    assert (
        replace(QUESTION, asked=(ClusterRequest(elsewhere, ("fast",)),)).digest == QUESTION.digest
    )
    others = [
        FULL,
        replace(QUESTION, now_ms=1),
        replace(QUESTION, asked=(ClusterRequest(DESIRED),)),
        replace(FULL, sites={}),
    ]
    assert len({QUESTION.digest, *(each.digest for each in others)}) == 5


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"version":2,"value":{}}', id="another-version"),
        pytest.param('{"version":1,"value":{"asked":[]}}', id="a-field-is-missing"),
        pytest.param('{"version":1,"value":{"asked":[],"now_ms":1,"x":2}}', id="unknown-field"),
        pytest.param("{", id="no-json"),
    ],
)
def test_what_is_refused(text):
    with pytest.raises(Refused):
        RebalanceRequest.from_json(text)
