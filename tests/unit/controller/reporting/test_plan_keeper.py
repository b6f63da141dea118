"""Which of several plans is kept: the one that was put last."""

from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conditions import until
from poolkeeper.controller.reporting import plan_keeper
from poolkeeper.controller.reporting.plan_keeper import PlanKeeper
from poolkeeper.errors import Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.plan_documents import PlanDocument

MAIN = Reference("KafkaCluster", "", "main", "u")
NOTHING = cast(Any, None)


def plan(hash_: str) -> Any:
    return SimpleNamespace(hash=hash_, fingerprint="f", moves=(), steps=(), problems=())


class Documents:
    """Writes plans once it is let; each write meets the next of `failures` first."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.begun: list[str] = []
        self.failures: list[Exception] = []
        self.let = Event()
        self.let.set()

    def write(self, api: object, namespace: str, cluster: Reference, found: PlanDocument) -> None:
        self.begun.append(found.hash)
        assert self.let.wait(10)
        if self.failures:
            raise self.failures.pop()
        self.written.append(found.hash)


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Documents:
    found = Documents()
    monkeypatch.setattr(plan_keeper.plan_documents, "write", found.write)
    monkeypatch.setattr(plan_keeper.plan_json, "to_json", lambda plan: {})
    monkeypatch.setattr(plan_keeper, "EVERY_S", 0.0)
    return found


@pytest.fixture
def keeper(documents: Documents) -> Iterator[PlanKeeper]:
    found = PlanKeeper(NOTHING, "ns", lambda plan, desired, seen: plan.hash)
    yield found
    found.close()


def put(keeper: PlanKeeper, *hashes: str) -> None:
    for each in hashes:
        assert keeper.put(MAIN, plan(each), NOTHING, NOTHING) == "ns/poolkeeper-plan-main"


def test_a_plan_that_comes_back_while_another_is_written_is_kept_after_that(
    keeper: PlanKeeper, documents: Documents
) -> None:
    put(keeper, "a")
    until(lambda: documents.written == ["a"], "the first plan is kept")
    documents.let.clear()
    put(keeper, "b")
    until(lambda: documents.begun == ["a", "b"], "the second is being written")
    put(keeper, "a")
    documents.let.set()
    until(lambda: documents.written == ["a", "b", "a"], "the first is kept again")


def test_a_plan_that_could_not_be_written_is_put_again_and_one_that_was_is_not(
    keeper: PlanKeeper, documents: Documents
) -> None:
    documents.failures.append(Unavailable("away"))
    put(keeper, "a")
    until(lambda: not documents.failures and not keeper._wanted, "it could not be written")
    put(keeper, "a")
    until(lambda: documents.written == ["a"], "it is kept")
    put(keeper, "a", "a", "b")
    until(lambda: documents.written == ["a", "b"], "only another one is written")
