"""The account of an operator in tests, with the rights that a test gives it and no others."""

from pathlib import Path

from control_plane.planes import ControlPlane

_ROLE = """
apiVersion: v1
kind: ServiceAccount
metadata: {{name: operator, namespace: {0}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: operator, namespace: {0}}}
rules:
{1}
"""
_BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: operator, namespace: {0}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}}
subjects:
- {{kind: ServiceAccount, name: operator, namespace: {0}}}
"""


def operator_account(plane: ControlPlane, namespace: str, rules: str) -> Path:
    """Make the account `operator` of a namespace; return its kubeconfig. `rules` are a Role's."""
    plane.apply(_ROLE.format(namespace, rules))
    bind_operator(plane, namespace)
    return plane.account_kubeconfig(namespace, "operator")


def bind_operator(plane: ControlPlane, namespace: str) -> None:
    """Give the account its rights, again if its RoleBinding `operator` was deleted."""
    plane.apply(_BINDING.format(namespace))
