"""What the pages take for declared on a Kubernetes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import manifests
from poolkeeper.cli.commands.ui.kubernetes_clusters import KubernetesResources


class Listed:
    """An API server that has a KafkaCluster and nothing else."""

    def list(self, path: str, **_: object) -> Iterator[dict[str, Any]]:
        if path.endswith("/kafkaclusters"):
            body = manifests.kafka_cluster("main", "zk:2181")
            yield {**body, "metadata": {**body["metadata"], "uid": "u", "generation": 1}}


@pytest.mark.parametrize(
    ("watched", "seen"), [((), ["shop", "bank"]), (("shop",), ["shop"])], ids=["all", "one"]
)
def test_pages_know_which_topics_they_do_not_see(
    watched: tuple[str, ...], seen: list[str], tmp_path: Path
) -> None:
    resources = KubernetesResources(cast(Any, Listed()), "here", watched, tmp_path)
    desired = resources.target("main").desired
    assert desired is not None
    assert desired.watched is not None
    assert [name for name in ("shop", "bank") if name in desired.watched] == seen
