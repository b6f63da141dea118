"""Rights of the operator and of people, asked of a real server's authorizer."""

import pytest
import yaml

from chart.releases import (
    release_name,
    remove_definitions,
    restricted_namespace,
    without_definitions,
)
from chart.rendering import CHART

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
OURS = "poolkeeper.dev"
LEASES = "coordination.k8s.io"
EVENTS = "events.k8s.io"
NOWHERE = ""
THEIRS = "kube-public"
"""A namespace that has nothing to do with the release."""


class Ground:
    """A release without pods, and how to ask what somebody may do."""

    def __init__(self, plane, helm, **values):
        self.plane, self.helm, self.name = plane, helm, release_name()
        self.namespace = restricted_namespace(plane)
        file = plane.folder / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump({"replicas": 0, **values}), encoding="utf-8")
        helm("install", self.name, CHART, "-n", self.namespace, "-f", file, "--wait")
        self.full = f"{self.name}-poolkeeper"
        self.operator = f"system:serviceaccount:{self.namespace}:{self.full}"

    def may(self, user, verb, resource, group=OURS, namespace=NOWHERE, name=""):
        kind, _, subresource = resource.partition("/")
        attributes = {
            "verb": verb,
            "group": group,
            "resource": kind,
            "subresource": subresource,
            "namespace": namespace,
            "name": name,
        }
        spec = {"user": user, "resourceAttributes": attributes}
        return self.plane.request("POST", REVIEWS, {"spec": spec})["status"]["allowed"]

    def close(self):
        self.helm("uninstall", self.name, "-n", self.namespace, "--wait")
        remove_definitions(self.plane)


@pytest.fixture(scope="module", autouse=True)
def _without_definitions(control_plane):
    with without_definitions(control_plane):
        yield


@pytest.fixture(scope="module", params=["everywhere", "one namespace"])
def ground(request, control_plane, helm):
    """The release once for all namespaces and once for `shop` only."""
    watched = [] if request.param == "everywhere" else [control_plane.new_namespace()]
    ground = Ground(
        control_plane,
        helm,
        watchNamespaces=watched,
        credentials={"secretNames": ["zk-main"]},
    )
    ground.watched = watched[0] if watched else THEIRS
    ground.everywhere = not watched
    yield ground
    ground.close()


def test_what_the_operator_may(ground):
    here, shop = ground.namespace, ground.watched
    rights = [
        *((verb, kind) for kind in WHOLE for verb in READ_AND_PATCH),
        *(("patch", f"{kind}/status") for kind in WHOLE),
        *((verb, "configmaps", "", here) for verb in ("create", "delete", "get", "patch")),
        *((verb, "topics", OURS, shop) for verb in READ_AND_PATCH),
        ("patch", "topics/status", OURS, shop),
        ("list", "namespaces", ""),
        ("watch", "namespaces", ""),
        ("create", "events", EVENTS, shop),
        ("create", "events", EVENTS, "default"),
        ("create", "leases", LEASES, here),
        ("get", "leases", LEASES, here, ground.full),
        ("update", "leases", LEASES, here, ground.full),
        ("get", "secrets", "", here, "zk-main"),
    ]
    assert [one for one in rights if not ground.may(ground.operator, *one)] == []


WHOLE = ("kafkaclusters", "resourcepools", "rebalances")
READ_AND_PATCH = ("get", "list", "watch", "patch")
WRITE = ("create", "update", "delete", "deletecollection")


