"""What is heard of resources, through kopf, from a real API server with all its whims."""

from collections.abc import Callable, Iterator

import kopf
import pytest

import kubernetes
from conditions import until
from control_plane.planes import ControlPlane
from manifests import resource_pool, topic
from poolkeeper.controller.operator import KubernetesSource
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.controller.watch import ResourceWatch
from poolkeeper.kube.client.client import Api

GROUP = "/apis/poolkeeper.dev/v1alpha1"
POOL = f"{GROUP}/resourcepools"


class Hasty(KubernetesSource):
    """Finds all kinds served, whatever they are."""

    def missing(self) -> str:
        return ""


Hear = Callable[..., ResourceWatch]


@pytest.fixture
def hear(clean_cluster: ControlPlane) -> Iterator[Hear]:
    begun = []

    def begin(
        *namespaces: str, kubeconfig: str = "", source: type[KubernetesSource] = KubernetesSource
    ) -> ResourceWatch:
        file = kubeconfig or str(clean_cluster.kubeconfig)
        api = Api.connect(environ={"KUBECONFIG": file})
        hearing = ResourceWatch(
            ResourceCache(), source(api, namespaces), namespaces, login=_login(file)
        )
        begun.append(hearing)
        hearing.start()
        return hearing

    yield begin
    for hearing in begun:
        hearing.stop()


def _login(kubeconfig: str) -> Callable[..., kopf.ConnectionInfo | None]:
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)
    token = configuration.get_api_key_with_prefix("BearerToken").removeprefix("Bearer ")

    def login(**_: object) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(
            server=configuration.host, ca_path=configuration.ssl_ca_cert, token=token
        )

    return login


def names(hearing: ResourceWatch) -> list[str]:
    objects, _ = hearing.cache.contents()
    return sorted(str(each.key) for each in objects)


def brokers(hearing: ResourceWatch, name: str) -> tuple[int, ...]:
    objects, _ = hearing.cache.contents()
    return next(each.spec.brokers for each in objects if each.name == name)  # type: ignore[union-attr]


def test_what_exists_is_known_when_it_is_ready_and_changes_follow(
    clean_cluster: ControlPlane, namespace: str, hear: Hear
) -> None:
    plane = clean_cluster
    plane.request("POST", POOL, resource_pool("p", 1, 2))
    hearing = hear()
    until(hearing.ready.is_set, "everything was listed")
    assert names(hearing) == ["ResourcePool p"]
    plane.request("POST", f"{GROUP}/namespaces/{namespace}/topics", topic("t", "p", namespace))
    until(lambda: f"Topic {namespace}/t" in names(hearing), "the new Topic is heard of")
    plane.request("PATCH", f"{POOL}/p", {"spec": {"brokers": {"ids": [1, 2, 3]}}})
    until(lambda: brokers(hearing, "p") == (1, 2, 3), "the change is heard of")
    plane.request("DELETE", f"{GROUP}/namespaces/{namespace}/topics/t")
    until(lambda: names(hearing) == ["ResourcePool p"], "the deletion is heard of")


def test_a_status_wakes_nobody(clean_cluster: ControlPlane, hear: Hear) -> None:
    plane = clean_cluster
    plane.request("POST", POOL, resource_pool("p", 1))
    hearing = hear()
    until(hearing.ready.is_set, "everything was listed")
    until(lambda: hearing.failure == "", "the watch is on")
    plane.request("PATCH", f"{POOL}/p/status", {"status": {"topics": 1}})

    def status() -> object:
        objects, _ = hearing.cache.contents()
        return objects[0].status

    hearing.cache.changed.clear()
    plane.request("PATCH", f"{POOL}/p/status", {"status": {"topics": 2}})
    told = {"observedGeneration": -1, "topics": 2}
    until(lambda: status() == told, "the status is known")
    assert not hearing.cache.changed.is_set()


def test_what_is_deleted_and_made_while_the_server_is_away_is_known_after(
    clean_cluster: ControlPlane, hear: Hear
) -> None:
    plane = clean_cluster
    for name in ("stays", "goes"):
        plane.request("POST", POOL, resource_pool(name, 1))
    hearing = hear()
    until(hearing.ready.is_set, "everything was listed")
    plane.api_server.kill()
    plane.api_server.start()
    plane.request("DELETE", f"{POOL}/goes")
    plane.request("POST", POOL, resource_pool("new", 2))
    until(lambda: names(hearing) == ["ResourcePool new", "ResourcePool stays"], "both are known")


