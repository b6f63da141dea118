"""Each policy on a real API server: what it lets through, what it refuses, and what it says then.

All policies are in force at once, as the chart has them. Edna may edit everything of ours, Ada
approves as well, the operator writes status as well.
"""

import secrets

import pytest

from admission import POLICIES
from apirequests import Api, merged
from conditions import until
from manifests import TOPIC

EDIT = ["get", "create", "update", "patch", "delete"]
ROLES = {
    "editors": [(["topics", "resourcepools", "kafkaclusters", "rebalances"], EDIT)],
    "approvers": [(["kafkaclusters", "rebalances"], ["approve"])],
    "stoppers": [(["kafkaclusters"], ["stop"])],
    "operators": [
        (
            [
                f"{kind}/status"
                for kind in ("topics", "resourcepools", "kafkaclusters", "rebalances")
            ],
            ["patch"],
        )
    ],
}


@pytest.fixture(scope="module")
def admin(control_plane):
    denied = merged(TOPIC, {"metadata": {"name": "x"}})
    with Api(control_plane.access) as api:
        for name, rules in ROLES.items():
            _grant(api, name, rules)
        try:
            control_plane.kubectl("apply", "-f", str(POLICIES))
            until(lambda: api.dry_create(denied).status == 403, "the policies are in force")
            yield api
        finally:
            control_plane.kubectl("delete", "--ignore-not-found", "-f", str(POLICIES))
            until(lambda: api.dry_create(denied).status == 201, "no policy is in force any more")


def _grant(api, name, rules):
    rbac = "rbac.authorization.k8s.io"
    path = f"/apis/{rbac}/v1"
    role = f"policy-test-{name}"
    api.send(
        "POST",
        f"{path}/clusterroles",
        {
            "metadata": {"name": role},
            "rules": [
                {"apiGroups": ["poolkeeper.dev"], "resources": resources, "verbs": verbs}
                for resources, verbs in rules
            ],
        },
    )
    api.send(
        "POST",
        f"{path}/clusterrolebindings",
        {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": name}],
        },
    )


@pytest.fixture(scope="module")
def edna(admin):
    with admin.as_user("edna", "editors") as api:
        yield api


@pytest.fixture(scope="module")
def operator(admin):
    with admin.as_user("operator", "editors", "operators") as api:
        yield api


@pytest.fixture
def team(admin):
    """Makes namespaces with that metadata, and tells their names."""

    def make(metadata):
        name = f"team-{secrets.token_hex(4)}"
        body = {"metadata": {**metadata, "name": name}}
        assert admin.send("POST", "/api/v1/namespaces", body).status == 201
        return name

    return make


@pytest.fixture
def made(admin):
    """Makes resources, by the administrator; all are gone afterwards, finalizers or not."""
    bodies = []

    def make(base, change):
        name = f"{base['metadata']['name']}-{secrets.token_hex(4)}"
        bodies.append(admin.create(merged(base, merged(change, {"metadata": {"name": name}}))))
        return bodies[-1]

    yield make
    allowed = {"poolkeeper.dev/deletion": "allowed"}
    for body in bodies:
        admin.patch(body, {"metadata": {"annotations": allowed, "finalizers": None}})
        admin.delete(body)
