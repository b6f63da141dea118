import logging
from datetime import UTC, datetime
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conditions import until
from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects import events
from poolkeeper.kube.objects.events import EventRecorder, EventSource, Note, event
from poolkeeper.text import shorten

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
TOPIC = Reference("Topic", "shop", "orders", "u1")
POOL = Reference("ResourcePool", "", "main-fast", "u2")


class Objects:
    def __init__(self, *failures):
        self.failures = list(failures)
        self.created = []

    def create(self, path, body):
        if self.failures:
            raise self.failures.pop(0)
        self.created.append((path, body))
        return body


@pytest.fixture
def recording():
    recorders = []

    def make(objects, **extra):
        given = {"pause_s": 0.05, "now": lambda: NOW} | extra
        recorders.append(EventRecorder(objects, "poolkeeper", "me-0", **given))
        return recorders[-1]

    yield make
    for recorder in recorders:
        recorder.close()


def made(reference=TOPIC, reason="Moving", note="moving", warning=False, component="poolkeeper"):
    told = Note(reason, note, "Reconcile", warning)
    return event(reference, told, EventSource(component, "me-0"), NOW)


def test_an_event_says_what_happened_to_which_object():
    found = made(warning=True)
    name = found["metadata"].pop("name")
    assert name.startswith("orders.")
    assert found == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "shop"},
        "eventTime": "2026-01-31T12:00:00.000000Z",
        "reportingController": "poolkeeper",
        "reportingInstance": "me-0",
        "action": "Reconcile",
        "reason": "Moving",
        "type": "Warning",
        "note": "moving",
        "regarding": {
            "apiVersion": "poolkeeper.dev/v1alpha1",
            "kind": "Topic",
            "namespace": "shop",
            "name": "orders",
            "uid": "u1",
        },
    }


def test_objects_without_a_namespace_have_theirs_in_default():
    found = made(POOL)
    assert found["metadata"]["namespace"] == "default"
    assert "namespace" not in found["regarding"]


def test_names_stay_within_what_is_allowed():
    found = made(Reference("Topic", "shop", "x" * 253, "u"))
    assert len(found["metadata"]["name"]) <= 253


@given(st.text(max_size=60), st.integers(1, 40), st.integers(3, 1500))
def test_a_note_is_cut_to_bytes_and_stays_text(part, times, bytes_max):
    text = part * times
    cut = shorten(text, bytes_max)
    assert len(cut.encode()) <= bytes_max
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


def test_the_same_is_told_once(recording):
    objects = Objects()
    recorder = recording(objects)
    assert recorder.record(TOPIC, "Moving", "moving")
    assert not recorder.record(TOPIC, "Moving", "moving")
    assert recorder.record(TOPIC, "Moving", "moving on")
    assert recorder.flush(5)
    path = "/apis/events.k8s.io/v1/namespaces/shop/events"
    assert [where for where, _ in objects.created] == [path] * 2


@pytest.mark.parametrize("failure", [Forbidden("RBAC"), Refused("no"), Stale("no such namespace")])
def test_what_is_not_taken_is_dropped(recording, failure):
    recorder = recording(Objects(failure))
    recorder.record(TOPIC, "Moving", "moving")
    recorder.record(TOPIC, "InPlace", "in place")
    assert recorder.flush(5)
    assert (recorder.written, recorder.dropped) == (1, 1)


def test_that_events_are_not_allowed_is_a_warning_once_a_minute(recording, caplog):
    caplog.set_level(logging.INFO)
    recorder = recording(Objects(Refused("no"), Forbidden("RBAC"), Forbidden("RBAC")))
    for number in range(3):
        recorder.record(TOPIC, "Moving", f"moving {number}")
    assert recorder.flush(5)
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "INFO"]


def test_what_comes_while_the_server_is_away_is_told_later_in_order(recording):
    objects = Objects(Unavailable("away"))
    recorder = recording(objects)
    recorder.record(TOPIC, "Moving", "moving")
    recorder.record(TOPIC, "InPlace", "in place")
    assert recorder.flush(10)
    assert [body["reason"] for _, body in objects.created] == ["Moving", "InPlace"]


@pytest.mark.slow
def test_a_namespace_that_fails_keeps_no_other_waiting(recording):
    """As where an admission webhook of it is away."""
    elsewhere = Reference("Topic", "other", "orders", "u3")

    class Failing(Objects):
        away = True

        def create(self, path, body):
            if self.away and "/shop/" in path:
                raise Unavailable("its webhook is away")
            return super().create(path, body)

    objects = Failing()
    recorder = recording(objects, pause_s=0.5)
    for reason in ("Moving", "InPlace"):
        for reference in (TOPIC, POOL, elsewhere):
            recorder.record(reference, reason, "told")
    until(lambda: len(objects.created) == 4, "those of others are written")
    assert [body["reason"] for _, body in objects.created] == ["Moving"] * 2 + ["InPlace"] * 2
    objects.away = False
    assert recorder.flush(10)
    assert [body["reason"] for _, body in objects.created[4:]] == ["Moving", "InPlace"]


