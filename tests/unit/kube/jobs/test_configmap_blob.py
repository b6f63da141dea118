import base64
from dataclasses import replace

import pytest

from poolkeeper.errors import Refused
from poolkeeper.kube.jobs import configmap_blob
from poolkeeper.kube.jobs.configmap_blob import Text

OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u1"}
TEXT = Text((b"ab", b"c"), "sha256:1", {"executor.json": "{}"})
HOME = "/api/v1/namespaces/ours/configmaps"


class Objects:
    """ConfigMaps by path; the call that fails is the `fails`th."""

    def __init__(self, fails=0):
        self.found, self.written, self.fails = {}, [], fails
        self.refuses, self.admit = False, lambda body: body

    def get(self, path):
        return self.found.get(path)

    def apply(self, path, body, manager):
        self.fails -= 1
        if not self.fails:
            raise ConnectionError
        if path in self.found and self.refuses:
            raise Refused("field is immutable when `immutable` is set")
        self.found[path] = body = self.admit(body)
        self.written.append(path.removeprefix(f"{HOME}/"))
        return body

    def delete(self, path, uid=None):
        assert self.found.pop(path)["metadata"]["uid"] == uid
        return True


def write(objects, text=TEXT):
    configmap_blob.write(objects, "ours", "j-answer", OWNER, text, {"a": "b"})


def test_the_config_maps():
    encoded = [base64.b64encode(chunk).decode() for chunk in TEXT.chunks]
    common = {"namespace": "ours", "labels": {"a": "b"}, "ownerReferences": [OWNER]}
    assert configmap_blob.bodies("ours", "j-answer", OWNER, TEXT, {"a": "b"}) == [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "j-answer-0",
                **common,
                "annotations": {"poolkeeper.dev/digest": "sha256:1", "poolkeeper.dev/chunks": "2"},
            },
            "binaryData": {"chunk-000000": encoded[0]},
            "data": {"executor.json": "{}"},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "j-answer-1", **common},
            "binaryData": {"chunk-000001": encoded[1]},
        },
    ]


def test_the_first_is_written_last_and_all_are_read():
    objects = Objects()
    write(objects)
    assert objects.written == ["j-answer-1", "j-answer-0"]
    assert configmap_blob.read(objects, "ours", "j-answer") == Text([b"ab", b"c"], "sha256:1")


@pytest.mark.parametrize("fails", [1, 2])
def test_a_text_that_was_written_in_part_is_none_and_can_be_completed(fails):
    objects = Objects(fails)
    with pytest.raises(ConnectionError):
        write(objects)
    assert configmap_blob.read(objects, "ours", "j-answer") is None
    write(objects)
    assert configmap_blob.read(objects, "ours", "j-answer") is not None


def test_a_piece_that_is_missing_is_none():
    objects = Objects()
    write(objects)
    del objects.found[f"{HOME}/j-answer-1"]
    assert configmap_blob.read(objects, "ours", "j-answer") is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"binaryData": {}}, id="no-piece"),
        pytest.param({"binaryData": None}, id="no-pieces"),
        pytest.param({"binaryData": {"chunk-000000": "?"}}, id="no-base64"),
    ],
)
def test_what_somebody_spoiled_is_refused(change):
    objects = Objects()
    write(objects)
    objects.found[f"{HOME}/j-answer-0"].update(change)
    with pytest.raises(Refused, match="hold no pieces of a text"):
        configmap_blob.read(objects, "ours", "j-answer")


def without_annotations(body):
    return {**body, "metadata": {**body["metadata"], "annotations": {"of-others": "x"}}}


@pytest.mark.parametrize(
    ("admit", "missing"),
    [
        pytest.param(
            without_annotations,
            r"annotations\[poolkeeper.dev/digest\], annotations\[poolkeeper.dev/chunks\]",
            id="no-annotations",
        ),
        pytest.param(
            lambda body: {**body, "data": {}}, r"data\[executor.json\]", id="no-short-text"
        ),
        pytest.param(
            lambda body: {**body, "binaryData": {"chunk-000000": "eA=="}},
            r"binaryData\[chunk-00000\d\]",
            id="another-chunk",
        ),
    ],
)
def test_what_a_webhook_takes_off_is_told_when_it_is_written(admit, missing):
    objects = Objects()
    objects.admit = admit
    with pytest.raises(Refused, match=f"was stored without {missing}: an admission webhook"):
        write(objects, replace(TEXT, chunks=(b"ab",)))


def test_what_a_webhook_adds_is_no_trouble():
    objects = Objects()
    objects.admit = lambda body: {
        **body,
        "metadata": {**body["metadata"], "labels": {"team": "x"}, "uid": "u1"},
        "data": {**body.get("data", {}), "by": "a webhook"},
    }
    write(objects)
    assert configmap_blob.read(objects, "ours", "j-answer") is not None


@pytest.mark.parametrize(
    "spoiled",
    [
        pytest.param({"immutable": True}, id="immutable"),
        pytest.param({"data": {"notes": "x"}}, id="other-data"),
        pytest.param({"binaryData": {"chunk-000009": "eA=="}}, id="other-binary-data"),
    ],
)
def test_what_somebody_spoiled_for_good_makes_way(spoiled):
    objects = Objects()
    write(objects)
    objects.refuses = True
    for body in objects.found.values():
        body["metadata"]["uid"] = "u9"
        body.update(spoiled)
    other = Text((b"xy", b"z"), "sha256:2")
    write(objects, other)
    assert configmap_blob.read(objects, "ours", "j-answer") == Text([b"xy", b"z"], "sha256:2")


def test_what_a_policy_refuses_stays_as_it_is():
    objects = Objects()
    write(objects)
    objects.refuses = True
    with pytest.raises(Refused):
        write(objects)
    assert configmap_blob.read(objects, "ours", "j-answer") == Text([b"ab", b"c"], "sha256:1")


@pytest.mark.parametrize("named", ["", "two", "-1", "\u00b2", "1" * 5000])
def test_chunks_without_a_number_are_no_text(named):
    objects = Objects()
    write(objects)
    metadata = objects.found[f"{HOME}/j-answer-0"]["metadata"]
    metadata["annotations"] = {**metadata["annotations"], configmap_blob.CHUNKS: named}
    assert configmap_blob.read(objects, "ours", "j-answer") is None


def test_config_maps_of_somebody_else_are_no_text():
    objects = Objects()
    objects.found[f"{HOME}/j-answer-0"] = {"metadata": {"name": "j-answer-0"}}
    assert configmap_blob.read(objects, "ours", "j-answer") is None


def test_there_is_a_bound():
    text = Text([b""] * (configmap_blob.PIECES_MAX + 1), "sha256:1")
    with pytest.raises(Refused, match="expected at most 4096"):
        write(Objects(), text)
