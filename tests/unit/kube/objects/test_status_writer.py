"""The status writer against objects in memory; queue and conditions have tests of their own."""

from collections import OrderedDict
from dataclasses import replace
from threading import Thread

import pytest

from conditions import until
from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.status_writer import (
    PASSING_S,
    SHORT_WORK_S,
    VIEW_LAG_S,
)
from unit.kube.objects.status_ground import (
    CLUSTER,
    MANY,
    OTHER,
    TOPIC,
    Clock,
    Objects,
    dated,
    said,
)


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


def test_how_long_a_status_waited_is_counted_by_a_clock_that_nobody_sets(writing):
    objects, clock, waited_s = Objects(), Clock(), []
    apply = objects.apply

    def slowly(*given, **more):
        clock.now_s += 2.0
        return apply(*given, **more)

    objects.apply = slowly
    writer = writing(objects, clock, on_written=waited_s.append)  # by the other one no time passes
    writer.put(TOPIC, said(partitions=3), {})
    assert writer.flush(5)
    assert waited_s == [2.0]


def test_who_is_forgotten_takes_no_status_of_one_that_was_made_anew_under_its_name(writing):
    objects, again = Objects(), replace(TOPIC, uid="second")
    objects.uids[TOPIC.path] = again.uid
    writer = writing(objects)
    under_way = said("False", partitions=3)  # is held for a moment
    under_way["conditions"].append({"type": "Reconciling", "status": "True", "reason": "X"})
    writer.put(again, under_way, {})
    writer.forget(TOPIC)
    assert writer.flush(5)
    assert objects.status[TOPIC.path]["partitions"] == 3


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


@pytest.mark.slow
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
    objects, told = Objects(Refused("spec.x: bad")), []
    writer = writing(objects, on_refused=lambda *what: told.append(what))
    writer.put(TOPIC, said(), {})
    assert writer.flush(5)
    assert (writer.refused, writer.writes) == (1, 0)
    assert told == [(TOPIC, "spec.x: bad")]


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


@pytest.mark.slow
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