def test_a_namespace_that_hangs_leaves_a_thread_to_others(recording):
    """A webhook that is away may take as long as a call may last, for each event."""
    elsewhere = Reference("Topic", "other", "orders", "u3")

    class Hanging(Objects):
        def __init__(self):
            super().__init__()
            self.hanging, self.go_on = [], Event()

        def create(self, path, body):
            if "/shop/" in path:
                self.hanging.append(body["reason"])
                self.go_on.wait(10)
            return super().create(path, body)

    objects = Hanging()
    recorder = recording(objects)
    for reason in ("Moving", "InPlace"):
        recorder.record(TOPIC, reason, "told")
        recorder.record(elsewhere, reason, "told")
    until(lambda: len(objects.created) == 2, "those of others are written")
    assert objects.hanging == ["Moving"]
    objects.go_on.set()
    assert recorder.flush(10)
    assert objects.hanging == ["Moving", "InPlace"]


@pytest.mark.slow
def test_namespaces_that_fail_have_one_thread(recording):
    class Failing(Objects):
        at_once, most = 0, 0

        def create(self, path, body):
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            try:
                if "/other/" not in path:
                    moment.wait(0.05)
                    raise Unavailable("its webhook is away")
                return super().create(path, body)
            finally:
                self.at_once -= 1

    moment, objects = Event(), Failing()
    recorder = recording(objects, pause_s=0.01)
    for name in ("shop", "bank"):
        recorder.record(Reference("Topic", name, "orders"), "Moving", "told")
    until(lambda: recorder._failing == {"shop", "bank"}, "both fail")
    with recorder._condition:
        recorder._condition.wait_for(lambda: not recorder._writing, 5)
        objects.most = 0
    moment.wait(0.5)
    assert objects.most == 1


def test_old_news_are_dropped(recording):
    class Clock:
        now_s = 0.0

        def __call__(self):
            return self.now_s

    clock = Clock()

    class Away(Objects):
        def create(self, path, body):
            clock.now_s += events.AGE_S_MAX
            raise Unavailable("away")

    recorder = recording(Away(), clock=clock)
    recorder.record(TOPIC, "Moving", "moving")
    until(lambda: recorder.dropped == 1, "it is dropped")


def test_the_oldest_make_room_while_the_server_is_away(recording):
    recorder = recording(Objects(*[Unavailable("away")] * 9))
    told = events.QUEUE_MAX + 10
    for number in range(told):
        recorder.record(Reference("Topic", "shop", f"t{number % 20}"), "Moving", str(number))
    assert len(recorder._queue) <= events.QUEUE_MAX


def test_warnings_are_the_last_that_make_room(recording, monkeypatch):
    monkeypatch.setattr(events, "QUEUE_MAX", 20)
    recorder = recording(Objects(*[Unavailable("away")] * 99))

    def record(name, warning):
        recorder.record(Reference("Topic", "shop", name, name), "Told", name, warning=warning)

    for number in range(15):
        record(f"wrong{number}", warning=True)
    for number in range(40):
        record(f"right{number}", warning=False)
    with recorder._condition:
        waiting = [each.reference.name for each in recorder._queue if each.warning]
    assert len(waiting) >= 14  # one may be on its way
    for number in range(40):
        record(f"late{number}", warning=True)
    with recorder._condition:
        assert all(each.warning for each in list(recorder._queue)[1:])


def test_after_closing_nothing_is_taken(recording):
    recorder = recording(Objects())
    recorder.close()
    assert not recorder.record(TOPIC, "Moving", "moving")


def test_what_waits_is_dropped_when_it_is_not_ours_to_tell_any_more(recording):
    objects = Objects(*[Unavailable("away")] * 1000)
    recorder = recording(objects)
    assert recorder.record(TOPIC, "Moving", "moving")
    until(lambda: len(objects.failures) < 1000, "it was tried")
    assert recorder.record(POOL, "Moved", "in place")
    recorder.forget()
    assert recorder.flush(5)
    objects.failures.clear()
    assert recorder.record(POOL, "Drained", "broker 3 is empty")
    assert recorder.flush(5)
    assert [body["reason"] for _, body in objects.created] == ["Drained"]


def test_a_bug_in_one_event_ends_no_thread(recording, caplog):
    objects = Objects(KeyError("metadata"))
    recorder = recording(objects)
    recorder.record(TOPIC, "Moving", "moving")
    recorder.record(POOL, "Moving", "moving")
    assert recorder.flush(5)
    assert len(objects.created) == 1
    assert "an event of Topic shop/orders cannot be written" in caplog.text
