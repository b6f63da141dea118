"""Which of several plans is kept: the one that was put last, also where somebody deletes it."""

from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conditions import until
from poolkeeper.controller.reporting import plan_keeper
from poolkeeper.controller.reporting.plan_keeper import CHECK_S, PlanKeeper
from poolkeeper.errors import Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.plan_documents import PlanDocument
from poolkeeper.model.plans import Plan

MAIN = Reference("KafkaCluster", "", "main", "u")
PATH = "/api/v1/namespaces/ops/configmaps/poolkeeper-plan-main-0"
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

    def write(self, api: object, namespace: str, cluster: Reference, found: PlanDocument) -> str:
        self.begun.append(found.hash)
        assert self.let.wait(10)
        if self.failures:
            raise self.failures.pop()
        self.written.append(found.hash)
        return found.hash


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Documents:
    found = Documents()
    monkeypatch.setattr(plan_keeper.plan_documents, "write", found.write)
    monkeypatch.setattr(plan_keeper.plan_json, "to_json", lambda plan: {})
    return found


@pytest.fixture
def keeper(documents: Documents) -> Iterator[PlanKeeper]:
    found = PlanKeeper(NOTHING, "ns", lambda plan, desired, seen: plan.hash, every_s=0.0)
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


@pytest.mark.slow
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


class FakeApi:
    """Holds objects by path, and counts how often it is asked for one."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.looks = 0

    def get(self, path: str) -> Any:
        self.looks += 1
        return self.objects.get(path)

    def apply(self, path: str, body: dict[str, Any], manager: str) -> dict[str, Any]:
        self.objects[path] = body
        return body

    def delete(self, path: str) -> bool:
        return self.objects.pop(path, None) is not None


def test_a_plan_that_somebody_deleted_is_written_again_within_a_minute_and_rendered_no_more() -> (
    None
):
    api, rendered, now_s = FakeApi(), list[str](), 0.0

    def text_of(plan: Plan, desired: object, seen: object) -> str:
        rendered.append(plan.hash)
        return "the plan"

    keeper = PlanKeeper(cast(Any, api), "ops", text_of, clock=lambda: now_s, every_s=0.0)

    def put_again() -> int:
        """The number of looks before it."""
        looks = api.looks
        keeper.put(MAIN, Plan("main", "sha256:ab", "f"), NOTHING, NOTHING)
        return looks

    put_again()
    until(lambda: keeper._wanted["main"].digest, "it is written")
    now_s = CHECK_S
    looks = put_again()
    until(lambda: api.looks > looks, "it is looked for")
    put_again()
    del api.objects[PATH]
    now_s = 2 * CHECK_S
    put_again()
    until(lambda: PATH in api.objects, "it is written again")
    assert len(rendered) == 2
    keeper.close()
