import pytest

from poolkeeper.kube import discovery

ALL = ("kafkaclusters", "resourcepools", "topics")


class Objects:
    def __init__(self, names):
        self.names = names

    def get(self, path):
        assert path == "/apis/poolkeeper.dev/v1alpha1"
        if self.names is None:
            return None
        return {"resources": [{"name": name} for name in self.names]}


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        pytest.param([*ALL, *(f"{name}/status" for name in ALL)], (), id="all-are-there"),
        pytest.param(None, ("KafkaCluster", "ResourcePool", "Topic"), id="the-group-is-not"),
        pytest.param(
            ["kafkaclusters", "kafkaclusters/status", "topics", "topics/status"],
            ("ResourcePool",),
            id="one-is-not",
        ),
        pytest.param(
            [*ALL, "kafkaclusters/status", "resourcepools/status"],
            ("Topic",),
            id="a-kind-without-status-is-an-old-definition",
        ),
    ],
)
def test_kinds_that_are_missing(names, missing):
    assert discovery.missing(Objects(names)) == missing
    assert discovery.served(Objects(names)) is not bool(missing)
