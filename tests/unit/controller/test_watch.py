"""What is asked of kopf; that it does so is shown on a real API server."""

from itertools import chain, islice, repeat

from poolkeeper.controller.watch import BACKOFFS_S, RetryPauses, settings


def test_every_attempt_that_failed_is_told_and_the_first_attempt_is_none() -> None:
    told: list[int] = []
    pauses = chain(RetryPauses(lambda: told.append(len(told))), repeat(None))  # as kopf takes them
    assert next(pauses) == BACKOFFS_S[0]
    assert told == []
    assert list(islice(pauses, 2)) == list(BACKOFFS_S[1:3])
    assert told == [0, 1]


def test_each_request_has_all_of_the_pauses() -> None:
    patience = settings(lambda: None).networking.error_backoffs
    assert [*patience] == [*patience] == [*BACKOFFS_S]
