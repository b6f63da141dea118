"""Comparing rights that are granted with rights that are used."""

from datetime import UTC, datetime

import pytest

from chart.rights import UNUSED_BUT_GRANTED, Right, granted, refused, surplus, used
from control_plane.audits import AuditEvent

ACCOUNT = "keeper/operator"


def event(verb, resource, group="poolkeeper.dev", *, account=ACCOUNT, subresource="", status=200):
    return AuditEvent(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        account=account,
        verb=verb,
        group=group,
        resource=resource,
        subresource=subresource,
        namespace="",
        status=status,
    )


def role(name, *rules, namespace=None):
    return {
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "rules": [
            dict(zip(("apiGroups", "resources", "verbs"), rule, strict=True)) for rule in rules
        ],
    }


def binding(name, *, namespace=None, to=ACCOUNT, kind=None):
    where, account = to.split("/")
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "roleRef": {"kind": kind or ("Role" if namespace else "ClusterRole"), "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": where, "name": account}],
    }


OBJECTS = (
    {"kind": "Deployment", "metadata": {"name": "a"}},
    role(
        "a",
        (["poolkeeper.dev"], ["topics"], ["watch"]),
        (["poolkeeper.dev"], ["topics/status"], ["patch"]),
    ),
    binding("a"),
    role("a", ([""], ["secrets"], ["get"]), namespace="keeper"),
    binding("a", namespace="keeper"),
    role("unbound", ([""], ["pods"], ["delete"])),
    role("other", ([""], ["nodes"], ["get"])),
    binding("other", to="keeper/somebody-else"),
)
TOPICS = Right("watch", "poolkeeper.dev", "topics")
STATUSES = Right("patch", "poolkeeper.dev", "topics/status")
SECRETS = Right("get", "", "secrets")


def test_granted_is_what_bound_roles_give_this_account():
    assert granted(OBJECTS, ACCOUNT) == {TOPICS, STATUSES, SECRETS}


def test_a_cluster_role_can_be_bound_in_one_namespace():
    objects = (OBJECTS[1], binding("a", namespace="shop", kind="ClusterRole"))
    assert granted(objects, ACCOUNT) == {TOPICS, STATUSES}


EVENTS = (
    event("patch", "topics", subresource="status"),
    event("get", "secrets", group="", status=404),
    event("delete", "topics", status=403),
    event("list", "nodes", group="", account="keeper/somebody-else"),
    event("create", "selfsubjectaccessreviews", group="authorization.k8s.io"),
    event("get", "", group=""),
)


def test_used_is_what_was_asked_and_given_even_if_nothing_was_there():
    assert used(EVENTS, ACCOUNT) == {STATUSES, SECRETS}


@pytest.mark.parametrize(
    ("status", "verbs"),
    [
        pytest.param(200, {"patch"}, id="it-was-there"),
        pytest.param(201, {"patch", "create"}, id="it-was-not"),
    ],
)
def test_to_apply_is_to_patch_or_to_create_as_well(status, verbs):
    events = (event("patch", "configmaps", group="", status=status),)
    assert {right.verb for right in used(events, ACCOUNT)} == verbs


def test_refused_is_what_is_missing():
    assert refused(EVENTS, ACCOUNT) == {Right("delete", "poolkeeper.dev", "topics")}


def test_surplus_is_what_nobody_used():
    assert surplus(OBJECTS, EVENTS, ACCOUNT) == {TOPICS}


@pytest.mark.parametrize("right", sorted(UNUSED_BUT_GRANTED))
def test_a_right_with_a_reason_is_no_surplus(right):
    verb, group, resource = right
    objects = (role("a", ([group], [resource], [verb])), binding("a"))
    assert surplus(objects, (), ACCOUNT) == frozenset()
