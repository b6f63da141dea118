"""Events where people look for them: `kubectl describe` and `kubectl get events`."""

import pytest

from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.references import Reference, collection
from poolkeeper.kube.objects.events import EventRecorder
from poolkeeper.model.names import API_VERSION

POOL = {"clusterRef": {"name": "main"}, "brokers": {"ids": [1]}}
TOPIC = {"poolRef": {"name": "fast"}}


@pytest.fixture
def api(clean_cluster):
    api = Api.connect(environ={"KUBECONFIG": str(clean_cluster.kubeconfig)})
    yield api
    api.close()


@pytest.fixture
def recorder(api):
    recorder = EventRecorder(api, "poolkeeper", "poolkeeper-0")
    yield recorder
    recorder.close()


def made(api, kind, namespace, name, spec):
    body = {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    return Reference.of(api.create(collection(kind, namespace), body))


def test_describe_shows_events_of_a_topic(control_plane, api, recorder, namespace):
    topic = made(api, "Topic", namespace, "orders", TOPIC)
    assert recorder.record(topic, "Moving", "12 partitions → pool fast")
    assert recorder.record(topic, "NoSuchPool", "there is no pool fast", warning=True)
    assert recorder.flush(10)
    said = control_plane.kubectl("describe", "topic", "orders", "-n", namespace).stdout
    lines = [line.split(maxsplit=4) for line in said.split("Events:")[1].splitlines()[3:]]
    assert sorted((one[0], one[1], one[3], one[4]) for one in lines) == [
        ("Normal", "Moving", "poolkeeper", "12 partitions → pool fast"),
        ("Warning", "NoSuchPool", "poolkeeper", "there is no pool fast"),
    ]


def test_describe_shows_events_of_a_pool_which_has_no_namespace(control_plane, api, recorder):
    pool = made(api, "ResourcePool", "", "events-pool", POOL)
    assert recorder.record(pool, "InPlace", "all replicas are in place")
    assert recorder.flush(10)
    said = control_plane.kubectl("describe", "resourcepool", "events-pool").stdout
    assert "all replicas are in place" in said.split("Events:")[1]


def test_get_events_names_the_object(control_plane, api, recorder, namespace):
    topic = made(api, "Topic", namespace, "orders", TOPIC)
    recorder.record(topic, "Moving", "é" * 2000)
    assert recorder.flush(10)
    columns = (
        "custom-columns=OBJECT:.involvedObject.kind,NAME:.involvedObject.name,"
        "REASON:.reason,BY:.reportingComponent,INSTANCE:.reportingInstance"
    )
    said = control_plane.kubectl(
        "get", "events", "-n", namespace, "--no-headers", "-o", columns
    ).stdout
    assert said.split() == ["Topic", "orders", "Moving", "poolkeeper", "poolkeeper-0"]
    assert recorder.dropped == 0


def test_the_same_is_told_once_and_a_flood_is_cut(control_plane, api, recorder, namespace):
    topic = made(api, "Topic", namespace, "orders", TOPIC)
    for _ in range(5):
        recorder.record(topic, "Moving", "moving")
    for number in range(50):
        recorder.record(topic, "Moving", f"moving {number}")
    assert recorder.flush(30)
    events = list(api.list(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"))
    assert len(events) == recorder.written == 25


def test_events_of_what_is_gone_are_no_trouble(api, recorder, namespace):
    assert recorder.record(Reference("Topic", "no-such-namespace", "x", "u"), "Moving", "…")
    topic = made(api, "Topic", namespace, "orders", TOPIC)
    assert recorder.record(topic, "Moving", "moving")
    assert recorder.flush(10)
    assert (recorder.written, recorder.dropped) == (1, 1)
