"""Elections of real processes on a real API server: killed, frozen, without rights, idle."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from threading import Thread

import pytest

from accounts import bind_operator, operator_account
from conditions import until
from frozen import freeze
from poolkeeper.cli.kubectl.operators import operator_releases
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.references import Reference, collection
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.kube.leadership.leader_elector import LeaderElector
from poolkeeper.kube.objects.events import EventRecorder
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.model.names import API_VERSION

pytestmark = pytest.mark.long

NAME = "poolkeeper"
FAILOVER_S = 15
RULES = """
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [poolkeeper],
    verbs: [get, update]}
- {apiGroups: [poolkeeper.dev], resources: [topics], verbs: [get, create]}
- {apiGroups: [poolkeeper.dev], resources: [topics/status], verbs: [patch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
"""
PROGRAM = """
import json, sys, time
from poolkeeper.cli.kubectl.operators import operator_releases
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.leadership.leader_elector import LeaderElector

namespace, identity = sys.argv[1:]
elector = LeaderElector(Api.connect(), namespace, "poolkeeper", identity)
elector.start()
while True:
    print(json.dumps([time.time(), elector.role, elector.reason]), flush=True)
    time.sleep(0.05)
"""


@dataclass
class Candidate:
    """A process that stands for election, and what it said it was, line by line."""

    process: subprocess.Popen
    said: list

    @property
    def role(self):
        return self.said[-1][1] if self.said else "silent"

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture
def kubeconfig(control_plane, namespace):
    return operator_account(control_plane, namespace, RULES)


@pytest.fixture
def candidates(kubeconfig, namespace):
    """Starts candidates by name; they end with the test."""
    found = []

    def start(name):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, namespace, name],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            stdout=subprocess.PIPE,
            text=True,
        )
        candidate = Candidate(process, [])
        Thread(target=_read, args=(candidate,), daemon=True).start()
        found.append(candidate)
        return candidate

    yield start
    for candidate in found:
        candidate.end()


def _read(candidate):
    for line in candidate.process.stdout:
        candidate.said.append(json.loads(line))


@pytest.fixture
def api(kubeconfig):
    api = Api.connect(environ={"KUBECONFIG": str(kubeconfig)})
    yield api
    api.close()


def pair(candidates):
    first = candidates("first")
    until(lambda: first.role == "held", "the first holds the lease")
    second = candidates("second")
    until(lambda: second.role == "standby" and len(second.said) > 40, "the second waits")
    return first, second


def seconds_until_held(candidate):
    begin_s = time.monotonic()
    until(lambda: candidate.role == "held", "the other took over", FAILOVER_S)
    return time.monotonic() - begin_s


def test_a_killed_holder_is_followed(candidates):
    first, second = pair(candidates)
    first.process.kill()
    taken_s = seconds_until_held(second)
    print(f"SIGKILL: {taken_s:.1f} s")
    assert taken_s > 5  # it did not take what might still be held


def test_a_frozen_holder_is_followed_and_wakes_up_knowing_it(candidates):
    first, second = pair(candidates)
    freeze(first.process.pid)
    print(f"SIGSTOP: {seconds_until_held(second):.1f} s")
    until(lambda: second.said[-1][0] - first.said[-1][0] > 9, "the first slept for its duration")
    before = len(first.said)
    first.process.send_signal(signal.SIGCONT)
    until(lambda: first.role == "standby", "the first stepped down")
    # A line that was being written while the process froze may have been told before.
    assert "held" not in [role for _, role, _ in first.said[before + 1 :]]
    assert first.said[-1][2] in ("second took the lease", "second holds the lease")
    assert second.role == "held"


def test_a_holder_that_gives_up_is_followed_at_once(api, candidates, namespace):
    elector = LeaderElector(api, namespace, NAME, "first")
    elector.start()
    until(lambda: elector.role is LeaderRole.HELD, "the first holds the lease")
    second = candidates("second")
    until(lambda: second.role == "standby" and len(second.said) > 40, "the second waits")
    assert elector.release()
    taken_s = seconds_until_held(second)
    print(f"released: {taken_s:.1f} s")
    assert taken_s < 5


def test_who_looks_is_told_whether_somebody_leads(api, candidates, namespace):
    """By clocks that agree, and by one that is an hour ahead, to which each Lease is old."""
    named = [{"status": {"operator": f"{namespace}/{NAME}"}}]

    def leading(clock=time.time):
        return [(each.leads, each.holder) for each in operator_releases(api, named, clock=clock)]

    def an_hour_ahead():
        return time.time() + 3600

    assert leading() == [(False, "")]
    first = candidates("first")
    until(lambda: first.role == "held", "the first holds the lease")
    assert leading() == [(True, "first")]
    assert leading(an_hour_ahead) == [(True, "first")]
    first.process.kill()
    assert leading(an_hour_ahead) == [(False, "")]
    elector = LeaderElector(api, namespace, NAME, "second")
    elector.start()
    until(lambda: elector.role is LeaderRole.HELD, "the second holds the lease")
    assert leading() == [(True, "second")]
    assert elector.release()
    assert leading() == [(False, "")]


def test_rights_that_are_taken_away_and_given_back(control_plane, api, namespace):
    elector = LeaderElector(api, namespace, NAME, "only")
    elector.start()
    until(lambda: elector.role is LeaderRole.HELD, "it holds the lease")
    control_plane.kubectl("delete", "rolebinding", "operator", "-n", namespace)
    until(lambda: elector.role is LeaderRole.UNSURE, "it is unsure")
    assert "not allowed" in elector.reason
    bind_operator(control_plane, namespace)
    until(lambda: elector.role is LeaderRole.HELD, "it holds the lease again")
    assert elector.reason == "holds the lease"
    assert elector.release()


def test_a_lease_that_somebody_deletes(control_plane, api, namespace):
    elector = LeaderElector(api, namespace, NAME, "only")
    elector.start()
    until(lambda: elector.role is LeaderRole.HELD, "it holds the lease")
    control_plane.kubectl("delete", "lease", NAME, "-n", namespace)

    def made_again():
        found = api.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{NAME}")
        return found is not None and found["spec"]["holderIdentity"] == "only"

    until(made_again, "it made the lease again")
    assert elector.role is LeaderRole.HELD
    assert elector.release()


@pytest.mark.parametrize("away", ["dead", "silent"])
def test_without_api_server_it_is_unsure_until_it_is_back(control_plane, api, namespace, away):
    elector = LeaderElector(api, namespace, NAME, "only")
    elector.start()
    until(lambda: elector.role is LeaderRole.HELD, "it holds the lease")
    server = control_plane.api_server
    server.kill() if away == "dead" else server.freeze()
    try:
        until(lambda: elector.role is LeaderRole.UNSURE, "it is unsure")
        until(lambda: "API server" in elector.reason, "it says why")
    finally:
        server.start() if away == "dead" else server.thaw()
    until(lambda: elector.role is LeaderRole.HELD, "it holds the lease again")
    assert elector.release()


def test_who_is_idle_writes_nothing_but_the_lease(control_plane, api, namespace):
    """Statuses are put again and again, as a resync does; what is there is not written."""
    body = {
        "apiVersion": API_VERSION,
        "kind": "Topic",
        "metadata": {"name": "orders"},
        "spec": {"poolRef": {"name": "fast"}},
    }
    topic = Reference.of(api.create(collection("Topic", namespace), body))
    condition = {"type": "Ready", "status": "True", "reason": "InPlace", "message": "in place"}
    status = {"observedGeneration": 1, "conditions": [condition | {"observedGeneration": 1}]}
    writer, recorder = StatusWriter(api), EventRecorder(api, "poolkeeper", "only")
    elector = LeaderElector(api, namespace, NAME, "only")
    writer.put(topic, status, {})
    recorder.record(topic, "InPlace", "in place")
    assert writer.flush(10)
    assert recorder.flush(10)
    elector.start()
    until(lambda: elector.role is LeaderRole.HELD, "it holds the lease")
    before = api.requests.copy()
    until_s = time.monotonic() + 8

    def resynced():
        writer.put(topic, status, api.get(topic.path)["status"])
        recorder.record(topic, "InPlace", "in place")
        return time.monotonic() > until_s

    until(resynced, "some renewals went by", 20)
    assert elector.release()
    writer.close(1)
    recorder.close(1)
    used = api.requests - before
    assert set(used) == {"get", "update"}
    assert 4 <= used["update"] <= 6
    once = [("create", "topics"), ("create", "events"), ("create", "leases")]
    expected = sorted([*once, ("patch", "topics/status"), *[("update", "leases")] * used["update"]])
    until(lambda: len(_writes(control_plane, namespace)) >= len(expected), "all are in the log")
    assert sorted(_writes(control_plane, namespace)) == expected


def _writes(control_plane, namespace):
    return [
        (event.verb, "/".join(filter(None, (event.resource, event.subresource))))
        for event in control_plane.audit()
        if event.account == f"{namespace}/operator" and event.verb not in ("get", "list", "watch")
    ]