def test_only_topics_of_watched_namespaces_are_heard_of(
    clean_cluster: ControlPlane, namespace: str, hear: Hear
) -> None:
    plane = clean_cluster
    other = plane.new_namespace()
    for each in (namespace, other):
        plane.request("POST", f"{GROUP}/namespaces/{each}/topics", topic("before", "p", each))
    plane.request("POST", POOL, resource_pool("p", 1))
    hearing = hear(namespace)
    until(hearing.ready.is_set, "everything was listed")
    for each in (other, namespace):
        plane.request("POST", f"{GROUP}/namespaces/{each}/topics", topic("after", "p", each))
    expected = ["ResourcePool p", f"Topic {namespace}/after", f"Topic {namespace}/before"]
    until(lambda: names(hearing) == expected, "the pool and the Topics of one namespace are known")


def test_labels_of_namespaces_are_known(
    clean_cluster: ControlPlane, namespace: str, hear: Hear
) -> None:
    hearing = hear()
    until(hearing.ready.is_set, "everything was listed")

    def team() -> str | None:
        _, labels = hearing.cache.contents()
        return labels[namespace].get("team")

    assert team() is None
    clean_cluster.kubectl("label", "namespace", namespace, "team=shop")
    until(lambda: team() == "shop", "the label is heard of")


def test_missing_definitions_are_named_and_waited_for(
    clean_cluster: ControlPlane, hear: Hear
) -> None:
    plane = clean_cluster
    plane.request("POST", POOL, resource_pool("p", 1))
    hearing = hear()
    until(hearing.ready.is_set, "everything was listed")
    until(lambda: hearing.failure == "", "the watch is on")
    saved = plane.kubectl("get", "crd", "resourcepools.poolkeeper.dev", "-o", "yaml").stdout
    plane.kubectl("delete", "crd", "resourcepools.poolkeeper.dev")
    missing = "the API server does not serve resourcepools: apply the definitions (CRDs)"
    until(lambda: hearing.failure == missing, "the missing kind is named")
    assert names(hearing) == []
    plane.apply(saved)
    plane.kubectl("wait", "--for=condition=Established", "crd/resourcepools.poolkeeper.dev")
    plane.request("POST", POOL, resource_pool("again", 1))
    until(lambda: names(hearing) == ["ResourcePool again"], "resources are heard of again")
    until(lambda: hearing.failure == "", "the watch is on: a list may have told first")


def test_kinds_that_kopf_was_not_told_of_are_not_forgotten(
    clean_cluster: ControlPlane, hear: Hear
) -> None:
    """As after a restart of the server: our question finds them served, and kopf's, later, not."""
    plane = clean_cluster
    saved = plane.kubectl("get", "crd", "resourcepools.poolkeeper.dev", "-o", "yaml").stdout
    plane.kubectl("delete", "crd", "resourcepools.poolkeeper.dev")
    hearing = hear(source=Hasty)
    unheard = "the API server did not list resourcepools as served"
    until(lambda: hearing.failure == unheard, "what is not watched is named")
    plane.apply(saved)
    plane.kubectl("wait", "--for=condition=Established", "crd/resourcepools.poolkeeper.dev")
    until(lambda: hearing.failure == "", "the watch is on")
    plane.request("POST", POOL, resource_pool("new", 1))
    until(lambda: names(hearing) == ["ResourcePool new"], "it is heard of")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("left", "said"),
    [
        pytest.param("", "listing /api/v1/namespaces is not allowed", id="all"),
        pytest.param("get,list", "watching /api/v1/namespaces is not allowed", id="watch"),
    ],
)
def test_permissions_that_are_taken_back_are_said_and_waited_for(
    clean_cluster: ControlPlane, namespace: str, hear: Hear, left: str, said: str
) -> None:
    """Where lists are still allowed, they tell what the watch would have told."""
    plane = clean_cluster
    plane.request("POST", POOL, resource_pool("p", 1))
    plane.kubectl("create", "serviceaccount", "listener", "-n", namespace)
    role = f"listener-{namespace}"
    resources = (
        "--resource=topics.poolkeeper.dev,resourcepools.poolkeeper.dev,"
        "kafkaclusters.poolkeeper.dev,rebalances.poolkeeper.dev,namespaces"
    )
    every = "--verb=get,list,watch"
    plane.kubectl("create", "clusterrole", role, every, resources)
    plane.kubectl(
        *("create", "clusterrolebinding", role, f"--clusterrole={role}"),
        f"--serviceaccount={namespace}:listener",
    )
    hearing = hear(kubeconfig=str(plane.account_kubeconfig(namespace, "listener")))
    until(hearing.ready.is_set, "everything was listed")
    until(lambda: hearing.failure == "", "the watch is on")
    plane.kubectl("delete", "clusterrole", role)
    if left:
        plane.kubectl("create", "clusterrole", role, f"--verb={left}", resources)
    plane.api_server.kill()  # an open watch is judged no more
    plane.api_server.start()
    until(lambda: hearing.failure.startswith(said), "what is forbidden is said")
    if left:
        plane.request("POST", POOL, resource_pool("meanwhile", 3))
        until(lambda: "ResourcePool meanwhile" in names(hearing), "lists tell of it")
        plane.request("DELETE", f"{POOL}/meanwhile")
        plane.kubectl("delete", "clusterrole", role)
    plane.kubectl("create", "clusterrole", role, every, resources)
    plane.request("POST", POOL, resource_pool("new", 2))
    until(lambda: names(hearing) == ["ResourcePool new", "ResourcePool p"], "all is known again")
    until(lambda: hearing.failure == "", "and nothing is wrong any more")


