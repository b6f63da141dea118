"""Kafka's own classes, asked: a JVM that answers questions in batches.

    with Oracle("3.9.2") as kafka:
        kafka.ask("murmur2", [{"utf8": "abc"}]) == [479470107]

A kind takes and gives what `poolkeeper simulate` takes and gives for it, where it has one. What
Kafka throws is an answer as well: a `Thrown`. The fixture `kafka_3_9` of `tests/oracle` is one JVM
for all tests of a worker.

**To add kinds**: a file `java/RELEASE/NameKinds.java` of a class that implements `oracle.Kinds`.
Every such file of a release is compiled and known; nothing is registered. It may lie in any
package, also in one of Kafka's whose classes are not public. A release of its own has a folder of
its own, and its jars in `RELEASES`.
"""

from kafka_oracle.jvm import RELEASES, Oracle, Thrown

__all__ = ["RELEASES", "Oracle", "Thrown"]
