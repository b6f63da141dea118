"""Rights that roles grant, and rights that an audit log shows in use: are they the same?

A right is (verb, group, resource), the resource with its subresource: ("patch", "poolkeeper.dev",
"topics/status"). Where and by which name it holds is not compared: that is for tables of what must
be allowed and what must not.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from control_plane.audits import AuditEvent

CREATED, FORBIDDEN = 201, 403

UNUSED_BUT_GRANTED: Mapping[tuple[str, str, str], str] = {
    ("get", "", "secrets"): "only for clusters with credentials",
    **{
        ("get", "admissionregistration.k8s.io", kind): "only where approvals name who approved"
        for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
    },
}
"""Rights that a run may leave unused, each with the reason why it is granted all the same."""


class Right(NamedTuple):
    verb: str
    group: str
    resource: str


def granted(objects: Iterable[Mapping[str, Any]], account: str) -> frozenset[Right]:
    """Return what the roles among `objects` give to a service account, "namespace/name"."""
    objects = tuple(objects)
    roles = {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one["rules"]
        for one in objects
        if one["kind"] in ("Role", "ClusterRole")
    }
    found: set[Right] = set()
    for binding in objects:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if account not in {f"{one['namespace']}/{one['name']}" for one in binding["subjects"]}:
            continue
        reference = binding["roleRef"]
        clusterwide = reference["kind"] == "ClusterRole"
        namespace = "" if clusterwide else binding["metadata"]["namespace"]
        for rule in roles[reference["kind"], namespace, reference["name"]]:
            found.update(_rights(rule))
    return frozenset(found)


def used(events: Iterable[AuditEvent], account: str) -> frozenset[Right]:
    """Return what an account asked for and was given, whatever came of it.

    To apply what is not there yet takes the right to create it as well; the log calls it a patch.
    """
    given = [one for one in _asked(events, account) if one.status != FORBIDDEN]
    created = {_right(one) for one in given if one.verb == "patch" and one.status == CREATED}
    return frozenset(map(_right, given)) | {right._replace(verb="create") for right in created}


def refused(events: Iterable[AuditEvent], account: str) -> frozenset[Right]:
    """Return what an account asked for in vain: rights that are missing."""
    return frozenset(_right(one) for one in _asked(events, account) if one.status == FORBIDDEN)


def surplus(
    objects: Iterable[Mapping[str, Any]], events: Iterable[AuditEvent], account: str
) -> frozenset[Right]:
    """Return what is granted, was not used, and has no reason in UNUSED_BUT_GRANTED."""
    return granted(objects, account) - used(events, account) - UNUSED_BUT_GRANTED.keys()


def _rights(rule: Mapping[str, Any]) -> Iterable[Right]:
    return (
        Right(verb, group, resource)
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
    )


def _asked(events: Iterable[AuditEvent], account: str) -> Iterable[AuditEvent]:
    """Yield an account's requests for resources; everyone may review what it may do itself."""
    return (
        one
        for one in events
        if one.account == account and one.resource and one.group != "authorization.k8s.io"
    )


def _right(event: AuditEvent) -> Right:
    resource = f"{event.resource}/{event.subresource}" if event.subresource else event.resource
    return Right(event.verb, event.group, resource)
