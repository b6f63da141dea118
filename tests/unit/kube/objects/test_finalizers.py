import pytest

from poolkeeper.errors import Stale
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects import finalizers
from poolkeeper.kube.objects.finalizers import FINALIZER, operations

TOPIC = Reference("Topic", "shop", "orders", "u1")


def topic(*found, uid="u1", deleted=False):
    meta = {"uid": uid, "resourceVersion": "7"}
    if found:
        meta["finalizers"] = list(found)
    if deleted:
        meta["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    return {"metadata": meta}


class Objects:
    """One object; `losses` patches lose against somebody else first."""

    def __init__(self, body, losses=0):
        self.body, self.losses, self.reads, self.patches = body, losses, 0, []

    def get(self, path):
        self.reads += 1
        return self.body

    def patch_json(self, path, wanted):
        if self.losses:
            self.losses -= 1
            raise Stale("test failed")
        self.patches.append(wanted)
        return {}


@pytest.mark.parametrize(
    ("body", "adding", "seen", "value"),
    [
        pytest.param(topic(), True, ("resourceVersion", "7"), [FINALIZER], id="the-first"),
        pytest.param(topic("x"), True, ("finalizers", ["x"]), ["x", FINALIZER], id="one-more"),
        pytest.param(
            topic("x", FINALIZER, "y"),
            False,
            ("finalizers", ["x", FINALIZER, "y"]),
            ["x", "y"],
            id="one-less",
        ),
        pytest.param(
            topic(FINALIZER, deleted=True), False, ("finalizers", [FINALIZER]), [], id="the-last"
        ),
    ],
)
def test_a_patch_names_what_it_was_made_for(body, adding, seen, value):
    assert operations(body, adding=adding) == [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "test", "path": f"/metadata/{seen[0]}", "value": seen[1]},
        {"op": "add", "path": "/metadata/finalizers", "value": value},
    ]


@pytest.mark.parametrize(
    ("body", "adding"),
    [
        pytest.param(topic(FINALIZER), True, id="there-already"),
        pytest.param(topic("x"), False, id="not-there"),
        pytest.param(topic(deleted=True), True, id="being-deleted"),
    ],
)
def test_nothing_to_do(body, adding):
    assert operations(body, adding=adding) == []


def test_what_is_known_is_not_asked_for():
    objects = Objects(topic())
    assert finalizers.add(objects, TOPIC, topic())
    assert not finalizers.add(objects, TOPIC, topic(FINALIZER))
    assert objects.reads == 0


@pytest.mark.parametrize("body", [None, topic(uid="u9")])
def test_what_is_gone_or_another_is_left_alone(body):
    objects = Objects(body)
    assert not finalizers.add(objects, TOPIC)
    assert not finalizers.remove(objects, TOPIC)
    assert objects.patches == []


def test_a_lost_patch_is_made_again_from_a_fresh_look():
    objects = Objects(topic("x"), losses=1)
    assert finalizers.add(objects, TOPIC, topic())
    assert objects.reads == 1
    assert objects.patches[0][1] == {"op": "test", "path": "/metadata/finalizers", "value": ["x"]}


def test_it_does_not_go_on_for_ever():
    with pytest.raises(Stale):
        finalizers.add(Objects(topic(), losses=99), TOPIC)
