"""What tasks give comes back as it was given, and whatever went wrong has words."""

import threading
from dataclasses import replace

import pytest

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.engines import results
from poolkeeper.fleet.engines.results import ClusterOutcome, StepResult
from poolkeeper.fleet.lake.entries import TableFile
from poolkeeper.fleet.lake.reading import DamagedFile
from poolkeeper.fleet.storage import parquet, schemas

ROWS = parquet.from_rows(schemas.REQUESTS, [("t", n, (n, n + 1)) for n in range(5)])
EMPTY = parquet.from_rows(schemas.STEPS, ())
TABLES = {"requests": ROWS, "steps": EMPTY}


def pieces(result: StepResult) -> list[dict]:
    return [row for batch in results.pieces_of(result) for row in batch.to_pylist()]


@pytest.mark.parametrize("rows", [1, 2, 64 * 1024])
def test_a_result_comes_back_whole_from_pieces_of_any_size(rows: int, monkeypatch) -> None:
    monkeypatch.setattr(results, "PIECE_ROWS", rows)
    wanted = ClusterOutcome(
        "a",
        "ok",
        "é",
        {"moves": "3"},
        ("f",),
        of_input=False,
        files=(TableFile("samples", "p", 3),),
    )
    found = results.results_of(reversed(pieces(StepResult(wanted, TABLES, "pool"))))
    assert [(r.part, r.outcome) for r in found] == [
        ("pool", replace(wanted, rows={"requests": 5, "steps": 0}))
    ]
    assert found[0].tables == TABLES


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(Refused("no\nway"), "no", id="known"),
        pytest.param(OverflowError("too big"), "OverflowError('too big')", id="unknown"),
        pytest.param(ValueError("\ud800"), "\\ud800", id="half-a-character"),
        pytest.param(RecursionError("deep" * 9999), "deepdeep", id="long"),
    ],
)
def test_every_error_is_a_reason_that_can_be_stored(error: Exception, reason: str) -> None:
    said = results.reason_of(error)
    assert reason in said
    assert len(said.encode()) <= 2 * results.REASON_MAX
    assert "\n" not in said


def test_a_damaged_file_is_named_in_the_outcome() -> None:
    wrong = DamagedFile("plans/part-0.parquet", "cut off")
    assert ClusterOutcome.of_failure("a", wrong).damaged == ("plans/part-0.parquet",)
    assert ClusterOutcome.of_failure("a", ValueError()).damaged == ()
    assert ClusterOutcome.of_failure("a", FileNotFoundError(2, "no", "x")).damaged == ()


@pytest.mark.parametrize(
    ("error", "of_input"),
    [
        (Refused("nothing is declared for it"), True),
        (DamagedFile("plans/part-0.parquet", "cut off"), False),
        (Unavailable("the store does not answer"), False),
        (MemoryError(), False),
    ],
    ids=["refused", "damaged", "unavailable", "without-memory"],
)
def test_what_does_not_follow_from_the_input_is_tried_again(
    error: Exception, of_input: bool
) -> None:
    assert ClusterOutcome.of_failure("a", error).of_input is of_input


@pytest.mark.parametrize("threads", [1, 3, 99])
def test_tasks_are_done_so_many_at_a_time_and_told_in_their_order(threads: int) -> None:
    lock, running, most = threading.Lock(), [0], [0]
    first = threading.Event()

    def perform(number: int) -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        if threads > 1:  # the first one ends after the second one has begun
            first.set() if number == 1 else number or first.wait(30)
        with lock:
            running[0] -= 1
        return number

    assert list(results.perform_all(range(20), perform, threads)) == list(range(20))
    assert most[0] <= threads
