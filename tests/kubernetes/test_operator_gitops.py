"""The operator beside GitOps: it writes statuses and finalizers, nothing that must be undone."""

import json
from pathlib import Path

import pytest

from control_plane.access import ApiError

TOPICS = Path(__file__).parents[2] / "crds" / "topics.yaml"
TOPICS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/topics.poolkeeper.dev"
AUTO = {"mode": "Apply", "approval": {"policy": "Auto"}}
STORED_BYTES = 3 << 19
"""What etcd takes at once, if it is not told otherwise."""
LABEL_BYTES = 115
"""Of each label below, with its quotes; who manages so many is not stored."""
RESOURCES = ("cluster", ""), ("pool", "p"), ("topic", "orders"), ("topic", "logs")


def folder(scene):
    return (
        scene.cluster(**AUTO),
        scene.pool("p", 1, 2, 3),
        scene.topic("orders", "p", partitions=3, replicationFactor=2),
        scene.topic("logs", "p", partitions=1, replicationFactor=1, deletionPolicy="Delete"),
    )


def bodies(scene):
    return [scene.get(kind, name) for kind, name in RESOURCES]


def versions(scene):
    return [body["metadata"]["resourceVersion"] for body in bodies(scene)]


def converge(scene):
    """Wait until all are in place and guarded as they shall be."""
    for kind, name in RESOURCES:
        scene.says(kind, name)
    for kind, name in (("pool", "p"), ("topic", "logs")):
        scene.wait(
            lambda kind=kind, name=name: scene.get(kind, name)["metadata"].get("finalizers"),
            f"{kind} {name} is guarded",
        )


def no_status_waits(scene):
    """Wait until all statuses are written, but those that are refused."""
    scene.wait(
        lambda: scene.operator.metric("poolkeeper_statuses_waiting") == 0,
        "no status waits to be written",
    )


def all_events(scene):
    return [scene.events(kind, name) for kind, name in RESOURCES]


@pytest.mark.parametrize("side", ["client", "server"])
def test_the_same_folder_again_changes_nothing_and_differs_in_nothing(scene, side):
    text = "\n---\n".join(map(json.dumps, folder(scene)))
    server = f"--server-side={'true' if side == 'server' else 'false'}"
    scene.kubectl("apply", server, "-f", "-", input=text)
    converge(scene)
    before = versions(scene)
    difference = scene.kubectl("diff", server, "-f", "-", input=text, check=False)
    assert (difference.returncode, difference.stdout) == (0, "")
    scene.kubectl("apply", server, "-f", "-", input=text)
    assert versions(scene) == before


def test_spec_and_metadata_are_left_alone_but_for_finalizers(scene):
    declared = folder(scene)
    scene.apply(*declared, **{"server-side": "true"})
    converge(scene)
    for body in bodies(scene):
        written = {
            (each["operation"], each.get("subresource", "")): each["fieldsV1"]
            for each in body["metadata"]["managedFields"]
            if each["manager"] == "poolkeeper"
        }
        assert set(written) <= {("Apply", "status"), ("Update", "")}
        assert set(written["Apply", "status"]) == {"f:status"}
        metadata = written.get(("Update", ""), {}).get("f:metadata", {})
        assert set(metadata) <= {"f:finalizers"}
        assert set(written.get(("Update", ""), {})) <= {"f:metadata"}
        assert "annotations" not in body["metadata"]
        assert body["metadata"]["generation"] == 1


def test_a_restart_in_the_converged_state_writes_nothing_and_tells_nothing(scene):
    scene.apply(*folder(scene))
    converge(scene)
    for kind, name in (("cluster", ""), ("topic", "orders"), ("topic", "logs")):
        scene.events(kind, name, awaited="Created")
    before, told = versions(scene), all_events(scene)
    known = len(scene.changes())
    scene.operator.stop()
    scene.operator.start()
    scene.operator.await_role("leader", 60)
    passes = f'poolkeeper_passes_total{{cluster="{scene.name}",kind="converged"}}'
    scene.wait(lambda: scene.operator.metric(passes), "a pass after the restart", 40)
    reports = f'poolkeeper_phase_duration_seconds_count{{cluster="{scene.name}",phase="report"}}'
    scene.wait(lambda: scene.operator.metric(reports), "it was reported")
    no_status_waits(scene)
    assert versions(scene) == before
    assert all_events(scene) == told
    written = {change.path for change in scene.changes()[known:]}
    assert {path for path in written if not path.startswith("/poolkeeper/holder")} <= {
        "/poolkeeper/epoch"
    }


