"""What the client and the small modules on it rely on, asked of a real API server."""

import pytest

from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable
from poolkeeper.kube.client import discovery, secrets
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.references import Reference, collection
from poolkeeper.kube.objects import finalizers
from poolkeeper.model.names import API_VERSION, FINALIZER

ACCOUNT = """
apiVersion: v1
kind: ServiceAccount
metadata: {{name: nobody, namespace: {0}}}
"""
STRANGER = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def api(control_plane, namespace):
    api = Api.connect(environ={"KUBECONFIG": str(control_plane.kubeconfig)})
    yield api
    api.close()


def new_topic(api, namespace, name="orders", **metadata):
    body = {
        "apiVersion": API_VERSION,
        "kind": "Topic",
        "metadata": {"name": name, **metadata},
        "spec": {"poolRef": {"name": "fast"}},
    }
    return api.create(collection("Topic", namespace), body)


def test_objects_come_and_go(api, namespace):
    reference = Reference("Topic", namespace, "orders")
    assert api.get(reference.path) is None
    topic = new_topic(api, namespace)
    assert api.get(reference.path)["metadata"]["uid"] == topic["metadata"]["uid"]
    with pytest.raises(Stale, match="already exists"):
        new_topic(api, namespace)
    with pytest.raises(Stale, match="UID in the precondition"):
        api.delete(reference.path, STRANGER)
    assert api.delete(reference.path, topic["metadata"]["uid"])
    assert not api.delete(reference.path)


def test_long_lists_come_in_chunks(api, namespace):
    names = [f"t{number:02}" for number in range(25)]
    for name in names:
        new_topic(api, namespace, name)
    before = api.requests["list"]
    found = api.list(collection("Topic", namespace), chunk=10)
    assert sorted(topic["metadata"]["name"] for topic in found) == names
    assert api.requests["list"] - before == 3


def test_a_write_of_an_old_version_is_stale(api, namespace):
    old = new_topic(api, namespace)
    path = Reference.of(old).path
    api.update(path, old | {"spec": old["spec"] | {"partitions": 3}})
    with pytest.raises(Stale, match="the object has been modified"):
        api.update(path, old | {"spec": old["spec"] | {"partitions": 6}})


def test_a_patch_whose_test_fails_is_stale_and_one_that_breaks_the_schema_is_refused(
    api, namespace
):
    path = Reference.of(new_topic(api, namespace)).path
    test = {"op": "test", "path": "/metadata/uid", "value": STRANGER}
    grow = {"op": "add", "path": "/spec/partitions", "value": 6}
    with pytest.raises(Stale):
        api.patch_json(path, [test, grow])
    uid = {"op": "test", "path": "/metadata/name", "value": "orders"}
    with pytest.raises(Refused, match=r"spec\.partitions"):
        api.patch_json(path, [uid, grow | {"value": -1}])
    assert api.patch_json(path, [uid, grow])["spec"]["partitions"] == 6


@pytest.mark.parametrize(
    ("status", "says"),
    [
        pytest.param({"observedGeneration": "x"}, "expected numeric", id="mistyped"),
        pytest.param({"noSuchField": 1}, "not declared in schema", id="unknown"),
    ],
)
def test_a_status_that_the_schema_does_not_know_is_refused(api, namespace, status, says):
    """The server answers 500 to these; taken for an outage it would be tried for ever."""
    reference = Reference.of(new_topic(api, namespace))
    body = {
        "apiVersion": API_VERSION,
        "kind": "Topic",
        "metadata": {"name": reference.name},
        "status": status,
    }
    with pytest.raises(Refused, match=says):
        api.apply(reference.status_path, body, "poolkeeper")