def test_a_watched_namespace_that_is_deleted_keeps_nobody_from_the_others(
    clean_cluster: ControlPlane, namespace: str, hear: Hear
) -> None:
    """The rights to its Topics are Roles in it: they go with it, and before its last Topic."""
    plane = clean_cluster
    kept, gone = plane.new_namespace(), plane.new_namespace()
    account = ("serviceaccount", "listener", "-n", namespace)
    plane.kubectl("create", *account)
    subject = f"--serviceaccount={namespace}:listener"
    every, role = "--verb=get,list,watch", f"listener-{namespace}"
    common = "resourcepools.poolkeeper.dev,kafkaclusters.poolkeeper.dev,rebalances.poolkeeper.dev"
    plane.kubectl("create", "clusterrole", role, every, f"--resource={common},namespaces")
    plane.kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", subject)

    def allow(where: str) -> None:
        topics = "--resource=topics.poolkeeper.dev"
        plane.kubectl("create", "role", "listener", every, topics, "-n", where)
        plane.kubectl("create", "rolebinding", "listener", "--role=listener", subject, "-n", where)

    def create(name: str, where: str, **metadata: object) -> None:
        body = topic(name, "p", where)
        body["metadata"].update(metadata)
        plane.request("POST", f"{GROUP}/namespaces/{where}/topics", body)

    for each in (kept, gone):
        allow(each)
    create("held", gone, finalizers=["example.com/held"])
    kubeconfig = str(plane.account_kubeconfig(namespace, "listener"))
    hearing = hear(kept, gone, kubeconfig=kubeconfig)
    until(hearing.ready.is_set, "everything was listed")
    plane.kubectl("delete", "namespace", gone, "--wait=false")
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{gone}/roles"
    until(lambda: not plane.request("GET", path)["items"], "the rights are gone")
    hearing.stop()

    anew = hear(kept, gone, kubeconfig=kubeconfig)
    until(anew.ready.is_set, "all is listed while a Topic holds the namespace")
    until(lambda: anew.failure == "", "nothing is wrong")
    assert anew.readable == (kept,), "what Topics there own is nobody's to move"
    create("first", kept)
    until(lambda: names(anew) == [f"Topic {kept}/first"], "the other namespace is heard of")
    held = f"{GROUP}/namespaces/{gone}/topics/held"
    plane.request("PATCH", held, {"metadata": {"finalizers": None}})
    plane.kubectl("wait", "--for=delete", f"namespace/{gone}", "--timeout=50s")
    until(lambda: anew.failure == "", "it is no fault that the namespace is gone")
    plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": gone}})
    allow(gone)
    create("again", gone)
    expected = sorted([f"Topic {gone}/again", f"Topic {kept}/first"])
    until(lambda: names(anew) == expected, "a namespace that is back is heard of")
    until(lambda: anew.readable == (kept, gone), "it counts as watched")
