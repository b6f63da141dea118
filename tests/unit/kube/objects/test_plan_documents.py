"""Whole plans in ConfigMaps: bounded, consistent, replaced as a whole."""

import random

import pytest

from poolkeeper.errors import OtherFormat, Refused
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects import plan_documents
from poolkeeper.kube.objects.plan_documents import CHUNKS_MAX, PlanDocument

MAIN = Reference("KafkaCluster", "", "main", "uid-1")
CHUNK_BYTES = 9 * 1024


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """A hundredth of what they are: to make and pack megabytes takes seconds."""
    monkeypatch.setattr(plan_documents, "CHUNK_BYTES", CHUNK_BYTES)


class FakeApi:
    def __init__(self):
        self.objects = {}

    def get(self, path):
        return self.objects.get(path)

    def apply(self, path, body, manager):
        self.objects[path] = body
        return body

    def delete(self, path, uid=None):
        return self.objects.pop(path, None) is not None


def incompressible(size):
    return random.Random(1).randbytes(size // 2).hex()


def document(size=10, text="the plan"):
    return PlanDocument("main", "sha256:ab", text, {"moves": incompressible(size)})


def names(api):
    return sorted(path.rpartition("/")[2] for path in api.objects)


def test_a_plan_is_read_as_it_was_written_and_the_same_is_not_written_again():
    api = FakeApi()
    plan_documents.write(api, "ops", MAIN, document())
    written = dict(api.objects)
    plan_documents.write(api, "ops", MAIN, document())
    assert all(api.objects[path] is body for path, body in written.items())
    assert names(api) == ["poolkeeper-plan-main-0"]
    assert plan_documents.read(api, "ops", "main") == document()


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda objects, path: objects.pop(path), id="deleted"),
        pytest.param(lambda objects, path: edit(objects[path], "Zm9v"), id="edited"),
        pytest.param(lambda objects, path: edit(objects[path], "no base64"), id="no-base64"),
    ],
)
def test_what_somebody_deleted_or_edited_is_written_again(number, damage):
    api, large = FakeApi(), document(40 << 10)
    digest = plan_documents.write(api, "ops", MAIN, large)
    assert plan_documents.is_there(api, "ops", MAIN, digest)
    damage(api.objects, f"/api/v1/namespaces/ops/configmaps/poolkeeper-plan-main-{number}")
    assert not plan_documents.is_there(api, "ops", MAIN, digest)
    assert plan_documents.write(api, "ops", MAIN, large) == digest
    assert plan_documents.read(api, "ops", "main") == large


def test_the_plan_of_a_cluster_that_was_created_again_belongs_to_that():
    api = FakeApi()
    plan_documents.write(api, "ops", MAIN, document())
    again = Reference("KafkaCluster", "", "main", "uid-2")
    assert plan_documents.is_there(
        api, "ops", again, plan_documents.write(api, "ops", again, document())
    )
    (kept,) = api.objects.values()
    assert [owner["uid"] for owner in kept["metadata"]["ownerReferences"]] == ["uid-2"]


def edit(body, chunk):
    body["binaryData"] = dict.fromkeys(body["binaryData"], chunk)


def test_chunks_are_small_and_those_that_are_left_over_go():
    api = FakeApi()
    large = document(40 << 10)
    plan_documents.write(api, "ops", MAIN, large)
    assert names(api) == [f"poolkeeper-plan-main-{number}" for number in range(3)]
    assert plan_documents.read(api, "ops", "main") == large
    plan_documents.write(api, "ops", MAIN, document())
    assert names(api) == ["poolkeeper-plan-main-0"]


def test_a_plan_that_does_not_fit_is_kept_as_text():
    api = FakeApi()
    plan_documents.write(api, "ops", MAIN, document(160 << 10))
    assert len(api.objects) <= CHUNKS_MAX
    assert plan_documents.read(api, "ops", "main") == PlanDocument(
        "main", "sha256:ab", "the plan", None
    )


def test_a_plan_never_takes_more_than_its_bound():
    large = document(160 << 10, text=incompressible(30 << 10))
    assert len(plan_documents.pack(large)) <= CHUNK_BYTES * CHUNKS_MAX


def test_a_plan_that_is_being_replaced_is_not_read():
    api = FakeApi()
    plan_documents.write(api, "ops", MAIN, document(40 << 10))
    other = FakeApi()
    plan_documents.write(other, "ops", MAIN, document(40 << 10, text="another"))
    last = "/api/v1/namespaces/ops/configmaps/poolkeeper-plan-main-2"
    api.objects[last] = other.objects[last]
    assert plan_documents.read(api, "ops", "main") is None
    assert plan_documents.read(FakeApi(), "ops", "main") is None


@pytest.mark.parametrize("packed", [b"", b"no gzip", b"\x1f\x8b\x08" + b"\0" * 20])
def test_what_is_no_plan_is_refused(packed):
    with pytest.raises(Refused, match="no plan that can be read"):
        plan_documents.unpack(packed)


def test_a_plan_of_another_format_is_left_to_the_release_that_wrote_it(monkeypatch):
    monkeypatch.setattr(plan_documents, "VERSION", 2)
    packed = plan_documents.pack(document(1))
    monkeypatch.undo()
    with pytest.raises(OtherFormat, match="format version 2, and this release knows 1: use the"):
        plan_documents.unpack(packed)


def test_names_are_fixed_and_fit():
    assert plan_documents.name_of("main") == "poolkeeper-plan-main"
    long = "c" * 253
    assert len(plan_documents.name_of(long)) <= 251
    assert plan_documents.name_of(long) == plan_documents.name_of(long)
