import pytest

from poolkeeper.kube.client.references import Reference, collection

GROUP_PATH = "/apis/poolkeeper.dev/v1alpha1"


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        pytest.param(
            Reference("Topic", "shop", "orders"),
            f"{GROUP_PATH}/namespaces/shop/topics/orders",
            id="topics-have-a-namespace",
        ),
        pytest.param(
            Reference("ResourcePool", "", "main-fast", "u1"),
            f"{GROUP_PATH}/resourcepools/main-fast",
            id="pools-have-none",
        ),
        pytest.param(
            Reference("KafkaCluster", "", "a/../b"),
            f"{GROUP_PATH}/kafkaclusters/a%2F..%2Fb",
            id="a-name-is-one-segment-whatever-it-says",
        ),
    ],
)
def test_an_object_has_a_path_and_its_status_one_below(reference, path):
    assert (reference.path, reference.status_path) == (path, f"{path}/status")


@pytest.mark.parametrize(
    ("kind", "namespace", "path"),
    [
        pytest.param("Topic", "", f"{GROUP_PATH}/topics", id="of-all-namespaces"),
        pytest.param("Topic", "shop", f"{GROUP_PATH}/namespaces/shop/topics", id="of-one"),
        pytest.param("KafkaCluster", "", f"{GROUP_PATH}/kafkaclusters", id="of-the-cluster"),
    ],
)
def test_collections(kind, namespace, path):
    assert collection(kind, namespace) == path


def test_a_body_says_what_it_is_called():
    body = {"kind": "Topic", "metadata": {"namespace": "shop", "name": "orders", "uid": "u1"}}
    assert Reference.of(body) == Reference("Topic", "shop", "orders", "u1")
    cluster = {"kind": "KafkaCluster", "metadata": {"name": "main"}}
    assert Reference.of(cluster) == Reference("KafkaCluster", "", "main")


def test_messages_name_an_object_as_people_do():
    assert str(Reference("Topic", "shop", "orders", "u1")) == "Topic shop/orders"
    assert str(Reference("KafkaCluster", "", "main")) == "KafkaCluster main"
