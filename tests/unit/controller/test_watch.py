"""What is asked of kopf; that it does so is shown on a real API server."""

from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any, cast

from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.controller.retry_pauses import (
    BACKOFFS_S,
    RATE_WITHIN_S,
    RequestRate,
    RetryPauses,
)
from poolkeeper.controller.watch import ResourceWatch, settings
from poolkeeper.kube.client.listing import FollowedNamespaces


def test_every_attempt_that_failed_is_told_and_the_first_attempt_is_none() -> None:
    told: list[int] = []
    found = RetryPauses(lambda: told.append(len(told)), lambda: None)
    pauses = chain(found, repeat(None))  # as kopf takes them
    assert next(pauses) == BACKOFFS_S[0]
    assert told == []
    assert list(islice(pauses, 2)) == list(BACKOFFS_S[1:3])
    assert told == [0, 1]


def test_each_request_has_all_of_the_pauses_and_is_told_once() -> None:
    begun: list[str] = []
    chosen = settings(lambda: None, lambda: begun.append("a request"))
    patience = chosen.networking.error_backoffs
    assert [*patience] == [*patience] == [*BACKOFFS_S]
    assert len(begun) == 2


def test_requests_are_too_many_only_where_they_come_at_once() -> None:
    now_s = 0.0
    rate = RequestRate(3, lambda: now_s)
    assert [rate.note() for _ in range(4)] == [False, False, False, True]
    for _ in range(9):
        now_s += RATE_WITHIN_S / 2
        found = rate.note()
    assert not found


def namespace(name: str, team: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"team": team}}}


class SlowList:
    """Namespaces as they were when the list was requested; `cache` hears of news before its end."""

    def __init__(self, cache: ResourceCache) -> None:
        self.cache = cache

    def revision(self) -> None:
        return None

    def bodies(self, kind: str, followed: FollowedNamespaces) -> tuple[()]:
        return ()

    def followed(self) -> FollowedNamespaces:
        return FollowedNamespaces()

    def namespaces(self) -> Iterator[dict[str, Any]]:
        yield namespace("kept", "b")
        self.cache.put_namespace("edited", {"team": "b"})
        self.cache.put_namespace("made", {"team": "b"})
        self.cache.drop_namespace("deleted")
        yield from (namespace(name, "a") for name in ("edited", "deleted", "missed"))


def test_what_a_watch_tells_of_namespaces_while_they_are_listed_is_newer_than_the_list() -> None:
    cache = ResourceCache()
    for name in ("kept", "edited", "deleted", "gone"):
        cache.put_namespace(name, {"team": "a"})
    ResourceWatch(cache, cast(Any, SlowList(cache)))._compare_all()
    teams = {name: labels["team"] for name, labels in cache.contents()[1].items()}
    assert teams == {"kept": "b", "edited": "b", "made": "b", "missed": "a"}
