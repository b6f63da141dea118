"""The examples for GitOps hold together: what one names, the other has."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


def documents(file: str) -> list[dict]:
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    return [one for one in yaml.safe_load_all(text) if one]


def test_the_kustomization_takes_all_of_its_folder():
    (kustomization,) = documents("kubernetes/kustomization.yaml")
    there = {file.name for file in (EXAMPLES / "kubernetes").glob("*.yaml")}
    assert {*kustomization["resources"], "kustomization.yaml"} == there


def test_every_folder_that_is_named_exists():
    argo = [one["spec"]["source"]["path"] for one in documents("argocd/applications.yaml")]
    flux = [one["spec"]["path"] for one in documents("flux/topology.yaml")]
    flux += [
        one["spec"]["chart"]["spec"]["chart"] for one in documents("flux/operator/release.yaml")
    ]
    assert [path for path in argo + flux if not (ROOT / path).is_dir()] == []


def test_what_flux_depends_on_is_declared():
    found = {one["metadata"]["name"]: one for one in documents("flux/topology.yaml")}
    (source,) = documents("flux/source.yaml")
    for one in found.values():
        assert {needed["name"] for needed in one["spec"].get("dependsOn", ())} <= set(found)
        assert one["spec"]["sourceRef"]["name"] == source["metadata"]["name"]


def test_what_deletes_by_a_missing_file_is_off_for_the_topology():
    """A Topic that vanishes from git by mistake must not be deleted from the cluster."""
    applications = {one["metadata"]["name"]: one for one in documents("argocd/applications.yaml")}
    topology = applications["kafka-topology"]["spec"]["syncPolicy"]
    assert topology["automated"]["prune"] is False
    flux = {one["metadata"]["name"]: one for one in documents("flux/topology.yaml")}
    assert flux["kafka-topology"]["spec"]["prune"] is False
