"""The status writer against objects in memory; queue and conditions have tests of their own."""

from collections import OrderedDict
from datetime import UTC, datetime
from threading import Event, Thread

import pytest

from conditions import until
from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable, UndeclaredField
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.status_writer import (
    PASSING_S,
    SHORT_WORK_S,
    VIEW_LAG_S,
    StatusWriter,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MANY = 99
MOMENT = "2026-01-31T12:00:00Z"
TOPIC = Reference("Topic", "shop", "orders", "u1")
OTHER = Reference("Topic", "shop", "other", "u2")
CLUSTER = Reference("KafkaCluster", "", "main", "u3")


class Objects:
    """What the API server would have; each write meets the next of `failures` first."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.status = {}
        self.uids = {TOPIC.path: "u1", OTHER.path: "u2", CLUSTER.path: "u3"}
        self.bodies = []
        self.prunes = ()
        self.gate = Event()
        self.gate.set()

    def get(self, path):
        uid = self.uids.get(path)
        return None if uid is None else {"metadata": {"uid": uid}}

    def apply(self, path, body, manager):
        assert manager == "poolkeeper"
        assert self.gate.wait(10)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.bodies.append(body)
        name = path.removesuffix("/status")
        self.status[name] = {
            key: value for key, value in body["status"].items() if key not in self.prunes
        }
        return {"metadata": {"uid": self.uids[name]}, "status": self.status[name]}


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def writing():
    """Makes writers that end with the test."""
    writers = []

    def make(objects, clock=None, workers=2):
        extra = {} if clock is None else {"clock": clock}
        writers.append(StatusWriter(objects, workers, pause_s=0.05, now=lambda: NOW, **extra))
        return writers[-1]

    yield make
    for writer in writers:
        writer.close()


def said(ready="True", **fields):
    return {"conditions": [{"type": "Ready", "status": ready, "reason": "X"}], **fields}


def dated(ready="True", **fields):
    condition = said(ready)["conditions"][0] | {"lastTransitionTime": MOMENT}
    return {"conditions": [condition], **fields}


def test_what_is_sent(writing):
    objects = Objects()
    writer = writing(objects)
    writer.put(TOPIC, said(partitions=3, topicId=None), {})
    assert writer.flush(5)
    assert objects.bodies == [
        {
            "apiVersion": "poolkeeper.dev/v1alpha1",
            "kind": "Topic",
            "metadata": {"name": "orders", "namespace": "shop"},
            "status": dated(partitions=3),
        }
    ]


@pytest.mark.parametrize(
    ("known", "writes"),
    [
        pytest.param(dated(partitions=3), 0, id="live-already"),
        pytest.param(dated(partitions=4), 1, id="live-is-another"),
        pytest.param({}, 1, id="none-is-live"),
        pytest.param(None, 1, id="nobody-knows"),
    ],
)
def test_only_what_is_not_live_is_written(writing, known, writes):
    writer = writing(Objects())
    writer.put(TOPIC, said(partitions=3), known)
    assert writer.flush(5)
    assert writer.writes == writes


def test_a_view_that_lags_behind_our_write_is_not_believed(writing):
    clock = Clock()
    writer = writing(Objects(), clock)
    old = dated(partitions=1)
    writer.put(TOPIC, said(partitions=3), old)
    assert writer.flush(5)
    writer.put(TOPIC, said(partitions=3), old)
    assert writer.flush(5)
    assert writer.writes == 1
    clock.now_s += VIEW_LAG_S
    writer.put(TOPIC, said(partitions=3), old)
    assert writer.flush(5)
    assert writer.writes == 2


def test_what_the_server_leaves_out_is_not_written_for_ever(writing):
    clock, objects = Clock(), Objects()
    objects.prunes = ("topicId",)
    writer = writing(objects, clock)
    for _ in range(5):
        writer.put(TOPIC, said(topicId="x"), objects.status.get(TOPIC.path, {}))
        assert writer.flush(5)
        clock.now_s += 2 * VIEW_LAG_S
    assert writer.writes == 1


def test_what_somebody_else_wrote_is_written_over(writing):
    clock, objects = Clock(), Objects()
    writer = writing(objects, clock)
    writer.put(TOPIC, said(partitions=3), {})
    assert writer.flush(5)
    clock.now_s += VIEW_LAG_S
    writer.put(TOPIC, said(partitions=3), dated("False", partitions=3))
    assert writer.flush(5)
    assert writer.writes == 2


def test_the_latest_wins_while_a_write_is_on_its_way(writing):
    objects = Objects()
    objects.gate.clear()
    writer = writing(objects)
    for number in range(5):
        writer.put(TOPIC, said(partitions=number), {})
    assert writer.pending == 1
    objects.gate.set()
    assert writer.flush(5)
    assert objects.status[TOPIC.path] == dated(partitions=4)
    assert writer.writes <= 2


@pytest.mark.parametrize("failure", [Unavailable("away"), Forbidden("RBAC"), Stale("conflict")])
def test_what_fails_is_tried_again(writing, failure):
    objects = Objects(*[failure] * MANY)
    writer = writing(objects)
    writer.put(TOPIC, said(), {})
    until(lambda: writer.failures and writer.reason == str(failure), "it failed, and says why")
    objects.failures.clear()
    assert writer.flush(5)
    assert (objects.status[TOPIC.path], writer.reason) == (dated(), "")


@pytest.mark.parametrize(
    ("uids", "id"),
    [pytest.param({}, "gone", id="gone"), pytest.param({TOPIC.path: "u9"}, "new", id="recreated")],
)
def test_a_status_of_what_is_gone_is_dropped(writing, uids, id):
    objects = Objects(Stale("not found"))
    objects.uids = uids
    writer = writing(objects)
    writer.put(TOPIC, said(), {})
    assert writer.flush(5)
    assert (writer.writes, objects.bodies) == (0, [])


def test_a_new_object_of_the_same_name_has_the_last_word(writing):
    objects = Objects()
    objects.gate.clear()
    writer = writing(objects, workers=4)
    writer.put(TOPIC, said("False"), {})
    objects.uids[TOPIC.path] = "u9"
    writer.put(Reference("Topic", "shop", "orders", "u9"), said(), {})
    objects.gate.set()
    assert writer.flush(5)
    assert objects.status[TOPIC.path] == dated()


def test_a_refused_status_is_not_tried_again(writing):
    objects = Objects(Refused("spec.x: bad"))
    writer = writing(objects)
    writer.put(TOPIC, said(), {})
    assert writer.flush(5)
    assert (writer.refused, writer.writes) == (1, 0)


def test_one_that_fails_does_not_hold_up_others(writing):
    objects = Objects(*[Forbidden("RBAC")] * 2)
    writer = writing(objects, workers=1)
    writer.put(TOPIC, said(), {})
    until(lambda: writer.failures, "it failed")
    objects.failures.clear()
    writer.put(OTHER, said(), {})
    until(lambda: OTHER.path in objects.status, "the other is written")
    assert writer.flush(5)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param({"conditions": [{"type": "Ready"}]}, KeyError, id="half-a-condition"),
        pytest.param({"drained": {1, 2}}, TypeError, id="no-json"),
    ],
)
def test_what_is_no_status_fails_where_it_is_put(writing, status, error):
    writer = writing(Objects())
    with pytest.raises(error):
        writer.put(TOPIC, status, {})
    assert writer.pending == 0


def test_what_is_forgotten_is_not_written(writing):
    objects = Objects(*[Unavailable("away")] * MANY)
    writer = writing(objects)
    writer.put(TOPIC, said(), {})
    until(lambda: writer.failures, "it failed")
    writer.forget(TOPIC)
    assert writer.flush(5)
    assert objects.bodies == []


def test_closing_writes_what_is_left_and_says_if_it_could_not(writing):
    objects = Objects()
    writer = writing(objects)
    writer.put(TOPIC, said(), {})
    assert writer.close(5)
    assert objects.status[TOPIC.path] == dated()
    stuck = writing(Objects(*[Unavailable("away")] * MANY))
    stuck.put(TOPIC, said(), {})
    assert not stuck.close(0.05)


def test_why_statuses_do_not_get_through_is_logged_once_a_minute(writing, caplog):
    clock, failure = Clock(), Forbidden("applying /x is not allowed")
    objects = Objects()
    writer = writing(objects, clock, workers=1)
    for number, at_s in enumerate((0.0, 59.0, 60.0)):
        clock.now_s = at_s
        objects.failures.append(failure)
        writer.put(TOPIC, said(number=number))
        until(lambda: not objects.failures, "a write failed")
        clock.now_s += 0.5
        writer.put(OTHER, said(number=number))  # has the queue look at the clock
        until(lambda: writer.pending == 0, "it is written then")
    reasons = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    complaint = "the status of Topic shop/orders is not written yet"
    assert reasons == [f"{complaint}: applying /x is not allowed (1 wait)"] * 2


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


class Older(Objects):
    """A server whose definition of the kind lacks the field `late`."""

    def get(self, path):
        found = super().get(path)
        return None if found is None else {"metadata": found["metadata"] | {"resourceVersion": "7"}}

    def apply(self, path, body, manager):
        if "late" in body["status"]:
            raise UndeclaredField("typed patch object: .status.late: field not declared in schema")
        return super().apply(path, body, manager)

    def patch_json(self, path, operations):
        self.bodies.append(operations)
        status = {k: v for k, v in operations[-1]["value"].items() if k != "late"}
        self.status[path.removesuffix("/status")] = status
        return {"metadata": {"uid": "u1"}, "status": status}


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


@pytest.mark.parametrize(
    ("reference", "reason", "held_s"),
    [
        pytest.param(TOPIC, "Creating", SHORT_WORK_S, id="a-topic-is-created"),
        pytest.param(TOPIC, "Configuring", SHORT_WORK_S, id="a-topic-is-configured"),
        pytest.param(TOPIC, "Waiting", SHORT_WORK_S, id="a-topic-was-just-edited"),
        pytest.param(TOPIC, "Queued", PASSING_S, id="a-topic-waits"),
        pytest.param(CLUSTER, "Creating", PASSING_S, id="topics-of-a-cluster-are-created"),
    ],
)
def test_a_status_that_may_pass_is_held(writing, reference, reason, held_s):
    objects, clock = Objects(), Clock()
    writer = writing(objects, clock)
    working = {"type": "Ready", "status": "False", "reason": reason}
    reconciling = {"type": "Reconciling", "status": "True", "reason": reason}
    writer.put(reference, {"conditions": [working, reconciling]}, {})
    clock.now_s = held_s - 0.1
    writer.put(OTHER, said(), {})  # which is not held
    until(lambda: OTHER.path in objects.status, "the other one is written")
    assert reference.path not in objects.status
    clock.now_s = held_s + 0.1
    writer.put(OTHER, said(partitions=1), {})
    until(lambda: reference.path in objects.status, "it is written in the end")


def test_what_has_passed_meanwhile_is_not_written(writing):
    objects = Objects()
    writer = writing(objects, Clock())
    reconciling = {"type": "Reconciling", "status": "True", "reason": "Creating"}
    writer.put(TOPIC, {"conditions": [reconciling]}, {})
    writer.put(TOPIC, said(), {})
    assert writer.flush(10)
    assert [body["status"]["conditions"][0]["type"] for body in objects.bodies] == ["Ready"]


@pytest.mark.parametrize("reason", ["WaitingForApproval", "AdoptionRequired"])
def test_what_asks_a_person_is_not_held(writing, reason):
    objects = Objects()
    asking = {"type": "Ready", "status": "False", "reason": reason}
    reconciling = {"type": "Reconciling", "status": "True", "reason": reason}
    writing(objects, Clock()).put(CLUSTER, {"conditions": [asking, reconciling]}, {})
    until(lambda: CLUSTER.path in objects.status, "it is written at once")


class SlowMemory(OrderedDict):
    """A memory of what was written, in which `between` is called after each new value."""

    between = None

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if self.between is not None:
            self.between()


def test_an_object_that_is_gone_while_its_status_is_remembered_ends_no_thread(writing):
    objects = Objects()
    writer = writing(objects, workers=1)
    writer._written = SlowMemory()

    def forget():
        writer._written.between = None
        thread = Thread(target=writer.forget, args=(TOPIC,))
        thread.start()
        thread.join(0.5)

    writer._written.between = forget
    writer.put(TOPIC, said(), {})
    assert writer.flush(5)
    writer.put(TOPIC, said(partitions=3), {})
    assert writer.flush(5)
    assert objects.status[TOPIC.path] == dated(partitions=3)


def test_a_bug_in_one_status_ends_no_thread(writing, caplog):
    objects = Objects(KeyError("metadata"))
    writer = writing(objects, workers=1)
    writer.put(TOPIC, said(), {})
    writer.put(OTHER, said(), {})
    assert writer.flush(5)
    assert OTHER.path in objects.status
    assert "the status of Topic shop/orders cannot be written" in caplog.text
