"""Entries of the history: what is written is read, and what is damaged is told."""

import json

import pytest

from poolkeeper.errors import InvalidInput
from poolkeeper.model.history import FinishedRun
from poolkeeper.model.runs import Ending
from poolkeeper.zk import history

RUN = FinishedRun(
    plan="sha256:ab",
    started_ms=1_000,
    ended_ms=61_000,
    ending=Ending.ROLLED_BACK,
    stages=2,
    moves=12,
    moves_done=7,
    size_bytes=1 << 30,
    approved_by="confirmed by jane",
    executor="`poolkeeper apply` of jane on ops-1",
)


@pytest.mark.parametrize("ending", [*Ending, None])
def test_an_entry_is_read_as_it_was_written(ending: Ending | None) -> None:
    run = FinishedRun("sha256:cd", 1, 2, ending, 0, 0, 0, 0)
    assert [history.decode(history.encode(each)) for each in (RUN, run)] == [RUN, run]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        pytest.param({"version": 2}, "version: is 2", id="a-later-release"),
        pytest.param({"moves": "12"}, "moves: is '12' (expected an integer of 0", id="a-string"),
        pytest.param({"ending": "Bored"}, "ending: is 'Bored'", id="an-ending-that-is-none"),
        pytest.param({"plan": None}, "plan: is missing", id="no-plan"),
    ],
)
def test_a_damaged_entry_is_told(changed: dict[str, object], problem: str) -> None:
    body = json.loads(history.encode(RUN)) | changed
    with pytest.raises(InvalidInput) as told:
        history.decode(json.dumps(body).encode())
    assert problem in str(told.value)
