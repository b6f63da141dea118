"""The control plane of the tests is a real one, says why when it cannot be, and leaves nothing."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conditions import until
from control_plane import audits, building
from control_plane.access import ApiError
from control_plane.audits import AuditEvent
from control_plane.planes import ControlPlane
from matrices import soak
from poolkeeper import errors

TESTS = Path(__file__).parents[1]
KINDS = ("kafkaclusters", "rebalances", "resourcepools", "topics")

READER = """
apiVersion: v1
kind: ServiceAccount
metadata: {{name: reader, namespace: {namespace}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: reader, namespace: {namespace}}}
rules:
  - {{apiGroups: [""], resources: [pods], verbs: [list]}}
"""

BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: reader, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}}
subjects:
  - {{kind: ServiceAccount, name: reader, namespace: {namespace}}}
"""

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: one, namespace: {namespace}}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - {{name: main, image: none, command: ["true"]}}
"""

FINALIZED = """
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: left-over, finalizers: [poolkeeper.dev/finalizer]}
spec:
  zookeeper: {connect: "127.0.0.1:2181"}
"""

OWNER = """
import sys
from pathlib import Path
from control_plane.planes import ControlPlane
plane = ControlPlane.start(root=Path(sys.argv[1]))
servers = (plane.etcd, plane.api_server, plane.controllers, plane.scheduler)
print(*(server.pid for server in servers), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def programs():
    """Where the programs are. Built here, for a fixture may take longer than a test."""
    return building.control_plane()


@pytest.fixture
def reader(control_plane, namespace):
    """A kubeconfig of a service account whose role is not bound yet."""
    control_plane.apply(READER.format(namespace=namespace))
    return control_plane.account_kubeconfig(namespace, "reader")


def pods(plane, namespace):
    return plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]


def owned_by(plane, namespace):
    """Who controls each pod of a namespace, as (kind, name)."""
    owners = [pod["metadata"]["ownerReferences"][0] for pod in pods(plane, namespace)]
    return [(owner["kind"], owner["name"]) for owner in owners]


def test_it_is_the_kubernetes_that_go_mod_says(control_plane):
    required = (building.SOURCE / "go.mod").read_text(encoding="utf-8").split()
    version = required[required.index("k8s.io/kubernetes") + 1]
    assert control_plane.request("GET", "/version")["gitVersion"] == version
    told = control_plane.kubectl("version", "--output=json").stdout
    assert told.count(f'"gitVersion": "{version}"') == 2
    assert control_plane.request("GET", "/readyz") == "ok"


def test_our_resources_are_served(control_plane):
    served = control_plane.kubectl("api-resources", "--api-group=poolkeeper.dev", "-oname").stdout
    assert served.split() == [f"{kind}.poolkeeper.dev" for kind in KINDS]


def test_an_account_may_do_what_its_role_says_and_no_more(control_plane, namespace, reader):
    def list_pods():
        return control_plane.kubectl("get", "pods", kubeconfig=reader, check=False)

    refused = list_pods()
    assert refused.returncode == 1
    assert f'"system:serviceaccount:{namespace}:reader" cannot list' in refused.stderr
    control_plane.apply(BINDING.format(namespace=namespace))
    until(lambda: list_pods().returncode == 0, "the role is bound")
    elsewhere = control_plane.kubectl("get", "pods", "-A", kubeconfig=reader, check=False)
    assert "Forbidden" in elsewhere.stderr


def test_the_audit_log_has_what_an_account_asked_for(control_plane, namespace, reader):
    control_plane.kubectl("get", "pods", kubeconfig=reader, check=False)
    account = f"{namespace}/reader"

    def asked():
        events = [event for event in control_plane.audit() if event.account == account]
        return [(e.verb, e.group, e.resource, e.namespace, e.status) for e in events if e.resource]

    until(asked, "the request is in the audit log")
    assert asked() == [("list", "", "pods", namespace, 403)]


def test_no_request_of_the_administrator_or_of_kubernetes_itself_is_in_the_audit_log(
    control_plane, namespace, reader
):
    control_plane.kubectl("get", "pods", kubeconfig=reader, check=False)
    until(control_plane.audit, "a request is in the audit log")
    accounts = {event.account for event in control_plane.audit()}
    assert {a for a in accounts if "/" not in a or a.startswith("kube-system/")} == set()