def test_what_the_operator_may_not(ground):
    """Among others: write a spec of its own making, delete resources, read other Secrets."""
    here, shop = ground.namespace, ground.watched
    rights = [
        *((verb, kind) for kind in WHOLE for verb in WRITE),
        ("update", "kafkaclusters/status"),
        ("approve", "kafkaclusters", OURS, NOWHERE, "main"),
        ("approve", "rebalances", OURS, NOWHERE, "evening"),
        *((verb, "topics", OURS, shop) for verb in WRITE),
        ("get", "secrets", "", here, "another"),
        ("list", "secrets", "", here),
        ("watch", "secrets", "", here),
        ("get", "secrets", "", shop, "zk-main"),
        ("get", "secrets", "", "kube-system", "zk-main"),
        ("update", "leases", LEASES, here, "another"),
        ("delete", "leases", LEASES, here, ground.full),
        ("get", "leases", LEASES, "kube-node-lease", ground.full),
        ("list", "events", EVENTS, "default"),
        ("patch", "events", EVENTS, "default"),
        ("get", "namespaces", "", shop, shop),
        ("delete", "namespaces", ""),
        ("patch", "namespaces", ""),
        ("list", "customresourcedefinitions", "apiextensions.k8s.io"),
        ("create", "pods", "", here),
        ("list", "configmaps", "", here),
        ("get", "configmaps", "", "kube-system", "kube-root-ca.crt"),
        ("create", "serviceaccounts/token", "", here, ground.full),
        ("create", "clusterrolebindings", "rbac.authorization.k8s.io"),
        ("impersonate", "users", ""),
    ]
    assert [one for one in rights if ground.may(ground.operator, *one)] == []


def test_topics_of_other_namespaces_are_watched_only_if_all_are(ground):
    elsewhere = [
        ground.may(ground.operator, verb, resource, group, THEIRS)
        for verb, resource, group in [
            ("list", "topics", OURS),
            ("patch", "topics/status", OURS),
            ("create", "events", EVENTS),
        ]
    ]
    assert elsewhere == [ground.everywhere] * 3
    assert ground.may(ground.operator, "watch", "topics") == ground.everywhere


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        pytest.param(
            "view",
            [("get", "topics"), ("list", "topics")],
            [("create", "topics"), ("patch", "topics"), ("patch", "topics/status")],
            id="view-sees",
        ),
        pytest.param(
            "edit",
            [("get", "topics"), ("create", "topics"), ("patch", "topics"), ("delete", "topics")],
            [("patch", "topics/status"), ("patch", "kafkaclusters"), ("approve", "kafkaclusters")],
            id="edit-declares-topics-and-no-status",
        ),
        pytest.param(
            "admin",
            [("delete", "topics"), ("watch", "topics")],
            [("patch", "topics/status"), ("create", "resourcepools")],
            id="admin-of-a-namespace-has-no-say-over-pools",
        ),
    ],
)
def test_kubernetes_own_roles_hold_topics(ground, role, may, may_not):
    """Aggregation is a controller's work: `admin` and the others are bound to a user here."""
    user = f"{role}-{ground.name}"
    ground.plane.kubectl(
        *("create", "rolebinding", user, "-n", ground.watched),
        *("--clusterrole", role, "--user", user),
    )
    answers = [ground.may(user, *one, OURS, ground.watched) for one in (*may, *may_not)]
    assert answers == [True] * len(may) + [False] * len(may_not)
    ground.plane.kubectl("delete", "rolebinding", user, "-n", ground.watched)


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        pytest.param(
            "view",
            [("list", "kafkaclusters"), ("get", "topics")],
            [("patch", "kafkaclusters"), ("approve", "kafkaclusters"), ("create", "topics")],
            id="view-looks",
        ),
        pytest.param(
            "platform",
            [("create", "kafkaclusters"), ("patch", "resourcepools"), ("delete", "rebalances")],
            [("approve", "rebalances"), ("patch", "kafkaclusters/status"), ("list", "topics")],
            id="platform-declares-clusters-and-pools",
        ),
        pytest.param(
            "approver",
            [("approve", "kafkaclusters"), ("approve", "rebalances"), ("patch", "rebalances")],
            [("delete", "kafkaclusters"), ("create", "rebalances"), ("patch", "resourcepools")],
            id="approver-approves",
        ),
    ],
)
def test_roles_of_ours_for_people(ground, role, may, may_not):
    user = f"{role}-{ground.name}"
    ground.plane.kubectl(
        *("create", "clusterrolebinding", user),
        *("--clusterrole", f"{ground.full}-{role}", "--user", user),
    )
    answers = [ground.may(user, *one) for one in (*may, *may_not)]
    assert answers == [True] * len(may) + [False] * len(may_not)
    here = ground.namespace
    assert ground.may(user, "get", "leases", LEASES, here, ground.full)  # whether somebody leads
    assert not ground.may(user, "get", "leases", LEASES, here, "another")
    assert not ground.may(user, "update", "leases", LEASES, here, ground.full)
    ground.plane.kubectl("delete", "clusterrolebinding", user)
