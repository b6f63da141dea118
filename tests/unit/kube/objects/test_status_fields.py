"""What others wrote into a status, and what an earlier definition of its kind lacks."""

import pytest

from poolkeeper.errors import Refused, UndeclaredField
from unit.kube.objects.status_ground import (
    OTHER,
    TOPIC,
    Clock,
    Objects,
    dated,
    said,
)


class Merging(Objects):
    """Keeps what others have written, as server-side apply does."""

    def __init__(self, foreign):
        super().__init__()
        self.foreign, self.patches = foreign, []

    def apply(self, path, body, manager):
        answer = super().apply(path, body, manager)
        conditions = [*answer["status"]["conditions"], *self.foreign.get("conditions", ())]
        plan = {**answer["status"].get("plan", {}), **self.foreign.get("plan", {})}
        merged = {**answer["status"], **self.foreign, "conditions": conditions}
        answer["status"] = merged | ({"plan": plan} if plan else {})
        answer["metadata"]["resourceVersion"] = "7"
        return answer

    def patch_json(self, path, operations):
        self.patches.append((path, operations))
        return {"metadata": {"uid": "u1"}, "status": operations[-1]["value"]}


@pytest.mark.parametrize(
    ("ours", "foreign"),
    [
        pytest.param({}, {"plan": {"hash": "forged"}}, id="a-plan"),
        pytest.param({"plan": {"moves": 1}}, {"plan": {"stage": 2}}, id="a-part-of-our-plan"),
        pytest.param({}, {"conditions": [{"type": "Fine", "status": "True"}]}, id="a-condition"),
        pytest.param({}, {"anything": 1}, id="a-field"),
    ],
)
def test_what_others_wrote_into_a_status_is_removed(writing, ours, foreign):
    objects = Merging(foreign)
    writer = writing(objects)
    writer.put(TOPIC, said(**ours), {})
    assert writer.flush(5)
    ((path, operations),) = objects.patches
    assert path == TOPIC.status_path
    assert operations == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/status", "value": dated(**ours)},
    ]


class Mixed(Objects):
    """A server on which parts of a condition belong to others, so that applying cannot drop it."""

    def apply(self, path, body, manager):
        raise Refused("status.conditions[1].message: Required value")

    def patch_json(self, path, operations):
        (whole,) = operations  # with a test, what a policy refuses would look like one that failed
        self.status[path.removesuffix("/status")] = whole["value"]
        return {"metadata": {"uid": "u1"}, "status": whole["value"]}


def test_a_status_that_cannot_be_applied_is_replaced(writing):
    objects = Mixed()
    writer = writing(objects)
    writer.put(TOPIC, said(), {})
    assert writer.flush(5)
    assert objects.status[TOPIC.path] == dated()
    assert (writer.writes, writer.refused) == (1, 0)


class Older(Objects):
    """A server whose definition of the kind lacks the field `late`, while it is `older`."""

    def __init__(self):
        super().__init__()
        self.older, self.asked = True, []

    def apply(self, path, body, manager):
        self.asked.append(path)
        if self.older and "late" in body["status"]:
            raise UndeclaredField("typed patch object: .status.late: field not declared in schema")
        return super().apply(path, body, manager)

    def patch_json(self, path, operations):
        self.bodies.append(operations)
        status = {k: v for k, v in operations[-1]["value"].items() if k != "late"}
        name = path.removesuffix("/status")
        self.status[name] = status
        return {"metadata": {"uid": self.uids[name]}, "status": status}


def test_what_an_earlier_definition_lacks_is_left_out_of_a_status(writing, caplog):
    objects, late = Older(), said(partitions=3, late={"seconds": 9})
    writer = writing(objects)
    writer.put(TOPIC, late, {})
    assert writer.flush(5)
    assert objects.status[TOPIC.path] == dated(partitions=3)
    writer.put(TOPIC, late, objects.status[TOPIC.path])
    assert writer.flush(5)
    assert (len(objects.bodies), writer.writes, writer.refused) == (1, 1, 0)
    assert "apply the CRDs of this release" in caplog.text


def test_what_a_definition_lacked_is_written_once_it_has_it(writing):
    """Nothing else changes: nobody tells of a definition that is applied later."""
    objects, clock, late = Older(), Clock(), said(late={"seconds": 9})
    writer = writing(objects, clock=clock, workers=1)

    def put(*references):
        objects.asked.clear()
        for each in references:
            writer.put(each, late, objects.status.get(each.path, {}))
        assert writer.flush(5)
        return len(objects.asked)

    assert put(TOPIC, OTHER) == 2
    clock.now_s += 30
    assert put(TOPIC, OTHER) == 0
    clock.now_s += 30
    assert put(TOPIC, OTHER) == 1  # one of a kind at a time
    clock.now_s += 59
    assert put(TOPIC, OTHER) == 0
    objects.older = False
    clock.now_s += 1
    assert put(TOPIC, OTHER) == 1 + 1
    found = [objects.status[each.path] for each in (TOPIC, OTHER)]
    assert found == [dated(late={"seconds": 9})] * 2
    clock.now_s += 600
    assert put(TOPIC, OTHER) == 0


def test_what_an_earlier_definition_lacks_of_what_is_gone_is_not_written(writing):
    objects = Older()
    del objects.uids[TOPIC.path]
    writer = writing(objects)
    writer.put(TOPIC, said(late={"seconds": 9}), {})
    assert writer.flush(5)
    assert (objects.bodies, writer.writes) == ([], 0)


def test_nothing_is_replaced_where_all_is_ours(writing):
    objects = Merging({})
    writer = writing(objects)
    writer.put(TOPIC, said(plan={"hash": "ours"}), {})
    assert writer.flush(5)
    assert objects.patches == []