def test_statuses_that_somebody_removes_come_back(scene):
    """Also right after they were written, when a watch may still show what was there before."""
    scene.apply(*folder(scene))
    converge(scene)
    for kind, name in RESOURCES:
        path = f"{scene.path(kind, name)}/status"
        nothing = dict.fromkeys(scene.status(kind, name))
        scene.plane.request("PATCH", path, {"status": nothing})
    for kind, name in RESOURCES:
        scene.says(kind, name)


@pytest.fixture
def large(scene):
    """A Topic that leaves no room for a status, nor for anything else: it can only be deleted."""
    scene.apply(scene.cluster(**AUTO), scene.pool("p", 1, 2, 3))
    scene.says("cluster")
    as_large_as_stored(scene, "large")
    yield "large"
    scene.delete("topic", "large")


def as_large_as_stored(scene, name):
    """Create it with as many labels as the store takes: a try weighs more than a megabyte."""
    path = scene.path("topic", "").removesuffix("/")
    body = scene.topic(name, "p", partitions=1, replicationFactor=1)
    for labels in range(STORED_BYTES // LABEL_BYTES, 0, -1):
        named = {f"l{n:060}": "v" * 48 for n in range(labels)}
        metadata = body["metadata"] | {"labels": named}
        try:
            return scene.plane.request("POST", path, body | {"metadata": metadata})
        except ApiError as refused:
            assert "too large" in str(refused)  # noqa: PT017 - the last one is taken
    raise AssertionError("none is taken")


def test_a_topic_that_leaves_no_room_for_its_status_is_told_by_an_event(scene, large):
    assert ("Warning", "StatusRefused", 1) in scene.events("topic", large, awaited="StatusRefused")
    assert "conditions" not in scene.status("topic", large)
    scene.apply(scene.topic("small", "p", partitions=1, replicationFactor=1))
    scene.says("topic", "small")
    no_status_waits(scene)


def test_a_new_generation_is_never_shown_as_ready_before_it_is(scene):
    """What kstatus reads: Ready True, and observedGeneration of the condition and the status."""
    scene.apply(*folder(scene))
    converge(scene)
    for count in range(4, 6):
        body = scene.patch("topic", "orders", partitions=count)
        generation = body["metadata"]["generation"]
        while True:
            body = scene.get("topic", "orders")
            status = body["status"]
            ready = next(each for each in status["conditions"] if each["type"] == "Ready")
            current = status["observedGeneration"] == generation
            assert ready["observedGeneration"] == status["observedGeneration"]
            if current and ready["status"] == "True":
                break
        assert status["partitions"] == len(scene.assignment("orders")) == count


@pytest.fixture
def release(scene, helm, tmp_path):
    """Installs resources as a chart of their owner; helm waits as its kstatus says."""

    def install(*resources, timeout_s):
        (tmp_path / "templates").mkdir()
        (tmp_path / "Chart.yaml").write_text("{apiVersion: v2, name: topics, version: 1.0.0}")
        for number, resource in enumerate(resources):
            (tmp_path / "templates" / f"{number}.yaml").write_text(json.dumps(resource))
        where = ("-n", scene.namespace, "--wait", f"--timeout={timeout_s}s")
        return helm("install", "topics", tmp_path, *where, check=False)

    return install


def test_helm_waits_until_all_is_in_place(scene, release):
    installed = release(*folder(scene), timeout_s=120)
    assert (installed.returncode, installed.stderr) == (0, "")
    for kind, name in RESOURCES:
        assert scene.condition(kind, name)["status"] == "True"
    assert (len(scene.assignment("orders")), len(scene.assignment("logs"))) == (3, 1)


@pytest.mark.parametrize(
    ("cluster", "topic", "kinds"),
    [
        pytest.param(AUTO, {"replicationFactor": 4}, {"Topic"}, id="what-cannot-be"),
        pytest.param(
            {"mode": "PlanOnly"}, {}, {"KafkaCluster", "Topic"}, id="what-nobody-approves"
        ),
    ],
)
def test_helm_names_what_does_not_come(scene, release, cluster, topic, kinds):
    resources = (
        scene.cluster(**cluster),
        scene.pool("p", 1, 2, 3),
        scene.topic("orders", "p", **{"partitions": 1, "replicationFactor": 1, **topic}),
    )
    installed = release(*resources, timeout_s=20)
    assert installed.returncode != 0
    names = {"KafkaCluster": scene.full("cluster"), "Topic": "orders"}
    for kind in kinds:
        assert names[kind] in installed.stderr


def test_the_log_is_json_and_names_what_it_is_about(scene):
    scene.apply(*folder(scene))
    converge(scene)
    written = [json.loads(line) for line in scene.operator.log.read_text().splitlines()]
    # The audit trail goes to standard output, which is the same file here.
    lines = [line for line in written if "event" not in line]
    notes = [line for line in written if "event" in line and line["cluster"] == scene.name]
    assert {note["event"] for note in notes} == {"Write", "Decision"}
    assert "CreateTopic" in {note.get("action") for note in notes}
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    about = {json.dumps(line["object"]) for line in lines if "object" in line}
    topic = {"kind": "Topic", "namespace": scene.namespace, "name": "orders"}
    assert json.dumps(topic) in about
    created = [line["message"] for line in lines if line.get("cluster") == scene.name]
    assert f"create topic orders (3 partitions in {scene.full('pool', 'p')})" in created


@pytest.fixture
def later_definition(scene):
    """Give Topics a field with a default, as a later release may."""

    def change():
        found = scene.plane.request("GET", TOPICS_PATH)
        root = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        root["properties"]["spec"]["properties"]["tier"] = {"type": "string", "default": "gold"}
        scene.plane.request("PUT", TOPICS_PATH, found)

    yield change
    scene.plane.apply_crds(TOPICS)

    def served():
        """The server keeps another copy of all Topics for another definition, and fills it."""
        listed = scene.kubectl("get", "topics", "-A", "-o", "json", check=False)
        return not listed.returncode and "tier" not in listed.stdout

    scene.wait(served, "the definition of this release is served again")


def test_definitions_of_a_later_release_make_nothing_invalid(scene, later_definition):
    """They come before the operator of that release, and their defaults are in every resource."""
    scene.apply(*folder(scene))
    converge(scene)
    later_definition()

    def served():
        scene.apply(scene.topic("late", "p", partitions=1, replicationFactor=1))
        return scene.get("topic", "late")["spec"].get("tier")

    scene.wait(served, "the new definition is served")
    scene.says("topic", "late")
    scene.patch("topic", "orders", config={"retention.ms": "900000000"})
    scene.wait(lambda: scene.config("orders") == {"retention.ms": "900000000"}, "it is worked on")
    for kind, name in RESOURCES:
        scene.says(kind, name)
    told = "has fields that this release does not know (spec.tier)"
    scene.wait(lambda: told in scene.operator.log.read_text(), "the log says so")
    after = {reason for events in all_events(scene) for _, reason, _ in events}
    assert "Invalid" not in after


def test_kubectl_wait_and_describe_answer_too(scene):
    scene.apply(*folder(scene))
    words = ("--for=condition=Ready", "--timeout=180s", "-n", scene.namespace)
    scene.kubectl("wait", *words, "topic/orders", "topic/logs")
    scene.kubectl("wait", *words, f"kafkacluster/{scene.name}")
    told = scene.wait(lambda: events_of(scene), "the event is there")
    # A pass may have seen the topic before its leaders were elected; its creation is told once.
    in_place = "in place in pool p: 3 partitions of 2 replicas"
    assert told in ([in_place], ["waiting for leaders of 3 partitions"])


def events_of(scene):
    described = scene.kubectl("describe", "topic", "orders", "-n", scene.namespace).stdout
    events = described[described.index("Events:") :].splitlines()
    return [scene.text(line).split("poolkeeper")[-1].strip() for line in events[3:] if line]