def test_controllers_make_a_pod_of_a_job_and_remove_it_with_the_job(control_plane, namespace):
    control_plane.apply(JOB.format(namespace=namespace))
    until(lambda: owned_by(control_plane, namespace) == [("Job", "one")], "the job has a pod")
    control_plane.kubectl("delete", "job", "one", "-n", namespace, "--wait=false")
    until(lambda: pods(control_plane, namespace) == [], "the pod is collected")


def test_a_new_namespace_takes_a_pod_at_once(control_plane):
    name = control_plane.new_namespace()
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    control_plane.request("POST", f"/api/v1/namespaces/{name}/pods", pod)
    assert [found["metadata"]["name"] for found in pods(control_plane, name)] == ["p"]


@pytest.mark.parametrize("end", ["kill", *soak("stop")])
def test_the_api_server_comes_back_with_what_it_had(control_plane, namespace, end):
    port = control_plane.port
    getattr(control_plane.api_server, end)()
    with pytest.raises(OSError, match="refused"):
        control_plane.request("GET", "/readyz")
    control_plane.api_server.start()
    assert control_plane.port == port
    read = control_plane.request("GET", f"/api/v1/namespaces/{namespace}")
    assert read["metadata"]["name"] == namespace
    for kind in KINDS:  # at once, without "storage is (re)initializing"
        control_plane.request("GET", f"/apis/poolkeeper.dev/v1alpha1/{kind}")
    # The controllers have survived, and find it again.
    control_plane.apply(JOB.format(namespace=namespace))
    until(lambda: owned_by(control_plane, namespace) == [("Job", "one")], "a pod", timeout_s=60)


def test_a_frozen_api_server_is_silent_until_it_thaws(control_plane):
    control_plane.api_server.freeze()
    try:
        with pytest.raises(TimeoutError):
            control_plane.access.request("GET", "/readyz", timeout_s=0.5)
    finally:
        control_plane.api_server.thaw()
    assert control_plane.request("GET", "/readyz") == "ok"


def test_a_failed_kubectl_says_why(control_plane):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        control_plane.kubectl("get", "namespace", "nowhere")
    assert failed.value.__notes__ == [
        'Error from server (NotFound): namespaces "nowhere" not found'
    ]


def test_a_resource_with_a_finalizer_is_cleaned_away(request, control_plane):
    control_plane.apply(FINALIZED)
    path = "/apis/poolkeeper.dev/v1alpha1/kafkaclusters/left-over"
    assert control_plane.request("GET", path)["metadata"]["name"] == "left-over"
    request.getfixturevalue("clean_cluster")
    with pytest.raises(ApiError, match="404"):
        control_plane.request("GET", path)


def test_helm_reaches_the_control_plane(helm, namespace):
    assert helm("list", "--namespace", namespace, "--output=json").stdout.strip() == "[]"


@pytest.mark.usefixtures("programs")
def test_it_dies_with_its_owner_and_the_next_one_removes_what_is_left(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        start_new_session=True,
    )
    with owner:
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 4
        os.killpg(owner.pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the servers are gone")
    left = list(tmp_path.iterdir())
    assert len(left) == 1
    with ControlPlane.start(root=tmp_path) as plane:
        assert list(tmp_path.iterdir()) == [plane.folder]
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_ends_is_told_with_its_last_words_and_leaves_nothing(programs, tmp_path):
    real = programs / "control-plane"
    broken = tmp_path / "control-plane"
    broken.write_text(f'#!/bin/sh\n[ "$1" = etcd ] && echo alas >&2 && exit 3\nexec {real} "$@"\n')
    broken.chmod(0o755)
    with pytest.raises(errors.Unavailable, match=r"^etcd ended: alas$"):
        ControlPlane.start(tmp_path, tmp_path / "planes")
    assert list((tmp_path / "planes").iterdir()) == []


def event(audit_id, verb, end="\n"):
    body = {
        "auditID": audit_id,
        "verb": verb,
        "requestReceivedTimestamp": "2026-11-21T10:00:00.5Z",
        "user": {"username": "system:serviceaccount:a:b"},
    }
    return json.dumps(body) + end


def test_an_audit_event_is_read_once_and_when_it_is_written_whole():
    lines = [event("1", "watch"), event("2", "get"), event("1", "watch"), event("3", "get", end="")]
    events = audits.parse_events(lines)
    assert [read.verb for read in events] == ["watch", "get"]
    assert events[0] == AuditEvent(
        at=datetime(2026, 11, 21, 10, 0, 0, 500_000, UTC),
        account="a/b",
        verb="watch",
        group="",
        resource="",
        subresource="",
        namespace="",
        status=0,
    )
