"""The live pages as the chart runs them: who may see them, and what they may read.

The command is a process of the account that the chart makes, beside a real API server, a real
ZooKeeper and simulated brokers.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import yaml

from chart import rights
from chart.releases import release_name, restricted_namespace, without_definitions
from chart.rendering import CHART, FULLNAME, NAMESPACE, RefusedValuesError, of_kind, render
from conditions import until
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread

UI = {"ui": {"enabled": True, "tokenSecret": "pages"}}
TOKEN = "0123456789abcdef0123456789abcdef-Z"
NAME = f"{FULLNAME}-ui"
CREDENTIALS = {"credentials": {"secretNames": ["zk-main"]}}


def test_pages_are_off_unless_asked_for():
    assert not [one for one in render({}) if one["metadata"]["name"].endswith("-ui")]


def test_a_token_must_be_named():
    with pytest.raises(RefusedValuesError, match=r"ui\.tokenSecret is needed"):
        render({"ui": {"enabled": True}})


@pytest.mark.parametrize("watched", [[], ["pay", "shop"]], ids=["everywhere", "two-namespaces"])
def test_pages_have_rights_to_read_alone(watched):
    objects = render({**UI, **CREDENTIALS, "watchNamespaces": watched})
    found = rights.granted(objects, f"{NAMESPACE}/{NAME}")
    assert found == {
        ("list", "poolkeeper.dev", "kafkaclusters"),
        ("list", "poolkeeper.dev", "resourcepools"),
        ("list", "poolkeeper.dev", "topics"),
        ("list", "", "namespaces"),
        ("get", "", "secrets"),
        ("get", "coordination.k8s.io", "leases"),
    }
    everywhere = [r for one in of_kind(objects, "ClusterRole") for r in one["rules"]]
    ours = [r for r in everywhere if r["verbs"] == ["list"] and "topics" in r["resources"]]
    assert bool(ours) is not bool(watched)


def test_pages_have_a_pod_and_a_service_of_their_own():
    objects = render({**UI, "networkPolicy": {"enabled": True}, "commonLabels": {"team": "kafka"}})
    (deployment,) = [
        one for one in of_kind(objects, "Deployment") if one["metadata"]["name"] == NAME
    ]
    pod = deployment["spec"]["template"]
    (service,) = of_kind(objects, "Service")
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (operator,) = [
        one for one in of_kind(objects, "Deployment") if one["metadata"]["name"] == FULLNAME
    ]
    selector = operator["spec"]["selector"]["matchLabels"]
    assert not selector.items() <= pod["metadata"]["labels"].items()
    assert pod["metadata"]["labels"]["team"] == "kafka"
    (container,) = pod["spec"]["containers"]
    assert container["args"][-1] == "--token-file=/etc/poolkeeper/ui/token"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    (policy,) = [
        one for one in of_kind(objects, "NetworkPolicy") if one["metadata"]["name"] == NAME
    ]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


class Pages:
    """A server of pages and how it is asked."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, token: str = TOKEN) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with closing(connection):
            cookies = {"Cookie": f"poolkeeper-{self.port}={token}"} if token else {}
            # As through a Service: under a name that the server has not heard of.
            connection.request("GET", path, headers={"Host": "poolkeeper-ui.svc", **cookies})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def is_up(self) -> bool:
        try:
            return self.ask("/healthz", "")[0] == 200
        except OSError:
            return False


@contextmanager
def serving(kubeconfig: Path, namespace: str, folder: Path) -> Iterator[Pages]:
    token, log = folder / "token", folder / "log"
    token.write_text(f"{TOKEN}\n", encoding="ascii")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("ui", "--kubernetes", "--namespace", namespace, "--listen", f"127.0.0.1:{port}")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "poolkeeper", *words, "--token-file", token],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    pages = Pages(port)
    try:
        until(pages.is_up, "the pages are served", 60)
        yield pages
        assert TOKEN not in log.read_text()
    except BaseException as failed:
        failed.add_note(log.read_text()[-3000:])
        raise
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def resources(connect: str, *names: str) -> str:
    bodies = []
    for name in names:
        spec = {"zookeeper": {"connect": connect}, "mode": "PlanOnly"}
        head = {"apiVersion": "poolkeeper.dev/v1alpha1", "metadata": {"name": name}}
        pool = {"clusterRef": {"name": name}, "brokers": {"ids": [1, 2, 3]}}
        bodies += [
            {**head, "kind": "KafkaCluster", "spec": spec},
            {**head, "kind": "ResourcePool", "spec": pool},
        ]
    return yaml.safe_dump_all(bodies)


@pytest.mark.long
def test_pages_show_what_is_declared_by_the_rights_that_the_chart_gives(
    control_plane, helm, tmp_path
):
    release = release_name()
    with without_definitions(control_plane):
        namespace = restricted_namespace(control_plane)
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump({**UI, **CREDENTIALS, "replicas": 0}), encoding="utf-8")
        helm("install", release, CHART, "-n", namespace, "-f", file)
        account = f"{release}-poolkeeper-ui"
        kubeconfig = control_plane.account_kubeconfig(namespace, account)
        brokers = SandboxSpec(brokers=spread(3), kafka="2.8.2", simulated=True)
        try:
            with Sandbox.start(brokers) as sandbox:
                control_plane.apply(resources(sandbox.connect, "first"))
                asked = len(control_plane.audit())
                with serving(kubeconfig, namespace, tmp_path) as pages:
                    _look_at(pages)
                    _have_no_leader(control_plane, f"{namespace}/{release}-poolkeeper", pages)
                    control_plane.apply(resources("127.0.0.1:1/none", "second"))
                    until(
                        lambda: "second" in pages.ask("/clusters")[1], "a new cluster is shown", 60
                    )
                events = control_plane.audit()[asked:]
                assert rights.refused(events, f"{namespace}/{account}") == frozenset()
                verbs = {right.verb for right in rights.used(events, f"{namespace}/{account}")}
                assert verbs == {"list", "get"}
        finally:
            for kind in ("kafkacluster", "resourcepool"):
                control_plane.kubectl("delete", kind, "first", "second", "--ignore-not-found")
            helm("uninstall", release, "-n", namespace, "--wait")


def _look_at(pages: Pages) -> None:
    assert pages.ask("/clusters/first/run", "")[0] == 403
    assert pages.ask("/clusters/first/run", TOKEN[:-1])[0] == 403
    for page, part in (
        ("run", "3 live brokers"),
        ("pools", "first"),
        ("plan", "No changes"),
        ("history", "first"),
    ):
        status, text = pages.ask(f"/clusters/first/{page}")
        assert (status, part in text) == (200, True), (page, text[:3000])


def _have_no_leader(control_plane, release: str, pages: Pages) -> None:
    """A cluster of which an operator wrote that leads no more."""
    status = json.dumps({"status": {"operator": release}})
    control_plane.kubectl(
        *("patch", "kafkacluster", "first", "--subresource=status", "--type=merge", "-p", status)
    )
    told = f"No operator of the release {release} leads: its Lease is gone"
    until(lambda: told in pages.ask("/clusters/first/run")[1], "the page tells of it", 60)
