"""Who applies a resource from Git, as its metadata tells."""

import pytest

from poolkeeper.cli.kubectl.gitops import keeper_of

SPEC = {"f:spec": {"f:mode": {}}}


@pytest.mark.parametrize(
    ("metadata", "keeper"),
    [
        ({}, ""),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "kafka:…"}}, "Argo CD"),
        ({"labels": {"argocd.argoproj.io/instance": "kafka"}}, "Argo CD"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "kafka"}}, "Flux"),
        ({"labels": {"app.kubernetes.io/instance": "kafka"}}, ""),
        ({"managedFields": [{"manager": "kustomize-controller", "fieldsV1": SPEC}]}, "Flux"),
        ({"managedFields": [{"manager": "argocd-controller", "fieldsV1": {}}]}, ""),
        ({"managedFields": [{"manager": "kubectl", "fieldsV1": SPEC}]}, ""),
    ],
)
def test_the_keeper(metadata, keeper):
    assert keeper_of({"metadata": metadata}) == keeper