def test_an_object_that_is_larger_than_the_store_takes_is_refused(api, namespace):
    for size in (1_600_000, 2_500_000, 3_200_000):
        labels = {f"l{n:060}": "v" * 58 for n in range(size // 125)}
        with pytest.raises(Refused, match="large"):
            new_topic(api, namespace, labels=labels)


def test_a_status_of_what_is_gone_is_stale(api, namespace):
    body = {"apiVersion": API_VERSION, "kind": "Topic", "metadata": {"name": "gone"}}
    with pytest.raises(Stale, match="not found"):
        api.apply(Reference("Topic", namespace, "gone").status_path, body, "poolkeeper")


def test_kinds_that_are_not_served(api):
    assert (discovery.missing_kinds(api), discovery.kinds_being_removed(api)) == ((), ())
    with pytest.raises(Unavailable, match="does not serve this kind"):
        list(api.list("/apis/poolkeeper.dev/v9/topics"))


def test_an_account_without_rights_is_forbidden_and_a_wrong_token_is_too(
    control_plane, namespace, tmp_path
):
    control_plane.apply(ACCOUNT.format(namespace))
    kubeconfig = control_plane.account_kubeconfig(namespace, "nobody")
    nobody = Api.connect(environ={"KUBECONFIG": str(kubeconfig)})
    assert nobody.namespace == namespace
    with pytest.raises(Forbidden, match="cannot list resource"):
        list(nobody.list(collection("Topic", namespace)))
    token = kubeconfig.read_text().split('"token": "')[1].split('"')[0]
    wrong = tmp_path / "wrong"
    wrong.write_text(kubeconfig.read_text().replace(token, token[:-5] + "aaaaa"))
    with pytest.raises(Forbidden, match="does not know this identity"):
        Api.connect(environ={"KUBECONFIG": str(wrong)}).get(collection("Topic"))


def test_a_pods_account_is_found_before_a_kubeconfig(control_plane, namespace, tmp_path):
    control_plane.apply(ACCOUNT.format(namespace))
    (tmp_path / "token").write_text(
        control_plane.kubectl("create", "token", "nobody", "-n", namespace).stdout.strip()
    )
    (tmp_path / "ca.crt").write_bytes(control_plane.ca.read_bytes())
    (tmp_path / "namespace").write_text(namespace)
    environ = {
        "KUBERNETES_SERVICE_HOST": control_plane.address,
        "KUBERNETES_SERVICE_PORT": str(control_plane.port),
        "KUBECONFIG": str(control_plane.kubeconfig),
    }
    api = Api.connect(environ=environ, account=tmp_path)
    assert api.namespace == namespace
    with pytest.raises(Forbidden, match=f"system:serviceaccount:{namespace}:nobody"):
        api.get(collection("Topic"))


def test_a_finalizer_is_put_on_and_taken_off_once(api, namespace):
    topic = new_topic(api, namespace)
    reference = Reference.of(topic)
    assert finalizers.add(api, reference, topic)
    assert not finalizers.add(api, reference)
    assert FINALIZER in api.get(reference.path)["metadata"]["finalizers"]
    api.delete(reference.path)
    assert api.get(reference.path)["metadata"]["deletionTimestamp"]
    assert finalizers.remove(api, reference)
    assert api.get(reference.path) is None
    assert not finalizers.remove(api, reference)


def test_other_finalizers_stay_whoever_comes_between(api, namespace):
    seen = new_topic(api, namespace)
    reference = Reference.of(seen)
    other = [{"op": "add", "path": "/metadata/finalizers", "value": ["example.org/other"]}]
    api.patch_json(reference.path, other)
    assert finalizers.add(api, reference, seen)
    both = ["example.org/other", finalizers.FINALIZER]
    assert api.get(reference.path)["metadata"]["finalizers"] == both
    assert finalizers.remove(api, reference)
    assert api.get(reference.path)["metadata"]["finalizers"] == ["example.org/other"]
    api.patch_json(reference.path, [{"op": "remove", "path": "/metadata/finalizers"}])


def test_what_is_being_deleted_gets_no_finalizer(api, namespace):
    reference = Reference.of(new_topic(api, namespace))
    other = [{"op": "add", "path": "/metadata/finalizers", "value": ["example.org/other"]}]
    api.patch_json(reference.path, other)
    api.delete(reference.path)
    assert not finalizers.add(api, reference)
    api.patch_json(reference.path, [{"op": "remove", "path": "/metadata/finalizers"}])


def test_a_secret_is_read_by_name(control_plane, api, namespace):
    literal = "--from-literal=password=s3cret"
    control_plane.kubectl("create", "secret", "generic", "zk", "-n", namespace, literal)
    secret = secrets.read(api, namespace, "zk")
    assert dict(secret) == {"password": b"s3cret"}
    assert secret.text("password") == "s3cret"
    with pytest.raises(Unavailable, match=f"there is no Secret nope in namespace {namespace}"):
        secrets.read(api, namespace, "nope")
