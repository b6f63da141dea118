"""Entries of the history: what is written is read, and what is damaged is told."""

import json
from dataclasses import replace

import pytest

from poolkeeper.cli.output.runs.history_table import row
from poolkeeper.errors import DamagedNode
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.runs import Ending
from poolkeeper.zk.journal import history

PATH = "/poolkeeper/history/0000000003"
RUN = FinishedRun(
    plan="sha256:ab",
    started_ms=1_000,
    ended_ms=61_000,
    ending=Ending.ROLLED_BACK,
    stages=2,
    moves=12,
    moves_done=7,
    bytes_done=21,
    size_bytes=1 << 30,
    approved_by="confirmed by jane",
    executor="poolkeeper apply of jane on ops-1",
)


@pytest.mark.parametrize("ending", [*Ending, None])
def test_an_entry_is_read_as_it_was_written(ending: Ending | None) -> None:
    run = FinishedRun("sha256:cd", 1, 2, ending, 0, 0, 0, 0)
    assert [history.decode(PATH, history.encode(each)) for each in (RUN, run)] == [RUN, run]


def test_an_entry_of_an_earlier_release_does_not_know_the_bytes_that_arrived() -> None:
    body = json.loads(history.encode(RUN))
    del body["bytes_done"]
    found = history.decode(PATH, json.dumps(body).encode())
    assert found == replace(RUN, bytes_done=None)
    assert (row(found)[-1], row(RUN)[-1]) == ("of 1 GiB", "21 B of 1 GiB")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        pytest.param({"version": 2}, "(format version 2, this one knows 1)", id="a-later-release"),
        pytest.param({"moves": "12"}, "moves: is '12' (expected an integer of 0", id="a-string"),
        pytest.param({"ending": "Bored"}, "ending: is 'Bored'", id="an-ending-that-is-none"),
        pytest.param({"plan": None}, "plan: is missing", id="no-plan"),
    ],
)
def test_a_damaged_entry_is_told(changed: dict[str, object], problem: str) -> None:
    body = json.loads(history.encode(RUN)) | changed
    with pytest.raises(DamagedNode) as told:
        history.decode(PATH, json.dumps(body).encode())
    assert told.value.damage.path == PATH
    assert problem in str(told.value)
