"""How long it takes to validate a folder, and that twice the documents take twice the time.

.venv/bin/python tests/bench/bench_validate.py
"""

import tempfile
import time
from pathlib import Path

from poolkeeper.resources.checks import folder as checks_folder

DOCUMENTS = (5_000, 10_000, 20_000)
GROWTH_MAX = 2.2

CLUSTER = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec:
  zookeeper: {connect: "zk-1:2181,zk-2:2181/kafka"}
  kafkaVersion: "2.8"
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: fast}
spec:
  clusterRef: {name: main}
  brokers: {ranges: [{from: 1, to: 60}]}
"""

TOPIC = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata:
  name: orders-%(number)d
  namespace: shop-%(namespace)d
  labels: {team: a, tier: gold}
spec:
  topicName: shop.orders.v%(number)d  # as the producers know it
  poolRef: {name: fast}
  partitions: 12
  replicationFactor: 3
  keyed: true
  config:
    retention.ms: "604800000"
    cleanup.policy: compact
  placement: {strategy: Balanced}
  deletionPolicy: Retain
"""


def written(folder: Path, count: int) -> Path:
    """A folder of `count` documents, a hundred to a file."""
    (folder / "cluster.yaml").write_text(CLUSTER)
    topics = [TOPIC % {"number": n, "namespace": n % 50} for n in range(count - 2)]
    for start in range(0, len(topics), 100):
        (folder / f"topics-{start}.yaml").write_text("---\n".join(topics[start : start + 100]))
    return folder


def seconds(count: int) -> float:
    """Processor time to validate that many documents: others on the machine do not count."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), count)
        start = time.process_time()
        manifests = checks_folder.load([path])
        took = time.process_time() - start
    assert manifests.documents == count
    return took


def main() -> None:
    """Print the table and hold the growth against its bound."""
    seconds(100)  # the schemas are read once
    took = {count: min(seconds(count) for _ in range(2)) for count in DOCUMENTS}
    print(f"{'documents':>10} {'seconds':>8} {'ms each':>8} {'growth':>7}")
    for count, before in zip(DOCUMENTS, (0, *DOCUMENTS), strict=False):
        growth = f"{took[count] / took[before]:.2f}" if before else ""
        print(f"{count:>10} {took[count]:>8.2f} {took[count] / count * 1e3:>8.2f} {growth:>7}")
        assert not before or took[count] < GROWTH_MAX * took[before], "it grows faster than that"


if __name__ == "__main__":
    main()
