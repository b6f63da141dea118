"""Manifests that are applied again and again, as GitOps does: nothing changes, nothing differs.

All that we ship as an example goes through it, and a manifest that uses every field there is. What
the server fills in must neither show as a difference nor make a new generation.
"""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from apirequests import APPLY, PLURALS, address
from matrices import soak
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse import schemas

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
EVERY_FIELD = GOLDEN / "manifests" / "every-field.yaml"
FOLDERS = {
    "every-field": [EVERY_FIELD],
    "manifests": sorted((ROOT / "examples/manifests").glob("*.yaml")),
    "kubernetes": [
        ROOT / f"examples/kubernetes/{name}.yaml"
        for name in ("cluster", "pools", "topics", "rebalance")
    ],
    "demo": sorted((ROOT / "examples/demo/manifests").glob("*.yaml")),
}


BY_KUBECTL = ["every-field", "kubernetes", *soak("manifests", "demo")]
"""Kubectl takes seconds where the API takes none; that alone is asked about all in `make test`."""


@pytest.fixture
def manifests(request, api, clean_cluster):
    """Files, and what is in them; the namespaces that they name exist."""
    files = FOLDERS[request.param]
    bodies = [body for file in files for body in YAML(typ="safe").load_all(file.read_text())]
    for namespace in {body["metadata"].get("namespace", "default") for body in bodies}:
        api.ensure_namespace(namespace)
    return files, bodies


def versions(api, bodies):
    """What tells whether anything was written: of each resource generation and version."""
    metadata = [api.get(body)["metadata"] for body in bodies]
    return [(each["generation"], each["resourceVersion"]) for each in metadata]


def options(files):
    return [word for file in files for word in ("-f", str(file))]


# A creation stores no status; where no operator writes one, the server stores its default with the
# second write, and nobody sees a difference.
@pytest.mark.parametrize("manifests", FOLDERS, indirect=True)
def test_server_side_apply_settles(api, manifests):
    _, bodies = manifests
    seen = []
    for _ in range(3):
        for body in bodies:
            query = {"fieldManager": "gitops", "fieldValidation": "Strict"}
            answer = api.send("PATCH", address(body), body, APPLY, **query)
            assert answer.refusals() == []
        seen.append(versions(api, bodies))
    assert seen[1] == seen[2]
    assert {generation for generation, _ in seen[2]} == {1}


@pytest.mark.parametrize("manifests", BY_KUBECTL, indirect=True)
@pytest.mark.parametrize("side", ["--server-side=false", *soak("--server-side=true")])
def test_kubectl_apply_settles(control_plane, api, manifests, side):
    files, bodies = manifests
    apply = ["apply", side, "--validate=strict", *options(files)]
    control_plane.kubectl(*apply)
    control_plane.kubectl(*apply)
    before = versions(api, bodies)
    difference = control_plane.kubectl("diff", side, *options(files), check=False)
    assert (difference.returncode, difference.stdout) == (0, "")
    again = control_plane.kubectl(*apply).stdout
    assert versions(api, bodies) == before
    if side == "--server-side=false":
        assert [line.rpartition(" ")[2] for line in again.splitlines()] == ["unchanged"] * len(
            bodies
        )


@pytest.mark.parametrize("manifests", BY_KUBECTL, indirect=True)
def test_status_is_no_difference(control_plane, api, manifests):
    files, bodies = manifests
    control_plane.kubectl("apply", "--server-side", *options(files))
    for body in bodies:
        assert api.set_status(body, {"observedGeneration": 1}).refusals() == []
    before = versions(api, bodies)
    assert control_plane.kubectl("diff", "--server-side", *options(files)).stdout == ""
    control_plane.kubectl("apply", "--server-side", *options(files))
    assert versions(api, bodies) == before


def test_what_is_declared_is_kept_to_the_letter(api, clean_cluster):
    for body in YAML(typ="safe").load_all(EVERY_FIELD.read_text()):
        assert api.create(body)["spec"] == body["spec"]


def test_every_field_is_in_the_manifest_of_every_field():
    for body in YAML(typ="safe").load_all(EVERY_FIELD.read_text()):
        root = schemas.definition(PLURALS[body["kind"]])["spec"]["versions"][0]["schema"]
        spec = root["openAPIV3Schema"]["properties"]["spec"]
        assert _fields(spec) - _used(spec, body["spec"]) == ALTERNATIVES.get(body["kind"], set())


ALTERNATIVES = {
    "KafkaCluster": {
        "zookeeper.tls.secretRef",
        "zookeeper.tls.secretRef.name",
        "brokers.tls.ca",
        "brokers.tls.certificate",
        "brokers.tls.key",
    },
    "ResourcePool": {
        "balance.replicas.count",
        "balance.leaders.count",
        "balance.topicReplicas.percent",
        "balance.bytes.count",
        "balance.bytesIn.percent",
        "balance.logDirs.count",
    },
}
"""What excludes another field that is there."""


def _fields(schema, path=()):
    found = set()
    for name, inner in schema.get("properties", {}).items():
        found |= {".".join((*path, name))} | _fields(inner, (*path, name))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found |= _fields(schema[key], path)
    return found


def _used(schema, value, path=()):
    found = set()
    if isinstance(value, list):
        for item in value:
            found |= _used(schema.get("items", {}), item, path)
    elif isinstance(value, dict) and "additionalProperties" in schema:
        for item in value.values():
            found |= _used(schema["additionalProperties"], item, path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            at = (*path, name)
            found |= {".".join(at)} | _used(schema["properties"][name], inner, at)
    return found


def test_our_reader_takes_every_field_too():
    text = EVERY_FIELD.read_text()
    kinds = {"KafkaCluster": 1, "ResourcePool": 1, "Topic": 1}
    assert folder.load_texts({EVERY_FIELD.name: text}).documents == sum(kinds.values())
