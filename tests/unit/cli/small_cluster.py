"""Two pools and a topic in the wrong one, as manifests and as a snapshot."""

CLUSTER = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec:
  zookeeper: {connect: "127.0.0.1:1/kafka"}
  kafkaVersion: "2.8"
"""

POOLS = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: fast}
spec:
  clusterRef: {name: main}
  brokers: {ids: [1, 2]}
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: slow}
spec:
  clusterRef: {name: main}
  brokers: {ids: [3, 4]}
"""

TOPIC = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata: {name: t, namespace: shop}
spec:
  poolRef: {name: slow}
  partitions: 1
  replicationFactor: 2
"""

SNAPSHOT = {
    "version": 1,
    "cluster": {"name": "main", "id": "abc", "kafkaVersion": "2.8", "controller": 1},
    "brokers": [{"id": n} for n in (1, 2, 3, 4)],
    "topics": [
        {
            "name": "t",
            "config": {"retention.ms": "1000"},
            "partitions": [
                {
                    "partition": 0,
                    "replicas": [1, 2],
                    "leader": 1,
                    "isr": [1, 2],
                    "bytes": 1048576,
                }
            ],
        }
    ],
}
